// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What a socket has received: order, references, bytes. */
#include "../inc.h"

#include "../payload.h"
#include "fixture.h"

/* Three messages of 10, 20 and 30 bytes. */
static struct rds_sock *receiver(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	u32 i;

	for (i = 1; i <= 3; i++)
		fixture_receive(test, conn, i, 0, PORT_B, PORT_A, 10 * i);
	return rs;
}

static void inc_fields(struct kunit *test)
{
	struct in6_addr from = fake_addr(2), to = fake_addr(1);
	struct rds_header hdr;
	struct rds_inc *inc;

	rds_header_init(&hdr, 5, 1234, htons(PORT_B), htons(PORT_A));
	KUNIT_ASSERT_EQ(test, rds_ext_add_dest(&hdr, rds_cookie(7, 8)), 0);
	inc = rds_inc_alloc(&hdr, &from, &to, 3, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, inc);
	KUNIT_EXPECT_EQ(test, memcmp(&inc->saddr, &from, sizeof(from)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&inc->daddr, &to, sizeof(to)), 0);
	KUNIT_EXPECT_EQ(test, inc->scope, 3);
	KUNIT_EXPECT_EQ(test, ntohs(inc->sport), PORT_B);
	KUNIT_EXPECT_EQ(test, ntohs(inc->dport), PORT_A);
	KUNIT_EXPECT_EQ(test, inc->len, 1234);
	KUNIT_EXPECT_TRUE(test, inc->ext.has_dest);
	KUNIT_EXPECT_EQ(test, inc->ext.dest_rkey, 7);
	rds_inc_put(inc);
	rds_inc_put(NULL);
}

/* The bytes live as long as the last message that refers to them. */
static void inc_holds_its_payload(struct kunit *test)
{
	struct rds_payload *payload = rds_payload_alloc(100, GFP_KERNEL);
	struct in6_addr addr = fake_addr(1);
	struct rds_header hdr;
	struct rds_inc *inc;

	KUNIT_ASSERT_NOT_NULL(test, payload);
	rds_header_init(&hdr, 1, 100, 0, 0);
	inc = rds_inc_alloc(&hdr, &addr, &addr, 0, GFP_KERNEL);
	KUNIT_EXPECT_NOT_NULL(test, inc);
	if (inc)
		inc->payload = rds_payload_get(payload);
	KUNIT_EXPECT_EQ(test, refcount_read(&payload->ref), 2);
	rds_inc_put(inc);
	KUNIT_EXPECT_EQ(test, refcount_read(&payload->ref), 1);
	rds_payload_put(payload);
}

static void inc_taken_in_order(struct kunit *test)
{
	struct rds_sock *rs = receiver(test);
	struct rds_inc *inc;
	u32 i, left = 60;

	KUNIT_EXPECT_EQ(test, rs->rcv_bytes, left);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_TRUE(test, rds_sock_readable(rs));
		inc = rds_sock_take(rs, false);
		KUNIT_ASSERT_NOT_NULL(test, inc);
		KUNIT_EXPECT_EQ(test, inc->len, 10 * i);
		KUNIT_EXPECT_EQ(test, rs->rcv_bytes, left);	/* until it is read */
		rds_sock_consumed(rs, inc);
		left -= 10 * i;
		KUNIT_EXPECT_EQ(test, rs->rcv_bytes, left);
		rds_inc_put(inc);
	}
	KUNIT_EXPECT_FALSE(test, rds_sock_readable(rs));
	KUNIT_EXPECT_NULL(test, rds_sock_take(rs, false));
	KUNIT_EXPECT_NULL(test, rds_sock_take(rs, true));
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_bytes_added_to_sock), 60);
	KUNIT_EXPECT_EQ(test, fixture_stat(test, recv_bytes_freed_fromsock), 60);
}

static void inc_peeked_stays(struct kunit *test)
{
	struct rds_sock *rs = receiver(test);
	struct rds_inc *peeked = rds_sock_take(rs, true), *taken;

	KUNIT_ASSERT_NOT_NULL(test, peeked);
	KUNIT_EXPECT_EQ(test, kref_read(&peeked->ref), 2);
	taken = rds_sock_take(rs, false);
	KUNIT_EXPECT_PTR_EQ(test, taken, peeked);
	rds_sock_consumed(rs, taken);
	rds_inc_put(taken);
	KUNIT_EXPECT_EQ(test, peeked->len, 10);		/* whoever peeked has it still */
	rds_inc_put(peeked);
}

/* A reader that could not copy it puts it back in front. */
static void inc_put_back(struct kunit *test)
{
	struct rds_sock *rs = receiver(test);
	struct rds_inc *first = rds_sock_take(rs, false), *again;

	KUNIT_ASSERT_NOT_NULL(test, first);
	rds_sock_untake(rs, first);
	KUNIT_EXPECT_EQ(test, rs->rcv_bytes, 60);
	again = rds_sock_take(rs, false);
	KUNIT_EXPECT_PTR_EQ(test, again, first);
	rds_sock_untake(rs, again);
}

static void inc_closing_drops_all(struct kunit *test)
{
	struct rds_sock *rs = receiver(test);
	struct rds_inc *peeked = rds_sock_take(rs, true);

	KUNIT_ASSERT_NOT_NULL(test, peeked);
	rds_sock_stop_receiving(rs);
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->received));
	KUNIT_EXPECT_EQ(test, kref_read(&peeked->ref), 1);
	rds_inc_put(peeked);
}

static struct kunit_case inc_cases[] = {
	KUNIT_CASE(inc_fields),
	KUNIT_CASE(inc_holds_its_payload),
	KUNIT_CASE(inc_taken_in_order),
	KUNIT_CASE(inc_peeked_stays),
	KUNIT_CASE(inc_put_back),
	KUNIT_CASE(inc_closing_drops_all),
	{}
};

FIXTURE_SUITE("rds_inc", inc_cases);
