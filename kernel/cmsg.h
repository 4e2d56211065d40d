/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Control messages of one sendmsg(), parsed once into a request. No side effects. */
#ifndef RDS_CMSG_H
#define RDS_CMSG_H

#include "pure.h"
#include "rds_uapi.h"

#define RDS_MAX_LOCAL_IOVECS	1024u

/* What the caller asks for beside the payload. */
struct rds_send_req {
	bool			has_dest;	/* RDMA_DEST */
	bool			has_map;	/* RDMA_MAP */
	bool			has_rdma;	/* RDMA_ARGS */
	bool			has_atomic;	/* one of the four atomics */
	bool			has_zcopy;	/* ZCOPY_COOKIE */
	bool			has_async;	/* ASYNC_SEND */
	int			atomic_type;	/* RDS_CMSG_ATOMIC_FADD ... RDS_CMSG_MASKED_ATOMIC_CSWP */
	u64			dest_cookie;
	u32			zcopy_cookie;
	struct rds_get_mr_args	map;
	struct rds_rdma_args	rdma;
	struct rds_atomic_args	atomic;
	struct rds_asend_args	async;
};

/* Do the messages in @control of @len bytes fit, whatever they say?  Returns 0 or -EINVAL. */
int rds_cmsg_check_form(const void *control, size_t len);

/* Parse the control buffer @control of @len bytes (a kernel copy, native layout) into @req,
 * which is zeroed first.
 *
 * Returns 0 or, in the order in which a caller may rely on them (first found while walking
 * the buffer once for form, once for meaning):
 *  -EINVAL	malformed: a length below a header or past the end; a SOL_RDS message shorter
 *		than its struct; RDMA_ARGS, the atomics, ASYNC_SEND, and DEST with MAP, twice each;
 *		{DEST, MAP, ZCOPY} mixed with {RDMA_ARGS, atomics}; a SOL_RDS type that
 *		nobody sends
 *  -EMSGSIZE	RDMA_ARGS for more than @max_rdma bytes on the peer's side, or with more than
 *		RDS_MAX_LOCAL_IOVECS local ranges (0 of them: -EINVAL)
 * Messages of other levels are stepped over, and as everywhere an end too short for a header
 * is no message.  Of two ZCOPY cookies the last counts.  An unmasked atomic of exactly 56 bytes (no mask
 * fields, swap_add before compare) is converted.
 */
int rds_cmsg_parse(struct rds_send_req *req, const void *control, size_t len, u32 max_rdma);

/* Check the local ranges @iov of an RDMA operation, already copied from user space.
 * Stores the sum of their bytes and of the pages that they touch.
 * Returns 0; -EINVAL for an empty range, one that wraps or has 4 GiB or more, or a sum above
 * @args->remote_vec.bytes; -EMSGSIZE for a sum above @max_rdma.
 */
int rds_rdma_check_local(const struct rds_rdma_args *args, const struct rds_iovec *iov,
			 u32 page_size, u32 max_rdma, u32 *bytes, u32 *pages);

/* Check a buffer to be registered.  Returns 0 and its pages; -EINVAL if it wraps or is empty,
 * -EMSGSIZE if it touches more than @max_pages pages.
 */
int rds_mr_check_range(const struct rds_iovec *vec, u32 page_size, u32 max_pages, u32 *pages);

#endif
