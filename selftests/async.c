// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What Oracle's kernel has beyond mainline: bytes still queued, and the fate of messages. */
#include <linux/rds_ext.h>
#include "rds_test.h"

FIXTURE(async) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(async);

FIXTURE_SETUP(async)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(async)
{
	pair_close(&self->p);
}

/* --- SO_RDS_INQ --- */

/* Read one message: its length, and what is queued behind it; -1 where that was not told. */
static ssize_t recv_inq(int fd, int flags, int *inq)
{
	char control[CMSG_SPACE(sizeof(int))], buf[1000];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	ssize_t n;

	*inq = -1;
	n = recvmsg(fd, &msg, flags);
	cmsg = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_RDS && cmsg->cmsg_type == RDS_CMSG_INQ &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(inq, CMSG_DATA(cmsg), sizeof(*inq));
	return n < 0 ? -errno : n;
}

TEST_F_TIMEOUT(async, uek5_inq, RDS_SLOW_TEST)
{
	static const size_t lens[] = { 10, 700, 0, 33 };
	static char data[1000];
	uint64_t queued = counter(self->p.rx, "recv_queued");
	int64_t end = now_ms() + RDS_WAIT_MS;
	int inq, on = 1, i, left = 743;

	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_INQ, &on, sizeof(on)));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(lens[i], rds_send(self->p.tx, &self->p.rx_addr, data, lens[i], 0));
	while (counter(self->p.rx, "recv_queued") < queued + 4 && now_ms() < end)
		nap();
	ASSERT_EQ(10, recv_inq(self->p.rx, MSG_PEEK, &inq));
	EXPECT_EQ(733, inq);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(lens[i], recv_inq(self->p.rx, MSG_DONTWAIT, &inq));
		left -= lens[i];
		EXPECT_EQ(left, inq);
	}
	on = 0;
	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_INQ, &on, sizeof(on)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, data, 1, 0));
	ASSERT_EQ(1, recv_inq(self->p.rx, 0, &inq));
	EXPECT_EQ(-1, inq);
}

TEST(uek5_inq_option)
{
	int value = 5, fd = rds_socket();
	socklen_t len = sizeof(value);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, getsockopt(fd, SOL_RDS, SO_RDS_INQ, &value, &len));
	EXPECT_EQ(0, value);
	value = 5;
	EXPECT_EQ(0, set_opt(fd, SO_RDS_INQ, &value, sizeof(value)));
	EXPECT_EQ(0, getsockopt(fd, SOL_RDS, SO_RDS_INQ, &value, &len));
	EXPECT_EQ(1, value);
	EXPECT_EQ(-EINVAL, set_opt(fd, SO_RDS_INQ, &value, 3));
	EXPECT_EQ(-EFAULT, set_opt(fd, SO_RDS_INQ, unmapped_page(_metadata), 4));
	close(fd);
}

/* --- async send --- */

static ssize_t send_async(int fd, const union rds_addr *to, size_t len, uint64_t token, uint64_t flags)
{
	struct rds_asend_args args = { token, flags };
	static char data[10000];
	struct rds_msg_out m;

	msg_init(&m, to, data, len);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ASYNC_SEND, &args, sizeof(args));
	return msg_send(fd, &m, MSG_DONTWAIT);
}

TEST_F_TIMEOUT(async, uek5_async_success_in_order, RDS_SLOW_TEST)
{
	static const size_t lens[] = { 100, 0, 10000, 1 };
	uint64_t token = 0;
	static char buf[10000];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(lens[i], send_async(self->p.tx, &self->p.rx_addr, lens[i], 70 + i,
					      RDS_SEND_NOTIFY_ME));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
		EXPECT_EQ(70 + i, token);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(lens[i], rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	/* not asked for: nothing told */
	ASSERT_EQ(5, send_async(self->p.tx, &self->p.rx_addr, 5, 80, 0));
	EXPECT_EQ(5, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	ASSERT_EQ(6, send_async(self->p.tx, &self->p.rx_addr, 6, 81, RDS_SEND_NOTIFY_ME));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(81, token);
}

/* The message's own status beside that of its operation */
TEST_F_TIMEOUT(async, uek5_async_with_rdma, RDS_SLOW_TEST)
{
	struct rds_asend_args args = { 21, RDS_SEND_NOTIFY_ME };
	char *remote = map_guarded(_metadata, 8), buf[8];
	struct rds_iovec iov = { (uintptr_t)"written", 8 };
	rds_rdma_cookie_t cookie;
	struct rds_msg_out m;
	uint64_t token = 0;

	ASSERT_EQ(0, get_mr(self->p.rx, remote, 8, RDS_RDMA_READWRITE, &cookie));
	msg_init(&m, &self->p.rx_addr, "m", 1);
	msg_rdma(&m, cookie, 0, 8, &iov, 1, RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 20);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ASYNC_SEND, &args, sizeof(args));
	ASSERT_EQ(1, msg_send(self->p.tx, &m, 0));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(20, token);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(21, token);
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, buf, 1, NULL));
	EXPECT_STREQ("written", remote);

	/* the operation fails, and takes its message with it */
	msg_init(&m, &self->p.rx_addr, "n", 1);
	msg_rdma(&m, cookie, 8, 8, &iov, 1, RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 22);
	args.user_token = 23;
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ASYNC_SEND, &args, sizeof(args));
	ASSERT_EQ(1, msg_send(self->p.tx, &m, 0));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, rdma_status(self->p.tx, &token));
	EXPECT_EQ(22, token);
	EXPECT_EQ(RDS_RDMA_DROPPED, rdma_status(self->p.tx, &token));
	EXPECT_EQ(23, token);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, buf, 1, MSG_DONTWAIT, NULL));
}

TEST_F(async, uek5_async_bad_length)
{
	uint64_t half = 1;
	struct rds_msg_out m;

	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ASYNC_SEND, &half, sizeof(half));
	EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, 0));
}

/* Nobody has the peer's address: the message waits until it is cancelled. */
TEST(uek5_async_cancelled)
{
	union rds_addr a, to;
	uint64_t token = 0;
	int fd, i;

	bed_need(_metadata, BED_RXE, &a, &to);
	((unsigned char *)&to.in.sin_addr)[3] = 250;
	to = addr_with_port(&to, 7000);
	fd = open_bound(_metadata, &a);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(9, send_async(fd, &to, 9, 90 + i, RDS_SEND_NOTIFY_ME));
	EXPECT_EQ(0, ready(fd, POLLIN, 100));
	ASSERT_EQ(0, set_opt(fd, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(fd, &token));
		EXPECT_EQ(90 + i, token);
	}
	close(fd);
}

TEST_HARNESS_MAIN
