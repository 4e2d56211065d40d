// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The obliging peer of the tests with two machines: vm2_peer READY-FILE ADDR...
 *
 * Serves every address until it is killed; see vm2.h.
 */
#include "vm2.h"

#define MAX_ADDRS	4
#define LOCAL_SKEW	7	/* the local side of operations starts anywhere in a page */

struct desk {
	int		ask;
	int		echo;
	int		held;		/* by ASK_HOLD, or -1 */
	union rds_addr	addr;
};

static char *area, *local;
static rds_rdma_cookie_t mapped;

static int die(const char *what, int err)
{
	fprintf(stderr, "vm2_peer: %s: %s\n", what, strerror(-err));
	exit(1);
}

static int open_at(const union rds_addr *addr, uint16_t port)
{
	union rds_addr a = addr_with_port(addr, port);
	int fd = rds_socket(), err;

	if (fd < 0)
		die("socket", -errno);
	err = rds_bind(fd, &a);
	if (err)
		die("bind", err);
	return fd;
}

static void answer(int fd, const union rds_addr *to, const struct ask *ask, struct answer a)
{
	ssize_t n;

	a.what = ask->what;
	n = rds_send(fd, to, &a, sizeof(a), 0);
	if (n != sizeof(a))
		die("answer", n);
}

/* --- operations --------------------------------------------------------- */

/* Carry out the operation on a message that tells of it. */
static int operate(int fd, const union rds_addr *to, const struct ask *ask, uint64_t cookie)
{
	struct rds_iovec iov = { .addr = (uintptr_t)local + LOCAL_SKEW, .bytes = ask->len };
	struct answer arrived = { .what = ask->what, .status = ARRIVED };
	uint64_t flags = ask->flags | RDS_RDMA_NOTIFY_ME, token = 0;
	static uint64_t sent = 0x7000;
	struct rds_msg_out m;
	ssize_t n;
	int status;

	if (ask->len > RDS_MAX_MSG)
		return -EINVAL;
	if (ask->what == ASK_WRITE)
		flags |= RDS_RDMA_READWRITE;
	fill(local + LOCAL_SKEW, ask->len, ask->seed);
	msg_init(&m, to, &arrived, sizeof(arrived));
	msg_rdma(&m, cookie, ask->offset, ask->len, &iov, 1, flags, ++sent);
	n = msg_send(fd, &m, 0);
	if (n < 0)
		return n;
	status = rdma_status(fd, &token);
	return status >= 0 && token != sent ? -EBADMSG : status;
}

static void do_operate(struct desk *d, const union rds_addr *to, const struct ask *ask, uint64_t cookie)
{
	struct answer a = { .status = operate(d->ask, to, ask, cookie) };

	if (ask->what == ASK_READ && !a.status)
		a.digest = digest(local + LOCAL_SKEW, ask->len);
	answer(d->ask, to, ask, a);
}

/* --- the area ----------------------------------------------------------- */

static void do_map(struct desk *d, const union rds_addr *to, const struct ask *ask)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)area + ask->offset, .bytes = ask->len },
		.cookie_addr = (uintptr_t)&mapped,
		.flags = RDS_RDMA_READWRITE,
	};
	struct answer a = { .what = ask->what };
	struct rds_msg_out m;
	ssize_t n;

	if (mapped)
		free_mr(d->ask, mapped);
	mapped = 0;
	fill(area, AREA_LEN, ask->seed);
	msg_init(&m, to, &a, sizeof(a));
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	n = msg_send(d->ask, &m, 0);
	if (n < 0)
		answer(d->ask, to, ask, (struct answer){ .status = n });
}

/* --- a socket that is not read ------------------------------------------ */

static void do_hold(struct desk *d, const union rds_addr *to, const struct ask *ask)
{
	union rds_addr addr = addr_with_port(&d->addr, 0);
	int rcvbuf = ask->len;
	socklen_t len = sizeof(addr);

	if (d->held >= 0)
		close(d->held);
	d->held = open_at(&addr, 0);
	setsockopt(d->held, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (getsockname(d->held, &addr.sa, &len))
		die("getsockname", -errno);
	answer(d->ask, to, ask, (struct answer){ .value = addr_port(&addr) });
}

static void do_take(struct desk *d, const union rds_addr *to, const struct ask *ask)
{
	static char in[65536], want[65536];
	struct answer a = { 0 };
	uint32_t i;
	ssize_t n;

	for (i = 0; i < ask->len; i++) {
		n = rds_recv_wait(d->held, in, sizeof(in), NULL);
		if (n < 0) {
			a.status = n;
			break;
		}
		fill(want, n, ask->seed + i);
		a.value += !memcmp(in, want, n);
	}
	answer(d->ask, to, ask, a);
}

/* --- serving ------------------------------------------------------------ */

static void serve_ask(struct desk *d)
{
	struct rds_msg_in in;
	struct ask ask;
	ssize_t n = rds_recv(d->ask, &ask, sizeof(ask), MSG_DONTWAIT, &in);

	/* anything else is a late notification, or readable for a congestion map's sake */
	if (n != sizeof(ask))
		return;
	switch (ask.what) {
	case ASK_WRITE:
	case ASK_READ:
		do_operate(d, &in.from, &ask, in.has_dest ? in.dest : ask.cookie);
		break;
	case ASK_MAP:
		do_map(d, &in.from, &ask);
		break;
	case ASK_LOOK:
		answer(d->ask, &in.from, &ask, (struct answer){ .digest = digest(area, AREA_LEN) });
		break;
	case ASK_HOLD:
		do_hold(d, &in.from, &ask);
		break;
	case ASK_TAKE:
		do_take(d, &in.from, &ask);
		break;
	default:
		answer(d->ask, &in.from, &ask, (struct answer){ .status = -EINVAL });
	}
}

static void serve_echo(struct desk *d)
{
	static unsigned char buf[RDS_MAX_MSG];
	struct rds_msg_in in;
	ssize_t i, n = rds_recv(d->echo, buf, sizeof(buf), MSG_DONTWAIT, &in);

	if (n < 0)
		return;
	for (i = 0; i < n; i++)
		buf[i] = ~buf[i];
	if (rds_send(d->echo, &in.from, buf, n, 0) != n)
		die("echo", -errno);
}

int main(int argc, char **argv)
{
	struct pollfd pfds[2 * MAX_ADDRS];
	struct desk desks[MAX_ADDRS];
	int i, fd, nr = argc - 2;

	if (nr < 1 || nr > MAX_ADDRS) {
		fprintf(stderr, "usage: vm2_peer READY-FILE ADDR...\n");
		return 2;
	}
	area = mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	local = mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || local == MAP_FAILED)
		die("mmap", -errno);
	for (i = 0; i < nr; i++) {
		desks[i].addr = addr_make(argv[2 + i], 0);
		desks[i].ask = open_at(&desks[i].addr, PEER_PORT);
		desks[i].echo = open_at(&desks[i].addr, ECHO_PORT);
		desks[i].held = -1;
		pfds[2 * i] = (struct pollfd){ .fd = desks[i].ask, .events = POLLIN };
		pfds[2 * i + 1] = (struct pollfd){ .fd = desks[i].echo, .events = POLLIN };
	}
	fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
	if (fd < 0)
		die(argv[1], -errno);
	close(fd);
	while (poll(pfds, 2 * nr, -1) > 0) {
		for (i = 0; i < nr; i++) {
			if (pfds[2 * i].revents)
				serve_ask(&desks[i]);
			if (pfds[2 * i + 1].revents)
				serve_echo(&desks[i]);
		}
	}
	return 1;
}
