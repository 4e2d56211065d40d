// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi sections 10, 16 and 19: what a socket can make the kernel keep, and who pays for it. */
#include <sys/mount.h>
#include <sys/stat.h>
#include "sysctl.h"

#define MAX_EMPTY	1024	/* messages without payload */
#define SHARE		8	/* messages of a peer when others have used up the rest */
#define TOO_MANY	20000	/* that no socket takes */
#define PINGS		5000

static ssize_t send_empty(int fd, const union rds_addr *to)
{
	return rds_send(fd, to, NULL, 0, MSG_DONTWAIT);
}

/* --- to a peer that does not exist, which keeps what is sent to it --- */

FIXTURE(dead) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
};

static void dead_open(struct __test_metadata *_metadata, FIXTURE_DATA(dead) *dead)
{
	bed_need(_metadata, BED_RXE, &dead->a, &dead->to);
	((unsigned char *)&dead->to.in.sin_addr)[3] = 250;
	dead->to = addr_with_port(&dead->to, 7000);
	dead->fd = open_bound(_metadata, &dead->a);
}

FIXTURE_SETUP(dead)
{
	dead_open(_metadata, self);
}

FIXTURE_TEARDOWN(dead)
{
	close(self->fd);
}

static void fill_with_empty(struct __test_metadata *_metadata, FIXTURE_DATA(dead) *self)
{
	int i;

	for (i = 0; i < MAX_EMPTY; i++)
		ASSERT_EQ(0, send_empty(self->fd, &self->to));
	EXPECT_EQ(-EAGAIN, send_empty(self->fd, &self->to));
}

TEST_F_TIMEOUT(dead, abi19_better_empty_messages_are_counted, RDS_SLOW_TEST)
{
	fill_with_empty(_metadata, self);
	EXPECT_EQ(0, ready(self->fd, POLLOUT | POLLWRNORM, 0));
	set_timeo(_metadata, self->fd, SO_SNDTIMEO, 100);
	EXPECT_EQ(-ETIMEDOUT, rds_send(self->fd, &self->to, NULL, 0, 0));
	/* room for bytes is another thing */
	EXPECT_EQ(1, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));

	ASSERT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &self->to, addr_len(&self->to)));
	EXPECT_EQ(POLLOUT, ready(self->fd, POLLOUT, 0));
	EXPECT_EQ(0, send_empty(self->fd, &self->to));
}

TEST_F_TIMEOUT(dead, abi19_better_empty_messages_to_others, RDS_SLOW_TEST)
{
	union rds_addr other = self->to;
	int i;

	fill_with_empty(_metadata, self);
	((unsigned char *)&other.in.sin_addr)[3] = 247;
	for (i = 0; i < SHARE; i++)
		EXPECT_EQ(0, send_empty(self->fd, &other));
	EXPECT_EQ(-EAGAIN, send_empty(self->fd, &other));
}

/* The buffer counts payload; what messages of a byte take beside it is bounded, too. */
TEST_F_TIMEOUT(dead, abi19_better_tiny_messages_are_bounded, RDS_SLOW_TEST)
{
	int n = 0, err;

	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, TOO_MANY);
	while (n < TOO_MANY && (err = rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT)) == 1)
		n++;
	EXPECT_EQ(-EAGAIN, err);
	EXPECT_LT(n, TOO_MANY / 4);
	EXPECT_GT(n, TOO_MANY / 64);
	ASSERT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &self->to, addr_len(&self->to)));
	EXPECT_EQ(1, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
}

/* --- memory control groups --- */

#define CGROUPS		"/tmp/rds-cgroups"
#define GROUP		CGROUPS "/rds-limits"
#define SOCKETS		12
#define QUEUED		100000	/* bytes by each, twice */

static long group_memory(void)
{
	return read_number(GROUP "/memory.current");
}

static void group_open(struct __test_metadata *_metadata)
{
	mkdir(CGROUPS, 0700);
	ASSERT_EQ(0, mount("rds", CGROUPS, "cgroup2", 0, NULL)) {
		TH_LOG("cgroup2: %s", strerror(errno));
	}
	ASSERT_EQ(0, write_text(CGROUPS "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, mkdir(GROUP, 0700));
}

static void group_close(void)
{
	rmdir(GROUP);
	umount(CGROUPS);
}

/* In the group: queue messages that nobody takes, and compare what the group has to pay. */
static int queue_in_group(void *arg)
{
	const FIXTURE_DATA(dead) *self = arg;
	static char data[QUEUED];
	int fd[SOCKETS], i, j;
	union rds_addr a;
	long before;

	if (write_text(GROUP "/cgroup.procs", "0"))
		return 1;
	for (i = 0; i < SOCKETS; i++) {
		a = addr_with_port(&self->a, 0);
		fd[i] = rds_socket();
		if (fd[i] < 0 || rds_bind(fd[i], &a))
			return 2;
	}
	before = group_memory();
	for (i = 0; i < SOCKETS; i++)
		for (j = 0; j < 2; j++)
			if (rds_send(fd[i], &self->to, data, QUEUED, MSG_DONTWAIT) != QUEUED)
				return 3;
	/* the kernel charges in batches of some 100 KiB */
	if (before < 0 || group_memory() - before < SOCKETS * QUEUED)
		return 4;
	return 0;
}

TEST_F_TIMEOUT(dead, abi19_better_queued_messages_are_charged, RDS_SLOW_TEST)
{
	group_open(_metadata);
	EXPECT_EQ(0, in_child(queue_in_group, self));
	group_close();
}

/* --- to a peer that does not read --- */

FIXTURE(unread) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(unread);

FIXTURE_SETUP(unread)
{
	pair_open(_metadata, &self->p, variant->bed);
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, 4096);
}

FIXTURE_TEARDOWN(unread)
{
	pair_close(&self->p);
}

/* Send until the port is congested: how many. */
static int flood_empty(struct __test_metadata *_metadata, struct rds_pair *p)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	int n = 0, err;

	for (;;) {
		err = send_empty(p->tx, &p->rx_addr);
		if (err == -EAGAIN)
			ready(p->tx, POLLOUT, 1000);
		else if (!err)
			n++;
		else
			break;
		ASSERT_TRUE(n < TOO_MANY && now_ms() < end);
	}
	EXPECT_EQ(-ENOBUFS, err);
	return n;
}

TEST_F_TIMEOUT(unread, abi19_better_empty_messages_congest, RDS_SLOW_TEST)
{
	int i, err, sent = flood_empty(_metadata, &self->p);
	char c;

	for (i = 0; i < sent; i++)
		ASSERT_EQ(0, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
	while ((err = send_empty(self->p.tx, &self->p.rx_addr)) == -ENOBUFS)
		ASSERT_NE(0, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	EXPECT_EQ(0, err);
}

/* --- what administrators set, in a namespace of the test's own --- */

FIXTURE(ns) {
	union rds_addr	a;
	union rds_addr	b;
	int		fd;
	char		*memory;
};

FIXTURE_SETUP(ns)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	bed_need(_metadata, BED_LOOP4, &self->a, &self->b);
	self->fd = open_bound(_metadata, &self->a);
	self->memory = map_guarded(_metadata, 8 * page_size());
}

FIXTURE_TEARDOWN(ns)
{
	close(self->fd);
}

static int try_bind(const union rds_addr *a, int *fd)
{
	union rds_addr any = addr_with_port(a, 0);

	*fd = rds_socket();
	return rds_bind(*fd, &any);
}

TEST_F(ns, abi3_abi16_better_bound_sockets)
{
	int fd, other, again;

	ASSERT_EQ(0, sysctl_set("max_sockets", 2));
	EXPECT_EQ(0, try_bind(&self->a, &fd));
	EXPECT_EQ(-ENOMEM, try_bind(&self->a, &other));
	EXPECT_EQ(1, counter(self->fd, "limit_sockets"));
	close(fd);
	/* one that could not be bound still can be, when there is room */
	EXPECT_EQ(0, rds_bind(other, &self->b));
	/* one that fails for another reason does not count */
	EXPECT_EQ(0, sysctl_set("max_sockets", 3));
	again = rds_socket();
	EXPECT_EQ(-EADDRINUSE, rds_bind(again, &self->a));
	EXPECT_EQ(0, try_bind(&self->a, &fd));
	EXPECT_EQ(1, counter(self->fd, "limit_sockets"));
}

TEST_F(ns, abi16_better_connections)
{
	union rds_addr to = addr_with_port(&self->a, 7000);
	unsigned char *host = (unsigned char *)&to.in.sin_addr + 3;
	int i;

	ASSERT_EQ(0, sysctl_set("max_connections", 3));
	for (i = 0; i < 3; i++, ++*host)
		EXPECT_EQ(1, rds_send(self->fd, &to, "x", 1, 0));
	EXPECT_EQ(-ENOMEM, rds_send(self->fd, &to, "x", 1, 0));
	EXPECT_EQ(1, counter(self->fd, "limit_connections"));
	/* those that are there still serve */
	--*host;
	EXPECT_EQ(1, rds_send(self->fd, &to, "x", 1, 0));
	++*host;
	ASSERT_EQ(0, sysctl_set("max_connections", 4));
	EXPECT_EQ(1, rds_send(self->fd, &to, "x", 1, 0));
}

TEST_F(ns, abi16_better_regions)
{
	rds_rdma_cookie_t cookie, last;
	int other;

	ASSERT_EQ(0, try_bind(&self->a, &other));
	ASSERT_EQ(0, sysctl_set("socket_max_mrs", 2));
	ASSERT_EQ(0, sysctl_set("max_mrs", 3));
	EXPECT_EQ(0, get_mr(self->fd, self->memory, 10, 0, &cookie));
	EXPECT_EQ(0, get_mr(self->fd, self->memory, 10, 0, &last));
	EXPECT_EQ(-ENOMEM, get_mr(self->fd, self->memory, 10, 0, &cookie));
	EXPECT_EQ(1, counter(self->fd, "limit_mrs"));
	EXPECT_EQ(0, get_mr(other, self->memory, 10, 0, &cookie));
	EXPECT_EQ(-ENOMEM, get_mr(other, self->memory, 10, 0, &cookie));
	EXPECT_EQ(2, counter(self->fd, "limit_mrs"));
	EXPECT_EQ(0, free_mr(self->fd, last));
	EXPECT_EQ(0, get_mr(other, self->memory, 10, 0, &cookie));
	/* one that failed does not count */
	EXPECT_EQ(0, sysctl_set("max_mrs", 4));
	EXPECT_EQ(-EFAULT, get_mr(self->fd, unmapped_page(_metadata), 10, 0, &cookie));
	EXPECT_EQ(0, get_mr(self->fd, self->memory, 10, 0, &cookie));
	close(other);
}

TEST_F(ns, abi16_better_pinned_bytes)
{
	long page = page_size(), before = pinned_bytes();
	rds_rdma_cookie_t cookie, small;
	int other;

	ASSERT_EQ(0, try_bind(&self->a, &other));
	ASSERT_EQ(0, sysctl_set("socket_max_pinned_bytes", 4 * page));
	ASSERT_EQ(0, sysctl_set("max_pinned_bytes", 6 * page));
	EXPECT_EQ(0, get_mr(self->fd, self->memory, 4 * page, 0, &cookie));
	EXPECT_EQ(-ENOMEM, get_mr(self->fd, self->memory, 1, 0, &small));
	EXPECT_EQ(1, counter(self->fd, "limit_pinned"));
	/* the local side of an operation, too */
	EXPECT_EQ(-ENOMEM, rdma_op(self->fd, &self->a, cookie, 0, self->memory, 1,
				   RDS_RDMA_READWRITE, 0));
	EXPECT_EQ(2, counter(self->fd, "limit_pinned"));

	EXPECT_EQ(-ENOMEM, get_mr(other, self->memory, 3 * page, 0, &small));
	EXPECT_EQ(0, get_mr(other, self->memory, 2 * page, 0, &small));
	EXPECT_EQ(3, counter(self->fd, "limit_pinned"));
	EXPECT_EQ(before + 6 * page, pinned_bytes());
	EXPECT_EQ(0, free_mr(self->fd, cookie));
	EXPECT_EQ(0, get_mr(other, self->memory, 2 * page, 0, &cookie));
	close(other);
	EXPECT_EQ(0, get_mr(self->fd, self->memory, 4 * page, 0, &cookie));
	EXPECT_EQ(0, free_mr(self->fd, cookie));
	EXPECT_EQ(before, pinned_bytes());
}

TEST_F(ns, abi16_better_unread_notifications)
{
	rds_rdma_cookie_t cookie;
	uint64_t token;
	int other;

	ASSERT_EQ(0, try_bind(&self->a, &other));
	ASSERT_EQ(0, sysctl_set("socket_max_notifications", 1));
	ASSERT_EQ(0, get_mr(other, self->memory, 10, 0, &cookie));
	EXPECT_EQ(0, rdma_op(self->fd, &self->a, cookie, 0, self->memory, 1,
			     RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME, 5));
	ASSERT_EQ(POLLIN, ready(self->fd, POLLIN, RDS_WAIT_MS));
	EXPECT_EQ(-ENOMEM, rdma_op(self->fd, &self->a, cookie, 0, self->memory, 1,
				   RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME, 6));
	EXPECT_EQ(1, counter(self->fd, "limit_notifications"));
	/* who asks for none gets none */
	EXPECT_EQ(0, rdma_op(self->fd, &self->a, cookie, 0, self->memory, 1, RDS_RDMA_SILENT, 7));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->fd, &token));
	EXPECT_EQ(5, token);
	EXPECT_EQ(0, rdma_op(self->fd, &self->a, cookie, 0, self->memory, 1,
			     RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME, 8));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->fd, &token));
	EXPECT_EQ(8, token);
	close(other);
}

/* Who pings and does not read gets no more than messages would bring. */
TEST_F(ns, abi19_better_unread_pongs)
{
	union rds_addr ping = addr_with_port(&self->a, 0);
	uint64_t sent;
	int i, got = 0;
	char c;

	set_int(_metadata, self->fd, SOL_SOCKET, SO_RCVBUF, 4096);
	for (i = 0; i < PINGS; i++)
		ASSERT_EQ(0, send_empty(self->fd, &ping));
	sent = counter(self->fd, "send_pong");
	EXPECT_LT(sent, PINGS / 2);
	EXPECT_EQ(PINGS, sent + counter(self->fd, "pong_dropped"));
	while (!rds_recv(self->fd, &c, 1, MSG_DONTWAIT, NULL))
		got++;
	EXPECT_EQ(sent, got);
	EXPECT_EQ(0, send_empty(self->fd, &ping));
	EXPECT_EQ(sent + 1, counter(self->fd, "send_pong"));
}

/* --- on RDMA, in the namespace that has the device: what is set is put back.  Other tests' connections may still be there, so
 * a limit is made 0 for those that ask for more, and what there is already serves on.
 */

static const char *const put_back[] = {
	"max_sockets", "max_connections", "max_mrs", "max_pinned_bytes", "socket_max_mrs", "socket_max_pinned_bytes",
	"socket_max_notifications", "socket_max_empty_messages",
};

FIXTURE(set) {
	FIXTURE_DATA(dead)	dead;
	long			value[ARRAY_SIZE(put_back)];
	int			other;
	char			*memory;
};

FIXTURE_SETUP(set)
{
	unsigned int i;

	dead_open(_metadata, &self->dead);
	for (i = 0; i < ARRAY_SIZE(put_back); i++)
		self->value[i] = sysctl_get(put_back[i]);
	ASSERT_EQ(0, try_bind(&self->dead.a, &self->other));
	self->memory = map_guarded(_metadata, 8 * page_size());
}

FIXTURE_TEARDOWN(set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(put_back); i++)
		EXPECT_EQ(0, sysctl_set(put_back[i], self->value[i]));
	close(self->other);
	close(self->dead.fd);
}

TEST_F(set, abi3_abi16_better_bound_sockets)
{
	uint64_t refused = counter(self->other, "limit_sockets");
	union rds_addr any;
	int fd;

	ASSERT_EQ(0, sysctl_set("max_sockets", 0));
	EXPECT_EQ(-ENOMEM, try_bind(&self->dead.a, &fd));
	EXPECT_EQ(refused + 1, counter(self->other, "limit_sockets"));
	ASSERT_EQ(0, sysctl_set("max_sockets", 32768));
	any = addr_with_port(&self->dead.a, 0);
	EXPECT_EQ(0, rds_bind(fd, &any));
	close(fd);
}

TEST_F_TIMEOUT(set, abi16_better_connections, RDS_SLOW_TEST)
{
	uint64_t refused = counter(self->other, "limit_connections");
	union rds_addr stranger = self->dead.to;

	((unsigned char *)&stranger.in.sin_addr)[3] = 246;
	EXPECT_EQ(1, rds_send(self->dead.fd, &self->dead.to, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, sysctl_set("max_connections", 0));
	EXPECT_EQ(-ENOMEM, rds_send(self->dead.fd, &stranger, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(refused + 1, counter(self->other, "limit_connections"));
	EXPECT_EQ(1, rds_send(self->dead.fd, &self->dead.to, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, sysctl_set("max_connections", 16384));
	EXPECT_EQ(1, rds_send(self->dead.fd, &stranger, "x", 1, MSG_DONTWAIT));
}

TEST_F(set, abi16_better_regions)
{
	uint64_t refused = counter(self->other, "limit_mrs");
	rds_rdma_cookie_t cookie, last;
	int fd = self->dead.fd;

	ASSERT_EQ(0, sysctl_set("socket_max_mrs", 2));
	EXPECT_EQ(0, get_mr(fd, self->memory, 10, 0, &cookie));
	EXPECT_EQ(0, get_mr(fd, self->memory, 10, 0, &last));
	EXPECT_EQ(-ENOMEM, get_mr(fd, self->memory, 10, 0, &cookie));
	EXPECT_EQ(refused + 1, counter(fd, "limit_mrs"));
	EXPECT_EQ(0, free_mr(fd, last));
	EXPECT_EQ(0, get_mr(fd, self->memory, 10, 0, &last));
	ASSERT_EQ(0, sysctl_set("max_mrs", 0));
	EXPECT_EQ(-ENOMEM, get_mr(self->other, self->memory, 10, 0, &cookie));
	EXPECT_EQ(refused + 2, counter(fd, "limit_mrs"));
	ASSERT_EQ(0, sysctl_set("max_mrs", 352256));
	/* one that failed does not count */
	EXPECT_EQ(0, free_mr(fd, last));
	EXPECT_EQ(-EFAULT, get_mr(fd, unmapped_page(_metadata), 10, 0, &cookie));
	EXPECT_EQ(0, get_mr(fd, self->memory, 10, 0, &cookie));
}

TEST_F(set, abi16_better_pinned_bytes)
{
	long page = page_size(), before = pinned_bytes();
	uint64_t refused = counter(self->other, "limit_pinned");
	rds_rdma_cookie_t cookie, small;
	int fd = self->dead.fd;

	ASSERT_EQ(0, sysctl_set("socket_max_pinned_bytes", 4 * page));
	EXPECT_EQ(0, get_mr(fd, self->memory, 4 * page, 0, &cookie));
	EXPECT_EQ(-ENOMEM, get_mr(fd, self->memory, 1, 0, &small));
	EXPECT_EQ(-ENOMEM, rdma_op(fd, &self->dead.to, cookie, 0, self->memory, 1, RDS_RDMA_READWRITE, 0));
	EXPECT_EQ(refused + 2, counter(fd, "limit_pinned"));
	ASSERT_EQ(0, sysctl_set("max_pinned_bytes", 0));
	EXPECT_EQ(-ENOMEM, get_mr(self->other, self->memory, 1, 0, &small));
	EXPECT_EQ(refused + 3, counter(fd, "limit_pinned"));
	EXPECT_EQ(before + 4 * page, pinned_bytes());
	EXPECT_EQ(0, free_mr(fd, cookie));
	EXPECT_EQ(before, pinned_bytes());
}

/* Of operations to a peer that does not answer, which are cancelled. */
TEST_F_TIMEOUT(set, abi16_better_unread_notifications, RDS_SLOW_TEST)
{
	uint64_t refused = counter(self->other, "limit_notifications");
	const union rds_addr *to = &self->dead.to;
	int fd = self->dead.fd;

	ASSERT_EQ(0, sysctl_set("socket_max_notifications", 1));
	EXPECT_EQ(0, rdma_op(fd, to, 0x1234, 0, self->memory, 1, RDS_RDMA_NOTIFY_ME, 5));
	ASSERT_EQ(0, set_opt(fd, RDS_CANCEL_SENT_TO, to, addr_len(to)));
	EXPECT_EQ(-ENOMEM, rdma_op(fd, to, 0x1234, 0, self->memory, 1, RDS_RDMA_NOTIFY_ME, 6));
	EXPECT_EQ(refused + 1, counter(fd, "limit_notifications"));
	EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(fd, NULL));
	EXPECT_EQ(0, rdma_op(fd, to, 0x1234, 0, self->memory, 1, RDS_RDMA_NOTIFY_ME, 7));
	ASSERT_EQ(0, set_opt(fd, RDS_CANCEL_SENT_TO, to, addr_len(to)));
	EXPECT_EQ(RDS_RDMA_CANCELED, rdma_status(fd, NULL));
}

TEST_F(set, abi16_better_empty_messages)
{
	int i;

	EXPECT_EQ(MAX_EMPTY, sysctl_get("socket_max_empty_messages"));
	ASSERT_EQ(0, sysctl_set("socket_max_empty_messages", 20));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, send_empty(self->dead.fd, &self->dead.to));
	EXPECT_EQ(-EAGAIN, send_empty(self->dead.fd, &self->dead.to));
	ASSERT_EQ(0, sysctl_set("socket_max_empty_messages", 21));
	EXPECT_EQ(0, send_empty(self->dead.fd, &self->dead.to));
	EXPECT_EQ(-EAGAIN, send_empty(self->dead.fd, &self->dead.to));
}

TEST_HARNESS_MAIN
