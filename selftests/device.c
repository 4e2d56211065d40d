// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA devices that come and go under sockets: D22, D38, D39, D40, D64; see vm/device.sh. */
#include "rds_test.h"

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
	volatile bool		stop;
};
FIXTURE_VARIANT(gone) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(gone, rxe) { BED_RXE };
FIXTURE_VARIANT_ADD(gone, rxe6) { BED_RXE6 };

FIXTURE_SETUP(gone)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->remote = map_guarded(_metadata, LEN);
	self->local = map_guarded(_metadata, LEN);
	self->stop = false;
}

FIXTURE_TEARDOWN(gone)
{
	pair_close(&self->p);
}

/* Messages and operations work, with the sockets that there are and a new key. */
static void expect_works(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self)
{
	rds_rdma_cookie_t cookie;
	char c = 0;

	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
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

/* --- traffic --- */

struct flow {
	FIXTURE_DATA(gone)	*self;
	pthread_t		thread;
	unsigned int		done;
	int			error;
};

static void *send_numbers(void *arg)
{
	struct flow *f = arg;
	FIXTURE_DATA(gone) *self = f->self;
	char buf[6000] = "";
	ssize_t n;

	while (!self->stop) {
		memcpy(buf, &f->done, sizeof(f->done));
		n = rds_send(self->p.tx, &self->p.rx_addr, buf, sizeof(f->done) + f->done % 5000,
			     MSG_DONTWAIT);
		if (n > 0)
			f->done++;
		else if (n == -EAGAIN || n == -ENOBUFS)
			ready(self->p.tx, POLLIN, 5);
		else
			f->error = n;
	}
	return NULL;
}

/* What was accepted arrives, once and in order, whatever becomes of devices. */
static void *recv_numbers(void *arg)
{
	struct flow *f = arg;
	unsigned int seq = 0;
	char buf[6000];
	ssize_t n;

	for (;;) {
		n = rds_recv_wait(f->self->p.rx, buf, sizeof(buf), NULL);
		if (n == 1)
			return NULL;
		memcpy(&seq, buf, sizeof(seq));
		if (n != sizeof(seq) + f->done % 5000 || seq != f->done) {
			f->error = n < 0 ? n : -EBADMSG;
			return NULL;
		}
		f->done++;
	}
}

static void *register_and_free(void *arg)
{
	struct flow *f = arg;
	FIXTURE_DATA(gone) *self = f->self;
	rds_rdma_cookie_t cookie;
	int err;

	while (!self->stop) {
		err = get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie);
		/* a key of a device that is gone opens nothing, and is still to be freed */
		if (!err)
			err = free_mr(self->p.rx, cookie);
		if (err == -EINVAL || err == -EFAULT || err == -ENOTCONN)
			f->error = err;
		f->done += !err;
	}
	return NULL;
}

/* Operations with arbitrary keys: each is told of once. */
static void *run_operations(void *arg)
{
	struct flow *f = arg;
	FIXTURE_DATA(gone) *self = f->self;
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int status, fd = rds_socket();

	f->error = rds_bind(fd, &a);
	while (!self->stop && !f->error) {
		status = rdma_run(fd, &self->p.rx_addr, 0x1234, 0, self->local, LEN, WRITE);
		if (status < 0)
			f->error = status;
		f->done++;
	}
	close(fd);
	return NULL;
}

static void flow_start(struct __test_metadata *_metadata, FIXTURE_DATA(gone) *self, struct flow *f,
		       void *(*fn)(void *))
{
	*f = (struct flow){ .self = self };
	ASSERT_EQ(0, pthread_create(&f->thread, NULL, fn, f));
}

static void flow_end(struct __test_metadata *_metadata, struct flow *f, const char *what)
{
	ASSERT_EQ(0, pthread_join(f->thread, NULL));
	EXPECT_EQ(0, f->error) {
		TH_LOG("%s, after %u: %s", what, f->done, strerror(-f->error));
	}
	EXPECT_GT(f->done, 0) {
		TH_LOG("%s", what);
	}
}

#define ROUNDS	4

static void come_and_go(struct __test_metadata *_metadata)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		usleep(300000);
		device_delete(_metadata);
		device_add(_metadata);
	}
	usleep(300000);
}

/* D64: receive completions of a device that goes are handled to the last. */
TEST_F_TIMEOUT(gone, D39_D64_under_traffic, RDS_SLOW_TEST)
{
	struct flow out, in;

	flow_start(_metadata, self, &out, send_numbers);
	flow_start(_metadata, self, &in, recv_numbers);
	come_and_go(_metadata);
	self->stop = true;
	flow_end(_metadata, &out, "sender");
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "e", 1, 0));
	flow_end(_metadata, &in, "receiver");
	EXPECT_EQ(out.done, in.done);
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(gone, D22_D39_under_registrations, RDS_SLOW_TEST)
{
	struct flow f[4];
	int i;

	for (i = 0; i < 4; i++)
		flow_start(_metadata, self, &f[i], i ? register_and_free : run_operations);
	come_and_go(_metadata);
	self->stop = true;
	for (i = 0; i < 4; i++)
		flow_end(_metadata, &f[i], i ? "registrations" : "operations");
	EXPECT_TRUE(pinned_settles_at(0));
	expect_works(_metadata, self);
}

/* A key and its pages live on without their device, opening nothing. */
TEST_F_TIMEOUT(gone, D39_key_of_a_device_that_went, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t cookie, other;
	int status;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &cookie));
	memset(self->remote, 0x33, LEN);
	device_delete(_metadata);
	EXPECT_LT(0, pinned_bytes());
	EXPECT_GT(0, get_mr(self->p.rx, self->remote, LEN, WRITE, &other));
	device_add(_metadata);
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
