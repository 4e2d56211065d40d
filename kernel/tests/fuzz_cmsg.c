// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: the length of the control buffer (16 bits), the buffer, local ranges. */
#include "fuzz.h"
#include "../cmsg.h"
#include "../wire.h"

/* libc walks the same buffer by its own macros. */
static void compare_with_libc(const struct rds_send_req *req, void *control, size_t len)
{
	struct msghdr msg = { .msg_control = control, .msg_controllen = len };
	struct cmsghdr *c;
	u32 types = 0;

	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		MUST(c->cmsg_len >= CMSG_LEN(0));
		if (c->cmsg_level != SOL_RDS)
			continue;
		MUST(c->cmsg_type > 0 && c->cmsg_type < 13);
		types |= 1u << c->cmsg_type;
	}
	MUST(req->has_rdma == !!(types & 1u << RDS_CMSG_RDMA_ARGS));
	MUST(req->has_dest == !!(types & 1u << RDS_CMSG_RDMA_DEST));
	MUST(req->has_map == !!(types & 1u << RDS_CMSG_RDMA_MAP));
	MUST(req->has_zcopy == !!(types & 1u << RDS_CMSG_ZCOPY_COOKIE));
	MUST(req->has_async == !!(types & 1u << RDS_CMSG_ASYNC_SEND));
	MUST(req->has_atomic == !!(types & 0xfu << RDS_CMSG_ATOMIC_FADD));
	MUST(!req->has_atomic || types & 1u << req->atomic_type);
}

static void check_request(const struct rds_send_req *req)
{
	MUST(!(req->has_dest && req->has_map));
	MUST(!((req->has_dest || req->has_map || req->has_zcopy) &&
	       (req->has_rdma || req->has_atomic)));
	if (!req->has_rdma)
		return;
	MUST(req->rdma.remote_vec.bytes <= RDS_MSG_MAX);
	MUST(req->rdma.nr_local >= 1 && req->rdma.nr_local <= RDS_MAX_LOCAL_IOVECS);
}

static void check_ranges(struct rds_rdma_args args, struct fuzz_input *in)
{
	size_t nr = in->left / sizeof(struct rds_iovec);
	u32 bytes = 0, pages = 0, mr_pages, i;
	struct rds_iovec *iov;
	u64 sum = 0;

	if (!nr)
		return;
	if (nr < args.nr_local)
		args.nr_local = nr;
	iov = fuzz_copy(in->data, args.nr_local * sizeof(*iov));
	if (!rds_rdma_check_local(&args, iov, 4096, RDS_MSG_MAX, &bytes, &pages)) {
		for (i = 0; i < args.nr_local; i++) {
			MUST(iov[i].bytes && iov[i].addr + iov[i].bytes > iov[i].addr);
			MUST(!rds_mr_check_range(&iov[i], 4096, 257, &mr_pages));
			MUST(mr_pages <= pages);
			sum += iov[i].bytes;
		}
		MUST(sum == bytes);
		MUST(bytes <= RDS_MSG_MAX && bytes <= args.remote_vec.bytes);
		MUST(pages >= args.nr_local && pages <= bytes / 4096 + 2 * args.nr_local);
	}
	free(iov);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rds_send_req req;
	void *control;
	u16 len;
	int err;

	if (!fuzz_take(&in, &len, sizeof(len)))
		return 0;
	if (len > in.left)
		len = in.left;
	control = fuzz_copy(in.data, len);
	in.data += len;
	in.left -= len;

	err = rds_cmsg_parse(&req, control, len, RDS_MSG_MAX);
	MUST(err == 0 || err == -EINVAL || err == -EMSGSIZE);
	if (!err) {
		check_request(&req);
		compare_with_libc(&req, control, len);
		if (req.has_rdma)
			check_ranges(req.rdma, &in);
	}
	free(control);
	return 0;
}
