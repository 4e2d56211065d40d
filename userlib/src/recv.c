// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Incoming messages, notifications, congestion updates; waiting for them. */
#include "internal.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* What one call can bring: notifications alone, or a message with its cookie,
 * a time stamp and what else may be switched on by socket options.
 */
#define CONTROL_SIZE	(LIBRDS_NOTIFY_MAX * CMSG_SPACE(sizeof(struct rds_rdma_notify)))

union control {
	struct cmsghdr	align;
	char		bytes[CONTROL_SIZE];
};

static int copy_cmsg(void *dst, const struct cmsghdr *cmsg, size_t size)
{
	if (cmsg->cmsg_len != CMSG_LEN(size))
		return -EINVAL;
	memcpy(dst, CMSG_DATA(cmsg), size);
	return 0;
}

static int parse_notify(const struct cmsghdr *cmsg, struct rds_incoming *in)
{
	in->what |= LIBRDS_IN_NOTIFY;
	if (in->nr_notify == LIBRDS_NOTIFY_MAX) {
		in->what |= LIBRDS_IN_CTRUNC;
		return 0;
	}
	return copy_cmsg(&in->notify[in->nr_notify++], cmsg, sizeof(in->notify[0]));
}

static int parse_cmsg(const struct cmsghdr *cmsg, struct rds_incoming *in)
{
	if (cmsg->cmsg_level != SOL_RDS)
		return 0;
	switch (cmsg->cmsg_type) {
	case RDS_CMSG_RDMA_STATUS:
		return parse_notify(cmsg, in);
	case RDS_CMSG_RDMA_DEST:
		in->what |= LIBRDS_IN_COOKIE;
		return copy_cmsg(&in->cookie, cmsg, sizeof(in->cookie));
	case RDS_CMSG_CONG_UPDATE:
		in->what |= LIBRDS_IN_CONG;
		return copy_cmsg(&in->cong, cmsg, sizeof(in->cong));
	default:
		return 0;
	}
}

/* Only a message has a sender: that tells an empty one from a notification. */
static void parse_name(const struct msghdr *msg, struct rds_incoming *in)
{
	size_t len = msg->msg_namelen;

	if (!msg->msg_name || !len)
		return;
	memcpy(&in->from, msg->msg_name, len < sizeof(in->from) ? len : sizeof(in->from));
	in->what |= LIBRDS_IN_MESSAGE;
}

int rds_parse_msghdr(const struct msghdr *msg, struct rds_incoming *in)
{
	struct msghdr *m = (struct msghdr *)msg;	/* for CMSG_NXTHDR */
	struct cmsghdr *cmsg;
	int ret;

	memset(in, 0, sizeof(*in));
	parse_name(msg, in);
	if (msg->msg_flags & MSG_TRUNC)
		in->what |= LIBRDS_IN_TRUNC;
	if (msg->msg_flags & MSG_CTRUNC)
		in->what |= LIBRDS_IN_CTRUNC;
	for (cmsg = CMSG_FIRSTHDR(m); cmsg; cmsg = CMSG_NXTHDR(m, cmsg)) {
		ret = parse_cmsg(cmsg, in);
		if (ret)
			return ret;
	}
	return 0;
}

static ssize_t receive(int fd, struct iovec *iov, void *control, size_t size,
		       struct rds_incoming *in, int flags)
{
	struct rds_addr from;
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = size,
	};
	ssize_t ret;
	int error;

	ret = rds_syscall(recvmsg(fd, &msg, flags));
	if (ret < 0)
		return ret;
	error = rds_parse_msghdr(&msg, in);
	/* with MSG_TRUNC given, the kernel returns more than it stored */
	in->len = (size_t)ret < iov->iov_len ? (size_t)ret : iov->iov_len;
	return error ? error : ret;
}

ssize_t rds_recv(int fd, void *buf, size_t len, struct rds_incoming *in,
		 int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	union control control;

	return receive(fd, &iov, control.bytes, sizeof(control.bytes), in, flags);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	/* cannot fail with this clock and a valid pointer */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* Milliseconds until @deadline as poll() takes them; a negative one is never. */
static int remaining_ms(int64_t deadline)
{
	int64_t left;

	if (deadline < 0)
		return -1;
	left = deadline - now_ms();
	return left > 0 ? left : 0;
}

static int64_t deadline_ms(int timeout)
{
	return timeout < 0 ? -1 : now_ms() + timeout;
}

static int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;
	int ret;

	ret = rds_syscall(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	return ret ? ret : -error;
}

/* 0: try to read again */
static int wait_readable(int fd, int64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret;

	ret = rds_syscall(poll(&pfd, 1, remaining_ms(deadline)));
	if (ret < 0)
		return ret;
	if (!ret)
		return -ETIMEDOUT;
	return pfd.revents & POLLERR ? socket_error(fd) : 0;
}

ssize_t rds_recv_timeout(int fd, void *buf, size_t len,
			 struct rds_incoming *in, int timeout)
{
	int64_t deadline = deadline_ms(timeout);
	ssize_t ret;
	int error;

	/* a readable socket may still have nothing: congestion maps wake it */
	for (;;) {
		ret = rds_recv(fd, buf, len, in, MSG_DONTWAIT);
		if (ret != -EAGAIN)
			return ret;
		error = wait_readable(fd, deadline);
		if (error)
			return error;
	}
}

/*
 * Take the next notification if one is due: 1, 0 if not, or an error.  The
 * kernel hands out notifications before messages, one kind per call, and
 * MSG_PEEK leaves a message where it is but consumes a notification.  There is
 * control space for exactly one.
 */
static int take_notify(int fd, struct rds_rdma_notify *notify)
{
	union {
		struct cmsghdr	align;
		char		bytes[CMSG_SPACE(sizeof(struct rds_rdma_notify))];
	} control;
	struct iovec iov = { 0 };
	struct rds_incoming in;
	ssize_t ret;

	ret = receive(fd, &iov, control.bytes, sizeof(control.bytes), &in,
		      MSG_PEEK | MSG_DONTWAIT);
	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	if (!in.nr_notify)
		return 0;
	*notify = in.notify[0];
	return 1;
}

/*
 * Messages that nobody reads keep the socket readable, so that poll() would
 * return at once again and again.  An edge-triggered wait returns only when
 * something new has come.
 */
static int wait_for_edge(int epfd, int64_t deadline)
{
	struct epoll_event event;
	int ret;

	ret = rds_syscall(epoll_wait(epfd, &event, 1, remaining_ms(deadline)));
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIMEDOUT;
}

static int open_edge(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epfd, ret;

	epfd = rds_syscall(epoll_create1(EPOLL_CLOEXEC));
	if (epfd < 0)
		return epfd;
	ret = rds_syscall(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event));
	if (ret) {
		rds_syscall(close(epfd));
		return ret;
	}
	return epfd;
}

int rds_wait_notify(int fd, struct rds_rdma_notify *notify, int timeout)
{
	int64_t deadline = deadline_ms(timeout);
	int epfd, ret;

	ret = take_notify(fd, notify);
	if (ret)
		return ret < 0 ? ret : 0;
	epfd = open_edge(fd);
	if (epfd < 0)
		return epfd;
	do {
		ret = wait_for_edge(epfd, deadline);
		if (!ret)
			ret = take_notify(fd, notify);
	} while (!ret);
	rds_syscall(close(epfd));
	return ret < 0 ? ret : 0;
}

const char *rds_status_name(int32_t status)
{
	static const char * const names[] = {
		[RDS_RDMA_SUCCESS] = "SUCCESS",
		[RDS_RDMA_REMOTE_ERROR] = "REMOTE_ERROR",
		[RDS_RDMA_CANCELED] = "CANCELED",
		[RDS_RDMA_DROPPED] = "DROPPED",
		[RDS_RDMA_OTHER_ERROR] = "OTHER_ERROR",
	};

	if (status < 0 || (size_t)status >= rds_array_size(names))
		return "UNKNOWN";
	return names[status];
}
