// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Outgoing messages: struct rds_outgoing to control messages. */
#include "internal.h"

#include <string.h>

/* The kernel refuses most combinations; here they only must fit. */
#define CONTROL_SIZE	(CMSG_SPACE(sizeof(struct rds_rdma_args)) +	\
			 CMSG_SPACE(sizeof(struct rds_get_mr_args)) +	\
			 CMSG_SPACE(sizeof(rds_rdma_cookie_t)))

union control {
	struct cmsghdr	align;
	char		bytes[CONTROL_SIZE];
};

static void add_cmsg(struct msghdr *msg, int type, const void *data, size_t size)
{
	struct cmsghdr *cmsg;

	cmsg = (struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);
	cmsg->cmsg_level = SOL_RDS;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(cmsg), data, size);
	msg->msg_controllen += CMSG_SPACE(size);
}

/* @local must live until the message is sent: the kernel reads it there. */
static int add_rdma(struct msghdr *msg, const struct rds_rdma *op,
		    uint64_t direction, struct rds_iovec *local)
{
	struct rds_rdma_args args = {
		.cookie = op->cookie,
		.remote_vec = { .addr = op->offset, .bytes = op->length },
		.local_vec_addr = (uintptr_t)local,
		.nr_local = op->iovcnt,
		.flags = (op->flags & ~(uint64_t)RDS_RDMA_READWRITE) | direction,
		.user_token = op->token,
	};
	uint64_t total = 0;
	size_t i;

	if (op->iovcnt > LIBRDS_IOV_MAX)
		return -EMSGSIZE;
	for (i = 0; i < op->iovcnt; i++) {
		local[i].addr = (uintptr_t)op->iov[i].iov_base;
		local[i].bytes = op->iov[i].iov_len;
		if (__builtin_add_overflow(total, local[i].bytes, &total))
			return -EINVAL;
	}
	if (!op->length)
		args.remote_vec.bytes = total;
	add_cmsg(msg, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return 0;
}

static void add_map(struct msghdr *msg, const struct rds_map *map)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)map->buf, .bytes = map->len },
		.cookie_addr = (uintptr_t)map->cookie,
		.flags = map->flags,
	};

	add_cmsg(msg, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
}

static int has_reserved(const struct rds_outgoing *out)
{
	size_t i;

	for (i = 0; i < rds_array_size(out->reserved); i++)
		if (out->reserved[i])
			return 1;
	return 0;
}

static int add_all(struct msghdr *msg, const struct rds_outgoing *out,
		   struct rds_iovec *local)
{
	int ret = 0;

	if (out->write)
		ret = add_rdma(msg, out->write, RDS_RDMA_READWRITE, local);
	else if (out->read)
		ret = add_rdma(msg, out->read, 0, local);
	if (ret)
		return ret;
	if (out->map)
		add_map(msg, out->map);
	if (out->dest)
		add_cmsg(msg, RDS_CMSG_RDMA_DEST, &out->dest, sizeof(out->dest));
	return 0;
}

ssize_t rds_sendmsg(int fd, const struct rds_outgoing *out, int flags)
{
	struct rds_iovec local[LIBRDS_IOV_MAX];
	union control control = { 0 };
	struct msghdr msg = {
		.msg_name = (void *)out->to,
		.msg_namelen = out->to ? rds_addr_len(out->to) : 0,
		.msg_iov = (struct iovec *)out->iov,
		.msg_iovlen = out->iovcnt,
		.msg_control = control.bytes,
	};
	int ret;

	/* an address of no family must not turn into "the connected peer" */
	if ((out->write && out->read) || (out->to && !msg.msg_namelen) || has_reserved(out))
		return -EINVAL;
	ret = add_all(&msg, out, local);
	if (ret)
		return ret;
	return rds_syscall(sendmsg(fd, &msg, flags));
}

ssize_t rds_send(int fd, const struct rds_addr *to, const void *buf, size_t len,
		 int flags)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct rds_outgoing out = { .to = to, .iov = &iov, .iovcnt = 1 };

	return rds_sendmsg(fd, &out, flags);
}

ssize_t rds_rdma_write(int fd, const struct rds_addr *to,
		       const struct rds_rdma *op, const void *msg, size_t len)
{
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = len };
	struct rds_outgoing out = {
		.to = to, .iov = &iov, .iovcnt = 1, .write = op,
	};

	return rds_sendmsg(fd, &out, 0);
}

ssize_t rds_rdma_read(int fd, const struct rds_addr *to,
		      const struct rds_rdma *op, const void *msg, size_t len)
{
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = len };
	struct rds_outgoing out = {
		.to = to, .iov = &iov, .iovcnt = 1, .read = op,
	};

	return rds_sendmsg(fd, &out, 0);
}
