// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The worker of a path, state by state and event by event. */
#include "fixture.h"

#include "../xmit.h"

/* Posted as a transport or a timer would; @ep for what belongs to an endpoint. */
static int post(struct kunit *test, struct rds_conn *conn, struct rds_ep *ep, enum rds_path_event event)
{
	struct fake_ep *request;
	int err;

	switch (event) {
	case RDS_EV_LOST:
		rds_ep_drop(ep, RDS_DROP_DISCONNECTED, 0);
		return 0;
	case RDS_EV_ESTABLISHED:
		rds_ep_post(ep, RDS_EV_ESTABLISHED);
		return 0;
	case RDS_EV_REQUEST:
		request = fake_request(conn, false);
		KUNIT_ASSERT_NOT_NULL(test, request);
		err = rds_path_post_request(&conn->path, &request->ep);
		if (err) {
			fake.rejected++;	/* by whoever brought it */
			rds_ep_put(&request->ep);
		}
		return err;
	default:
		rds_path_post(&conn->path, event);
		return 0;
	}
}

static void flush(struct rds_conn *conn)
{
	rds_path_flush(&conn->path);
}

/* By hand, from DOWN. */
static void bring_to(struct kunit *test, struct rds_conn *conn, enum rds_path_state state)
{
	if (state == RDS_PATH_DEAD)
		rds_path_post(&conn->path, RDS_EV_KILL);
	else if (state != RDS_PATH_DOWN)
		rds_path_post(&conn->path, RDS_EV_WANTED);
	flush(conn);
	if (state == RDS_PATH_UP)
		fake_establish(conn);
	KUNIT_ASSERT_EQ(test, conn->path.state, state);
}

/* What an event leads to when the worker is through with it and nothing is to be sent. */
struct event_row {
	enum rds_path_state	state;
	enum rds_path_event	event;
	enum rds_path_state	to;
	unsigned int		connects;
	unsigned int		accepts;
	unsigned int		closes;
};

#define ROW(state, event, to, ...) \
	{ RDS_PATH_##state, RDS_EV_##event, RDS_PATH_##to, __VA_ARGS__ }

/* Where there is no endpoint, LOST and ESTABLISHED are late ones of an endpoint that is gone. */
static const struct event_row event_rows[] = {
	ROW(DOWN,	KILL,		DEAD,		0, 0, 0),
	ROW(DOWN,	LOST,		DOWN,		0, 0, 0),
	ROW(DOWN,	REQUEST,	CONNECTING,	0, 1, 0),
	ROW(DOWN,	ESTABLISHED,	DOWN,		0, 0, 0),
	ROW(DOWN,	WANTED,		CONNECTING,	1, 0, 0),
	ROW(DOWN,	TIMER,		CONNECTING,	1, 0, 0),
	ROW(CONNECTING,	KILL,		DEAD,		0, 0, 1),
	ROW(CONNECTING,	LOST,		DOWN,		0, 0, 1),
	ROW(CONNECTING,	REQUEST,	CONNECTING,	0, 1, 1),
	ROW(CONNECTING,	ESTABLISHED,	UP,		0, 0, 0),
	ROW(CONNECTING,	WANTED,		CONNECTING,	0, 0, 0),
	ROW(CONNECTING,	TIMER,		DOWN,		0, 0, 1),
	ROW(UP,		KILL,		DEAD,		0, 0, 1),
	ROW(UP,		LOST,		DOWN,		0, 0, 1),
	ROW(UP,		REQUEST,	CONNECTING,	0, 1, 1),
	ROW(UP,		ESTABLISHED,	UP,		0, 0, 0),
	ROW(UP,		WANTED,		UP,		0, 0, 0),
	ROW(UP,		TIMER,		UP,		0, 0, 0),
	ROW(DEAD,	KILL,		DEAD,		0, 0, 0),
	ROW(DEAD,	LOST,		DEAD,		0, 0, 0),
	ROW(DEAD,	REQUEST,	DEAD,		0, 0, 0),
	ROW(DEAD,	ESTABLISHED,	DEAD,		0, 0, 0),
	ROW(DEAD,	WANTED,		DEAD,		0, 0, 0),
	ROW(DEAD,	TIMER,		DEAD,		0, 0, 0),
};

static void event_desc(const struct event_row *row, char *desc)
{
	sprintf(desc, "%s, %s", rds_path_state_name(row->state), rds_path_event_name(row->event));
}

KUNIT_ARRAY_PARAM(event, event_rows, event_desc);

static void expect_row(struct kunit *test, struct rds_conn *conn, const struct event_row *row,
		       const struct fake *before)
{
	KUNIT_EXPECT_EQ(test, conn->path.state, row->to);
	KUNIT_EXPECT_EQ(test, fake.connects - before->connects, row->connects);
	KUNIT_EXPECT_EQ(test, fake.accepted - before->accepted, row->accepts);
	KUNIT_EXPECT_EQ(test, fake.closed - before->closed, row->closes);
	KUNIT_EXPECT_EQ(test, !conn->path.ep,
			row->to == RDS_PATH_DOWN || row->to == RDS_PATH_DEAD);
}

/* An endpoint that was there once: its reference is the test's. */
static struct rds_ep *gone_endpoint(struct kunit *test, struct rds_conn *conn)
{
	struct fake_ep *ep;

	bring_to(test, conn, RDS_PATH_UP);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	return &ep->ep;
}

static void path_event(struct kunit *test)
{
	const struct event_row *row = test->param_value;
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct fake_ep *current_ep;
	struct fake *before;
	struct rds_ep *gone;
	int err;

	before = kunit_kzalloc(test, sizeof(*before), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, before);
	fake.by_hand = true;
	gone = gone_endpoint(test, conn);
	bring_to(test, conn, row->state);
	*before = fake;
	current_ep = fake_current(conn);
	err = post(test, conn, current_ep ? &current_ep->ep : gone, row->event);
	flush(conn);
	KUNIT_EXPECT_EQ(test, err, row->state == RDS_PATH_DEAD && row->event == RDS_EV_REQUEST ?
				   -ESHUTDOWN : 0);
	expect_row(test, conn, row, before);
	if (current_ep)
		rds_ep_put(&current_ep->ep);
	rds_ep_put(gone);
}

/* The same while the path is closing an endpoint: afterwards it is DOWN and looks at what came. */
static const struct event_row closing_rows[] = {
	ROW(CLOSING,	KILL,		DEAD,		0, 0, 0),
	ROW(CLOSING,	LOST,		DOWN,		0, 0, 0),
	ROW(CLOSING,	REQUEST,	CONNECTING,	0, 1, 0),
	ROW(CLOSING,	ESTABLISHED,	DOWN,		0, 0, 0),
	ROW(CLOSING,	WANTED,		CONNECTING,	1, 0, 0),
	ROW(CLOSING,	TIMER,		CONNECTING,	1, 0, 0),
};

KUNIT_ARRAY_PARAM(closing, closing_rows, event_desc);

static struct {
	struct kunit		*test;
	struct rds_conn		*conn;
	enum rds_path_event	event;
	enum rds_path_state	seen;
	unsigned int		requests;
	int			err;		/* of the last request */
} closing;

static void post_while_closing(struct fake_ep *ep)
{
	fake.on_close = NULL;
	closing.seen = closing.conn->path.state;
	post(closing.test, closing.conn, &ep->ep, closing.event);
}

static void path_event_while_closing(struct kunit *test)
{
	const struct event_row *row = test->param_value;
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct fake *before;

	before = kunit_kzalloc(test, sizeof(*before), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, before);
	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_UP);
	closing.test = test;
	closing.conn = conn;
	closing.event = row->event;
	fake.on_close = post_while_closing;
	*before = fake;
	before->closed++;
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, closing.seen, RDS_PATH_CLOSING);
	expect_row(test, conn, row, before);
}

/* Both sides ask at once. */
struct duel_row {
	const char	*name;
	u8		from;
	u8		to;
	bool		ordered;
	bool		accepted;	/* what we have is an earlier request of theirs */
	bool		refuse;
};

static const struct duel_row duel_rows[] = {
	{ "smaller, ordered", 1, 2, true, false, true },
	{ "smaller, not ordered", 1, 2, false, false, false },
	{ "larger, ordered", 2, 1, true, false, false },
	{ "larger, not ordered", 2, 1, false, false, false },
	{ "smaller, ordered, theirs", 1, 2, true, true, false },
};

static void duel_desc(const struct duel_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(duel, duel_rows, duel_desc);

static void path_duel(struct kunit *test)
{
	const struct duel_row *row = test->param_value;
	struct rds_conn *conn = fixture_conn(test, row->from, row->to);
	struct fake_ep *request;

	fake.by_hand = true;
	if (row->accepted)
		post(test, conn, NULL, RDS_EV_REQUEST);
	else
		rds_path_post(&conn->path, RDS_EV_WANTED);
	flush(conn);
	request = fake_request(conn, row->ordered);
	KUNIT_ASSERT_NOT_NULL(test, request);
	KUNIT_ASSERT_EQ(test, rds_path_post_request(&conn->path, &request->ep), 0);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, fake.rejected, row->refuse ? 1 : 0);
	KUNIT_EXPECT_EQ(test, fake.closed, row->refuse ? 0 : 1);
	if (!row->refuse)
		KUNIT_EXPECT_PTR_EQ(test, conn->path.ep, &request->ep);
	fake_establish(conn);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_UP);
}

static void request_many(struct fake_ep *ep)
{
	fake.on_close = NULL;
	while (closing.requests--)
		closing.err = post(closing.test, closing.conn, NULL, RDS_EV_REQUEST);
}

/* @count requests are at hand when the worker comes to look at them. */
static struct rds_conn *meet_requests(struct kunit *test, unsigned int count)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_UP);
	closing.test = test;
	closing.conn = conn;
	closing.requests = count;
	fake.on_close = request_many;
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	return conn;
}

static void path_newest_request_counts(struct kunit *test)
{
	struct rds_conn *conn = meet_requests(test, 3);

	KUNIT_EXPECT_EQ(test, closing.err, 0);
	KUNIT_EXPECT_EQ(test, fake.rejected, 2);
	KUNIT_EXPECT_EQ(test, fake.last_rejected, fake.made - 1);
	KUNIT_EXPECT_EQ(test, fake.accepted, 1);
	KUNIT_EXPECT_EQ(test, to_fake_ep(conn->path.ep)->nr, fake.made);
}

static void path_requests_are_bounded(struct kunit *test)
{
	struct rds_conn *conn = meet_requests(test, RDS_PATH_MAX_REQUESTS + 1);

	KUNIT_EXPECT_EQ(test, closing.err, -EBUSY);
	KUNIT_EXPECT_EQ(test, fake.accepted, 1);
	KUNIT_EXPECT_EQ(test, to_fake_ep(conn->path.ep)->nr, RDS_PATH_MAX_REQUESTS + 1);
	KUNIT_EXPECT_EQ(test, conn->path.nr_requests, 0);
}

/* A peer that cannot be reached is asked ever more rarely, and found when it is back. */
static void path_backs_off(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	const struct rds_path_drop *drop;

	fake.connect_err = -EHOSTUNREACH;
	fixture_send_many(test, rs, 1, 1);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(fake.connects) >= 12));
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(conn->path.backoff_ms) == 1000));
	drop = &conn->path.history.drops[0];
	KUNIT_EXPECT_EQ(test, drop->reason, RDS_DROP_SETUP);
	KUNIT_EXPECT_EQ(test, drop->err, -EHOSTUNREACH);
	KUNIT_EXPECT_GE(test, fixture_stat(test, conn_reset), 11);

	fake.connect_err = 0;
	FIXTURE_EXPECT_STATE(test, conn, RDS_PATH_UP);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.backoff_ms, 0);
	KUNIT_EXPECT_EQ(test, conn->path.attempts, 0);
	KUNIT_EXPECT_EQ(test, fake.sent[fake.nr_sent - 1].seq, 1);
}

/* It goes under a connection, and what is sent waits for it to come back. */
static void path_address_is_away(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	const struct rds_path_drop *drops = conn->path.history.drops;
	unsigned int sent;

	bring_to(test, conn, RDS_PATH_UP);
	fake.connect_err = -EADDRNOTAVAIL;
	fake_lose(conn, RDS_DROP_ADDR_CHANGE);
	FIXTURE_EXPECT_STATE(test, conn, RDS_PATH_DOWN);
	sent = fake.nr_sent;	/* a map */
	fixture_send_many(test, rs, 3, 100);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(fake.connects) >= 4));
	KUNIT_EXPECT_EQ(test, drops[0].reason, RDS_DROP_ADDR_CHANGE);
	KUNIT_EXPECT_EQ(test, drops[1].reason, RDS_DROP_ADDR_CHANGE);
	KUNIT_EXPECT_EQ(test, drops[1].err, -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, fake.nr_sent, sent);
	fake.connect_err = 0;
	FIXTURE_EXPECT_STATE(test, conn, RDS_PATH_UP);
	flush(conn);
	KUNIT_ASSERT_GE(test, fake.nr_sent, sent + 3);
	KUNIT_EXPECT_EQ(test, fake.sent[fake.nr_sent - 3].seq, 1);
	KUNIT_EXPECT_EQ(test, fake.sent[fake.nr_sent - 1].seq, 3);
}

/* As it was set, for the next delay on. */
static void path_backs_off_as_set(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	conn->rn->sysctl.reconnect_min_delay_ms = 5;
	conn->rn->sysctl.reconnect_max_delay_ms = 16;
	fake.connect_err = -EHOSTUNREACH;
	fixture_send_many(test, rs, 1, 1);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(conn->path.backoff_ms) == 16));
	WRITE_ONCE(conn->rn->sysctl.reconnect_max_delay_ms, 12);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(conn->path.backoff_ms) == 12));
	fake.connect_err = 0;
	FIXTURE_EXPECT_STATE(test, conn, RDS_PATH_UP);
}

/* With nothing to send nobody connects again. */
static void path_stays_down_when_idle(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	bring_to(test, conn, RDS_PATH_UP);
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_FALSE(test, timer_pending(&conn->path.timer));
	KUNIT_EXPECT_EQ(test, fake.connects, 1);
}

/* The first attempts are given up soon, later ones get more time.  On a slow machine one may end before we do that. */
static void path_connecting_is_bounded(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_path *path = &conn->path;
	unsigned long before;

	fake.by_hand = true;
	while (path->attempts < 5) {
		before = jiffies;
		rds_path_post(path, RDS_EV_WANTED);
		flush(conn);
		if (path->attempts <= 3)
			KUNIT_EXPECT_TRUE(test, time_before_eq(path->timer.expires, jiffies + 7 * HZ / 2));
		else
			KUNIT_EXPECT_TRUE(test, time_after_eq(path->timer.expires, before + 10 * HZ));
		if (path->state == RDS_PATH_CONNECTING)
			rds_path_post(path, RDS_EV_TIMER);
		flush(conn);
	}
	KUNIT_EXPECT_EQ(test, path->history.drops[0].reason, RDS_DROP_CONNECT_TIMEOUT);
}

static void path_keeps_the_last_reasons(struct kunit *test)
{
	static const enum rds_drop_reason reasons[] = {
		RDS_DROP_DISCONNECTED, RDS_DROP_ADDR_CHANGE, RDS_DROP_QP_EVENT,
		RDS_DROP_SEND_ERROR, RDS_DROP_BAD_CSUM, RDS_DROP_BAD_ACK,
	};
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_path *path = &conn->path;
	unsigned int i;

	fake.by_hand = true;
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		bring_to(test, conn, RDS_PATH_UP);
		fake_lose(conn, reasons[i]);
	}
	KUNIT_EXPECT_EQ(test, path->history.drop_count, ARRAY_SIZE(reasons));
	for (i = ARRAY_SIZE(reasons) - RDS_PATH_DROPS; i < ARRAY_SIZE(reasons); i++)
		KUNIT_EXPECT_EQ(test, path->history.drops[i % RDS_PATH_DROPS].reason, reasons[i]);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, conn_reset), ARRAY_SIZE(reasons));
}

static void path_first_reason_counts(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct fake_ep *ep;

	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_UP);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	/* the second may come before or after the worker has looked */
	rds_ep_drop(&ep->ep, RDS_DROP_BAD_CSUM, -EPROTO);
	rds_ep_drop(&ep->ep, RDS_DROP_QP_EVENT, -EIO);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.history.drop_count, 1);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].reason, RDS_DROP_BAD_CSUM);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].err, -EPROTO);
	rds_ep_put(&ep->ep);
}

/* Why an endpoint went that did not say so itself. */
static void path_reasons_of_its_own(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_path *path = &conn->path;

	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_CONNECTING);
	post(test, conn, NULL, RDS_EV_REQUEST);
	flush(conn);
	KUNIT_EXPECT_EQ(test, path->history.drops[0].reason, RDS_DROP_DUEL);
	fake_establish(conn);
	post(test, conn, NULL, RDS_EV_REQUEST);
	flush(conn);
	KUNIT_EXPECT_EQ(test, path->history.drops[1].reason, RDS_DROP_PEER_RECONNECTED);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, ib_listen_closed_stale), 1);
	rds_path_post(path, RDS_EV_KILL);
	flush(conn);
	KUNIT_EXPECT_EQ(test, path->history.drops[2].reason, RDS_DROP_NETNS_EXIT);
}

static void path_accept_fails(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fake.accept_err = -ENOMEM;
	post(test, conn, NULL, RDS_EV_REQUEST);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, fake.closed, 1);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].reason, RDS_DROP_SETUP);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].err, -ENOMEM);
}

static void path_step(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct fake_ep *ep;

	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_CONNECTING);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	rds_ep_post(&ep->ep, RDS_EP_STEP);
	flush(conn);
	KUNIT_EXPECT_EQ(test, fake.steps, 1);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_CONNECTING);
	fake.step_err = -EPERM;
	rds_ep_post(&ep->ep, RDS_EP_STEP);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].err, -EPERM);
	/* nobody steps an endpoint that is gone */
	rds_ep_post(&ep->ep, RDS_EP_STEP);
	flush(conn);
	KUNIT_EXPECT_EQ(test, fake.steps, 2);
	rds_ep_put(&ep->ep);
}

/* A dead path gives up what it has, and takes nothing more. */
static void path_killed_with_messages(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fake.room = 4;			/* a map and two messages */
	fixture_send_many(test, rs, 5, 100);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	flush(conn);
	rds_path_post(&conn->path, RDS_EV_KILL);
	flush(conn);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DEAD);
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->path.send_q));
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->path.sent_q));
	KUNIT_EXPECT_EQ(test, rs->snd_bytes, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->sending));
	KUNIT_EXPECT_EQ(test, fixture_send(rs, 2, PORT_B, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, rs->snd_bytes, 0);
	KUNIT_EXPECT_EQ(test, fake.connects, 1);
}

static void path_peer_generation(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_path *path = &conn->path;
	struct rds_ep *gone;
	struct fake_ep *ep;

	fake.by_hand = true;
	gone = gone_endpoint(test, conn);
	bring_to(test, conn, RDS_PATH_UP);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);

	path->rx.next = 7;
	rds_ep_set_peer_generation(&ep->ep, 0);		/* told none */
	KUNIT_EXPECT_EQ(test, path->rx.next, 7);
	rds_ep_set_peer_generation(gone, 5);		/* too late */
	KUNIT_EXPECT_EQ(test, path->rx.next, 7);
	rds_ep_set_peer_generation(&ep->ep, 5);
	KUNIT_EXPECT_EQ(test, path->rx.next, 0);
	path->rx.next = 9;
	rds_ep_set_peer_generation(&ep->ep, 5);		/* the same as before */
	KUNIT_EXPECT_EQ(test, path->rx.next, 9);
	rds_ep_set_peer_generation(&ep->ep, 6);		/* it was restarted */
	KUNIT_EXPECT_EQ(test, path->rx.next, 0);
	KUNIT_EXPECT_EQ(test, path->peer_generation, 6);
	/* the first message of the one after that is here before the news */
	fixture_receive(test, conn, 3, 0, PORT_B, PORT_A, 10);
	rds_ep_set_peer_generation(&ep->ep, 7);
	KUNIT_EXPECT_EQ(test, path->rx.next, 4);
	KUNIT_EXPECT_EQ(test, path->peer_generation, 7);
	rds_ep_put(&ep->ep);
	rds_ep_put(gone);
}

/* What administrators are told of it. */
static void path_history(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	const struct rds_path_history *h = &conn->path.history;
	s64 start = ktime_get_real_ns();

	fake.by_hand = true;
	KUNIT_EXPECT_EQ(test, h->attempted, 0);
	bring_to(test, conn, RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, h->requests, 1);
	KUNIT_EXPECT_GE(test, h->attempted, start);
	KUNIT_EXPECT_EQ(test, h->connects, 0);
	KUNIT_EXPECT_EQ(test, h->connected, 0);
	fake_establish(conn);
	KUNIT_EXPECT_EQ(test, h->connects, 1);
	KUNIT_EXPECT_GE(test, h->connected, h->attempted);
	fake_lose(conn, RDS_DROP_QP_EVENT);
	KUNIT_EXPECT_EQ(test, h->drop_count, 1);
	KUNIT_EXPECT_GE(test, h->drops[0].when, h->connected);

	/* the peer's request, and one of ours that fails at once */
	post(test, conn, NULL, RDS_EV_REQUEST);
	flush(conn);
	fake_establish(conn);
	KUNIT_EXPECT_EQ(test, h->requests, 1);
	KUNIT_EXPECT_EQ(test, h->accepts, 1);
	KUNIT_EXPECT_EQ(test, h->connects, 2);
	fake_lose(conn, RDS_DROP_QP_EVENT);
	fake.connect_err = -ENOMEM;
	rds_path_post(&conn->path, RDS_EV_WANTED);
	flush(conn);
	KUNIT_EXPECT_EQ(test, h->requests, 2);
	KUNIT_EXPECT_EQ(test, h->connects, 2);
	KUNIT_EXPECT_EQ(test, h->drop_count, 3);
}

/* The heartbeat's timer, before its time; a real one does not come in between. */
static void heartbeat_timer(struct rds_conn *conn)
{
	rds_path_post(&conn->path, RDS_EV_TIMER);
	flush(conn);
	if (timer_delete_sync(&conn->path.timer))
		rds_conn_put(conn);
}

static void come_up(struct kunit *test, struct rds_conn *conn, bool heartbeat)
{
	struct fake_ep *ep;

	fake.by_hand = true;
	bring_to(test, conn, RDS_PATH_CONNECTING);
	ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	ep->ep.heartbeat = heartbeat;
	fake_establish(conn);
	rds_ep_put(&ep->ep);
}

static void path_heartbeat(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_path *path = &conn->path;
	unsigned int i;

	come_up(test, conn, true);
	KUNIT_EXPECT_TRUE(test, timer_pending(&path->timer));
	for (i = 1; i <= 3; i++) {
		heartbeat_timer(conn);			/* ask */
		KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], i);
		fake_ack(conn, 0);			/* whatever comes in is an answer */
		rds_path_post(path, RDS_EV_TIMER);
		flush(conn);
		KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], i);
		KUNIT_EXPECT_EQ(test, path->state, RDS_PATH_UP);
		KUNIT_EXPECT_TRUE(test, timer_pending(&path->timer));
	}
	/* none comes, until the time is over */
	heartbeat_timer(conn);
	path->ep->probe_end = jiffies + HZ * 3600;
	heartbeat_timer(conn);
	KUNIT_EXPECT_EQ(test, path->state, RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], i);
	path->ep->probe_end = jiffies - 1;
	heartbeat_timer(conn);
	KUNIT_EXPECT_EQ(test, path->state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, path->history.drops[0].reason, RDS_DROP_HEARTBEAT);
	KUNIT_EXPECT_EQ(test, path->history.drops[0].err, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, timer_pending(&path->timer));
}

/* Of a peer that does not speak of heartbeats nothing is asked, and nothing is held against it. */
static void path_without_heartbeat(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	come_up(test, conn, false);
	KUNIT_EXPECT_FALSE(test, timer_pending(&conn->path.timer));
	heartbeat_timer(conn);
	heartbeat_timer(conn);
	KUNIT_EXPECT_EQ(test, fake.signals[RDS_SIGNAL_PING], 0);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_UP);
}

static struct kunit_case path_cases[] = {
	KUNIT_CASE_PARAM(path_event, event_gen_params),
	KUNIT_CASE_PARAM(path_event_while_closing, closing_gen_params),
	KUNIT_CASE_PARAM(path_duel, duel_gen_params),
	KUNIT_CASE(path_newest_request_counts),
	KUNIT_CASE(path_requests_are_bounded),
	KUNIT_CASE(path_backs_off),
	KUNIT_CASE(path_address_is_away),
	KUNIT_CASE(path_backs_off_as_set),
	KUNIT_CASE(path_stays_down_when_idle),
	KUNIT_CASE(path_connecting_is_bounded),
	KUNIT_CASE(path_keeps_the_last_reasons),
	KUNIT_CASE(path_first_reason_counts),
	KUNIT_CASE(path_reasons_of_its_own),
	KUNIT_CASE(path_accept_fails),
	KUNIT_CASE(path_step),
	KUNIT_CASE(path_killed_with_messages),
	KUNIT_CASE(path_peer_generation),
	KUNIT_CASE(path_history),
	KUNIT_CASE(path_heartbeat),
	KUNIT_CASE(path_without_heartbeat),
	{}
};

FIXTURE_SUITE("rds_path", path_cases);
