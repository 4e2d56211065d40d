// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Network namespaces: D60, D61, D63 and the end of D38. */
#include <sys/mount.h>
#include "rds_test.h"

#define PORT	4000

static union rds_addr loop_addr(bool v6, uint16_t port)
{
	return addr_make(v6 ? "::1" : "127.0.0.1", port);
}

FIXTURE(netns) {
	union rds_addr	a;
	int		fd;
	int		sv[2];	/* to hand sockets and words between processes */
};
FIXTURE_VARIANT(netns) { bool v6; };
FIXTURE_VARIANT_ADD(netns, loop4) { false };
FIXTURE_VARIANT_ADD(netns, loop6) { true };

FIXTURE_SETUP(netns)
{
	self->a = loop_addr(variant->v6, PORT);
	self->fd = open_bound(_metadata, &self->a);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv));
}

FIXTURE_TEARDOWN(netns)
{
	close(self->fd);
}

static bool hand_over(int via, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { "f", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(via, &msg, 0) == 1;
}

static int take_over(int via)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(via, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* --- D60 --- */

/* As an unprivileged user in a namespace of its own: talk to "the same" address and port. */
static int intrude(void *arg)
{
	union rds_addr *target = arg, from = addr_with_port(target, 0);
	int fd, own;
	char c;

	if (become_nobody(0) || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	own = rds_socket();
	if (fd < 0 || own < 0 || rds_bind(fd, &from) || rds_bind(own, target))
		return 2;
	if (rds_send(fd, target, "i", 1, 0) != 1)
		return 3;
	/* it arrives here, at this namespace's socket */
	if (rds_recv_wait(own, &c, 1, NULL) != 1 || c != 'i')
		return 4;
	/* and without one, nowhere */
	close(own);
	return rds_send(fd, target, "n", 1, 0) == 1 ? 0 : 5;
}

TEST_F(netns, abi16_D60_nothing_crosses)
{
	char c;

	EXPECT_EQ(0, in_child(intrude, &self->a));
	EXPECT_EQ(-EAGAIN, rds_recv(self->fd, &c, 1, MSG_DONTWAIT, NULL));
}

static int register_here(void *arg)
{
	FIXTURE_DATA(netns) *self = arg;
	static char page[4096] __attribute__((aligned(4096)));
	rds_rdma_cookie_t cookie;
	int fd;

	if (unshare(CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	if (fd < 0 || rds_bind(fd, &self->a) || get_mr(fd, page, 100, RDS_RDMA_READWRITE, &cookie))
		return 2;
	if (send(self->sv[1], &cookie, sizeof(cookie), 0) != sizeof(cookie))
		return 3;
	/* until the parent has tried */
	if (recv(self->sv[1], &cookie, sizeof(cookie), 0) <= 0)
		return 4;
	return all_bytes(page, 100, 0) ? 0 : 5;
}

TEST_F(netns, D60_keys_do_not_cross)
{
	rds_rdma_cookie_t cookie;
	int status, tx;
	union rds_addr from = addr_with_port(&self->a, 0);
	pid_t pid;

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(register_here(self));
	ASSERT_EQ(sizeof(cookie), recv(self->sv[0], &cookie, sizeof(cookie), 0));
	tx = open_bound(_metadata, &from);
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  rdma_run(tx, &self->a, cookie, 0, "w", 1, RDS_RDMA_READWRITE));
	EXPECT_EQ(-EINVAL, free_mr(self->fd, cookie));
	ASSERT_EQ(1, send(self->sv[0], "x", 1, 0));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(tx);
}

/* --- D38: a socket is the last thing that is left of its namespace --- */

static int leave_unread(void *arg)
{
	FIXTURE_DATA(netns) *self = arg;
	union rds_addr from = addr_with_port(&self->a, 0);
	char buf[6000] = "";
	int i, tx, rx;

	if (unshare(CLONE_NEWNET))
		return 1;
	tx = rds_socket();
	rx = rds_socket();
	if (rds_bind(tx, &from) || rds_bind(rx, &self->a))
		return 2;
	for (i = 0; i < 10; i++) {
		buf[0] = i;
		if (rds_send(tx, &self->a, buf, 1 + i * 600, 0) != 1 + i * 600)
			return 3;
	}
	return hand_over(self->sv[1], rx) ? 0 : 4;
}

TEST_F(netns, D38_unread_messages_of_a_namespace_that_ends)
{
	char buf[6000];
	int round, i, fd;

	for (round = 0; round < rds_rounds(16); round++) {
		ASSERT_EQ(0, in_child(leave_unread, self));
		fd = take_over(self->sv[0]);
		ASSERT_GE(fd, 0);
		for (i = 0; i < 5; i++) {
			ASSERT_EQ(1 + i * 600, rds_recv_wait(fd, buf, sizeof(buf), NULL));
			ASSERT_EQ(i, buf[0]);
		}
		close(fd);
	}
}

/* --- D63: namespaces come and go under traffic --- */

#define ADDRESSES	5

/* Loopback traffic on several addresses, some of it left unread, RDMA included. */
static int live_and_die(void *arg)
{
	static char page[4096] __attribute__((aligned(4096)));
	int i, fd[ADDRESSES];
	union rds_addr a[ADDRESSES];
	rds_rdma_cookie_t cookie;
	char text[32];

	if (unshare(CLONE_NEWNET))
		return 1;
	for (i = 0; i < ADDRESSES; i++) {
		snprintf(text, sizeof(text), i ? "127.0.0.%d" : "::1", i);
		a[i] = addr_make(text, PORT);
		fd[i] = rds_socket();
		if (rds_bind(fd[i], &a[i]))
			return 2;
	}
	for (i = 1; i < ADDRESSES; i++)
		if (rds_send(fd[i], &a[i % (ADDRESSES - 1) + 1], "unread", 6, 0) != 6)
			return 3;
	if (rds_send(fd[0], &a[0], "unread", 6, 0) != 6)
		return 4;
	if (get_mr(fd[1], page, 100, RDS_RDMA_READWRITE, &cookie))
		return 5;
	return rdma_run(fd[2], &a[1], cookie, 0, "w", 1, RDS_RDMA_READWRITE) ? 6 : 0;
}

TEST_F_TIMEOUT(netns, D63_many_namespaces, RDS_SLOW_TEST)
{
	int i;

	for (i = 0; i < rds_rounds(50); i++) {
		ASSERT_EQ(0, in_child(live_and_die, NULL));
	}
}

static int traffic_until_killed(void *arg)
{
	union rds_addr a = addr_make("127.0.0.1", 0), b = a;
	char buf[3000] = "";
	int tx, rx;
	socklen_t len = sizeof(b);

	if (unshare(CLONE_NEWNET))
		return 1;
	tx = rds_socket();
	rx = rds_socket();
	if (rds_bind(tx, &a) || rds_bind(rx, &b) || getsockname(rx, &b.sa, &len))
		return 2;
	for (;;) {
		rds_send(tx, &b, buf, sizeof(buf), MSG_DONTWAIT);
		rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL);
		if (arg && send(*(int *)arg, "t", 1, 0) == 1)
			arg = NULL;
	}
}

/* @fn works in a namespace of its own, says a word, and is killed at some moment after that. */
static void kill_in_namespaces(struct __test_metadata *_metadata, FIXTURE_DATA(netns) *self,
			       int (*fn)(void *))
{
	pid_t pid[4];
	int round, i;
	char c;

	for (round = 0; round < rds_rounds(16); round++) {
		for (i = 0; i < 4; i++) {
			pid[i] = fork();
			ASSERT_GE(pid[i], 0);
			if (!pid[i])
				_exit(fn(&self->sv[1]));
		}
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(1, recv(self->sv[0], &c, 1, 0));
		}
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, kill(pid[i], SIGKILL));
			ASSERT_EQ(pid[i], waitpid(pid[i], NULL, 0));
		}
	}
}

TEST_F_TIMEOUT(netns, D63_removed_under_traffic, RDS_SLOW_TEST)
{
	kill_in_namespaces(_metadata, self, traffic_until_killed);
}

/* --- D32: a port goes from congested to clear and back while its namespace ends --- */

static int flip_until_killed(void *arg)
{
	union rds_addr a = addr_make("127.0.0.1", 0), b = addr_make("127.0.0.2", PORT);
	int i, tx[3], rx, rcvbuf = 2048, word = *(int *)arg;
	char buf[1000] = "";

	if (unshare(CLONE_NEWNET))
		return 1;
	rx = rds_socket();
	if (rds_bind(rx, &b) || setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)))
		return 2;
	/* the map of the receiver's address has several connections on its list */
	for (i = 0; i < 3; i++) {
		((unsigned char *)&a.in.sin_addr)[3] = 10 + i;
		tx[i] = rds_socket();
		if (rds_bind(tx[i], &a))
			return 3;
	}
	for (;;) {
		/* until it is refused */
		for (i = 0; rds_send(tx[i % 3], &b, buf, sizeof(buf), MSG_DONTWAIT) != -ENOBUFS; i++)
			if (i > 20000)
				return 4;
		if (word >= 0 && send(word, "f", 1, 0) == 1)
			word = -1;
		while (rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL) >= 0)
			;
	}
}

TEST_F_TIMEOUT(netns, D32_congested_when_it_ends, RDS_SLOW_TEST)
{
	kill_in_namespaces(_metadata, self, flip_until_killed);
}

/* --- counters --- */

static int count_in_new_namespace(void *arg)
{
	union rds_addr a = addr_make("127.0.0.1", PORT);
	char c;
	int fd;

	if (unshare(CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	if (counter(fd, "send_queued") != 0 || counter(fd, "recv_queued") != 0)
		return 2;
	if (rds_bind(fd, &a) || rds_send(fd, &a, "x", 1, 0) != 1 ||
	    rds_recv_wait(fd, &c, 1, NULL) != 1)
		return 3;
	return counter(fd, "send_queued") == 1 && counter(fd, "recv_queued") == 1 ? 0 : 4;
}

TEST_F(netns, better_counters_per_namespace)
{
	uint64_t sent = counter(self->fd, "send_queued");

	EXPECT_EQ(0, in_child(count_in_new_namespace, NULL));
	EXPECT_EQ(sent, counter(self->fd, "send_queued"));
}

/* --- D61: the RDMA transport and namespaces that do not own the device --- */

FIXTURE(device) {
	union rds_addr	a;
	union rds_addr	b;
};
FIXTURE_VARIANT(device) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(device, rxe) { BED_RXE };

FIXTURE_SETUP(device)
{
	bed_need(_metadata, variant->bed, &self->a, &self->b);
}

FIXTURE_TEARDOWN(device) {}

/* Give this namespace the device's address, on an interface that has no RDMA device. */
static int bind_foreign(void *arg)
{
	FIXTURE_DATA(device) *self = arg;
	char text[INET_ADDRSTRLEN], command[128];
	union rds_addr a = self->a;
	int fd, err;

	if (unshare(CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	err = rds_bind(fd, &a);
	if (err != -EADDRNOTAVAIL)
		return 2;
	inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text));
	snprintf(command, sizeof(command), "ip link set lo up && ip addr add %s/32 dev lo", text);
	if (system(command))
		return 3;
	return rds_bind(fd, &a) == -EADDRNOTAVAIL ? 0 : 4;
}

TEST_F(device, abi3_D61_never_half_working)
{
	union rds_addr a = self->a;
	int fd = open_bound(_metadata, &a);

	EXPECT_EQ(0, in_child(bind_foreign, self));
	close(fd);
}

TEST_HARNESS_MAIN
