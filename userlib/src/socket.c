// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opening, binding and connecting. */
#include "internal.h"

#include <unistd.h>

static int open_socket(int flags)
{
	if (flags & ~SOCK_NONBLOCK)
		return -EINVAL;
	return rds_syscall(socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

int rds_open(const char *local, int flags)
{
	struct rds_addr addr;
	int ret, fd;

	if (!local)
		return open_socket(flags);
	ret = rds_addr_parse(&addr, local, 0);
	if (ret)
		return ret;
	fd = open_socket(flags);
	if (fd < 0)
		return fd;
	ret = rds_bind(fd, &addr);
	if (ret) {
		rds_syscall(close(fd));
		return ret;
	}
	return fd;
}

int rds_bind(int fd, const struct rds_addr *local)
{
	return rds_syscall(bind(fd, &local->sa, rds_addr_len(local)));
}

int rds_connect(int fd, const char *peer)
{
	struct rds_addr addr;
	int ret;

	ret = rds_addr_parse(&addr, peer, 0);
	if (ret)
		return ret;
	return rds_syscall(connect(fd, &addr.sa, rds_addr_len(&addr)));
}

int rds_local_addr(int fd, struct rds_addr *addr)
{
	socklen_t len = sizeof(*addr);
	struct rds_addr result = { 0 };
	int ret;

	ret = rds_syscall(getsockname(fd, &result.sa, &len));
	if (ret)
		return ret;
	/* port 0 cannot be bound: it stands for "not yet" */
	if (!rds_addr_port(&result))
		return -ENOTCONN;
	*addr = result;
	return 0;
}

int rds_peer_addr(int fd, struct rds_addr *addr)
{
	socklen_t len = sizeof(*addr);
	struct rds_addr result = { 0 };
	int ret;

	ret = rds_syscall(getpeername(fd, &result.sa, &len));
	if (ret)
		return ret;
	*addr = result;
	return 0;
}
