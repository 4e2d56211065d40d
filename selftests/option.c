// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi sections 11 and 12: options that change what a socket binds to and what it reports. */
#include <linux/rds_ext.h>
#include "rds_test.h"

static int get_transport(int fd)
{
	socklen_t len = sizeof(int);
	int value = -77;

	if (getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &value, &len))
		return -errno;
	return len == sizeof(value) ? value : -EBADMSG;
}

static int set_transport(int fd, int type)
{
	return set_opt(fd, SO_RDS_TRANSPORT, &type, sizeof(type));
}

/* --- SO_RDS_TRANSPORT --- */

FIXTURE(transport) {
	union rds_addr	a;
	int		bound;
	int		fd;
};
RDS_BED_VARIANTS(transport);

FIXTURE_SETUP(transport)
{
	union rds_addr unused;

	bed_need(_metadata, variant->bed, &self->a, &unused);
	self->bound = open_bound(_metadata, &self->a);
	self->fd = rds_socket();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(transport)
{
	close(self->bound);
	close(self->fd);
}

TEST_F(transport, abi11_transport_errors_in_order)
{
	int type = RDS_TRANS_IB, fd = self->fd;

	/* bound comes before a wrong length, a length before a fault */
	EXPECT_EQ(-EOPNOTSUPP, set_transport(self->bound, RDS_TRANS_IB));
	EXPECT_EQ(-EOPNOTSUPP, set_opt(self->bound, SO_RDS_TRANSPORT, &type, 3));
	EXPECT_EQ(-EINVAL, set_opt(fd, SO_RDS_TRANSPORT, &type, 3));
	EXPECT_EQ(-EINVAL, set_opt(fd, SO_RDS_TRANSPORT, unmapped_page(_metadata), 5));
	EXPECT_EQ(-EFAULT, set_opt(fd, SO_RDS_TRANSPORT, unmapped_page(_metadata), 4));
	EXPECT_EQ(-EINVAL, set_transport(fd, -1));
	EXPECT_EQ(-EINVAL, set_transport(fd, 3));
	EXPECT_EQ(-EINVAL, set_transport(fd, 1 << 30));
	/* not there: iWARP never, TCP not in this module */
	EXPECT_EQ(-ENOPROTOOPT, set_transport(fd, RDS_TRANS_IWARP));
	EXPECT_EQ(-ENOPROTOOPT, set_transport(fd, RDS_TRANS_TCP));
	EXPECT_EQ(-1, get_transport(fd));
	/* what was refused has no say in what an address is on */
	self->a = addr_with_port(&self->a, 0);
	EXPECT_EQ(0, rds_bind(fd, &self->a));
	EXPECT_EQ(bed_is_rxe(variant->bed) ? RDS_TRANS_IB : 3, get_transport(fd));
}

TEST(abi3_abi11_transport_is_kept)
{
	union rds_addr loop = addr_make("127.0.0.1", 0), nowhere = addr_make("192.0.2.1", 0);
	union rds_addr a, b;
	int fd = rds_socket();

	bed_need(_metadata, BED_RXE, &a, &b);
	ASSERT_EQ(0, set_transport(fd, RDS_TRANS_IB));
	EXPECT_EQ(RDS_TRANS_IB, get_transport(fd));
	EXPECT_EQ(-EOPNOTSUPP, set_transport(fd, RDS_TRANS_IB));
	/* addresses of others; a failed bind changes nothing, where mainline forgets the transport */
	EXPECT_EQ(-ENOPROTOOPT, rds_bind(fd, &loop));
	EXPECT_EQ(-ENOPROTOOPT, rds_bind(fd, &nowhere));
	EXPECT_EQ(RDS_TRANS_IB, get_transport(fd));
	EXPECT_EQ(0, rds_bind(fd, &a));
	EXPECT_EQ(RDS_TRANS_IB, get_transport(fd));
	close(fd);
}

TEST(abi12_transport_of_loopback)
{
	union rds_addr a = addr_make("127.0.0.1", 0), a6 = addr_make("::1", 0);
	int fd = open_bound(_metadata, &a), fd6 = open_bound(_metadata, &a6);

	EXPECT_EQ(3, get_transport(fd));
	EXPECT_EQ(3, get_transport(fd6));
	close(fd);
	close(fd6);
}

static int transport_in_new_netns(void *arg)
{
	union rds_addr a = addr_make("127.0.0.1", 0);
	int fd;

	if (unshare(CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	if (fd < 0)
		return 2;
	if (set_transport(fd, RDS_TRANS_TCP) != -ENOPROTOOPT || set_transport(fd, RDS_TRANS_IWARP) != -ENOPROTOOPT)
		return 3;
	if (set_transport(fd, RDS_TRANS_IB))
		return 4;
	/* there is no device here */
	return rds_bind(fd, &a) == -ENOPROTOOPT ? 0 : 5;
}

TEST(abi3_abi11_better_transport_in_any_namespace)
{
	EXPECT_EQ(0, in_child(transport_in_new_netns, NULL));
}

/* --- SO_RDS_MSG_RXPATH_LATENCY and SO_TIMESTAMP --- */

FIXTURE(report) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(report);

FIXTURE_SETUP(report)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(report)
{
	pair_close(&self->p);
}

TEST_F(report, D14_abi11_latency_errors)
{
	struct rds_rx_trace_so so = { 3, { 2, 1, 0 } };

	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, 3));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, 5));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY,
				   unmapped_page(_metadata), 4));
	so.rx_traces = 4;
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	so.rx_traces = 3;
	so.rx_trace_pos[2] = 3;
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	so.rx_trace_pos[2] = 255;
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	so.rx_traces = 255;
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	/* positions that are not asked for are not looked at */
	so.rx_traces = 2;
	EXPECT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
}

/* The trace of the next message: returns how many times were reported, or -errno. */
static int next_trace(int fd, struct rds_cmsg_rx_trace *trace)
{
	char control[CMSG_SPACE(sizeof(*trace))];
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;

	memset(trace, 0x55, sizeof(*trace));
	if (!(ready(fd, POLLIN, RDS_WAIT_MS) & POLLIN))
		return -ETIME;
	if (recvmsg(fd, &msg, 0) < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg)
		return 0;
	if (cmsg->cmsg_level != SOL_RDS || cmsg->cmsg_type != RDS_CMSG_RXPATH_LATENCY ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(*trace)))
		return -EBADMSG;
	memcpy(trace, CMSG_DATA(cmsg), sizeof(*trace));
	return trace->rx_traces;
}

/* Every number of traces, from every valid position, brings that many and no more. */
TEST_F(report, D14_first_and_last_positions)
{
	struct rds_cmsg_rx_trace trace;
	struct rds_rx_trace_so so;
	int nr, i;

	for (nr = 1; nr <= RDS_MSG_RX_DGRAM_TRACE_MAX; nr++) {
		memset(&so, 0xff, sizeof(so));
		so.rx_traces = nr;
		for (i = 0; i < nr; i++)
			so.rx_trace_pos[i] = i % 2 ? 0 : RDS_MSG_RX_DGRAM_TRACE_MAX - 1;
		ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
		ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
		ASSERT_EQ(nr, next_trace(self->p.rx, &trace));
		for (i = 0; i < RDS_MSG_RX_DGRAM_TRACE_MAX; i++) {
			EXPECT_EQ(i < nr ? so.rx_trace_pos[i] : 0, trace.rx_trace_pos[i]);
			EXPECT_TRUE(i < nr || !trace.rx_trace[i]);
		}
	}
}

TEST_F(report, abi7_latency)
{
	struct rds_rx_trace_so so = { 3, { RDS_MSG_RX_DGRAM_DELIVERED, RDS_MSG_RX_HDR_TO_DGRAM_START,
					   RDS_MSG_RX_DGRAM_REASSEMBLE } };
	struct rds_cmsg_rx_trace trace;
	int64_t start = now_ms();
	uint64_t sum;
	int i;

	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_NE(0, ready(self->p.rx, POLLIN, RDS_WAIT_MS));
	usleep(30000);
	ASSERT_EQ(3, next_trace(self->p.rx, &trace));
	for (i = 0, sum = 0; i < 3; i++) {
		EXPECT_EQ(so.rx_trace_pos[i], trace.rx_trace_pos[i]);
		sum += trace.rx_trace[i];
	}
	/* it lay in the queue while we slept; and all of it happened since we began */
	EXPECT_GE(trace.rx_trace[0], 30000000 - 1000000);
	EXPECT_LE(sum, (now_ms() - start + 1) * 1000000ULL);

	so = (struct rds_rx_trace_so){ 1, { RDS_MSG_RX_DGRAM_REASSEMBLE } };
	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, next_trace(self->p.rx, &trace));
	EXPECT_EQ(RDS_MSG_RX_DGRAM_REASSEMBLE, trace.rx_trace_pos[0]);
	EXPECT_EQ(0, trace.rx_trace[1] | trace.rx_trace[2]);

	so.rx_traces = 0;
	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	EXPECT_EQ(0, next_trace(self->p.rx, &trace));
}

/* A message with one timestamp, of the kind that @opt asks for, from while it was sent. */
static void expect_timestamp(struct __test_metadata *_metadata, FIXTURE_DATA(report) *self, int opt)
{
	struct timeval before, after;
	struct rds_msg_in in;
	char c;

	gettimeofday(&before, NULL);
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	gettimeofday(&after, NULL);
	ASSERT_EQ(1, in.nr_timestamps);
	EXPECT_EQ(1, in.nr_cmsgs);
	EXPECT_EQ(SOL_SOCKET, in.cmsgs[0].cmsg_level);
	EXPECT_EQ(opt, in.cmsgs[0].cmsg_type);
	EXPECT_EQ(CMSG_LEN(16), in.cmsgs[0].cmsg_len);
	EXPECT_FALSE(timercmp(&in.timestamp, &before, <));
	EXPECT_FALSE(timercmp(&in.timestamp, &after, >));
}

/* At either level; what was asked for last counts. */
TEST_F(report, abi7_abi11_timestamp_of_either_kind)
{
	static const int opts[] = { SO_TIMESTAMP_NEW, SO_TIMESTAMP_OLD, SO_TIMESTAMP_NEW };
	struct rds_msg_in in;
	int on = 1, off = 0;
	unsigned int i;
	char c;

	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP_NEW, &on, 3));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP_NEW, &on, 8));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP_NEW, unmapped_page(_metadata), 4));
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		ASSERT_EQ(0, set_opt(self->p.rx, opts[i], &on, sizeof(on)));
		expect_timestamp(_metadata, self, opts[i]);
	}
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		set_int(_metadata, self->p.rx, SOL_SOCKET, opts[i], 1);
		expect_timestamp(_metadata, self, opts[i]);
	}
	ASSERT_EQ(0, set_opt(self->p.rx, SO_TIMESTAMP_NEW, &off, sizeof(off)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_EQ(0, in.nr_cmsgs);
}

/* All that may come with a message. */
TEST_F(report, abi7_order_of_control_messages)
{
	static const struct { int level, type; } order[] = {
		{ SOL_RDS, RDS_CMSG_RDMA_DEST }, { SOL_SOCKET, SO_TIMESTAMP_OLD },
		{ SOL_RDS, RDS_CMSG_RXPATH_LATENCY }, { SOL_RDS, RDS_CMSG_INQ },
	};
	struct rds_rx_trace_so so = { 1, { RDS_MSG_RX_DGRAM_DELIVERED } };
	char *mem = map_guarded(_metadata, 64), c;
	rds_rdma_cookie_t cookie;
	struct rds_msg_out m;
	struct rds_msg_in in;
	unsigned int i;
	int on = 1;

	ASSERT_EQ(0, get_mr(self->p.tx, mem, 64, 0, &cookie));
	/* switched on in another order */
	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_INQ, &on, sizeof(on)));
	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
	ASSERT_EQ(1, msg_send(self->p.tx, &m, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_EQ(cookie, in.dest);
	ASSERT_EQ(ARRAY_SIZE(order), in.nr_cmsgs);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		EXPECT_EQ(order[i].level, in.cmsgs[i].cmsg_level);
		EXPECT_EQ(order[i].type, in.cmsgs[i].cmsg_type);
	}
}

TEST_F(report, abi11_timestamp_at_our_level)
{
	struct rds_msg_in in;
	int on = 1;
	char c;

	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP, &on, 3));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP, &on, 8));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, SO_TIMESTAMP, unmapped_page(_metadata), 4));
	ASSERT_EQ(0, set_opt(self->p.rx, SO_TIMESTAMP, &on, sizeof(on)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_EQ(1, in.nr_timestamps);
	on = 0;
	ASSERT_EQ(0, set_opt(self->p.rx, SO_TIMESTAMP, &on, sizeof(on)));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_EQ(0, in.nr_timestamps);
}

TEST_HARNESS_MAIN
