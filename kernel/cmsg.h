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

/* The control buffer @control of @len bytes is a kernel copy, in native layout; reading it has no effect.  It is walked
 * once for each of the steps below, because a caller may rely on the order in which they find errors, and looks at other
 * things in between.  Messages of levels other than SOL_RDS are stepped over, and as everywhere an end too short for a
 * header is no message.
 */

/* Do the messages fit, whatever they say, and is each RDMA_ARGS there as a whole?  Stores how many bytes on peers' sides these
 * are about, together; U64_MAX if that is more than fits.  Returns 0 or -EINVAL.
 */
int rds_cmsg_check_form(const void *control, size_t len, u64 *rdma_bytes);

/* The first RDMA_ARGS at @offset or behind it.  Returns the offset behind it; 0 if there is none; -EINVAL for one without
 * local ranges, or malformed; -EMSGSIZE for one with more than RDS_MAX_LOCAL_IOVECS.
 */
long rds_cmsg_next_rdma(const void *control, size_t len, long offset, struct rds_rdma_args *args);

/* Which types are there?  Returns a set of 1 << type; -EINVAL for a type that nobody sends, and for {DEST, MAP, ZCOPY} mixed
 * with {RDMA_ARGS, atomics}, or malformed.
 */
int rds_cmsg_types(const void *control, size_t len);

/* Read all that the messages ask for into @req, which is zeroed first; after the steps above.  Returns 0, or -EINVAL for a
 * message shorter than its struct, or malformed, or that nobody sends; and for RDMA_ARGS, the atomics, ASYNC_SEND, or DEST with
 * MAP, twice each.  Of two ZCOPY cookies the last counts.  An unmasked atomic of exactly 56 bytes (no mask
 * fields, swap_add before compare) is converted.
 */
int rds_cmsg_parse(struct rds_send_req *req, const void *control, size_t len);

/* Check the @nr local ranges @iov of an RDMA operation, at most RDS_MAX_LOCAL_IOVECS, already copied from user space.
 * Stores the sum of their bytes and of the pages that they touch.
 * Returns 0; -EINVAL for an empty range, or one that wraps or has 4 GiB or more.
 */
int rds_rdma_check_local(const struct rds_iovec *iov, u32 nr, u32 page_size, u64 *bytes, u64 *pages);

/* Check a buffer to be registered.  Returns 0 and its pages; -EINVAL if it wraps or is empty,
 * -EMSGSIZE if it touches more than @max_pages pages.
 */
int rds_mr_check_range(const struct rds_iovec *vec, u32 page_size, u32 max_pages, u32 *pages);

#endif
