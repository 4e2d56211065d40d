// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* From a path to a socket: repeats, pings, and messages that nobody wants. */
#include "../deliver.h"

#include "../cong.h"
#include "../inc.h"
#include "fixture.h"

#define RETRANS	RDS_FLAG_RETRANSMITTED

/* Messages coming in, by number; the length that tells one from the other is its place in the row, from 1. */
struct arrival_row {
	const char	*name;
	u16		generation;
	struct {
		u64	seq;
		u8	flags;
	} in[5];
	u8		out[6];		/* what the socket gets, then 0 */
};

static const struct arrival_row arrival_rows[] = {
	{ "in order", 0, { { 1 }, { 2 }, { 3 } }, { 1, 2, 3 } },
	{ "gaps", 0, { { 1 }, { 9 }, { 10 } }, { 1, 2, 3 } },
	{ "repeats", 0, { { 1 }, { 2 }, { 1, RETRANS }, { 2, RETRANS }, { 3, RETRANS } }, { 1, 2, 5 } },
	{ "low numbers of an unknown peer", 0, { { 7 }, { 1 }, { 2 } }, { 1, 2, 3 } },
	{ "low numbers of a known peer", 3, { { 7 }, { 1 }, { 7 }, { 8 } }, { 1, 4 } },
};

static void arrival_desc(const struct arrival_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(arrival, arrival_rows, arrival_desc);

/* The length of the next message that @rs has, which it consumes; 0: none. */
static u32 next_len(struct rds_sock *rs)
{
	struct rds_inc *inc = rds_sock_take(rs, false);
	u32 len = 0;

	if (inc) {
		len = inc->len;
		rds_sock_consumed(rs, inc);
		rds_inc_put(inc);
	}
	return len;
}

static void deliver_each_once(struct kunit *test)
{
	const struct arrival_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	unsigned int i, in = 0;

	conn->path.peer_generation = row->generation;
	for (i = 0; i < ARRAY_SIZE(row->in) && row->in[i].seq; i++, in++)
		fixture_receive(test, conn, row->in[i].seq, row->in[i].flags, PORT_B, PORT_A, i + 1);
	for (i = 0; row->out[i]; i++, in--)
		KUNIT_EXPECT_EQ(test, next_len(rs), row->out[i]);
	KUNIT_EXPECT_EQ(test, next_len(rs), 0);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_drop_old_seq), in);
	KUNIT_EXPECT_EQ(test, rs->rcv_bytes, 0);
}

static void deliver_to_the_bound_socket(struct kunit *test)
{
	struct rds_sock *a = fixture_socket(test, 1, PORT_A);
	struct rds_sock *b = fixture_socket(test, 1, PORT_B);
	struct rds_sock *c = fixture_socket(test, 3, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fixture_receive(test, conn, 1, 0, 9, PORT_B, 11);
	fixture_receive(test, conn, 2, 0, 9, PORT_A, 12);
	fixture_receive(test, conn, 3, 0, 9, PORT_A + 1, 13);
	KUNIT_EXPECT_EQ(test, next_len(a), 12);
	KUNIT_EXPECT_EQ(test, next_len(b), 11);
	KUNIT_EXPECT_EQ(test, next_len(a) + next_len(b) + next_len(c), 0);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_drop_no_sock), 1);
}

static void deliver_not_to_a_closing_socket(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fixture_receive(test, conn, 1, 0, PORT_B, PORT_A, 10);
	rds_sock_stop_receiving(rs);
	fixture_receive(test, conn, 2, 0, PORT_B, PORT_A, 10);
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->received));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_drop_dead_sock), 1);
}

/* What is for port 0 or the probe's port is for no socket. */
struct special_row {
	const char	*name;
	u16		sport;
	u16		dport;
	unsigned int	pongs;
	unsigned int	unwanted;	/* looked for a socket */
};

static const struct special_row special_rows[] = {
	{ "ping", 9, RDS_PORT_PING, 1, 0 },
	{ "ping that cannot be answered", 0, RDS_PORT_PING, 0, 0 },
	{ "probe", 0, RDS_PORT_PROBE, 0, 0 },
	{ "not a probe", 9, RDS_PORT_PROBE, 0, 1 },
	{ "pong for nobody", 0, PORT_A, 0, 1 },
};

static void special_desc(const struct special_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(special, special_rows, special_desc);

static void deliver_special_ports(struct kunit *test)
{
	const struct special_row *row = test->param_value;
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	unsigned int i, pongs = 0;

	fixture_receive(test, conn, 1, 0, row->sport, row->dport, 0);
	rds_path_flush(&conn->path);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, send_pong), row->pongs);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_ping), row->dport == RDS_PORT_PING);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_drop_no_sock), row->unwanted);
	for (i = 0; i < fake.nr_sent; i++)
		pongs += fake.sent[i].seq && !fake.sent[i].sport && ntohs(fake.sent[i].dport) == row->sport;
	KUNIT_EXPECT_EQ(test, pongs, row->pongs);
}

/* Full: told once; half empty: told once more. */
static void deliver_congests(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	rs->sk.sk_rcvbuf = 2 * 1000;
	fixture_receive(test, conn, 1, 0, PORT_B, PORT_A, 1000);
	KUNIT_EXPECT_FALSE(test, rds_cong_test_port(rs->lmap, htons(PORT_A)));
	fixture_receive(test, conn, 2, 0, PORT_B, PORT_A, 1);
	KUNIT_EXPECT_TRUE(test, rds_cong_test_port(rs->lmap, htons(PORT_A)));
	/* the peer may not have heard yet: nothing is lost */
	fixture_receive(test, conn, 3, 0, PORT_B, PORT_A, 499);
	KUNIT_EXPECT_EQ(test, rs->rcv_bytes, 1500);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_queued), 1);

	KUNIT_EXPECT_EQ(test, next_len(rs), 1000);
	KUNIT_EXPECT_EQ(test, rs->rcv_bytes, 500);
	KUNIT_EXPECT_TRUE(test, rds_cong_test_port(rs->lmap, htons(PORT_A)));
	KUNIT_EXPECT_EQ(test, next_len(rs), 1);
	KUNIT_EXPECT_FALSE(test, rds_cong_test_port(rs->lmap, htons(PORT_A)));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_queued), 2);
	KUNIT_EXPECT_EQ(test, next_len(rs), 499);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, cong_update_queued), 2);
}

/* A socket that is closed while congested congests nobody any more. */
static void deliver_closing_ends_congestion(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	rs->sk.sk_rcvbuf = 2 * 10;
	fixture_receive(test, conn, 1, 0, PORT_B, PORT_A, 100);
	KUNIT_EXPECT_TRUE(test, rds_cong_test_port(conn->lmap, htons(PORT_A)));
	rds_sock_stop_receiving(rs);
	KUNIT_EXPECT_FALSE(test, rds_cong_test_port(conn->lmap, htons(PORT_A)));
}

static struct kunit_case deliver_cases[] = {
	KUNIT_CASE_PARAM(deliver_each_once, arrival_gen_params),
	KUNIT_CASE(deliver_to_the_bound_socket),
	KUNIT_CASE(deliver_not_to_a_closing_socket),
	KUNIT_CASE_PARAM(deliver_special_ports, special_gen_params),
	KUNIT_CASE(deliver_congests),
	KUNIT_CASE(deliver_closing_ends_congestion),
	{}
};

FIXTURE_SUITE("rds_deliver", deliver_cases);
