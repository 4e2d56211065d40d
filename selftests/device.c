// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA devices and addresses that come and go under sockets: D38, D39, D40, D45; see vm/device.sh. */
#include <net/if.h>
#include "info_list.h"
#include "sysctl.h"

#define WRITE	RDS_RDMA_READWRITE
#define LEN	9000

static void run(struct __test_metadata *_metadata, const char *command)
{
	ASSERT_EQ(0, system(command)) {
		TH_LOG("%s", command);
	}
}

static void device_delete(struct __test_metadata *_metadata)
{
	run(_metadata, "rdma link delete rxe0");
}

static void device_add(struct __test_metadata *_metadata)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	run(_metadata, "rdma link add rxe0 type rxe netdev ${NETDEV:-eth0}");
	while (system("rdma link show rxe0/1 | grep -q 'state ACTIVE'")) {
		ASSERT_LT(now_ms(), end);
		usleep(100000);
	}
}

FIXTURE(gone) {
	struct rds_pair		p;
	char			*remote;
	char			*local;
};
RDS_RXE_VARIANTS(gone);

FIXTURE_SETUP(gone)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->remote = map_guarded(_metadata, LEN);
	self->local = map_guarded(_metadata, LEN);
}

FIXTURE_TEARDOWN(gone)
{
	pair_close(&self->p);
}

/* An attempt to connect that was under way when its device went has to time out first. */
static void wait_for_message(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self)
{
	int tries = 6;

	while (!(ready(self->p.rx, POLLIN, RDS_WAIT_MS) & POLLIN) && tries--)
		;
}

/* Messages and operations work, with the sockets that there are and a new key. */
static void expect_works(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self)
{
	rds_rdma_cookie_t cookie;
	char c = 0;

	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	wait_for_message(_metadata, self);
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
	memset(self->local, 0x77, LEN);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, LEN,
					     WRITE));
	EXPECT_TRUE(all_bytes(self->remote, LEN, 0x77));
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
}

TEST_F_TIMEOUT(gone, D38_unread_messages, RDS_SLOW_TEST)
{
	static char out[20000], in[20000];
	int i, left;
	char c;

	for (left = 0; left < 2; left++) {
		for (i = 0; i < 10; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_send(self->p.tx, &self->p.rx_addr, out, 2000 * i, 0));
		}
		/* one more, which tells that it was the last */
		ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "l", 1, 0));
		for (i = 0; i < 5; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(out, in, 2000 * i));
		}
		device_delete(_metadata);
		for (; i < 8; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(out, in, 2000 * i));
		}
		if (left) {
			/* the rest is never read */
			close(self->p.rx);
			device_add(_metadata);
			self->p.rx = open_bound(_metadata, &self->p.rx_addr);
			break;
		}
		device_add(_metadata);
		for (; i < 10; i++) {
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
		}
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	}
	expect_works(_metadata, self);
}

/* A device has as many receive buffers as were asked for when it was added; the last number is the default. */
TEST_F_TIMEOUT(gone, abi17_ib_max_recv_wr, RDS_SLOW_TEST)
{
	static const struct { int asked, got; } rows[] = { { 1, 64 }, { 100, 100 }, { 512, 512 } };
	struct rds6_info_rdma_connection *c;
	static struct list l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT_EQ(0, sysctl_set("ib/max_recv_wr", rows[i].asked));
		device_delete(_metadata);
		device_add(_metadata);
		expect_works(_metadata, self);
		c = rdma_connection_from(self->p.tx, &self->p.tx_addr, &l);
		ASSERT_NE(NULL, c);
		EXPECT_EQ(rows[i].got, c->max_recv_wr);
	}
}

/* A key and its pages live on without their device, opening nothing. */
TEST_F_TIMEOUT(gone, D39_abi6_key_of_a_device_that_went, RDS_SLOW_TEST)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->remote, LEN }, .flags = WRITE };
	rds_rdma_cookie_t cookie, other;
	struct rds_msg_out m;
	int status;
	char c;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie));
	memset(self->remote, 0x33, LEN);
	device_delete(_metadata);
	EXPECT_LT(0, pinned_bytes());
	EXPECT_EQ(-EAGAIN, get_mr(self->p.rx, self->remote, LEN, WRITE, &other));
	msg_init(&m, &self->p.tx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EAGAIN, msg_send(self->p.rx, &m, MSG_DONTWAIT));
	device_add(_metadata);
	/* connected anew */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "c", 1, 0));
	wait_for_message(_metadata, self);
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	status = rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, LEN, WRITE);
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, status);
	EXPECT_TRUE(all_bytes(self->remote, LEN, 0x33));
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
	EXPECT_EQ(-EINVAL, free_mr(self->p.rx, cookie));
	EXPECT_EQ(0, pinned_bytes());
	expect_works(_metadata, self);
}

/* --- D40: devices without hardware behind them --- */

FIXTURE(parentless) {
	struct rds_pair	p;
};
FIXTURE_VARIANT(parentless) {
	const char	*netdev;
	const char	*make;
};
FIXTURE_VARIANT_ADD(parentless, dummy) {
	"dummy7", "ip link add dummy7 type dummy"
};
FIXTURE_VARIANT_ADD(parentless, bridge) {
	"br7", "ip link add br7 type bridge && ip link add dummy8 type dummy && "
	       "ip link set dummy8 master br7 && ip link set dummy8 up"
};

FIXTURE_SETUP(parentless)
{
	char command[256];

	run(_metadata, variant->make);
	snprintf(command, sizeof(command), "ip addr add 10.77.0.1/24 dev %s && "
		 "ip addr add 10.77.0.2/24 dev %s && ip link set %s up && "
		 "rdma link add rxe7 type rxe netdev %s",
		 variant->netdev, variant->netdev, variant->netdev, variant->netdev);
	run(_metadata, command);
}

FIXTURE_TEARDOWN(parentless)
{
	char command[128];

	pair_close(&self->p);
	/* devices go with their interfaces */
	snprintf(command, sizeof(command), "ip link delete %s", variant->netdev);
	run(_metadata, command);
	if (system("ip link delete dummy8 2>/dev/null")) {
		/* only the bridge had one */
	}
}

TEST_F_TIMEOUT(parentless, D40_traffic, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, LEN), *local = map_guarded(_metadata, LEN), c = 0;
	rds_rdma_cookie_t cookie;

	self->p.tx_addr = addr_make("10.77.0.1", 0);
	self->p.rx_addr = addr_make("10.77.0.2", 0);
	self->p.tx = open_bound_soon(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound_soon(_metadata, &self->p.rx_addr);
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "m", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('m', c);
	fill(local, LEN, 1);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, LEN, WRITE, &cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, LEN,
					     WRITE));
	EXPECT_EQ(0, memcmp(local, remote, LEN));
}

/* --- D45: addresses that go, and come back, also to another device --- */

/* Two batches do not fill a receive buffer; some messages have two fragments. */
#define BATCH		12
#define LENGTH(nr)	(450 * ((nr) % BATCH))

/* Two devices; the pair's addresses are on the first one, or on the second. */
static const char *const moving_netdev[] = { "dummy7", "dummy9" };
#define MAKE_MOVING	"for n in 7 9; do ip link add dummy$n type dummy && ip link set dummy$n up && "	\
			"rdma link add rxe$n type rxe netdev dummy$n || exit; done"
#define DELETE_MOVING	"ip link delete dummy7; ip link delete dummy9"

FIXTURE(moving) {
	struct rds_pair		p;
	struct list		l;
	struct rds_info_path	path;	/* from the sender to the receiver, when last looked at */
	int			sent;	/* messages, numbered */
	int			got;
};
FIXTURE_VARIANT(moving) {
	const char	*prefix;
	int		len;		/* of the prefix; an IPv4 address takes those of its subnet along */
};
FIXTURE_VARIANT_ADD(moving, v4) { "10.77.1.", 32 };
FIXTURE_VARIANT_ADD(moving, v6) { "fd77:1::", 64 };

/* The address that ends with @last is added to, or deleted from, device @nr. */
static void change_address(struct __test_metadata *_metadata, const FIXTURE_VARIANT(moving) *variant,
			   const char *what, int last, int nr)
{
	char command[128];

	snprintf(command, sizeof(command), "ip addr %s %s%d/%d dev %s", what, variant->prefix, last,
		 variant->len, moving_netdev[nr]);
	run(_metadata, command);
}

static union rds_addr moving_address(const FIXTURE_VARIANT(moving) *variant, int last)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%d", variant->prefix, last);
	return addr_make(text, 0);
}

FIXTURE_SETUP(moving)
{
	run(_metadata, MAKE_MOVING);
	change_address(_metadata, variant, "add", 1, 0);
	change_address(_metadata, variant, "add", 2, 0);
	self->p.tx_addr = moving_address(variant, 1);
	self->p.rx_addr = moving_address(variant, 2);
	self->p.tx = open_bound_soon(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound_soon(_metadata, &self->p.rx_addr);
}

FIXTURE_TEARDOWN(moving)
{
	pair_close(&self->p);
	run(_metadata, DELETE_MOVING);
}

/* Both addresses, one after the other. */
static void move(struct __test_metadata *_metadata, const FIXTURE_VARIANT(moving) *variant, int from,
		 int to)
{
	int last;

	for (last = 1; last <= 2; last++) {
		change_address(_metadata, variant, "del", last, from);
		change_address(_metadata, variant, "add", last, to);
	}
}

static void send_some(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self)
{
	static char out[RDS_MAX_MSG];
	int end = self->sent + BATCH;

	for (; self->sent < end; self->sent++) {
		fill(out, LENGTH(self->sent), self->sent);
		ASSERT_EQ(LENGTH(self->sent), rds_send(self->p.tx, &self->p.rx_addr, out, LENGTH(self->sent), 0));
	}
}

/* All that was sent arrives, in order, and nothing else. */
static void receive_all(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self)
{
	static char want[RDS_MAX_MSG], in[RDS_MAX_MSG];

	for (; self->got < self->sent; self->got++) {
		int len = LENGTH(self->got), tries = 6;

		while (!(ready(self->p.rx, POLLIN, RDS_WAIT_MS) & POLLIN) && tries--)
			;
		fill(want, len, self->got);
		ASSERT_EQ(len, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
		ASSERT_EQ(0, memcmp(want, in, len));
	}
	ASSERT_EQ(-EAGAIN, rds_recv(self->p.rx, in, sizeof(in), MSG_DONTWAIT, NULL));
}

static void look_at_path(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self,
			 const union rds_addr *from, const union rds_addr *to)
{
	ASSERT_EQ(1, find_path(self->p.tx, &self->l, from, to, "infiniband", 0, &self->path));
}

/* The end at @from gives its connection up, though nobody uses it. */
static void wait_until_down(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self,
			    const union rds_addr *from, const union rds_addr *to)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	do {
		nap();
		look_at_path(_metadata, self, from, to);
	} while (self->path.state == RDS_INFO_PATH_UP && now_ms() < end);
	ASSERT_NE(RDS_INFO_PATH_UP, self->path.state);
}

/* Something waits to be sent there, and the history says why. */
static void wait_for_reason(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self,
			    const union rds_addr *from, const union rds_addr *to)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	const struct rds_info_drop *drop;

	do {
		nap();
		look_at_path(_metadata, self, from, to);
		drop = find_drop(&self->path, "addr_change");
	} while (!drop && now_ms() < end);
	ASSERT_NE(NULL, drop);
	EXPECT_EQ(-EADDRNOTAVAIL, drop->err);
}

/* Fill the send buffer: it takes as much as if the peer were away. */
static void send_until_full(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self)
{
	static char out[RDS_MAX_MSG];
	ssize_t n;

	do {
		fill(out, LENGTH(self->sent), self->sent);
		n = rds_send(self->p.tx, &self->p.rx_addr, out, LENGTH(self->sent), MSG_DONTWAIT);
		if (n >= 0)
			self->sent++;
	} while (n >= 0);
	EXPECT_EQ(-EAGAIN, n);
	EXPECT_EQ(0, ready(self->p.tx, POLLOUT, 0));
}

/* Messages wait while the address of either end is away; sending them, and getting a key, is as ever. */
TEST_F_TIMEOUT(moving, D45_away_and_back, RDS_SLOW_TEST)
{
	const union rds_addr *ends[] = { &self->p.tx_addr, &self->p.rx_addr };
	char *buf = map_guarded(_metadata, LEN), c;
	rds_rdma_cookie_t cookie;
	int gone;

	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUF, 32 * 1024);
	for (gone = 0; gone < 2; gone++) {
		send_some(_metadata, self);
		receive_all(_metadata, self);
		change_address(_metadata, variant, "del", 1 + gone, 0);
		wait_until_down(_metadata, self, ends[gone], ends[!gone]);
		send_until_full(_metadata, self);
		ASSERT_EQ(1, rds_send(self->p.rx, &self->p.tx_addr, "b", 1, 0));
		wait_for_reason(_metadata, self, ends[gone], ends[!gone]);
		EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
		EXPECT_EQ(0, get_mr(self->p.tx, buf, LEN, WRITE, &cookie));
		EXPECT_EQ(0, free_mr(self->p.tx, cookie));
		change_address(_metadata, variant, "add", 1 + gone, 0);
		receive_all(_metadata, self);
		ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, NULL));
		EXPECT_EQ('b', c);
	}
	look_at_path(_metadata, self, ends[0], ends[1]);
	EXPECT_EQ(RDS_INFO_PATH_UP, self->path.state);
}

/* Away for no longer than it takes: the connection is made anew, not one that is silently broken. */
TEST_F_TIMEOUT(moving, D45_renewed_under_messages, RDS_SLOW_TEST)
{
	int i;

	for (i = 0; i < 3; i++) {
		send_some(_metadata, self);
		change_address(_metadata, variant, "del", 1 + i % 2, 0);
		change_address(_metadata, variant, "add", 1 + i % 2, 0);
		send_some(_metadata, self);
		receive_all(_metadata, self);
	}
}

static void expect_write(struct __test_metadata *_metadata, FIXTURE_DATA(moving) *self, char *local,
			 char *remote, rds_rdma_cookie_t cookie, int status)
{
	memset(local, 0x5a, LEN);
	memset(remote, 0, LEN);
	EXPECT_EQ(status, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, LEN, WRITE));
	EXPECT_TRUE(all_bytes(remote, LEN, status == RDS_RDMA_SUCCESS ? 0x5a : 0));
}

/* Addresses that move take messages along, but not keys, which are the former device's. */
TEST_F_TIMEOUT(moving, D45_to_another_device, RDS_SLOW_TEST)
{
	char *local = map_guarded(_metadata, LEN), *remote = map_guarded(_metadata, LEN);
	rds_rdma_cookie_t old, new;
	int at;

	for (at = 0; at < 2; at++) {
		ASSERT_EQ(0, get_mr(self->p.rx, remote, LEN, WRITE, &old));
		expect_write(_metadata, self, local, remote, old, RDS_RDMA_SUCCESS);
		send_some(_metadata, self);
		move(_metadata, variant, at, !at);
		send_some(_metadata, self);
		receive_all(_metadata, self);
		expect_write(_metadata, self, local, remote, old, RDS_RDMA_REMOTE_ERROR);
		ASSERT_EQ(0, get_mr(self->p.rx, remote, LEN, WRITE, &new));
		expect_write(_metadata, self, local, remote, new, RDS_RDMA_SUCCESS);
		EXPECT_EQ(0, free_mr(self->p.rx, old));
		EXPECT_EQ(0, free_mr(self->p.rx, new));
		EXPECT_EQ(0, pinned_bytes());
	}
}

/* --- a link-local address of two devices --- */

FIXTURE(scopes) {
	union rds_addr	a[2];
	int		fd[2];
};

FIXTURE_SETUP(scopes)
{
	char command[128];
	int i;

	run(_metadata, MAKE_MOVING);
	for (i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "ip addr add fe80::77:1/64 dev %s", moving_netdev[i]);
		run(_metadata, command);
		self->a[i] = addr_make("fe80::77:1", 7077);
		self->a[i].in6.sin6_scope_id = if_nametoindex(moving_netdev[i]);
		self->fd[i] = open_bound_soon(_metadata, &self->a[i]);
	}
}

FIXTURE_TEARDOWN(scopes)
{
	close(self->fd[0]);
	close(self->fd[1]);
	run(_metadata, DELETE_MOVING);
}

TEST_F_TIMEOUT(scopes, abi3_same_address_and_port_in_two_scopes, RDS_SLOW_TEST)
{
	int i, other = rds_socket();
	struct rds_msg_in in;
	char c = 0;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EADDRINUSE, rds_bind(other, &self->a[i]));
		ASSERT_EQ(1, rds_send(self->fd[i], &self->a[i], "01" + i, 1, 0));
		ASSERT_EQ(1, rds_recv_wait(self->fd[i], &c, 1, &in));
		EXPECT_EQ('0' + i, c);
		EXPECT_TRUE(addr_equal(&self->a[i], &in.from));
		EXPECT_EQ(-EAGAIN, rds_recv(self->fd[!i], &c, 1, MSG_DONTWAIT, NULL));
	}
	close(other);
}

TEST_HARNESS_MAIN
