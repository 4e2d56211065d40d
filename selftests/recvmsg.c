// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 7: recvmsg(). */
#include "rds_test.h"

FIXTURE(recv) {
	struct rds_pair		p;
	char			*remote;	/* a page that p.rx has registered */
	rds_rdma_cookie_t	cookie;
};
RDS_BED_VARIANTS(recv);

FIXTURE_SETUP(recv)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(recv)
{
	pair_close(&self->p);
}

static void send_text(struct __test_metadata *_metadata, FIXTURE_DATA(recv) *self, const char *text)
{
	ssize_t len = strlen(text);

	ASSERT_EQ(len, rds_send(self->p.tx, &self->p.rx_addr, text, len, 0));
}

static void expect_text(struct __test_metadata *_metadata, FIXTURE_DATA(recv) *self,
			const char *text)
{
	char buf[256];
	ssize_t len = strlen(text);

	ASSERT_EQ(len, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	EXPECT_EQ(0, memcmp(buf, text, len));
}

/* A message is there; what else a fresh socket may report once is not meant. */
static void wait_for_text(struct __test_metadata *_metadata, FIXTURE_DATA(recv) *self,
			  const char *text)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char c;

	send_text(_metadata, self, text);
	while (rds_recv(self->p.rx, &c, 1, MSG_PEEK | MSG_DONTWAIT, NULL) != 1) {
		ASSERT_LT(now_ms(), end);
		ready(self->p.rx, POLLIN, 100);
	}
}

/* --- flags and waiting --- */

TEST_F(recv, abi7_oob_is_nothing)
{
	char c;

	EXPECT_EQ(0, rds_recv(self->p.rx, &c, 1, MSG_OOB, NULL));
	EXPECT_EQ(0, rds_recv(self->p.rx, &c, 1, MSG_OOB | MSG_DONTWAIT, NULL));
}

TEST_F(recv, abi7_errqueue_is_empty)
{
	char c;

	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_ERRQUEUE, NULL));
}

TEST_F(recv, abi7_nothing_nonblocking)
{
	char c;

	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
	ASSERT_EQ(0, fcntl(self->p.rx, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, 0, NULL));
}

TEST_F(recv, abi7_abi10_rcvtimeo)
{
	int64_t start = now_ms();
	char c;

	set_timeo(_metadata, self->p.rx, SO_RCVTIMEO, 300);
	EXPECT_EQ(-ETIMEDOUT, rds_recv(self->p.rx, &c, 1, 0, NULL));
	/* on an emulated CPU ticks come in bursts, and a time-out a little early */
	EXPECT_GE(now_ms() - start, 200);
}

TEST_F(recv, abi7_unbound_socket_waits)
{
	int fd = rds_socket();
	char c;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EAGAIN, rds_recv(fd, &c, 1, MSG_DONTWAIT, NULL));
	set_timeo(_metadata, fd, SO_RCVTIMEO, 50);
	EXPECT_EQ(-ETIMEDOUT, rds_recv(fd, &c, 1, 0, NULL));
}

struct blocked {
	int			fd;
	volatile pid_t		tid;
	ssize_t			result;
	char			c;
	struct rds_msg_in	in;
};

static void *recv_blocking(void *arg)
{
	struct blocked *b = arg;

	b->tid = my_tid();
	b->result = rds_recv(b->fd, &b->c, 1, 0, &b->in);
	return NULL;
}

static pthread_t start_blocked(struct __test_metadata *_metadata, struct blocked *b)
{
	return start_asleep(_metadata, recv_blocking, b, &b->tid);
}

TEST_F(recv, abi7_signal)
{
	struct blocked b = { .fd = self->p.rx };
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, 0);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

/* A call that may wait for ever goes on if the program wants that. */
TEST_F(recv, abi7_signal_restarts)
{
	struct blocked b = { .fd = self->p.rx };
	pthread_t thread;
	int i;

	catch_signal(_metadata, SIGUSR1, SA_RESTART);
	thread = start_blocked(_metadata, &b);
	for (i = 0; i < 3; i++) {
		interrupt(_metadata, thread, SIGUSR1);
		ASSERT_TRUE(thread_sleeps(b.tid));
	}
	send_text(_metadata, self, "r");
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, b.result);
	EXPECT_EQ('r', b.c);
}

/* One with a time-out would wait for all of it again, and does not. */
TEST_F(recv, abi7_signal_ends_a_limited_wait)
{
	struct blocked b = { .fd = self->p.rx };
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, SA_RESTART);
	set_timeo(_metadata, self->p.rx, SO_RCVTIMEO, 2 * RDS_WAIT_MS);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

TEST_F(recv, abi7_message_wakes_reader)
{
	struct blocked b = { .fd = self->p.rx };
	pthread_t thread = start_blocked(_metadata, &b);

	send_text(_metadata, self, "w");
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, b.result);
	EXPECT_EQ('w', b.c);
}

/* --- names --- */

TEST_F(recv, D07_name_length_and_padding)
{
	socklen_t len = addr_len(&self->p.tx_addr);
	struct iovec iov;
	union rds_addr from;
	char c;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = &from };

	wait_for_text(_metadata, self, "x");
	iov = (struct iovec){ &c, 1 };
	memset(&from, 0x5a, sizeof(from));
	msg.msg_namelen = sizeof(from);
	ASSERT_EQ(1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT));
	EXPECT_EQ(len, msg.msg_namelen);
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &from));
	EXPECT_TRUE(all_bytes((char *)&from + len, sizeof(from) - len, 0x5a));
	if (from.sa.sa_family == AF_INET) {
		EXPECT_TRUE(all_bytes(from.in.sin_zero, sizeof(from.in.sin_zero), 0));
	} else {
		EXPECT_EQ(0, from.in6.sin6_flowinfo);
	}
}

TEST_F(recv, D07_name_untouched_on_error)
{
	struct iovec iov;
	union rds_addr from;
	char c;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = &from };

	iov = (struct iovec){ &c, 1 };
	memset(&from, 0x5a, sizeof(from));
	msg.msg_namelen = sizeof(from);
	ASSERT_EQ(-1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_TRUE(all_bytes(&from, sizeof(from), 0x5a));
}

TEST_F(recv, D07_name_whatever_is_asked_for)
{
	static const int flags[] = { MSG_PEEK, MSG_TRUNC, MSG_PEEK | MSG_TRUNC, MSG_WAITALL };
	socklen_t len = addr_len(&self->p.tx_addr);
	struct rds_msg_in in;
	unsigned int i, room;
	char buf[8];

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		for (room = 0; room < 3; room++) {
			wait_for_text(_metadata, self, "ab");
			ASSERT_LE(0, rds_recv(self->p.rx, buf, room, MSG_DONTWAIT | flags[i], &in));
			EXPECT_EQ(len, in.from_len);
			EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
			if (flags[i] & MSG_PEEK)
				expect_text(_metadata, self, "ab");
		}
	}
	/* of an empty message, too */
	ASSERT_EQ(0, rds_send(self->p.tx, &self->p.rx_addr, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, buf, sizeof(buf), &in));
	EXPECT_EQ(len, in.from_len);
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
}

TEST_F(recv, D07_name_untouched_by_a_fault)
{
	struct iovec iov = { unmapped_page(_metadata), 1 };
	union rds_addr from;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = &from };

	wait_for_text(_metadata, self, "x");
	memset(&from, 0x5a, sizeof(from));
	msg.msg_namelen = sizeof(from);
	ASSERT_EQ(-1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_TRUE(all_bytes(&from, sizeof(from), 0x5a));
	EXPECT_EQ(sizeof(from), msg.msg_namelen);
	expect_text(_metadata, self, "x");
}

TEST_F(recv, abi7_short_name_buffer)
{
	struct iovec iov;
	char c, name[8];
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = name };

	wait_for_text(_metadata, self, "x");
	iov = (struct iovec){ &c, 1 };
	memset(name, 0x5a, sizeof(name));
	msg.msg_namelen = 4;
	ASSERT_EQ(1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT));
	EXPECT_EQ(addr_len(&self->p.tx_addr), msg.msg_namelen);
	EXPECT_EQ(0, memcmp(name, &self->p.tx_addr, 4));
	EXPECT_TRUE(all_bytes(name + 4, 4, 0x5a));
}

/* --- payload --- */

TEST_F(recv, abi7_short_buffer_truncates)
{
	struct rds_msg_in in;
	char buf[8];

	wait_for_text(_metadata, self, "abcdefgh");
	send_text(_metadata, self, "next");
	memset(buf, 'u', sizeof(buf));
	EXPECT_EQ(3, rds_recv(self->p.rx, buf, 3, MSG_DONTWAIT, &in));
	EXPECT_EQ(MSG_TRUNC, in.flags & MSG_TRUNC);
	EXPECT_EQ(0, memcmp(buf, "abcuuuuu", 8));
	/* the rest of it is gone */
	expect_text(_metadata, self, "next");
}

TEST_F(recv, abi7_trunc_flag_tells_full_length)
{
	struct rds_msg_in in;
	char buf[8];

	wait_for_text(_metadata, self, "abcdefgh");
	EXPECT_EQ(8, rds_recv(self->p.rx, buf, 3, MSG_DONTWAIT | MSG_TRUNC, &in));
	EXPECT_EQ(MSG_TRUNC, in.flags & MSG_TRUNC);
	wait_for_text(_metadata, self, "ab");
	EXPECT_EQ(2, rds_recv(self->p.rx, buf, 8, MSG_DONTWAIT | MSG_TRUNC, &in));
	EXPECT_EQ(0, in.flags & MSG_TRUNC);
}

TEST_F(recv, abi7_peek_leaves_the_message)
{
	struct rds_msg_in in;
	char buf[8];

	wait_for_text(_metadata, self, "abc");
	EXPECT_EQ(3, rds_recv(self->p.rx, buf, 8, MSG_DONTWAIT | MSG_PEEK, &in));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
	EXPECT_EQ(1, rds_recv(self->p.rx, buf, 1, MSG_DONTWAIT | MSG_PEEK, &in));
	EXPECT_EQ(MSG_TRUNC, in.flags & MSG_TRUNC);
	expect_text(_metadata, self, "abc");
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, buf, 8, MSG_DONTWAIT, NULL));
}

TEST_F(recv, abi7_other_flags_are_ignored)
{
	char buf[8];

	wait_for_text(_metadata, self, "abc");
	EXPECT_EQ(3, rds_recv(self->p.rx, buf, 8, MSG_DONTWAIT | MSG_WAITALL, NULL));
}

TEST_F(recv, abi7_fault_keeps_the_message)
{
	size_t page = page_size();
	char *buf = map_guarded(_metadata, page);
	struct iovec iov[2] = { { buf, 2 }, { buf + page, 2 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	wait_for_text(_metadata, self, "abcd");
	EXPECT_EQ(-EFAULT, rds_recv(self->p.rx, buf + page, 4, MSG_DONTWAIT, NULL));
	EXPECT_EQ(-EFAULT, rds_recv(self->p.rx, buf + page - 2, 4, MSG_DONTWAIT, NULL));
	EXPECT_EQ(-1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT));
	EXPECT_EQ(EFAULT, errno);
	expect_text(_metadata, self, "abcd");
}

TEST_F(recv, abi7_scattered_into_many_iovecs)
{
	static char out[5000], in[5000];
	struct iovec iov[500];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 500 };
	int i;

	fill(out, sizeof(out), 9);
	for (i = 0; i < 500; i++)
		iov[i] = (struct iovec){ in + i * 10, 10 };
	ASSERT_EQ(sizeof(out), rds_send(self->p.tx, &self->p.rx_addr, out, sizeof(out), 0));
	ASSERT_EQ(sizeof(out), recvmsg(self->p.rx, &msg, 0));
	EXPECT_EQ(0, memcmp(out, in, sizeof(out)));
}

/* --- timestamps --- */

TEST_F(recv, abi7_abi10_timestamp)
{
	struct timeval before, after;
	struct rds_msg_in in;
	char c;

	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	gettimeofday(&before, NULL);
	send_text(_metadata, self, "x");
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	gettimeofday(&after, NULL);
	ASSERT_EQ(1, in.nr_timestamps);
	EXPECT_FALSE(timercmp(&in.timestamp, &before, <));
	EXPECT_FALSE(timercmp(&in.timestamp, &after, >));

	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 0);
	send_text(_metadata, self, "x");
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_EQ(0, in.nr_timestamps);
}

TEST_F(recv, abi7_D13_bad_control_buffer)
{
	struct iovec iov;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	void *hole = unmapped_page(_metadata);
	int i, err;
	char c;

	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	for (i = 0; i < 200; i++) {
		wait_for_text(_metadata, self, "m");
		iov = (struct iovec){ &c, 1 };
		msg.msg_control = hole;
		msg.msg_controllen = 128;
		err = recvmsg(self->p.rx, &msg, MSG_DONTWAIT) < 0 ? errno : 0;
		/* still queued or released, never in between */
		if (err) {
			ASSERT_EQ(EFAULT, err);
		} else {
			ASSERT_TRUE(msg.msg_flags & MSG_CTRUNC);
		}
		while (rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL) > 0)
			;
	}
	wait_for_text(_metadata, self, "ok");
	expect_text(_metadata, self, "ok");
}

/* Nobody's memory: not mapped, not writable, the kernel's, and cut in the middle. */
static void *bad_control(struct __test_metadata *_metadata, unsigned int i)
{
	size_t page = page_size();
	char *p = map_guarded(_metadata, page);

	switch (i) {
	case 0:
		return p + page;
	case 1:
		ASSERT_EQ(0, mprotect(p, page, PROT_READ));
		return p;
	case 2:
		return (void *)KERNEL_ADDR;
	default:
		return p + page - 16;
	}
}

#define BAD_CONTROLS	4

TEST_F(recv, abi7_D13_cookie_into_bad_control_buffer)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	rds_rdma_cookie_t cookie;
	struct rds_msg_out m;
	struct rds_msg_in in;
	struct msghdr msg;
	unsigned int i;

	self->remote = map_guarded(_metadata, page_size());
	ASSERT_EQ(0, get_mr(self->p.tx, self->remote, 100, 0, &cookie));
	for (i = 0; i < BAD_CONTROLS; i++) {
		msg_init(&m, &self->p.rx_addr, NULL, 0);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
		ASSERT_EQ(0, msg_send(self->p.tx, &m, 0));
		while (rds_recv(self->p.rx, NULL, 0, MSG_PEEK | MSG_DONTWAIT, NULL)) {
			ASSERT_LT(now_ms(), end);
			ready(self->p.rx, POLLIN, 100);
		}
		msg = (struct msghdr){ .msg_control = bad_control(_metadata, i),
				       .msg_controllen = 128 };
		EXPECT_EQ(-1, recvmsg(self->p.rx, &msg, MSG_DONTWAIT)) {
			TH_LOG("place %u", i);
		}
		EXPECT_EQ(EFAULT, errno);
		/* it is still there, with its cookie */
		ASSERT_EQ(0, rds_recv_wait(self->p.rx, NULL, 0, &in));
		EXPECT_TRUE(in.has_dest);
		EXPECT_EQ(cookie, in.dest);
	}
}

/* --- notifications --- */

/* Register a page at the receiver and use it once, so that what a first
 * connection brings along is behind us.
 */
static void prepare_rdma(struct __test_metadata *_metadata, FIXTURE_DATA(recv) *self)
{
	self->remote = map_guarded(_metadata, page_size());
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, page_size(), RDS_RDMA_READWRITE,
			    &self->cookie));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0, "w", 1,
					     RDS_RDMA_READWRITE));
	ready(self->p.tx, POLLIN, 0);
}

/* Start @nr operations with tokens from @token on and wait until the notifications
 * of all are there.  A socket beside the sender's runs one more: operations on one
 * connection complete in order.
 */
static void notifications(struct __test_metadata *_metadata, FIXTURE_DATA(recv) *self,
			  uint64_t token, unsigned int nr)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int fd = open_bound(_metadata, &a);

	while (nr--) {
		ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "n", 1,
				     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
				     token++));
	}
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(fd, &self->p.rx_addr, self->cookie, 0, "w", 1,
					     RDS_RDMA_READWRITE));
	close(fd);
}

static void expect_status(struct __test_metadata *_metadata, const struct rds_msg_in *in,
			  unsigned int i, uint64_t token)
{
	ASSERT_LT(i, in->nr_status);
	EXPECT_EQ(token, in->status[i].user_token);
	EXPECT_EQ(RDS_RDMA_SUCCESS, in->status[i].status);
}

TEST_F(recv, abi7_notification_before_data)
{
	struct rds_msg_in in;
	uint64_t queued;
	char buf[8];

	prepare_rdma(_metadata, self);
	queued = counter(self->p.rx, "recv_queued");
	ASSERT_NE(UINT64_MAX, queued);
	ASSERT_EQ(4, rds_send(self->p.rx, &self->p.tx_addr, "data", 4, 0));
	while (counter(self->p.rx, "recv_queued") == queued)
		nap();
	notifications(_metadata, self, 77, 1);
	ASSERT_EQ(0, rds_recv(self->p.tx, buf, sizeof(buf), MSG_DONTWAIT, &in));
	ASSERT_EQ(1, in.nr_status);
	expect_status(_metadata, &in, 0, 77);
	EXPECT_EQ(4, rds_recv(self->p.tx, buf, sizeof(buf), MSG_DONTWAIT, &in));
	EXPECT_EQ(0, in.nr_status);
}

TEST_F(recv, abi7_notification_wakes_reader)
{
	struct blocked b = { .fd = self->p.tx };
	pthread_t thread;

	prepare_rdma(_metadata, self);
	thread = start_blocked(_metadata, &b);
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "n", 1,
			     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 70));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, b.result);
	EXPECT_EQ(1, b.in.nr_cmsgs);
	expect_status(_metadata, &b.in, 0, 70);
}

TEST_F(recv, abi7_peek_brings_the_cookie)
{
	struct rds_msg_out m;
	struct rds_msg_in in;
	char c;
	int i;

	prepare_rdma(_metadata, self);
	msg_init(&m, &self->p.tx_addr, "d", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &self->cookie, sizeof(self->cookie));
	ASSERT_EQ(1, msg_send(self->p.rx, &m, 0));
	ASSERT_NE(0, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, rds_recv(self->p.tx, &c, 1, i < 2 ? MSG_PEEK : MSG_DONTWAIT, &in));
		EXPECT_TRUE(in.has_dest);
		EXPECT_EQ(self->cookie, in.dest);
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, &c, 1, MSG_DONTWAIT, NULL));
}

TEST_F(recv, D07_notification_has_no_name)
{
	char control[CMSG_SPACE(16)];
	union rds_addr from;
	struct msghdr msg = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_control = control, .msg_controllen = sizeof(control),
	};

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 78, 1);
	memset(&from, 0x5a, sizeof(from));
	ASSERT_EQ(0, recvmsg(self->p.tx, &msg, MSG_DONTWAIT));
	ASSERT_NE(NULL, CMSG_FIRSTHDR(&msg));
	EXPECT_EQ(0, msg.msg_namelen);
	EXPECT_TRUE(all_bytes(&from, sizeof(from), 0x5a));
}

TEST_F(recv, D12_no_stale_bytes_in_status)
{
	struct rds_msg_in in;

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 79, 1);
	ASSERT_EQ(0, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, &in));
	ASSERT_EQ(1, in.nr_status);
	EXPECT_TRUE(in.padding_clean);
}

TEST_F(recv, D12_no_stale_bytes_in_a_failure)
{
	struct rds_msg_in in;

	prepare_rdma(_metadata, self);
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, page_size(), "x", 1,
			     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 80));
	ASSERT_EQ(0, rds_recv_wait(self->p.tx, NULL, 0, &in));
	ASSERT_EQ(1, in.nr_status);
	EXPECT_EQ(80, in.status[0].user_token);
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, in.status[0].status);
	EXPECT_TRUE(in.padding_clean);
}

TEST_F(recv, abi7_D13_status_into_bad_control_buffer)
{
	struct rds_msg_in in;
	struct msghdr msg;
	unsigned int i;

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 90, 1);
	for (i = 0; i < BAD_CONTROLS; i++) {
		msg = (struct msghdr){ .msg_control = bad_control(_metadata, i),
				       .msg_controllen = 128 };
		EXPECT_EQ(-1, recvmsg(self->p.tx, &msg, MSG_DONTWAIT)) {
			TH_LOG("place %u", i);
		}
		EXPECT_EQ(EFAULT, errno);
	}
	/* told once, and not lost */
	ASSERT_EQ(0, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, &in));
	ASSERT_EQ(1, in.nr_status);
	expect_status(_metadata, &in, 0, 90);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

TEST_F(recv, abi7_better_notifications_in_order_of_completion)
{
	unsigned int i, got = 0;
	struct rds_msg_in in;

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 100, 20);
	while (got < 20) {
		ASSERT_EQ(0, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, &in));
		ASSERT_GT(in.nr_status, 0);
		for (i = 0; i < in.nr_status; i++)
			expect_status(_metadata, &in, i, 100 + got++);
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

/* recvmsg() with room for exactly @room bytes of control data: how many notifications */
static int take(int fd, size_t room, int *flags)
{
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr msg = { .msg_control = control, .msg_controllen = room };
	struct cmsghdr *cmsg;
	int n = 0;

	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0)
		return -errno;
	*flags = msg.msg_flags;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		n++;
	return n;
}

TEST_F(recv, abi7_as_many_notifications_as_fit)
{
	int flags;

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 200, 6);
	EXPECT_EQ(1, take(self->p.tx, CMSG_SPACE(16), &flags));
	EXPECT_EQ(0, flags & MSG_CTRUNC);
	EXPECT_EQ(2, take(self->p.tx, 2 * CMSG_SPACE(16), &flags));
	EXPECT_EQ(3, take(self->p.tx, 10 * CMSG_SPACE(16), &flags));
	EXPECT_EQ(-EAGAIN, take(self->p.tx, 512, &flags));
}

TEST_F(recv, abi7_better_no_room_keeps_the_notification)
{
	int flags;

	prepare_rdma(_metadata, self);
	notifications(_metadata, self, 300, 1);
	EXPECT_EQ(0, take(self->p.tx, 0, &flags));
	EXPECT_EQ(MSG_CTRUNC, flags & MSG_CTRUNC);
	EXPECT_EQ(0, take(self->p.tx, CMSG_LEN(16) - 1, &flags));
	EXPECT_EQ(MSG_CTRUNC, flags & MSG_CTRUNC);
	EXPECT_EQ(POLLIN, ready(self->p.tx, POLLIN, 0));
	EXPECT_EQ(1, take(self->p.tx, CMSG_SPACE(16), &flags));
	EXPECT_EQ(-EAGAIN, take(self->p.tx, CMSG_SPACE(16), &flags));
}

TEST_HARNESS_MAIN
