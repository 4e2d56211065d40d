// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests to connect that no RDS peer sends, and peers that go away at every stage. */
#include "hostile.h"

#include <sys/random.h>

#define TIMEOUT	120
#define FLOOD	40

/* --- private data ------------------------------------------------------- */

static void give_up(FIXTURE_DATA(hostile) *self)
{
	peer_close(&self->peer);
}

/* Connections that did not come about, or ended. */
static long long ends(FIXTURE_DATA(hostile) *self)
{
	return count_of(self, "conn_reset") + count_of(self, "ib_connect_raced") + count_of(self, "ib_refused_version") +
	       count_of(self, "ib_refused_address") + count_of(self, "ib_refused_busy");
}

/* Some more are counted, soon. */
static void expect_ends(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, long long before)
{
	int64_t end = now_ms() + PEER_WAIT_MS;

	while (ends(self) <= before && now_ms() < end)
		usleep(NAP_MS * 1000);
	EXPECT_GT(ends(self), before);
}

/* A request with @len bytes of @priv is rejected, and @counter says why. */
static void is_refused(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *counter,
		       const void *priv, size_t len)
{
	long long before = count_of(self, counter);

	ASSERT_EQ(0, peer_prepare(&self->peer, self->me, self->them));
	ASSERT_EQ(0, peer_request(&self->peer, priv, len));
	EXPECT_EQ(-ECONNREFUSED, peer_wait(&self->peer, RDMA_CM_EVENT_CONNECT_RESPONSE));
	/* a reject says 1, in the CPU's byte order */
	EXPECT_GE(self->peer.said_len, 4);
	EXPECT_EQ(1, *(int *)self->peer.said);
	EXPECT_COUNTED(counter, before);
	give_up(self);
}

static void version_is_refused(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, uint8_t major,
			       uint8_t minor, uint16_t mask)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	priv.major = major;
	priv.minor = minor;
	priv.mask = mask;
	is_refused(_metadata, self, "ib_refused_version", bytes, priv_pack(&priv, bytes));
}

TEST_F_TIMEOUT(hostile, versions_not_spoken, TIMEOUT)
{
	version_is_refused(_metadata, self, 3, 0, 3);
	version_is_refused(_metadata, self, 3, 2, 3);
	version_is_refused(_metadata, self, 4, 1, 0);
	version_is_refused(_metadata, self, 4, 0, 0xfffc);
	version_is_refused(_metadata, self, 5, 0, 3);
	version_is_refused(_metadata, self, 255, 255, 0xffff);
}

TEST_F_TIMEOUT(hostile, addresses_not_ours_nor_its_own, TIMEOUT)
{
	union rds_addr from, to, other = addr_make("10.9.1.77", 0);
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	priv.to = &other.sa;
	is_refused(_metadata, self, "ib_refused_address", bytes, priv_pack(&priv, bytes));
	priv = good_priv(self, &from, &to);
	priv.from = &other.sa;
	is_refused(_metadata, self, "ib_refused_address", bytes, priv_pack(&priv, bytes));
	/* to itself, and the other way round */
	priv.from = priv.to = &to.sa;
	is_refused(_metadata, self, "ib_refused_address", bytes, priv_pack(&priv, bytes));
	priv.from = &to.sa;
	priv.to = &from.sa;
	is_refused(_metadata, self, "ib_refused_address", bytes, priv_pack(&priv, bytes));
}

static void ask_well(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	ASSERT_EQ(0, ask_with(self, bytes, priv_pack(&priv, bytes)));
}

/* What the CM pads with zeros is a major version of 0, which old peers have: accepted as 4.0. */
static void is_accepted(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const void *priv, size_t len)
{
	ASSERT_EQ(0, ask_with(self, priv, len));
	ASSERT_EQ(0, peer_ready(&self->peer));
	ASSERT_EQ(0, peer_confirm(&self->peer));
}

TEST_F_TIMEOUT(hostile, short_private_data, TIMEOUT)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	priv_pack(&priv, bytes);
	/* none, and both addresses alone: nothing is said of a version */
	is_refused(_metadata, self, "ib_refused_address", bytes, 4);
	is_accepted(_metadata, self, bytes, 8);
	EXPECT_EQ(4, self->peer.said[8]);
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

TEST_F_TIMEOUT(hostile, long_private_data, TIMEOUT)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	memset(bytes, 0xee, sizeof(bytes));
	priv_pack(&priv, bytes);
	is_accepted(_metadata, self, bytes, sizeof(bytes));
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

TEST_F_TIMEOUT(hostile, random_private_data, TIMEOUT)
{
	uint8_t bytes[PRIV_ROOM];
	long long before = ends(self);
	int i, err;

	for (i = 0; i < FLOOD; i++) {
		ASSERT_EQ(sizeof(bytes), getrandom(bytes, sizeof(bytes), 0));
		ASSERT_EQ(0, peer_prepare(&self->peer, self->me, self->them));
		/* every other one with addresses that are right, to come farther */
		if (i % 2) {
			peer_priv(&self->peer, bytes);
			ASSERT_EQ(16, getrandom(bytes + 8, 16, 0));
		}
		ASSERT_EQ(0, peer_request(&self->peer, bytes, 1 + i * 7 % PRIV_ROOM));
		err = peer_wait(&self->peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
		EXPECT_TRUE(!err || err == -ECONNREFUSED);
		give_up(self);
	}
	expect_ends(_metadata, self, before);
}

/* The other port takes the other layout. */
TEST_F_TIMEOUT(hostile, private_data_for_ipv6, TIMEOUT)
{
	union rds_addr from, to;
	uint8_t bytes[PRIV_ROOM];
	struct priv priv;
	size_t len;

	priv = good_priv(self, &from, &to);
	len = priv_pack(&priv, bytes);
	self->me = getenv("MY_ADDR6");
	self->them = getenv("PEER_ADDR6");
	is_refused(_metadata, self, "ib_refused_address", bytes, len);
	priv = good_priv(self, &from, &to);
	priv.major = 5;
	is_refused(_metadata, self, "ib_refused_version", bytes, priv_pack(&priv, bytes));
	priv.major = 3;
	priv.to = &from.sa;
	is_refused(_metadata, self, "ib_refused_address", bytes, priv_pack(&priv, bytes));
}

TEST_F_TIMEOUT(hostile, ack_and_credits_in_private_data, TIMEOUT)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	priv.ack = UINT64_MAX;
	priv.credit = UINT32_MAX;
	is_accepted(_metadata, self, bytes, priv_pack(&priv, bytes));
	/* we do no flow control, and say so */
	EXPECT_EQ(0, get_be32(self->peer.said + 24));
	EXPECT_EQ(0, get_be64(self->peer.said + 16));
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

/* --- going away, at every stage ----------------------------------------- */

TEST_F_TIMEOUT(hostile, D41_request_and_go, TIMEOUT)
{
	long long before = ends(self);
	uint8_t priv[PRIV_LEN6];
	int i;

	for (i = 0; i < FLOOD; i++) {
		ASSERT_EQ(0, peer_prepare(&self->peer, self->me, self->them));
		ASSERT_EQ(0, peer_request(&self->peer, priv, peer_priv(&self->peer, priv)));
		give_up(self);
	}
	expect_ends(_metadata, self, before);
}

TEST_F_TIMEOUT(hostile, D41_go_before_confirming, TIMEOUT)
{
	long long before = ends(self);
	uint8_t priv[PRIV_LEN6];
	int i;

	for (i = 0; i < FLOOD / 4; i++) {
		ASSERT_EQ(0, peer_prepare(&self->peer, self->me, self->them));
		ASSERT_EQ(0, peer_request(&self->peer, priv, peer_priv(&self->peer, priv)));
		/* the answer, whatever it is */
		peer_wait(&self->peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
		give_up(self);
	}
	expect_ends(_metadata, self, before);
}

TEST_F_TIMEOUT(hostile, D41_reject_the_reply, TIMEOUT)
{
	long long before = count_of(self, "drop_rejected");

	ask_well(_metadata, self);
	ASSERT_EQ(0, peer_reject(&self->peer, "no", 2));
	EXPECT_COUNTED("drop_rejected", before);
}

TEST_F_TIMEOUT(hostile, never_confirms, TIMEOUT)
{
	long long before = count_of(self, "drop_connect_timeout");

	ask_well(_metadata, self);
	EXPECT_COUNTED("drop_connect_timeout", before);
}

/* Its first frame tells us that the reply has come; the CM is told. */
TEST_F_TIMEOUT(hostile, sends_without_confirming, TIMEOUT)
{
	ask_well(_metadata, self);
	ASSERT_EQ(0, peer_ready(&self->peer));
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

TEST_F_TIMEOUT(hostile, disconnect_right_after, TIMEOUT)
{
	long long before = count_of(self, "drop_disconnected");
	int i;

	for (i = 0; i < FLOOD / 8; i++) {
		ASSERT_EQ(0, hello(self, &self->peer));
		peer_disconnect(&self->peer);
		give_up(self);
	}
	EXPECT_COUNTED("drop_disconnected", before + FLOOD / 8 - 1);
}

/* The CM is not told: the queue pair is there no more. */
TEST_F_TIMEOUT(hostile, vanish_without_a_word, TIMEOUT)
{
	long long before = count_of(self, "drop_send_error");

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	peer_fall_silent(&self->peer);
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 5000, 1));
	EXPECT_COUNTED("drop_send_error", before);
}

TEST_F_TIMEOUT(hostile, disconnect_in_the_midst_of_a_message, TIMEOUT)
{
	struct head head = message_to(TARGET_PORT, MESSAGE_MAX);
	uint8_t payload[FRAGMENT] = { 0 };
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	head.seq = 1;
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, peer_push_frame(&self->peer, &head, payload, FRAGMENT));
	ASSERT_EQ(0, peer_settle(&self->peer));
	peer_disconnect(&self->peer);
	give_up(self);
	/* half a message is none */
	EXPECT_EQ(0, ask_for(self, "drain %lld", self->sock));
}

/* --- floods ------------------------------------------------------------- */

/* Many requests of one address at once: all but the last few are rejected, and each gets an answer. */
TEST_F_TIMEOUT(hostile, request_flood, TIMEOUT)
{
	static struct peer peers[FLOOD];
	long long before = ends(self);
	uint8_t priv[PRIV_LEN6];
	int i;

	for (i = 0; i < FLOOD; i++)
		ASSERT_EQ(0, peer_prepare(&peers[i], self->me, self->them));
	for (i = 0; i < FLOOD; i++)
		ASSERT_EQ(0, peer_request(&peers[i], priv, peer_priv(&peers[i], priv)));
	for (i = 0; i < FLOOD; i++)
		peer_close(&peers[i]);
	expect_ends(_metadata, self, before);
}

TEST_F_TIMEOUT(hostile, request_while_up, TIMEOUT)
{
	long long before = count_of(self, "drop_peer_reconnected");
	struct peer second = { 0 };

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, hello(self, &second));
	EXPECT_COUNTED("drop_peer_reconnected", before);
	EXPECT_EQ(0, exchange(self, &second, self->sock, TARGET_PORT));
	peer_close(&second);
}

/* Types of service are connections of their own; there is a limit to how many peers can make us have. */
TEST_F_TIMEOUT(hostile, connections_are_limited, TIMEOUT)
{
	long long before = count_of(self, "ib_refused_limit");
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];
	long long old;

	ASSERT_EQ(0, hello(self, &self->peer));
	give_up(self);
	old = ask_for(self, "sysctl max_connections 1");
	ASSERT_GT(old, 0);
	for (priv.tos = 1; priv.tos < 4; priv.tos++)
		is_refused(_metadata, self, "ib_refused_limit", bytes, priv_pack(&priv, bytes));
	EXPECT_EQ(before + 3, count_of(self, "ib_refused_limit"));
	/* those that exist go on */
	EXPECT_EQ(0, hello(self, &self->peer));
	EXPECT_EQ(1, ask_for(self, "sysctl max_connections %lld", old));
}

TEST_HARNESS_MAIN
