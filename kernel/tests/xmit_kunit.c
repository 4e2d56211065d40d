// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queues, acks and what is sent again after a reconnect. */
#include "../xmit.h"

#include "../cong.h"
#include "../msg.h"
#include "fixture.h"

#define MAP_FRAGS	(RDS_CONG_MAP_LEN / RDS_FRAG_LEN)

/* Two ends, and what the sender's path has done when its worker is idle. */
static struct rds_sock *sender(struct kunit *test, struct rds_conn **conn)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);

	*conn = fixture_conn(test, 1, 2);
	return rs;
}

static void settle(struct kunit *test, struct rds_conn *conn)
{
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	rds_path_xmit(&conn->path);
}

/* The endpoint is lost, and what follows is over. */
static void reconnect(struct kunit *test, struct rds_conn *conn)
{
	unsigned int made = fake.made;

	fake_lose(conn, RDS_DROP_DISCONNECTED);
	rds_path_post(&conn->path, RDS_EV_WANTED);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(fake.made) > made));
	settle(test, conn);
}

/* Endpoint @ep has sent its map first, and then exactly the numbers @first to @last in order. */
static void expect_sent(struct kunit *test, unsigned int ep, u64 first, u64 last)
{
	bool map = false;
	u64 next = first;
	unsigned int i;

	for (i = 0; i < fake.nr_sent; i++) {
		const struct fake_sent *sent = &fake.sent[i];

		if (sent->ep != ep)
			continue;
		if (!map) {
			map = true;
			KUNIT_EXPECT_EQ(test, sent->seq, 0);
			KUNIT_EXPECT_EQ(test, sent->flags, RDS_FLAG_CONG_MAP);
			KUNIT_EXPECT_EQ(test, sent->len, RDS_CONG_MAP_LEN);
			continue;
		}
		KUNIT_EXPECT_EQ(test, sent->seq, next);
		next++;
	}
	KUNIT_EXPECT_TRUE(test, map);
	KUNIT_EXPECT_EQ(test, next, last + 1);
}

static bool was_flagged(unsigned int ep, u64 seq, u8 flag)
{
	unsigned int i;

	for (i = 0; i < fake.nr_sent; i++)
		if (fake.sent[i].ep == ep && fake.sent[i].seq == seq)
			return fake.sent[i].flags & flag;
	return false;
}

static unsigned int times_sent(u64 seq)
{
	unsigned int i, n = 0;

	for (i = 0; i < fake.nr_sent; i++)
		n += fake.sent[i].seq == seq;
	return n;
}

static void expect_all_done(struct kunit *test, struct rds_sock *rs)
{
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->sending));
	KUNIT_EXPECT_EQ(test, rs->snd_bytes, 0);
	KUNIT_EXPECT_EQ(test, rs->snd_mem, 0);
}

static void xmit_in_order(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	u64 seq;

	fixture_send_many(test, rs, 20, 10);
	settle(test, conn);
	expect_sent(test, 1, 1, 20);
	for (seq = 1; seq <= 20; seq++) {
		KUNIT_EXPECT_EQ(test, was_flagged(1, seq, RDS_FLAG_ACK_REQUIRED), seq % 9 == 1);
		KUNIT_EXPECT_FALSE(test, was_flagged(1, seq, RDS_FLAG_RETRANSMITTED));
	}
	KUNIT_EXPECT_EQ(test, rs->snd_bytes, 200);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 20));
	expect_all_done(test, rs);
}

/* What was acknowledged is not sent again; the rest is, under its number, in order, once; then what is new. */
static void xmit_again_after_reconnect(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	u64 seq;

	fixture_send_many(test, rs, 10, 10);
	settle(test, conn);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 4));
	reconnect(test, conn);
	fixture_send_many(test, rs, 2, 10);
	settle(test, conn);
	expect_sent(test, 1, 1, 10);
	expect_sent(test, 2, 5, 12);
	for (seq = 5; seq <= 12; seq++)
		KUNIT_EXPECT_EQ(test, was_flagged(2, seq, RDS_FLAG_RETRANSMITTED), seq <= 10);
	KUNIT_EXPECT_TRUE(test, was_flagged(2, 10, RDS_FLAG_ACK_REQUIRED));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, retransmitted), 6);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 12));
	expect_all_done(test, rs);
	reconnect(test, conn);
	expect_sent(test, 3, 1, 0);
}

static void xmit_again_and_again(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	unsigned int ep;

	fixture_send_many(test, rs, 5, 10);
	settle(test, conn);
	for (ep = 2; ep <= 6; ep++) {
		reconnect(test, conn);
		expect_sent(test, ep, 1, 5);
	}
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 5));
	expect_all_done(test, rs);
}

/* Lost while the second message was half out: both were begun, the third was not. */
static void xmit_again_from_the_first_fragment(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fake.room = MAP_FRAGS + 1 + 2;
	fixture_send_many(test, rs, 1, 10);
	fixture_send_many(test, rs, 1, 4 * RDS_FRAG_LEN);
	fixture_send_many(test, rs, 1, 10);
	settle(test, conn);
	expect_sent(test, 1, 1, 1);
	fake.room = INT_MAX;
	reconnect(test, conn);
	expect_sent(test, 2, 1, 3);
	KUNIT_EXPECT_TRUE(test, was_flagged(2, 2, RDS_FLAG_RETRANSMITTED));
	KUNIT_EXPECT_FALSE(test, was_flagged(2, 3, RDS_FLAG_RETRANSMITTED));
}

/* Room comes back bit by bit: each fragment goes out once. */
static void xmit_waits_for_room(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	unsigned int i;

	fake.room = 0;
	fixture_send_many(test, rs, 6, 2 * RDS_FRAG_LEN);
	settle(test, conn);
	KUNIT_EXPECT_EQ(test, fake.nr_sent, 0);
	for (i = 1; i <= MAP_FRAGS + 6 * 2; i++) {
		fake.room = 1;
		rds_path_xmit(&conn->path);
		KUNIT_EXPECT_EQ(test, fake.room, 0);
		KUNIT_EXPECT_EQ(test, fake.nr_sent, i / 2);
	}
	expect_sent(test, 1, 1, 6);
}

static void xmit_error_drops_the_endpoint(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fixture_send_many(test, rs, 3, 10);
	settle(test, conn);
	fake.xmit_err = -EIO;
	fixture_send_many(test, rs, 1, 10);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE(fake.made) == 2));
	settle(test, conn);
	KUNIT_EXPECT_EQ(test, conn->path.history.drops[0].reason, RDS_DROP_POST_FAILED);
	expect_sent(test, 1, 1, 3);
	expect_sent(test, 2, 1, 4);
}

/* What the peer says with 5 messages wholly sent, the sixth in part, and 2 acknowledged. */
struct ack_row {
	const char	*name;
	u64		ack;
	bool		sane;
	unsigned int	left;		/* of 7 messages */
};

static const struct ack_row ack_rows[] = {
	{ "nothing", 0, true, 5 },
	{ "older", 1, true, 5 },
	{ "again", 2, true, 5 },
	{ "one more", 3, true, 4 },
	{ "all", 5, true, 2 },
	{ "one that is still being sent", 6, false, 5 },
	{ "one that is queued", 7, false, 5 },
	{ "one that does not exist", 8, false, 5 },
	{ "the highest number", U64_MAX, false, 5 },
};

static void ack_desc(const struct ack_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(ack, ack_rows, ack_desc);

static unsigned int messages_left(struct rds_sock *rs)
{
	struct list_head *item;
	unsigned int n = 0;

	list_for_each(item, &rs->sending)
		n++;
	return n;
}

static void xmit_ack(struct kunit *test)
{
	const struct ack_row *row = test->param_value;
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fake.room = MAP_FRAGS + 5 + 1;
	fixture_send_many(test, rs, 5, 10);
	fixture_send_many(test, rs, 2, 2 * RDS_FRAG_LEN);
	settle(test, conn);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 2));
	KUNIT_EXPECT_EQ(test, fake_ack(conn, row->ack), row->sane);
	KUNIT_EXPECT_EQ(test, messages_left(rs), row->left);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, send_drop_acked), 7 - row->left);
}

/* After a reconnect the peer starts anew: what the new endpoint has not sent is no sane ack, and nothing
 * that an old one says counts.
 */
static void xmit_ack_of_another_endpoint(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	struct fake_ep *gone;

	fixture_send_many(test, rs, 5, 10);
	settle(test, conn);
	gone = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, gone);
	fake.room = MAP_FRAGS + 2;
	reconnect(test, conn);
	KUNIT_EXPECT_TRUE(test, rds_path_acked(&gone->ep, 5));
	KUNIT_EXPECT_EQ(test, messages_left(rs), 5);
	KUNIT_EXPECT_FALSE(test, fake_ack(conn, 5));
	KUNIT_EXPECT_EQ(test, messages_left(rs), 5);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 2));
	KUNIT_EXPECT_EQ(test, messages_left(rs), 3);
	rds_ep_put(&gone->ep);
}

/* The peer cannot do with half a message: what was begun goes out, what was not does not. */
static void xmit_cancelled_in_the_midst(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fake.room = MAP_FRAGS + 1;
	fixture_send_many(test, rs, 2, 2 * RDS_FRAG_LEN);
	settle(test, conn);
	rds_sock_cancel(rs, NULL, 0);
	expect_all_done(test, rs);
	fixture_send_many(test, rs, 1, 10);
	fake.room = INT_MAX;
	rds_path_xmit(&conn->path);
	KUNIT_EXPECT_EQ(test, times_sent(1), 1);
	KUNIT_EXPECT_EQ(test, times_sent(2), 0);
	KUNIT_EXPECT_EQ(test, times_sent(3), 1);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 3));
	reconnect(test, conn);
	expect_sent(test, 2, 1, 0);
}

static void xmit_cancels_one_receiver_only(struct kunit *test)
{
	struct in6_addr addr = fake_addr(2);
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fixture_send_many(test, rs, 2, 10);
	KUNIT_ASSERT_EQ(test, fixture_send(rs, 2, PORT_B + 1, 10), 10);
	settle(test, conn);
	rds_sock_cancel(rs, &addr, htons(PORT_B));
	KUNIT_EXPECT_EQ(test, messages_left(rs), 1);
	reconnect(test, conn);
	expect_sent(test, 2, 3, 3);
}

/* A message with an operation, and how far that was when the endpoint was lost. */
struct fate_row {
	const char	*name;
	int		done;		/* the device ended it with this, or: */
	bool		posted;
	bool		again;		/* the message is sent again */
	bool		op_again;	/* with its operation */
	int		status;		/* told in the end */
};

#define AT_IT		(-1)		/* the device is still at it, or never was */

static const struct fate_row fate_rows[] = {
	{ "not handed over", AT_IT, false, true, true, RDS_RDMA_SUCCESS },
	{ "nobody knows", AT_IT, true, false, false, RDS_RDMA_DROPPED },
	{ "had succeeded", RDS_RDMA_SUCCESS, true, true, false, RDS_RDMA_SUCCESS },
	{ "had failed", RDS_RDMA_REMOTE_ERROR, true, false, false, RDS_RDMA_REMOTE_ERROR },
	{ "was dropped", RDS_RDMA_DROPPED, true, false, false, RDS_RDMA_DROPPED },
};

static void fate_desc(const struct fate_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(fate, fate_rows, fate_desc);

static unsigned int ops_sent(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < fake.nr_sent; i++)
		n += fake.sent[i].ops;
	return n;
}

static void xmit_operation_never_runs_twice(struct kunit *test)
{
	const struct fate_row *row = test->param_value;
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	unsigned int ops;
	u64 token = 0;

	fixture_send_many(test, rs, 1, 10);
	settle(test, conn);
	if (!row->posted)
		fake.room = 0;
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 5000, 0, 77), 10);
	if (row->done != AT_IT)
		fake_op_done(conn, row->done);
	fixture_send_many(test, rs, 1, 10);
	fake.room = INT_MAX;
	ops = ops_sent();
	KUNIT_EXPECT_EQ(test, ops, row->posted ? 1 : 0);

	reconnect(test, conn);
	rds_msg_flush();
	KUNIT_EXPECT_EQ(test, ops_sent() - ops, row->op_again ? 1 : 0);
	KUNIT_EXPECT_EQ(test, times_sent(2), (row->posted ? 1 : 0) + (row->again ? 1 : 0));
	KUNIT_EXPECT_EQ(test, times_sent(1), 2);
	KUNIT_EXPECT_EQ(test, times_sent(3), row->posted ? 2 : 1);
	if (row->op_again)
		fake_op_done(conn, RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 3));
	rds_msg_flush();
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), row->status);
	KUNIT_EXPECT_EQ(test, token, 77);
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), -ENOENT);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 0);
	KUNIT_EXPECT_EQ(test, fixture_ops(rs), 0);
	expect_all_done(test, rs);
}

/* Told only when both are over, whichever is first; the pages are free by then. */
static void xmit_operation_and_ack_in_any_order(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	u64 token;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 5000, 0, 5 + i), 10);
		settle(test, conn);
		KUNIT_EXPECT_EQ(test, fixture_pinned(test), 2);
		if (i)
			fake_op_done(conn, RDS_RDMA_SUCCESS);
		else
			KUNIT_EXPECT_TRUE(test, fake_ack(conn, i + 1));
		KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), -ENOENT);
		if (i)
			KUNIT_EXPECT_TRUE(test, fake_ack(conn, i + 1));
		else
			fake_op_done(conn, RDS_RDMA_SUCCESS);
		KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_SUCCESS);
		KUNIT_EXPECT_EQ(test, token, 5 + i);
		KUNIT_EXPECT_EQ(test, fixture_pinned(test), 0);
	}
}

/* An operation alone is over when the device says so: there is no message to acknowledge. */
static void xmit_silent_operation(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	u64 token = 0;

	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 0, 100, RDS_RDMA_SILENT | RDS_RDMA_READWRITE, 3), 0);
	settle(test, conn);
	KUNIT_EXPECT_EQ(test, messages_left(rs), 1);
	fake_op_done(conn, RDS_RDMA_SUCCESS);
	expect_all_done(test, rs);
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_EQ(test, token, 3);
}

/* Cancelled operations are told of, wherever they were: queued, in the midst, with the device. */
static void xmit_cancelled_operations(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	unsigned int i, told = 0;
	u64 token;

	fake.room = MAP_FRAGS + 1 + 1;
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 100, 0, 1), 10);
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 2 * RDS_FRAG_LEN, 100, 0, 2), 2 * RDS_FRAG_LEN);
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 100, 0, 3), 10);
	settle(test, conn);
	rds_sock_cancel(rs, NULL, 0);
	rds_msg_flush();
	/* the device has the first two: they end when it says so */
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_CANCELED);
	KUNIT_EXPECT_EQ(test, token, 3);
	KUNIT_EXPECT_EQ(test, fixture_ops(rs), 2);
	fake.room = INT_MAX;
	rds_path_xmit(&conn->path);
	KUNIT_EXPECT_EQ(test, times_sent(2), 1);
	KUNIT_EXPECT_EQ(test, times_sent(3), 0);
	for (i = 0; i < 2; i++)
		fake_op_done(conn, RDS_RDMA_SUCCESS);
	while (fixture_take_status(rs, &token) != -ENOENT)
		told |= 1u << token;
	KUNIT_EXPECT_EQ(test, told, 6);
	KUNIT_EXPECT_EQ(test, fixture_ops(rs), 0);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 0);
	expect_all_done(test, rs);
}

/* Several threads send on one path: one at a time is the owner, and no message is left behind. */
#define SENDERS		4
#define EACH		40

struct burst {
	struct fixture_thread	thread;
	struct rds_sock		*rs;
	unsigned int		sent;
};

static void send_burst(void *data)
{
	struct burst *burst = data;
	unsigned int i;

	for (i = 0; i < EACH; i++)
		burst->sent += fixture_send(burst->rs, 2, PORT_B, 10) == 10;
}

static void xmit_from_many_threads(struct kunit *test)
{
	struct burst *bursts = kunit_kzalloc(test, SENDERS * sizeof(*bursts), GFP_KERNEL);
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);
	unsigned int i, sent = 0;

	KUNIT_ASSERT_NOT_NULL(test, bursts);
	for (i = 0; i < SENDERS; i++) {
		bursts[i].rs = rs;
		fixture_start(&bursts[i].thread, send_burst, &bursts[i]);
	}
	for (i = 0; i < SENDERS; i++) {
		fixture_join(&bursts[i].thread);
		sent += bursts[i].sent;
	}
	KUNIT_EXPECT_EQ(test, sent, SENDERS * EACH);
	settle(test, conn);
	expect_sent(test, 1, 1, SENDERS * EACH);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, SENDERS * EACH));
	expect_all_done(test, rs);
}

/* Our own congestion goes out before messages that were queued earlier. */
static void xmit_map_first(struct kunit *test)
{
	struct rds_conn *conn;
	struct rds_sock *rs = sender(test, &conn);

	fixture_send_many(test, rs, 1, 10);
	settle(test, conn);
	fake.room = 0;
	fixture_send_many(test, rs, 2, 10);
	rds_cong_set_port(conn->lmap, htons(PORT_A));
	rds_cong_clear_port(conn->lmap, htons(PORT_A));
	fake.room = INT_MAX;
	settle(test, conn);
	KUNIT_ASSERT_EQ(test, fake.nr_sent, 5);
	/* message 2 had been begun; one map for both changes */
	KUNIT_EXPECT_EQ(test, fake.sent[2].seq, 2);
	KUNIT_EXPECT_EQ(test, fake.sent[3].flags, RDS_FLAG_CONG_MAP);
	KUNIT_EXPECT_EQ(test, fake.sent[4].seq, 3);
}

static void pong(struct rds_path *path)
{
	spin_lock_bh(&path->rx_lock);
	rds_path_pong(path, htons(PORT_B));
	spin_unlock_bh(&path->rx_lock);
}

/* A peer that pings and takes no pongs costs a bounded amount. */
static void xmit_pongs_are_bounded(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	const unsigned int max = conn->rn->sysctl.connection_max_pongs;
	struct rds_path *path = &conn->path;
	unsigned int i;

	fake.by_hand = true;
	for (i = 0; i < max + 5; i++)
		pong(path);
	KUNIT_EXPECT_EQ(test, path->pongs, max);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, pong_dropped), 5);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, send_pong), max);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_CONNECTING);
	fake_establish(conn);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, max));
	KUNIT_EXPECT_EQ(test, path->pongs, 0);
	rds_cong_set_port(conn->fmap, htons(PORT_B));
	pong(path);
	KUNIT_EXPECT_EQ(test, path->pongs, 0);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, pong_dropped), 6);
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
}

static struct kunit_case xmit_cases[] = {
	KUNIT_CASE(xmit_in_order),
	KUNIT_CASE(xmit_again_after_reconnect),
	KUNIT_CASE(xmit_again_and_again),
	KUNIT_CASE(xmit_again_from_the_first_fragment),
	KUNIT_CASE(xmit_waits_for_room),
	KUNIT_CASE(xmit_error_drops_the_endpoint),
	KUNIT_CASE_PARAM(xmit_ack, ack_gen_params),
	KUNIT_CASE(xmit_ack_of_another_endpoint),
	KUNIT_CASE(xmit_cancelled_in_the_midst),
	KUNIT_CASE(xmit_cancels_one_receiver_only),
	KUNIT_CASE_PARAM(xmit_operation_never_runs_twice, fate_gen_params),
	KUNIT_CASE(xmit_operation_and_ack_in_any_order),
	KUNIT_CASE(xmit_silent_operation),
	KUNIT_CASE(xmit_cancelled_operations),
	KUNIT_CASE(xmit_from_many_threads),
	KUNIT_CASE(xmit_map_first),
	KUNIT_CASE(xmit_pongs_are_bounded),
	{}
};

FIXTURE_SUITE("rds_xmit", xmit_cases);
