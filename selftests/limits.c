// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi sections 10, 16 and 19: what a socket can make the kernel keep, and who pays for it. */
#include <sys/mount.h>
#include <sys/stat.h>
#include "rds_test.h"

#define MAX_EMPTY	1024	/* messages without payload */
#define SHARE		8	/* messages of a peer when others have used up the rest */
#define TOO_MANY	20000	/* that no socket takes */

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

FIXTURE_SETUP(dead)
{
	bed_need(_metadata, BED_RXE, &self->a, &self->to);
	((unsigned char *)&self->to.in.sin_addr)[3] = 250;
	self->to = addr_with_port(&self->to, 7000);
	self->fd = open_bound(_metadata, &self->a);
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
	((unsigned char *)&other.in.sin_addr)[3] = 249;
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

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

static long group_memory(void)
{
	FILE *f = fopen(GROUP "/memory.current", "r");
	long bytes = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &bytes) != 1)
		bytes = -1;
	fclose(f);
	return bytes;
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

TEST_HARNESS_MAIN
