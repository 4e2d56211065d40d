// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 12: the lists of sockets, connections and messages.  Counters are in counters.c. */
#include <limits.h>
#include <sys/stat.h>
#include "info_list.h"
#include "sysctl.h"

FIXTURE(info) {
	struct rds_pair	p;
	struct list	l;
};
RDS_BED_VARIANTS(info);
RDS_BED_VARIANT_RXE6(info);

/* The same where messages may have to wait, unlike on loopback. */
FIXTURE(device) {
	FIXTURE_DATA(info)	info;
};
RDS_RXE_VARIANTS(device);

static void setup_info(struct __test_metadata *_metadata, FIXTURE_DATA(info) *s, enum rds_bed bed)
{
	char c;

	pair_open(_metadata, &s->p, bed);
	ASSERT_EQ(1, rds_send(s->p.tx, &s->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(s->p.rx, &c, 1, NULL));
}

FIXTURE_SETUP(info)
{
	setup_info(_metadata, self, variant->bed);
}

FIXTURE_TEARDOWN(info)
{
	pair_close(&self->p);
}

FIXTURE_SETUP(device)
{
	setup_info(_metadata, &self->info, variant->bed);
}

FIXTURE_TEARDOWN(device)
{
	pair_close(&self->info.p);
}

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* --- sockets --- */

TEST_F_TIMEOUT(info, abi12_sockets6, RDS_SLOW_TEST)
{
	struct rds6_info_socket_ext *s, *tx = NULL;
	int unbound = rds_socket(), n = 0;

	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUF, 30000);
	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_RCVBUF, 40000);
	ASSERT_GE(list_read(self->p.rx, RDS6_INFO_SOCKETS, &self->l), 3);
	EXPECT_EQ(sizeof(*s), self->l.stride);
	for_each_record(s, self->l) {
		n += s->inum == inode(unbound);
		if (s->inum == inode(self->p.tx))
			tx = s;
	}
	EXPECT_EQ(1, n);
	ASSERT_NE(NULL, tx);
	EXPECT_TRUE(is_addr(tx->bound_addr, &self->p.tx_addr));
	EXPECT_EQ(self->p.tx_addr.in.sin_port, tx->bound_port);
	EXPECT_TRUE(is_addr(tx->connected_addr, &self->p.rx_addr));
	EXPECT_EQ(self->p.rx_addr.in.sin_port, tx->connected_port);
	EXPECT_EQ(30000, tx->sndbuf);
	EXPECT_EQ(40000, tx->rcvbuf);
	EXPECT_EQ(getpid(), tx->pid);
	EXPECT_EQ(0, tx->cong);
	EXPECT_EQ(0, tx->pinned);
	close(unbound);
}

TEST_F_TIMEOUT(info, abi12_sockets4, RDS_SLOW_TEST)
{
	int unbound = rds_socket(), n = 0, others = 0;
	struct rds_info_socket_ext *s;

	list_read(self->p.rx, RDS_INFO_SOCKETS, &self->l);
	EXPECT_EQ(sizeof(*s), self->l.stride);
	for_each_record(s, self->l) {
		others += s->inum == inode(unbound);
		if (s->inum != inode(self->p.tx))
			continue;
		n++;
		EXPECT_EQ(self->p.tx_addr.in.sin_addr.s_addr, s->bound_addr);
		EXPECT_EQ(self->p.tx_addr.in.sin_port, s->bound_port);
		EXPECT_EQ(0, s->connected_port);
	}
	/* only what is bound to IPv4 */
	EXPECT_EQ(is_v4(&self->p.tx_addr), n);
	EXPECT_EQ(0, others);
	close(unbound);
}

static struct rds6_info_socket_ext *find_socket(FIXTURE_DATA(info) *self, int fd)
{
	struct rds6_info_socket_ext *s;

	if (list_read(fd, RDS6_INFO_SOCKETS, &self->l) < 0)
		return NULL;
	for_each_record(s, self->l)
		if (s->inum == inode(fd))
			return s;
	return NULL;
}

static bool congested_settles_at(FIXTURE_DATA(info) *self, int fd, int value)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct rds6_info_socket_ext *s;

	while ((s = find_socket(self, fd)) && s->cong != value && now_ms() < end)
		nap();
	return s && s->cong == value;
}

TEST_F_TIMEOUT(info, abi12_better_congested, RDS_SLOW_TEST)
{
	char data[4000] = "";
	int i;

	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, 5000);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(sizeof(data), rds_send(self->p.tx, &self->p.rx_addr, data, sizeof(data), 0));
	EXPECT_TRUE(congested_settles_at(self, self->p.rx, 1));
	EXPECT_EQ(0, find_socket(self, self->p.tx)->cong);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(sizeof(data), rds_recv_wait(self->p.rx, data, sizeof(data), NULL));
	EXPECT_TRUE(congested_settles_at(self, self->p.rx, 0));
}

/* --- what is pinned --- */

static uint64_t pinned_by_socket(struct __test_metadata *_metadata, FIXTURE_DATA(info) *self, int fd)
{
	struct rds6_info_socket_ext *s;

	ASSERT_GE(list_read(fd, RDS6_INFO_SOCKETS, &self->l), 2) {
		return 0;
	}
	for_each_record(s, self->l)
		if (s->inum == inode(fd))
			return s->pinned;
	return UINT64_MAX;
}

static struct rds_info_device all_devices(struct __test_metadata *_metadata, FIXTURE_DATA(info) *self)
{
	struct rds_info_device *dev, sum = {};

	ASSERT_GE(list_read(self->p.rx, RDS_INFO_DEVICES, &self->l), 1) {
		return sum;
	}
	EXPECT_EQ(sizeof(*dev), self->l.stride);
	for_each_record(dev, self->l) {
		EXPECT_STREQ("infiniband", (char *)dev->transport);
		EXPECT_NE('\0', dev->name[0]);
		sum.regions += dev->regions;
		sum.pinned += dev->pinned;
	}
	return sum;
}

/* Of sockets and of devices; keys of loopback are on no device. */
TEST_F_TIMEOUT(info, abi12_better_pinned_bytes, RDS_SLOW_TEST)
{
	bool on_device = bed_is_rxe(variant->bed);
	uint64_t bytes = 3 * page_size(), base;
	struct rds_info_device before, with;
	rds_rdma_cookie_t cookie;
	char *mem;

	mem = map_guarded(_metadata, bytes);
	base = pinned_by_socket(_metadata, self, self->p.rx);
	before = all_devices(_metadata, self);
	ASSERT_EQ(0, get_mr(self->p.rx, mem + 1, bytes - 2, RDS_RDMA_READWRITE, &cookie));
	EXPECT_EQ(base + bytes, pinned_by_socket(_metadata, self, self->p.rx));
	EXPECT_EQ(0, pinned_by_socket(_metadata, self, self->p.tx));
	with = all_devices(_metadata, self);
	EXPECT_EQ(before.regions + on_device, with.regions);
	EXPECT_EQ(before.pinned + on_device * bytes, with.pinned);

	ASSERT_EQ(0, free_mr(self->p.rx, cookie));
	EXPECT_EQ(base, pinned_by_socket(_metadata, self, self->p.rx));
	with = all_devices(_metadata, self);
	EXPECT_EQ(before.regions, with.regions);
	EXPECT_EQ(before.pinned, with.pinned);
}

/* --- connections --- */

TEST_F_TIMEOUT(info, abi12_connections, RDS_SLOW_TEST)
{
	const char *name = bed_is_rxe(variant->bed) ? "infiniband" : "loopback";
	struct rds6_info_connection_tos *c;
	struct rds_info_connection *c4;
	unsigned int n = 0, n4 = 0;

	ASSERT_GE(list_read(self->p.rx, RDS6_INFO_CONNECTIONS, &self->l), 1);
	EXPECT_EQ(sizeof(*c), self->l.stride);
	for_each_record(c, self->l) {
		if (!is_addr(c->laddr, &self->p.tx_addr) || !is_addr(c->faddr, &self->p.rx_addr) ||
		    strcmp((char *)c->transport, name) || c->tos)
			continue;
		n++;
		EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTED,
			  c->flags & ~RDS_INFO_CONNECTION_FLAG_SENDING);
		EXPECT_GE(c->next_tx_seq, 2);
		EXPECT_EQ(0, c->transport[15]);
	}
	EXPECT_EQ(1, n);

	list_read(self->p.rx, RDS_INFO_CONNECTIONS, &self->l);
	EXPECT_EQ(sizeof(*c4), self->l.stride);
	for_each_record(c4, self->l)
		n4 += is_v4(&self->p.tx_addr) && c4->laddr == self->p.tx_addr.in.sin_addr.s_addr &&
		      c4->faddr == self->p.rx_addr.in.sin_addr.s_addr &&
		      !strcmp((char *)c4->transport, name) && !c4->tos &&
		      c4->flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;
	EXPECT_EQ(is_v4(&self->p.tx_addr), n4);
}

TEST_F_TIMEOUT(info, abi12_rdma_connections, RDS_SLOW_TEST)
{
	struct rds6_info_rdma_connection *c;
	struct rds_info_rdma_connection *c4;
	unsigned int n = 0, n4 = 0;
	struct in6_addr gid;

	list_read(self->p.rx, RDS6_INFO_IB_CONNECTIONS, &self->l);
	EXPECT_EQ(sizeof(*c), self->l.stride);
	for_each_record(c, self->l) {
		if (!is_addr(c->src_addr, &self->p.tx_addr) ||
		    !is_addr(c->dst_addr, &self->p.rx_addr) || c->tos)
			continue;
		n++;
		memcpy(&gid, c->src_gid, sizeof(gid));
		EXPECT_TRUE(is_addr(gid, &self->p.tx_addr));
		memcpy(&gid, c->dst_gid, sizeof(gid));
		EXPECT_TRUE(is_addr(gid, &self->p.rx_addr));
		EXPECT_GE(c->max_send_wr, 16);
		EXPECT_GE(c->max_recv_wr, 16);
		EXPECT_GE(c->max_send_sge, 2);
		EXPECT_GE(c->rdma_mr_size, 257);
	}
	EXPECT_EQ(bed_is_rxe(variant->bed), n);

	list_read(self->p.rx, RDS_INFO_IB_CONNECTIONS, &self->l);
	EXPECT_EQ(sizeof(*c4), self->l.stride);
	for_each_record(c4, self->l)
		n4 += c4->src_addr == self->p.tx_addr.in.sin_addr.s_addr &&
		      c4->dst_addr == self->p.rx_addr.in.sin_addr.s_addr && c4->max_send_wr >= 16 &&
		      !c4->tos;
	EXPECT_EQ(variant->bed == BED_RXE, n4);
}

/* D26: of a connection that never came up there is little to tell, and no more is told.  Both forms end alike. */
TEST_F_TIMEOUT(device, D26_connection_to_nobody, RDS_SLOW_TEST)
{
	FIXTURE_DATA(info) *s = &self->info;
	const size_t rest = offsetof(struct rds_info_rdma_connection, src_gid);
	const size_t rest6 = offsetof(struct rds6_info_rdma_connection, src_gid);
	union rds_addr to = addr_with_port(&s->p.rx_addr, 7000);
	struct rds6_info_rdma_connection *c;
	struct rds_info_rdma_connection *c4;

	if (is_v4(&to))
		((unsigned char *)&to.in.sin_addr)[3] = 252;
	else
		to.in6.sin6_addr.s6_addr[15] = 252;
	ASSERT_EQ(1, rds_send(s->p.tx, &to, "x", 1, 0));

	ASSERT_LE(0, list_read(s->p.rx, RDS6_INFO_IB_CONNECTIONS, &s->l));
	for_each_record(c, s->l) {
		if (is_addr(c->dst_addr, &to)) {
			EXPECT_TRUE(all_bytes((char *)c + rest6, sizeof(*c) - rest6, 0));
		}
	}
	ASSERT_LE(0, list_read(s->p.rx, RDS_INFO_IB_CONNECTIONS, &s->l));
	for_each_record(c4, s->l) {
		if (is_v4(&to) && c4->dst_addr == to.in.sin_addr.s_addr) {
			EXPECT_TRUE(all_bytes((char *)c4 + rest, sizeof(*c4) - rest, 0));
		}
	}
	ASSERT_EQ(0, set_opt(s->p.tx, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
}

/* --- messages --- */

static unsigned int count_messages(FIXTURE_DATA(info) *self, int opt, const union rds_addr *to)
{
	struct rds6_info_message *m;
	unsigned int n = 0;

	list_read(self->p.rx, opt, &self->l);
	for_each_record(m, self->l)
		n += is_addr(m->laddr, &self->p.tx_addr) && is_addr(m->faddr, to) &&
		     m->lport == self->p.tx_addr.in.sin_port && m->fport == to->in.sin_port &&
		     m->len >= 100 && m->len < 103;
	return n;
}

/* Nobody has the peer's address: what is sent there waits.  Mainline shows 0.0.0.0 for both ends. */
TEST_F_TIMEOUT(device, abi12_better_send_messages, RDS_SLOW_TEST)
{
	FIXTURE_DATA(info) *s = &self->info;
	union rds_addr to = addr_with_port(&s->p.rx_addr, 7000);
	struct rds_info_message *m;
	char data[200] = "";
	unsigned int n4 = 0;
	int i;

	if (is_v4(&to))
		((unsigned char *)&to.in.sin_addr)[3] = 250;
	else
		to.in6.sin6_addr.s6_addr[15] = 250;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(100 + i, rds_send(s->p.tx, &to, data, 100 + i, 0));
	EXPECT_EQ(3, count_messages(s, RDS6_INFO_SEND_MESSAGES, &to));
	EXPECT_EQ(sizeof(struct rds6_info_message), s->l.stride);
	EXPECT_EQ(0, count_messages(s, RDS6_INFO_RETRANS_MESSAGES, &to));

	list_read(s->p.rx, RDS_INFO_SEND_MESSAGES, &s->l);
	EXPECT_EQ(sizeof(*m), s->l.stride);
	for_each_record(m, s->l)
		n4 += m->laddr == s->p.tx_addr.in.sin_addr.s_addr &&
		      m->faddr == to.in.sin_addr.s_addr && m->fport == htons(7000);
	EXPECT_EQ(is_v4(&to) ? 3 : 0, n4);

	ASSERT_EQ(0, set_opt(s->p.tx, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
	EXPECT_EQ(0, count_messages(s, RDS6_INFO_SEND_MESSAGES, &to));
}

TEST_F_TIMEOUT(info, abi12_recv_messages, RDS_SLOW_TEST)
{
	uint64_t queued = counter(self->p.rx, "recv_queued");
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct rds6_info_message *m;
	struct rds_info_message *m4;
	unsigned int n = 0, n4 = 0;
	char data[200] = "";
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(100 + i, rds_send(self->p.tx, &self->p.rx_addr, data, 100 + i, 0));
	while (counter(self->p.rx, "recv_queued") < queued + 3 && now_ms() < end)
		nap();
	list_read(self->p.tx, RDS6_INFO_RECV_MESSAGES, &self->l);
	EXPECT_EQ(sizeof(*m), self->l.stride);
	for_each_record(m, self->l) {
		/* others' messages are none of ours */
		if (m->lport != self->p.rx_addr.in.sin_port)
			continue;
		EXPECT_TRUE(is_addr(m->laddr, &self->p.rx_addr));
		EXPECT_TRUE(is_addr(m->faddr, &self->p.tx_addr));
		EXPECT_EQ(self->p.tx_addr.in.sin_port, m->fport);
		EXPECT_EQ(100 + n, m->len);
		EXPECT_GE(m->seq, 2);
		EXPECT_EQ(0, m->flags);
		n++;
	}
	EXPECT_EQ(3, n);
	list_read(self->p.tx, RDS_INFO_RECV_MESSAGES, &self->l);
	EXPECT_EQ(sizeof(*m4), self->l.stride);
	for_each_record(m4, self->l)
		n4 += m4->lport == self->p.rx_addr.in.sin_port &&
		      m4->fport == self->p.tx_addr.in.sin_port;
	EXPECT_EQ(is_v4(&self->p.rx_addr) ? 3 : 0, n4);
}

/* --- what waits for the peer, on RDMA --- */

FIXTURE(waiting) {
	struct rds_pair	p;
	struct list	l;
	long		max_unacked;
};
FIXTURE_VARIANT(waiting) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(waiting, rxe) { BED_RXE };
FIXTURE_VARIANT_ADD(waiting, rxe6) { BED_RXE6 };

FIXTURE_SETUP(waiting)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->max_unacked = sysctl_get("max_unacked_packets");
}

FIXTURE_TEARDOWN(waiting)
{
	EXPECT_EQ(0, sysctl_set("max_unacked_packets", self->max_unacked));
	pair_close(&self->p);
}

static unsigned int unacknowledged(struct __test_metadata *_metadata, FIXTURE_DATA(waiting) *self)
{
	struct rds6_info_message *m;
	unsigned int n = 0;

	EXPECT_LE(0, list_read(self->p.tx, RDS6_INFO_RETRANS_MESSAGES, &self->l));
	for_each_record(m, self->l) {
		if (!is_addr(m->laddr, &self->p.tx_addr) || m->lport != self->p.tx_addr.in.sin_port)
			continue;
		EXPECT_TRUE(is_addr(m->faddr, &self->p.rx_addr));
		EXPECT_EQ(self->p.rx_addr.in.sin_port, m->fport);
		EXPECT_EQ(100, m->len);
		EXPECT_EQ(0, m->flags);
		n++;
	}
	return n;
}

/* Sent, received, and not acknowledged, as nobody asked; another one if just then something else took an acknowledgement
 * along.  Mainline shows 0.0.0.0 for both ends.
 */
TEST_F_TIMEOUT(waiting, abi12_better_retrans_messages, RDS_SLOW_TEST)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char data[100] = "";
	unsigned int n;

	ASSERT_EQ(0, sysctl_set("max_unacked_packets", 2000));
	do {
		ASSERT_EQ(100, rds_send(self->p.tx, &self->p.rx_addr, data, sizeof(data), 0));
		ASSERT_EQ(100, rds_recv_wait(self->p.rx, data, sizeof(data), NULL));
		n = unacknowledged(_metadata, self);
	} while (!n && now_ms() < end);
	EXPECT_LE(1, n);
}

TEST_F_TIMEOUT(waiting, abi12_connecting_flag, RDS_SLOW_TEST)
{
	union rds_addr to = addr_with_port(&self->p.rx_addr, 7000);
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct rds6_info_connection_tos *c;
	unsigned int flags = 0;

	if (is_v4(&to))
		((unsigned char *)&to.in.sin_addr)[3] = 253;
	else
		to.in6.sin6_addr.s6_addr[15] = 253;
	ASSERT_EQ(1, rds_send(self->p.tx, &to, "x", 1, 0));
	while (!(flags & RDS_INFO_CONNECTION_FLAG_CONNECTING) && now_ms() < end) {
		nap();
		ASSERT_LE(1, list_read(self->p.tx, RDS6_INFO_CONNECTIONS, &self->l));
		for_each_record(c, self->l)
			if (is_addr(c->faddr, &to) && is_addr(c->laddr, &self->p.tx_addr))
				flags |= c->flags;
	}
	EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTING, flags & ~RDS_INFO_CONNECTION_FLAG_SENDING);
	ASSERT_EQ(0, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &to, addr_len(&to)));
}

/* --- the protocol --- */

static const int lists[] = {
	RDS_INFO_CONNECTIONS, RDS_INFO_SEND_MESSAGES, RDS_INFO_RETRANS_MESSAGES,
	RDS_INFO_RECV_MESSAGES, RDS_INFO_SOCKETS, RDS_INFO_IB_CONNECTIONS,
	RDS6_INFO_CONNECTIONS, RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES,
	RDS6_INFO_RECV_MESSAGES, RDS6_INFO_SOCKETS, RDS6_INFO_IB_CONNECTIONS, RDS_INFO_PATHS,
	RDS_INFO_DEVICES,
};

TEST_F_TIMEOUT(info, abi12_too_short, RDS_SLOW_TEST)
{
	char guarded[4] = { 7, 7, 7, 7 };
	socklen_t len = 0;
	int n;

	/* both sockets are there, maybe others of other families */
	EXPECT_EQ(-1, getsockopt(self->p.rx, SOL_RDS, RDS6_INFO_SOCKETS, NULL, &len));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_GE(len, 2 * sizeof(struct rds6_info_socket_ext));
	EXPECT_EQ(0, len % sizeof(struct rds6_info_socket_ext));
	n = len;
	len = 3;
	EXPECT_EQ(-1, getsockopt(self->p.rx, SOL_RDS, RDS6_INFO_SOCKETS, guarded, &len));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(n, len);
	EXPECT_EQ(7, guarded[3]);
}

/* Each list, with each length and place that a caller may come up with. */
TEST_F_TIMEOUT(info, abi12_D28_lengths_and_pointers, RDS_SLOW_TEST)
{
	static const int lengths[] = { -1, INT_MIN, INT_MAX };
	void *bad[] = { unmapped_page(_metadata), (void *)KERNEL_ADDR };
	unsigned int i, j;
	socklen_t len;
	int n;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			len = lengths[j];
			n = getsockopt(self->p.rx, SOL_RDS, lists[i], self->l.bytes, &len);
			EXPECT_EQ(-1, n);
			EXPECT_EQ(EINVAL, errno) {
				TH_LOG("list %d, length %d", lists[i], lengths[j]);
			}
		}
		n = list_read(self->p.rx, lists[i], &self->l);
		ASSERT_LE(0, n);
		for (j = 0; n && j < ARRAY_SIZE(bad); j++) {
			len = INFO_MAX_BYTES;
			EXPECT_EQ(-1, getsockopt(self->p.rx, SOL_RDS, lists[i], bad[j], &len));
			EXPECT_EQ(EFAULT, errno);
		}
		EXPECT_EQ(-1, getsockopt(self->p.rx, SOL_RDS, lists[i], self->l.bytes, bad[0]));
		EXPECT_EQ(EFAULT, errno);
	}
}

TEST_F_TIMEOUT(info, D70_abi12_absent, RDS_SLOW_TEST)
{
	static const int absent[] = { RDS_INFO_TCP_SOCKETS, RDS6_INFO_TCP_SOCKETS,
				      RDS_INFO_CONNECTION_STATS, RDS_INFO_IWARP_CONNECTIONS };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(absent); i++)
		EXPECT_EQ(-ENOPROTOOPT, list_read(self->p.rx, absent[i], &self->l));
}

static int read_all_lists(void *arg)
{
	struct list *l = arg;
	unsigned int i;
	int fd;

	if (become_nobody(0))
		return 1;
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		if (list_read(fd, lists[i], l) < 0)
			return 2 + i;
	return list_read(fd, RDS6_INFO_SOCKETS, l) >= 3 ? 0 : 100;
}

TEST_F_TIMEOUT(info, abi12_read_by_nobody, RDS_SLOW_TEST)
{
	EXPECT_EQ(0, in_child(read_all_lists, &self->l));
}

/* In a namespace of its own: empty lists, whatever others have. */
static int see_nothing(void *arg)
{
	struct list *l = arg;
	unsigned int i;
	socklen_t len;
	int fd, n;

	if (unshare(CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		/* namespaces may share devices */
		if (lists[i] == RDS_INFO_DEVICES)
			continue;
		n = list_read(fd, lists[i], l);
		/* our own socket, which is not bound */
		if (n != (lists[i] == RDS6_INFO_SOCKETS))
			return 2 + i;
		if (l->stride < 20)
			return 100 + i;
		len = 0;
		if (!n && (getsockopt(fd, SOL_RDS, lists[i], NULL, &len) != l->stride || len))
			return 150 + i;
	}
	return 0;
}

TEST_F_TIMEOUT(info, D27_abi12_filtered_by_namespace, RDS_SLOW_TEST)
{
	EXPECT_EQ(0, in_child(see_nothing, &self->l));
}

TEST_HARNESS_MAIN
