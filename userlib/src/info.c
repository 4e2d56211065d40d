// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Snapshots of the kernel's tables, counters among them. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Room for what may be added between the asking for the size and the reading. */
#define SNAPSHOT_SLACK	4096

int rds_snapshot(int fd, int what, struct rds_snapshot *snap)
{
	socklen_t len = 0;
	char *data = NULL, *grown;
	int stride;

	for (;;) {
		stride = rds_syscall(getsockopt(fd, SOL_RDS, what, data, &len));
		if (stride != -ENOSPC)
			break;
		if (len > INT32_MAX - SNAPSHOT_SLACK) {
			stride = -ENOMEM;
			break;
		}
		len += SNAPSHOT_SLACK;
		grown = realloc(data, len);
		if (!grown) {
			stride = -ENOMEM;
			break;
		}
		data = grown;
	}
	if (stride <= 0) {
		free(data);
		return stride ? stride : -EPROTO;
	}
	snap->data = data;
	snap->stride = stride;
	snap->count = len / stride;
	return 0;
}

void rds_snapshot_free(struct rds_snapshot *snap)
{
	free(snap->data);
	memset(snap, 0, sizeof(*snap));
}

int rds_counter(int fd, const char *name, uint64_t *value)
{
	struct rds_info_counter counter;
	struct rds_snapshot snap;
	int ret;
	size_t i;

	ret = rds_snapshot(fd, RDS_INFO_COUNTERS, &snap);
	if (ret)
		return ret;
	ret = snap.stride < sizeof(counter) ? -EPROTO : -ENOENT;
	for (i = 0; ret == -ENOENT && i < snap.count; i++) {
		memcpy(&counter, (char *)snap.data + i * snap.stride, sizeof(counter));
		if (strncmp((char *)counter.name, name, sizeof(counter.name)))
			continue;
		*value = counter.value;
		ret = 0;
	}
	rds_snapshot_free(&snap);
	return ret;
}
