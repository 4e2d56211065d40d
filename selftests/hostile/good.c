// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A peer that means well, and compares all that it gets with the specification, byte by byte.
 *
 * Each test talks from an address of its own, so that everything begins with number 1.  A frame is noticed by its
 * solicited event alone, as with the peers of other systems: one that lacks it would be waited for in vain.
 */
#include "hostile.h"

#define TIMEOUT	120

/* Become host @number of those that the script has given this machine, over IPv4 or IPv6. */
static void become(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, int number, bool v6)
{
	static char me[64];

	snprintf(me, sizeof(me), v6 ? "fd09:1::1:%d" : "10.9.1.%d", 100 + number);
	close_target(self);
	self->me = me;
	self->them = getenv(v6 ? "PEER_ADDR6" : "PEER_ADDR");
	self->sock = open_socket(self, TARGET_PORT, 0);
	ASSERT_GT(self->sock, 0);
}

/* The next frame is exactly this. */
static void expect_frame(struct __test_metadata *_metadata, struct peer *p, struct head want, struct frame *f)
{
	uint8_t raw[HEAD_LEN];
	int i;

	ASSERT_EQ(0, peer_take(p, f));
	head_pack(&want, raw);
	for (i = 0; i < HEAD_LEN; i++)
		EXPECT_EQ(raw[i], f->raw[i]) { TH_LOG("byte %d of the header of number %llu", i, (long long)want.seq); }
}

/* The next frames are a message of pattern(@seed): every fragment has the whole header. */
static void expect_message(struct __test_metadata *_metadata, struct peer *p, struct head want, unsigned int seed)
{
	struct frame f;
	size_t done = 0;

	do {
		expect_frame(_metadata, p, want, &f);
		ASSERT_EQ(want.len - done < FRAGMENT ? want.len - done : FRAGMENT, f.len);
		EXPECT_TRUE(is_pattern(f.payload, done, f.len, seed));
		done += f.len;
	} while (done < want.len);
}

static void expect_map(struct __test_metadata *_metadata, struct peer *p, uint64_t ack, uint16_t port)
{
	struct head want = { .ack = ack, .len = MAP_LEN, .flags = FLAG_MAP };
	uint8_t map[MAP_LEN] = { 0 };
	struct frame f;
	size_t done;

	if (port)
		map[port / 8] = 1 << port % 8;
	for (done = 0; done < MAP_LEN; done += FRAGMENT) {
		expect_frame(_metadata, p, want, &f);
		ASSERT_EQ(FRAGMENT, f.len);
		EXPECT_EQ(0, memcmp(map + done, f.payload, FRAGMENT));
	}
}

static struct head from_target(uint64_t seq, int port, uint32_t len, uint8_t flags)
{
	return (struct head){ .seq = seq, .sport = TARGET_PORT, .dport = port, .len = len, .flags = flags };
}

/* --- connecting --------------------------------------------------------- */

/* Ours, but for the last four bytes: those say that we are we, what we can do, and since when we are. */
static void check_reply(struct __test_metadata *_metadata, struct peer *p, uint8_t major, uint8_t minor)
{
	struct priv priv = { .from = peer_to(p), .to = peer_from(p), .major = major, .minor = minor, .mask = 3 };
	uint8_t want[PRIV_LEN6];
	size_t len = priv_pack(&priv, want);

	ASSERT_GE(p->said_len, len);
	EXPECT_EQ(0, memcmp(want, p->said, len - 4));
	EXPECT_EQ(CAPS_MAGIC, p->said[len - 4]);
	EXPECT_EQ(CAPS_OURS, p->said[len - 3]);
	EXPECT_NE(0, get_be16(p->said + len - 2));
	EXPECT_TRUE(all_bytes(p->said + len, p->said_len - len, 0));
	/* for ever: a peer may be without a receive buffer for a while */
	EXPECT_EQ(7, p->asked.rnr_retry_count);
	EXPECT_EQ(0, p->asked.flow_control);
}

static void reply_is_right(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, int host, bool v6)
{
	become(_metadata, self, host, v6);
	ASSERT_EQ(0, insist(self, &self->peer, peer_connect));
	check_reply(_metadata, &self->peer, 3, 1);
}

TEST_F_TIMEOUT(hostile, wire10_2_reply, TIMEOUT)
{
	reply_is_right(_metadata, self, 1, false);
}

TEST_F_TIMEOUT(hostile, wire10_2_reply_v6, TIMEOUT)
{
	reply_is_right(_metadata, self, 1, true);
}

static void version_gets(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, uint8_t major, uint8_t minor,
			 uint16_t mask, uint8_t answer)
{
	union rds_addr from, to;
	struct priv priv = good_priv(self, &from, &to);
	uint8_t bytes[PRIV_ROOM];

	priv.major = major;
	priv.minor = minor;
	priv.mask = mask;
	ASSERT_EQ(0, ask_with(self, bytes, priv_pack(&priv, bytes)));
	check_reply(_metadata, &self->peer, answer >> 4, answer & 15);
}

TEST_F_TIMEOUT(hostile, wire10_3_versions, TIMEOUT)
{
	become(_metadata, self, 2, false);
	version_gets(_metadata, self, 3, 1, 0, 0x31);
	version_gets(_metadata, self, 4, 0, 3, 0x41);
	version_gets(_metadata, self, 4, 9, 2, 0x41);
	version_gets(_metadata, self, 4, 1, 1, 0x40);
	version_gets(_metadata, self, 0, 9, 0, 0x40);
}

/* --- maps and messages -------------------------------------------------- */

TEST_F_TIMEOUT(hostile, wire9_map_goes_before_what_waits, TIMEOUT)
{
	become(_metadata, self, 3, false);
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 700, 5));
	ASSERT_EQ(0, insist(self, &self->peer, peer_connect));
	expect_map(_metadata, &self->peer, 0, 0);
	expect_message(_metadata, &self->peer, from_target(1, MY_PORT, 700, FLAG_WANT_ACK), 5);
}

static void sizes(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, int host, bool v6)
{
	/* messages 1 and 10 ask for an ack */
	static const uint32_t lens[] = { 1, 0, 208, 209, 4095, 4096, 4097, 8192, 9000, 20000, 2 };
	uint8_t flags;
	int i;

	become(_metadata, self, host, v6);
	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		flags = i % 9 ? 0 : FLAG_WANT_ACK;
		ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT + i, lens[i], i));
		expect_message(_metadata, &self->peer, from_target(i + 1, MY_PORT + i, lens[i], flags), i);
		ASSERT_EQ(0, peer_send_ack(&self->peer, i + 1));
	}
}

TEST_F_TIMEOUT(hostile, wire10_7_sizes, TIMEOUT)
{
	sizes(_metadata, self, 4, false);
}

TEST_F_TIMEOUT(hostile, wire10_7_sizes_v6, TIMEOUT)
{
	sizes(_metadata, self, 4, true);
}

TEST_F_TIMEOUT(hostile, wire10_7_sizes_received, TIMEOUT)
{
	static const uint32_t lens[] = { 1, 0, 208, 209, 4095, 4096, 4097, 8192, 9000, MESSAGE_MAX };
	int i;

	become(_metadata, self, 5, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		ASSERT_EQ(0, peer_push_message(&self->peer, message_to(TARGET_PORT, lens[i]), i));
		ASSERT_EQ(0, peer_settle(&self->peer));
		EXPECT_EQ(lens[i], received(self, self->sock, i));
	}
}

/* --- acks --------------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, wire7_2_acks_given, TIMEOUT)
{
	struct head head = message_to(TARGET_PORT, 10);
	struct frame f;

	become(_metadata, self, 6, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	/* asked for, with nothing to send: a frame of its own */
	head.flags = FLAG_WANT_ACK;
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 1));
	expect_frame(_metadata, &self->peer, (struct head){ .ack = 1 }, &f);
	EXPECT_EQ(0, f.len);
	/* not asked for: on the next message */
	head.flags = 0;
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 2));
	EXPECT_EQ(10, received(self, self->sock, 1));
	EXPECT_EQ(10, received(self, self->sock, 2));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 5000, 3));
	head = from_target(1, MY_PORT, 5000, FLAG_WANT_ACK);
	head.ack = 2;
	expect_message(_metadata, &self->peer, head, 3);
}

/* Between fragments come acks, and they count. */
TEST_F_TIMEOUT(hostile, wire7_1_ack_between_fragments, TIMEOUT)
{
	struct head head = message_to(TARGET_PORT, 5000);
	uint8_t payload[FRAGMENT];
	long long before;

	become(_metadata, self, 7, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 10, 3));
	expect_message(_metadata, &self->peer, from_target(1, MY_PORT, 10, FLAG_WANT_ACK), 3);
	before = count_of(self, "send_drop_acked");
	head.seq = 1;
	pattern(payload, 0, FRAGMENT, 4);
	ASSERT_EQ(0, peer_push_frame(&self->peer, &head, payload, FRAGMENT));
	ASSERT_EQ(0, peer_send_ack(&self->peer, 1));
	EXPECT_COUNTED("send_drop_acked", before);
	pattern(payload, FRAGMENT, 904, 4);
	ASSERT_EQ(0, peer_send_frame(&self->peer, &head, payload, 904));
	EXPECT_EQ(5000, received(self, self->sock, 4));
}

TEST_F_TIMEOUT(hostile, wire7_4_sent_again, TIMEOUT)
{
	become(_metadata, self, 8, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 5000, 1));
	expect_message(_metadata, &self->peer, from_target(1, MY_PORT, 5000, FLAG_WANT_ACK), 1);
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 20, 2));
	expect_message(_metadata, &self->peer, from_target(2, MY_PORT, 20, 0), 2);
	peer_disconnect(&self->peer);
	peer_close(&self->peer);
	/* neither was acknowledged: both come again, from the beginning, and say so */
	ASSERT_EQ(0, hello(self, &self->peer));
	expect_message(_metadata, &self->peer, from_target(1, MY_PORT, 5000, FLAG_AGAIN | FLAG_WANT_ACK), 1);
	expect_message(_metadata, &self->peer, from_target(2, MY_PORT, 20, FLAG_AGAIN | FLAG_WANT_ACK), 2);
	ASSERT_EQ(0, peer_send_ack(&self->peer, 2));
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT, 30, 3));
	expect_message(_metadata, &self->peer, from_target(3, MY_PORT, 30, 0), 3);
}

TEST_F_TIMEOUT(hostile, wire7_4_repeats_are_dropped_and_acknowledged, TIMEOUT)
{
	long long before = count_of(self, "recv_drop_old_seq");
	struct head head = message_to(TARGET_PORT, 10);
	struct frame f;

	become(_metadata, self, 9, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 1));
	EXPECT_EQ(10, received(self, self->sock, 1));
	peer_disconnect(&self->peer);
	peer_close(&self->peer);
	ASSERT_EQ(0, hello(self, &self->peer));
	head.flags = FLAG_AGAIN | FLAG_WANT_ACK;
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 1));
	expect_frame(_metadata, &self->peer, (struct head){ .ack = 1 }, &f);
	EXPECT_COUNTED("recv_drop_old_seq", before);
	ASSERT_EQ(0, peer_push_message(&self->peer, message_to(TARGET_PORT, 20), 2));
	EXPECT_EQ(20, received(self, self->sock, 2));
}

/* --- pings -------------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, wire8_pings_and_pongs, TIMEOUT)
{
	struct head pong = { .seq = 1, .ack = 1, .dport = 77, .flags = FLAG_WANT_ACK };
	struct frame f;

	become(_metadata, self, 10, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .sport = 77 }, 0));
	expect_frame(_metadata, &self->peer, pong, &f);
	EXPECT_EQ(0, f.len);
	/* a payload is allowed, and not returned */
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .sport = 78, .len = 5000 }, 0));
	pong = (struct head){ .seq = 2, .ack = 2, .dport = 78 };
	expect_frame(_metadata, &self->peer, pong, &f);
	EXPECT_EQ(0, f.len);
	/* ours, and its answer */
	ASSERT_EQ(0, have_sent(self, self->sock, 0, 0, 0));
	pong = from_target(3, 0, 0, 0);
	pong.ack = 2;
	expect_frame(_metadata, &self->peer, pong, &f);
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .dport = TARGET_PORT }, 0));
	EXPECT_EQ(0, received(self, self->sock, 0));
}

/* --- congestion --------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, wire9_our_congestion, TIMEOUT)
{
	int port = TARGET_PORT + 3, i;
	long long sock;

	become(_metadata, self, 11, false);
	sock = open_socket(self, port, 4096);
	ASSERT_GT(sock, 0);
	ASSERT_EQ(0, hello(self, &self->peer));
	/* the second one is above the receive buffer */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, peer_push_message(&self->peer, message_to(port, 3000), i));
	ASSERT_EQ(0, peer_settle(&self->peer));
	expect_map(_metadata, &self->peer, 2, port);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(3000, received(self, sock, i));
	expect_map(_metadata, &self->peer, 2, 0);
}

TEST_F_TIMEOUT(hostile, wire9_their_congestion, TIMEOUT)
{
	long long before;

	become(_metadata, self, 12, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	before = count_of(self, "cong_update_received");
	ASSERT_EQ(0, peer_push_map(&self->peer, MY_PORT));
	EXPECT_COUNTED("cong_update_received", before);
	EXPECT_EQ(-ENOBUFS, have_sent(self, self->sock, MY_PORT, 10, 1));
	/* nor is a ping from there answered */
	before = count_of(self, "pong_dropped");
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .sport = MY_PORT }, 0));
	EXPECT_COUNTED("pong_dropped", before);
	ASSERT_EQ(0, have_sent(self, self->sock, MY_PORT + 1, 10, 1));
	before = count_of(self, "cong_update_received");
	ASSERT_EQ(0, peer_push_map(&self->peer, 0));
	EXPECT_COUNTED("cong_update_received", before);
	EXPECT_EQ(0, have_sent(self, self->sock, MY_PORT, 10, 1));
}

/* --- RDMA --------------------------------------------------------------- */

#define REGION	10000

/* Have a cookie sent to us: it comes as key and offset. */
static long long cookie_of_ours(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, bool once, uint64_t seq,
				uint8_t flags)
{
	long long cookie = ask_for(self, "map %lld %d 1 %d", self->sock, REGION, once);
	struct head want = from_target(seq, MY_PORT, 9, flags);

	EXPECT_GT(cookie, 0);
	EXPECT_EQ(0, ask_for(self, "send %lld %s %d 9 3 %lld", self->sock, self->me, MY_PORT, cookie));
	head_add_dest(&want, cookie, cookie >> 32);
	expect_message(_metadata, &self->peer, want, 3);
	return cookie;
}

TEST_F_TIMEOUT(hostile, wire12_3_keys_of_ours, TIMEOUT)
{
	long long cookie;
	uint64_t start;

	become(_metadata, self, 13, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	cookie = cookie_of_ours(_metadata, self, false, 1, FLAG_WANT_ACK);
	start = cookie >> 32;
	ASSERT_EQ(0, peer_rdma(&self->peer, IBV_WR_RDMA_READ, 0, start, cookie, REGION));
	EXPECT_TRUE(is_pattern(self->peer.area, 0, REGION, 1));
	pattern(self->peer.area, 0, 5000, 2);
	ASSERT_EQ(0, peer_rdma(&self->peer, IBV_WR_RDMA_WRITE, 0, start + 5000, cookie, 5000));
	EXPECT_EQ(1, ask_for(self, "look %lld 5000 5000 2", cookie));
	pattern(self->peer.area, 0, 5000, 1);
	EXPECT_EQ(1, ask_for(self, "look %lld 0 5000 1", cookie));
}

TEST_F_TIMEOUT(hostile, wire12_6_use_once, TIMEOUT)
{
	struct head head = message_to(TARGET_PORT, 4);
	long long cookie;

	become(_metadata, self, 14, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	cookie = cookie_of_ours(_metadata, self, true, 1, FLAG_WANT_ACK);
	pattern(self->peer.area, 0, REGION, 2);
	ASSERT_EQ(0, peer_rdma(&self->peer, IBV_WR_RDMA_WRITE, 0, cookie >> 32, cookie, REGION));
	/* the message that tells of it uses the key up */
	head_add_rdma(&head, cookie);
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 4));
	EXPECT_EQ(4, received(self, self->sock, 4));
	pattern(self->peer.area, 0, REGION, 3);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  peer_rdma(&self->peer, IBV_WR_RDMA_WRITE, 0, cookie >> 32, cookie, REGION));
	EXPECT_EQ(1, ask_for(self, "look %lld 0 %d 2", cookie, REGION));
}

/* Have the key of this machine's area used, from byte 100 on. */
static void operate(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *what, size_t len,
		    struct head want)
{
	unsigned long long addr = (uintptr_t)self->peer.area + 100;
	struct frame f;

	EXPECT_EQ(0, ask_for(self, "%s %lld %s %d %u %llu %zu 6", what, self->sock, self->me, MY_PORT,
			     self->peer.mr->rkey, addr, len));
	/* the message that comes behind it names the key */
	want.flags = FLAG_WANT_ACK;
	head_add_rdma(&want, self->peer.mr->rkey);
	expect_frame(_metadata, &self->peer, want, &f);
	EXPECT_EQ(0, f.len);
}

TEST_F_TIMEOUT(hostile, wire12_1_operations_of_ours, TIMEOUT)
{
	struct head head = message_to(TARGET_PORT, 5);
	long long answer[4];

	become(_metadata, self, 15, false);
	ASSERT_EQ(0, hello(self, &self->peer));
	head_add_dest(&head, self->peer.mr->rkey, 0x123);
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 5));
	ASSERT_EQ(4, observer_ask(self->observer, answer, 4, "recv %lld 5", self->sock));
	EXPECT_EQ(0x123ll << 32 | self->peer.mr->rkey, answer[3]);
	head = from_target(1, MY_PORT, 0, 0);
	head.ack = 1;
	operate(_metadata, self, "write", REGION, head);
	EXPECT_TRUE(is_pattern(self->peer.area + 100, 0, REGION, 6));
	ASSERT_EQ(0, peer_send_ack(&self->peer, 1));
	ASSERT_EQ(2, observer_ask(self->observer, answer, 2, "status %lld 6", self->sock));
	EXPECT_EQ(RDS_RDMA_SUCCESS, answer[0]);
	head.seq = 2;
	operate(_metadata, self, "read", REGION, head);
	ASSERT_EQ(0, peer_send_ack(&self->peer, 2));
	ASSERT_EQ(2, observer_ask(self->observer, answer, 2, "status %lld 6", self->sock));
	EXPECT_EQ(RDS_RDMA_SUCCESS, answer[0]);
	EXPECT_EQ(1, answer[1]);
}

TEST_HARNESS_MAIN
