// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDS_INFO_PATHS: what happened to each connection.  RDS_CONN_RESET: an administrator ends one. */
#include <limits.h>
#include "info_list.h"
#include "sysctl.h"

/* Any of these may have been connected by an earlier test: what is looked at is what changes. */
FIXTURE(paths) {
	struct rds_pair		p;
	struct list		l;
	struct rds_info_path	path;
};
RDS_BED_VARIANTS(paths);
RDS_BED_VARIANT_RXE6(paths);

/* The same for connections of a device, which are made and break. */
FIXTURE(device) {
	FIXTURE_DATA(paths)	paths;
};
RDS_RXE_VARIANTS(device);

static int64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int rdma_path(FIXTURE_DATA(paths) *self, const union rds_addr *from, const union rds_addr *to)
{
	return find_path(self->p.tx, &self->l, from, to, "infiniband", 0, &self->path);
}

static int my_path(FIXTURE_DATA(paths) *self, enum rds_bed bed)
{
	return find_path(self->p.tx, &self->l, &self->p.tx_addr, &self->p.rx_addr,
			 bed_is_rxe(bed) ? "infiniband" : "loopback", 0, &self->path);
}

/* One message arrives. */
static void pass_message(struct __test_metadata *_metadata, FIXTURE_DATA(paths) *self, uint32_t n)
{
	uint32_t in = ~n;

	ASSERT_EQ(sizeof(n), rds_send(self->p.tx, &self->p.rx_addr, &n, sizeof(n), 0));
	ASSERT_EQ(sizeof(in), rds_recv_wait(self->p.rx, &in, sizeof(in), NULL));
	ASSERT_EQ(n, in);
}

static void setup_paths(struct __test_metadata *_metadata, FIXTURE_DATA(paths) *s, enum rds_bed bed)
{
	pair_open(_metadata, &s->p, bed);
	pass_message(_metadata, s, 0);
}

FIXTURE_SETUP(paths)
{
	setup_paths(_metadata, self, variant->bed);
}

FIXTURE_TEARDOWN(paths)
{
	pair_close(&self->p);
}

FIXTURE_SETUP(device)
{
	setup_paths(_metadata, &self->paths, variant->bed);
}

FIXTURE_TEARDOWN(device)
{
	pair_close(&self->paths.p);
}

/* The administrator's calls */

static int reset4(int fd, uint8_t tos, const union rds_addr *src, const union rds_addr *dst)
{
	struct rds_reset reset = { .tos = tos, .src = src->in.sin_addr.s_addr };

	if (dst)
		reset.dst = dst->in.sin_addr.s_addr;
	return set_opt(fd, RDS_CONN_RESET, &reset, sizeof(reset));
}

static int reset(int fd, const union rds_addr *src, const union rds_addr *dst)
{
	return is_v4(src) ? reset4(fd, 0, src, dst) : reset_conn(fd, 0, src, dst);
}

/* --- history ------------------------------------------------------------ */

TEST_F_TIMEOUT(paths, a_path_that_is_up, RDS_SLOW_TEST)
{
	struct rds_info_path *path = &self->path;

	ASSERT_EQ(1, my_path(self, variant->bed));
	EXPECT_EQ(sizeof(*path), self->l.stride);
	EXPECT_EQ(RDS_INFO_PATH_UP, path->state);
	EXPECT_EQ(0, path->scope);
	EXPECT_EQ(0, path->lane);
	EXPECT_GE(path->connects, 1);
	EXPECT_GT(path->connected, 0);
	EXPECT_LE(path->connected, real_ns());
	if (bed_is_rxe(variant->bed)) {
		EXPECT_GE(path->requests + path->accepts, path->connects);
		EXPECT_GT(path->attempted, 0);
		EXPECT_LE(path->attempted, path->connected);
	} else {
		/* always connected */
		EXPECT_EQ(1, path->connects);
		EXPECT_EQ(0, path->requests + path->accepts + path->nr_drops);
	}
}

/* Nobody has the address: attempts and what became of them. */
TEST_F_TIMEOUT(device, a_path_to_nobody, RDS_SLOW_TEST)
{
	FIXTURE_DATA(paths) *s = &self->paths;
	union rds_addr to = addr_with_port(&s->p.rx_addr, 7000);
	struct rds_info_path *path = &s->path;
	int64_t end = now_ms() + RDS_WAIT_MS, start = real_ns();

	if (is_v4(&to))
		((unsigned char *)&to.in.sin_addr)[3] = 249;
	else
		to.in6.sin6_addr.s6_addr[15] = 249;
	ASSERT_EQ(1, rds_send(s->p.tx, &to, "x", 1, 0));
	do {
		nap();
		ASSERT_EQ(1, rdma_path(s, &s->p.tx_addr, &to));
	} while ((path->nr_drops < 1 || path->requests < 2) && now_ms() < end);
	EXPECT_GE(path->nr_drops, 1);
	EXPECT_GE(path->requests, 2);
	EXPECT_EQ(0, path->accepts);
	EXPECT_EQ(0, path->connects);
	EXPECT_EQ(0, path->connected);
	EXPECT_NE(RDS_INFO_PATH_UP, path->state);
	EXPECT_GE(path->attempted, start);
	EXPECT_GE(path->drops[0].when, start);
	EXPECT_LE(path->drops[0].when, real_ns());
	EXPECT_NE(0, path->drops[0].reason[0]);
	EXPECT_EQ(0, path->drops[0].flags);
	ASSERT_EQ(0, set_opt(s->p.tx, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
}

/* --- reset -------------------------------------------------------------- */

#define ROUNDS		5
#define BURST		20

/* Connections are ended while messages are under way: all arrive, once and in order. */
TEST_F_TIMEOUT(paths, reset_loses_nothing, RDS_SLOW_TEST)
{
	bool rxe = bed_is_rxe(variant->bed);
	const struct rds_info_drop *drop;
	struct rds_info_path before;
	int64_t start = real_ns();
	uint32_t i, n = 0, in, round;

	ASSERT_EQ(1, my_path(self, variant->bed));
	before = self->path;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < BURST; i++) {
			in = round * BURST + i;
			ASSERT_EQ(sizeof(in), rds_send(self->p.tx, &self->p.rx_addr, &in, sizeof(in), 0));
			if (i == BURST / 2)
				ASSERT_EQ(0, reset(self->p.tx, &self->p.tx_addr, &self->p.rx_addr));
		}
		for (i = 0; i < BURST; i++, n++) {
			ASSERT_EQ(sizeof(in), rds_recv_wait(self->p.rx, &in, sizeof(in), NULL));
			ASSERT_EQ(n, in);
		}
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &in, sizeof(in), MSG_DONTWAIT, NULL));

	ASSERT_EQ(1, my_path(self, variant->bed));
	drop = find_drop(&self->path, "user_reset");
	if (!rxe) {
		EXPECT_EQ(NULL, drop);
		EXPECT_EQ(1, self->path.connects);
		return;
	}
	EXPECT_GT(self->path.connects, before.connects);
	EXPECT_GT(self->path.nr_drops, before.nr_drops);
	ASSERT_NE(NULL, drop);
	EXPECT_GE(drop->when, start);
	EXPECT_EQ(0, drop->err);
	EXPECT_EQ(0, drop->flags);
}

/* The other end is told, and knows that it was not its own doing. */
TEST_F_TIMEOUT(device, the_peer_sees_a_reset, RDS_SLOW_TEST)
{
	FIXTURE_DATA(paths) *s = &self->paths;
	struct rds_info_path *path = &s->path;
	int64_t end = now_ms() + RDS_WAIT_MS;
	uint64_t drops;

	ASSERT_EQ(1, rdma_path(s, &s->p.rx_addr, &s->p.tx_addr));
	drops = path->nr_drops;
	ASSERT_EQ(0, reset(s->p.tx, &s->p.tx_addr, &s->p.rx_addr));
	do {
		nap();
		ASSERT_EQ(1, rdma_path(s, &s->p.rx_addr, &s->p.tx_addr));
	} while (path->nr_drops == drops && now_ms() < end);
	EXPECT_GT(path->nr_drops, drops);
	EXPECT_TRUE(find_drop(path, "disconnected") || find_drop(path, "peer_reconnected"));
	EXPECT_EQ(RDS_INFO_DROP_FLAG_PEER, path->drops[0].flags) {
		TH_LOG("reason %s", path->drops[0].reason);
	}
}

/* All of a source's connections, by either call; those of others stay. */
TEST_F_TIMEOUT(device, reset_all_of_a_source, RDS_SLOW_TEST)
{
	FIXTURE_DATA(paths) *s = &self->paths;
	const struct rds_info_path *path = &s->path;
	union rds_addr nobody = s->p.tx_addr;
	int64_t end = now_ms() + RDS_WAIT_MS;
	uint64_t drops;

	ASSERT_EQ(1, my_path(s, variant->bed));
	drops = path->nr_drops;
	if (is_v4(&nobody))
		((unsigned char *)&nobody.in.sin_addr)[3] = 248;
	else
		nobody.in6.sin6_addr.s6_addr[15] = 248;
	ASSERT_EQ(0, reset(s->p.tx, &nobody, NULL));
	/* other types of service, other peers */
	ASSERT_EQ(0, reset_conn(s->p.tx, 77, &s->p.tx_addr, &s->p.rx_addr));
	ASSERT_EQ(0, reset(s->p.tx, &s->p.tx_addr, &nobody));
	pass_message(_metadata, s, 1);
	ASSERT_EQ(1, my_path(s, variant->bed));
	EXPECT_EQ(drops, path->nr_drops);

	ASSERT_EQ(0, reset_conn(s->p.tx, 0, &s->p.tx_addr, NULL));
	do {
		nap();
		ASSERT_EQ(1, my_path(s, variant->bed));
	} while (path->nr_drops == drops && now_ms() < end);
	EXPECT_GT(path->nr_drops, drops);
	EXPECT_NE(NULL, find_drop(path, "user_reset"));
	pass_message(_metadata, s, 2);
}

/* --- heartbeats --------------------------------------------------------- */

static void swap_sysctl(struct __test_metadata *_metadata, const char *name, long *value)
{
	long old = sysctl_get(name);

	ASSERT_GE(old, 0);
	ASSERT_EQ(0, sysctl_set(name, *value));
	*value = old;
}

/* Two of us ask each other for signs of life, and get them: an idle connection stays. */
TEST_F_TIMEOUT(device, heartbeats_keep_a_connection, RDS_SLOW_TEST)
{
	FIXTURE_DATA(paths) *s = &self->paths;
	long interval = 1, timeout = 60;
	int64_t end = now_ms() + RDS_WAIT_MS;
	uint64_t sent, got;

	swap_sysctl(_metadata, "conn_heartbeat_interval_secs", &interval);
	swap_sysctl(_metadata, "conn_heartbeat_timeout_secs", &timeout);
	/* the interval counts from the next connect */
	ASSERT_EQ(0, reset(s->p.tx, &s->p.tx_addr, &s->p.rx_addr));
	pass_message(_metadata, s, 3);
	sent = counter(s->p.tx, "ib_hb_ping_sent");
	got = counter(s->p.tx, "ib_hb_pong_received");
	while (counter(s->p.tx, "ib_hb_pong_received") < got + 5 && now_ms() < end)
		nap();
	EXPECT_GE(counter(s->p.tx, "ib_hb_pong_received"), got + 5);
	EXPECT_GE(counter(s->p.tx, "ib_hb_ping_sent"), sent + 5);
	swap_sysctl(_metadata, "conn_heartbeat_interval_secs", &interval);
	swap_sysctl(_metadata, "conn_heartbeat_timeout_secs", &timeout);
	ASSERT_EQ(1, my_path(s, variant->bed));
	EXPECT_EQ(NULL, find_drop(&s->path, "heartbeat"));
	EXPECT_EQ(RDS_INFO_PATH_UP, s->path.state);
}

/* --- connections that nobody uses --------------------------------------- */

/* Addresses of their own, so that nobody else uses the connections; in the one namespace that has devices the sysctl is put back. */
FIXTURE(idle) {
	union rds_addr		from;
	union rds_addr		to;
	union rds_addr		other;	/* a third one, of: */
	int			asker;	/* a socket that asks for lists */
	int			tx;
	int			rx;
	long			idle;
	bool			rxe;
	char			delete[256];
	struct list		l;
	struct rds_info_path	path;
};
FIXTURE_VARIANT(idle) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(idle, loop4) { .bed = BED_LOOP4 };
FIXTURE_VARIANT_ADD(idle, rxe) { .bed = BED_RXE };

/* What loopback, which has one end and is always connected, has no counterpart of. */
FIXTURE(idle_device) {
	FIXTURE_DATA(idle)	idle;
};

static void own_addresses(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self)
{
	char from[INET_ADDRSTRLEN], to[INET_ADDRSTRLEN], add[256];

	((unsigned char *)&self->from.in.sin_addr)[3] = 71;
	((unsigned char *)&self->to.in.sin_addr)[3] = 72;
	if (!self->rxe)
		return;
	inet_ntop(AF_INET, &self->from.in.sin_addr, from, sizeof(from));
	inet_ntop(AF_INET, &self->to.in.sin_addr, to, sizeof(to));
	snprintf(add, sizeof(add), "ip addr add %s/24 dev ${NETDEV:-eth0}; ip addr add %s/24 dev ${NETDEV:-eth0}",
		 from, to);
	snprintf(self->delete, sizeof(self->delete),
		 "ip addr del %s/24 dev ${NETDEV:-eth0}; ip addr del %s/24 dev ${NETDEV:-eth0}", from, to);
	ASSERT_EQ(0, system(add));
}

static void setup_idle(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *s, enum rds_bed bed)
{
	s->rxe = bed_is_rxe(bed);
	if (!s->rxe)
		ASSERT_EQ(0, unshare(CLONE_NEWNET));
	bed_need(_metadata, bed, &s->from, &s->to);
	s->other = addr_with_port(&s->from, 0);
	s->idle = sysctl_get("connection_idle_seconds");
	ASSERT_EQ(600, s->idle);
	own_addresses(_metadata, s);
	s->asker = open_bound(_metadata, &s->other);
	s->tx = open_bound_soon(_metadata, &s->from);
	s->rx = open_bound_soon(_metadata, &s->to);
}

static void teardown_idle(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *s)
{
	close(s->tx);
	close(s->rx);
	close(s->asker);
	EXPECT_EQ(0, sysctl_set("connection_idle_seconds", s->idle));
	if (s->delete[0])
		EXPECT_EQ(0, system(s->delete));
}

FIXTURE_SETUP(idle)
{
	setup_idle(_metadata, self, variant->bed);
}

FIXTURE_TEARDOWN(idle)
{
	teardown_idle(_metadata, self);
}

FIXTURE_SETUP(idle_device)
{
	setup_idle(_metadata, &self->idle, BED_RXE);
}

FIXTURE_TEARDOWN(idle_device)
{
	teardown_idle(_metadata, &self->idle);
}

/* How many connections there are from one to the other; of the last one, its path. */
static int find(FIXTURE_DATA(idle) *self, const union rds_addr *from, const union rds_addr *to)
{
	return find_path(self->asker, &self->l, from, to, self->rxe ? "infiniband" : "loopback", 0, &self->path);
}

static void send_idle(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self, uint32_t n)
{
	ASSERT_EQ(sizeof(n), rds_send(self->tx, &self->to, &n, sizeof(n), 0));
}

static void take_idle(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self, uint32_t n)
{
	uint32_t in = ~n;

	ASSERT_EQ(sizeof(in), rds_recv_wait(self->rx, &in, sizeof(in), NULL));
	ASSERT_EQ(n, in);
}

/* It is down for having been idle, whichever end has closed it, since the time given. */
static void wait_for_idle(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self,
			  const union rds_addr *from, const union rds_addr *to, int64_t since)
{
	const struct rds_info_drop *drop = &self->path.drops[0];
	int64_t end = now_ms() + RDS_WAIT_MS;

	do {
		nap();
		ASSERT_EQ(1, find(self, from, to));
	} while ((self->path.state != RDS_INFO_PATH_DOWN || drop->when < since) && now_ms() < end);
	EXPECT_EQ(RDS_INFO_PATH_DOWN, self->path.state);
	EXPECT_GE(drop->when, since);
	EXPECT_STREQ("idle", (const char *)drop->reason);
	EXPECT_EQ(0, drop->err);
	EXPECT_EQ(0, drop->flags);
}

/* It is closed, made again by the next messages, which arrive in order, and forgotten when no socket has it. */
TEST_F_TIMEOUT(idle, closed_and_forgotten, RDS_SLOW_TEST)
{
	int64_t end, since = real_ns();
	uint64_t connects;
	uint32_t n;

	send_idle(_metadata, self, 0);
	take_idle(_metadata, self, 0);
	ASSERT_EQ(1, find(self, &self->from, &self->to));
	ASSERT_EQ(RDS_INFO_PATH_UP, self->path.state);
	connects = self->path.connects;
	ASSERT_EQ(0, sysctl_set("connection_idle_seconds", 1));
	if (self->rxe)
		wait_for_idle(_metadata, self, &self->from, &self->to, since);
	since = real_ns();
	for (n = 1; n < 20; n++)
		send_idle(_metadata, self, n);
	for (n = 1; n < 20; n++)
		take_idle(_metadata, self, n);
	ASSERT_EQ(1, find(self, &self->from, &self->to));
	if (self->rxe) {
		EXPECT_GT(self->path.connects, connects);
		wait_for_idle(_metadata, self, &self->from, &self->to, since);
	}
	close(self->tx);
	end = now_ms() + RDS_WAIT_MS;
	while ((find(self, &self->from, &self->to) || find(self, &self->to, &self->from)) && now_ms() < end)
		nap();
	EXPECT_EQ(0, find(self, &self->from, &self->to));
	EXPECT_EQ(0, find(self, &self->to, &self->from));
	/* both ends have forgotten their numbers, and get along */
	self->tx = open_bound(_metadata, &self->from);
	for (n = 100; n < 110; n++)
		send_idle(_metadata, self, n);
	for (n = 100; n < 110; n++)
		take_idle(_metadata, self, n);
	EXPECT_EQ(-EAGAIN, rds_recv(self->rx, &n, sizeof(n), MSG_DONTWAIT, NULL));
}

/* One end is forgotten, the other is kept by a socket: each takes the other's numbers for what they are. */
TEST_F_TIMEOUT(idle_device, one_end_forgotten, RDS_SLOW_TEST)
{
	FIXTURE_DATA(idle) *s = &self->idle;
	uint32_t n, in;
	int64_t end;

	for (n = 0; n < 30; n++) {
		send_idle(_metadata, s, n);
		take_idle(_metadata, s, n);
	}
	ASSERT_EQ(0, sysctl_set("connection_idle_seconds", 1));
	/* the receiver's side has no socket that has sent by it */
	end = now_ms() + RDS_WAIT_MS;
	while (find(s, &s->to, &s->from) && now_ms() < end)
		nap();
	ASSERT_EQ(0, find(s, &s->to, &s->from));
	ASSERT_EQ(1, find(s, &s->from, &s->to));
	for (n = 30; n < 60; n++)
		send_idle(_metadata, s, n);
	for (n = 30; n < 60; n++)
		take_idle(_metadata, s, n);
	/* and now the other way, from the side that counts from 1 */
	for (n = 60; n < 70; n++) {
		ASSERT_EQ(sizeof(n), rds_send(s->rx, &s->from, &n, sizeof(n), 0));
		send_idle(_metadata, s, n);
		ASSERT_EQ(sizeof(in), rds_recv_wait(s->tx, &in, sizeof(in), NULL));
		ASSERT_EQ(n, in);
		take_idle(_metadata, s, n);
	}
	EXPECT_EQ(-EAGAIN, rds_recv(s->rx, &n, sizeof(n), MSG_DONTWAIT, NULL));
	EXPECT_EQ(-EAGAIN, rds_recv(s->tx, &n, sizeof(n), MSG_DONTWAIT, NULL));
}

/* Another connection, that carries one message, is closed after all. */
static void wait_for_another(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self)
{
	int64_t since = real_ns();

	ASSERT_EQ(1, rds_send(self->asker, &self->from, "x", 1, 0));
	wait_for_idle(_metadata, self, &self->other, &self->from, since);
}

/* While a port is congested, of which the sender has been told and waits for more, it stays. */
TEST_F_TIMEOUT(idle_device, busy_stays, RDS_SLOW_TEST)
{
	FIXTURE_DATA(idle) *s = &self->idle;
	int size = 2048, n = 0, got, ret;
	char data[1000] = "";
	uint64_t drops;
	int64_t end;

	ASSERT_EQ(0, setsockopt(s->rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	end = now_ms() + RDS_WAIT_MS;
	do {
		ret = rds_send(s->tx, &s->to, data, sizeof(data), MSG_DONTWAIT);
		n += ret > 0;
	} while (ret > 0 && now_ms() < end);
	ASSERT_LT(ret, 0);	/* ENOBUFS or EAGAIN */
	ASSERT_EQ(1, find(s, &s->from, &s->to));
	drops = s->path.nr_drops;
	ASSERT_EQ(0, sysctl_set("connection_idle_seconds", 1));
	/* the second one was not used for as long as is allowed at a time when this one had not been either */
	wait_for_another(_metadata, s);
	wait_for_another(_metadata, s);
	ASSERT_EQ(1, find(s, &s->from, &s->to));
	EXPECT_EQ(drops, s->path.nr_drops);
	EXPECT_EQ(RDS_INFO_PATH_UP, s->path.state);
	for (got = 0; got < n; got++)
		ASSERT_EQ(sizeof(data), rds_recv_wait(s->rx, data, sizeof(data), NULL));
	/* and when it is over, it goes */
	wait_for_idle(_metadata, s, &s->from, &s->to, 0);
}

/* --- who may, and how --------------------------------------------------- */

static int reset_as_nobody(void *arg)
{
	FIXTURE_DATA(paths) *self = arg;
	int err = become_nobody(65536);

	if (err)
		return 1;
	if (reset4(self->p.tx, 0, &self->p.tx_addr, &self->p.rx_addr) != -EPERM)
		return 2;
	return reset_conn(self->p.tx, 0, &self->p.tx_addr, &self->p.rx_addr) == -EPERM ? 0 : 3;
}

TEST_F_TIMEOUT(paths, reset_is_the_administrators, RDS_SLOW_TEST)
{
	EXPECT_EQ(0, in_child(reset_as_nobody, self));
}

TEST_F_TIMEOUT(paths, abi11_reset_tells_by_its_length, RDS_SLOW_TEST)
{
	void *bad = unmapped_page(_metadata);
	char zero[64] = "";
	int fd = rds_socket();
	socklen_t len;

	EXPECT_EQ(-EFAULT, set_opt(fd, RDS_CONN_RESET, bad, sizeof(struct rds_reset)));
	EXPECT_EQ(-EFAULT, set_opt(fd, RDS6_CONN_RESET, bad, sizeof(struct rds6_reset)));
	for (len = 0; len <= sizeof(zero); len++) {
		if (len != sizeof(struct rds6_reset))
			EXPECT_EQ(-EINVAL, set_opt(fd, RDS6_CONN_RESET, zero, len));
		if (len != sizeof(struct rds_reset) && len != sizeof(int))
			EXPECT_EQ(-EINVAL, set_opt(fd, RDS_CONN_RESET, zero, len));
	}
	/* a choice of transport has 4 bytes, and none is made by the others */
	EXPECT_EQ(0, set_opt(fd, RDS_CONN_RESET, zero, sizeof(struct rds_reset)));
	EXPECT_EQ(0, set_opt(fd, SO_RDS_TRANSPORT, zero, sizeof(int)));
	close(fd);
}

TEST_HARNESS_MAIN
