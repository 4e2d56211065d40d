/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * System calls with the library's error convention, and the layouts that both
 * kernel headers must agree on.  Included first by every source file.
 */
#ifndef LIBRDS_INTERNAL_H
#define LIBRDS_INTERNAL_H

#include <errno.h>
#include <stddef.h>

#include "librds.h"

/* Evaluate a call that fails with -1 and errno; give -errno, leave errno. */
#define rds_syscall(call) ({						\
	int saved_errno_ = errno;					\
	__typeof__(call) ret_ = (call);					\
									\
	if (ret_ < 0)							\
		ret_ = -errno;						\
	errno = saved_errno_;						\
	ret_;								\
})

#define rds_array_size(a)	(sizeof(a) / sizeof((a)[0]))

_Static_assert(SOL_RDS == 276, "SOL_RDS");
_Static_assert(sizeof(struct rds_iovec) == 16, "rds_iovec");
_Static_assert(sizeof(struct rds_get_mr_args) == 32, "rds_get_mr_args");
_Static_assert(offsetof(struct rds_get_mr_args, cookie_addr) == 16, "cookie_addr");
_Static_assert(offsetof(struct rds_get_mr_args, flags) == 24, "flags");
_Static_assert(sizeof(struct rds_get_mr_for_dest_args) == 160, "rds_get_mr_for_dest_args");
_Static_assert(offsetof(struct rds_get_mr_for_dest_args, vec) == 128, "vec");
_Static_assert(sizeof(struct rds_free_mr_args) == 16, "rds_free_mr_args");
_Static_assert(sizeof(struct rds_rdma_args) == 56, "rds_rdma_args");
_Static_assert(offsetof(struct rds_rdma_args, remote_vec) == 8, "remote_vec");
_Static_assert(offsetof(struct rds_rdma_args, local_vec_addr) == 24, "local_vec_addr");
_Static_assert(offsetof(struct rds_rdma_args, nr_local) == 32, "nr_local");
_Static_assert(offsetof(struct rds_rdma_args, flags) == 40, "flags");
_Static_assert(offsetof(struct rds_rdma_args, user_token) == 48, "user_token");
_Static_assert(sizeof(struct rds_rdma_notify) == 16, "rds_rdma_notify");
_Static_assert(offsetof(struct rds_rdma_notify, status) == 8, "status");
_Static_assert(sizeof(struct rds_info_counter) == 40, "rds_info_counter");
_Static_assert(sizeof(struct rds_addr) == 28, "rds_addr");

#endif /* LIBRDS_INTERNAL_H */
