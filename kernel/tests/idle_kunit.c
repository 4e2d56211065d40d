// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connections that nobody uses are closed and forgotten, and nothing else is. */
#include "../conn.h"

#include "../cong.h"
#include "../net.h"
#include "../xmit.h"
#include "fixture.h"

/* Not used for as long as is allowed. */
static void age(struct rds_conn *conn)
{
	WRITE_ONCE(conn->path.used, jiffies - conn->rn->sysctl.connection_idle_seconds * HZ);
}

/* The collector comes by, and the worker has done what it was told. */
static void collect(struct kunit *test, struct rds_conn *conn)
{
	rds_conn_collect(fixture(test)->rn);
	rds_path_flush(&conn->path);
}

/* Up, with a peer that knows how to be quiet, and nothing under way. */
static struct rds_conn *come_up(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct fake_ep *ep;

	rds_path_post(&conn->path, RDS_EV_WANTED);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	ep->ep.can_quiet = true;
	rds_ep_put(&ep->ep);
	KUNIT_ASSERT_FALSE(test, READ_ONCE(conn->path.map_due));
	return conn;
}

/* The peer says that it is busy or quiet, and the worker has heard it. */
static void peer_says(struct rds_conn *conn, unsigned int bit)
{
	struct fake_ep *ep = fake_current(conn);

	if (!ep)
		return;
	rds_ep_post(&ep->ep, bit);
	rds_ep_put(&ep->ep);
	rds_path_flush(&conn->path);
}

/* Another user less: the one that the test has of its last connection. */
static void let_go(struct kunit *test)
{
	struct fixture *f = fixture(test);

	rds_conn_put(f->conns[--f->nr_conns]);
}

static s64 nr_conns(struct kunit *test)
{
	return atomic64_read(&fixture(test)->rn->nr_conns);
}

static void expect_closed(struct kunit *test, struct rds_conn *conn, int err)
{
	const struct rds_path_drop *drop = &conn->path.history.drops[0];

	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, conn->path.history.drop_count, 1);
	KUNIT_EXPECT_EQ(test, drop->reason, RDS_DROP_IDLE);
	KUNIT_EXPECT_EQ(test, drop->err, err);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, drop_idle), 1);
	/* nobody connects anew with nothing to send */
	KUNIT_EXPECT_FALSE(test, timer_pending(&conn->path.timer));
	KUNIT_EXPECT_EQ(test, fake.connects, 1);
}

static void expect_open(struct kunit *test, struct rds_conn *conn)
{
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, conn->path.history.drop_count, 0);
}

/* --- closing ------------------------------------------------------------ */

static void idle_closes_when_peer_agrees(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	age(conn);
	collect(test, conn);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_QUIET], 1);
	/* not again while the peer thinks */
	collect(test, conn);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_QUIET], 1);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], 0);
	expect_open(test, conn);
	peer_says(conn, RDS_EP_PEER_AGREED);
	expect_closed(test, conn, 0);
}

/* Both have asked: each waits for the other to know of it. */
static void idle_both_ask(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	age(conn);
	collect(test, conn);
	peer_says(conn, RDS_EP_PEER_QUIET);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_AGREED], 1);
	expect_open(test, conn);
	peer_says(conn, RDS_EP_PEER_AGREED);
	expect_closed(test, conn, 0);
}

static void idle_stays_when_peer_is_busy(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	age(conn);
	collect(test, conn);
	peer_says(conn, RDS_EP_PEER_BUSY);
	expect_open(test, conn);
	KUNIT_EXPECT_FALSE(test, conn->path.ep->quiet);
	/* asked again, and again */
	collect(test, conn);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_QUIET], 2);
	peer_says(conn, RDS_EP_PEER_BUSY);
	/* said to somebody who has not asked */
	peer_says(conn, RDS_EP_PEER_BUSY);
	peer_says(conn, RDS_EP_PEER_AGREED);
	expect_open(test, conn);
}

static void idle_closes_when_peer_says_nothing(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	age(conn);
	collect(test, conn);
	KUNIT_EXPECT_TRUE(test, timer_pending(&conn->path.timer));
	rds_path_post(&conn->path, RDS_EV_TIMER);
	rds_path_flush(&conn->path);
	expect_closed(test, conn, -ETIMEDOUT);
}

/* Why a connection is not given up. */
enum obstacle {
	USED,
	FOR_EVER,
	NOT_ABLE,
	UNSENT,
	UNACKED,
	OPERATION,
	CONGESTED_HERE,
	CONGESTED_THERE,
	MAP_DUE,
	NR_OBSTACLES
};

struct obstacle_row {
	const char	*name;
	enum obstacle	obstacle;
	bool		ping;		/* an ack would help */
	bool		agrees;		/* when the peer asks */
};

static const struct obstacle_row obstacle_rows[] = {
	{ "used", USED, false, true },
	{ "for ever", FOR_EVER, false, false },
	{ "peer not able", NOT_ABLE, false, true },
	{ "unsent", UNSENT, true, false },
	{ "unacked", UNACKED, true, false },
	{ "operation", OPERATION, true, false },
	{ "congested here", CONGESTED_HERE, true, false },
	{ "congested there", CONGESTED_THERE, true, false },
	{ "map due", MAP_DUE, true, false },
};

static void obstacle_desc(const struct obstacle_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(obstacle, obstacle_rows, obstacle_desc);

static void obstruct(struct kunit *test, struct rds_conn *conn, enum obstacle obstacle)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);

	switch (obstacle) {
	case NOT_ABLE:
		conn->path.ep->can_quiet = false;
		break;
	case UNSENT:
		fake.room = 0;
		fixture_send_many(test, rs, 1, 100);
		break;
	case UNACKED:
		fixture_send_many(test, rs, 1, 100);
		break;
	case OPERATION:
		KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 100, 0, 1), 10);
		KUNIT_ASSERT_TRUE(test, fake_ack(conn, 1));
		KUNIT_ASSERT_TRUE(test, list_empty(&conn->path.sent_q));
		break;
	case CONGESTED_HERE:
		rds_cong_set_port(conn->lmap, htons(9));
		rds_path_flush(&conn->path);
		KUNIT_ASSERT_FALSE(test, READ_ONCE(conn->path.map_due));
		break;
	case CONGESTED_THERE:
		rds_cong_bit_set(conn->fmap->bits, 9);
		break;
	case MAP_DUE:
		WRITE_ONCE(conn->path.map_due, true);
		break;
	case USED:
	case FOR_EVER:
	case NR_OBSTACLES:
		break;
	}
	if (obstacle != USED)
		age(conn);
	if (obstacle == FOR_EVER)
		WRITE_ONCE(conn->rn->sysctl.connection_idle_seconds, 0);
}

static void idle_not_with(struct kunit *test)
{
	const struct obstacle_row *row = test->param_value;
	struct rds_conn *conn = come_up(test);

	obstruct(test, conn, row->obstacle);
	collect(test, conn);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_QUIET], 0);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], row->ping ? 1 : 0);
	expect_open(test, conn);
	/* nor if it is the peer that asks, for which it need not be our time */
	peer_says(conn, RDS_EP_PEER_QUIET);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_AGREED], row->agrees ? 1 : 0);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_BUSY], row->agrees ? 0 : 1);
	expect_open(test, conn);
	rds_cong_clear_port(conn->lmap, htons(9));
	conn->fmap->bits[9 / 8] = 0;
}

/* The peer has asked: it closes the connection, or we do. */
static void idle_agreed(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	peer_says(conn, RDS_EP_PEER_QUIET);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_AGREED], 1);
	expect_open(test, conn);
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	expect_closed(test, conn, 0);
}

static void idle_agreed_and_forgotten(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	peer_says(conn, RDS_EP_PEER_QUIET);
	/* what an agreement was, stays one */
	peer_says(conn, RDS_EP_PEER_BUSY);
	KUNIT_EXPECT_TRUE(test, conn->path.ep->quiet);
	rds_path_post(&conn->path, RDS_EV_TIMER);
	rds_path_flush(&conn->path);
	expect_closed(test, conn, 0);
}

/* --- a send that begins meanwhile --------------------------------------- */

/* Message @seq was sent last, by endpoint @ep, as for the first time. */
static void expect_last_sent(struct kunit *test, unsigned int ep, u64 seq)
{
	const struct fake_sent *sent;

	KUNIT_ASSERT_GT(test, fake.nr_sent, 0);
	sent = &fake.sent[fake.nr_sent - 1];
	KUNIT_EXPECT_EQ(test, sent->ep, ep);
	KUNIT_EXPECT_EQ(test, sent->seq, seq);
	KUNIT_EXPECT_FALSE(test, sent->flags & RDS_FLAG_RETRANSMITTED);
}

static void idle_send_waits_while_quiet(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = come_up(test);
	unsigned int sent = fake.nr_sent;

	age(conn);
	collect(test, conn);
	fixture_send_many(test, rs, 1, 100);
	KUNIT_EXPECT_EQ(test, fake.nr_sent, sent);
	peer_says(conn, RDS_EP_PEER_BUSY);
	expect_last_sent(test, 1, 1);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 1));
	expect_open(test, conn);
}

/* It goes with the next connection; its operation, too, had not begun. */
static void idle_send_reconnects(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = come_up(test);
	u64 token = 0;

	age(conn);
	collect(test, conn);
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 100, 0, 1), 10);
	peer_says(conn, RDS_EP_PEER_AGREED);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(fake.made) == 2));
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	expect_last_sent(test, 2, 1);
	KUNIT_EXPECT_EQ(test, fake.sent[fake.nr_sent - 1].ops, 1);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 1));
	fake_op_done(conn, RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_EQ(test, token, 1);
}

#define ROUNDS	100

struct sending {
	struct fixture_thread	thread;
	struct kunit		*test;
	struct rds_sock		*rs;
	unsigned int		refused;
};

static void send_rounds(void *data)
{
	struct sending *s = data;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		s->refused += fixture_send(s->rs, 2, PORT_B, 10) != 10;
		usleep_range(50, 300);
	}
}

/* One peer that is quiet at once whenever it is asked, and acknowledges what it gets. */
static void idle_race_with_senders(struct kunit *test)
{
	struct sending *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct rds_conn *conn = come_up(test);
	unsigned long end = jiffies + 60 * HZ;
	unsigned int i;
	u64 next = 1;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->rs = fixture_socket(test, 1, PORT_A);
	fixture_start(&s->thread, send_rounds, s);
	while (next <= ROUNDS && time_before(jiffies, end)) {
		struct fake_ep *ep = fake_current(conn);

		if (ep)
			ep->ep.can_quiet = true;
		fake_ack(conn, ep ? READ_ONCE(ep->ep.tx_done) : 0);
		age(conn);
		collect(test, conn);
		if (ep && ep->ep.quiet)
			peer_says(conn, RDS_EP_PEER_AGREED);
		if (ep)
			rds_ep_put(&ep->ep);
		spin_lock_bh(&conn->path.tx_lock);
		if (conn->path.next_seq > ROUNDS && list_empty(&conn->path.send_q) &&
		    list_empty(&conn->path.sent_q))
			next = conn->path.next_seq;
		spin_unlock_bh(&conn->path.tx_lock);
	}
	fixture_join(&s->thread);
	KUNIT_EXPECT_EQ(test, s->refused, 0);
	KUNIT_EXPECT_EQ(test, next, ROUNDS + 1);
	/* each was sent once */
	for (i = 0, next = 1; i < fake.nr_sent; i++) {
		if (fake.sent[i].flags & RDS_FLAG_CONG_MAP)
			continue;
		KUNIT_EXPECT_EQ(test, fake.sent[i].seq, next);
		KUNIT_EXPECT_FALSE(test, fake.sent[i].flags & RDS_FLAG_RETRANSMITTED);
		next++;
	}
	KUNIT_EXPECT_EQ(test, next, fake.nr_sent == FAKE_MAX_SENT ? next : ROUNDS + 1);
}

/* --- what is forgotten -------------------------------------------------- */

/* Messages in both directions, all acknowledged. */
static void talk(struct kunit *test, struct rds_conn *conn, struct rds_sock *rs)
{
	fixture_send_many(test, rs, 2, 100);
	KUNIT_ASSERT_TRUE(test, fake_ack(conn, 2));
	fixture_receive(test, conn, 7, 0, PORT_B, PORT_A, 10);
	KUNIT_ASSERT_EQ(test, conn->path.rx.next, 8);
	age(conn);
}

static void idle_is_forgotten(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = come_up(test);
	u16 generation = conn->generation;

	talk(test, conn, rs);
	collect(test, conn);
	peer_says(conn, RDS_EP_PEER_AGREED);
	expect_closed(test, conn, 0);
	KUNIT_EXPECT_EQ(test, conn->path.rx.next, 0);
	/* the socket has it still, and so have we */
	age(conn);
	collect(test, conn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);
	let_go(test);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);
	sock_release(fixture(test)->socks[--fixture(test)->nr_socks]);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 0);
	/* the next one is new, and says so */
	conn = fixture_conn(test, 1, 2);
	KUNIT_EXPECT_NE(test, conn->generation, generation);
	KUNIT_EXPECT_EQ(test, conn->path.next_seq, 1);
}

static void idle_agreed_is_forgotten(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	fixture_receive(test, conn, 7, 0, PORT_B, PORT_A, 10);
	peer_says(conn, RDS_EP_PEER_QUIET);
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	let_go(test);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);	/* not yet its time */
	age(conn);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 0);
}

/* The peer may repeat what we have received. */
static void idle_received_is_kept(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);

	fixture_receive(test, conn, 7, 0, PORT_B, PORT_A, 10);
	fake_lose(conn, RDS_DROP_QP_EVENT);
	let_go(test);
	age(conn);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);
	KUNIT_EXPECT_EQ(test, conn->path.rx.next, 8);
}

/* The peer may take new numbers for old ones. */
static void idle_sent_is_kept(struct kunit *test)
{
	struct rds_conn *conn = come_up(test);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);

	fixture_send_many(test, rs, 1, 100);
	KUNIT_ASSERT_TRUE(test, fake_ack(conn, 1));
	sock_release(fixture(test)->socks[--fixture(test)->nr_socks]);
	fake_lose(conn, RDS_DROP_QP_EVENT);
	let_go(test);
	age(conn);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);
	KUNIT_EXPECT_EQ(test, conn->path.next_seq, 2);
}

/* A peer that was never there, and a message that was given up. */
static void idle_never_connected(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fake.connect_err = -EHOSTUNREACH;
	fixture_send_many(test, rs, 1, 100);
	sock_release(fixture(test)->socks[--fixture(test)->nr_socks]);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(conn->path.state) == RDS_PATH_DOWN &&
						   !timer_pending(&conn->path.timer)));
	let_go(test);
	age(conn);
	/* the worker and its timer have references of their own until they are through */
	KUNIT_EXPECT_TRUE(test, fixture_eventually((rds_conn_collect(fixture(test)->rn), !nr_conns(test))));
}

static void idle_loopback(struct kunit *test)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(1),
		.trans	= &rds_loop_transport,
	};
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn;

	KUNIT_ASSERT_EQ(test, fixture_send(rs, 1, PORT_A, 10), 10);
	conn = rds_conn_find(fixture(test)->rn, &key);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	age(conn);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 1);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_UP);
	rds_conn_put(conn);
	sock_release(fixture(test)->socks[--fixture(test)->nr_socks]);
	rds_conn_collect(fixture(test)->rn);
	KUNIT_EXPECT_EQ(test, nr_conns(test), 0);
}

struct making {
	struct fixture_thread	thread;
	struct kunit		*test;
	bool			stop;
};

static void collect_on_and_on(void *data)
{
	struct making *m = data;

	while (!READ_ONCE(m->stop)) {
		struct rds_conn *conn;

		spin_lock_bh(&fixture(m->test)->rn->lock);
		list_for_each_entry(conn, &fixture(m->test)->rn->conn_list, net_item)
			age(conn);
		spin_unlock_bh(&fixture(m->test)->rn->lock);
		rds_conn_collect(fixture(m->test)->rn);
		cond_resched();
	}
}

/* Found, or made anew, but never one that is going away. */
static void idle_race_with_lookups(struct kunit *test)
{
	struct making *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int i, anew = 0;
	struct rds_conn *conn;
	u16 generation = 0;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->test = test;
	fixture_start(&m->thread, collect_on_and_on, m);
	for (i = 0; i < 2000; i++) {
		conn = fixture_conn(test, 1, 2);
		anew += conn->generation != generation;
		generation = conn->generation;
		KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
		let_go(test);
		if (i % 16 == 0)
			usleep_range(20, 50);
	}
	WRITE_ONCE(m->stop, true);
	fixture_join(&m->thread);
	kunit_info(test, "%u connections", anew);
	KUNIT_EXPECT_GE(test, anew, 1);
	KUNIT_EXPECT_LE(test, nr_conns(test), 1);
}

static struct kunit_case idle_cases[] = {
	KUNIT_CASE(idle_closes_when_peer_agrees),
	KUNIT_CASE(idle_both_ask),
	KUNIT_CASE(idle_stays_when_peer_is_busy),
	KUNIT_CASE(idle_closes_when_peer_says_nothing),
	KUNIT_CASE_PARAM(idle_not_with, obstacle_gen_params),
	KUNIT_CASE(idle_agreed),
	KUNIT_CASE(idle_agreed_and_forgotten),
	KUNIT_CASE(idle_send_waits_while_quiet),
	KUNIT_CASE(idle_send_reconnects),
	KUNIT_CASE(idle_race_with_senders),
	KUNIT_CASE(idle_is_forgotten),
	KUNIT_CASE(idle_agreed_is_forgotten),
	KUNIT_CASE(idle_received_is_kept),
	KUNIT_CASE(idle_sent_is_kept),
	KUNIT_CASE(idle_never_connected),
	KUNIT_CASE(idle_loopback),
	KUNIT_CASE(idle_race_with_lookups),
	{}
};

FIXTURE_SUITE("rds_idle", idle_cases);
