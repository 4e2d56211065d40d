// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA that must fail: a key opens what was registered, for as long, and nothing else. */
#include "rds_test.h"

#define WRITE	RDS_RDMA_READWRITE
#define READ	0
#define LEN	10000	/* registered, from START on */
#define START	1000

FIXTURE(error) {
	struct rds_pair		p;
	char			*remote;	/* 8 pages */
	char			*local;		/* 8 pages */
	size_t			size;
	rds_rdma_cookie_t	cookie;		/* of LEN bytes at remote + START */
};
RDS_BED_VARIANTS(error);

FIXTURE_SETUP(error)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->size = 8 * page_size();
	self->remote = map_guarded(_metadata, self->size);
	self->local = map_guarded(_metadata, self->size);
	memset(self->remote, 0x33, self->size);
	memset(self->local, 0x77, self->size);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote + START, LEN, WRITE, &self->cookie));
}

FIXTURE_TEARDOWN(error)
{
	pair_close(&self->p);
}

/* The operation fails with REMOTE_ERROR and moves nothing; then all goes on. */
static void expect_refused(struct __test_metadata *_metadata, FIXTURE_DATA(error) *self,
			   rds_rdma_cookie_t cookie, uint64_t offset, size_t len, uint64_t flags)
{
	int status = rdma_run(self->p.tx, &self->p.rx_addr, cookie, offset, self->local, len, flags);
	char c = 0;

	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, status) {
		TH_LOG("%s of %zu bytes at %lld", flags & WRITE ? "write" : "read", len,
		       (long long)offset);
	}
	EXPECT_TRUE(all_bytes(self->remote, self->size, 0x33));
	EXPECT_TRUE(all_bytes(self->local, self->size, 0x77));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
}

static void expect_works(struct __test_metadata *_metadata, FIXTURE_DATA(error) *self)
{
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, LEN - 1,
					     "z", 1, WRITE));
	EXPECT_EQ('z', self->remote[START + LEN - 1]);
}

TEST_F_TIMEOUT(error, behind_the_registered_bytes, RDS_SLOW_TEST)
{
	expect_refused(_metadata, self, self->cookie, LEN, 1, WRITE);
	expect_refused(_metadata, self, self->cookie, LEN, 1, READ);
	expect_refused(_metadata, self, self->cookie, LEN + 4096, 16, WRITE);
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, across_the_end, RDS_SLOW_TEST)
{
	expect_refused(_metadata, self, self->cookie, LEN - 1, 2, WRITE);
	expect_refused(_metadata, self, self->cookie, LEN - 1, 2, READ);
	expect_refused(_metadata, self, self->cookie, 0, LEN + 1, WRITE);
	expect_works(_metadata, self);
}

/* A cookie's high half is the offset of the first byte: a peer may lower it. */
TEST_F_TIMEOUT(error, before_the_registered_bytes, RDS_SLOW_TEST)
{
	expect_refused(_metadata, self, self->cookie - (1ULL << 32), 0, 1, WRITE);
	expect_refused(_metadata, self, self->cookie - (1ULL << 32), 0, 2, WRITE);
	expect_refused(_metadata, self, self->cookie - ((uint64_t)START << 32), 0, 1, READ);
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, offset_that_wraps, RDS_SLOW_TEST)
{
	static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 100, 1ULL << 63, 1ULL << 32 };
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		status = rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, offsets[i],
				  self->local, 16, WRITE);
		EXPECT_TRUE(status == RDS_RDMA_REMOTE_ERROR || status == -EINVAL) {
			TH_LOG("status %d at offset %llx", status, (unsigned long long)offsets[i]);
		}
		EXPECT_TRUE(all_bytes(self->remote, self->size, 0x33));
	}
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, D21_freed_key, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t old = self->cookie;

	ASSERT_EQ(0, free_mr(self->p.rx, old));
	expect_refused(_metadata, self, old, 0, 1, WRITE);
	expect_refused(_metadata, self, old, 0, 1, READ);
	/* a new key of the same bytes is another one */
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote + START, LEN, WRITE, &self->cookie));
	EXPECT_NE(old, self->cookie);
	expect_refused(_metadata, self, old, 0, 1, WRITE);
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, guessed_keys, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t cookie = self->cookie;

	expect_refused(_metadata, self, cookie ^ 1, 0, 1, WRITE);
	expect_refused(_metadata, self, cookie ^ (1 << 20), 0, 1, WRITE);
	expect_refused(_metadata, self, 0, 0, 1, WRITE);
	expect_refused(_metadata, self, 0xffffffff, 0, 1, READ);
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, key_of_a_closed_socket, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->p.rx_addr, 0);
	int fd = open_bound(_metadata, &a);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(fd, self->remote, 100, WRITE, &cookie));
	close(fd);
	expect_refused(_metadata, self, cookie, 0, 1, WRITE);
}

TEST_F_TIMEOUT(error, one_bad_among_good_ones, RDS_SLOW_TEST)
{
	uint64_t token = 0, seen = 0;
	int i, status, bad = 0;

	/* what was queued behind the failure is executed or reported, never lost */
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie,
				     i == 7 ? LEN : i * 8, self->local, 8,
				     WRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, i));
	}
	for (i = 0; i < 20; i++) {
		status = rdma_status(self->p.tx, &token);
		ASSERT_GE(status, 0);
		ASSERT_LT(token, 20);
		ASSERT_FALSE(seen & (1 << token));
		seen |= 1 << token;
		if (token == 7) {
			EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, status);
		} else if (status == RDS_RDMA_SUCCESS) {
			EXPECT_TRUE(all_bytes(self->remote + START + token * 8, 8, 0x77));
		} else {
			EXPECT_TRUE(token > 7 && status == RDS_RDMA_DROPPED) {
				TH_LOG("token %u: status %d", (unsigned int)token, status);
			}
			bad++;
		}
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
	/* without a wire there is no connection that could break */
	if (!bed_is_rxe(variant->bed)) {
		EXPECT_EQ(0, bad);
	}
	expect_works(_metadata, self);
}

/* --- connections that break: on a device, a failed operation takes its connection along --- */

/* False if the receiver has to read first. */
static bool break_connection(struct __test_metadata *_metadata, FIXTURE_DATA(error) *self, int fd)
{
	struct rds_iovec iov = { (uintptr_t)self->local, 8 };
	struct rds_msg_out m;
	ssize_t n;

	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_rdma(&m, self->cookie, LEN, 8, &iov, 1, WRITE | RDS_RDMA_SILENT, 0);
	n = msg_send(fd, &m, MSG_DONTWAIT);
	EXPECT_TRUE(n == 0 || n == -ENOBUFS) {
		TH_LOG("sendmsg: %s", strerror(-n));
	}
	return n == 0;
}

#define BREAKS		8
/* Messages around it arrive once and in order (design: promise 2). */
TEST_F_TIMEOUT(error, D50_messages_survive_broken_connections, RDS_SLOW_TEST)
{
	unsigned int i, seq;

	for (i = 0; i < 40; i++) {
		ASSERT_EQ(sizeof(i), rds_send(self->p.tx, &self->p.rx_addr, &i, sizeof(i), 0));
		if (i == 10 || i == 30) {
			ASSERT_TRUE(break_connection(_metadata, self, self->p.tx));
		}
	}
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(sizeof(seq), rds_recv_wait(self->p.rx, &seq, sizeof(seq), NULL));
		ASSERT_EQ(i, seq);
	}
}

/* Each operation is told of once, and success means that its message is there, once. */
TEST_F_TIMEOUT(error, D23_once_each_over_broken_connections, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int breaker = open_bound(_metadata, &a);
	unsigned char told[BREAKS * 8] = "", came[BREAKS * 8] = "", ok[BREAKS * 8] = "";
	struct rds_iovec iov = { (uintptr_t)self->local, LEN };
	unsigned int i, j, seq, total = BREAKS * 8;
	struct rds_msg_out m;
	uint64_t token = 0;
	int status;

	for (i = seq = 0; i < BREAKS; i++) {
		for (j = 0; j < 8; j++, seq++) {
			msg_init(&m, &self->p.rx_addr, &seq, sizeof(seq));
			msg_rdma(&m, self->cookie, 0, LEN, &iov, 1, WRITE | RDS_RDMA_NOTIFY_ME, seq);
			ASSERT_EQ(sizeof(seq), msg_send(self->p.tx, &m, 0));
			if (j == i) {
				ASSERT_TRUE(break_connection(_metadata, self, breaker));
			}
		}
		for (j = 0; j < 8; j++) {
			status = rdma_status(self->p.tx, &token);
			ASSERT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_DROPPED) {
				TH_LOG("status %d of %u", status, (unsigned int)token);
			}
			ASSERT_LT(token, total);
			told[token]++;
			ok[token] = status == RDS_RDMA_SUCCESS;
		}
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
	/* behind this one is nothing */
	seq = total;
	ASSERT_EQ(sizeof(seq), rds_send(self->p.tx, &self->p.rx_addr, &seq, sizeof(seq), 0));
	for (;;) {
		ASSERT_EQ(sizeof(seq), rds_recv_wait(self->p.rx, &seq, sizeof(seq), NULL));
		if (seq == total)
			break;
		ASSERT_LT(seq, total);
		came[seq]++;
	}
	for (i = 0; i < total; i++) {
		EXPECT_EQ(1, told[i]);
		EXPECT_LE(came[i], 1);
		EXPECT_TRUE(came[i] || !ok[i]) {
			TH_LOG("message %u was lost", i);
		}
	}
	close(breaker);
}

#define LIVE	8

TEST_F_TIMEOUT(error, D21_keys_over_broken_connections, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int i, j, status, breaker = open_bound(_metadata, &a);
	rds_rdma_cookie_t live[LIVE] = { 0 }, old;

	for (i = 0; i < 5 * LIVE; i++) {
		old = live[i % LIVE];
		if (old) {
			ASSERT_EQ(0, free_mr(self->p.rx, old));
		}
		ASSERT_EQ(0, get_mr(self->p.rx, self->remote + START, LEN, WRITE, &live[i % LIVE]));
		for (j = 0; j < LIVE; j++) {
			ASSERT_TRUE(j == i % LIVE || live[j] != live[i % LIVE]);
		}
		ASSERT_NE(old, live[i % LIVE]);
		if (i % LIVE == 3) {
			ASSERT_TRUE(break_connection(_metadata, self, breaker));
		}
		status = rdma_run(self->p.tx, &self->p.rx_addr, live[i % LIVE], 0, self->local, LEN,
				  WRITE);
		ASSERT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_DROPPED) {
			TH_LOG("status %d of key %d", status, i);
		}
		if (old && i % LIVE == 5) {
			memset(self->remote, 0x33, self->size);
			memset(self->local, 0x77, self->size);
			expect_refused(_metadata, self, old, 0, 1, WRITE);
		}
	}
	close(breaker);
	expect_works(_metadata, self);
}

#define REGISTRARS	4

struct registrar {
	int	fd;
	char	*buf;
	int	error;
};

static void *register_and_free(void *arg)
{
	struct registrar *r = arg;
	rds_rdma_cookie_t cookie;
	int i;

	for (i = 0; i < 100 && !r->error; i++) {
		r->error = get_mr(r->fd, r->buf, LEN, WRITE, &cookie);
		if (!r->error)
			r->error = free_mr(r->fd, cookie);
	}
	return NULL;
}

TEST_F_TIMEOUT(error, D22_registering_over_broken_connections, RDS_SLOW_TEST)
{
	struct registrar r[REGISTRARS];
	pthread_t thread[REGISTRARS];
	char c = 0;
	int i;

	for (i = 0; i < REGISTRARS; i++) {
		r[i] = (struct registrar){ i % 2 ? self->p.rx : self->p.tx,
					   map_guarded(_metadata, LEN) };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, register_and_free, &r[i]));
	}
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(break_connection(_metadata, self, self->p.tx));
		ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	}
	for (i = 0; i < REGISTRARS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, r[i].error);
	}
	expect_works(_metadata, self);
}

/* A write behind the registered bytes, whose end nobody has asked for. */
static void fail_unasked(struct __test_metadata *_metadata, FIXTURE_DATA(error) *self, int recverr, uint64_t token)
{
	ASSERT_EQ(0, set_opt(self->p.tx, RDS_RECVERR, &recverr, sizeof(recverr)));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, LEN, self->local, 8,
			     WRITE | RDS_RDMA_SILENT, token));
}

/* As DROPPED, whatever the reason; the option counts when the operation is sent. */
TEST_F_TIMEOUT(error, abi7_recverr_reports_failures, RDS_SLOW_TEST)
{
	int status, on = 1, off = 0;
	uint64_t token = 0;

	fail_unasked(_metadata, self, on, 3);
	ASSERT_EQ(0, set_opt(self->p.tx, RDS_RECVERR, &off, sizeof(off)));
	EXPECT_EQ(RDS_RDMA_DROPPED, rdma_status(self->p.tx, &token));
	EXPECT_EQ(3, token);

	/* without it nothing is told: what ends behind it comes first */
	fail_unasked(_metadata, self, off, 4);
	ASSERT_EQ(0, set_opt(self->p.tx, RDS_RECVERR, &on, sizeof(on)));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, self->local, 8,
			     WRITE | RDS_RDMA_SILENT | RDS_RDMA_NOTIFY_ME, 5));
	status = rdma_status(self->p.tx, &token);
	EXPECT_EQ(5, token);
	/* it may have gone out already when the connection broke */
	EXPECT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_DROPPED) {
		TH_LOG("status %d", status);
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

/* --- D18: a key goes away while it is used --- */

struct writer {
	FIXTURE_DATA(error)	*self;
	int			bad;	/* a status that must not come */
};

static void *write_again_and_again(void *arg)
{
	struct writer *w = arg;
	FIXTURE_DATA(error) *self = w->self;
	int i, status;

	for (i = 0; i < 100; i++) {
		status = rdma_run(self->p.tx, &self->p.rx_addr,
				  *(volatile rds_rdma_cookie_t *)&self->cookie, 0, self->local, LEN,
				  WRITE);
		if (status != RDS_RDMA_SUCCESS && status != RDS_RDMA_REMOTE_ERROR &&
		    status != RDS_RDMA_DROPPED)
			w->bad = status ?: 1;
	}
	return NULL;
}

TEST_F_TIMEOUT(error, D18_free_while_the_peer_writes, RDS_SLOW_TEST)
{
	struct writer w = { .self = self };
	rds_rdma_cookie_t cookie;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, write_again_and_again, &w));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, free_mr(self->p.rx, self->cookie));
		/* once free_mr() has returned, the pages are ours alone */
		memset(self->remote, 0x33, self->size);
		sched_yield();
		ASSERT_TRUE(all_bytes(self->remote, self->size, 0x33));
		ASSERT_EQ(0, get_mr(self->p.rx, self->remote + START, LEN, WRITE, &cookie));
		self->cookie = cookie;
		nap();
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, w.bad);
	/* what the operations had pinned is back, only the region is left */
	EXPECT_TRUE(pinned_settles_at((START + LEN + 4095) / 4096 * 4096));
	expect_works(_metadata, self);
}

TEST_F_TIMEOUT(error, abi15_D17_close_with_operations_under_way, RDS_SLOW_TEST)
{
	long pinned = pinned_bytes();
	union rds_addr a;
	int i, j, fd;

	for (i = 0; i < 30; i++) {
		a = addr_with_port(&self->p.tx_addr, 0);
		fd = open_bound(_metadata, &a);
		ASSERT_EQ(0, get_mr(fd, self->local, 100, 0, NULL));
		for (j = 0; j < 5; j++) {
			ASSERT_EQ(0, rdma_op(fd, &self->p.rx_addr, self->cookie, 0, self->local, LEN,
					     WRITE | RDS_RDMA_NOTIFY_ME, j));
		}
		close(fd);
	}
	EXPECT_TRUE(pinned_settles_at(pinned));
	memset(self->remote, 0x33, self->size);
	expect_works(_metadata, self);
}

/* A message that made a key, and an operation on a peer's key, both under way when the socket goes; in several
 * processes, each of which has to get its pages back.
 */
static int map_write_and_close(void *arg)
{
	FIXTURE_DATA(error) *self = arg;
	struct rds_get_mr_args map = { .flags = WRITE };
	union rds_addr a;
	struct rds_msg_out m;
	int i, fd;

	for (i = 0; i < 25; i++) {
		a = addr_with_port(&self->p.tx_addr, 0);
		fd = rds_socket();
		if (fd < 0 || rds_bind(fd, &a))
			return 1;
		map.vec = (struct rds_iovec){ (uintptr_t)self->local + i, 9000 };
		msg_init(&m, &self->p.rx_addr, "m", 1);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
		if (msg_send(fd, &m, 0) != 1)
			return 2;
		if (rdma_op(fd, &self->p.rx_addr, self->cookie, 0, self->local, LEN,
			    WRITE | RDS_RDMA_NOTIFY_ME, i))
			return 3;
		close(fd);
	}
	return pinned_settles_at(0) ? 0 : 4;
}

TEST_F_TIMEOUT(error, D17_close_in_many_processes, RDS_SLOW_TEST)
{
	long regions = device_regions();
	pid_t pid[4];
	int i, status;

	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (!pid[i])
			_exit(map_write_and_close(self));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("exit code %d", WEXITSTATUS(status));
		}
	}
	EXPECT_EQ(regions, device_regions());
	memset(self->remote, 0x33, self->size);
	expect_works(_metadata, self);
}

TEST_HARNESS_MAIN
