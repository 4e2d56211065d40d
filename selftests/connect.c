// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 4: connect(), getsockname(), getpeername(). */
#include "info_list.h"

#define PEER_PORT	7000

/* --- one connect() of a fresh socket per row --- */

FIXTURE(row) {
	int fd;
};
FIXTURE_VARIANT(row) {
	const char	*addr;
	int		len;		/* 0: the natural one */
	int		family;		/* 0: that of @addr */
	int		error;
};

FIXTURE_VARIANT_ADD(row, in) { "127.0.0.1" };
FIXTURE_VARIANT_ADD(row, in_foreign) { "192.0.2.7" };
FIXTURE_VARIANT_ADD(row, in_long) { "127.0.0.1", .len = 128 };
FIXTURE_VARIANT_ADD(row, in6) { "::1" };
FIXTURE_VARIANT_ADD(row, in6_foreign) { "2001:db8::7" };
FIXTURE_VARIANT_ADD(row, mapped) { "::ffff:192.0.2.7" };
FIXTURE_VARIANT_ADD(row, len_1) { "127.0.0.1", .len = 1, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_15) { "127.0.0.1", .len = 15, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_27_in6) { "::1", .len = 27, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, any) { "0.0.0.0", .error = EDESTADDRREQ };
FIXTURE_VARIANT_ADD(row, broadcast) { "255.255.255.255", .error = EINVAL };
FIXTURE_VARIANT_ADD(row, multicast) { "224.0.0.1", .error = EINVAL };
FIXTURE_VARIANT_ADD(row, any6) { "::", .error = EPROTOTYPE };
FIXTURE_VARIANT_ADD(row, multicast6) { "ff02::1", .error = EPROTOTYPE };
FIXTURE_VARIANT_ADD(row, mapped_any) { "::ffff:0.0.0.0", .error = EPROTOTYPE };
FIXTURE_VARIANT_ADD(row, mapped_broadcast) { "::ffff:255.255.255.255", .error = EPROTOTYPE };
FIXTURE_VARIANT_ADD(row, mapped_multicast) { "::ffff:224.0.0.1", .error = EPROTOTYPE };
FIXTURE_VARIANT_ADD(row, link_local_no_scope) { "fe80::1", .error = EINVAL };
FIXTURE_VARIANT_ADD(row, af_unix) { "127.0.0.1", .family = AF_UNIX, .error = EAFNOSUPPORT };
FIXTURE_VARIANT_ADD(row, af_rds) { "127.0.0.1", .family = AF_RDS, .error = EAFNOSUPPORT };

FIXTURE_SETUP(row)
{
	self->fd = rds_socket();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(row)
{
	close(self->fd);
}

TEST_F(row, abi2_abi4_connect)
{
	union rds_addr a = addr_make(variant->addr, PEER_PORT), want = a, got;
	socklen_t len = variant->len ?: addr_len(&a);
	int err;

	if (!strncmp(variant->addr, "::ffff:", 7))
		want = addr_make(variant->addr + 7, PEER_PORT);
	if (variant->family)
		a.sa.sa_family = variant->family;
	err = connect(self->fd, &a.sa, len) ? errno : 0;
	EXPECT_EQ(variant->error, err);

	len = sizeof(got);
	err = getpeername(self->fd, &got.sa, &len) ? errno : 0;
	EXPECT_EQ(variant->error ? ENOTCONN : 0, err);
	if (!variant->error) {
		EXPECT_TRUE(addr_equal(&want, &got));
		EXPECT_EQ(addr_len(&want), len);
	}
}

/* --- names --- */

TEST(abi4_getsockname_unbound_unconnected)
{
	socklen_t len = sizeof(struct sockaddr_storage);
	int fd = rds_socket();
	union rds_addr a;

	ASSERT_GE(fd, 0);
	memset(&a, 0x55, sizeof(a));
	ASSERT_EQ(0, getsockname(fd, &a.sa, &len));
	EXPECT_EQ(0, a.sa.sa_family);
	EXPECT_EQ(16, len);
}

FIXTURE(name) {};
FIXTURE_VARIANT(name) {
	const char	*peer;
	const char	*zero;
	socklen_t	len;
};
FIXTURE_VARIANT_ADD(name, in) { "127.0.0.1", "0.0.0.0", 16 };
FIXTURE_VARIANT_ADD(name, in6) { "::1", "::", 28 };
FIXTURE_SETUP(name) {}
FIXTURE_TEARDOWN(name) {}

TEST_F(name, abi4_getsockname_unbound_connected)
{
	union rds_addr peer = addr_make(variant->peer, PEER_PORT);
	union rds_addr zero = addr_make(variant->zero, 0), got;
	socklen_t len = sizeof(got);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, rds_connect(fd, &peer));
	ASSERT_EQ(0, getsockname(fd, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&zero, &got));
	EXPECT_EQ(variant->len, len);
}

TEST_F(name, abi4_port_0_and_repetition)
{
	union rds_addr peer = addr_make(variant->peer, 0), got;
	socklen_t len = sizeof(got);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, rds_connect(fd, &peer));
	ASSERT_EQ(0, getpeername(fd, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&peer, &got));
	peer = addr_with_port(&peer, PEER_PORT + 1);
	ASSERT_EQ(0, rds_connect(fd, &peer));
	len = sizeof(got);
	ASSERT_EQ(0, getpeername(fd, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&peer, &got));
}

TEST_F(name, abi4_names_fill_exactly_their_length)
{
	union rds_addr peer = addr_make(variant->peer, PEER_PORT), got;
	socklen_t len = sizeof(got);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, rds_connect(fd, &peer));
	memset(&got, 0x55, sizeof(got));
	ASSERT_EQ(0, getpeername(fd, &got.sa, &len));
	ASSERT_EQ(variant->len, len);
	EXPECT_TRUE(all_bytes((char *)&got + len, sizeof(got) - len, 0x55));
	if (got.sa.sa_family == AF_INET) {
		EXPECT_TRUE(all_bytes(got.in.sin_zero, sizeof(got.in.sin_zero), 0));
	}
}

/* --- what connect() means for sending and receiving --- */

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

TEST_F(pair, abi4_bound_names)
{
	socklen_t len = sizeof(union rds_addr);
	union rds_addr got;

	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	ASSERT_EQ(0, getsockname(self->p.tx, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &got));
	len = sizeof(got);
	ASSERT_EQ(0, getpeername(self->p.tx, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&self->p.rx_addr, &got));
	EXPECT_EQ(-1, getpeername(self->p.rx, &got.sa, &len));
	EXPECT_EQ(ENOTCONN, errno);
}

TEST_F(pair, abi4_connect_before_bind)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int fd = rds_socket();
	char c;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, rds_connect(fd, &self->p.rx_addr));
	EXPECT_EQ(-ENOTCONN, rds_send(fd, NULL, "x", 1, 0));
	ASSERT_EQ(0, rds_bind(fd, &a));
	EXPECT_EQ(1, rds_send(fd, NULL, "x", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
}

/* An address on the bed's transport that there is no connection to yet. */
static union rds_addr stranger(struct __test_metadata *_metadata, int fd, const union rds_addr *from,
			       const char *transport)
{
	union rds_addr to = addr_with_port(from, 7000);
	unsigned char *last = (unsigned char *)&to.in.sin_addr + 3;
	struct rds_info_path path;
	static struct list l;

	if (to.sa.sa_family == AF_INET6)
		last = &to.in6.sin6_addr.s6_addr[15];
	for (*last = 150; *last < 200; ++*last)
		if (!find_path(fd, &l, from, &to, transport, 0, &path))
			return to;
	ASSERT_LT(*last, 200);
	return to;
}

/* Nothing is connected before the first message. */
TEST_F_TIMEOUT(pair, abi4_no_traffic, RDS_SLOW_TEST)
{
	const char *transport = bed_is_rxe(variant->bed) ? "infiniband" : "loopback";
	union rds_addr *from = &self->p.tx_addr, to;
	struct rds_info_path path;
	static struct list l;

	to = stranger(_metadata, self->p.tx, from, transport);
	ASSERT_EQ(0, rds_connect(self->p.tx, &to));
	EXPECT_EQ(0, find_path(self->p.tx, &l, from, &to, transport, 0, &path));
	EXPECT_EQ(1, rds_send(self->p.tx, NULL, "x", 1, 0));
	EXPECT_EQ(1, find_path(self->p.tx, &l, from, &to, transport, 0, &path));
	EXPECT_EQ(0, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
}

TEST_F(pair, abi4_explicit_name_wins)
{
	union rds_addr other = addr_with_port(&self->p.rx_addr, 0);
	int fd = open_bound(_metadata, &other);
	char c = 0;

	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	ASSERT_EQ(1, rds_send(self->p.tx, &other, "o", 1, 0));
	ASSERT_EQ(1, rds_send(self->p.tx, NULL, "c", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(fd, &c, 1, NULL));
	EXPECT_EQ('o', c);
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('c', c);
	close(fd);
}

TEST_F(pair, abi4_receive_is_not_filtered_by_peer)
{
	union rds_addr elsewhere = addr_with_port(&self->p.tx_addr, 2);
	struct rds_msg_in in;
	char c = 0;

	ASSERT_EQ(0, rds_connect(self->p.rx, &elsewhere));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
}

/* Mainline: EAFNOSUPPORT.  What a socket remembers of its last connection is not taken for the next peer's. */
TEST_F(pair, abi4_abi5_better_disconnect)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = self->p.tx;
	union rds_addr got;
	socklen_t len = sizeof(got);
	char c;

	/* nothing to undo is fine, too */
	EXPECT_EQ(0, connect(fd, &none, sizeof(none)));
	ASSERT_EQ(0, rds_connect(fd, &self->p.rx_addr));
	ASSERT_EQ(1, rds_send(fd, NULL, "x", 1, 0));
	ASSERT_EQ(0, connect(fd, &none, sizeof(none.sa_family)));
	EXPECT_EQ(-ENOTCONN, rds_send(fd, NULL, "y", 1, 0));
	EXPECT_EQ(-1, getpeername(fd, &got.sa, &len));
	EXPECT_EQ(ENOTCONN, errno);
	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	/* the address stays bound, and another peer may follow: the socket itself, which has another address on RDMA */
	ASSERT_EQ(0, rds_connect(fd, &self->p.tx_addr));
	EXPECT_EQ(1, rds_send(fd, NULL, "z", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(fd, &c, 1, NULL));
	EXPECT_EQ('z', c);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
}

TEST_HARNESS_MAIN
