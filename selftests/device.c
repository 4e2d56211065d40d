// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA devices that come and go under sockets: D38, D39, D40; see vm/device.sh. */
#include "info_list.h"
#include "sysctl.h"

#define WRITE	RDS_RDMA_READWRITE
#define LEN	9000

static void run(struct __test_metadata *_metadata, const char *command)
{
	ASSERT_EQ(0, system(command)) {
		TH_LOG("%s", command);
	}
}

static void device_delete(struct __test_metadata *_metadata)
{
	run(_metadata, "rdma link delete rxe0");
}

static void device_add(struct __test_metadata *_metadata)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	run(_metadata, "rdma link add rxe0 type rxe netdev ${NETDEV:-eth0}");
	while (system("rdma link show rxe0/1 | grep -q 'state ACTIVE'")) {
		ASSERT_LT(now_ms(), end);
		usleep(100000);
	}
}

FIXTURE(gone) {
	struct rds_pair		p;
	char			*remote;
	char			*local;
};
FIXTURE_VARIANT(gone) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(gone, rxe) { BED_RXE };
FIXTURE_VARIANT_ADD(gone, rxe6) { BED_RXE6 };

FIXTURE_SETUP(gone)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->remote = map_guarded(_metadata, LEN);
	self->local = map_guarded(_metadata, LEN);
}

FIXTURE_TEARDOWN(gone)
{
	pair_close(&self->p);
}

/* An attempt to connect that was under way when its device went has to time out first. */
static void wait_for_message(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self)
{
	int tries = 6;

	while (!(ready(self->p.rx, POLLIN, RDS_WAIT_MS) & POLLIN) && tries--)
		;
}

/* Messages and operations work, with the sockets that there are and a new key. */
static void expect_works(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self)
{
	rds_rdma_cookie_t cookie;
	char c = 0;

	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	wait_for_message(_metadata, self);
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
	memset(self->local, 0x77, LEN);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, LEN,
					     WRITE));
	EXPECT_TRUE(all_bytes(self->remote, LEN, 0x77));
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
}

TEST_F_TIMEOUT(gone, D38_unread_messages, RDS_SLOW_TEST)
{
	static char out[20000], in[20000];
	int i, left;
	char c;

	for (left = 0; left < 2; left++) {
		for (i = 0; i < 10; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_send(self->p.tx, &self->p.rx_addr, out, 2000 * i, 0));
		}
		/* one more, which tells that it was the last */
		ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "l", 1, 0));
		for (i = 0; i < 5; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(out, in, 2000 * i));
		}
		device_delete(_metadata);
		for (; i < 8; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(out, in, 2000 * i));
		}
		if (left) {
			/* the rest is never read */
			close(self->p.rx);
			device_add(_metadata);
			self->p.rx = open_bound(_metadata, &self->p.rx_addr);
			break;
		}
		device_add(_metadata);
		for (; i < 10; i++) {
			ASSERT_EQ(2000 * i, rds_recv_wait(self->p.rx, in, sizeof(in), NULL));
		}
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	}
	expect_works(_metadata, self);
}

/* A device has as many receive buffers as were asked for when it was added; the last number is the default. */
TEST_F_TIMEOUT(gone, abi17_ib_max_recv_wr, RDS_SLOW_TEST)
{
	static const struct { int asked, got; } rows[] = { { 1, 64 }, { 100, 100 }, { 512, 512 } };
	struct rds6_info_rdma_connection *c;
	static struct list l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT_EQ(0, sysctl_set("ib/max_recv_wr", rows[i].asked));
		device_delete(_metadata);
		device_add(_metadata);
		expect_works(_metadata, self);
		c = rdma_connection_from(self->p.tx, &self->p.tx_addr, &l);
		ASSERT_NE(NULL, c);
		EXPECT_EQ(rows[i].got, c->max_recv_wr);
	}
}

/* A key and its pages live on without their device, opening nothing. */
TEST_F_TIMEOUT(gone, D39_key_of_a_device_that_went, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t cookie, other;
	int status;
	char c;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie));
	memset(self->remote, 0x33, LEN);
	device_delete(_metadata);
	EXPECT_LT(0, pinned_bytes());
	EXPECT_GT(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &other));
	device_add(_metadata);
	/* connected anew */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "c", 1, 0));
	wait_for_message(_metadata, self);
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	status = rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, LEN, WRITE);
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, status);
	EXPECT_TRUE(all_bytes(self->remote, LEN, 0x33));
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
	EXPECT_EQ(-EINVAL, free_mr(self->p.rx, cookie));
	EXPECT_EQ(0, pinned_bytes());
	expect_works(_metadata, self);
}

/* --- D40: devices without hardware behind them --- */

FIXTURE(parentless) {
	struct rds_pair	p;
};
FIXTURE_VARIANT(parentless) {
	const char	*netdev;
	const char	*make;
};
FIXTURE_VARIANT_ADD(parentless, dummy) {
	"dummy7", "ip link add dummy7 type dummy"
};
FIXTURE_VARIANT_ADD(parentless, bridge) {
	"br7", "ip link add br7 type bridge && ip link add dummy8 type dummy && "
	       "ip link set dummy8 master br7 && ip link set dummy8 up"
};

FIXTURE_SETUP(parentless)
{
	char command[256];

	run(_metadata, variant->make);
	snprintf(command, sizeof(command), "ip addr add 10.77.0.1/24 dev %s && "
		 "ip addr add 10.77.0.2/24 dev %s && ip link set %s up && "
		 "rdma link add rxe7 type rxe netdev %s",
		 variant->netdev, variant->netdev, variant->netdev, variant->netdev);
	run(_metadata, command);
}

FIXTURE_TEARDOWN(parentless)
{
	char command[128];

	pair_close(&self->p);
	/* devices go with their interfaces */
	snprintf(command, sizeof(command), "ip link delete %s", variant->netdev);
	run(_metadata, command);
	if (system("ip link delete dummy8 2>/dev/null")) {
		/* only the bridge had one */
	}
}

TEST_F_TIMEOUT(parentless, D40_traffic, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, LEN), *local = map_guarded(_metadata, LEN), c = 0;
	rds_rdma_cookie_t cookie;

	self->p.tx_addr = addr_make("10.77.0.1", 0);
	self->p.rx_addr = addr_make("10.77.0.2", 0);
	self->p.tx = open_bound_soon(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound_soon(_metadata, &self->p.rx_addr);
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "m", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('m', c);
	fill(local, LEN, 1);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, LEN, WRITE, &cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, LEN,
					     WRITE));
	EXPECT_EQ(0, memcmp(local, remote, LEN));
}

TEST_HARNESS_MAIN
