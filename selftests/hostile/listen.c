// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Our module asks to be connected, and the answer is not what it should be.  In the end a peer that means
 * well answers, and what was sent in the beginning arrives.
 */
#include "hostile.h"

#define TIMEOUT	120
#define LEN	5000
#define SEED	8

static struct peer_listener listener;

/* A message waits, and our module asks for a connection again and again. */
static void have_asked(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	ASSERT_EQ(0, peer_listen(&listener, self->me));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, LEN, SEED));
}

static void next_request(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	peer_close(&self->peer);
	ASSERT_EQ(0, peer_requested(&listener, &self->peer));
}

/* Answer the next request as one should, and take what was sent. */
static void message_arrives(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	int64_t end = now_ms() + PEER_WAIT_MS;
	uint8_t priv[PRIV_LEN6];
	struct frame f;
	int err;

	/* a request that was given up meanwhile cannot be accepted any more */
	do {
		next_request(_metadata, self);
		err = peer_accept(&self->peer, priv, peer_priv(&self->peer, priv));
		if (!err)
			err = peer_wait(&self->peer, RDMA_CM_EVENT_ESTABLISHED);
	} while (err && now_ms() < end);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, peer_take_data(&self->peer, &f));
	EXPECT_EQ(MY_PORT, f.head.dport);
	EXPECT_EQ(LEN, f.head.len);
	EXPECT_TRUE(is_pattern(f.payload, 0, f.len, SEED));
	ASSERT_EQ(0, peer_take_data(&self->peer, &f));
	EXPECT_TRUE(is_pattern(f.payload, FRAGMENT, f.len, SEED));
	ASSERT_EQ(0, peer_send_ack(&self->peer, f.head.seq));
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	peer_unlisten(&listener);
}

/* --- what we ask with --------------------------------------------------- */

static void request_is_right(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	struct priv priv = { .major = 3, .minor = 1, .mask = 3 };
	uint8_t want[PRIV_LEN6];
	struct peer *p = &self->peer;
	size_t len;

	ASSERT_EQ(0, peer_listen(&listener, self->me));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, LEN, SEED));
	next_request(_metadata, self);
	priv.from = peer_to(p);
	priv.to = peer_from(p);
	len = priv_pack(&priv, want);
	ASSERT_EQ(PRIV_ROOM, p->said_len);
	EXPECT_EQ(0, memcmp(want, p->said, len - 4));
	EXPECT_EQ(CAPS_MAGIC, p->said[len - 4]);
	EXPECT_EQ(CAPS_OURS, p->said[len - 3]);
	EXPECT_NE(0, get_be16(p->said + len - 2));
	EXPECT_TRUE(all_bytes(p->said + len, PRIV_ROOM - len, 0));
	EXPECT_EQ(7, p->asked.rnr_retry_count);
	EXPECT_EQ(0, p->asked.flow_control);
	EXPECT_GT(p->asked.initiator_depth, 0);
	EXPECT_GT(p->asked.responder_resources, 0);
	ASSERT_EQ(0, peer_reject(p, NULL, 0));
	message_arrives(_metadata, self);
}

TEST_F_TIMEOUT(hostile, wire10_2_request, TIMEOUT)
{
	request_is_right(_metadata, self);
}

TEST_F_TIMEOUT(hostile, wire10_2_request_v6, TIMEOUT)
{
	close_target(self);
	self->me = getenv("MY_ADDR6");
	self->them = getenv("PEER_ADDR6");
	self->sock = open_socket(self, TARGET_PORT, 0);
	ASSERT_GT(self->sock, 0);
	request_is_right(_metadata, self);
}

/* --- wrong answers ------------------------------------------------------ */

/* Answer with @priv until a connection was dropped for @reason. */
static void reply_is_not_taken(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
			       const void *priv, size_t len)
{
	long long before = count_of(self, reason);

	next_request(_metadata, self);
	ASSERT_EQ(0, peer_accept(&self->peer, priv, len));
	EXPECT_COUNTED(reason, before);
}

TEST_F_TIMEOUT(hostile, reply_with_a_wrong_version, TIMEOUT)
{
	struct priv priv = { .major = 3, .mask = 3 };
	uint8_t bytes[PRIV_ROOM];

	have_asked(_metadata, self);
	next_request(_metadata, self);
	priv.from = peer_from(&self->peer);
	priv.to = peer_to(&self->peer);
	reply_is_not_taken(_metadata, self, "drop_version", bytes, priv_pack(&priv, bytes));
	message_arrives(_metadata, self);
}

static void rejected(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const void *said, size_t len)
{
	long long before = count_of(self, "drop_rejected");

	next_request(_metadata, self);
	ASSERT_EQ(0, peer_reject(&self->peer, said, len));
	EXPECT_COUNTED("drop_rejected", before);
}

/* Whatever a reject says, we try again. */
TEST_F_TIMEOUT(hostile, rejects_that_say_odd_things, TIMEOUT)
{
	static const uint8_t big_endian_one[] = { 0, 0, 0, 1 };
	uint8_t junk[148];

	memset(junk, 0xa5, sizeof(junk));
	have_asked(_metadata, self);
	rejected(_metadata, self, NULL, 0);
	rejected(_metadata, self, big_endian_one, sizeof(big_endian_one));
	rejected(_metadata, self, junk, 1);
	rejected(_metadata, self, junk, sizeof(junk));
	message_arrives(_metadata, self);
}

TEST_F_TIMEOUT(hostile, no_answer_at_all, TIMEOUT)
{
	long long before = count_of(self, "drop_connect_timeout");

	have_asked(_metadata, self);
	next_request(_metadata, self);
	EXPECT_COUNTED("drop_connect_timeout", before);
	message_arrives(_metadata, self);
}

TEST_F_TIMEOUT(hostile, accepts_and_goes, TIMEOUT)
{
	uint8_t priv[PRIV_LEN6];
	int i;

	have_asked(_metadata, self);
	for (i = 0; i < 4; i++) {
		next_request(_metadata, self);
		if (!peer_accept(&self->peer, priv, peer_priv(&self->peer, priv)) && i % 2)
			peer_disconnect(&self->peer);
	}
	message_arrives(_metadata, self);
}

/* Our request is under way when the peer's comes: one of the two stands, and the message goes once. */
TEST_F_TIMEOUT(hostile, asks_while_it_is_asked, TIMEOUT)
{
	struct peer second = { 0 };
	struct frame f;

	have_asked(_metadata, self);
	next_request(_metadata, self);
	ASSERT_EQ(0, hello(self, &second));
	ASSERT_EQ(0, peer_take_data(&second, &f));
	EXPECT_EQ(LEN, f.head.len);
	peer_close(&second);
	peer_unlisten(&listener);
}

TEST_HARNESS_MAIN
