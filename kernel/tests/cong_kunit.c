// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Congestion: who is told, who waits, who is woken. */
#include "../cong.h"

#include "../net.h"
#include "../payload.h"
#include "fixture.h"

static void cong_one_map_an_address(struct kunit *test)
{
	struct in6_addr a = fake_addr(1), b = fake_addr(2);
	struct rds_net *rn = fixture(test)->rn;
	struct rds_cong_map *first = rds_cong_map_local(rn, &a);
	struct rds_cong_map *again = rds_cong_map_local(rn, &a);
	struct rds_cong_map *other = rds_cong_map_local(rn, &b);

	KUNIT_ASSERT_FALSE(test, IS_ERR(first) || IS_ERR(again) || IS_ERR(other));
	KUNIT_EXPECT_PTR_EQ(test, first, again);
	KUNIT_EXPECT_PTR_NE(test, first, other);
	KUNIT_EXPECT_EQ(test, kref_read(&first->ref), 2);
	rds_cong_set_port(first, htons(7));
	rds_cong_map_put(again);
	KUNIT_EXPECT_TRUE(test, rds_cong_test_port(first, htons(7)));
	rds_cong_map_put(first);
	/* nobody had it any more: the next one starts with nothing */
	first = rds_cong_map_local(rn, &a);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	KUNIT_EXPECT_TRUE(test, rds_cong_bits_empty(first->bits));
	rds_cong_map_put(first);
	rds_cong_map_put(other);
	rds_cong_map_put(NULL);
}

/* Each peer of the address hears of each change, once; and nobody of none. */
static void cong_peers_are_told(struct kunit *test)
{
	struct rds_conn *a = fixture_conn(test, 1, 2), *b = fixture_conn(test, 1, 3);
	struct rds_conn *other = fixture_conn(test, 4, 2);

	rds_cong_set_port(a->lmap, htons(PORT_A));
	rds_cong_set_port(a->lmap, htons(PORT_A));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_queued), 2);
	KUNIT_EXPECT_TRUE(test, a->path.map_due && b->path.map_due && !other->path.map_due);
	rds_cong_clear_port(a->lmap, htons(PORT_A));
	rds_cong_clear_port(a->lmap, htons(PORT_A));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_queued), 4);
}

static void cong_map_message(struct kunit *test)
{
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_payload *payload;

	rds_cong_set_port(conn->lmap, htons(0));
	rds_cong_set_port(conn->lmap, htons(PORT_A));
	rds_cong_set_port(conn->lmap, htons(65535));
	payload = rds_cong_map_payload(conn->lmap, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, payload);
	KUNIT_EXPECT_EQ(test, payload->len, RDS_CONG_MAP_LEN);
	rds_cong_map_update(conn, payload);
	KUNIT_EXPECT_EQ(test, memcmp(conn->fmap->bits, conn->lmap->bits, RDS_CONG_MAP_LEN), 0);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_received), 1);
	rds_payload_put(payload);
	memset(conn->fmap->bits, 0, RDS_CONG_MAP_LEN);
}

/* No other length is a map, whatever is in it. */
static void cong_map_of_wrong_length(struct kunit *test)
{
	static const u32 lens[] = { 1, RDS_INLINE_MAX, RDS_CONG_MAP_LEN - 1, RDS_CONG_MAP_LEN + 1 };
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_payload *payload;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		payload = rds_payload_alloc(lens[i], GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, payload);
		payload->len = lens[i];
		rds_cong_map_update(conn, payload);
		KUNIT_EXPECT_TRUE(test, rds_cong_bits_empty(conn->fmap->bits));
		rds_payload_put(payload);
	}
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_received), 0);
}

static int wait_for_port(struct rds_conn *conn, struct rds_sock *rs, long timeo)
{
	return rds_cong_wait(conn->fmap, htons(PORT_B), rs, &timeo);
}

/* Refused: the next clearing tells, once. */
static void cong_refused_and_told(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), 0);
	rds_cong_set_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, fixture_send(rs, 2, PORT_B, 10), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, fixture_send(rs, 2, PORT_B + 1, 10), 10);
	KUNIT_EXPECT_FALSE(test, rs->cong_news);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&conn->fmap->refusals));
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_TRUE(test, rs->cong_news);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&rs->cong_refusals));
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->fmap->refusals));
	KUNIT_EXPECT_EQ(test, kref_read(&conn->fmap->ref), 1);
	KUNIT_EXPECT_EQ(test, fixture_send(rs, 2, PORT_B, 10), 10);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_send_error), 3);
}

/* Each peer that has refused a socket tells it, and nobody else does. */
static void cong_refused_by_two(struct kunit *test)
{
	struct rds_conn *b = fixture_conn(test, 1, 2), *c = fixture_conn(test, 1, 3);
	struct rds_conn *other = fixture_conn(test, 1, 4);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	int monitor;

	for (monitor = 0; monitor < 2; monitor++) {
		rds_cong_monitor(rs, monitor);
		rds_cong_set_port(b->fmap, htons(PORT_B));
		rds_cong_set_port(c->fmap, htons(PORT_B));
		rds_cong_set_port(other->fmap, htons(PORT_B));
		KUNIT_EXPECT_EQ(test, wait_for_port(b, rs, 0), -ENOBUFS);
		KUNIT_EXPECT_EQ(test, wait_for_port(c, rs, 0), -ENOBUFS);
		rds_cong_clear_port(other->fmap, htons(PORT_B));
		KUNIT_EXPECT_FALSE(test, rs->cong_news || rs->cong_freed);
		rds_cong_clear_port(c->fmap, htons(PORT_B));
		KUNIT_EXPECT_EQ(test, rs->cong_news, !monitor);
		KUNIT_EXPECT_EQ(test, rs->cong_freed, monitor ? RDS_CONG_MONITOR_MASK(PORT_B) : 0);
		rs->cong_news = false;
		rs->cong_freed = 0;
		rds_cong_clear_port(b->fmap, htons(PORT_B));
		KUNIT_EXPECT_EQ(test, rs->cong_news, !monitor);
		KUNIT_EXPECT_EQ(test, rs->cong_freed, monitor ? RDS_CONG_MONITOR_MASK(PORT_B) : 0);
		KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&rs->cong_refusals));
	}
}

/* A monitor waits for the ports that refused it; without one, any of that peer will do; a map that frees none is no news. */
static void cong_other_ports(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_payload *payload;

	rds_cong_set_port(conn->fmap, htons(PORT_B));
	payload = rds_cong_map_payload(conn->fmap, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, payload);
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), -ENOBUFS);
	rds_cong_map_update(conn, payload);
	rds_payload_put(payload);
	KUNIT_EXPECT_FALSE(test, rs->cong_news);
	rds_cong_set_port(conn->fmap, htons(PORT_B + 1));
	rds_cong_clear_port(conn->fmap, htons(PORT_B + 1));
	KUNIT_EXPECT_TRUE(test, rs->cong_news);

	rds_cong_monitor(rs, true);
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), -ENOBUFS);
	rds_cong_set_port(conn->fmap, htons(PORT_B + 1));
	rds_cong_clear_port(conn->fmap, htons(PORT_B + 1));
	KUNIT_EXPECT_EQ(test, rs->cong_freed, 0);
	KUNIT_EXPECT_FALSE(test, RB_EMPTY_ROOT(&rs->cong_refusals));
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_EQ(test, rs->cong_freed, RDS_CONG_MONITOR_MASK(PORT_B));
}

static void cong_forgets_a_socket(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	rds_cong_set_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 0), -ENOBUFS);
	rds_cong_forget_sock(rs);
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->fmap->refusals));
	KUNIT_EXPECT_EQ(test, kref_read(&conn->fmap->ref), 1);
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_FALSE(test, rs->cong_news);
}

static void cong_wait_is_bounded(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	rds_cong_set_port(conn->fmap, htons(PORT_B));
	KUNIT_EXPECT_EQ(test, wait_for_port(conn, rs, 2), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_send_blocked), 1);
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
}

struct waiting {
	struct fixture_thread	thread;
	struct rds_sock		*rs;
	struct rds_conn		*conn;
	int			err;
};

static void wait_in_thread(void *data)
{
	struct waiting *waiting = data;

	waiting->err = wait_for_port(waiting->conn, waiting->rs, MAX_SCHEDULE_TIMEOUT);
}

/* Blocked senders go on when the port is free: by a bit here, or by the peer's next map. */
static void cong_wakes_who_waits(struct kunit *test)
{
	struct waiting *waiting = kunit_kzalloc(test, sizeof(*waiting), GFP_KERNEL);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct rds_payload *empty = rds_cong_map_payload(conn->lmap, GFP_KERNEL);
	unsigned int i;

	KUNIT_EXPECT_NOT_NULL(test, waiting);
	KUNIT_EXPECT_NOT_NULL(test, empty);
	for (i = 0; waiting && empty && i < 2; i++) {
		rds_cong_set_port(conn->fmap, htons(PORT_B));
		waiting->rs = rs;
		waiting->conn = conn;
		fixture_start(&waiting->thread, wait_in_thread, waiting);
		KUNIT_EXPECT_TRUE(test, fixture_eventually(wq_has_sleeper(&conn->fmap->wait)));
		if (i)
			rds_cong_map_update(conn, empty);
		else
			rds_cong_clear_port(conn->fmap, htons(PORT_B));
		fixture_join(&waiting->thread);
		KUNIT_EXPECT_EQ(test, waiting->err, 0);
	}
	rds_payload_put(empty);
}

/* As long as a port of the peer is congested we wait for its word: a lost connection comes back by itself. */
static void cong_keeps_connected(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fixture_send_many(test, rs, 1, 10);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 1));
	rds_cong_set_port(conn->fmap, htons(PORT_B));
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(fake.made) == 2));
	FIXTURE_EXPECT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	rds_cong_clear_port(conn->fmap, htons(PORT_B));
	fake_lose(conn, RDS_DROP_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_FALSE(test, timer_pending(&conn->path.timer));
}

static struct kunit_case cong_cases[] = {
	KUNIT_CASE(cong_one_map_an_address),
	KUNIT_CASE(cong_peers_are_told),
	KUNIT_CASE(cong_map_message),
	KUNIT_CASE(cong_map_of_wrong_length),
	KUNIT_CASE(cong_refused_and_told),
	KUNIT_CASE(cong_refused_by_two),
	KUNIT_CASE(cong_other_ports),
	KUNIT_CASE(cong_forgets_a_socket),
	KUNIT_CASE(cong_wait_is_bounded),
	KUNIT_CASE(cong_wakes_who_waits),
	KUNIT_CASE(cong_keeps_connected),
	{}
};

FIXTURE_SUITE("rds_cong", cong_cases);
