// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* One connection between two addresses, whoever asks. */
#include "../conn.h"

#include "../net.h"
#include "fixture.h"

static void conn_is_one(struct kunit *test)
{
	struct rds_conn *a = fixture_conn(test, 1, 2), *again = fixture_conn(test, 1, 2);
	struct rds_conn *back = fixture_conn(test, 2, 1), *other = fixture_conn(test, 1, 3);

	KUNIT_EXPECT_PTR_EQ(test, a, again);
	KUNIT_EXPECT_PTR_NE(test, a, back);
	KUNIT_EXPECT_PTR_NE(test, a, other);
	KUNIT_EXPECT_EQ(test, atomic64_read(&fixture(test)->rn->nr_conns), 3);
	KUNIT_EXPECT_NE(test, a->generation, 0);
	/* what 1 tells is the same for both of its peers; what they tell is theirs */
	KUNIT_EXPECT_PTR_EQ(test, a->lmap, other->lmap);
	KUNIT_EXPECT_PTR_NE(test, a->fmap, other->fmap);
}

struct finding {
	struct fixture_thread	thread;
	struct rds_net		*rn;
	struct rds_conn		*conn;
};

static void find(void *data)
{
	struct finding *finding = data;
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(2),
		.trans	= &fake_transport,
	};

	finding->conn = rds_conn_get_or_create(finding->rn, &key, RDS_CONN_BY_SENDER);
}

#define FINDERS	6

static void conn_made_at_once(struct kunit *test)
{
	struct finding *finding = kunit_kzalloc(test, FINDERS * sizeof(*finding), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, finding);
	for (i = 0; i < FINDERS; i++) {
		finding[i].rn = fixture(test)->rn;
		fixture_start(&finding[i].thread, find, &finding[i]);
	}
	for (i = 0; i < FINDERS; i++)
		fixture_join(&finding[i].thread);
	for (i = 0; i < FINDERS; i++) {
		KUNIT_EXPECT_PTR_EQ(test, finding[i].conn, finding[0].conn);
		if (!IS_ERR(finding[i].conn))
			rds_conn_put(finding[i].conn);
	}
	KUNIT_EXPECT_TRUE(test, fixture_eventually(atomic64_read(&fixture(test)->rn->nr_conns) == 1));
}

static void conn_dropped_by_address(struct kunit *test)
{
	struct rds_conn *mine = fixture_conn(test, 1, 2), *other = fixture_conn(test, 3, 2);
	struct in6_addr addr = fake_addr(1);

	rds_path_post(&mine->path, RDS_EV_WANTED);
	rds_path_post(&other->path, RDS_EV_WANTED);
	FIXTURE_ASSERT_STATE(test, mine, RDS_PATH_UP);
	FIXTURE_ASSERT_STATE(test, other, RDS_PATH_UP);
	rds_conn_drop_from(fixture(test)->rn, &addr, NULL, RDS_ANY_TOS, RDS_DROP_ADDR_CHANGE);
	rds_path_flush(&mine->path);
	KUNIT_EXPECT_EQ(test, mine->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, mine->path.history.drops[0].reason, RDS_DROP_ADDR_CHANGE);
	KUNIT_EXPECT_EQ(test, other->path.state, RDS_PATH_UP);
}

static struct rds_conn *get_conn(struct kunit *test, const struct rds_conn_key *key)
{
	struct rds_conn *conn = rds_conn_get_or_create(fixture(test)->rn, key, RDS_CONN_BY_SENDER);

	KUNIT_ASSERT_FALSE(test, IS_ERR(conn));
	rds_conn_put(conn);	/* the table has it */
	return conn;
}

static void conn_dropped_by_tos(struct kunit *test)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(2),
		.trans	= &fake_transport,
		.tos	= 5,
	};
	struct rds_conn *five = get_conn(test, &key), *none = fixture_conn(test, 1, 2);

	KUNIT_ASSERT_PTR_NE(test, five, none);
	rds_path_post(&five->path, RDS_EV_WANTED);
	rds_path_post(&none->path, RDS_EV_WANTED);
	FIXTURE_ASSERT_STATE(test, five, RDS_PATH_UP);
	FIXTURE_ASSERT_STATE(test, none, RDS_PATH_UP);
	rds_conn_drop_from(fixture(test)->rn, &key.laddr, &key.faddr, 5, RDS_DROP_USER_RESET);
	rds_path_flush(&five->path);
	rds_path_flush(&none->path);
	KUNIT_EXPECT_EQ(test, five->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, none->path.state, RDS_PATH_UP);
	rds_conn_drop_from(fixture(test)->rn, &key.laddr, &key.faddr, RDS_ANY_TOS, RDS_DROP_USER_RESET);
	rds_path_flush(&none->path);
	KUNIT_EXPECT_EQ(test, none->path.state, RDS_PATH_DOWN);
}

/* A socket's messages go by the connection with its type of service, but to its own address. */
static void conn_of_a_tos(struct kunit *test)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(2),
		.trans	= &fake_transport,
		.tos	= 5,
	};
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn;

	rs->tos = 5;
	fixture_send_many(test, rs, 2, 100);
	conn = rds_conn_find(fixture(test)->rn, &key);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->path.next_seq, 3);
	rds_conn_put(conn);
	key.tos = 0;
	KUNIT_EXPECT_NULL(test, rds_conn_find(fixture(test)->rn, &key));
	key.faddr = key.laddr;
	key.trans = &rds_loop_transport;
	KUNIT_ASSERT_EQ(test, fixture_send(rs, 1, PORT_B, 1), 1);
	conn = rds_conn_find(fixture(test)->rn, &key);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	rds_conn_put(conn);
}

/* It has nothing that could be set up anew. */
static void conn_loopback_is_not_dropped(struct kunit *test)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(1),
		.trans	= &rds_loop_transport,
	};
	struct rds_conn *conn = get_conn(test, &key);

	KUNIT_EXPECT_EQ(test, conn->path.history.connects, 1);
	rds_conn_drop_from(fixture(test)->rn, &key.laddr, NULL, RDS_ANY_TOS, RDS_DROP_USER_RESET);
	rds_path_flush(&conn->path);
	KUNIT_EXPECT_EQ(test, conn->path.state, RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, conn->path.history.drop_count, 0);
}

/* Connection @n of a test, asked for by @side. */
static int ask_for(struct kunit *test, u8 n, enum rds_conn_side side)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(n),
		.trans	= &fake_transport,
	};
	struct rds_conn *conn = rds_conn_get_or_create(fixture(test)->rn, &key, side);

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	rds_conn_put(conn);
	return 0;
}

/* Peers cannot take the last ones, however many were made by whom. */
static void conn_limits(struct kunit *test)
{
	u8 n;

	fixture(test)->rn->sysctl.max_connections = 9;
	for (n = 2; n < 9; n++)
		KUNIT_EXPECT_EQ(test, ask_for(test, n, n % 2 ? RDS_CONN_BY_PEER : RDS_CONN_BY_SENDER), 0);
	KUNIT_EXPECT_EQ(test, ask_for(test, 20, RDS_CONN_BY_PEER), -EUSERS);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, limit_connections), 0);
	KUNIT_EXPECT_EQ(test, ask_for(test, 20, RDS_CONN_BY_SENDER), 0);
	KUNIT_EXPECT_EQ(test, ask_for(test, 21, RDS_CONN_BY_SENDER), 0);
	KUNIT_EXPECT_EQ(test, ask_for(test, 22, RDS_CONN_BY_SENDER), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, limit_connections), 1);
	KUNIT_EXPECT_EQ(test, ask_for(test, 22, RDS_CONN_BY_PEER), -EUSERS);
	/* those that are there */
	KUNIT_EXPECT_EQ(test, ask_for(test, 21, RDS_CONN_BY_PEER), 0);

	fixture(test)->rn->sysctl.max_connections = 0;
	KUNIT_EXPECT_EQ(test, ask_for(test, 22, RDS_CONN_BY_SENDER), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ask_for(test, 22, RDS_CONN_BY_PEER), -EUSERS);
}

#define KILLED	3

static bool closed_alone;

static void wait_for_the_others(struct fake_ep *ep)
{
	if (!fixture_eventually(READ_ONCE(fake.closed) == KILLED))
		WRITE_ONCE(closed_alone, true);
}

/* None that takes long to close keeps another from getting to know. */
static void conn_all_killed_at_once(struct kunit *test)
{
	u8 n;

	closed_alone = false;
	for (n = 0; n < KILLED; n++) {
		struct rds_conn *conn = fixture_conn(test, 1, 2 + n);

		rds_path_post(&conn->path, RDS_EV_WANTED);
		FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	}
	fake.on_close = wait_for_the_others;
	rds_conn_kill_all(fixture(test)->rn, &fake_transport);
	KUNIT_EXPECT_EQ(test, fake.closed, KILLED);
	KUNIT_EXPECT_FALSE(test, closed_alone);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_is_one),
	KUNIT_CASE(conn_made_at_once),
	KUNIT_CASE(conn_dropped_by_address),
	KUNIT_CASE(conn_dropped_by_tos),
	KUNIT_CASE(conn_of_a_tos),
	KUNIT_CASE(conn_loopback_is_not_dropped),
	KUNIT_CASE(conn_limits),
	KUNIT_CASE(conn_all_killed_at_once),
	{}
};

FIXTURE_SUITE("rds_conn", conn_cases);
