// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDS_CANCEL_SENT_TO (abi section 11), and what a socket says of its transport (section 12). */
#include "rds_test.h"

static int cancel(int fd, const union rds_addr *to)
{
	return set_opt(fd, RDS_CANCEL_SENT_TO, to, addr_len(to));
}

TEST(abi11_unbound)
{
	union rds_addr to = addr_make("127.0.0.1", 7000);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-ENOTCONN, cancel(fd, &to));
	EXPECT_EQ(-ENOTCONN, set_opt(fd, RDS_CANCEL_SENT_TO, &to, 1));
}

FIXTURE(pair) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(pair);
RDS_BED_VARIANT_RXE6(pair);

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(pair)
{
	pair_close(&self->p);
}

TEST_F(pair, abi11_argument)
{
	EXPECT_EQ(-EINVAL, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &self->p.rx_addr, 0));
	EXPECT_EQ(-EINVAL, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &self->p.rx_addr, 15));
	EXPECT_EQ(-EFAULT, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, unmapped_page(_metadata), 16));
	EXPECT_EQ(-EFAULT, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, unmapped_page(_metadata), 28));
}

TEST_F(pair, abi11_nothing_to_cancel)
{
	char c = 0;

	EXPECT_EQ(0, cancel(self->p.tx, &self->p.rx_addr));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	/* delivered is delivered */
	EXPECT_EQ(0, cancel(self->p.tx, &self->p.rx_addr));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "y", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('y', c);
}

/* Operations that were on their way complete or are cancelled: each is told, once, and
 * whoever is told CANCELED finds nothing or the whole of it at the peer.
 */
TEST_F_TIMEOUT(pair, abi11_operations_are_told_once, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, 65536), *local = map_guarded(_metadata, 65536);
	rds_rdma_cookie_t cookie;
	uint64_t token = 0, seen;
	int round, i, status;

	ASSERT_EQ(0, get_mr(self->p.rx, remote, 65536, RDS_RDMA_READWRITE, &cookie));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 10; i++) {
			ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, cookie, 0, local, 65536,
					     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME |
					     RDS_RDMA_SILENT, i));
		}
		ASSERT_EQ(0, cancel(self->p.tx, &self->p.rx_addr));
		for (seen = i = 0; i < 10; i++) {
			status = rdma_status(self->p.tx, &token);
			ASSERT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_CANCELED) {
				TH_LOG("status %d", status);
			}
			ASSERT_LT(token, 10);
			ASSERT_FALSE(seen & (1 << token));
			seen |= 1 << token;
		}
		ASSERT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
	}
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, "w", 1,
					     RDS_RDMA_READWRITE));
}

TEST_F(pair, abi12_transport)
{
	socklen_t len = sizeof(int);
	int value = 77, fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &value, &len));
	EXPECT_EQ(RDS_TRANS_NONE, value);
	EXPECT_EQ(0, getsockopt(self->p.tx, SOL_RDS, SO_RDS_TRANSPORT, &value, &len));
	EXPECT_EQ(bed_is_rxe(variant->bed) ? RDS_TRANS_IB : 3, value);
	EXPECT_EQ(4, len);
	len = 3;
	EXPECT_EQ(-1, getsockopt(self->p.tx, SOL_RDS, SO_RDS_TRANSPORT, &value, &len));
	EXPECT_EQ(EINVAL, errno);
}

/* --- a peer that does not exist keeps what is sent to it --- */

#define ROOM	10000

FIXTURE(dead_peer) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
	char		to_send[ROOM];
};
FIXTURE_VARIANT(dead_peer) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(dead_peer, rxe) { BED_RXE };

FIXTURE_SETUP(dead_peer)
{
	bed_need(_metadata, variant->bed, &self->a, &self->to);
	((unsigned char *)&self->to.in.sin_addr)[3] = 250;
	self->to = addr_with_port(&self->to, 7000);
	self->fd = open_bound(_metadata, &self->a);
	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, ROOM);
}

FIXTURE_TEARDOWN(dead_peer)
{
	close(self->fd);
}

TEST_F(dead_peer, abi11_gives_the_room_back)
{
	char chunk[ROOM] = "";
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, chunk, ROOM, MSG_DONTWAIT));
		ASSERT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
		ASSERT_EQ(0, cancel(self->fd, &self->to));
		ASSERT_EQ(POLLOUT, ready(self->fd, POLLOUT, 0));
	}
}

/* An operation for a peer that does not answer is not waited for, when those for another are called back. */
TEST_F(dead_peer, abi11_waits_for_its_own_operations)
{
	union rds_addr other = addr_with_port(&self->to, 7001);
	char *local = map_guarded(_metadata, 4096);

	ASSERT_EQ(0, rdma_op(self->fd, &self->to, 0x1000, 0, local, 4096, RDS_RDMA_NOTIFY_ME, 1));
	ASSERT_EQ(0, rdma_op(self->fd, &other, 0x1000, 0, local, 4096, RDS_RDMA_NOTIFY_ME, 2));
	EXPECT_EQ(8192, pinned_bytes());
	ASSERT_EQ(0, cancel(self->fd, &other));
	EXPECT_EQ(4096, pinned_bytes());
	EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(self->fd, NULL));
	EXPECT_EQ(-EAGAIN, rds_recv(self->fd, NULL, 0, MSG_DONTWAIT, NULL));
	ASSERT_EQ(0, cancel(self->fd, &self->to));
	EXPECT_EQ(0, pinned_bytes());
	EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(self->fd, NULL));
}

TEST_F(dead_peer, abi11_only_that_address_and_port)
{
	union rds_addr port = addr_with_port(&self->to, 7001), host = self->to;
	char chunk[ROOM] = "";

	((unsigned char *)&host.in.sin_addr)[3] = 251;
	ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, chunk, ROOM, MSG_DONTWAIT));
	EXPECT_EQ(0, cancel(self->fd, &port));
	EXPECT_EQ(0, cancel(self->fd, &host));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(0, cancel(self->fd, &self->to));
	EXPECT_EQ(1, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

TEST_F(dead_peer, abi11_long_form_is_ipv6)
{
	char text[INET_ADDRSTRLEN], mapped[64], chunk[ROOM] = "";
	union rds_addr to6;

	inet_ntop(AF_INET, &self->to.in.sin_addr, text, sizeof(text));
	snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	to6 = addr_make(mapped, addr_port(&self->to));
	ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, chunk, ROOM, MSG_DONTWAIT));
	EXPECT_EQ(0, cancel(self->fd, &to6));
	EXPECT_EQ(1, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

/* 16 bytes are taken for an IPv4 address whatever they say; there is no address that means all. */
TEST_F(dead_peer, abi11_family_is_not_looked_at)
{
	union rds_addr odd = self->to, any = addr_make("0.0.0.0", addr_port(&self->to));
	char chunk[ROOM] = "";

	odd.sa.sa_family = AF_UNIX;
	ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, chunk, ROOM, MSG_DONTWAIT));
	EXPECT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &any, 16));
	any = addr_with_port(&any, 0);
	EXPECT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &any, 16));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &odd, 16));
	EXPECT_EQ(1, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

TEST_F(dead_peer, abi7_operations_report_canceled)
{
	long pinned = pinned_bytes();
	char local[100] = "";
	uint64_t token = 0;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, rdma_op(self->fd, &self->to, 0x1234, 0, local, sizeof(local),
				     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 50 + i));
	}
	EXPECT_LT(pinned, pinned_bytes());
	ASSERT_EQ(0, cancel(self->fd, &self->to));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(self->fd, &token));
		EXPECT_EQ(50 + i, token);
	}
	EXPECT_TRUE(pinned_settles_at(pinned));
}

TEST_F(dead_peer, D12_no_stale_bytes_in_a_cancellation)
{
	struct rds_msg_in in;
	char local[100] = "";

	ASSERT_EQ(0, rdma_op(self->fd, &self->to, 0x1234, 0, local, sizeof(local),
			     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 50));
	ASSERT_EQ(0, cancel(self->fd, &self->to));
	ASSERT_EQ(0, rds_recv_wait(self->fd, NULL, 0, &in));
	ASSERT_EQ(1, in.nr_status);
	EXPECT_EQ(RDS_RDMA_CANCELED, in.status[0].status);
	EXPECT_TRUE(in.padding_clean);
}

/* A full send buffer refuses an operation after its key, before its pages (D57). */
TEST_F(dead_peer, D57_without_room)
{
	struct rds_iovec iov = { (uintptr_t)self->to_send, 100 };
	struct rds_get_mr_args map = { .vec = iov };
	long pinned = pinned_bytes();
	struct rds_msg_out m;
	int i;

	ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, self->to_send, ROOM, MSG_DONTWAIT));
	for (i = 0; i < 20; i++) {
		msg_init(&m, &self->to, "x", 1);
		msg_rdma(&m, 0x1234, 0, 100, &iov, 1, RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 5);
		ASSERT_EQ(-EAGAIN, msg_send(self->fd, &m, MSG_DONTWAIT));
		msg_init(&m, &self->to, "x", 1);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
		ASSERT_EQ(-EAGAIN, msg_send(self->fd, &m, MSG_DONTWAIT));
	}
	set_timeo(_metadata, self->fd, SO_SNDTIMEO, 50);
	ASSERT_EQ(-ETIMEDOUT, msg_send(self->fd, &m, 0));
	EXPECT_EQ(pinned, pinned_bytes());
	EXPECT_EQ(-EAGAIN, rds_recv(self->fd, NULL, 0, MSG_DONTWAIT, NULL));
}

/* A sleeper for room is woken by another thread's cancel. */
struct blocked {
	int			fd;
	const union rds_addr	*to;
	volatile pid_t		tid;
	ssize_t			result;
};

static void *send_blocking(void *arg)
{
	struct blocked *b = arg;

	b->tid = my_tid();
	b->result = rds_send(b->fd, b->to, "x", 1, 0);
	return NULL;
}

TEST_F(dead_peer, abi11_wakes_who_waits_for_room)
{
	struct blocked b = { .fd = self->fd, .to = &self->to };
	char chunk[ROOM] = "";
	pthread_t thread;

	ASSERT_EQ(ROOM, rds_send(self->fd, &self->to, chunk, ROOM, MSG_DONTWAIT));
	thread = start_asleep(_metadata, send_blocking, &b, &b.tid);
	ASSERT_EQ(0, cancel(self->fd, &self->to));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, b.result);
}

TEST_HARNESS_MAIN
