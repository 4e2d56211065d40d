// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Snapshots of the kernel's tables, counters among them. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Room for what may be added between the asking for the size and the reading. */
#define SNAPSHOT_SLACK	4096

/* A table that has grown again each time we made room for it is given up. */
#define SNAPSHOT_TRIES	16

/* Give @data the room that the kernel asked for, and some more. */
static int make_room(char **data, socklen_t *len)
{
	char *grown;

	if (*len > INT32_MAX - SNAPSHOT_SLACK)
		return -ENOMEM;
	*len += SNAPSHOT_SLACK;
	grown = realloc(*data, *len);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	return 0;
}

int rds_snapshot(int fd, int what, struct rds_snapshot *snap)
{
	int saved_errno = errno;
	int ret = -ENOSPC, try;
	char *data = NULL;
	socklen_t len = 0;

	for (try = 0; ret == -ENOSPC && try < SNAPSHOT_TRIES; try++) {
		ret = rds_syscall(getsockopt(fd, SOL_RDS, what, data, &len));
		if (ret == -ENOSPC && make_room(&data, &len))
			ret = -ENOMEM;
	}
	errno = saved_errno;
	if (ret <= 0) {
		free(data);
		if (ret == -ENOSPC)
			return -EAGAIN;
		return ret ? ret : -EPROTO;
	}
	snap->data = data;
	snap->stride = ret;
	snap->count = len / ret;
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
