// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 17: sysctls under the names that mainline has, and ours; D62 and D73. */
#include <sys/prctl.h>
#include "info_list.h"
#include "sysctl.h"

/* Defaults, and what may be set. */
struct knob {
	const char	*name;
	long		preset;
	long		min;
	long		max;
	bool		limit;		/* protects the host */
};

static const struct knob knobs[] = {
	{ "reconnect_min_delay_ms", 1, 1, 1000, false },
	{ "reconnect_max_delay_ms", 1000, 1, 3600000, false },
	{ "max_unacked_packets", 8, 0, INT32_MAX, false },
	{ "max_unacked_bytes", 16777216, 0, INT32_MAX, false },
	{ "ping_enable", 1, 0, 1, false },
	{ "conn_heartbeat_interval_secs", 60, 1, 600, false },
	{ "conn_heartbeat_timeout_secs", 10, 0, 60, false },
	{ "connection_idle_seconds", 600, 0, 86400, false },
	{ "ib/max_send_wr", 32, 1, INT32_MAX, false },
	{ "ib/max_recv_wr", 512, 1, INT32_MAX, false },
	{ "ib/max_unsignaled_wr", 8, 1, 64, false },
	{ "ib/max_recv_allocation", 65536, 1, INT32_MAX, false },
	{ "ib/flow_control", 0, 0, 0, false },
	{ "max_sockets", 32768, 0, INT32_MAX, true },
	{ "max_connections", 16384, 0, INT32_MAX, true },
	{ "max_mrs", 352256, 0, INT32_MAX, true },
	{ "max_rdma_bytes", 1 << 20, 1, 16 << 20, true },
	{ "socket_max_mrs", 65536, 0, INT32_MAX, true },
	{ "socket_max_empty_messages", 1024, 1, INT32_MAX, true },
	{ "socket_max_notifications", 65536, 0, INT32_MAX, true },
	{ "connection_max_pongs", 64, 0, INT32_MAX, true },
};
#define KNOBS	ARRAY_SIZE(knobs)

/* In a namespace of its own, where everything has its default. */
FIXTURE(knob) {
	long	before[KNOBS];
};

static void read_all(long *values)
{
	unsigned int i;

	for (i = 0; i < KNOBS; i++)
		values[i] = sysctl_get(knobs[i].name);
}

FIXTURE_SETUP(knob)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	read_all(self->before);
}

FIXTURE_TEARDOWN(knob)
{
}

TEST_F(knob, abi17_names_and_defaults)
{
	unsigned int i;

	for (i = 0; i < KNOBS; i++)
		EXPECT_EQ(knobs[i].preset, self->before[i]) {
			TH_LOG("number %u", i);
		}
}

/* A half and a quarter of memory, or about: the kernel's idea of how much there is is not the user's. */
TEST_F(knob, abi16_better_pinned_bytes_by_default)
{
	unsigned long all = sysctl_get("max_pinned_bytes"), one = sysctl_get("socket_max_pinned_bytes");
	unsigned long ram = (unsigned long)sysconf(_SC_PHYS_PAGES) * page_size();

	EXPECT_GT(all, ram / 2 - ram / 16);
	EXPECT_LT(all, ram / 2 + ram / 16);
	EXPECT_GT(one, ram / 4 - ram / 32);
	EXPECT_LT(one, ram / 4 + ram / 32);
}

/* All others are as they were. */
static void expect_neighbours(struct __test_metadata *_metadata, FIXTURE_DATA(knob) *self,
			      unsigned int but)
{
	long now[KNOBS];
	unsigned int i;

	read_all(now);
	for (i = 0; i < KNOBS; i++)
		if (i != but)
			EXPECT_EQ(self->before[i], now[i]) {
				TH_LOG("number %u, by %u", i, but);
			}
}

static void expect_refused(struct __test_metadata *_metadata, const struct knob *k,
			   const char *text)
{
	long before = sysctl_get(k->name);

	EXPECT_EQ(-EINVAL, sysctl_write(k->name, text)) {
		TH_LOG("%s: %.40s", k->name, text);
	}
	EXPECT_EQ(before, sysctl_get(k->name));
}

TEST_F(knob, D73_in_range_is_kept)
{
	unsigned int i;

	for (i = 0; i < KNOBS; i++) {
		EXPECT_EQ(0, sysctl_set(knobs[i].name, knobs[i].max));
		EXPECT_EQ(knobs[i].max, sysctl_get(knobs[i].name));
		expect_neighbours(_metadata, self, i);
		EXPECT_EQ(0, sysctl_set(knobs[i].name, knobs[i].min));
		EXPECT_EQ(knobs[i].min, sysctl_get(knobs[i].name));
		expect_neighbours(_metadata, self, i);
		EXPECT_EQ(0, sysctl_set(knobs[i].name, knobs[i].preset));
	}
}

TEST_F(knob, D73_out_of_range_changes_nothing)
{
	char digits[200], text[32];
	unsigned int i;

	memset(digits, '9', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = 0;
	for (i = 0; i < KNOBS; i++) {
		snprintf(text, sizeof(text), "%ld", knobs[i].max + 1);
		expect_refused(_metadata, &knobs[i], text);
		snprintf(text, sizeof(text), "%ld", knobs[i].min - 1);
		expect_refused(_metadata, &knobs[i], text);
		expect_refused(_metadata, &knobs[i], "-2147483648");
		expect_refused(_metadata, &knobs[i], "4294967297");
		expect_refused(_metadata, &knobs[i], "text");
		expect_refused(_metadata, &knobs[i], digits);
		expect_neighbours(_metadata, self, KNOBS);
	}
}

TEST_F(knob, abi17_delays_bound_each_other)
{
	ASSERT_EQ(0, sysctl_set("reconnect_max_delay_ms", 20));
	EXPECT_EQ(-EINVAL, sysctl_set("reconnect_min_delay_ms", 21));
	ASSERT_EQ(0, sysctl_set("reconnect_min_delay_ms", 20));
	EXPECT_EQ(-EINVAL, sysctl_set("reconnect_max_delay_ms", 19));
	EXPECT_EQ(20, sysctl_get("reconnect_min_delay_ms"));
	EXPECT_EQ(20, sysctl_get("reconnect_max_delay_ms"));
}

/* Whose file was opened, not who writes to it; a namespace that has ended keeps nothing of it alive. */
TEST_F(knob, D62_of_the_namespace_that_was_opened)
{
	int fd = open(sysctl_path("reconnect_max_delay_ms"), O_RDWR), home;
	char text[16] = "";

	ASSERT_GE(fd, 0);
	home = open("/proc/self/ns/net", O_RDONLY);
	ASSERT_GE(home, 0);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	EXPECT_EQ(3, write(fd, "777", 3));
	EXPECT_EQ(1000, sysctl_get("reconnect_max_delay_ms"));
	EXPECT_EQ(0, sysctl_set("reconnect_max_delay_ms", 888));
	EXPECT_EQ(4, pread(fd, text, sizeof(text) - 1, 0));
	EXPECT_STREQ("777\n", text);
	ASSERT_EQ(0, setns(home, CLONE_NEWNET));
	EXPECT_EQ(777, sysctl_get("reconnect_max_delay_ms"));
}

/* An unprivileged user who has made namespaces, and is root there: 0, or what was wrong. */
static int as_root_of_its_own(void *arg)
{
	unsigned int i;
	int err;

	/* one's own /proc files are root's after a change of user, unless one may be traced */
	if (become_nobody(0) || prctl(PR_SET_DUMPABLE, 1) || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 1;
	if (write_text("/proc/self/setgroups", "deny") ||
	    write_text("/proc/self/uid_map", "0 65534 1") ||
	    write_text("/proc/self/gid_map", "0 65534 1"))
		return 2;
	for (i = 0; i < KNOBS; i++) {
		if (sysctl_get(knobs[i].name) != knobs[i].preset)
			return 10 + i;
		err = sysctl_set(knobs[i].name, knobs[i].preset);
		if (err != (knobs[i].limit ? -EACCES : 0))
			return 50 + i;
	}
	if (sysctl_set("max_pinned_bytes", 1) != -EACCES ||
	    sysctl_set("socket_max_pinned_bytes", 1) != -EACCES)
		return 3;
	return 0;
}

TEST_F(knob, abi17_better_limits_are_the_hosts)
{
	EXPECT_EQ(0, in_child(as_root_of_its_own, NULL));
}

TEST_F(knob, abi17_not_for_users)
{
	EXPECT_EQ(0, become_nobody(0));
	EXPECT_EQ(1000, sysctl_get("reconnect_max_delay_ms"));
	EXPECT_EQ(-EACCES, sysctl_set("reconnect_max_delay_ms", 1000));
	EXPECT_EQ(-EACCES, sysctl_set("max_mrs", 1));
}

/* --- what they do --- */

static void send_pings(struct __test_metadata *_metadata, struct rds_pair *p, int n)
{
	union rds_addr ping = addr_with_port(&p->rx_addr, 0);

	while (n--)
		ASSERT_EQ(0, rds_send(p->tx, &ping, NULL, 0, 0));
}

TEST_F(knob, abi17_ping_enable_loopback)
{
	struct rds_pair p;
	char c;

	pair_open(_metadata, &p, BED_LOOP4);
	ASSERT_EQ(0, sysctl_set("ping_enable", 0));
	send_pings(_metadata, &p, 3);
	EXPECT_EQ(-EAGAIN, rds_recv(p.tx, &c, 1, MSG_DONTWAIT, NULL));
	EXPECT_EQ(3, counter(p.tx, "recv_drop_no_sock"));
	ASSERT_EQ(0, sysctl_set("ping_enable", 1));
	send_pings(_metadata, &p, 1);
	EXPECT_EQ(0, rds_recv(p.tx, &c, 1, MSG_DONTWAIT, NULL));
	pair_close(&p);
}

/* On RDMA, so in the initial namespace: put back what was there. */
FIXTURE(rdma) {
	struct rds_pair	p;
	long		before[KNOBS];
};

FIXTURE_SETUP(rdma)
{
	pair_open(_metadata, &self->p, BED_RXE);
	read_all(self->before);
}

static void put_back(struct __test_metadata *_metadata, const long *before)
{
	unsigned int i;

	for (i = 0; i < KNOBS; i++)
		EXPECT_EQ(0, sysctl_set(knobs[i].name, before[i]));
}

FIXTURE_TEARDOWN(rdma)
{
	put_back(_metadata, self->before);
	pair_close(&self->p);
}

/* Send and read @n messages of a byte. */
static void pass_messages(struct __test_metadata *_metadata, struct rds_pair *p, int n)
{
	char c;

	while (n--) {
		ASSERT_EQ(1, rds_send(p->tx, &p->rx_addr, "x", 1, 0));
		ASSERT_EQ(1, rds_recv_wait(p->rx, &c, 1, NULL));
	}
}

TEST_F_TIMEOUT(rdma, abi17_ping_enable, RDS_SLOW_TEST)
{
	uint64_t dropped = counter(self->p.tx, "recv_drop_no_sock"), pongs;
	char c;

	pongs = counter(self->p.tx, "send_pong");
	ASSERT_EQ(0, sysctl_set("ping_enable", 0));
	send_pings(_metadata, &self->p, 3);
	/* in order: what is sent behind them arrives behind them */
	pass_messages(_metadata, &self->p, 1);
	EXPECT_LE(dropped + 3, counter(self->p.tx, "recv_drop_no_sock"));
	EXPECT_EQ(pongs, counter(self->p.tx, "send_pong"));
	ASSERT_EQ(0, sysctl_set("ping_enable", 1));
	send_pings(_metadata, &self->p, 1);
	EXPECT_EQ(0, rds_recv_wait(self->p.tx, &c, 1, NULL));
	EXPECT_EQ(pongs + 1, counter(self->p.tx, "send_pong"));
}

/* With @packets and @bytes between them, how many of 50 messages of a byte ask for an acknowledgement? */
static int asked(struct __test_metadata *_metadata, FIXTURE_DATA(rdma) *self, long packets, long bytes)
{
	uint64_t before;

	ASSERT_EQ(0, sysctl_set("max_unacked_packets", packets));
	ASSERT_EQ(0, sysctl_set("max_unacked_bytes", bytes));
	pass_messages(_metadata, &self->p, 1);
	before = counter(self->p.tx, "send_ack_required");
	pass_messages(_metadata, &self->p, 50);
	return counter(self->p.tx, "send_ack_required") - before;
}

/* At once, also when the former budget was large.  One more asks if it has to be sent again. */
TEST_F_TIMEOUT(rdma, abi17_max_unacked, RDS_SLOW_TEST)
{
	/* a first one that may have to connect */
	pass_messages(_metadata, &self->p, 1);
	EXPECT_LT(asked(_metadata, self, 1000000, 1000000), 3);
	EXPECT_GE(asked(_metadata, self, 0, 1000000), 50);
	EXPECT_LT(asked(_metadata, self, 1000000, 1000000), 3);
	EXPECT_GE(asked(_metadata, self, 1000000, 0), 50);
	/* four, and the one that finds nothing left */
	EXPECT_GE(asked(_metadata, self, 4, 1000000), 10);
	EXPECT_LT(asked(_metadata, self, 1000000, 4), 13);
}

/* A connection from an address that is new, with few entries, many, and a number that is no power of two. */
FIXTURE(ring) {
	struct rds_pair	p;
	long		before[KNOBS];
	char		delete[128];
	struct list	l;
};
FIXTURE_VARIANT(ring) { long asked; long unsignaled; unsigned int got; int host; };
FIXTURE_VARIANT_ADD(ring, smallest) { 1, 1, 16, 61 };
FIXTURE_VARIANT_ADD(ring, no_power) { 100, 64, 64, 62 };
FIXTURE_VARIANT_ADD(ring, largest) { 100000, 64, 1024, 63 };

FIXTURE_SETUP(ring)
{
	char text[INET_ADDRSTRLEN], add[128];

	bed_need(_metadata, BED_RXE, &self->p.tx_addr, &self->p.rx_addr);
	read_all(self->before);
	((unsigned char *)&self->p.tx_addr.in.sin_addr)[3] = variant->host;
	inet_ntop(AF_INET, &self->p.tx_addr.in.sin_addr, text, sizeof(text));
	snprintf(add, sizeof(add), "ip addr add %s/24 dev ${NETDEV:-eth0}", text);
	snprintf(self->delete, sizeof(self->delete), "ip addr del %s/24 dev ${NETDEV:-eth0}", text);
	ASSERT_EQ(0, system(add));
	self->p.tx = open_bound_soon(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound(_metadata, &self->p.rx_addr);
}

FIXTURE_TEARDOWN(ring)
{
	put_back(_metadata, self->before);
	pair_close(&self->p);
	EXPECT_EQ(0, system(self->delete));
}

TEST_F_TIMEOUT(ring, abi17_ib_max_send_wr, RDS_SLOW_TEST)
{
	struct rds6_info_rdma_connection *c;
	static char data[60000];
	int i;

	ASSERT_EQ(0, sysctl_set("ib/max_send_wr", variant->asked));
	ASSERT_EQ(0, sysctl_set("ib/max_unsignaled_wr", variant->unsignaled));
	/* more fragments than entries, again and again: room comes back */
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(sizeof(data), rds_send(self->p.tx, &self->p.rx_addr, data, sizeof(data), 0));
		ASSERT_EQ(sizeof(data), rds_recv_wait(self->p.rx, data, sizeof(data), NULL));
	}
	c = rdma_connection_from(self->p.tx, &self->p.tx_addr, &self->l);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(variant->got, c->max_send_wr);
}

TEST_HARNESS_MAIN
