// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Two network namespaces that talk by RDMA, and see nothing of each other: D61; see vm/containers.sh. */
#include <pthread.h>
#include <sched.h>
#include "info_list.h"

#define PORT_A	4001
#define PORT_B	4002
#define LEN	9000
#define WRITE	RDS_RDMA_READWRITE
#define HELPER	"bash /rds/selftests/containers.sh "

static void run(struct __test_metadata *_metadata, const char *command)
{
	ASSERT_EQ(0, system(command)) {
		TH_LOG("%s", command);
	}
}

/* Does each container own its device, so that it can be taken away? */
static bool exclusive(void)
{
	return getenv("EXCLUSIVE");
}

/* A socket of namespace @name; NULL: of the initial one. */
static int socket_in(const char *name)
{
	int home = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC), there, fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/run/netns/%s", name ?: "");
	there = name ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (home >= 0 && (!name || (there >= 0 && !setns(there, CLONE_NEWNET))))
		fd = rds_socket();
	if (home >= 0 && name && setns(home, CLONE_NEWNET))
		exit(1);
	close(there);
	close(home);
	return fd;
}

static int open_in(struct __test_metadata *_metadata, const char *name, const union rds_addr *a)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	int fd = socket_in(name), err;

	ASSERT_GE(fd, 0);
	/* the device gets to know of an address a little later */
	while ((err = rds_bind(fd, a)) == -EADDRNOTAVAIL && now_ms() < end)
		usleep(10000);
	ASSERT_EQ(0, err);
	return fd;
}

FIXTURE(containers) {
	union rds_addr	a_addr;
	union rds_addr	b_addr;
	int		a;
	int		b;
};

FIXTURE_SETUP(containers)
{
	self->a_addr = addr_make("10.8.1.1", PORT_A);
	self->b_addr = addr_make("10.8.1.2", PORT_B);
	self->a = open_in(_metadata, "ca", &self->a_addr);
	self->b = open_in(_metadata, "cb", &self->b_addr);
}

FIXTURE_TEARDOWN(containers)
{
	close(self->a);
	close(self->b);
}

/* An attempt to connect that was under way has to time out first. */
static void wait_for_message(int fd)
{
	int tries = 6;

	while (!(ready(fd, POLLIN, RDS_WAIT_MS) & POLLIN) && tries--)
		;
}

/* One message from @tx at @from to @rx at @to. */
static void expect_message(struct __test_metadata *_metadata, int tx, const union rds_addr *from, int rx,
			   const union rds_addr *to, size_t len, uint32_t seed)
{
	static char out[RDS_MAX_MSG], in[RDS_MAX_MSG];
	struct rds_msg_in info;

	fill(out, len, seed);
	ASSERT_EQ(len, rds_send(tx, to, out, len, 0));
	wait_for_message(rx);
	ASSERT_EQ(len, rds_recv_wait(rx, in, sizeof(in), &info));
	EXPECT_EQ(0, memcmp(in, out, len));
	EXPECT_TRUE(addr_equal(&info.from, from));
}

static void expect_both_ways(struct __test_metadata *_metadata, FIXTURE_DATA(containers) *self)
{
	expect_message(_metadata, self->a, &self->a_addr, self->b, &self->b_addr, 100, 1);
	expect_message(_metadata, self->b, &self->b_addr, self->a, &self->a_addr, 100, 2);
}

/* --- talking --- */

TEST_F(containers, abi16_D61_messages_both_ways)
{
	static const size_t lens[] = { 0, 1, 208, 209, 4096, 4097, 65536, 100000 };
	unsigned int i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		expect_message(_metadata, self->a, &self->a_addr, self->b, &self->b_addr, lens[i], i);
		expect_message(_metadata, self->b, &self->b_addr, self->a, &self->a_addr, lens[i], ~i);
	}
}

TEST_F(containers, D61_reads_and_writes)
{
	char *remote = map_guarded(_metadata, LEN), *local = map_guarded(_metadata, LEN);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->b, remote, LEN, WRITE, &cookie));
	memset(local, 0x41, LEN);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->a, &self->b_addr, cookie, 0, local, LEN, WRITE));
	EXPECT_TRUE(all_bytes(remote, LEN, 0x41));
	memset(remote, 0x42, LEN);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->a, &self->b_addr, cookie, 0, local, LEN, 0));
	EXPECT_TRUE(all_bytes(local, LEN, 0x42));
	EXPECT_EQ(0, free_mr(self->b, cookie));
}

TEST_F(containers, D61_pings)
{
	union rds_addr port0 = addr_with_port(&self->b_addr, 0);
	struct rds_msg_in info;
	char c;

	ASSERT_EQ(0, rds_send(self->a, &port0, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->a, &c, 1, &info));
	EXPECT_TRUE(addr_equal(&info.from, &port0));
}

/* --- seeing nothing of each other --- */

static int count_sockets(int fd, const union rds_addr *a)
{
	static struct list l;
	struct rds6_info_socket *s;
	int n = 0;

	if (list_read(fd, RDS6_INFO_SOCKETS, &l) < 0)
		return -1;
	for_each_record(s, l)
		n += is_addr(s->bound_addr, a);
	return n;
}

/* Of those that begin at @from. */
static int count_connections(int fd, const union rds_addr *from)
{
	static struct list l;
	struct rds6_info_connection *c;
	int n = 0;

	if (list_read(fd, RDS6_INFO_CONNECTIONS, &l) < 0)
		return -1;
	for_each_record(c, l)
		n += is_addr(c->laddr, from);
	return n;
}

static int count_rdma_connections(int fd, const union rds_addr *from)
{
	static struct list l;

	return rdma_connection_from(fd, from, &l) ? 1 : 0;
}

TEST_F(containers, D27_lists_show_what_is_of_the_namespace)
{
	int init = socket_in(NULL);

	ASSERT_GE(init, 0);
	expect_both_ways(_metadata, self);
	EXPECT_EQ(1, count_sockets(self->a, &self->a_addr));
	EXPECT_EQ(0, count_sockets(self->a, &self->b_addr));
	EXPECT_EQ(0, count_sockets(self->b, &self->a_addr));
	EXPECT_EQ(0, count_sockets(init, &self->a_addr));
	EXPECT_EQ(1, count_connections(self->a, &self->a_addr));
	EXPECT_EQ(0, count_connections(self->a, &self->b_addr));
	EXPECT_EQ(0, count_connections(self->b, &self->a_addr));
	EXPECT_EQ(0, count_connections(init, &self->a_addr));
	EXPECT_EQ(1, count_rdma_connections(self->a, &self->a_addr));
	EXPECT_EQ(0, count_rdma_connections(self->b, &self->a_addr));
	EXPECT_EQ(0, count_rdma_connections(init, &self->a_addr));
	close(init);
}

/* Those that traffic within one container moves: they stay in the others. */
static const char * const moved[] = { "send_queued", "recv_queued", "recv_delivered", "copy_from_user" };
#define MOVED	(sizeof(moved) / sizeof(moved[0]))

static void counters_take(int fd, uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < MOVED; i++)
		values[i] = counter(fd, moved[i]);
}

TEST_F(containers, counters_count_what_is_of_the_namespace)
{
	union rds_addr loop = addr_make("127.0.0.1", PORT_A);
	uint64_t a[2][MOVED], b[2][MOVED], other[2][MOVED];
	int fd = open_in(_metadata, "ca", &loop), init = socket_in(NULL), i;

	ASSERT_GE(init, 0);
	expect_both_ways(_metadata, self);
	counters_take(self->a, a[0]);
	counters_take(self->b, b[0]);
	counters_take(init, other[0]);
	for (i = 0; i < 10; i++)
		expect_message(_metadata, fd, &loop, fd, &loop, 1000, i);
	counters_take(self->a, a[1]);
	counters_take(self->b, b[1]);
	counters_take(init, other[1]);
	for (i = 0; i < MOVED; i++) {
		EXPECT_LT(a[0][i], a[1][i]);
		EXPECT_EQ(b[0][i], b[1][i]);
		EXPECT_EQ(other[0][i], other[1][i]);
	}
	close(fd);
	close(init);
}

TEST_F(containers, abi3_D61_an_address_is_of_its_namespace)
{
	union rds_addr a = addr_with_port(&self->a_addr, 0), b = addr_with_port(&self->b_addr, 0);
	int fd = socket_in("ca");

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &b));
	EXPECT_EQ(0, rds_bind(fd, &a));
	close(fd);
	if (!exclusive())
		return;
	/* the initial one has the address, too, but not the device */
	fd = socket_in(NULL);
	EXPECT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &a));
	close(fd);
}

TEST_F(containers, abi11_transport_may_be_asked_for)
{
	int fd = socket_in("ca"), type = RDS_TRANS_IB;
	union rds_addr a = addr_with_port(&self->a_addr, 0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, set_opt(fd, SO_RDS_TRANSPORT, &type, sizeof(type)));
	EXPECT_EQ(0, rds_bind(fd, &a));
	close(fd);
}

/* A key is found by sockets of its namespace only. */
TEST_F(containers, D60_keys_do_not_cross)
{
	char *memory = map_guarded(_metadata, LEN);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->b, memory, LEN, WRITE, &cookie));
	EXPECT_EQ(-EINVAL, free_mr(self->a, cookie));
	EXPECT_EQ(0, free_mr(self->b, cookie));
}

/* --- ends --- */

/* What was sent just before the last close of a namespace arrives, as where connections stay. */
TEST_F(containers, last_words_arrive)
{
	static char out[100000], in[100000];

	expect_both_ways(_metadata, self);
	fill(out, sizeof(out), 9);
	ASSERT_EQ(sizeof(out), rds_send(self->a, &self->b_addr, out, sizeof(out), 0));
	close(self->a);
	EXPECT_EQ(sizeof(in), rds_recv_wait(self->b, in, sizeof(in), NULL));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	self->a = open_in(_metadata, "ca", &self->a_addr);
	expect_both_ways(_metadata, self);
}

/* How often the connection from @from to @to was dropped, attempts included. */
static uint64_t drops(int fd, const union rds_addr *from, const union rds_addr *to)
{
	struct rds_info_path path;
	static struct list l;

	return find_path(fd, &l, from, to, "infiniband", 0, &path) == 1 ? path.nr_drops : 0;
}

/* Container a is made anew: to b it is a new host, and gets again what the old one had not acknowledged. */
static void expect_new_a(struct __test_metadata *_metadata, FIXTURE_DATA(containers) *self)
{
	char buf[1000];
	ssize_t len;

	run(_metadata, HELPER "up a");
	self->a = open_in(_metadata, "ca", &self->a_addr);
	ASSERT_EQ(3, rds_send(self->b, &self->a_addr, "new", 3, 0));
	do {
		wait_for_message(self->a);
		len = rds_recv_wait(self->a, buf, sizeof(buf), NULL);
		ASSERT_GT(len, 0);
	} while (len != 3 || memcmp(buf, "new", 3));
	expect_both_ways(_metadata, self);
}

/* Nothing but its sockets keeps a namespace: it ends although it was connected, and its peer learns of that. */
TEST_F_TIMEOUT(containers, D61_a_namespace_ends_while_connected, RDS_SLOW_TEST)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	uint64_t before;

	expect_both_ways(_metadata, self);
	before = drops(self->b, &self->b_addr, &self->a_addr);
	close(self->a);
	run(_metadata, HELPER "down a");
	while (drops(self->b, &self->b_addr, &self->a_addr) == before) {
		ASSERT_LT(now_ms(), end);
		usleep(10000);
	}
	expect_new_a(_metadata, self);
}

/* Nor does a connection that waits for its port keep it, when that is down and nobody has noticed. */
TEST_F_TIMEOUT(containers, D61_a_namespace_ends_while_its_link_is_down, RDS_SLOW_TEST)
{
	expect_both_ways(_metadata, self);
	run(_metadata, "ip link set end-a down");
	close(self->a);
	EXPECT_EQ(0, system(HELPER "end a"));
	run(_metadata, "ip link set end-a up");
	run(_metadata, HELPER "clear a");
	expect_new_a(_metadata, self);
}

/* --- devices that move --- */

#define NUMBERS	2000u

struct sender {
	int		fd;
	union rds_addr	to;
	pthread_t	thread;
	int		err;
};

static void *send_numbers(void *arg)
{
	struct sender *s = arg;
	uint32_t n;

	for (n = 0; n < NUMBERS && !s->err; n++) {
		if (rds_send(s->fd, &s->to, &n, sizeof(n), 0) != sizeof(n))
			s->err = errno;
		usleep(200);
	}
	return NULL;
}

static void expect_numbers(struct __test_metadata *_metadata, int fd, uint32_t from, uint32_t to)
{
	uint32_t n, got;

	for (n = from; n < to; n++) {
		wait_for_message(fd);
		ASSERT_EQ(sizeof(got), rds_recv_wait(fd, &got, sizeof(got), NULL));
		ASSERT_EQ(n, got);
	}
}

TEST_F_TIMEOUT(containers, D61_a_device_moves_under_traffic, RDS_SLOW_TEST)
{
	struct sender s = { .fd = self->a, .to = self->b_addr };
	char *memory = map_guarded(_metadata, LEN);
	rds_rdma_cookie_t cookie;

	if (!exclusive()) {
		/* one that all share stays */
		EXPECT_NE(0, system(HELPER "away a"));
		expect_both_ways(_metadata, self);
		return;
	}
	ASSERT_EQ(0, get_mr(self->a, memory, LEN, WRITE, &cookie));
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, send_numbers, &s));
	expect_numbers(_metadata, self->b, 0, NUMBERS / 10);
	run(_metadata, HELPER "away a");
	/* no key can be had without it */
	EXPECT_EQ(-EAGAIN, get_mr(self->a, memory, LEN, WRITE, &cookie));
	run(_metadata, HELPER "back a");
	expect_numbers(_metadata, self->b, NUMBERS / 10, NUMBERS);
	ASSERT_EQ(0, pthread_join(s.thread, NULL));
	EXPECT_EQ(0, s.err);
	expect_both_ways(_metadata, self);
	ASSERT_EQ(0, get_mr(self->a, memory, LEN, WRITE, &cookie));
	EXPECT_EQ(0, free_mr(self->a, cookie));
}

TEST_HARNESS_MAIN
