// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cmsg.h"
#include "wire.h"

/* One control message of the caller's buffer. */
struct cmsg_item {
	int		level;
	int		type;
	const u8	*data;
	size_t		data_len;
};

/* The native layout: header, data and next header each start at a multiple of a long. */
#define CMSG_STEP(n)	ALIGN((size_t)(n), sizeof(long))
#define CMSG_HEAD	CMSG_STEP(sizeof(struct cmsghdr))

/* Read the message at @offset.  Returns the offset of what follows it (at least @len if
 * nothing does), 0 if nothing is left at @offset, -EINVAL if its length cannot be true.
 *
 * Less than a header at the end is no message, by the convention of CMSG_NXTHDR.
 */
static long cmsg_next(const u8 *control, size_t len, size_t offset, struct cmsg_item *item)
{
	struct cmsghdr h;
	size_t left;

	if (offset >= len || len - offset < sizeof(h))
		return 0;
	left = len - offset;

	memcpy(&h, control + offset, sizeof(h));
	if (h.cmsg_len < CMSG_HEAD || h.cmsg_len > left)
		return -EINVAL;

	item->level = h.cmsg_level;
	item->type = h.cmsg_type;
	item->data = control + offset + CMSG_HEAD;
	item->data_len = h.cmsg_len - CMSG_HEAD;
	return offset + CMSG_STEP(h.cmsg_len);
}

/* Copy the struct of a message; a longer message is fine, a shorter one is not. */
static int cmsg_copy(void *to, size_t size, const struct cmsg_item *item)
{
	if (item->data_len < size)
		return -EINVAL;
	memcpy(to, item->data, size);
	return 0;
}

static int parse_rdma(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (req->has_rdma || cmsg_copy(&req->rdma, sizeof(req->rdma), item))
		return -EINVAL;
	req->has_rdma = true;
	return 0;
}

static int parse_dest(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (req->has_dest || req->has_map ||
	    cmsg_copy(&req->dest_cookie, sizeof(req->dest_cookie), item))
		return -EINVAL;
	req->has_dest = true;
	return 0;
}

static int parse_map(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (req->has_dest || req->has_map || cmsg_copy(&req->map, sizeof(req->map), item))
		return -EINVAL;
	req->has_map = true;
	return 0;
}

/* What older programs, and those for Oracle's kernel, send: no masks, operands in the other order. */
struct old_atomic_args {
	u64	cookie;
	u64	local_addr;
	u64	remote_addr;
	u64	swap_add;
	u64	compare;
	u64	flags;
	u64	user_token;
};

static int copy_old_atomic(struct rds_atomic_args *args, const struct cmsg_item *item)
{
	struct old_atomic_args old;

	memcpy(&old, item->data, sizeof(old));
	args->cookie = old.cookie;
	args->local_addr = old.local_addr;
	args->remote_addr = old.remote_addr;
	args->flags = old.flags;
	args->user_token = old.user_token;
	switch (item->type) {
	case RDS_CMSG_ATOMIC_FADD:
		args->fadd.add = old.swap_add;
		return 0;
	case RDS_CMSG_ATOMIC_CSWP:
		args->cswp.compare = old.compare;
		args->cswp.swap = old.swap_add;
		return 0;
	default:	/* a mask has no place there */
		return -EINVAL;
	}
}

/* The two layouts are told apart by their exact length. */
static int copy_atomic(struct rds_atomic_args *args, const struct cmsg_item *item)
{
	if (item->data_len == sizeof(struct old_atomic_args))
		return copy_old_atomic(args, item);
	return cmsg_copy(args, sizeof(*args), item);
}

static int parse_atomic(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (req->has_atomic || copy_atomic(&req->atomic, item))
		return -EINVAL;
	req->has_atomic = true;
	req->atomic_type = item->type;
	return 0;
}

static int parse_zcopy(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (cmsg_copy(&req->zcopy_cookie, sizeof(req->zcopy_cookie), item))
		return -EINVAL;
	req->has_zcopy = true;
	return 0;
}

static int parse_async(struct rds_send_req *req, const struct cmsg_item *item)
{
	if (req->has_async || cmsg_copy(&req->async, sizeof(req->async), item))
		return -EINVAL;
	req->has_async = true;
	return 0;
}

static int parse_item(struct rds_send_req *req, const struct cmsg_item *item)
{
	switch (item->type) {
	case RDS_CMSG_RDMA_ARGS:
		return parse_rdma(req, item);
	case RDS_CMSG_RDMA_DEST:
		return parse_dest(req, item);
	case RDS_CMSG_RDMA_MAP:
		return parse_map(req, item);
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		return parse_atomic(req, item);
	case RDS_CMSG_ZCOPY_COOKIE:
		return parse_zcopy(req, item);
	case RDS_CMSG_ASYNC_SEND:
		return parse_async(req, item);
	default:	/* for receiving only, or not ours */
		return -EINVAL;
	}
}

static bool is_rdma(const struct cmsg_item *item)
{
	return item->level == SOL_RDS && item->type == RDS_CMSG_RDMA_ARGS;
}

int rds_cmsg_check_form(const void *control, size_t len, u64 *rdma_bytes)
{
	struct rds_rdma_args args;
	struct cmsg_item item;
	u64 sum = 0;
	long offset;

	for (offset = 0; (offset = cmsg_next(control, len, offset, &item)) > 0; ) {
		if (!is_rdma(&item))
			continue;
		if (cmsg_copy(&args, sizeof(args), &item))
			return -EINVAL;
		sum += args.remote_vec.bytes;
		if (sum < args.remote_vec.bytes)
			sum = U64_MAX;
	}
	*rdma_bytes = sum;
	return offset;
}

long rds_cmsg_next_rdma(const void *control, size_t len, long offset, struct rds_rdma_args *args)
{
	struct cmsg_item item;

	while ((offset = cmsg_next(control, len, offset, &item)) > 0) {
		if (!is_rdma(&item))
			continue;
		if (cmsg_copy(args, sizeof(*args), &item) || !args->nr_local)
			return -EINVAL;
		return args->nr_local > RDS_MAX_LOCAL_IOVECS ? -EMSGSIZE : offset;
	}
	return offset;
}

/* A message either hands a buffer to the peer or works on one of the peer's. */
#define HANDS_OUT	(BIT(RDS_CMSG_RDMA_DEST) | BIT(RDS_CMSG_RDMA_MAP) | BIT(RDS_CMSG_ZCOPY_COOKIE))
#define WORKS		(BIT(RDS_CMSG_RDMA_ARGS) | BIT(RDS_CMSG_ATOMIC_FADD) | \
			 BIT(RDS_CMSG_ATOMIC_CSWP) | BIT(RDS_CMSG_MASKED_ATOMIC_FADD) | \
			 BIT(RDS_CMSG_MASKED_ATOMIC_CSWP))
#define SENDABLE	(HANDS_OUT | WORKS | BIT(RDS_CMSG_ASYNC_SEND))

int rds_cmsg_types(const void *control, size_t len)
{
	struct cmsg_item item;
	u32 types = 0;
	long offset;

	for (offset = 0; (offset = cmsg_next(control, len, offset, &item)) > 0; ) {
		if (item.level != SOL_RDS)
			continue;
		/* others are for receiving only, or not ours */
		if (item.type < 0 || item.type > 31 || !(BIT(item.type) & SENDABLE))
			return -EINVAL;
		types |= BIT(item.type);
	}
	if (types & HANDS_OUT && types & WORKS)
		return -EINVAL;
	return offset < 0 ? offset : types;
}

int rds_cmsg_parse(struct rds_send_req *req, const void *control, size_t len)
{
	struct cmsg_item item;
	long offset;
	int err;

	memset(req, 0, sizeof(*req));
	for (offset = 0; (offset = cmsg_next(control, len, offset, &item)) > 0; ) {
		if (item.level != SOL_RDS)
			continue;
		err = parse_item(req, &item);
		if (err)
			return err;
	}
	return offset;
}

/* False for an empty range and for one whose end wraps. */
static bool range_valid(const struct rds_iovec *vec)
{
	return vec->addr + vec->bytes > vec->addr;
}

static u64 range_pages(const struct rds_iovec *vec, u32 page_size)
{
	u64 last = vec->addr + vec->bytes - 1;
	u32 shift = __ffs(page_size);

	return (last >> shift) - (vec->addr >> shift) + 1;
}

int rds_rdma_check_local(const struct rds_iovec *iov, u32 nr, u32 page_size, u64 *bytes, u64 *pages)
{
	u64 nr_bytes = 0;	/* at most 2^10 ranges of 2^32 bytes: no wrap */
	u64 nr_pages = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!range_valid(&iov[i]) || iov[i].bytes > U32_MAX)
			return -EINVAL;
		nr_bytes += iov[i].bytes;
		nr_pages += range_pages(&iov[i], page_size);
	}
	*bytes = nr_bytes;
	*pages = nr_pages;
	return 0;
}

int rds_mr_check_range(const struct rds_iovec *vec, u32 page_size, u32 max_pages, u32 *pages)
{
	u64 nr_pages;

	if (!range_valid(vec))
		return -EINVAL;
	nr_pages = range_pages(vec, page_size);
	if (nr_pages > max_pages)
		return -EMSGSIZE;
	*pages = nr_pages;
	return 0;
}
