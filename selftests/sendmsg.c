// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 5: sendmsg(), its checks in their order, sizes, and waiting for room. */
#include <limits.h>
#include "info_list.h"

/* --- order of checks: a message that breaks several rules reports the first --- */

enum fault {
	F_FLAG		= 1 << 0,	/* row 1 */
	F_NAME		= 1 << 1,	/* row 2 */
	F_UNBOUND	= 1 << 2,	/* row 3 */
	F_NO_PEER	= 1 << 3,	/* row 3 */
	F_FAMILY	= 1 << 4,	/* row 4 */
	F_MALFORMED	= 1 << 5,	/* row 6 */
	F_SHORT_ARGS	= 1 << 6,	/* row 6 */
	F_OVER_1M	= 1 << 7,	/* row 7 */
	F_REMOTE_1M	= 1 << 8,	/* row 7 */
	F_OVER_SNDBUF	= 1 << 9,	/* row 8 */
	F_NO_LOCAL	= 1 << 10,	/* row 10 */
	F_UNKNOWN	= 1 << 11,	/* row 11 */
	F_MIXED		= 1 << 12,	/* row 13 */
	F_PAYLOAD	= 1 << 13,	/* row 14 */
	F_ZEROCOPY	= 1 << 14,	/* row 9 */
	F_MANY_LOCAL	= 1 << 15,	/* row 10 */
	F_LOCAL_HOLE	= 1 << 16,	/* row 10: the list of local ranges */
	F_UNKNOWN_FIRST	= 1 << 17,	/* row 11, in front of all others */
	F_ZEROCOPY_FLAG	= 1 << 18,	/* row 12 */
	F_LOCAL_MORE	= 1 << 19,	/* row 17 */
	F_DEST		= 1 << 20,	/* row 17: somebody else's key */
	F_TWICE		= 1 << 21,	/* row 17: two of that */
	F_ATOMIC	= 1 << 22,	/* row 17: the local word is not aligned */
	F_ATOMIC_REMOTE	= 1 << 23,	/* row 17: the peer's is not */
};

#define F_HAS_ARGS	(F_NO_LOCAL | F_REMOTE_1M | F_MIXED | F_MANY_LOCAL | F_LOCAL_HOLE | F_LOCAL_MORE)

FIXTURE(order) {
	int			fd;
	union rds_addr		peer;
	void			*hole;
	struct rds_msg_out	m;
};
FIXTURE_VARIANT(order) {
	enum rds_bed	bed;
	int		faults;
	int		error;
};

/* On each transport, and in each family. */
#define ORDER_VARIANTS(row, broken, first)							\
	FIXTURE_VARIANT_ADD(order, row) { BED_LOOP4, .faults = broken, .error = first };	\
	FIXTURE_VARIANT_ADD(order, row##_rxe6) { BED_RXE6, .faults = broken, .error = first }

ORDER_VARIANTS(row1, F_FLAG, EOPNOTSUPP);
ORDER_VARIANTS(row1_2, F_FLAG | F_NAME, EOPNOTSUPP);
ORDER_VARIANTS(row1_3, F_FLAG | F_UNBOUND, EOPNOTSUPP);
ORDER_VARIANTS(row1_7, F_FLAG | F_OVER_1M, EOPNOTSUPP);
ORDER_VARIANTS(row2, F_NAME, EINVAL);
ORDER_VARIANTS(row2_3, F_NAME | F_UNBOUND, EINVAL);
ORDER_VARIANTS(row2_7, F_NAME | F_OVER_1M, EINVAL);
ORDER_VARIANTS(row3_unbound, F_UNBOUND, ENOTCONN);
ORDER_VARIANTS(row3_no_peer, F_NO_PEER, ENOTCONN);
ORDER_VARIANTS(row3_6, F_UNBOUND | F_MALFORMED, ENOTCONN);
ORDER_VARIANTS(row3_7, F_NO_PEER | F_OVER_1M, ENOTCONN);
ORDER_VARIANTS(row4, F_FAMILY, EOPNOTSUPP);
ORDER_VARIANTS(row4_6, F_FAMILY | F_MALFORMED, EOPNOTSUPP);
ORDER_VARIANTS(row4_7, F_FAMILY | F_OVER_1M, EOPNOTSUPP);
ORDER_VARIANTS(row6, F_MALFORMED, EINVAL);
ORDER_VARIANTS(row6_short_args, F_SHORT_ARGS, EINVAL);
ORDER_VARIANTS(row6_7, F_MALFORMED | F_OVER_1M, EINVAL);
ORDER_VARIANTS(row6_7_short, F_SHORT_ARGS | F_OVER_1M, EINVAL);
ORDER_VARIANTS(row6_8_short, F_SHORT_ARGS | F_OVER_SNDBUF, EINVAL);
ORDER_VARIANTS(row6_9, F_MALFORMED | F_ZEROCOPY, EINVAL);
ORDER_VARIANTS(row6_9_short, F_SHORT_ARGS | F_ZEROCOPY, EINVAL);
ORDER_VARIANTS(row6_14, F_MALFORMED | F_PAYLOAD, EINVAL);
ORDER_VARIANTS(row7, F_OVER_1M, EMSGSIZE);
ORDER_VARIANTS(row7_remote, F_REMOTE_1M, EMSGSIZE);
ORDER_VARIANTS(row7_9, F_REMOTE_1M | F_ZEROCOPY, EMSGSIZE);
ORDER_VARIANTS(row7_10, F_REMOTE_1M | F_LOCAL_HOLE, EMSGSIZE);
ORDER_VARIANTS(row7_11, F_REMOTE_1M | F_UNKNOWN_FIRST, EMSGSIZE);
ORDER_VARIANTS(row7_13, F_REMOTE_1M | F_MIXED, EMSGSIZE);
ORDER_VARIANTS(row7_14, F_OVER_1M | F_PAYLOAD, EMSGSIZE);
ORDER_VARIANTS(row8, F_OVER_SNDBUF, EMSGSIZE);
ORDER_VARIANTS(row8_9, F_OVER_SNDBUF | F_ZEROCOPY, EMSGSIZE);
ORDER_VARIANTS(row8_10, F_OVER_SNDBUF | F_NO_LOCAL, EMSGSIZE);
ORDER_VARIANTS(row8_11, F_OVER_SNDBUF | F_UNKNOWN, EMSGSIZE);
ORDER_VARIANTS(row8_14, F_OVER_SNDBUF | F_PAYLOAD, EMSGSIZE);
ORDER_VARIANTS(row9, F_ZEROCOPY, EOPNOTSUPP);
ORDER_VARIANTS(row9_10_none, F_ZEROCOPY | F_NO_LOCAL, EOPNOTSUPP);
ORDER_VARIANTS(row9_10_hole, F_ZEROCOPY | F_LOCAL_HOLE, EOPNOTSUPP);
ORDER_VARIANTS(row9_11, F_ZEROCOPY | F_UNKNOWN, EOPNOTSUPP);
ORDER_VARIANTS(row9_13, F_ZEROCOPY | F_MIXED, EOPNOTSUPP);
ORDER_VARIANTS(row9_14, F_ZEROCOPY | F_PAYLOAD, EOPNOTSUPP);
ORDER_VARIANTS(row9_17, F_ZEROCOPY | F_DEST, EOPNOTSUPP);
ORDER_VARIANTS(row10_none, F_NO_LOCAL, EINVAL);
ORDER_VARIANTS(row10_many, F_MANY_LOCAL, EMSGSIZE);
ORDER_VARIANTS(row10_hole, F_LOCAL_HOLE, EFAULT);
ORDER_VARIANTS(row10_11_many, F_MANY_LOCAL | F_UNKNOWN_FIRST, EMSGSIZE);
ORDER_VARIANTS(row10_11_hole, F_LOCAL_HOLE | F_UNKNOWN_FIRST, EFAULT);
ORDER_VARIANTS(row10_11_hole_in_front, F_LOCAL_HOLE | F_UNKNOWN, EFAULT);
ORDER_VARIANTS(row10_12, F_LOCAL_HOLE | F_ZEROCOPY_FLAG, EFAULT);
ORDER_VARIANTS(row10_13_many, F_MANY_LOCAL | F_MIXED, EMSGSIZE);
ORDER_VARIANTS(row10_13_hole, F_LOCAL_HOLE | F_MIXED, EFAULT);
ORDER_VARIANTS(row10_14, F_NO_LOCAL | F_PAYLOAD, EINVAL);
ORDER_VARIANTS(row10_17, F_MANY_LOCAL | F_LOCAL_MORE, EMSGSIZE);
ORDER_VARIANTS(row10_17_atomic, F_NO_LOCAL | F_ATOMIC, EINVAL);
ORDER_VARIANTS(row11, F_UNKNOWN, EINVAL);
ORDER_VARIANTS(row11_14, F_UNKNOWN | F_PAYLOAD, EINVAL);
ORDER_VARIANTS(row11_17, F_UNKNOWN | F_ATOMIC, EINVAL);
ORDER_VARIANTS(row12, F_ZEROCOPY_FLAG, EINVAL);
ORDER_VARIANTS(row12_14, F_ZEROCOPY_FLAG | F_PAYLOAD, EINVAL);
ORDER_VARIANTS(row12_17, F_ZEROCOPY_FLAG | F_ATOMIC, EINVAL);
ORDER_VARIANTS(row13, F_MIXED, EINVAL);
ORDER_VARIANTS(row13_14, F_MIXED | F_PAYLOAD, EINVAL);
ORDER_VARIANTS(row14, F_PAYLOAD, EFAULT);
ORDER_VARIANTS(row14_17_dest, F_PAYLOAD | F_DEST, EFAULT);
ORDER_VARIANTS(row14_17_twice, F_PAYLOAD | F_DEST | F_TWICE, EFAULT);
ORDER_VARIANTS(row14_17_more, F_PAYLOAD | F_LOCAL_MORE, EFAULT);
ORDER_VARIANTS(row14_17_atomic, F_PAYLOAD | F_ATOMIC_REMOTE, EFAULT);
ORDER_VARIANTS(row17_dest, F_DEST, EINVAL);
ORDER_VARIANTS(row17_twice, F_DEST | F_TWICE, EINVAL);
ORDER_VARIANTS(row17_more, F_LOCAL_MORE, EINVAL);
ORDER_VARIANTS(row17_atomic, F_ATOMIC, EFAULT);
ORDER_VARIANTS(row17_atomic_remote, F_ATOMIC_REMOTE, EINVAL);

FIXTURE_SETUP(order)
{
	union rds_addr a;

	bed_need(_metadata, variant->bed, &a, &self->peer);
	self->peer = addr_with_port(&self->peer, 7000);
	self->hole = unmapped_page(_metadata);
	self->fd = variant->faults & F_UNBOUND ? rds_socket() : open_bound(_metadata, &a);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(order)
{
	close(self->fd);
}

static void order_name(struct rds_msg_out *m, const union rds_addr *peer, int faults)
{
	bool v4 = peer->sa.sa_family == AF_INET;

	if (faults & F_FAMILY)
		m->to = addr_make(v4 ? "::1" : "127.0.0.1", 7000);
	else if (faults & F_NAME)
		m->to = addr_make(v4 ? "0.0.0.0" : "::", 7000);
	else
		m->to = *peer;
	m->hdr.msg_name = faults & F_NO_PEER ? NULL : &m->to;
	m->hdr.msg_namelen = faults & F_NO_PEER ? 0 : addr_len(&m->to);
}

static void order_args(struct rds_msg_out *m, void *hole, int faults)
{
	static char local[16];
	static struct rds_iovec iov = { .bytes = sizeof(local) };
	uint64_t remote = sizeof(local), nr = 1;

	iov.addr = (uintptr_t)local;
	if (faults & F_REMOTE_1M)
		remote = RDS_MAX_MSG + 1;
	if (faults & F_LOCAL_MORE)
		remote = sizeof(local) - 1;
	if (faults & F_NO_LOCAL)
		nr = 0;
	if (faults & F_MANY_LOCAL)
		nr = 1025;
	msg_rdma(m, 1, 0, remote, faults & F_LOCAL_HOLE ? hole : &iov, nr, 0, 0);
}

static void order_atomic(struct rds_msg_out *m, int faults)
{
	static uint64_t word[2];
	struct rds_atomic_args args = {
		.cookie		= 1,
		.local_addr	= (uintptr_t)word + (faults & F_ATOMIC ? 4 : 0),
		.remote_addr	= faults & F_ATOMIC_REMOTE ? 4 : 0,
	};

	msg_cmsg(m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
}

static void order_control(struct rds_msg_out *m, void *hole, int faults)
{
	rds_rdma_cookie_t cookie = 1;
	int i;

	if (faults & F_UNKNOWN_FIRST)
		msg_cmsg(m, SOL_RDS, 99, &cookie, sizeof(cookie));
	if (faults & F_HAS_ARGS)
		order_args(m, hole, faults);
	if (faults & (F_ATOMIC | F_ATOMIC_REMOTE))
		order_atomic(m, faults);
	for (i = 0; i < (faults & F_TWICE ? 2 : faults & (F_MIXED | F_DEST) ? 1 : 0); i++)
		msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
	if (faults & F_UNKNOWN)
		msg_cmsg(m, SOL_RDS, 99, &cookie, sizeof(cookie));
	if (faults & F_SHORT_ARGS)
		msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_ARGS, m, sizeof(struct rds_rdma_args) - 8);
	if (faults & F_MALFORMED)
		msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, 8)->cmsg_len = 4096;
}

static int order_flags(struct __test_metadata *_metadata, int fd, int faults)
{
	if (faults & F_FLAG)
		return MSG_OOB;
	if (faults & F_ZEROCOPY)
		set_int(_metadata, fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	return faults & (F_ZEROCOPY | F_ZEROCOPY_FLAG) ? MSG_ZEROCOPY : 0;
}

TEST_F(order, abi5_checks_in_order)
{
	int flags = order_flags(_metadata, self->fd, variant->faults);
	struct rds_msg_out *m = &self->m;

	msg_init(m, NULL, "", 1);
	order_name(m, &self->peer, variant->faults);
	order_control(m, self->hole, variant->faults);
	if (variant->faults & (F_OVER_1M | F_OVER_SNDBUF | F_PAYLOAD)) {
		m->iov.iov_base = mmap(NULL, RDS_MAX_MSG + 1, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, m->iov.iov_base);
	}
	if (variant->faults & F_OVER_SNDBUF)
		m->iov.iov_len = 300000;
	if (variant->faults & F_OVER_1M)
		m->iov.iov_len = RDS_MAX_MSG + 1;
	if (variant->faults & F_PAYLOAD)
		m->iov.iov_base = self->hole;
	EXPECT_EQ(-variant->error, msg_send(self->fd, m, flags));
}

/* --- what is delivered --- */

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

TEST_F(pair, abi5_sizes)
{
	static const size_t sizes[] = { 1, 2, 63, 64, 65, 4047, 4048, 4049, 4095, 4096, 4097, 8192,
					12289, 65535, 65536, 65537, 100000 };
	static char out[100000], in[100001];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(out, sizes[i], i);
		ASSERT_EQ(sizes[i], rds_send(self->p.tx, &self->p.rx_addr, out, sizes[i], 0));
		memset(in, 0, sizeof(in));
		ASSERT_EQ(sizes[i], rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
		EXPECT_EQ(0, memcmp(out, in, sizes[i]));
		EXPECT_EQ(0, in[sizes[i]]);
	}
}

TEST_F(pair, abi5_zero_length)
{
	struct rds_msg_in in;
	char c = 'u';

	ASSERT_EQ(0, rds_send(self->p.tx, &self->p.rx_addr, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
	EXPECT_EQ('u', c);
}

TEST_F(pair, abi5_many_iovecs)
{
	static char out[1024 * 7], in[sizeof(out) + 1];
	struct iovec iov[1024];
	struct rds_msg_out m;
	int i;

	fill(out, sizeof(out), 3);
	for (i = 0; i < 1024; i++)
		iov[i] = (struct iovec){ out + i * 7, 7 };
	msg_init(&m, &self->p.rx_addr, NULL, 0);
	m.hdr.msg_iov = iov;
	m.hdr.msg_iovlen = 1024;
	ASSERT_EQ(sizeof(out), msg_send(self->p.tx, &m, 0));
	ASSERT_EQ(sizeof(out), rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
	EXPECT_EQ(0, memcmp(out, in, sizeof(out)));
}

TEST_F(pair, abi5_control_of_other_levels_is_skipped)
{
	struct rds_msg_out m;
	int value = 1;
	char c;

	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_SOCKET, 77, &value, sizeof(value));
	msg_cmsg(&m, IPPROTO_IP, RDS_CMSG_RDMA_ARGS, &value, sizeof(value));
	EXPECT_EQ(1, msg_send(self->p.tx, &m, 0));
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
}

TEST_F(pair, abi5_8_exactly_sndbuf)
{
	static char buf[20001];

	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUF, 20000);
	EXPECT_EQ(-EMSGSIZE, rds_send(self->p.tx, &self->p.rx_addr, buf, 20001, 0));
	EXPECT_EQ(20000, rds_send(self->p.tx, &self->p.rx_addr, buf, 20000, 0));
	EXPECT_EQ(20000, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
}

TEST_F_TIMEOUT(pair, abi5_7_abi16_exactly_1M, RDS_SLOW_TEST)
{
	char *out = map_guarded(_metadata, RDS_MAX_MSG + 1), *in = map_guarded(_metadata, RDS_MAX_MSG);

	fill(out, RDS_MAX_MSG + 1, 4);
	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUFFORCE, 2 * RDS_MAX_MSG);
	EXPECT_EQ(-EMSGSIZE, rds_send(self->p.tx, &self->p.rx_addr, out, RDS_MAX_MSG + 1, 0));
	ASSERT_EQ(RDS_MAX_MSG, rds_send(self->p.tx, &self->p.rx_addr, out, RDS_MAX_MSG, 0));
	ASSERT_EQ(RDS_MAX_MSG, rds_recv_wait(self->p.rx, in, RDS_MAX_MSG, NULL));
	EXPECT_EQ(0, memcmp(out, in, RDS_MAX_MSG));
}

TEST_F(pair, abi5_payload_fault_sends_nothing)
{
	size_t page = page_size();
	char *buf = map_guarded(_metadata, 3 * page), c = 0;

	ASSERT_EQ(0, mprotect(buf + page, page, PROT_NONE));
	EXPECT_EQ(-EFAULT, rds_send(self->p.tx, &self->p.rx_addr, buf, 3 * page, 0));
	EXPECT_EQ(-EFAULT, rds_send(self->p.tx, &self->p.rx_addr, buf + page - 1, 2, 0));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
}

TEST_F(pair, abi5_unbound_port_drops)
{
	union rds_addr nobody = addr_with_port(&self->p.rx_addr, 0);
	int fd = open_bound(_metadata, &nobody);
	char c = 0;

	close(fd);
	EXPECT_EQ(1, rds_send(self->p.tx, &nobody, "x", 1, 0));
	nobody = addr_with_port(&nobody, 1);
	EXPECT_EQ(1, rds_send(self->p.tx, &nobody, "x", 1, 0));
	/* the connection goes on */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "y", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('y', c);
}

TEST_F(pair, abi5_port_0_is_ping)
{
	union rds_addr ping = addr_with_port(&self->p.rx_addr, 0);
	struct rds_msg_in in;
	char c;

	ASSERT_EQ(0, rds_send(self->p.tx, &ping, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.tx, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&ping, &in.from));
}

TEST_F_TIMEOUT(pair, abi7_fifo_per_sender, RDS_SLOW_TEST)
{
	unsigned int i, seq, next_in = 0, total = rds_rounds(2000);
	char buf[700];
	ssize_t n;

	for (i = 0; i < total; i++) {
		memcpy(buf, &i, sizeof(i));
		n = rds_send(self->p.tx, &self->p.rx_addr, buf, sizeof(i) + i % 600, 0);
		ASSERT_EQ(sizeof(i) + i % 600, n);
		/* stay below the receive buffer, so that congestion plays no part */
		while (next_in + 50 <= i + 1) {
			n = rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL);
			memcpy(&seq, buf, sizeof(seq));
			ASSERT_EQ(next_in, seq);
			ASSERT_EQ(sizeof(i) + next_in % 600, n);
			next_in++;
		}
	}
}

/* --- rows 1, 2: each refused flag, each bad name --- */

TEST_F(pair, abi5_1_refused)
{
	static const int flags[] = { MSG_OOB, MSG_CONFIRM, MSG_DONTROUTE, MSG_FASTOPEN };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-EOPNOTSUPP, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, flags[i])) {
			TH_LOG("flag %#x", flags[i]);
		}
}

static const struct bad_name {
	const char	*addr;
	int		len;	/* 0: the natural one */
	int		family;	/* 0: that of @addr */
} bad_names[] = {
	{ "127.0.0.1", .len = 1 },
	{ "127.0.0.1", .len = 15 },
	{ "::1", .len = 27 },
	{ "127.0.0.1", .family = AF_UNIX },
	{ "127.0.0.1", .family = AF_RDS },
	{ "0.0.0.0" },
	{ "255.255.255.255" },
	{ "224.0.0.1" },
	{ "::" },
	{ "ff02::1" },
	{ "::ffff:0.0.0.0" },
	{ "::ffff:224.0.0.1" },
	{ "::ffff:255.255.255.255" },
	{ "fe80::1" },	/* link-local, without a scope */
};

TEST_F(pair, abi2_abi5_2_refused)
{
	const struct bad_name *bad;
	struct rds_msg_out m;
	union rds_addr to;

	for (bad = bad_names; bad < bad_names + ARRAY_SIZE(bad_names); bad++) {
		to = addr_make(bad->addr, 7000);
		msg_init(&m, &to, "x", 1);
		if (bad->len)
			m.hdr.msg_namelen = bad->len;
		if (bad->family)
			m.to.sa.sa_family = bad->family;
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, 0)) {
			TH_LOG("%s, length %d, family %d", bad->addr, bad->len, bad->family);
		}
	}
}

/* --- row 4: sockets of both families on one transport --- */

FIXTURE(families) {
	struct rds_pair	v4;
	struct rds_pair	v6;
};
FIXTURE_VARIANT(families) {
	enum rds_bed	v4;
	enum rds_bed	v6;
};
FIXTURE_VARIANT_ADD(families, loop) { BED_LOOP4, BED_LOOP6 };
FIXTURE_VARIANT_ADD(families, rxe) { BED_RXE, BED_RXE6 };

FIXTURE_SETUP(families)
{
	pair_open(_metadata, &self->v4, variant->v4);
	pair_open(_metadata, &self->v6, variant->v6);
}

FIXTURE_TEARDOWN(families)
{
	pair_close(&self->v4);
	pair_close(&self->v6);
}

TEST_F(families, abi5_4_mixed_families)
{
	char text[INET_ADDRSTRLEN], name[64], c = 0;
	union rds_addr mapped;

	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->v4.tx, &self->v6.rx_addr, "x", 1, 0));
	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->v6.tx, &self->v4.rx_addr, "x", 1, 0));
	/* v4-mapped is IPv4 */
	inet_ntop(AF_INET, &self->v4.rx_addr.in.sin_addr, text, sizeof(text));
	snprintf(name, sizeof(name), "::ffff:%s", text);
	mapped = addr_make(name, addr_port(&self->v4.rx_addr));
	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->v6.tx, &mapped, "x", 1, 0));
	EXPECT_EQ(1, rds_send(self->v4.tx, &mapped, "m", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(self->v4.rx, &c, 1, NULL));
	EXPECT_EQ('m', c);
}

/* connect() takes a peer of the other family, and sending to it is refused; mainline looks at names alone. */
TEST_F(families, abi4_abi5_4_better_connected_to_the_other_family)
{
	char c = 0;

	EXPECT_EQ(0, rds_connect(self->v4.tx, &self->v6.rx_addr));
	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->v4.tx, NULL, "x", 1, 0));
	EXPECT_EQ(0, rds_connect(self->v6.tx, &self->v4.rx_addr));
	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->v6.tx, NULL, "x", 1, 0));
	EXPECT_EQ(0, rds_connect(self->v4.tx, &self->v4.rx_addr));
	EXPECT_EQ(1, rds_send(self->v4.tx, NULL, "4", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(self->v4.rx, &c, 1, NULL));
	EXPECT_EQ('4', c);
}

/* --- rows 21, 22: no room.  A peer that does not exist keeps what is sent to it. --- */

#define ROOM	10000
#define CHUNK	4000
#define SHARE	8	/* messages that a peer may have queued when others have filled the buffer */

FIXTURE(dead_peer) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
	char		chunk[ROOM];
};
FIXTURE_VARIANT(dead_peer) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(dead_peer, rxe) { BED_RXE };

FIXTURE_SETUP(dead_peer)
{
	int i;

	bed_need(_metadata, variant->bed, &self->a, &self->to);
	((unsigned char *)&self->to.in.sin_addr)[3] = 250;
	self->to = addr_with_port(&self->to, 7000);
	self->fd = open_bound(_metadata, &self->a);
	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, ROOM);
	/* the last one may exceed the room: 0, 4000 and 8000 are below 10000 */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(CHUNK, rds_send(self->fd, &self->to, self->chunk, CHUNK, MSG_DONTWAIT));
	}
}

FIXTURE_TEARDOWN(dead_peer)
{
	close(self->fd);
}

TEST_F(dead_peer, abi5_22_sndbuf_full_nonblocking)
{
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, 0));
}

/* A message that has no room makes no key: row 22 comes before the last of row 17. */
TEST_F(dead_peer, abi5_17_better_refused_before_a_key_is_made)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->chunk, 1 } };
	rds_rdma_cookie_t cookie = 0;
	struct rds_msg_out m;

	map.cookie_addr = (uintptr_t)&cookie;
	msg_init(&m, &self->to, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EAGAIN, msg_send(self->fd, &m, MSG_DONTWAIT));
	EXPECT_EQ(0, cookie);
	map.vec.addr = (uintptr_t)unmapped_page(_metadata);
	msg_init(&m, &self->to, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EAGAIN, msg_send(self->fd, &m, MSG_DONTWAIT));
}

TEST_F(dead_peer, D31a_sndbuf_full_clears_pollout)
{
	EXPECT_EQ(0, ready(self->fd, POLLOUT | POLLWRNORM, 0));
}

TEST_F(dead_peer, abi5_22_abi10_sndtimeo)
{
	int64_t start = now_ms();

	set_timeo(_metadata, self->fd, SO_SNDTIMEO, 300);
	EXPECT_EQ(-ETIMEDOUT, rds_send(self->fd, &self->to, "x", 1, 0));
	/* on an emulated CPU ticks come in bursts, and a time-out a little early */
	EXPECT_GE(now_ms() - start, 200);
}

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

static pthread_t start_blocked(struct __test_metadata *_metadata, struct blocked *b)
{
	return start_asleep(_metadata, send_blocking, b, &b->tid);
}

/* Told as sent, though nothing can be transmitted: the length, until there is no room. */
TEST_F(dead_peer, abi5_20_D05_queued_is_success)
{
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &self->to, addr_len(&self->to)));
		ASSERT_EQ(7, rds_send(self->fd, &self->to, "shorter", 7, MSG_DONTWAIT));
		ASSERT_EQ(ROOM - 7, rds_send(self->fd, &self->to, self->chunk, ROOM - 7, MSG_DONTWAIT));
		ASSERT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	}
}

TEST_F(dead_peer, abi5_22_signal)
{
	struct blocked b = { .fd = self->fd, .to = &self->to };
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, 0);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

/* A call that may wait for ever goes on if the program wants that. */
TEST_F(dead_peer, abi5_22_signal_restarts)
{
	struct blocked b = { .fd = self->fd, .to = &self->to };
	pthread_t thread;
	int i;

	catch_signal(_metadata, SIGUSR1, SA_RESTART);
	thread = start_blocked(_metadata, &b);
	for (i = 0; i < 3; i++) {
		interrupt(_metadata, thread, SIGUSR1);
		ASSERT_TRUE(thread_sleeps(b.tid));
	}
	ASSERT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &self->to, addr_len(&self->to)));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, b.result);
}

/* One with a time-out would wait for all of it again, and does not. */
TEST_F(dead_peer, abi5_22_signal_ends_a_limited_wait)
{
	struct blocked b = { .fd = self->fd, .to = &self->to };
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, SA_RESTART);
	set_timeo(_metadata, self->fd, SO_SNDTIMEO, 2 * RDS_WAIT_MS);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

/* It takes no room, and needs none. */
TEST_F(dead_peer, abi5_empty_message_passes_a_full_buffer)
{
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(0, rds_send(self->fd, &self->to, NULL, 0, MSG_DONTWAIT));
	EXPECT_EQ(0, rds_send(self->fd, &self->to, NULL, 0, 0));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

TEST_F(dead_peer, abi5_8_room_does_not_hide_size)
{
	static char big[ROOM + 1];

	EXPECT_EQ(-EMSGSIZE, rds_send(self->fd, &self->to, big, sizeof(big), MSG_DONTWAIT));
}

/* What the socket bound to @from has sent to @to and is not acknowledged. */
static unsigned int count_queued(int fd, const union rds_addr *from, const union rds_addr *to)
{
	static const int lists[] = { RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES };
	struct rds6_info_message *m;
	static struct list l;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (list_read(fd, lists[i], &l) < 0)
			return UINT_MAX;
		for_each_record(m, l)
			n += is_addr(m->laddr, from) && m->lport == from->in.sin_port && is_addr(m->faddr, to);
	}
	return n;
}

/* At once, whatever SO_LINGER says. */
TEST_F(dead_peer, abi10_abi15_close_drops_the_queue)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	union rds_addr again = self->a;
	int asker = rds_socket();

	ASSERT_GE(asker, 0);
	ASSERT_EQ(0, setsockopt(self->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	EXPECT_EQ(3, count_queued(asker, &self->a, &self->to));
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, count_queued(asker, &self->a, &self->to));
	self->fd = open_bound(_metadata, &again);
	close(asker);
}

/* --- D06: the first message ever to somebody who never answers --- */

FIXTURE(black_hole) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
	char		chunk[ROOM];
};
RDS_RXE_VARIANTS(black_hole);

/* Each test has an address that nobody of this machine has ever sent to. */
static union rds_addr stranger(const union rds_addr *a)
{
	union rds_addr to = addr_with_port(a, 7000);
	uint16_t host = 0xb000 | (getpid() & 0xfff);

	if (to.sa.sa_family == AF_INET)
		((unsigned char *)&to.in.sin_addr)[3] = 130 + getpid() % 100;
	else
		memcpy(&to.in6.sin6_addr.s6_addr[14], &host, sizeof(host));
	return to;
}

FIXTURE_SETUP(black_hole)
{
	bed_need(_metadata, variant->bed, &self->a, &self->to);
	self->to = stranger(&self->to);
	self->fd = open_bound(_metadata, &self->a);
	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, ROOM);
}

FIXTURE_TEARDOWN(black_hole)
{
	close(self->fd);
}

TEST_F(black_hole, D06_nonblocking)
{
	EXPECT_EQ(ROOM, rds_send(self->fd, &self->to, self->chunk, ROOM, MSG_DONTWAIT));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

TEST_F(black_hole, D06_blocking_has_a_limit)
{
	set_timeo(_metadata, self->fd, SO_SNDTIMEO, 200);
	EXPECT_EQ(ROOM, rds_send(self->fd, &self->to, self->chunk, ROOM, 0));
	EXPECT_EQ(-ETIMEDOUT, rds_send(self->fd, &self->to, "x", 1, 0));
}

TEST_F(black_hole, D06_blocking_is_interruptible)
{
	struct blocked b = { .fd = self->fd, .to = &self->to };
	pthread_t thread;

	catch_signal(_metadata, SIGINT, 0);
	EXPECT_EQ(ROOM, rds_send(self->fd, &self->to, self->chunk, ROOM, 0));
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGINT);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

/* With an operation whose end nobody will tell, too. */
TEST_F(black_hole, D06_killed_while_blocked)
{
	int status, ready_pipe[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready_pipe));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (rdma_op(self->fd, &self->to, 0x1234, 0, &c, 1, RDS_RDMA_READWRITE, 0) ||
		    rds_send(self->fd, &self->to, self->chunk, ROOM, 0) != ROOM ||
		    write(ready_pipe[1], "r", 1) != 1)
			_exit(1);
		rds_send(self->fd, &self->to, "x", 1, 0);
		_exit(2);
	}
	ASSERT_EQ(1, read(ready_pipe[0], &c, 1));
	ASSERT_TRUE(thread_of_sleeps(pid, pid));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, close(self->fd));
	self->fd = open_bound(_metadata, &self->a);
}

/* A peer that takes nothing has filled the buffer: others still have their shares. */
TEST_F(dead_peer, abi5_22_better_others_have_room)
{
	union rds_addr b, unused;
	char c = 0;
	int rx, i;

	bed_need(_metadata, variant->bed, &unused, &b);
	rx = open_bound(_metadata, &b);
	for (i = 0; i < SHARE; i++)
		EXPECT_EQ(1, rds_send(self->fd, &b, "01234567" + i, 1, MSG_DONTWAIT));
	for (i = 0; i < SHARE; i++) {
		EXPECT_EQ(1, rds_recv_wait(rx, &c, 1, NULL));
		EXPECT_EQ('0' + i, c);
	}
	/* as often as the other takes what it is sent */
	for (i = 0; i < 3 * SHARE; i++) {
		EXPECT_EQ(1, rds_send(self->fd, &b, "x", 1, 0));
		EXPECT_EQ(1, rds_recv_wait(rx, &c, 1, NULL));
	}
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(0, ready(self->fd, POLLOUT, 0));
	close(rx);
}

/* A share is some messages, or a part of the buffer; and all shares together are as much as the buffer. */
TEST_F(dead_peer, abi5_22_better_shares_are_bounded)
{
	union rds_addr other = self->to;
	unsigned char *host = (unsigned char *)&other.in.sin_addr + 3;
	int i, took = 0;

	*host = 247;
	for (i = 0; i < SHARE; i++)
		EXPECT_EQ(1, rds_send(self->fd, &other, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(-EAGAIN, rds_send(self->fd, &other, "x", 1, MSG_DONTWAIT));

	for (i = 0; i < 10; i++) {
		*host = 230 + i;
		if (rds_send(self->fd, &other, self->chunk, CHUNK, MSG_DONTWAIT) == CHUNK)
			took++;
		EXPECT_EQ(-EAGAIN, rds_send(self->fd, &other, "x", 1, MSG_DONTWAIT));
	}
	/* 12008 bytes are queued; 16008 are still below twice the buffer */
	EXPECT_EQ(2, took);
}

TEST_F(dead_peer, D31_other_peers_go_on)
{
	union rds_addr a = addr_with_port(&self->a, 0), b, unused;
	int tx = open_bound(_metadata, &a), rx;
	char c;

	bed_need(_metadata, variant->bed, &unused, &b);
	rx = open_bound(_metadata, &b);
	EXPECT_EQ(1, rds_send(tx, &b, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(1, rds_recv_wait(rx, &c, 1, NULL));
	close(tx);
	close(rx);
}

TEST_HARNESS_MAIN
