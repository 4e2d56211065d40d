// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Faults in every call but sending: sockets, options, receiving, polling. */
#include <sys/epoll.h>
#include "failnth.h"

#define STATUSES	3

/* --- sockets --- */

static void close_socket(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
}

static long call_socket(sweep_state *self)
{
	self->fd = rds_socket();
	return self->fd < 0 ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, socket, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_socket, .worked = close_socket,
						.errors = F_NOMEM | F_NFILE });
}

/* One that could not be bound can be, the next time. */
static void socket_to_bind(struct __test_metadata *_metadata, sweep_state *self)
{
	if (self->fd < 0) {
		ASSERT_EQ(0, call_socket(self));
	}
}

static long call_bind(sweep_state *self)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);

	return rds_bind(self->fd, &a);
}

TEST_F_TIMEOUT(failnth, bind, SWEEP_SECONDS)
{
	self->fd = -1;
	sweep(_metadata, self, &(struct sweep){ socket_to_bind, call_bind, close_socket, NULL,
						F_NOMEM | F_FAULT });
}

static long call_connect(sweep_state *self)
{
	return rds_connect(self->p.tx, &self->p.rx_addr);
}

TEST_F_TIMEOUT(failnth, connect, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_connect, .errors = F_NOMEM | F_FAULT });
}

static long call_names(sweep_state *self)
{
	socklen_t len = sizeof(union rds_addr);
	union rds_addr a;

	if (getsockname(self->p.tx, &a.sa, &len))
		return -errno;
	len = sizeof(a);
	return getpeername(self->p.tx, &a.sa, &len) ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, names, SWEEP_SECONDS)
{
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	sweep(_metadata, self, &(struct sweep){ .call = call_names, .errors = F_FAULT });
}

/* A socket with a key, an unread message and one that may not be acknowledged yet. */
static void socket_to_close(struct __test_metadata *_metadata, sweep_state *self)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);

	self->fd = open_bound(_metadata, &a);
	ASSERT_EQ(0, get_mr(self->fd, self->in, 3 * page_size(), 0, &self->key));
	ASSERT_EQ(0, rds_send(self->p.tx, &a, NULL, 0, 0));
	ASSERT_TRUE(ready(self->fd, POLLIN, RDS_WAIT_MS));
	ASSERT_EQ(0, rds_send(self->fd, &self->p.rx_addr, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, self->in, 1, NULL));
}

static long call_close(sweep_state *self)
{
	return close(self->fd) ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, close, SWEEP_SECONDS)
{
	unsigned int n;

	/* there may be no fault in it at all: nothing may fail there */
	for (n = 1; n < 20; n++) {
		socket_to_close(_metadata, self);
		arm(_metadata, self, n);
		ASSERT_EQ(0, call_close(self));
		disarm(self);
		expect_accounts(_metadata, self, n);
	}
	expect_room(_metadata, self);
}

/* --- options --- */

static long call_recverr(sweep_state *self)
{
	socklen_t len = sizeof(int);
	int value = 1;

	if (setsockopt(self->p.tx, SOL_RDS, RDS_RECVERR, &value, sizeof(value)))
		return -errno;
	return getsockopt(self->p.tx, SOL_RDS, RDS_RECVERR, &value, &len) ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, recverr, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_recverr, .errors = F_FAULT });
}

static long call_counters(sweep_state *self)
{
	socklen_t len = RDS_MAX_MSG;

	return getsockopt(self->p.tx, SOL_RDS, RDS_INFO_COUNTERS, self->in, &len) < 0 ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, counters, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_counters,
						.errors = F_NOMEM | F_FAULT });
}

static long call_cancel(sweep_state *self)
{
	return set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &self->p.rx_addr,
		       addr_len(&self->p.rx_addr));
}

TEST_F_TIMEOUT(failnth, cancel_sent_to, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_cancel, .errors = F_FAULT });
}

static long call_get_mr(sweep_state *self)
{
	return get_mr(self->p.tx, self->out, self->len, RDS_RDMA_READWRITE, &self->key);
}

static void free_key(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, free_mr(self->p.tx, self->key));
}

TEST_F_TIMEOUT(failnth, get_mr, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_get_mr, .worked = free_key,
						.errors = F_NOMEM | F_FAULT });
}

TEST_F_TIMEOUT(failnth, get_mr_of_one_mebibyte, SWEEP_SECONDS)
{
	self->len = RDS_MAX_MSG;
	sweep(_metadata, self, &(struct sweep){ .call = call_get_mr, .worked = free_key,
						.errors = F_NOMEM | F_FAULT });
}

static long call_get_mr_for_dest(sweep_state *self)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { (uintptr_t)self->out, self->len },
		.cookie_addr = (uintptr_t)&self->key,
	};

	return set_opt(self->p.tx, RDS_GET_MR_FOR_DEST, &args, sizeof(args));
}

TEST_F_TIMEOUT(failnth, get_mr_for_dest, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_get_mr_for_dest, .worked = free_key,
						.errors = F_NOMEM | F_FAULT });
}

/* A key that could not be freed is as it was. */
static void key_to_free(struct __test_metadata *_metadata, sweep_state *self)
{
	if (!self->key)
		own_key(_metadata, self);
}

static long call_free_mr(sweep_state *self)
{
	return free_mr(self->p.tx, self->key);
}

static void key_freed(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(self->base.keys - 1, read_accounts(self).keys);
	ASSERT_EQ(-EINVAL, call_free_mr(self));
	self->key = 0;
	take_base(self);
}

TEST_F_TIMEOUT(failnth, free_mr, SWEEP_SECONDS)
{
	self->key = 0;
	sweep(_metadata, self, &(struct sweep){ key_to_free, call_free_mr, key_freed, NULL,
						F_FAULT });
}

/* --- receiving --- */

/* A message waits that carries a key: the one of before, if receiving that failed. */
static void message_to_receive(struct __test_metadata *_metadata, sweep_state *self)
{
	if (ready(self->p.rx, POLLIN, 0))
		return;
	message_init(self);
	msg_cmsg(&self->msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &self->key, sizeof(self->key));
	ASSERT_EQ(self->len, call_send(self));
	ASSERT_TRUE(ready(self->p.rx, POLLIN, RDS_WAIT_MS));
	take_base(self);
}

static long receive(sweep_state *self, union rds_addr *name, int flags)
{
	struct iovec iov = { self->in, self->len };
	_Alignas(struct cmsghdr) char control[256];
	struct msghdr msg = {
		.msg_name = name, .msg_namelen = name ? sizeof(*name) : 0,
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	unsigned int nr = 0;
	ssize_t n;

	n = recvmsg(self->p.rx, &msg, flags | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		nr++;
	/* the key and the time stamp */
	return n == self->len && nr == 2 && !msg.msg_flags ? n : -EBADMSG;
}

static long call_receive(sweep_state *self)
{
	return receive(self, NULL, 0);
}

static void received(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, memcmp(self->out, self->in, self->len));
	memset(self->in, 0, self->len);
	self->base.unread -= self->len;
}

static void sweep_receive(struct __test_metadata *_metadata, sweep_state *self)
{
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	own_key(_metadata, self);
	sweep(_metadata, self, &(struct sweep){ message_to_receive, call_receive, received, NULL,
						F_FAULT });
}

/* No message is lost by a fault: the accounts after it show that it is still there. */
TEST_F_TIMEOUT(failnth, receive, SWEEP_SECONDS)
{
	sweep_receive(_metadata, self);
}

TEST_F_TIMEOUT(failnth, receive_one_mebibyte, SWEEP_SECONDS)
{
	self->len = RDS_MAX_MSG;
	sweep_receive(_metadata, self);
}

static long call_receive_name(sweep_state *self)
{
	union rds_addr name;

	return receive(self, &name, 0);
}

/* The generic layer copies the name out when we have done our part: the message is gone. */
static void not_received(struct __test_metadata *_metadata, sweep_state *self)
{
	uint64_t now = read_accounts(self).unread;

	ASSERT_TRUE(now == self->base.unread || now == self->base.unread - self->len);
	self->base.unread = now;
}

TEST_F_TIMEOUT(failnth, receive_name, SWEEP_SECONDS)
{
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	own_key(_metadata, self);
	sweep(_metadata, self, &(struct sweep){ message_to_receive, call_receive_name, received,
						not_received, F_FAULT });
}

static long call_peek(sweep_state *self)
{
	return receive(self, NULL, MSG_PEEK);
}

static void peeked(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, memcmp(self->out, self->in, self->len));
}

TEST_F_TIMEOUT(failnth, peek, SWEEP_SECONDS)
{
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	own_key(_metadata, self);
	sweep_faults(_metadata, self, &(struct sweep){ message_to_receive, call_peek, peeked, NULL,
						       F_FAULT });
	ASSERT_EQ(self->len, call_receive(self));
	received(_metadata, self);
	expect_room(_metadata, self);
}

/* --- notifications --- */

/* Some wait, each with the number of its operation. */
static void statuses_to_receive(struct __test_metadata *_metadata, sweep_state *self)
{
	while (self->sent < self->seen + STATUSES) {
		ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, self->out, 100,
				     RDS_RDMA_READWRITE | RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME,
				     self->sent));
		self->sent++;
	}
	ASSERT_TRUE(ready(self->p.tx, POLLIN, RDS_WAIT_MS));
}

static long call_statuses(sweep_state *self)
{
	struct rds_msg_in in;
	ssize_t n = rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, &in);
	unsigned int i;

	for (i = 0; n >= 0 && i < in.nr_status; i++)
		if (in.status[i].user_token != self->seen++ || in.status[i].status)
			return -EBADMSG;
	return n;
}

/* Each comes once and in order, whatever happens while they are read. */
TEST_F_TIMEOUT(failnth, statuses, SWEEP_SECONDS)
{
	self->sent = self->seen = 0;
	sweep_faults(_metadata, self, &(struct sweep){ statuses_to_receive, call_statuses, NULL,
						       NULL, F_FAULT });
	while (self->seen < self->sent) {
		ASSERT_TRUE(ready(self->p.tx, POLLIN, RDS_WAIT_MS));
		ASSERT_EQ(0, call_statuses(self));
	}
	expect_room(_metadata, self);
}

/* --- polling --- */

static long call_poll(sweep_state *self)
{
	struct pollfd pfd[40];
	unsigned int i;

	/* more than fit the system call's stack */
	for (i = 0; i < ARRAY_SIZE(pfd); i++)
		pfd[i] = (struct pollfd){ .fd = self->p.tx, .events = POLLIN | POLLOUT };
	return poll(pfd, ARRAY_SIZE(pfd), 0) < 0 ? -errno : 0;
}

TEST_F_TIMEOUT(failnth, poll, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_poll, .errors = F_NOMEM | F_FAULT });
}

static long call_epoll(sweep_state *self)
{
	struct epoll_event ev = { .events = EPOLLOUT };
	int fd = epoll_create1(0);
	long ret = 0;

	if (fd < 0)
		return -errno;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, self->p.tx, &ev) || epoll_wait(fd, &ev, 1, 0) != 1)
		ret = -errno;
	close(fd);
	return ret;
}

TEST_F_TIMEOUT(failnth, epoll, SWEEP_SECONDS)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_epoll, .errors = F_NOMEM | F_FAULT });
}

TEST_HARNESS_MAIN
