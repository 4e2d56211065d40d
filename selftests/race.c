// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Calls that race with each other: D02, D34, D36, D37, D38.  The kernel log is the other half
 * of these tests: whoever runs them looks there for splats.
 */
#include "rds_test.h"

FIXTURE(race) {
	union rds_addr	a;
	union rds_addr	b;
};
RDS_BED_VARIANTS(race);

FIXTURE_SETUP(race)
{
	bed_need(_metadata, variant->bed, &self->a, &self->b);
}

FIXTURE_TEARDOWN(race) {}

/* The pair of addresses works. */
static void expect_traffic(struct __test_metadata *_metadata, FIXTURE_DATA(race) *self)
{
	union rds_addr a = addr_with_port(&self->a, 0), b = addr_with_port(&self->b, 0);
	int tx = open_bound(_metadata, &a), rx = open_bound(_metadata, &b);
	char c = 0;

	ASSERT_EQ(1, rds_send(tx, &b, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
	close(tx);
	close(rx);
}

/* --- D02: sending on a socket that is being bound and closed --- */

struct victim {
	const union rds_addr	*a;
	volatile int		fd;
	volatile bool		stop;
};

static void *make_and_close(void *arg)
{
	struct victim *v = arg;
	int i, fd;

	for (i = 0; i < rds_rounds(500); i++) {
		fd = rds_socket();
		v->fd = fd;
		rds_bind(fd, v->a);
		close(fd);
	}
	v->stop = true;
	return NULL;
}

TEST_F_TIMEOUT(race, D02_send_against_bind, RDS_SLOW_TEST)
{
	union rds_addr to = addr_with_port(&self->b, 9), from = addr_with_port(&self->a, 0);
	struct victim v = { .a = &from, .fd = -1 };
	pthread_t thread;
	ssize_t n;

	ASSERT_EQ(0, pthread_create(&thread, NULL, make_and_close, &v));
	while (!v.stop) {
		n = rds_send(v.fd, &to, "x", 1, MSG_DONTWAIT);
		ASSERT_TRUE(n == 1 || n == -ENOTCONN || n == -EBADF || n == -EAGAIN) {
			TH_LOG("sendmsg: %s", strerror(-n));
		}
	}
	pthread_join(thread, NULL);
	expect_traffic(_metadata, self);
}

/* The other calls that need a bound socket. */
TEST_F_TIMEOUT(race, D02_options_against_bind, RDS_SLOW_TEST)
{
	union rds_addr to = addr_with_port(&self->b, 9), from = addr_with_port(&self->a, 0);
	struct victim v = { .a = &from, .fd = -1 };
	char *buf = map_guarded(_metadata, 100);
	rds_rdma_cookie_t cookie;
	pthread_t thread;
	int err;

	ASSERT_EQ(0, pthread_create(&thread, NULL, make_and_close, &v));
	while (!v.stop) {
		err = get_mr(v.fd, buf, 100, 0, &cookie);
		ASSERT_TRUE(err == 0 || err == -ENOTCONN || err == -EBADF) {
			TH_LOG("RDS_GET_MR: %s", strerror(-err));
		}
		err = set_opt(v.fd, RDS_CANCEL_SENT_TO, &to, addr_len(&to));
		ASSERT_TRUE(err == 0 || err == -ENOTCONN || err == -EBADF) {
			TH_LOG("RDS_CANCEL_SENT_TO: %s", strerror(-err));
		}
	}
	pthread_join(thread, NULL);
	EXPECT_TRUE(pinned_settles_at(0));
	expect_traffic(_metadata, self);
}

TEST(D02_unbound_with_destination)
{
	union rds_addr to = addr_make("127.0.0.1", 9);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-ENOTCONN, rds_send(fd, &to, "x", 1, 0));
	EXPECT_EQ(-ENOTCONN, rds_send(fd, NULL, "x", 1, 0));
	ASSERT_EQ(0, rds_connect(fd, &to));
	EXPECT_EQ(-ENOTCONN, rds_send(fd, NULL, "x", 1, 0));
}

/* --- D36: the first messages of one pair of addresses at once --- */

#define PAIRS	200

struct first {
	pthread_barrier_t	*start;
	int			fd;
	union rds_addr		to;
	ssize_t			result;
};

static void *send_first(void *arg)
{
	struct first *f = arg;

	pthread_barrier_wait(f->start);
	f->result = rds_send(f->fd, &f->to, "f", 1, 0);
	return NULL;
}

TEST(D36_two_first_messages)
{
	union rds_addr a1 = addr_make("127.0.0.1", 0), a2 = a1, b;
	struct first f[2];
	pthread_t thread[2];
	pthread_barrier_t start;
	char text[32], c;
	int i, j, rx;

	pthread_barrier_init(&start, NULL, 2);
	f[0] = (struct first){ .start = &start, .fd = open_bound(_metadata, &a1) };
	f[1] = (struct first){ .start = &start, .fd = open_bound(_metadata, &a2) };
	for (i = 0; i < PAIRS; i++) {
		snprintf(text, sizeof(text), "127.77.%d.%d", i / 250, i % 250 + 1);
		b = addr_make(text, 0);
		rx = open_bound(_metadata, &b);
		for (j = 0; j < 2; j++) {
			f[j].to = b;
			ASSERT_EQ(0, pthread_create(&thread[j], NULL, send_first, &f[j]));
		}
		for (j = 0; j < 2; j++) {
			pthread_join(thread[j], NULL);
			ASSERT_EQ(1, f[j].result);
			ASSERT_EQ(1, rds_recv_wait(rx, &c, 1, NULL));
		}
		ASSERT_EQ(-EAGAIN, rds_recv(rx, &c, 1, MSG_DONTWAIT, NULL));
		close(rx);
	}
}

/* Both ends of a pair of addresses that has never met send at once.  The addresses stay: taking one away is
 * another test.
 */
FIXTURE(fresh) {
	union rds_addr	a;
	union rds_addr	b;
};
FIXTURE_VARIANT(fresh) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(fresh, rxe) { BED_RXE };

FIXTURE_SETUP(fresh)
{
	bed_need(_metadata, variant->bed, &self->a, &self->b);
}

FIXTURE_TEARDOWN(fresh) {}

#define FRESH_PAIRS	6
#define FRESH_HOST	100

static union rds_addr fresh_addr(struct __test_metadata *_metadata, const union rds_addr *base,
				 unsigned int host)
{
	char text[INET_ADDRSTRLEN], command[128];
	union rds_addr a = *base;

	((unsigned char *)&a.in.sin_addr)[3] = host;
	inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text));
	snprintf(command, sizeof(command), "ip addr replace %s/24 dev %s", text,
		 getenv("NETDEV") ?: "eth0");
	ASSERT_EQ(0, system(command));
	return a;
}

TEST_F_TIMEOUT(fresh, D36_two_ends_at_once, RDS_SLOW_TEST)
{
	pthread_barrier_t start;
	struct first f[2];
	pthread_t thread[2];
	union rds_addr a[2];
	int i, j;
	char c;

	pthread_barrier_init(&start, NULL, 2);
	for (i = 0; i < FRESH_PAIRS; i++) {
		for (j = 0; j < 2; j++) {
			a[j] = fresh_addr(_metadata, &self->a, FRESH_HOST + 2 * i + j);
			f[j] = (struct first){ .start = &start };
			f[j].fd = open_bound_soon(_metadata, &a[j]);
		}
		for (j = 0; j < 2; j++) {
			f[j].to = a[!j];
			ASSERT_EQ(0, pthread_create(&thread[j], NULL, send_first, &f[j]));
		}
		for (j = 0; j < 2; j++) {
			pthread_join(thread[j], NULL);
			ASSERT_EQ(1, f[j].result);
		}
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(1, rds_recv_wait(f[j].fd, &c, 1, NULL));
			ASSERT_EQ(-EAGAIN, rds_recv(f[j].fd, &c, 1, MSG_DONTWAIT, NULL));
		}
		close(f[0].fd);
		close(f[1].fd);
	}
}

/* --- D37: a port that is bound and closed while it is flooded --- */

#define FLOODERS	4

struct flooder {
	int			fd;
	union rds_addr		from;
	union rds_addr		to;
	volatile bool		*stop;
	volatile unsigned int	sent;
	ssize_t			error;
};

static void *flood(void *arg)
{
	struct flooder *f = arg;
	char buf[3000] = "";
	ssize_t n;

	while (!*f->stop) {
		n = rds_send(f->fd, &f->to, buf, f->sent % sizeof(buf), MSG_DONTWAIT);
		if (n >= 0)
			f->sent++;
		else if (n == -EAGAIN || n == -ENOBUFS)
			ready(f->fd, POLLIN, 5);
		else
			f->error = n;
	}
	return NULL;
}

static void start_flood(struct __test_metadata *_metadata, FIXTURE_DATA(race) *self,
			const union rds_addr *to, struct flooder *f, pthread_t *thread,
			volatile bool *stop)
{
	int i;

	for (i = 0; i < FLOODERS; i++) {
		f[i] = (struct flooder){ .from = addr_with_port(&self->a, 0), .to = *to,
					 .stop = stop };
		f[i].fd = open_bound(_metadata, &f[i].from);
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, flood, &f[i]));
	}
}

/* Slow threads may not have had their turn. */
static bool all_have_sent(const struct flooder *f)
{
	int i;

	for (i = 0; i < FLOODERS; i++)
		if (!f[i].sent)
			return false;
	return true;
}

static void stop_flood(struct __test_metadata *_metadata, struct flooder *f, pthread_t *thread,
		       volatile bool *stop)
{
	int i;

	*stop = true;
	for (i = 0; i < FLOODERS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, f[i].error) {
			TH_LOG("flooder: %s", strerror(-f[i].error));
		}
		EXPECT_GT(f[i].sent, 0);
		close(f[i].fd);
	}
}

TEST_F_TIMEOUT(race, D37_receiver_dies_under_flood, RDS_SLOW_TEST)
{
	union rds_addr b = addr_with_port(&self->b, 0);
	struct flooder f[FLOODERS];
	pthread_t thread[FLOODERS];
	int64_t end = now_ms() + RDS_WAIT_MS;
	volatile bool stop = false;
	int i, fd = open_bound(_metadata, &b);
	char buf[64];

	start_flood(_metadata, self, &b, f, thread, &stop);
	for (i = 0; i < rds_rounds(300) || (!all_have_sent(f) && now_ms() < end); i++) {
		/* sometimes with, sometimes without unread messages */
		if (i % 3)
			rds_recv(fd, buf, sizeof(buf), MSG_DONTWAIT, NULL);
		close(fd);
		fd = open_bound(_metadata, &b);
	}
	stop_flood(_metadata, f, thread, &stop);
	close(fd);
	expect_traffic(_metadata, self);
}

/* --- D34: the sender is closed while its messages are under way --- */

TEST_F_TIMEOUT(race, D34_sender_dies_while_sending, RDS_SLOW_TEST)
{
	union rds_addr b = addr_with_port(&self->b, 0), a;
	int i, j, fd, rx = open_bound(_metadata, &b);
	char buf[5000] = "";
	ssize_t n;

	for (i = 0; i < rds_rounds(200); i++) {
		a = addr_with_port(&self->a, 0);
		fd = open_bound(_metadata, &a);
		for (j = 0; j < 10; j++) {
			n = rds_send(fd, &b, buf, j * 500, MSG_DONTWAIT);
			ASSERT_TRUE(n == j * 500 || n == -EAGAIN || n == -ENOBUFS);
		}
		close(fd);
		while (rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL) >= 0)
			;
	}
	close(rx);
	expect_traffic(_metadata, self);
}

struct shared {
	int		fd;
	union rds_addr	to;
	volatile bool	stop;
};

static void *send_on_shared(void *arg)
{
	struct shared *s = arg;
	char buf[600] = "";

	while (!s->stop)
		if (rds_send(s->fd, &s->to, buf, sizeof(buf), MSG_DONTWAIT) == -EBADF)
			break;
	return NULL;
}

/* Threads share a socket that one of them closes in the middle of the others' calls. */
TEST_F_TIMEOUT(race, D34_close_under_senders, RDS_SLOW_TEST)
{
	union rds_addr b = addr_with_port(&self->b, 0), a;
	int i, j, rx = open_bound(_metadata, &b);
	pthread_t thread[3];
	struct shared s;
	char buf[600];

	for (i = 0; i < rds_rounds(60); i++) {
		a = addr_with_port(&self->a, 0);
		s = (struct shared){ .fd = open_bound(_metadata, &a), .to = b };
		for (j = 0; j < 3; j++) {
			ASSERT_EQ(0, pthread_create(&thread[j], NULL, send_on_shared, &s));
		}
		for (j = 0; j < 50; j++)
			rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL);
		close(s.fd);
		for (j = 0; j < 3; j++) {
			pthread_join(thread[j], NULL);
		}
		while (rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL) >= 0)
			;
	}
	close(rx);
	expect_traffic(_metadata, self);
}

/* --- D34, D66: sending, acknowledging, cancelling, receiving and closing at once --- */

#define SNDBUF	16384

static void *cancel_on_shared(void *arg)
{
	struct shared *s = arg;

	while (!s->stop)
		if (set_opt(s->fd, RDS_CANCEL_SENT_TO, &s->to, addr_len(&s->to)) == -EBADF)
			break;
	return NULL;
}

/* Whatever was accepted was delivered or cancelled: the send buffer is empty, and as large as ever. */
static void expect_all_room(struct __test_metadata *_metadata, const struct shared *s, int rx)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char buf[SNDBUF] = "";
	ssize_t n;

	do {
		while (rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL) >= 0)
			;
		ASSERT_EQ(0, set_opt(s->fd, RDS_CANCEL_SENT_TO, &s->to, addr_len(&s->to)));
		ready(s->fd, POLLIN, 1);
		/* the last message may exceed the room: only one that meets an empty buffer leaves none */
		n = rds_send(s->fd, &s->to, buf, SNDBUF, MSG_DONTWAIT);
	} while ((n == -EAGAIN || n == -ENOBUFS) && now_ms() < end);
	ASSERT_EQ(SNDBUF, n);
	ASSERT_EQ(0, set_opt(s->fd, RDS_CANCEL_SENT_TO, &s->to, addr_len(&s->to)));
	EXPECT_EQ(POLLOUT, ready(s->fd, POLLOUT, RDS_WAIT_MS));
}

TEST_F_TIMEOUT(race, D34_cancel_while_acknowledged, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->a, 0), b = addr_with_port(&self->b, 0);
	int64_t end = now_ms() + 2000;
	struct shared s = { .fd = open_bound(_metadata, &a) };
	int i, rx = open_bound(_metadata, &b);
	pthread_t thread[3];
	char buf[600];

	s.to = b;
	set_int(_metadata, s.fd, SOL_SOCKET, SO_SNDBUF, SNDBUF);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, i ? send_on_shared : cancel_on_shared,
					    &s));
	}
	while (now_ms() < end)
		rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL);
	s.stop = true;
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
	}
	expect_all_room(_metadata, &s, rx);
	close(s.fd);
	close(rx);
}

/* The receiver comes and goes with unread messages, which its sender is about to cancel. */
TEST_F_TIMEOUT(race, D66_cancel_against_reopened_receiver, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->a, 0), b = addr_with_port(&self->b, 0);
	struct shared s = { .fd = open_bound(_metadata, &a) };
	int i, j, rx = open_bound(_metadata, &b);
	pthread_t thread[3];
	char buf[600];

	s.to = b;
	set_int(_metadata, s.fd, SOL_SOCKET, SO_SNDBUF, SNDBUF);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, i ? send_on_shared : cancel_on_shared,
					    &s));
	}
	for (i = 0; i < rds_rounds(200); i++) {
		for (j = 0; j < 5; j++)
			rds_recv(rx, buf, sizeof(buf), MSG_DONTWAIT, NULL);
		close(rx);
		rx = open_bound(_metadata, &b);
	}
	s.stop = true;
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
	}
	expect_all_room(_metadata, &s, rx);
	close(s.fd);
	close(rx);
}

/* --- D68: a queue that runs empty and is refilled by many --- */

#define REFILLERS	4
#define REFILLS		300

struct refiller {
	union rds_addr		from;
	union rds_addr		to;
	int			fd;
	pthread_barrier_t	*round;
	ssize_t			result;
};

static void *refill(void *arg)
{
	struct refiller *r = arg;
	ssize_t n;
	int i;

	r->result = 0;
	for (i = 0; i < REFILLS; i++) {
		pthread_barrier_wait(r->round);
		n = rds_send(r->fd, &r->to, "r", 1, 0);
		if (n != 1)
			r->result = n;
		pthread_barrier_wait(r->round);
	}
	return NULL;
}

/* Nobody sends again before all of a round have arrived: what was left behind would stay there. */
TEST_F_TIMEOUT(race, D68_queue_always_drains, RDS_SLOW_TEST)
{
	union rds_addr b = addr_with_port(&self->b, 0);
	int i, j, rx = open_bound(_metadata, &b);
	struct refiller r[REFILLERS];
	pthread_t thread[REFILLERS];
	pthread_barrier_t round;
	char c;

	pthread_barrier_init(&round, NULL, REFILLERS + 1);
	for (i = 0; i < REFILLERS; i++) {
		r[i] = (struct refiller){ .from = addr_with_port(&self->a, 0), .to = b,
					  .round = &round };
		r[i].fd = open_bound(_metadata, &r[i].from);
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, refill, &r[i]));
	}
	for (i = 0; i < REFILLS; i++) {
		pthread_barrier_wait(&round);
		for (j = 0; j < REFILLERS; j++) {
			ASSERT_EQ(1, rds_recv_wait(rx, &c, 1, NULL)) {
				TH_LOG("round %d, message %d", i, j);
			}
		}
		pthread_barrier_wait(&round);
	}
	for (i = 0; i < REFILLERS; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, r[i].result);
		close(r[i].fd);
	}
	close(rx);
}

/* --- D38: unread messages outlive their sender and its connection's other users --- */

TEST_F_TIMEOUT(race, D38_unread_messages_outlive_their_sender, RDS_SLOW_TEST)
{
	union rds_addr a, b;
	int round, i, tx, rx;
	char out[9000], in[9000];

	for (round = 0; round < 20; round++) {
		a = addr_with_port(&self->a, 0);
		b = addr_with_port(&self->b, 0);
		tx = open_bound(_metadata, &a);
		rx = open_bound(_metadata, &b);
		for (i = 0; i < 8; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(1000 * i, rds_send(tx, &b, out, 1000 * i, 0));
		}
		/* the last one is there, so all are */
		for (i = 0; i < 4; i++) {
			fill(out, sizeof(out), i);
			ASSERT_EQ(1000 * i, rds_recv_wait(rx, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(out, in, 1000 * i));
		}
		close(tx);
		fill(out, sizeof(out), 4);
		i = rds_recv_wait(rx, in, sizeof(in), NULL);
		/* close() drops what was not acknowledged; what did arrive is whole */
		if (i > 0) {
			ASSERT_EQ(4000, i);
			ASSERT_EQ(0, memcmp(out, in, 4000));
		}
		close(rx);
	}
}

/* --- receivers that share a socket --- */

#define SHARED_MESSAGES	2000

struct reader {
	int			fd;
	volatile unsigned int	*left;
	unsigned char		seen[SHARED_MESSAGES];
};

static void *read_shared(void *arg)
{
	struct reader *r = arg;
	unsigned int seq;

	while (*r->left) {
		if (rds_recv(r->fd, &seq, sizeof(seq), MSG_DONTWAIT, NULL) != sizeof(seq)) {
			ready(r->fd, POLLIN, 20);
			continue;
		}
		r->seen[seq]++;
		__atomic_sub_fetch(r->left, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

TEST_F_TIMEOUT(race, each_message_has_one_reader, RDS_SLOW_TEST)
{
	union rds_addr a = addr_with_port(&self->a, 0), b = addr_with_port(&self->b, 0);
	int j, tx = open_bound(_metadata, &a), rx = open_bound(_metadata, &b);
	volatile unsigned int left = rds_rounds(SHARED_MESSAGES);
	unsigned int total = left;
	static struct reader r[3];
	pthread_t thread[3];
	unsigned int i;

	memset(r, 0, sizeof(r));
	for (j = 0; j < 3; j++) {
		r[j].fd = rx;
		r[j].left = &left;
		ASSERT_EQ(0, pthread_create(&thread[j], NULL, read_shared, &r[j]));
	}
	for (i = 0; i < total; i++) {
		ASSERT_EQ(sizeof(i), rds_send(tx, &b, &i, sizeof(i), 0));
	}
	for (j = 0; j < 3; j++) {
		pthread_join(thread[j], NULL);
	}
	for (i = 0; i < total; i++) {
		ASSERT_EQ(1, r[0].seen[i] + r[1].seen[i] + r[2].seen[i]);
	}
	close(tx);
	close(rx);
}

TEST_HARNESS_MAIN
