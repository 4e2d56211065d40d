// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions: buffers that peers may reach. */
#include "internal.h"

#include <string.h>

int rds_get_mr(int fd, void *buf, size_t len, uint64_t flags, uint64_t *cookie)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)buf, .bytes = len },
		.cookie_addr = (uintptr_t)cookie,
		.flags = flags,
	};

	return rds_syscall(setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)));
}

int rds_get_mr_for_dest(int fd, const struct rds_addr *dest, void *buf,
			size_t len, uint64_t flags, uint64_t *cookie)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { .addr = (uintptr_t)buf, .bytes = len },
		.cookie_addr = (uintptr_t)cookie,
		.flags = flags,
	};

	memcpy(&args.dest_addr, dest, rds_addr_len(dest));
	return rds_syscall(setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST,
				      &args, sizeof(args)));
}

int rds_free_mr(int fd, uint64_t cookie, uint64_t flags)
{
	struct rds_free_mr_args args = { .cookie = cookie, .flags = flags };

	return rds_syscall(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)));
}
