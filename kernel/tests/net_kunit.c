// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The end of a namespace, whatever its connections are at.  Every other test ends with one, too. */
#include "../net.h"

#include "../msg.h"
#include "../xmit.h"
#include "fixture.h"

static void come_up(struct kunit *test, struct rds_sock *rs, struct rds_conn *conn)
{
	fixture_send_many(test, rs, 1, 10);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
}

/* One connection in each state, with messages where there can be some, and requests that nobody looked at. */
static void net_exit_in_every_state(struct kunit *test)
{
	struct rds_conn *down = fixture_conn(test, 1, 4), *connecting = fixture_conn(test, 1, 5);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *sending = fixture_conn(test, 1, 2);
	struct rds_conn *dead = fixture_conn(test, 1, 6);

	come_up(test, rs, sending);
	fake.room = 1;
	fixture_send_many(test, rs, 3, 2 * RDS_FRAG_LEN);
	fake.by_hand = true;
	KUNIT_EXPECT_EQ(test, fixture_send(rs, 5, PORT_B, 10), 10);
	rds_path_flush(&connecting->path);
	rds_path_post(&dead->path, RDS_EV_KILL);
	rds_path_flush(&dead->path);
	KUNIT_EXPECT_EQ(test, down->path.state, RDS_PATH_DOWN);
	KUNIT_EXPECT_EQ(test, connecting->path.state, RDS_PATH_CONNECTING);
	KUNIT_EXPECT_EQ(test, sending->path.state, RDS_PATH_UP);
	KUNIT_EXPECT_EQ(test, dead->path.state, RDS_PATH_DEAD);
	fixture_stop(test);
	KUNIT_EXPECT_EQ(test, fake.made, 2);
	KUNIT_EXPECT_EQ(test, fake.closed, 2);
}

/* While a back-off runs: its timer must not find the connection gone. */
static void net_exit_while_backing_off(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	fake.connect_err = -EHOSTUNREACH;
	fixture_send_many(test, rs, 2, 10);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(fake.connects) >= 8));
	KUNIT_EXPECT_NE(test, READ_ONCE(conn->path.state), RDS_PATH_UP);
	fixture_stop(test);
}

/* An operation that the device is at ends before its pages are let go. */
static void net_exit_with_operations(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	u64 token;

	come_up(test, rs, conn);
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 10, 5000, 0, 1), 10);
	KUNIT_ASSERT_EQ(test, fixture_send_rdma(test, rs, 0, 5000, RDS_RDMA_READWRITE | RDS_RDMA_SILENT, 2), 0);
	rds_path_post(&conn->path, RDS_EV_KILL);
	rds_path_flush(&conn->path);
	rds_msg_flush();
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_DROPPED);
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_DROPPED);
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), -ENOENT);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 0);
}

struct holder {
	struct fixture_thread	thread;
	struct fake_ep		*ep;
};

static void let_go_later(void *data)
{
	struct holder *holder = data;

	fixture_eventually(READ_ONCE(fake.closed));
	msleep(50);
	rds_ep_put(&holder->ep->ep);
}

/* Somebody still has an endpoint, and by it the connection: the exit waits. */
static void net_exit_waits_for_the_last(struct kunit *test)
{
	struct holder *holder = kunit_kzalloc(test, sizeof(*holder), GFP_KERNEL);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	KUNIT_ASSERT_NOT_NULL(test, holder);
	come_up(test, rs, conn);
	holder->ep = fake_current(conn);
	KUNIT_ASSERT_NOT_NULL(test, holder->ep);
	fixture_start(&holder->thread, let_go_later, holder);
	fixture_stop(test);
	KUNIT_EXPECT_EQ(test, fake.released, 1);
	fixture_join(&holder->thread);
}

static void net_dying_makes_no_connection(struct kunit *test)
{
	struct rds_net *rn = fixture(test)->rn;
	struct rds_conn_key key = {
		.laddr	= fake_addr(1),
		.faddr	= fake_addr(2),
		.trans	= &fake_transport,
	};

	rn->dying = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rds_conn_get_or_create(rn, &key, RDS_CONN_BY_SENDER)), -ENETDOWN);
	key.trans = &rds_loop_transport;
	KUNIT_EXPECT_EQ(test, PTR_ERR(rds_conn_get_or_create(rn, &key, RDS_CONN_BY_SENDER)), -ENETDOWN);
	rn->dying = false;
	KUNIT_EXPECT_EQ(test, atomic64_read(&rn->nr_conns), 0);
}

static void close_last(struct kunit *test)
{
	struct fixture *f = fixture(test);

	sock_release(f->socks[--f->nr_socks]);
}

/* As in a namespace that the module has no use for by itself: with the last bound socket it all ends, a second later. */
static void net_listens_while_a_socket_is_bound(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2), *again;
	struct rds_net *rn = fixture(test)->rn;

	come_up(test, rs, conn);
	rds_transport_leave(&fake_transport, rn);
	fixture_socket(test, 1, PORT_B);
	close_last(test);
	msleep(1500);
	KUNIT_EXPECT_EQ(test, fake.listening, 1);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	close_last(test);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(!READ_ONCE(fake.listening)));
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_DEAD);
	/* and begins anew, with another connection */
	rs = fixture_socket(test, 1, PORT_A);
	KUNIT_EXPECT_EQ(test, fake.listening, 1);
	again = fixture_conn(test, 1, 2);
	KUNIT_EXPECT_PTR_NE(test, again, conn);
	come_up(test, rs, again);
}

/* A socket that is bound within that second finds everything as it was. */
static void net_listens_on_for_a_second(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	come_up(test, rs, conn);
	rds_transport_leave(&fake_transport, fixture(test)->rn);
	close_last(test);
	fixture_socket(test, 1, PORT_A);
	msleep(1500);
	KUNIT_EXPECT_EQ(test, fake.listening, 1);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
}

/* The module goes while that second is not over: nothing may be left to run. */
static void net_exit_within_the_second(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);

	come_up(test, rs, conn);
	rds_transport_leave(&fake_transport, fixture(test)->rn);
	close_last(test);
	fixture_stop(test);
	KUNIT_EXPECT_EQ(test, fake.listening, 0);
}

static void net_bind_fails_if_listening_does(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, 0);
	struct rds_net *rn = fixture(test)->rn;
	struct sockaddr_in sin = {
		.sin_family	= AF_INET,
		.sin_port	= htons(PORT_A),
		.sin_addr	= { fake_addr(1).s6_addr32[3] },
	};

	rds_transport_leave(&fake_transport, rn);
	KUNIT_ASSERT_TRUE(test, fixture_eventually(!READ_ONCE(fake.listening)));
	fake.listen_err = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, kernel_bind(rs->sk.sk_socket, (struct sockaddr *)&sin, sizeof(sin)),
			-EADDRINUSE);
	KUNIT_EXPECT_EQ(test, fake.listening, 0);
	fake.listen_err = 0;
	KUNIT_EXPECT_EQ(test, kernel_bind(rs->sk.sk_socket, (struct sockaddr *)&sin, sizeof(sin)), 0);
	KUNIT_EXPECT_EQ(test, fake.listening, 1);
}

static struct kunit_case net_cases[] = {
	KUNIT_CASE(net_listens_while_a_socket_is_bound),
	KUNIT_CASE(net_listens_on_for_a_second),
	KUNIT_CASE(net_exit_within_the_second),
	KUNIT_CASE(net_bind_fails_if_listening_does),
	KUNIT_CASE(net_exit_in_every_state),
	KUNIT_CASE(net_exit_while_backing_off),
	KUNIT_CASE(net_exit_with_operations),
	KUNIT_CASE(net_exit_waits_for_the_last),
	KUNIT_CASE(net_dying_makes_no_connection),
	{}
};

FIXTURE_SUITE("rds_net", net_cases);
