// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 13: types of service.  Each has a connection, a queue pair and a service level of its own. */
#include "info_list.h"

FIXTURE(tos) {
	struct rds_pair		p;
	struct list		l;
	struct rds_info_path	path;
	uint8_t			*byte;		/* the last one of a page, with nothing behind it */
};
RDS_BED_VARIANTS(tos);
RDS_BED_VARIANT_RXE6(tos);

/* The same where there is something to choose from, unlike on loopback. */
FIXTURE(device) {
	FIXTURE_DATA(tos)	tos;
};
RDS_RXE_VARIANTS(device);

static void setup_tos(struct __test_metadata *_metadata, FIXTURE_DATA(tos) *s, enum rds_bed bed)
{
	pair_open(_metadata, &s->p, bed);
	s->byte = (uint8_t *)map_guarded(_metadata, 1) + page_size() - 1;
}

FIXTURE_SETUP(tos)
{
	setup_tos(_metadata, self, variant->bed);
}

FIXTURE_TEARDOWN(tos)
{
	pair_close(&self->p);
}

FIXTURE_SETUP(device)
{
	setup_tos(_metadata, &self->tos, variant->bed);
}

FIXTURE_TEARDOWN(device)
{
	pair_close(&self->tos.p);
}

static int set_tos_at(int fd, const void *place)
{
	return ioctl(fd, SIOCRDSSETTOS, place) ? -errno : 0;
}

static int get_tos_at(int fd, void *place)
{
	return ioctl(fd, SIOCRDSGETTOS, place) ? -errno : 0;
}

static int set_tos(int fd, uint8_t tos)
{
	/* where the call is not ours, the generic layer reads more than a byte */
	char room[64] = { tos };

	return set_tos_at(fd, room);
}

/* The type of service, or -errno. */
static int get_tos(int fd)
{
	uint8_t tos = 0xee;
	int err = get_tos_at(fd, &tos);

	return err ?: tos;
}

/* --- the calls ---------------------------------------------------------- */

TEST_F_TIMEOUT(tos, abi13_settos, RDS_SLOW_TEST)
{
	int fd = rds_socket();

	EXPECT_EQ(-ENOTTY, set_tos(fd, 1));
	EXPECT_EQ(0, get_tos(fd));
	close(fd);
	EXPECT_EQ(0, get_tos(self->p.tx));
	if (!bed_is_rxe(variant->bed)) {
		EXPECT_EQ(-ENOTTY, set_tos(self->p.tx, 1));
		EXPECT_EQ(0, get_tos(self->p.tx));
		return;
	}
	/* zero is not a choice, the first other one is */
	EXPECT_EQ(0, set_tos(self->p.tx, 0));
	*self->byte = 3;
	EXPECT_EQ(0, set_tos_at(self->p.tx, self->byte));
	EXPECT_EQ(3, get_tos(self->p.tx));
	EXPECT_EQ(-EINVAL, set_tos(self->p.tx, 3));
	EXPECT_EQ(-EINVAL, set_tos(self->p.tx, 4));
	EXPECT_EQ(-EINVAL, set_tos(self->p.tx, 0));
	*self->byte = 0;
	EXPECT_EQ(0, get_tos_at(self->p.tx, self->byte));
	EXPECT_EQ(3, *self->byte);
	/* all eight bits are kept */
	EXPECT_EQ(0, set_tos(self->p.rx, 255));
	EXPECT_EQ(255, get_tos(self->p.rx));
}

TEST_F_TIMEOUT(tos, abi13_tos_bad_pointers, RDS_SLOW_TEST)
{
	void *bad[] = { NULL, self->byte + 1, (void *)KERNEL_ADDR };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, set_tos_at(self->p.tx, bad[i]));
		EXPECT_EQ(-EFAULT, get_tos_at(self->p.tx, bad[i]));
	}
}

TEST_F_TIMEOUT(tos, abi13_settos_after_a_message, RDS_SLOW_TEST)
{
	char c;

	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	EXPECT_EQ(bed_is_rxe(variant->bed) ? -EINVAL : -ENOTTY, set_tos(self->p.tx, 3));
	EXPECT_EQ(0, get_tos(self->p.tx));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
}

/* --- connections -------------------------------------------------------- */

static int path_of(FIXTURE_DATA(tos) *self, const union rds_addr *from, const union rds_addr *to, uint8_t tos)
{
	return find_path(self->p.tx, &self->l, from, to, "infiniband", tos, &self->path);
}

/* What the lists say of our connection with @tos; returns its service level, or -1. */
static int listed_level(struct __test_metadata *_metadata, FIXTURE_DATA(tos) *self, uint8_t tos)
{
	struct rds6_info_rdma_connection *rdma;
	struct rds6_info_connection_tos *conn6;
	struct rds_info_connection *conn4;
	unsigned int n4 = 0, n6 = 0;
	int level = -1;

	list_read(self->p.rx, RDS_INFO_CONNECTIONS, &self->l);
	for_each_record(conn4, self->l)
		n4 += conn4->laddr == self->p.tx_addr.in.sin_addr.s_addr &&
		      conn4->faddr == self->p.rx_addr.in.sin_addr.s_addr && conn4->tos == tos;
	EXPECT_EQ(is_v4(&self->p.tx_addr), n4);
	list_read(self->p.rx, RDS6_INFO_CONNECTIONS, &self->l);
	for_each_record(conn6, self->l)
		n6 += is_addr(conn6->laddr, &self->p.tx_addr) && is_addr(conn6->faddr, &self->p.rx_addr) &&
		      conn6->tos == tos;
	EXPECT_EQ(1, n6);
	list_read(self->p.rx, RDS6_INFO_IB_CONNECTIONS, &self->l);
	for_each_record(rdma, self->l)
		if (is_addr(rdma->src_addr, &self->p.tx_addr) && is_addr(rdma->dst_addr, &self->p.rx_addr) &&
		    rdma->tos == tos)
			level = rdma->sl;
	return level;
}

/* Two sockets of one address, one of them with @tos, send to a third; each has an order of its own. */
static void send_on_both(struct __test_metadata *_metadata, FIXTURE_DATA(tos) *self, uint8_t tos)
{
	struct rds6_info_message *listed;
	union rds_addr addr = addr_with_port(&self->p.tx_addr, 0);
	int64_t end = now_ms() + RDS_WAIT_MS;
	unsigned int i, which, seen[2] = { 0 };
	struct rds_msg_in from;
	uint64_t queued = counter(self->p.rx, "recv_queued");
	int other = open_bound(_metadata, &addr);

	ASSERT_EQ(0, set_tos(self->p.tx, tos));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(sizeof(i), rds_send(self->p.tx, &self->p.rx_addr, &i, sizeof(i), 0));
		ASSERT_EQ(sizeof(i), rds_send(other, &self->p.rx_addr, &i, sizeof(i), 0));
	}
	while (counter(self->p.rx, "recv_queued") < queued + 40 && now_ms() < end)
		nap();
	list_read(self->p.rx, RDS6_INFO_RECV_MESSAGES, &self->l);
	for_each_record(listed, self->l)
		if (listed->lport == self->p.rx_addr.in.sin_port)
			EXPECT_EQ(listed->fport == self->p.tx_addr.in.sin_port ? tos : 0, listed->tos);
	while (seen[0] + seen[1] < 40) {
		ASSERT_EQ(sizeof(i), rds_recv_wait(self->p.rx, &i, sizeof(i), &from));
		which = addr_equal(&from.from, &self->p.tx_addr);
		ASSERT_EQ(seen[which]++, i);
	}
	close(other);
}

TEST_F_TIMEOUT(device, each_has_its_own_connection, RDS_SLOW_TEST)
{
	FIXTURE_DATA(tos) *s = &self->tos;
	send_on_both(_metadata, s, 0xf5);
	EXPECT_EQ(5, listed_level(_metadata, s, 0xf5));
	ASSERT_EQ(1, path_of(s, &s->p.tx_addr, &s->p.rx_addr, 0xf5));
	EXPECT_EQ(RDS_INFO_PATH_UP, s->path.state);
	EXPECT_GE(s->path.requests, 1);
	/* the other end of it */
	ASSERT_EQ(1, path_of(s, &s->p.rx_addr, &s->p.tx_addr, 0xf5));
	EXPECT_GE(s->path.accepts, 1);
	EXPECT_NE(-1, listed_level(_metadata, s, 0));
}

TEST_F_TIMEOUT(device, rdma_and_answers, RDS_SLOW_TEST)
{
	FIXTURE_DATA(tos) *s = &self->tos;
	static char target[5000], source[5000];
	rds_rdma_cookie_t cookie;
	char c;

	ASSERT_EQ(0, set_tos(s->p.tx, 5));
	fill(source, sizeof(source), 1);
	ASSERT_EQ(0, get_mr(s->p.rx, target, sizeof(target), RDS_RDMA_READWRITE, &cookie));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(s->p.tx, &s->p.rx_addr, cookie, 0, source,
					     sizeof(source), RDS_RDMA_READWRITE));
	EXPECT_EQ(0, memcmp(source, target, sizeof(source)));
	ASSERT_EQ(0, free_mr(s->p.rx, cookie));
	/* who receives with one answers with his own, and an address reaches itself with any */
	ASSERT_EQ(1, rds_send(s->p.rx, &s->p.tx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(s->p.tx, &c, 1, NULL));
	ASSERT_EQ(1, rds_send(s->p.tx, &s->p.tx_addr, "y", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(s->p.tx, &c, 1, NULL));
	EXPECT_EQ('y', c);
}

/* Only the connection with that type of service. */
TEST_F_TIMEOUT(device, reset_of_one, RDS_SLOW_TEST)
{
	FIXTURE_DATA(tos) *s = &self->tos;
	int64_t end = now_ms() + RDS_WAIT_MS;
	uint64_t drops, others;

	send_on_both(_metadata, s, 0xf5);
	ASSERT_EQ(1, path_of(s, &s->p.tx_addr, &s->p.rx_addr, 0));
	others = s->path.nr_drops;
	ASSERT_EQ(1, path_of(s, &s->p.tx_addr, &s->p.rx_addr, 0xf5));
	drops = s->path.nr_drops;
	ASSERT_EQ(0, reset_conn(s->p.tx, 0xf5, &s->p.tx_addr, &s->p.rx_addr));
	do {
		nap();
		ASSERT_EQ(1, path_of(s, &s->p.tx_addr, &s->p.rx_addr, 0xf5));
	} while (s->path.nr_drops == drops && now_ms() < end);
	EXPECT_NE(NULL, find_drop(&s->path, "user_reset"));
	ASSERT_EQ(1, path_of(s, &s->p.tx_addr, &s->p.rx_addr, 0));
	EXPECT_EQ(others, s->path.nr_drops);
}

TEST_HARNESS_MAIN
