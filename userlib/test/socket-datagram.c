// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Plain messages: socket-datagram [ADDR PEER], both addresses of this machine.
 * Holds for every RDS module, the distribution's too.
 */
#include "sockets.h"

static void test_open_errors(const char *addr, const struct end *taken)
{
	char text[LIBRDS_ADDR_STRLEN];

	is_err(rds_open("10.9.1.1:99999", 0), -EINVAL, "open: not an address");
	is_err(rds_open("0.0.0.0", 0), -EINVAL, "open: the wildcard");
	is_err(rds_open("192.0.2.1", 0), -EADDRNOTAVAIL, "open: nobody's address");
	is_err(rds_open(addr, SOCK_STREAM), -EINVAL, "open: a flag that is none");
	is_err(rds_open(rds_addr_format(&taken->addr, text, sizeof(text)), 0), -EADDRINUSE,
	       "open: a port that is taken");
	is_err(rds_bind(taken->fd, &taken->addr), -EINVAL, "bind: twice");
}

static void test_unbound(const struct end *peer)
{
	struct rds_addr addr;
	int fd = need(rds_open(NULL, 0), "unbound socket");

	is_err(rds_local_addr(fd, &addr), -ENOTCONN, "unbound: no local address");
	is_err(rds_peer_addr(fd, &addr), -ENOTCONN, "unbound: no peer");
	is_err(rds_send(fd, &peer->addr, "x", 1, 0), -ENOTCONN, "unbound: no sending");
	is_err(rds_connect(fd, "255.255.255.255:1"), -EINVAL, "connect: to everybody");
	is_err(rds_connect(fd, "0.0.0.0:1"), -EDESTADDRREQ, "connect: to nobody");
	close(fd);
	is_err(rds_local_addr(fd, &addr), -EBADF, "closed: not a socket any more");
	is_err(rds_connect(0, "127.0.0.1:1"), -ENOTSOCK, "not a socket at all");
}

static void test_messages(const struct end *a, const struct end *b)
{
	struct rds_incoming in;
	char text[LIBRDS_ADDR_STRLEN];
	struct rds_addr addr;
	char buf[4];

	is(rds_send(a->fd, &b->addr, "hello", 5, 0), 5, "send to an address");
	ok(got_text(b, "hello", &in), "it arrives");
	ok(rds_addr_equal(&in.from, &a->addr), "from its sender");
	is_err(rds_send(a->fd, NULL, "x", 1, 0), -ENOTCONN, "send without an address or a peer");
	is(rds_connect(a->fd, rds_addr_format(&b->addr, text, sizeof(text))), 0, "connect");
	ok(!rds_peer_addr(a->fd, &addr) && rds_addr_equal(&addr, &b->addr), "peer address");
	is(rds_send(a->fd, NULL, "", 0, 0), 0, "send nothing to the peer");
	ok(got_text(b, "", &in), "an empty message arrives as a message");
	need(rds_send(b->fd, &a->addr, "back", 4, 0), "send back");
	ok(got_text(a, "back", &in), "and one back");

	need(rds_send(a->fd, NULL, "longer", 6, 0), "send");
	is(rds_recv(b->fd, buf, sizeof(buf), &in, 0), 4, "a short buffer takes the start");
	ok(in.what & LIBRDS_IN_TRUNC && in.len == 4, "and is told so");
}

static void test_nothing(const struct end *a)
{
	struct rds_rdma_notify notify;
	struct rds_incoming in;
	char buf[8];

	is_err(rds_recv(a->fd, buf, sizeof(buf), &in, MSG_DONTWAIT), -EAGAIN, "nothing there");
	is_err(rds_recv_timeout(a->fd, buf, sizeof(buf), &in, 0), -ETIMEDOUT, "nothing at once");
	is_err(rds_recv_timeout(a->fd, buf, sizeof(buf), &in, 50), -ETIMEDOUT, "nothing in time");
	is_err(rds_wait_notify(a->fd, &notify, 50), -ETIMEDOUT, "no notification in time");
}

static void test_sizes(const struct end *a, const struct end *b)
{
	static const size_t sizes[] = { 1, 47, 48, 4095, 4096, 4097, 65536, 100000 };
	static char out[LIBRDS_MSG_MAX + 1], in_buf[LIBRDS_MSG_MAX];
	struct rds_incoming in;
	char name[64];
	size_t i, j;
	ssize_t len;

	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + (i >> 8);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		need(rds_send(a->fd, &b->addr, out, sizes[i], 0), "send");
		memset(in_buf, 0, sizeof(in_buf));
		len = rds_recv_timeout(b->fd, in_buf, sizeof(in_buf), &in, PATIENCE);
		snprintf(name, sizeof(name), "%zu bytes", sizes[i]);
		is(len, sizes[i], name);
		for (j = 0; j < sizes[i] && in_buf[j] == out[j]; j++)
			;
		snprintf(name, sizeof(name), "%zu bytes unchanged", sizes[i]);
		is(j, sizes[i], name);
	}
	is_err(rds_send(a->fd, &b->addr, out, sizeof(out), 0), -EMSGSIZE, "1 MiB and a byte");
}

static void test_gather(const struct end *a, const struct end *b)
{
	struct iovec iov[] = { { "one ", 4 }, { "", 0 }, { "two", 3 } };
	struct rds_outgoing out = { .to = &b->addr, .iov = iov, .iovcnt = 3 };
	struct rds_incoming in;

	is(rds_sendmsg(a->fd, &out, MSG_DONTWAIT), 7, "gathered payload");
	ok(got_text(b, "one two", &in), "arrives in one");
}

static void test_counters(const struct end *a, const struct end *b)
{
	uint64_t before = 0, after = 0;
	struct rds_snapshot snap;
	struct rds_incoming in;

	is(rds_counter(a->fd, "copy_from_user", &before), 0, "counter by name");
	need(rds_send(a->fd, &b->addr, "12345", 5, 0), "send");
	ok(got_text(b, "12345", &in), "message");
	is(rds_counter(a->fd, "copy_from_user", &after), 0, "counter again");
	is(after - before, 5, "the counter counted the payload");
	is_err(rds_counter(a->fd, "no_such_counter", &after), -ENOENT, "no such counter");
	is(rds_snapshot(a->fd, RDS_INFO_COUNTERS, &snap), 0, "snapshot of all counters");
	ok(snap.count >= 36 && snap.stride >= 40, "%zu counters of %zu bytes", snap.count, snap.stride);
	rds_snapshot_free(&snap);
	is_err(rds_snapshot(a->fd, 10002, &snap), -ENOPROTOOPT, "no such snapshot");
}

int main(int argc, char **argv)
{
	struct end a = open_end(addr_of(argc, argv, 1));
	struct end b = open_end(addr_of(argc, argv, 2));

	prefix_names(argc, argv);
	errno = 0;
	test_open_errors(addr_of(argc, argv, 1), &a);
	test_unbound(&b);
	test_messages(&a, &b);
	test_nothing(&a);
	test_sizes(&a, &b);
	test_gather(&a, &b);
	test_counters(&a, &b);
	is(errno, 0, "errno was never touched");
	return tap_end();
}
