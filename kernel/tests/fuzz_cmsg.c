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
}

static void check_ranges(const struct rds_rdma_args *args, struct fuzz_input *in)
{
	u32 nr = in->left / sizeof(struct rds_iovec), mr_pages, i;
	u64 bytes = 0, pages = 0, sum = 0;
	struct rds_iovec *iov;

	if (nr > args->nr_local)
		nr = args->nr_local;
	if (!nr)
		return;
	iov = fuzz_copy(in->data, nr * sizeof(*iov));
	if (!rds_rdma_check_local(iov, nr, 4096, &bytes, &pages)) {
		for (i = 0; i < nr; i++) {
			MUST(iov[i].bytes && iov[i].addr + iov[i].bytes > iov[i].addr);
			MUST(iov[i].bytes <= U32_MAX);
			MUST(!rds_mr_check_range(&iov[i], 4096, U32_MAX, &mr_pages));
			MUST(mr_pages <= pages);
			sum += iov[i].bytes;
		}
		MUST(sum == bytes);
		MUST(pages >= nr && pages <= bytes / 4096 + 2 * nr);
	}
	free(iov);
}

/* Each of them is checked by itself, whether the message is good or not.  Returns 0 or the error of a bad one. */
static int check_each_rdma(const void *control, size_t len, u64 bytes, struct fuzz_input *in)
{
	struct rds_rdma_args args;
	long offset = 0, next;

	while ((next = rds_cmsg_next_rdma(control, len, offset, &args)) > 0) {
		MUST(next > offset);
		MUST(args.nr_local >= 1 && args.nr_local <= RDS_MAX_LOCAL_IOVECS);
		MUST(args.remote_vec.bytes <= bytes);
		check_ranges(&args, in);
		offset = next;
	}
	MUST(next == 0 || next == -EINVAL || next == -EMSGSIZE);
	return next;
}

static int parse(struct rds_send_req *req, const void *control, size_t len, struct fuzz_input *in)
{
	u64 bytes = 0;
	int err;

	/* each step bears what the ones before it have refused */
	MUST(rds_cmsg_parse(req, control, len) <= 0);
	err = rds_cmsg_check_form(control, len, &bytes);
	MUST(err == 0 || err == -EINVAL);
	if (err)
		return err;
	err = check_each_rdma(control, len, bytes, in);
	if (err)
		return err;
	err = rds_cmsg_types(control, len);
	return err < 0 ? err : rds_cmsg_parse(req, control, len);
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

	err = parse(&req, control, len, &in);
	MUST(err == 0 || err == -EINVAL || err == -EMSGSIZE);
	if (!err) {
		check_request(&req);
		compare_with_libc(&req, control, len);
	}
	free(control);
	return 0;
}
