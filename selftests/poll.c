// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 9: poll() and epoll.  Congestion and its wake-ups are in cong.c. */
#include <sys/epoll.h>
#include "rds_test.h"

#define ALL_EVENTS	(POLLIN | POLLRDNORM | POLLPRI | POLLOUT | POLLWRNORM | POLLRDHUP)
#define READABLE	(POLLIN | POLLRDNORM)
#define WRITABLE	(POLLOUT | POLLWRNORM)

FIXTURE(pair) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(pair);

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(pair)
{
	pair_close(&self->p);
}

static void one_message(struct __test_metadata *_metadata, struct rds_pair *p)
{
	ASSERT_EQ(1, rds_send(p->tx, &p->rx_addr, "x", 1, 0));
}

static void read_message(struct __test_metadata *_metadata, struct rds_pair *p)
{
	char c;

	ASSERT_EQ(1, rds_recv_wait(p->rx, &c, 1, NULL));
}

TEST(abi9_unbound_is_writable)
{
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	/* a fresh socket may report readable, once */
	EXPECT_EQ(WRITABLE, ready(fd, ALL_EVENTS, 0) & ~(READABLE | POLLRDBAND));
	EXPECT_EQ(WRITABLE, ready(fd, ALL_EVENTS, 0));
}

TEST_F(pair, abi9_bound_and_idle)
{
	ready(self->p.rx, ALL_EVENTS, 0);
	EXPECT_EQ(WRITABLE, ready(self->p.rx, ALL_EVENTS, 0));
}

/* Peers acknowledge when they are asked to.  A message that was small beside the buffer did not ask; when the
 * buffer has become smaller than that, the next one must, though it needs no room itself.
 */
static void shrink_beneath_a_message(struct __test_metadata *_metadata, struct rds_pair *p, enum rds_bed bed)
{
	uint64_t asked = counter(p->tx, "send_ack_required");
	char more_than_least[5000] = "";
	ssize_t len = sizeof(more_than_least);

	set_int(_metadata, p->tx, SOL_SOCKET, SO_SNDBUF, 65536);
	ASSERT_EQ(len, rds_send(p->tx, &p->rx_addr, more_than_least, len, 0));
	ASSERT_EQ(len, rds_recv_wait(p->rx, more_than_least, len, NULL));
	set_int(_metadata, p->tx, SOL_SOCKET, SO_SNDBUF, 1);
	ASSERT_EQ(0, rds_send(p->tx, &p->rx_addr, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(p->rx, more_than_least, len, NULL));
	/* loopback acknowledges unasked; over RDMA room would come back in any case, with the next heartbeat */
	if (bed_is_rxe(bed))
		ASSERT_LT(asked, counter(p->tx, "send_ack_required"));
	ASSERT_TRUE(ready(p->tx, POLLOUT, RDS_WAIT_MS));
}

TEST_F_TIMEOUT(pair, abi9_room_comes_back_in_a_smaller_buffer, RDS_SLOW_TEST)
{
	int round;

	/* every few messages ask in any case (sysctl max_unacked_packets), but not of each pair one */
	for (round = 0; round < 3; round++)
		shrink_beneath_a_message(_metadata, &self->p, variant->bed);
}

TEST_F(pair, abi9_message_is_readable)
{
	one_message(_metadata, &self->p);
	read_message(_metadata, &self->p);
	/* maps of the first connection are behind us; now only messages count */
	ready(self->p.rx, ALL_EVENTS, 0);
	EXPECT_EQ(WRITABLE, ready(self->p.rx, ALL_EVENTS, 0));
	one_message(_metadata, &self->p);
	EXPECT_EQ(READABLE, ready(self->p.rx, READABLE, RDS_WAIT_MS));
	EXPECT_EQ(READABLE | WRITABLE, ready(self->p.rx, ALL_EVENTS, 0));
	read_message(_metadata, &self->p);
	EXPECT_EQ(WRITABLE, ready(self->p.rx, ALL_EVENTS, 0));
}

TEST_F(pair, abi9_never_hung_up)
{
	one_message(_metadata, &self->p);
	read_message(_metadata, &self->p);
	close(self->p.tx);
	EXPECT_EQ(0, ready(self->p.rx, POLLHUP | POLLRDHUP | POLLERR, 0));
	self->p.tx = rds_socket();
}

struct sleeper {
	int		fd;
	volatile pid_t	tid;
	short		events;
};

static void *sleep_in_poll(void *arg)
{
	struct sleeper *s = arg;

	s->tid = my_tid();
	s->events = ready(s->fd, POLLIN, -1);
	return NULL;
}

TEST_F(pair, abi9_message_wakes_sleeper)
{
	struct sleeper s = { .fd = self->p.rx };
	pthread_t thread;

	one_message(_metadata, &self->p);
	read_message(_metadata, &self->p);
	ready(self->p.rx, POLLIN, 0);
	thread = start_asleep(_metadata, sleep_in_poll, &s, &s.tid);
	one_message(_metadata, &self->p);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(POLLIN, s.events);
}

/* --- epoll --- */

static int epoll_of(struct __test_metadata *_metadata, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events };
	int ep = epoll_create1(0);

	ASSERT_GE(ep, 0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

static uint32_t epoll_ready(int ep, int ms)
{
	struct epoll_event ev = {};

	return epoll_wait(ep, &ev, 1, ms) == 1 ? ev.events : 0;
}

TEST_F(pair, abi9_epoll_level)
{
	int ep;

	one_message(_metadata, &self->p);
	read_message(_metadata, &self->p);
	ep = epoll_of(_metadata, self->p.rx, EPOLLIN);
	epoll_ready(ep, 0);
	EXPECT_EQ(0, epoll_ready(ep, 0));
	one_message(_metadata, &self->p);
	one_message(_metadata, &self->p);
	EXPECT_EQ(EPOLLIN, epoll_ready(ep, RDS_WAIT_MS));
	EXPECT_EQ(EPOLLIN, epoll_ready(ep, 0));
	read_message(_metadata, &self->p);
	EXPECT_EQ(EPOLLIN, epoll_ready(ep, RDS_WAIT_MS));
	read_message(_metadata, &self->p);
	EXPECT_EQ(0, epoll_ready(ep, 0));
	close(ep);
}

TEST_F(pair, abi9_epoll_edge)
{
	int ep;

	one_message(_metadata, &self->p);
	read_message(_metadata, &self->p);
	ep = epoll_of(_metadata, self->p.rx, EPOLLIN | EPOLLET);
	epoll_ready(ep, 0);
	EXPECT_EQ(0, epoll_ready(ep, 0));
	one_message(_metadata, &self->p);
	EXPECT_EQ(EPOLLIN, epoll_ready(ep, RDS_WAIT_MS));
	/* unread, but reported */
	EXPECT_EQ(0, epoll_ready(ep, 0));
	one_message(_metadata, &self->p);
	EXPECT_EQ(EPOLLIN, epoll_ready(ep, RDS_WAIT_MS));
	close(ep);
}

TEST_F(pair, abi9_epoll_writable)
{
	int ep = epoll_of(_metadata, self->p.tx, EPOLLOUT);

	EXPECT_EQ(EPOLLOUT, epoll_ready(ep, 0));
	close(ep);
}

/* --- notifications --- */

TEST_F(pair, abi9_notification_is_readable)
{
	char *remote = map_guarded(_metadata, 1);
	rds_rdma_cookie_t cookie;
	uint64_t token = 0;

	ASSERT_EQ(0, get_mr(self->p.rx, remote, 1, RDS_RDMA_READWRITE, &cookie));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, "w", 1,
					     RDS_RDMA_READWRITE));
	ready(self->p.tx, POLLIN, 0);
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, cookie, 0, "w", 1,
			     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 5));
	EXPECT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(5, token);
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
}

/* --- room, on a peer that does not exist --- */

FIXTURE(dead_peer) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
};
FIXTURE_VARIANT(dead_peer) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(dead_peer, rxe) { BED_RXE };

FIXTURE_SETUP(dead_peer)
{
	bed_need(_metadata, variant->bed, &self->a, &self->to);
	((unsigned char *)&self->to.in.sin_addr)[3] = 250;
	self->to = addr_with_port(&self->to, 7000);
	self->fd = open_bound(_metadata, &self->a);
}

FIXTURE_TEARDOWN(dead_peer)
{
	close(self->fd);
}

TEST_F(dead_peer, abi9_pollout_means_room)
{
	char chunk[5000] = "";

	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, 10000);
	EXPECT_EQ(WRITABLE, ready(self->fd, WRITABLE, 0));
	ASSERT_EQ(5000, rds_send(self->fd, &self->to, chunk, 5000, MSG_DONTWAIT));
	EXPECT_EQ(WRITABLE, ready(self->fd, WRITABLE, 0));
	ASSERT_EQ(5000, rds_send(self->fd, &self->to, chunk, 5000, MSG_DONTWAIT));
	EXPECT_EQ(0, ready(self->fd, WRITABLE, 0));
}

TEST_HARNESS_MAIN
