// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Peers that send more than they may, and peers that take nothing. */
#include "hostile.h"

#define TIMEOUT		200
#define FLOODED_PORT	5002
#define SMALL_RCVBUF	4096
/* Of received messages' memory, whatever the receive buffer; see Documentation/socket-api.md */
#define MEMORY_LIMIT	(1 << 20)
#define TOO_MANY	60000

/* --- receivers that do not read ----------------------------------------- */

/* Send messages of @len bytes until the connection is ended for it; how many were sent. */
static int flood(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, int port, uint32_t len)
{
	int sent, err = 0;

	for (sent = 0; sent < TOO_MANY && !err; sent++)
		err = peer_push_message(&self->peer, message_to(port, len), sent) ?: self->peer.send_status;
	EXPECT_LT(sent, TOO_MANY);
	return sent;
}

static void overrun(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, uint32_t len, int most)
{
	long long sock = open_socket(self, FLOODED_PORT, SMALL_RCVBUF), before = count_of(self, "drop_recv_overrun");
	long long drained[2];
	struct head head;
	int i;

	ASSERT_GT(sock, 0);
	ASSERT_EQ(0, hello(self, &self->peer));
	flood(_metadata, self, FLOODED_PORT, len);
	EXPECT_COUNTED("drop_recv_overrun", before);
	peer_close(&self->peer);
	/* once more: not one gets in */
	before = count_of(self, "drop_recv_overrun");
	ASSERT_EQ(0, hello(self, &self->peer));
	peer_push_message(&self->peer, message_to(FLOODED_PORT, len), 0);
	EXPECT_COUNTED("drop_recv_overrun", before);
	peer_close(&self->peer);
	ASSERT_EQ(2, observer_ask(self->observer, drained, 2, "drain %lld", sock));
	EXPECT_GT(drained[0], 0);
	EXPECT_LE(drained[0], most);
	EXPECT_EQ(drained[0] * len, drained[1]);
	/* what was not taken does not count as received: sent again, it is delivered */
	ASSERT_EQ(0, hello(self, &self->peer));
	head = message_to(FLOODED_PORT, len);
	head.flags = FLAG_AGAIN;
	for (i = 1; i <= 2; i++) {
		head.seq = drained[0] + i;
		ASSERT_EQ(0, peer_push_message(&self->peer, head, i));
		ASSERT_EQ(0, peer_settle(&self->peer));
		EXPECT_EQ(len, received(self, sock, i));
	}
}

TEST_F_TIMEOUT(hostile, congestion_is_ignored, TIMEOUT)
{
	overrun(_metadata, self, 300, MEMORY_LIMIT / 4096 + 1);
}

TEST_F_TIMEOUT(hostile, congestion_is_ignored_with_long_messages, TIMEOUT)
{
	overrun(_metadata, self, MESSAGE_MAX / 4, MEMORY_LIMIT / (MESSAGE_MAX / 4) + 1);
}

/* They count as nothing in the receive buffer. */
TEST_F_TIMEOUT(hostile, flood_of_empty_messages, TIMEOUT)
{
	overrun(_metadata, self, 0, MEMORY_LIMIT / 128 + 1);
}

/* Empty messages make a port congested, too: this is what a peer that means well is told. */
TEST_F_TIMEOUT(hostile, empty_messages_congest, TIMEOUT)
{
	long long sock = open_socket(self, FLOODED_PORT, SMALL_RCVBUF), before = count_of(self, "cong_update_queued");
	struct frame f;
	int i;

	ASSERT_GT(sock, 0);
	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < 1500; i++)
		ASSERT_EQ(0, peer_push_message(&self->peer, message_to(FLOODED_PORT, 0), 0));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_COUNTED("cong_update_queued", before);
	do {
		ASSERT_EQ(0, peer_take(&self->peer, &f));
	} while (f.head.flags != FLAG_MAP);
	EXPECT_EQ(1 << FLOODED_PORT % 8, f.payload[FLOODED_PORT / 8]);
	EXPECT_EQ(1500, ask_for(self, "drain %lld", sock));
}

/* --- messages that do not end ------------------------------------------- */

/* Two connections from one address: of different types of service. */
static int hello_with_tos(FIXTURE_DATA(hostile) *self, struct peer *p, uint8_t tos)
{
	peer_close(p);
	p->tos = tos;
	return peer_hello(p, self->me, self->them);
}

/* Send the longest message and wait for its ack, in whatever frame: a frame that was refused has arrived, too. */
static int send_longest(struct peer *p, unsigned int seed)
{
	struct head head = message_to(TARGET_PORT, MESSAGE_MAX);
	struct frame f;
	int err;

	head.seq = 1;
	head.flags = FLAG_AGAIN | FLAG_WANT_ACK;
	err = peer_push_message(p, head, seed);
	do {
		err = err ?: peer_take(p, &f);
	} while (!err && f.head.ack != 1);
	return err;
}

TEST_F_TIMEOUT(hostile, messages_that_never_end, TIMEOUT)
{
	long long limit = count_of(self, "drop_partial_limit"), stale = count_of(self, "drop_partial_stale"), old;
	struct head head = message_to(TARGET_PORT, MESSAGE_MAX);
	int64_t end = now_ms() + PEER_WAIT_MS;
	static const uint8_t payload[FRAGMENT];
	struct peer other = { 0 };
	int i, err;

	ASSERT_EQ(0, hello(self, &self->peer));
	old = ask_for(self, "sysctl ib/max_recv_allocation 256");
	ASSERT_GT(old, 0);
	head.seq = 1;
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, peer_push_frame(&self->peer, &head, payload, FRAGMENT));
	ASSERT_EQ(0, peer_settle(&self->peer));
	/* another one finds no room, until it is taken from the one that does not go on */
	do {
		err = hello_with_tos(self, &other, 1) ?: send_longest(&other, 6);
	} while (err && now_ms() < end);
	EXPECT_EQ(0, err);
	EXPECT_EQ(MESSAGE_MAX, received(self, self->sock, 6));
	EXPECT_LT(limit, count_of(self, "drop_partial_limit"));
	EXPECT_LT(stale, count_of(self, "drop_partial_stale"));
	EXPECT_EQ(256, ask_for(self, "sysctl ib/max_recv_allocation %lld", old));
	peer_close(&other);
}

/* --- peers that take nothing -------------------------------------------- */

#define PINGS	400

TEST_F_TIMEOUT(hostile, pings_by_the_hundred, TIMEOUT)
{
	long long pings = count_of(self, "recv_ping"), dropped = count_of(self, "pong_dropped");
	int i;

	/* no pong is taken: as many are kept as is allowed; all within the seconds that such a peer is put up with */
	self->peer.no_receives = true;
	ASSERT_EQ(0, insist(self, &self->peer, peer_connect));
	for (i = 0; i < PINGS; i++)
		ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .sport = MY_PORT }, 0));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_GE(count_reaches(self, "recv_ping", pings + PINGS), pings + PINGS);
	EXPECT_GE(count_of(self, "pong_dropped"), dropped + PINGS - 64);
}

TEST_F_TIMEOUT(hostile, posts_no_receives, TIMEOUT)
{
	long long before = count_of(self, "drop_send_stalled");

	self->peer.no_receives = true;
	ASSERT_EQ(0, insist(self, &self->peer, peer_connect));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 5000, 1));
	EXPECT_COUNTED("drop_send_stalled", before);
}

TEST_F_TIMEOUT(hostile, never_acknowledges, TIMEOUT)
{
	long long err;
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	/* the send buffer is full; nobody else's is */
	for (i = 0; i < 100; i++) {
		err = have_sent(self, self->sock, MY_PORT, 10000, 1);
		if (err)
			break;
	}
	EXPECT_EQ(-EAGAIN, err);
	EXPECT_LT(i, 100);
}

/* --- maps --------------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, flood_of_maps, TIMEOUT)
{
	long long before = count_of(self, "cong_update_received");
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(0, peer_push_map(&self->peer, i % 2 ? 0 : MY_PORT));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_GE(count_reaches(self, "cong_update_received", before + 300), before + 300);
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

/* It says that all its ports are congested, and goes: its next connection tells otherwise. */
TEST_F_TIMEOUT(hostile, congested_and_gone, TIMEOUT)
{
	struct head head = { .len = MAP_LEN, .flags = FLAG_MAP };
	long long before = count_of(self, "cong_update_received");
	uint8_t ones[FRAGMENT];

	memset(ones, 0xff, sizeof(ones));
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push_frame(&self->peer, &head, ones, FRAGMENT));
	ASSERT_EQ(0, peer_send_frame(&self->peer, &head, ones, FRAGMENT));
	EXPECT_COUNTED("cong_update_received", before + 1);
	EXPECT_EQ(-ENOBUFS, have_sent(self, self->sock, MY_PORT, 10, 1));
	peer_disconnect(&self->peer);
}

/* --- heartbeats --------------------------------------------------------- */

static int send_beat(struct peer *p, uint8_t flags)
{
	struct head head = { .flags = flags };

	return peer_send_frame(p, &head, NULL, 0);
}

/* The next frame with one of @flags: 0, or an error; it must say what a heartbeat says. */
static int take_beat(struct peer *p, uint8_t flags)
{
	static const uint8_t ext[EXT_LEN] = { 7, 0, 0, 0, 1 };
	struct frame f;
	int err;

	do {
		err = peer_take(p, &f);
	} while (!err && !(f.head.flags & flags));
	if (err)
		return err;
	if (f.head.flags != flags || f.len || f.head.seq || f.head.sport || f.head.dport || f.head.len ||
	    memcmp(f.head.ext, ext, EXT_LEN))
		return -EBADMSG;
	return 0;
}

TEST_F_TIMEOUT(hostile, heartbeat_is_answered, TIMEOUT)
{
	struct peer *p = &self->peer;
	int i;

	p->caps = CAP_HEARTBEAT;
	ASSERT_EQ(0, hello(self, p));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, send_beat(p, FLAG_PING));
		ASSERT_EQ(0, take_beat(p, FLAG_PONG));
	}
	ASSERT_EQ(0, exchange(self, p, self->sock, TARGET_PORT));
}

/* Many at once: what is answered is not kept. */
TEST_F_TIMEOUT(hostile, heartbeats_by_the_thousand, TIMEOUT)
{
	struct peer *p = &self->peer;
	int i;

	p->caps = CAP_HEARTBEAT;
	ASSERT_EQ(0, hello(self, p));
	for (i = 0; i < 2000; i++) {
		struct head head = { .flags = FLAG_PING | FLAG_PONG };

		ASSERT_EQ(0, peer_push_frame(p, &head, NULL, 0));
	}
	ASSERT_EQ(0, peer_settle(p));
	ASSERT_EQ(0, take_beat(p, FLAG_PONG));
	ASSERT_EQ(0, exchange(self, p, self->sock, TARGET_PORT));
}

/* Of one who has not said that he knows of heartbeats they mean nothing. */
TEST_F_TIMEOUT(hostile, heartbeat_of_one_without, TIMEOUT)
{
	long long pings, pongs;

	ASSERT_EQ(0, hello(self, &self->peer));
	pings = count_of(self, "ib_hb_ping_received");
	pongs = count_of(self, "ib_hb_pong_received");
	ASSERT_EQ(0, send_beat(&self->peer, FLAG_PING));
	ASSERT_EQ(0, send_beat(&self->peer, FLAG_PONG));
	ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	EXPECT_EQ(pings, count_of(self, "ib_hb_ping_received"));
	EXPECT_EQ(pongs, count_of(self, "ib_hb_pong_received"));
}

/* Its device takes all that is sent, but it says nothing: asked for a sign of life, and dropped. */
TEST_F_TIMEOUT(hostile, gives_no_sign_of_life, TIMEOUT)
{
	long long before = count_of(self, "drop_heartbeat"), interval, timeout;

	interval = ask_for(self, "sysctl conn_heartbeat_interval_secs 1");
	timeout = ask_for(self, "sysctl conn_heartbeat_timeout_secs 3");
	self->peer.caps = CAP_HEARTBEAT;
	ASSERT_EQ(0, hello(self, &self->peer));
	EXPECT_EQ(0, take_beat(&self->peer, FLAG_PING));
	EXPECT_COUNTED("drop_heartbeat", before);
	peer_close(&self->peer);
	/* one that answers is asked again; it may take its time */
	EXPECT_EQ(3, ask_for(self, "sysctl conn_heartbeat_timeout_secs 60"));
	ASSERT_EQ(0, hello(self, &self->peer));
	EXPECT_EQ(0, take_beat(&self->peer, FLAG_PING));
	EXPECT_EQ(0, send_beat(&self->peer, FLAG_PONG));
	EXPECT_EQ(0, take_beat(&self->peer, FLAG_PING));
	EXPECT_EQ(0, send_beat(&self->peer, FLAG_PONG));
	EXPECT_EQ(60, ask_for(self, "sysctl conn_heartbeat_timeout_secs %lld", timeout));
	EXPECT_EQ(1, ask_for(self, "sysctl conn_heartbeat_interval_secs %lld", interval));
	ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

/* --- closing what nobody uses ------------------------------------------- */

#define FLAGS_IDLE	(FLAG_QUIET | FLAG_BUSY | FLAG_AGREED)

static int hello_of_idler(FIXTURE_DATA(hostile) *self)
{
	peer_close(&self->peer);
	self->peer.caps = CAP_HEARTBEAT | CAP_QUIET;
	return hello(self, &self->peer);
}

/* The next frame that says any of @flags: what of them, or an error. */
static int take_word(struct peer *p, uint8_t flags)
{
	struct frame f;
	int err;

	do {
		err = peer_take(p, &f);
	} while (!err && !(f.head.flags & flags));
	return err ?: f.head.flags & flags;
}

/* Ask whether the connection may be closed until the answer is @want: the last acks may not be through yet. */
static int ask_until(struct peer *p, uint8_t want)
{
	int64_t end = now_ms() + PEER_WAIT_MS;
	int word;

	do {
		word = send_beat(p, FLAG_QUIET) ?: take_word(p, FLAG_AGREED | FLAG_BUSY);
	} while (word > 0 && word != want && now_ms() < end);
	return word;
}

/* Of one who has not said that he can be quiet the flags mean nothing; nor do those that answer what was not asked. */
TEST_F_TIMEOUT(hostile, idle_flags_without_meaning, TIMEOUT)
{
	static const uint8_t meaningless[] = { FLAG_QUIET, FLAG_BUSY, FLAG_AGREED, FLAGS_IDLE };
	long long before = count_of(self, "drop_idle");
	unsigned int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(meaningless); i++) {
		ASSERT_EQ(0, send_beat(&self->peer, meaningless[i]));
		ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	}
	ASSERT_EQ(0, hello_of_idler(self));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, send_beat(&self->peer, i % 2 ? FLAG_AGREED : FLAG_BUSY));
	ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	EXPECT_EQ(before, count_of(self, "drop_idle"));
}

/* It asks again and again while something is unacknowledged: the answer is no, and is not kept for each time. */
TEST_F_TIMEOUT(hostile, quiet_by_the_thousand, TIMEOUT)
{
	struct head head = { .flags = FLAG_QUIET };
	long long before = count_of(self, "drop_idle");
	struct peer *p = &self->peer;
	struct frame f;
	int i;

	ASSERT_EQ(0, hello_of_idler(self));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 5000, 1));
	ASSERT_EQ(0, peer_take_data(p, &f));
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(0, peer_push_frame(p, &head, NULL, 0));
	ASSERT_EQ(0, peer_settle(p));
	EXPECT_EQ(FLAG_BUSY, take_word(p, FLAGS_IDLE));
	ASSERT_EQ(0, exchange(self, p, self->sock, TARGET_PORT));
	EXPECT_EQ(before, count_of(self, "drop_idle"));
}

/* It asks, and with the same breath agrees and does not: one of both ends it. */
TEST_F_TIMEOUT(hostile, idle_flags_all_at_once, TIMEOUT)
{
	long long before = count_of(self, "drop_idle");
	int64_t end = now_ms() + PEER_WAIT_MS;

	ASSERT_EQ(0, hello_of_idler(self));
	while (count_of(self, "drop_idle") == before && now_ms() < end)
		if (send_beat(&self->peer, FLAGS_IDLE))
			break;
	EXPECT_COUNTED("drop_idle", before);
}

/* Agreed with the first part of a message taken: the rest is sent, and more, and the answer called off again and again. */
static int go_on(FIXTURE_DATA(hostile) *self, const struct head *head, const uint8_t *rest)
{
	struct peer *p = &self->peer;
	int i, err;

	err = peer_send_frame(p, head, rest, FRAGMENT);
	if (err || received(self, self->sock, 7) != 2 * FRAGMENT)
		return -EIO;
	for (i = 0; i < 10 && !err; i++) {
		err = send_beat(p, i % 2 ? FLAG_BUSY : FLAG_QUIET);
		err = err ?: peer_push_message(p, message_to(TARGET_PORT, 500), 10 + i);
		err = err ?: peer_settle(p);
		if (!err && received(self, self->sock, 10 + i) != 500)
			err = -EIO;
	}
	return err;
}

/* Has its question answered with yes, and does not close: we do.  All that it sends before is received. */
static void ask_and_stay(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	struct head head = message_to(TARGET_PORT, 2 * FRAGMENT);
	long long before = count_of(self, "drop_idle");
	static uint8_t message[2 * FRAGMENT];
	struct peer *p = &self->peer;
	struct frame f;

	ASSERT_EQ(0, hello_of_idler(self));
	pattern(message, 0, sizeof(message), 7);
	head.seq = ++p->seq;
	ASSERT_EQ(0, peer_send_frame(p, &head, message, FRAGMENT));
	ASSERT_EQ(FLAG_AGREED, ask_until(p, FLAG_AGREED));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT + 2, 300, 9));
	/* a machine may be so slow that its time is over meanwhile */
	if (go_on(self, &head, message + FRAGMENT))
		EXPECT_LT(before, count_of(self, "drop_idle"));
	EXPECT_COUNTED("drop_idle", before);
	/* what we sent since goes with the next connection */
	ASSERT_EQ(0, hello_of_idler(self));
	ASSERT_EQ(0, peer_take_data(p, &f));
	EXPECT_EQ(300, f.len);
	EXPECT_EQ(MY_PORT + 2, f.head.dport);
	EXPECT_TRUE(is_pattern(f.payload, 0, 300, 9));
	ASSERT_EQ(0, peer_send_ack(p, p->got));
}

/* Asked by us, it always says no. */
static void be_busy(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(FLAG_QUIET, take_word(&self->peer, FLAG_QUIET));
		ASSERT_EQ(0, send_beat(&self->peer, FLAG_BUSY));
	}
}

TEST_F_TIMEOUT(hostile, agrees_and_stays_and_is_busy_for_ever, TIMEOUT)
{
	/* which is seen to by and by, when we look for connections the next time */
	long long idle = ask_for(self, "sysctl connection_idle_seconds 1"), before;

	ASSERT_GT(idle, 1);
	ask_and_stay(_metadata, self);
	before = count_of(self, "drop_idle");
	be_busy(_metadata, self);
	EXPECT_EQ(1, ask_for(self, "sysctl connection_idle_seconds %lld", idle));
	/* we may have asked once more */
	ASSERT_EQ(0, send_beat(&self->peer, FLAG_BUSY));
	ASSERT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
	EXPECT_EQ(before, count_of(self, "drop_idle"));
}

TEST_HARNESS_MAIN
