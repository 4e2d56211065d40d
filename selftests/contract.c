// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rows of the ABI's description that no other program is about; abiN in a name is the section.  Documentation/compatibility.md says
 * which test asserts which row.
 */
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <sys/sendfile.h>
#include "info_list.h"

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY	60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY	0x4000000
#endif

TEST(abi1_constants)
{
	EXPECT_EQ(21, AF_RDS);
	EXPECT_EQ(21, PF_RDS);
	EXPECT_EQ(276, SOL_RDS);
}

/* --- one message, on each transport --- */

FIXTURE(pair) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(pair);

FIXTURE_SETUP(pair)
{
	pair_open(_metadata, &self->p, variant->bed);
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
}

FIXTURE_TEARDOWN(pair)
{
	pair_close(&self->p);
}

/* Nothing of what was refused before has arrived: the next message is this one. */
static void expect_next(struct __test_metadata *_metadata, struct rds_pair *p, const char *text)
{
	char buf[64] = "";

	ASSERT_EQ(strlen(text), rds_send(p->tx, NULL, text, strlen(text), 0));
	ASSERT_EQ(strlen(text), rds_recv_wait(p->rx, buf, sizeof(buf), NULL));
	EXPECT_EQ(0, strcmp(buf, text));
}

TEST_F_TIMEOUT(pair, abi1_more_is_refused, RDS_SLOW_TEST)
{
	EXPECT_EQ(-EOPNOTSUPP, rds_send(self->p.tx, NULL, "x", 1, MSG_MORE));
	expect_next(_metadata, &self->p, "after it");
}

/* Each page is a message; all but the last are sent with MSG_MORE. */
TEST_F_TIMEOUT(pair, abi1_sendfile_of_one_page, RDS_SLOW_TEST)
{
	int file = memfd_create("data", 0);
	off_t start = 0;
	char buf[64];

	ASSERT_GE(file, 0);
	ASSERT_EQ(9, write(file, "from file", 9));
	ASSERT_EQ(9, sendfile(self->p.tx, file, &start, 9));
	ASSERT_EQ(9, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	EXPECT_EQ(0, memcmp(buf, "from file", 9));

	ASSERT_EQ(0, ftruncate(file, 2 * page_size()));
	start = 0;
	EXPECT_EQ(-1, sendfile(self->p.tx, file, &start, 2 * page_size()));
	EXPECT_EQ(EOPNOTSUPP, errno);
	expect_next(_metadata, &self->p, "after it");
}

TEST_F_TIMEOUT(pair, abi1_splice_of_one_page, RDS_SLOW_TEST)
{
	int fds[2];
	char buf[64];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(9, write(fds[1], "from pipe", 9));
	ASSERT_EQ(9, splice(fds[0], NULL, self->p.tx, NULL, 9, 0));
	ASSERT_EQ(9, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	EXPECT_EQ(0, memcmp(buf, "from pipe", 9));

	ASSERT_EQ(4, write(fds[1], "more", 4));
	EXPECT_EQ(-1, splice(fds[0], NULL, self->p.tx, NULL, 4, SPLICE_F_MORE));
	EXPECT_EQ(EOPNOTSUPP, errno);
	expect_next(_metadata, &self->p, "after it");
	close(fds[0]);
	close(fds[1]);
}

/* Only TCP sends from user pages. */
TEST_F_TIMEOUT(pair, abi5_9_abi8_zerocopy_is_for_tcp, RDS_SLOW_TEST)
{
	uint32_t cookie = 7;
	struct rds_msg_out m;

	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_ZEROCOPY, 1);
	msg_init(&m, NULL, "x", 1);
	EXPECT_EQ(-EOPNOTSUPP, msg_send(self->p.tx, &m, MSG_ZEROCOPY));
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	EXPECT_EQ(-EOPNOTSUPP, msg_send(self->p.tx, &m, MSG_ZEROCOPY));
	expect_next(_metadata, &self->p, "after it");
}

TEST_F_TIMEOUT(pair, abi5_12_abi6_abi8_zerocopy_without_the_option, RDS_SLOW_TEST)
{
	uint32_t cookie = 7;
	struct rds_msg_out m;

	msg_init(&m, NULL, "x", 1);
	EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, MSG_ZEROCOPY));
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, MSG_ZEROCOPY));
	EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, 0));
	expect_next(_metadata, &self->p, "after it");
}

TEST(abi8_zerocopy_option)
{
	int value = 0, fd = rds_socket();
	socklen_t len = sizeof(value);

	ASSERT_GE(fd, 0);
	set_int(_metadata, fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &value, &len));
	EXPECT_EQ(1, value);
	set_int(_metadata, fd, SOL_SOCKET, SO_ZEROCOPY, 0);
	value = 2;
	EXPECT_EQ(-1, setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &value, sizeof(value)));
	EXPECT_EQ(EINVAL, errno);
}

/* Flags that other kernels know, or that nobody uses, change nothing. */
TEST_F_TIMEOUT(pair, abi6_flags_that_are_ignored, RDS_SLOW_TEST)
{
	const uint64_t ignored = 0x10 | 0x80 | 0x100;
	char *local = map_guarded(_metadata, 64), *remote = map_guarded(_metadata, 64);
	struct rds_atomic_args args = {
		.local_addr = (uintptr_t)local, .fadd.add = 1,
		.flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT | ignored,
	};
	uint64_t word = 0x6666666666666666;
	struct rds_msg_out m;

	memset(local, 0x66, 64);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, 64, RDS_RDMA_READWRITE | ignored, &args.cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, args.cookie, 0, local, 64,
					     RDS_RDMA_READWRITE | ignored));
	EXPECT_TRUE(all_bytes(remote, 64, 0x66));
	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	ASSERT_EQ(0, msg_send(self->p.tx, &m, 0));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
	EXPECT_EQ(0, memcmp(local, &word, 8));
	word++;
	EXPECT_EQ(0, memcmp(remote, &word, 8));
	EXPECT_EQ(0, free_mr(self->p.rx, args.cookie));
}

#define EXPECT_AT(at, type, member)	EXPECT_EQ(at, offsetof(struct type, member))

/* Of what programs hand in, and get; it is the same for 32-bit programs (compat.c). */
TEST(abi6_D71_layouts)
{
	EXPECT_AT(8, rds_iovec, bytes);
	EXPECT_AT(16, rds_get_mr_args, cookie_addr);
	EXPECT_AT(24, rds_get_mr_args, flags);
	EXPECT_AT(128, rds_get_mr_for_dest_args, vec);
	EXPECT_AT(144, rds_get_mr_for_dest_args, cookie_addr);
	EXPECT_AT(152, rds_get_mr_for_dest_args, flags);
	EXPECT_AT(8, rds_free_mr_args, flags);
	EXPECT_AT(8, rds_rdma_args, remote_vec);
	EXPECT_AT(24, rds_rdma_args, local_vec_addr);
	EXPECT_AT(32, rds_rdma_args, nr_local);
	EXPECT_AT(40, rds_rdma_args, flags);
	EXPECT_AT(48, rds_rdma_args, user_token);
	EXPECT_AT(8, rds_atomic_args, local_addr);
	EXPECT_AT(16, rds_atomic_args, remote_addr);
	EXPECT_AT(24, rds_atomic_args, cswp.compare);
	EXPECT_AT(32, rds_atomic_args, cswp.swap);
	EXPECT_AT(24, rds_atomic_args, fadd.add);
	EXPECT_AT(40, rds_atomic_args, m_cswp.compare_mask);
	EXPECT_AT(48, rds_atomic_args, m_cswp.swap_mask);
	EXPECT_AT(32, rds_atomic_args, m_fadd.nocarry_mask);
	EXPECT_AT(56, rds_atomic_args, flags);
	EXPECT_AT(64, rds_atomic_args, user_token);
	EXPECT_AT(8, rds_rdma_notify, status);
	EXPECT_AT(4, rds_zcopy_cookies, cookies);
	EXPECT_AT(1, rds_cmsg_rx_trace, rx_trace_pos);
	EXPECT_AT(8, rds_cmsg_rx_trace, rx_trace);
	EXPECT_AT(1, rds_rx_trace_so, rx_trace_pos);
	EXPECT_AT(32, rds_info_counter, value);
	EXPECT_EQ(16, sizeof(struct rds_iovec));
	EXPECT_EQ(32, sizeof(struct rds_get_mr_args));
	EXPECT_EQ(160, sizeof(struct rds_get_mr_for_dest_args));
	EXPECT_EQ(16, sizeof(struct rds_free_mr_args));
	EXPECT_EQ(56, sizeof(struct rds_rdma_args));
	EXPECT_EQ(72, sizeof(struct rds_atomic_args));
	EXPECT_EQ(16, sizeof(struct rds_rdma_notify));
	EXPECT_EQ(36, sizeof(struct rds_zcopy_cookies));
	EXPECT_EQ(32, sizeof(struct rds_cmsg_rx_trace));
	EXPECT_EQ(4, sizeof(struct rds_rx_trace_so));
	EXPECT_EQ(40, sizeof(struct rds_info_counter));
}

TEST_F_TIMEOUT(pair, abi6_one_atomic_at_most, RDS_SLOW_TEST)
{
	static const int types[] = { RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP, RDS_CMSG_MASKED_ATOMIC_FADD,
				     RDS_CMSG_MASKED_ATOMIC_CSWP };
	uint64_t *remote = map_guarded(_metadata, 8), *old = map_guarded(_metadata, 8);
	struct rds_atomic_args args = { .local_addr = (uintptr_t)old, .flags = RDS_RDMA_NOTIFY_ME };
	struct rds_msg_out m;
	unsigned int i;

	ASSERT_EQ(0, get_mr(self->p.rx, remote, 8, RDS_RDMA_READWRITE, &args.cookie));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		msg_init(&m, NULL, "x", 1);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
		msg_cmsg(&m, SOL_RDS, types[i], &args, sizeof(args));
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &m, 0)) {
			TH_LOG("type %d", types[i]);
		}
	}
	expect_next(_metadata, &self->p, "after it");
	EXPECT_EQ(0, *remote);
}

/* A socket that polled all it had to tell is not woken by errors: there are none. */
TEST_F_TIMEOUT(pair, abi9_no_error_is_reported, RDS_SLOW_TEST)
{
	union rds_addr nobody = addr_with_port(&self->p.rx_addr, 1);
	int error = -1;
	socklen_t len = sizeof(error);

	ASSERT_EQ(1, rds_send(self->p.tx, &nobody, "x", 1, 0));
	expect_next(_metadata, &self->p, "behind it");
	EXPECT_EQ(0, ready(self->p.tx, POLLERR | POLLHUP | POLLRDHUP, 0));
	EXPECT_EQ(0, getsockopt(self->p.tx, SOL_SOCKET, SO_ERROR, &error, &len));
	EXPECT_EQ(0, error);
}

/* Connections are shared by sockets, and end with none of them. */
static int connections_of(int fd, const union rds_addr *from, const union rds_addr *to)
{
	struct rds6_info_connection *c;
	static struct list l;
	int nr = 0;

	if (list_read(fd, RDS6_INFO_CONNECTIONS, &l) < 0)
		return -1;
	for_each_record(c, l)
		nr += is_addr(c->laddr, from) && is_addr(c->faddr, to) &&
		      c->flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;
	return nr;
}

TEST_F_TIMEOUT(pair, abi15_connection_stays, RDS_SLOW_TEST)
{
	uint64_t seq_before = counter(self->p.rx, "conn_reset");
	int other = rds_socket();

	expect_next(_metadata, &self->p, "connects");
	pair_close(&self->p);
	EXPECT_EQ(1, connections_of(other, &self->p.tx_addr, &self->p.rx_addr));
	self->p.tx = open_bound(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound(_metadata, &self->p.rx_addr);
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	expect_next(_metadata, &self->p, "uses it again");
	EXPECT_EQ(1, connections_of(other, &self->p.tx_addr, &self->p.rx_addr));
	EXPECT_EQ(seq_before, counter(other, "conn_reset"));
	close(other);
}

FIXTURE(loopback) {};
FIXTURE_VARIANT(loopback) {
	const char	*mine;
	const char	*other;
};
FIXTURE_VARIANT_ADD(loopback, v4) { "127.0.0.1", "192.0.2.9" };
FIXTURE_VARIANT_ADD(loopback, v6) { "::1", "2001:db8::9" };
FIXTURE_SETUP(loopback) {}
FIXTURE_TEARDOWN(loopback) {}

TEST_F(loopback, abi5_loopback_swallows_what_is_for_others)
{
	union rds_addr a = addr_make(variant->mine, 0), to = addr_make(variant->other, 7000);
	int fd = open_bound(_metadata, &a);
	char c = 0;

	EXPECT_EQ(1, rds_send(fd, &to, "x", 1, MSG_DONTWAIT));
	/* nothing stays in the way of others, and nothing comes back */
	EXPECT_EQ(1, rds_send(fd, &a, "y", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(fd, &c, 1, NULL));
	EXPECT_EQ('y', c);
	close(fd);
}

/* --- SOL_SOCKET, and calls of interfaces --- */

static int read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	int value = -1;

	if (f && fscanf(f, "%d", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

static int socket_int(int fd, int opt)
{
	socklen_t len = sizeof(int);
	int value = -1;

	getsockopt(fd, SOL_SOCKET, opt, &value, &len);
	return value;
}

/* What is read is twice what counts: by default half of net.core.wmem_default. */
TEST_F_TIMEOUT(pair, abi10_default_buffer_sizes, RDS_SLOW_TEST)
{
	int fd = self->p.tx, wmem = read_number("/proc/sys/net/core/wmem_default");
	char *buf = map_guarded(_metadata, wmem);

	EXPECT_EQ(wmem, socket_int(fd, SO_SNDBUF));
	EXPECT_EQ(read_number("/proc/sys/net/core/rmem_default"), socket_int(fd, SO_RCVBUF));
	EXPECT_EQ(-EMSGSIZE, rds_send(fd, NULL, buf, wmem / 2 + 1, 0));
	EXPECT_EQ(wmem / 2, rds_send(fd, NULL, buf, wmem / 2, 0));
	EXPECT_EQ(wmem / 2, rds_recv_wait(self->p.rx, buf, wmem, NULL));
}

TEST(abi10_largest_buffer_sizes)
{
	int fd = rds_socket(), wmem = read_number("/proc/sys/net/core/wmem_max");
	int rmem = read_number("/proc/sys/net/core/rmem_max");

	ASSERT_GE(fd, 0);
	set_int(_metadata, fd, SOL_SOCKET, SO_SNDBUF, INT_MAX);
	set_int(_metadata, fd, SOL_SOCKET, SO_RCVBUF, INT_MAX);
	EXPECT_EQ(2 * wmem, socket_int(fd, SO_SNDBUF));
	EXPECT_EQ(2 * rmem, socket_int(fd, SO_RCVBUF));
	close(fd);
}

/* A socket at @a, its own address before, that a device is set for which does not have this address. */
static int reopen_with_device(struct __test_metadata *_metadata, int old, const union rds_addr *a, const char *device)
{
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	close(old);
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device) + 1));
	ASSERT_EQ(0, rds_bind(fd, a));
	return fd;
}

TEST_F_TIMEOUT(pair, abi10_bindtodevice_has_no_effect, RDS_SLOW_TEST)
{
	const char *device = bed_is_rxe(variant->bed) ? "lo" : getenv("NETDEV") ?: "eth0";

	self->p.tx = reopen_with_device(_metadata, self->p.tx, &self->p.tx_addr, device);
	self->p.rx = reopen_with_device(_metadata, self->p.rx, &self->p.rx_addr, device);
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	expect_next(_metadata, &self->p, "there it is");
}

TEST(abi13_interface_ioctls_work)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, ioctl(fd, SIOCGIFINDEX, &req));
	EXPECT_EQ(if_nametoindex("lo"), req.ifr_ifindex);
	close(fd);
}

/* --- link-local addresses --- */

FIXTURE(scope) {
	union rds_addr	a;	/* link-local, of the interface that has the rxe device */
	int		fd;
};

FIXTURE_SETUP(scope)
{
	union rds_addr mine, unused;
	struct ifaddrs *list, *i, *j;

	bed_need(_metadata, BED_RXE, &mine, &unused);
	memset(&self->a, 0, sizeof(self->a));
	ASSERT_EQ(0, getifaddrs(&list));
	for (i = list; i; i = i->ifa_next) {
		const struct sockaddr_in *in = (void *)i->ifa_addr;

		if (!in || in->sin_family != AF_INET || in->sin_addr.s_addr != mine.in.sin_addr.s_addr)
			continue;
		for (j = list; j; j = j->ifa_next) {
			const struct sockaddr_in6 *in6 = (void *)j->ifa_addr;

			if (in6 && in6->sin6_family == AF_INET6 && !strcmp(i->ifa_name, j->ifa_name) &&
			    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
				self->a.in6 = *in6;
		}
	}
	freeifaddrs(list);
	ASSERT_EQ(AF_INET6, self->a.sa.sa_family) {
		TH_LOG("the rxe device's interface has no link-local address");
	}
	ASSERT_NE(0, self->a.in6.sin6_scope_id);
	self->fd = rds_socket();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(scope)
{
	close(self->fd);
}

static union rds_addr other_scope(const union rds_addr *a)
{
	union rds_addr b = *a;

	b.in6.sin6_scope_id = if_nametoindex("lo");
	return b;
}

/* What a link-local address may meet is told by connect() and sendmsg(), whether or not it is anybody's. */
static union rds_addr link_local_peer(const union rds_addr *a)
{
	union rds_addr b = addr_with_port(a, 7000);

	b.in6.sin6_addr.s6_addr[15] ^= 0x55;
	return b;
}

/* A message to @rx, which is at @to, and a ping: both arrive, and names have the scope of the socket that reads them. */
static void expect_reached(struct __test_metadata *_metadata, FIXTURE_DATA(scope) *self, int rx, const union rds_addr *to)
{
	union rds_addr ping = addr_with_port(to, 0), name;
	socklen_t len = sizeof(name);
	struct rds_msg_in in;
	char c = 0;

	ASSERT_EQ(0, getsockname(self->fd, &name.sa, &len));
	EXPECT_EQ(self->a.in6.sin6_scope_id, name.in6.sin6_scope_id);
	ASSERT_EQ(1, rds_send(self->fd, to, "l", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(rx, &c, 1, &in));
	EXPECT_EQ('l', c);
	EXPECT_TRUE(addr_equal(&name, &in.from));
	ASSERT_EQ(0, rds_send(self->fd, &ping, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->fd, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&ping, &in.from));
}

TEST_F_TIMEOUT(scope, abi2_abi3_own_address, RDS_SLOW_TEST)
{
	union rds_addr to = self->a;
	int rx = open_bound(_metadata, &to);

	ASSERT_EQ(0, rds_bind(self->fd, &self->a));
	expect_reached(_metadata, self, rx, &to);
	close(rx);
}

/* Both are of one device, and what passes between them takes the whole path through it. */
TEST_F_TIMEOUT(scope, abi2_abi3_another_address, RDS_SLOW_TEST)
{
	char name[IF_NAMESIZE], command[128];
	union rds_addr to = addr_make("fe80::1:2", 0);
	int rx;

	ASSERT_NE(NULL, if_indextoname(self->a.in6.sin6_scope_id, name));
	snprintf(command, sizeof(command), "ip addr add fe80::1:2/64 dev %s", name);
	ASSERT_EQ(0, system(command));
	to.in6.sin6_scope_id = self->a.in6.sin6_scope_id;
	rx = open_bound_soon(_metadata, &to);
	ASSERT_EQ(0, rds_bind(self->fd, &self->a));
	expect_reached(_metadata, self, rx, &to);
	close(rx);
	snprintf(command, sizeof(command), "ip addr del fe80::1:2/64 dev %s", name);
	EXPECT_EQ(0, system(command));
}

TEST_F(scope, abi2_abi3_connected_to_another_scope)
{
	union rds_addr peer = link_local_peer(&self->a), bad = other_scope(&peer);

	ASSERT_EQ(0, rds_connect(self->fd, &bad));
	EXPECT_EQ(-EINVAL, rds_bind(self->fd, &self->a));
	ASSERT_EQ(0, rds_connect(self->fd, &peer));
	EXPECT_EQ(0, rds_bind(self->fd, &self->a));
}

TEST_F(scope, abi4_another_scope_than_the_bound_one)
{
	union rds_addr peer = link_local_peer(&self->a), bad = other_scope(&peer), got;
	socklen_t len = sizeof(got);

	ASSERT_EQ(0, rds_bind(self->fd, &self->a));
	EXPECT_EQ(-EINVAL, rds_connect(self->fd, &bad));
	EXPECT_EQ(0, rds_connect(self->fd, &peer));
	ASSERT_EQ(0, getpeername(self->fd, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&peer, &got));
}

TEST_F(scope, abi5_5_another_scope_than_the_bound_one)
{
	union rds_addr bad = link_local_peer(&self->a);

	bad = other_scope(&bad);
	ASSERT_EQ(0, rds_bind(self->fd, &self->a));
	EXPECT_EQ(-EINVAL, rds_send(self->fd, &bad, "x", 1, MSG_DONTWAIT));
}

FIXTURE(global) {};
FIXTURE_VARIANT(global) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(global, loop6) { BED_LOOP6 };
FIXTURE_VARIANT_ADD(global, rxe6) { BED_RXE6 };
FIXTURE_SETUP(global) {}
FIXTURE_TEARDOWN(global) {}

TEST_F_TIMEOUT(global, abi2_scope_of_other_addresses_is_ignored, RDS_SLOW_TEST)
{
	int fd = rds_socket(), second = rds_socket();
	union rds_addr a, b, got;
	socklen_t len = sizeof(got);
	char c = 0;

	ASSERT_GE(fd, 0);
	bed_need(_metadata, variant->bed, &a, &b);
	a.in6.sin6_scope_id = 4711;
	ASSERT_EQ(0, rds_bind(fd, &a));
	ASSERT_EQ(0, getsockname(fd, &got.sa, &len));
	EXPECT_EQ(0, got.in6.sin6_scope_id);
	/* so it is the same address with another one */
	a = got;
	a.in6.sin6_scope_id = 4712;
	EXPECT_EQ(-EADDRINUSE, rds_bind(second, &a));
	EXPECT_EQ(0, rds_connect(second, &a));
	len = sizeof(got);
	ASSERT_EQ(0, getpeername(second, &got.sa, &len));
	EXPECT_EQ(0, got.in6.sin6_scope_id);
	/* and names of messages */
	b.in6.sin6_scope_id = 4713;
	ASSERT_EQ(0, rds_bind(second, &b));
	EXPECT_EQ(1, rds_send(second, &a, "s", 1, 0));
	EXPECT_EQ(1, rds_recv_wait(fd, &c, 1, NULL));
	EXPECT_EQ('s', c);
	close(fd);
	close(second);
}

TEST_HARNESS_MAIN
