// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Congested ports: abi section 5 row 21, section 9, section 10 (rcvbuf). */
#include "rds_test.h"

#define RCVBUF	4096
#define CHUNK	512
#define TOO_MANY	20000	/* messages that no receive buffer of ours takes */

FIXTURE(cong) {
	struct rds_pair	p;
	unsigned int	sent;	/* messages that send accepted */
	unsigned int	got;	/* messages that were read */
};
RDS_BED_VARIANTS(cong);

FIXTURE_SETUP(cong)
{
	pair_open(_metadata, &self->p, variant->bed);
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, RCVBUF);
}

FIXTURE_TEARDOWN(cong)
{
	pair_close(&self->p);
}

static ssize_t send_numbered(FIXTURE_DATA(cong) *self, int fd, int flags)
{
	char chunk[CHUNK] = "";
	ssize_t n;

	memcpy(chunk, &self->sent, sizeof(self->sent));
	n = rds_send(fd, &self->p.rx_addr, chunk, sizeof(chunk), flags);
	if (n > 0)
		self->sent++;
	return n;
}

/* Send until the port is congested.  Filling one's own send buffer is another
 * condition (EAGAIN); it passes with the peer's acknowledgements.
 */
static void congest(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	ssize_t n;

	do {
		n = send_numbered(self, self->p.tx, MSG_DONTWAIT);
		if (n == -EAGAIN)
			ready(self->p.tx, POLLOUT, 1000);
	} while ((n > 0 || n == -EAGAIN) && now_ms() < end && self->sent < TOO_MANY);
	ASSERT_EQ(-ENOBUFS, n);
}

/* Read until @upto messages were read: nothing lost, nothing twice, in order. */
static void drain_upto(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self,
		       unsigned int upto)
{
	char chunk[CHUNK];
	unsigned int seq;

	while (self->got < upto) {
		ASSERT_EQ(CHUNK, rds_recv_wait(self->p.rx, chunk, sizeof(chunk), NULL));
		memcpy(&seq, chunk, sizeof(seq));
		ASSERT_EQ(self->got, seq);
		self->got++;
	}
}

/* Read everything that was accepted, and find nothing else. */
static void drain(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self)
{
	char c;

	drain_upto(_metadata, self, self->sent);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
}

/* Send one message as a poll-driven program does, after the port was drained. */
static void send_when_clear(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self)
{
	ssize_t n;
	int tries;

	for (tries = 0; tries < 20; tries++) {
		n = send_numbered(self, self->p.tx, MSG_DONTWAIT);
		if (n != -ENOBUFS)
			break;
		ASSERT_NE(0, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	}
	ASSERT_EQ(CHUNK, n);
}

TEST_F_TIMEOUT(cong, abi5_21_abi14_enobufs_then_clear, RDS_SLOW_TEST)
{
	congest(_metadata, self);
	/* rcvbuf is soft, but it is what makes the port congested */
	EXPECT_GT(self->sent * CHUNK, RCVBUF);
	drain(_metadata, self);
	send_when_clear(_metadata, self);
	drain(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi5_21_nonblocking_flag, RDS_SLOW_TEST)
{
	congest(_metadata, self);
	ASSERT_EQ(0, fcntl(self->p.tx, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-ENOBUFS, send_numbered(self, self->p.tx, 0));
}

/* A message that is refused makes no key: row 21 comes before the last of row 17. */
TEST_F_TIMEOUT(cong, abi5_17_better_refused_before_a_key_is_made, RDS_SLOW_TEST)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self, 1 } };
	rds_rdma_cookie_t cookie = 0;
	struct rds_msg_out m;

	congest(_metadata, self);
	map.cookie_addr = (uintptr_t)&cookie;
	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-ENOBUFS, msg_send(self->p.tx, &m, MSG_DONTWAIT));
	EXPECT_EQ(0, cookie);
	map.vec.addr = (uintptr_t)unmapped_page(_metadata);
	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-ENOBUFS, msg_send(self->p.tx, &m, MSG_DONTWAIT));
}

TEST_F_TIMEOUT(cong, D31b_pollout_stays_and_others_unaffected, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->p.rx_addr, 0);
	int other = open_bound(_metadata, &other_addr);
	char c;

	congest(_metadata, self);
	EXPECT_EQ(POLLOUT, ready(self->p.tx, POLLOUT, RDS_WAIT_MS));
	EXPECT_EQ(-ENOBUFS, send_numbered(self, self->p.tx, MSG_DONTWAIT));
	EXPECT_EQ(1, rds_send(self->p.tx, &other_addr, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(1, rds_recv_wait(other, &c, 1, NULL));
	drain(_metadata, self);
	send_when_clear(_metadata, self);
	close(other);
}

TEST_F_TIMEOUT(cong, abi10_cleared_below_half_of_rcvbuf, RDS_SLOW_TEST)
{
	char chunk[CHUNK];

	congest(_metadata, self);
	/* one message less is still above half of the buffer */
	ASSERT_EQ(CHUNK, rds_recv_wait(self->p.rx, chunk, sizeof(chunk), NULL));
	self->got++;
	EXPECT_EQ(-ENOBUFS, send_numbered(self, self->p.tx, MSG_DONTWAIT));
	/* bring what is queued under half */
	while ((self->sent - self->got) * CHUNK >= RCVBUF / 2) {
		ASSERT_EQ(CHUNK, rds_recv_wait(self->p.rx, chunk, sizeof(chunk), NULL));
		self->got++;
	}
	send_when_clear(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi15_close_clears_the_port, RDS_SLOW_TEST)
{
	unsigned int behind, seq = 0, before = 0;
	char chunk[CHUNK];

	congest(_metadata, self);
	behind = self->sent;
	close(self->p.rx);
	self->p.rx = open_bound(_metadata, &self->p.rx_addr);
	send_when_clear(_metadata, self);
	/* what was still under way comes to the new socket, and in order */
	do {
		ASSERT_EQ(CHUNK, rds_recv_wait(self->p.rx, chunk, sizeof(chunk), NULL));
		memcpy(&seq, chunk, sizeof(seq));
		ASSERT_LT(before, seq);
		before = seq;
	} while (seq < behind);
	EXPECT_EQ(behind, seq);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, chunk, 1, MSG_DONTWAIT, NULL));
}

/* --- blocking --- */

struct blocked {
	FIXTURE_DATA(cong)	*self;
	volatile pid_t		tid;
	ssize_t			result;
};

static void *send_blocking(void *arg)
{
	struct blocked *b = arg;

	b->tid = my_tid();
	b->result = send_numbered(b->self, b->self->p.tx, 0);
	return NULL;
}

static pthread_t start_blocked(struct __test_metadata *_metadata, struct blocked *b)
{
	return start_asleep(_metadata, send_blocking, b, &b->tid);
}

TEST_F_TIMEOUT(cong, abi5_21_blocking_waits_for_room, RDS_SLOW_TEST)
{
	struct blocked b = { .self = self };
	unsigned int before;
	pthread_t thread;

	congest(_metadata, self);
	before = self->sent;
	thread = start_blocked(_metadata, &b);
	/* the sleeper's message may come in before all of these are read */
	drain_upto(_metadata, self, before);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(CHUNK, b.result);
	EXPECT_EQ(before + 1, self->sent);
	drain(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi5_21_blocking_signal, RDS_SLOW_TEST)
{
	struct blocked b = { .self = self };
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, 0);
	congest(_metadata, self);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, b.result);
}

/* A call that may wait for ever goes on if the program wants that; one with a time-out does not. */
TEST_F_TIMEOUT(cong, abi5_21_signal_restarts, RDS_SLOW_TEST)
{
	struct blocked limited = { .self = self }, b = { .self = self };
	unsigned int before;
	pthread_t thread;

	catch_signal(_metadata, SIGUSR1, SA_RESTART);
	congest(_metadata, self);
	before = self->sent;
	set_timeo(_metadata, self->p.tx, SO_SNDTIMEO, 2 * RDS_WAIT_MS);
	thread = start_blocked(_metadata, &limited);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EINTR, limited.result);

	set_timeo(_metadata, self->p.tx, SO_SNDTIMEO, 0);
	thread = start_blocked(_metadata, &b);
	interrupt(_metadata, thread, SIGUSR1);
	ASSERT_TRUE(thread_sleeps(b.tid));
	drain_upto(_metadata, self, before);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(CHUNK, b.result);
	drain(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi5_21_better_sndtimeo, RDS_SLOW_TEST)
{
	int64_t start;

	congest(_metadata, self);
	set_timeo(_metadata, self->p.tx, SO_SNDTIMEO, 300);
	start = now_ms();
	EXPECT_EQ(-ETIMEDOUT, send_numbered(self, self->p.tx, 0));
	/* on an emulated CPU ticks come in bursts, and a time-out a little early */
	EXPECT_GE(now_ms() - start, 200);
}

/* --- polling --- */

struct sleeper {
	int		fd;
	volatile pid_t	tid;
	volatile short	events;
	int		type;	/* of the control message that was read */
};

static void *sleep_in_poll(void *arg)
{
	struct sleeper *s = arg;

	s->tid = my_tid();
	s->events = ready(s->fd, POLLIN, -1);
	return NULL;
}

static pthread_t start_sleeper(struct __test_metadata *_metadata, struct sleeper *s,
			       void *(*sleep)(void *))
{
	/* what a fresh socket may report once is not what we wait for */
	ready(s->fd, POLLIN, 0);
	return start_asleep(_metadata, sleep, s, &s->tid);
}

/* One message through the connection, so that its first map is behind us. */
static void warm_up(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self)
{
	ASSERT_EQ(CHUNK, send_numbered(self, self->p.tx, 0));
	drain(_metadata, self);
}

TEST_F_TIMEOUT(cong, D33_sleeper_from_before_is_woken, RDS_SLOW_TEST)
{
	struct sleeper s = { .fd = self->p.tx };
	pthread_t thread;

	warm_up(_metadata, self);
	thread = start_sleeper(_metadata, &s, sleep_in_poll);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(s.events & POLLIN);
}

/* Told in the priority band, too, and once. */
TEST_F_TIMEOUT(cong, abi9_D33_priority_band_once, RDS_SLOW_TEST)
{
	const short band = POLLIN | POLLRDNORM | POLLWRBAND;

	warm_up(_metadata, self);
	ready(self->p.tx, band, 0);
	EXPECT_EQ(0, ready(self->p.tx, band, 0));
	congest(_metadata, self);
	drain(_metadata, self);
	EXPECT_EQ(band, ready(self->p.tx, band, RDS_WAIT_MS));
	EXPECT_EQ(0, ready(self->p.tx, band, 0));
	send_when_clear(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi9_D33_sockets_without_congestion_sleep_on, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->p.tx_addr, 0);
	int other = open_bound(_metadata, &other_addr);
	struct sleeper s = { .fd = other };
	pthread_t thread;
	char c;

	warm_up(_metadata, self);
	thread = start_sleeper(_metadata, &s, sleep_in_poll);
	congest(_metadata, self);
	drain(_metadata, self);
	send_when_clear(_metadata, self);
	/* the map that cleared the port has been seen by its sender, not by this one */
	EXPECT_EQ(0, s.events);
	ASSERT_EQ(1, rds_send(self->p.rx, &other_addr, "x", 1, 0));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, rds_recv(other, &c, 1, MSG_DONTWAIT, NULL));
	close(other);
}

/* --- the monitor --- */

/* The ports of one CONG_UPDATE, or -errno in *@err. */
static uint64_t read_update(int fd, int *err)
{
	char control[CMSG_SPACE(sizeof(uint64_t))];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	uint64_t mask = 0;
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

	*err = n < 0 ? -errno : n;
	cmsg = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	if (!cmsg)
		return 0;
	if (cmsg->cmsg_level != SOL_RDS || cmsg->cmsg_type != RDS_CMSG_CONG_UPDATE ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(mask)))
		*err = -EBADMSG;
	memcpy(&mask, CMSG_DATA(cmsg), sizeof(mask));
	return mask;
}

/* As send_when_clear(), with a monitor.  What was still under way when the port was cleared may have congested
 * it once more.
 */
static void send_when_told(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self)
{
	ssize_t n;
	int tries;
	int err;

	for (tries = 0; tries < 20; tries++) {
		n = send_numbered(self, self->p.tx, MSG_DONTWAIT);
		if (n != -ENOBUFS)
			break;
		ASSERT_NE(0, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
		EXPECT_NE(0, read_update(self->p.tx, &err));
	}
	ASSERT_EQ(CHUNK, n);
}

static void monitor(struct __test_metadata *_metadata, int fd, int on)
{
	ASSERT_EQ(0, set_opt(fd, RDS_CONG_MONITOR, &on, sizeof(on)));
}

TEST_F_TIMEOUT(cong, abi7_abi9_abi14_monitor_tells_which_port, RDS_SLOW_TEST)
{
	uint64_t bit = RDS_CONG_MONITOR_MASK(addr_port(&self->p.rx_addr));
	int err;

	warm_up(_metadata, self);
	ready(self->p.tx, POLLIN, 0);
	monitor(_metadata, self->p.tx, 1);
	congest(_metadata, self);
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	drain(_metadata, self);
	/* readable, not as a map would make it: no priority band */
	ASSERT_EQ(POLLIN | POLLRDNORM,
		  ready(self->p.tx, POLLIN | POLLRDNORM | POLLWRBAND, RDS_WAIT_MS));
	EXPECT_EQ(bit, read_update(self->p.tx, &err));
	EXPECT_EQ(0, err);
	/* once */
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	read_update(self->p.tx, &err);
	EXPECT_EQ(-EAGAIN, err);
	send_when_told(_metadata, self);
}

TEST_F_TIMEOUT(cong, abi14_better_kept_without_room, RDS_SLOW_TEST)
{
	uint64_t bit = RDS_CONG_MONITOR_MASK(addr_port(&self->p.rx_addr));
	struct msghdr none = { };
	int err;

	monitor(_metadata, self->p.tx, 1);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	EXPECT_EQ(0, recvmsg(self->p.tx, &none, MSG_DONTWAIT));
	EXPECT_TRUE(none.msg_flags & MSG_CTRUNC);
	EXPECT_EQ(bit, read_update(self->p.tx, &err));
}

TEST_F_TIMEOUT(cong, abi14_off_forgets, RDS_SLOW_TEST)
{
	char c;

	monitor(_metadata, self->p.tx, 1);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	monitor(_metadata, self->p.tx, 0);
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, &c, 1, MSG_DONTWAIT, NULL));
}

/* A port that nobody refused us is no news; a reader that waits is woken by one that was. */
TEST_F_TIMEOUT(cong, abi14_wakes_a_reader, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->p.tx_addr, 0);
	int other = open_bound(_metadata, &other_addr);
	struct sleeper s = { .fd = self->p.tx };
	pthread_t thread;
	int err;

	warm_up(_metadata, self);
	monitor(_metadata, self->p.tx, 1);
	monitor(_metadata, other, 1);
	thread = start_sleeper(_metadata, &s, sleep_in_poll);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(s.events & POLLIN);
	EXPECT_NE(0, read_update(self->p.tx, &err));
	EXPECT_EQ(0, ready(other, POLLIN, 0));
	close(other);
}

static void *sleep_in_recvmsg(void *arg)
{
	struct sleeper *s = arg;
	struct rds_msg_in in;
	char c;

	s->tid = my_tid();
	if (!rds_recv(s->fd, &c, 1, 0, &in) && in.nr_cmsgs == 1 && in.cmsgs[0].cmsg_level == SOL_RDS)
		s->type = in.cmsgs[0].cmsg_type;
	return NULL;
}

TEST_F_TIMEOUT(cong, abi7_abi14_wakes_a_blocked_reader, RDS_SLOW_TEST)
{
	struct sleeper s = { .fd = self->p.tx };
	pthread_t thread;

	warm_up(_metadata, self);
	monitor(_metadata, self->p.tx, 1);
	thread = start_sleeper(_metadata, &s, sleep_in_recvmsg);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(RDS_CMSG_CONG_UPDATE, s.type);
}

/* A status, news and a message wait: each call brings one kind of them. */
TEST_F_TIMEOUT(cong, abi7_order_of_delivery, RDS_SLOW_TEST)
{
	union rds_addr beside = addr_with_port(&self->p.tx_addr, 0), to = addr_with_port(&self->p.rx_addr, 0);
	int fd = open_bound(_metadata, &beside), rx = open_bound(_metadata, &to);
	char *remote = map_guarded(_metadata, 8), c;
	rds_rdma_cookie_t cookie;
	struct rds_msg_in in;
	uint64_t queued;
	int64_t end;
	int err;

	ASSERT_EQ(0, get_mr(rx, remote, 8, RDS_RDMA_READWRITE, &cookie));
	warm_up(_metadata, self);
	monitor(_metadata, self->p.tx, 1);
	congest(_metadata, self);
	drain(_metadata, self);
	ASSERT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	end = now_ms() + RDS_WAIT_MS;
	queued = counter(rx, "recv_queued");
	ASSERT_EQ(1, rds_send(rx, &self->p.tx_addr, "m", 1, 0));
	while (counter(rx, "recv_queued") == queued && now_ms() < end)
		nap();
	/* operations of one connection end in order: behind the second one, the first has */
	ASSERT_EQ(0, rdma_op(self->p.tx, &to, cookie, 0, "n", 1,
			     RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 9));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(fd, &to, cookie, 0, "w", 1, RDS_RDMA_READWRITE));

	ASSERT_EQ(0, rds_recv(self->p.tx, &c, 1, MSG_DONTWAIT, &in));
	EXPECT_EQ(1, in.nr_cmsgs);
	EXPECT_EQ(1, in.nr_status);
	EXPECT_EQ(9, in.status[0].user_token);
	EXPECT_EQ(RDS_CONG_MONITOR_MASK(addr_port(&self->p.rx_addr)), read_update(self->p.tx, &err));
	EXPECT_EQ(0, err);
	ASSERT_EQ(1, rds_recv(self->p.tx, &c, 1, MSG_DONTWAIT, &in));
	EXPECT_EQ('m', c);
	EXPECT_EQ(0, in.nr_cmsgs);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, &c, 1, MSG_DONTWAIT, NULL));
	close(fd);
	close(rx);
}

/* Who would rather wait is not told afterwards. */
TEST_F_TIMEOUT(cong, abi14_blocking_sends_record_nothing, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->p.tx_addr, 0);
	int err, other = open_bound(_metadata, &other_addr);

	warm_up(_metadata, self);
	monitor(_metadata, self->p.tx, 1);
	monitor(_metadata, other, 1);
	congest(_metadata, self);
	set_timeo(_metadata, other, SO_SNDTIMEO, 100);
	EXPECT_EQ(-ETIMEDOUT, send_numbered(self, other, 0));
	drain(_metadata, self);
	ASSERT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	EXPECT_NE(0, read_update(self->p.tx, &err));
	EXPECT_EQ(0, ready(other, POLLIN, 0));
	EXPECT_EQ(0, read_update(other, &err));
	EXPECT_EQ(-EAGAIN, err);
	close(other);
}

/* A second receiver beside that of @self, of another bit. */
static void open_second(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self, FIXTURE_DATA(cong) *second)
{
	const uint64_t bit = RDS_CONG_MONITOR_MASK(addr_port(&self->p.rx_addr));

	*second = *self;
	second->sent = second->got = 0;
	do {
		if (second->p.rx != self->p.rx)
			close(second->p.rx);
		second->p.rx_addr = addr_with_port(&self->p.rx_addr, 0);
		second->p.rx = open_bound(_metadata, &second->p.rx_addr);
	} while (RDS_CONG_MONITOR_MASK(addr_port(&second->p.rx_addr)) == bit);
	set_int(_metadata, second->p.rx, SOL_SOCKET, SO_RCVBUF, RCVBUF);
}

/* What became free is collected until it is read. */
TEST_F_TIMEOUT(cong, abi14_two_ports_in_one_update, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->p.tx_addr, 0);
	FIXTURE_DATA(cong) second, by_other;
	int err, other = open_bound(_metadata, &other_addr);
	uint64_t bits = RDS_CONG_MONITOR_MASK(addr_port(&self->p.rx_addr));
	char c;

	warm_up(_metadata, self);
	monitor(_metadata, self->p.tx, 1);
	open_second(_metadata, self, &second);
	bits |= RDS_CONG_MONITOR_MASK(addr_port(&second.p.rx_addr));
	congest(_metadata, self);
	congest(_metadata, &second);
	drain(_metadata, self);
	drain(_metadata, &second);
	/* another socket finds both free: the maps are there.  With a message behind them, all has been done about them. */
	by_other = *self;
	by_other.p.tx = other;
	send_when_clear(_metadata, &by_other);
	by_other.p.rx_addr = second.p.rx_addr;
	send_when_clear(_metadata, &by_other);
	ASSERT_EQ(1, rds_send(self->p.rx, &other_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(other, &c, 1, NULL));

	EXPECT_EQ(bits, read_update(self->p.tx, &err));
	EXPECT_EQ(0, err);
	read_update(self->p.tx, &err);
	EXPECT_EQ(-EAGAIN, err);
	close(second.p.rx);
	close(other);
}

/* --- two peers that refuse: their ports have the same number, but each peer has its own map --- */

struct peer {
	union rds_addr	addr;
	int		fd;
	unsigned int	queued;
};

FIXTURE(two) {
	union rds_addr	tx_addr;
	int		tx;
	struct peer	peer[2];
};
/* loopback has two addresses with IPv4 only; an RDMA address is its own peer by loopback */
FIXTURE_VARIANT(two) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(two, loop4) { BED_LOOP4 };
FIXTURE_VARIANT_ADD(two, rxe) { BED_RXE };

FIXTURE_SETUP(two)
{
	struct peer *p = self->peer;
	int i;

	bed_need(_metadata, variant->bed, &self->tx_addr, &p[0].addr);
	p[1].addr = variant->bed == BED_LOOP4 ? addr_make("127.0.0.2", 0) : self->tx_addr;
	for (i = 0; i < 2; i++) {
		p[i].addr = addr_with_port(&p[i].addr, addr_port(&p[0].addr));
		p[i].fd = open_bound(_metadata, &p[i].addr);
		set_int(_metadata, p[i].fd, SOL_SOCKET, SO_RCVBUF, RCVBUF);
	}
	self->tx = open_bound(_metadata, &self->tx_addr);
}

FIXTURE_TEARDOWN(two)
{
	close(self->tx);
	close(self->peer[0].fd);
	close(self->peer[1].fd);
}

/* Have @peer refuse @fd. */
static void be_refused(struct __test_metadata *_metadata, int fd, struct peer *peer)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char chunk[CHUNK] = "";
	ssize_t n;

	do {
		n = rds_send(fd, &peer->addr, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n > 0)
			peer->queued++;
		else if (n == -EAGAIN)
			ready(fd, POLLOUT, 1000);
	} while ((n > 0 || n == -EAGAIN) && now_ms() < end && peer->queued < TOO_MANY);
	ASSERT_EQ(-ENOBUFS, n);
}

static void read_all(struct __test_metadata *_metadata, struct peer *peer)
{
	char chunk[CHUNK];

	for (; peer->queued; peer->queued--) {
		ASSERT_EQ(CHUNK, rds_recv_wait(peer->fd, chunk, sizeof(chunk), NULL));
	}
}

TEST_F_TIMEOUT(two, D33_another_peers_ports_are_no_news, RDS_SLOW_TEST)
{
	union rds_addr other_addr = addr_with_port(&self->tx_addr, 0);
	int other = open_bound(_metadata, &other_addr);
	struct sleeper s = { .fd = self->tx };
	pthread_t thread;

	be_refused(_metadata, self->tx, &self->peer[0]);
	thread = start_sleeper(_metadata, &s, sleep_in_poll);
	be_refused(_metadata, other, &self->peer[1]);
	read_all(_metadata, &self->peer[1]);
	/* who was refused by that one is woken, the sleeper is not */
	ASSERT_EQ(POLLIN, ready(other, POLLIN, RDS_WAIT_MS));
	ASSERT_TRUE(thread_sleeps(s.tid));
	EXPECT_EQ(0, s.events);
	read_all(_metadata, &self->peer[0]);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_TRUE(s.events & POLLIN);
	close(other);
}

TEST_F_TIMEOUT(two, D33_woken_by_each_that_refused, RDS_SLOW_TEST)
{
	pthread_t thread;
	int i;

	be_refused(_metadata, self->tx, &self->peer[0]);
	be_refused(_metadata, self->tx, &self->peer[1]);
	for (i = 1; i >= 0; i--) {
		struct sleeper s = { .fd = self->tx };

		thread = start_sleeper(_metadata, &s, sleep_in_poll);
		read_all(_metadata, &self->peer[i]);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_TRUE(s.events & POLLIN);
	}
}

TEST_F_TIMEOUT(two, abi14_each_peers_port_is_told, RDS_SLOW_TEST)
{
	uint64_t bit = RDS_CONG_MONITOR_MASK(addr_port(&self->peer[0].addr));
	int err, i;

	monitor(_metadata, self->tx, 1);
	be_refused(_metadata, self->tx, &self->peer[0]);
	be_refused(_metadata, self->tx, &self->peer[1]);
	for (i = 1; i >= 0; i--) {
		EXPECT_EQ(0, ready(self->tx, POLLIN, 0));
		read_all(_metadata, &self->peer[i]);
		ASSERT_EQ(POLLIN, ready(self->tx, POLLIN, RDS_WAIT_MS));
		EXPECT_EQ(bit, read_update(self->tx, &err));
		EXPECT_EQ(0, err);
	}
}

TEST(abi11_monitor_argument)
{
	int value = 1, fd = rds_socket();
	socklen_t len = sizeof(value);
	uint64_t wide = 1;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EINVAL, set_opt(fd, RDS_CONG_MONITOR, &value, 3));
	EXPECT_EQ(-EFAULT, set_opt(fd, RDS_CONG_MONITOR, unmapped_page(_metadata), 4));
	EXPECT_EQ(0, set_opt(fd, RDS_CONG_MONITOR, &value, 4));
	EXPECT_EQ(0, set_opt(fd, RDS_CONG_MONITOR, &wide, 8));
	EXPECT_EQ(-1, getsockopt(fd, SOL_RDS, RDS_CONG_MONITOR, &value, &len));
	EXPECT_EQ(ENOPROTOOPT, errno);
	close(fd);
}

/* --- D30: many senders, one slow reader that comes and goes --- */

#define SENDERS		8
#define PER_SENDER	300

struct flood {
	union rds_addr	from;
	union rds_addr	to;
	int		fd;
	ssize_t		error;
	volatile bool	*stop;
};

static void *flood(void *arg)
{
	struct flood *f = arg;
	char chunk[CHUNK] = "";
	int i = 0;
	ssize_t n;

	while (i < rds_rounds(PER_SENDER) && !*f->stop) {
		n = rds_send(f->fd, &f->to, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n == -ENOBUFS || n == -EAGAIN) {
			ready(f->fd, POLLIN, 20);
			continue;
		}
		if (n != CHUNK) {
			f->error = n;
			break;
		}
		i++;
	}
	return NULL;
}

static void start_flood(struct __test_metadata *_metadata, FIXTURE_DATA(cong) *self,
			struct flood *f, pthread_t *thread, volatile bool *stop)
{
	int i;

	for (i = 0; i < SENDERS; i++) {
		f[i] = (struct flood){ addr_with_port(&self->p.tx_addr, 0), self->p.rx_addr,
				       .stop = stop };
		f[i].fd = open_bound(_metadata, &f[i].from);
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, flood, &f[i]));
	}
}

static void join_flood(struct __test_metadata *_metadata, struct flood *f, pthread_t *thread)
{
	int i;

	for (i = 0; i < SENDERS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, f[i].error);
		close(f[i].fd);
	}
}

TEST_F_TIMEOUT(cong, D30_slow_reader_gets_everything, RDS_SLOW_TEST)
{
	volatile bool stop = false;
	pthread_t thread[SENDERS];
	struct flood f[SENDERS];
	char chunk[CHUNK];
	int i;

	start_flood(_metadata, self, f, thread, &stop);
	for (i = 0; i < SENDERS * rds_rounds(PER_SENDER); i++) {
		ASSERT_EQ(CHUNK, rds_recv_wait(self->p.rx, chunk, sizeof(chunk), NULL));
	}
	join_flood(_metadata, f, thread);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, chunk, sizeof(chunk), MSG_DONTWAIT, NULL));
}

TEST_F_TIMEOUT(cong, D30_receiver_comes_and_goes, RDS_SLOW_TEST)
{
	volatile bool stop = false;
	pthread_t thread[SENDERS];
	struct flood f[SENDERS];
	int64_t end = now_ms() + 3 * RDS_WAIT_MS;
	char chunk[CHUNK];
	int round, i;
	ssize_t n;

	start_flood(_metadata, self, f, thread, &stop);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 10; i++)
			rds_recv(self->p.rx, chunk, sizeof(chunk), MSG_DONTWAIT, NULL);
		close(self->p.rx);
		self->p.rx = open_bound(_metadata, &self->p.rx_addr);
		set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, RCVBUF);
	}
	stop = true;
	join_flood(_metadata, f, thread);
	/* whatever is left over and still under way, the port works in the end */
	do {
		n = send_numbered(self, self->p.tx, MSG_DONTWAIT);
		ready(self->p.rx, POLLIN, 20);
		while (rds_recv(self->p.rx, chunk, sizeof(chunk), MSG_DONTWAIT, NULL) > 0)
			;
	} while ((n == -ENOBUFS || n == -EAGAIN) && now_ms() < end);
	EXPECT_EQ(CHUNK, n);
}

TEST_HARNESS_MAIN
