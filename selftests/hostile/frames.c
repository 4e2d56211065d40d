// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Frames that no RDS peer sends: each ends the connection for a reason that is counted, or is ignored and counted. */
#include "hostile.h"

#define TIMEOUT	120

static uint8_t junk[PEER_SLOT];

/* --- what ends the connection ------------------------------------------- */

/* After what was pushed the connection is gone, and counter @reason says why.  Nothing was delivered. */
static void expect_drop(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
			long long before)
{
	long long drained[2];

	/* the frame itself may have been refused by the device, or flushed with the connection */
	peer_settle(&self->peer);
	EXPECT_COUNTED(reason, before);
	EXPECT_EQ(-ECONNRESET, peer_wait(&self->peer, RDMA_CM_EVENT_CONNECT_RESPONSE));
	peer_close(&self->peer);
	ASSERT_EQ(2, observer_ask(self->observer, drained, 2, "drain %lld", self->sock));
	EXPECT_EQ(0, drained[0]);
}

static void bytes_drop(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
		       const void *bytes, size_t len)
{
	long long before = count_of(self, reason);

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push(&self->peer, bytes, len, true));
	expect_drop(_metadata, self, reason, before);
}

/* The frames, one after the other, each with @len[i] bytes of payload. */
static void frames_drop(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
			const struct head *heads, const size_t *lens, int nr)
{
	long long before = count_of(self, reason);
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < nr; i++)
		ASSERT_EQ(0, peer_push_frame(&self->peer, &heads[i], junk, lens[i]));
	expect_drop(_metadata, self, reason, before);
}

static void frame_drops(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
			struct head head, size_t len)
{
	frames_drop(_metadata, self, reason, &head, &len, 1);
}

/* A message of @len bytes whose second frame differs. */
static void second_frame_drops(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *reason,
			       struct head first, struct head second, size_t second_len)
{
	struct head heads[] = { first, second };
	size_t lens[] = { FRAGMENT, second_len };

	frames_drop(_metadata, self, reason, heads, lens, 2);
}

static struct head numbered(uint64_t seq, uint32_t len)
{
	struct head head = message_to(TARGET_PORT, len);

	head.seq = seq;
	return head;
}

TEST_F_TIMEOUT(hostile, shorter_than_a_header, TIMEOUT)
{
	static const size_t lens[] = { 0, 1, 24, 47 };
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		bytes_drop(_metadata, self, "drop_frame_short", junk, lens[i]);
}

TEST_F_TIMEOUT(hostile, longer_than_a_frame, TIMEOUT)
{
	struct head head = numbered(1, FRAGMENT + 1);

	frame_drops(_metadata, self, "drop_recv_error", head, FRAGMENT + 1);
}

TEST_F_TIMEOUT(hostile, bad_checksum, TIMEOUT)
{
	long long before = count_of(self, "recv_drop_bad_checksum");
	struct head head = numbered(1, 0);
	uint8_t raw[HEAD_LEN];

	head_pack(&head, raw);
	raw[23] ^= 1;
	bytes_drop(_metadata, self, "drop_bad_csum", raw, sizeof(raw));
	EXPECT_COUNTED("recv_drop_bad_checksum", before);
}

TEST_F_TIMEOUT(hostile, D46_length_4_gib, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_too_long", numbered(1, UINT32_MAX), FRAGMENT);
}

TEST_F_TIMEOUT(hostile, D46_length_1_mib_and_1, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_too_long", numbered(1, MESSAGE_MAX + 1), FRAGMENT);
}

TEST_F_TIMEOUT(hostile, payload_less_than_said, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_bad_len", numbered(1, 5000), 100);
}

TEST_F_TIMEOUT(hostile, payload_more_than_said, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_bad_len", numbered(1, 10), 11);
}

TEST_F_TIMEOUT(hostile, payload_without_length, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_bad_len", numbered(1, 0), 1);
}

TEST_F_TIMEOUT(hostile, first_fragment_again, TIMEOUT)
{
	second_frame_drops(_metadata, self, "drop_bad_len", numbered(1, 5000), numbered(1, 5000), FRAGMENT);
}

TEST_F_TIMEOUT(hostile, another_message_midway, TIMEOUT)
{
	second_frame_drops(_metadata, self, "drop_mismatch", numbered(1, 5000), numbered(2, 10), 10);
}

TEST_F_TIMEOUT(hostile, length_changes_midway, TIMEOUT)
{
	second_frame_drops(_metadata, self, "drop_mismatch", numbered(1, 5000), numbered(1, 4100), 4);
}

TEST_F_TIMEOUT(hostile, ports_change_midway, TIMEOUT)
{
	struct head other = numbered(1, 5000);

	other.dport++;
	second_frame_drops(_metadata, self, "drop_mismatch", numbered(1, 5000), other, 904);
	other = numbered(1, 5000);
	other.sport++;
	second_frame_drops(_metadata, self, "drop_mismatch", numbered(1, 5000), other, 904);
}

TEST_F_TIMEOUT(hostile, map_in_the_midst_of_a_message, TIMEOUT)
{
	struct head map = { .len = MAP_LEN, .flags = FLAG_MAP };

	second_frame_drops(_metadata, self, "drop_mismatch", numbered(1, 5000), map, FRAGMENT);
}

TEST_F_TIMEOUT(hostile, ack_from_the_future, TIMEOUT)
{
	frame_drops(_metadata, self, "drop_bad_ack", (struct head){ .ack = UINT64_MAX }, 0);
}

TEST_F_TIMEOUT(hostile, ack_from_the_future_with_a_message, TIMEOUT)
{
	struct head head = numbered(1, 10);

	head.ack = 1ull << 40;
	frame_drops(_metadata, self, "drop_bad_ack", head, 10);
}

/* --- what is ignored ---------------------------------------------------- */

/* The connection still does what it is for. */
static void expect_up(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self)
{
	EXPECT_EQ(0, exchange(self, &self->peer, self->sock, TARGET_PORT));
}

/* A message with these bytes in its header is delivered as if they were not there. */
static void is_delivered(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, struct head head)
{
	head.sport = MY_PORT;
	head.dport = TARGET_PORT;
	head.len = 300;
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 9));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_EQ(300, received(self, self->sock, 9));
}

TEST_F_TIMEOUT(hostile, longest_message_is_delivered, TIMEOUT)
{
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push_message(&self->peer, message_to(TARGET_PORT, MESSAGE_MAX), 3));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_EQ(MESSAGE_MAX, received(self, self->sock, 3));
}

TEST_F_TIMEOUT(hostile, no_checksum_is_accepted, TIMEOUT)
{
	struct head head = numbered(1, 0);
	uint8_t raw[HEAD_LEN];

	ASSERT_EQ(0, hello(self, &self->peer));
	head_pack(&head, raw);
	put_be16(raw + 30, 0);
	ASSERT_EQ(0, peer_send(&self->peer, raw, sizeof(raw)));
	EXPECT_EQ(0, received(self, self->sock, 0));
	self->peer.seq = 1;
	expect_up(_metadata, self);
}

TEST_F_TIMEOUT(hostile, padding_is_not_looked_at, TIMEOUT)
{
	struct head head = numbered(1, 0);
	uint8_t raw[HEAD_LEN];
	uint32_t sum;

	ASSERT_EQ(0, hello(self, &self->peer));
	head_pack(&head, raw);
	/* two words that cancel out in the sum */
	put_be16(raw + 26, 0x1234);
	sum = get_be16(raw + 30) + (uint16_t)~0x1234;
	put_be16(raw + 30, (sum & 0xffff) + (sum >> 16));
	ASSERT_TRUE(head_checksum_right(raw));
	ASSERT_EQ(0, peer_send(&self->peer, raw, sizeof(raw)));
	EXPECT_EQ(0, received(self, self->sock, 0));
}

TEST_F_TIMEOUT(hostile, credits_without_flow_control, TIMEOUT)
{
	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_send_frame(&self->peer, &(struct head){ .credit = 255 }, NULL, 0));
	is_delivered(_metadata, self, (struct head){ .credit = 255 });
	expect_up(_metadata, self);
}

TEST_F_TIMEOUT(hostile, flags_that_are_not_assigned, TIMEOUT)
{
	ASSERT_EQ(0, hello(self, &self->peer));
	is_delivered(_metadata, self, (struct head){ .flags = 0xf8 });
	expect_up(_metadata, self);
}

TEST_F_TIMEOUT(hostile, extensions_that_are_not_assigned, TIMEOUT)
{
	long long before = count_of(self, "recv_ext_unknown");
	struct head head = { 0 };

	ASSERT_EQ(0, hello(self, &self->peer));
	memset(head.ext, 9, EXT_LEN);
	is_delivered(_metadata, self, head);
	EXPECT_COUNTED("recv_ext_unknown", before);
	memset(head.ext, 0xff, EXT_LEN);
	is_delivered(_metadata, self, head);
	EXPECT_COUNTED("recv_ext_unknown", before + 1);
	expect_up(_metadata, self);
}

TEST_F_TIMEOUT(hostile, extension_that_passes_the_end, TIMEOUT)
{
	static const uint8_t cut[EXT_LEN] = { 5, 0, 8, 5, 0, 8, 5, 0, 8, 5, 0, 8, EXT_RDMA_DEST, 1, 2, 3 };
	long long before = count_of(self, "recv_ext_truncated");
	struct head head = message_to(TARGET_PORT, 100);
	long long answer[4];

	ASSERT_EQ(0, hello(self, &self->peer));
	memcpy(head.ext, cut, EXT_LEN);
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 7));
	ASSERT_EQ(0, peer_settle(&self->peer));
	ASSERT_EQ(4, observer_ask(self->observer, answer, 4, "recv %lld 7", self->sock));
	EXPECT_EQ(100, answer[1]);
	/* no cookie */
	EXPECT_EQ(0, answer[3]);
	EXPECT_COUNTED("recv_ext_truncated", before);
	expect_up(_metadata, self);
}

/* --- maps --------------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, maps_of_wrong_size, TIMEOUT)
{
	static const uint32_t lens[] = { 1, 100, FRAGMENT, MAP_LEN - 1, MAP_LEN + 1, MESSAGE_MAX };
	long long before = count_of(self, "recv_bad_map");
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct head head = { .len = lens[i], .flags = FLAG_MAP };

		/* peer_push_message() would number it */
		head.seq = 1;
		ASSERT_EQ(0, peer_push_message(&self->peer, head, 0));
	}
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_COUNTED("recv_bad_map", before + ARRAY_SIZE(lens) - 1);
	/* none of their bits was taken */
	expect_up(_metadata, self);
}

TEST_F_TIMEOUT(hostile, map_with_another_flag, TIMEOUT)
{
	struct head head = { .len = MAP_LEN, .flags = FLAG_MAP | FLAG_WANT_ACK };
	long long before;

	ASSERT_EQ(0, hello(self, &self->peer));
	expect_up(_metadata, self);
	before = count_of(self, "recv_drop_old_seq");
	ASSERT_EQ(0, peer_push_frame(&self->peer, &head, junk, FRAGMENT));
	ASSERT_EQ(0, peer_send_frame(&self->peer, &head, junk, FRAGMENT));
	EXPECT_COUNTED("recv_drop_old_seq", before);
	expect_up(_metadata, self);
}

/* --- numbers ------------------------------------------------------------ */

TEST_F_TIMEOUT(hostile, numbers_that_jump, TIMEOUT)
{
	static const uint64_t forward[] = { 5, 1000, 1ull << 32, 1ull << 63, UINT64_MAX };
	long long before;
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(forward); i++)
		is_delivered(_metadata, self, (struct head){ .seq = forward[i] });
	/* over one queue pair they never go back, unless the device repeats a packet */
	before = count_of(self, "recv_drop_old_seq");
	ASSERT_EQ(0, peer_push_message(&self->peer, numbered(7, 10), 1));
	ASSERT_EQ(0, peer_push_message(&self->peer, numbered(UINT64_MAX, 10), 1));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_COUNTED("recv_drop_old_seq", before + 1);
	EXPECT_EQ(0, ask_for(self, "drain %lld", self->sock));
}

TEST_F_TIMEOUT(hostile, number_zero, TIMEOUT)
{
	long long before = count_of(self, "recv_drop_old_seq");
	struct head head = numbered(0, 10);

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_send_frame(&self->peer, &head, junk, 10));
	EXPECT_COUNTED("recv_drop_old_seq", before);
	expect_up(_metadata, self);
}

/* --- ports -------------------------------------------------------------- */

TEST_F_TIMEOUT(hostile, ports_that_nobody_has, TIMEOUT)
{
	static const uint16_t ports[][2] = { { MY_PORT, 1 }, { 0, 4999 }, { MY_PORT, 65535 }, { 1, 2 } };
	long long before = count_of(self, "recv_drop_no_sock");
	int i;

	ASSERT_EQ(0, hello(self, &self->peer));
	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		struct head head = { .sport = ports[i][0], .dport = ports[i][1], .len = 10 };

		ASSERT_EQ(0, peer_push_message(&self->peer, head, 0));
	}
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_COUNTED("recv_drop_no_sock", before + ARRAY_SIZE(ports) - 1);
	expect_up(_metadata, self);
}

/* From port 0: nobody to answer.  From port 1, or to it from 0: questions of another transport. */
TEST_F_TIMEOUT(hostile, pings_that_get_no_answer, TIMEOUT)
{
	long long before = count_of(self, "recv_ping"), pongs = count_of(self, "send_pong");

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .len = 10 }, 0));
	ASSERT_EQ(0, peer_push_message(&self->peer, (struct head){ .dport = 1, .len = 10 }, 0));
	ASSERT_EQ(0, peer_settle(&self->peer));
	EXPECT_COUNTED("recv_ping", before);
	EXPECT_EQ(pongs, count_of(self, "send_pong"));
	expect_up(_metadata, self);
}

TEST_HARNESS_MAIN
