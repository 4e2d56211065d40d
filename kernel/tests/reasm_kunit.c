// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../reasm.h"

#define MIB	(1024u * 1024)

/* A frame as its sender would make it. */
struct frame {
	u64	seq;
	u32	len;
	u16	sport;
	u16	dport;
	u8	flags;
	u32	payload;
};

static void make_header(struct rds_header *h, const struct frame *f)
{
	rds_header_init(h, f->seq, f->len, cpu_to_be16(f->sport), cpu_to_be16(f->dport));
	h->flags = f->flags;
	rds_header_seal(h);
}

static enum rds_frame receive(struct rds_reasm *r, const struct frame *f, u32 *offset)
{
	struct rds_header h;

	make_header(&h, f);
	return rds_reasm_frame(r, &h, RDS_HEADER_LEN + f->payload, offset);
}

/* The payload of the next fragment of a message of @len bytes of which @got are here. */
static u32 fragment(u32 len, u32 got)
{
	return len - got > 4096 ? 4096 : len - got;
}

/* Lengths of whole messages, and how many fragments they take. */
struct len_row {
	u32	len;
	u32	fragments;
};

static const struct len_row len_rows[] = {
	{ 0, 1 },
	{ 1, 1 },
	{ 4095, 1 },
	{ 4096, 1 },
	{ 4097, 2 },
	{ 8191, 2 },
	{ 8192, 2 },
	{ 8193, 3 },
	{ 65536, 16 },
	{ MIB - 1, 256 },
	{ MIB, 256 },
};

static void len_desc(const struct len_row *row, char *desc)
{
	sprintf(desc, "%u bytes", row->len);
}

KUNIT_ARRAY_PARAM(len, len_rows, len_desc);

static void reasm_whole_message(struct kunit *test)
{
	const struct len_row *row = test->param_value;
	struct frame f = { .seq = 1, .len = row->len, .sport = 5001, .dport = 5002 };
	struct rds_reasm r = { 0 };
	u32 got = 0, i, offset;

	for (i = 1; i <= row->fragments; i++) {
		offset = ~0u;
		f.payload = fragment(f.len, got);
		KUNIT_EXPECT_EQ(test, receive(&r, &f, &offset),
				i < row->fragments ? RDS_FRAME_PART : RDS_FRAME_LAST);
		KUNIT_EXPECT_EQ(test, offset, got);
		got += f.payload;
		KUNIT_EXPECT_EQ(test, r.got, got);
		KUNIT_EXPECT_EQ(test, r.active, i < row->fragments);
	}
	KUNIT_EXPECT_EQ(test, got, row->len);
}

/* Lengths that no message has: refused at once, before anything is set aside for them. */
static const u32 too_long_rows[] = { MIB + 1, MIB + 4096, 0x7fffffff, 0x80000000, U32_MAX };

static void too_long_desc(const u32 *row, char *desc)
{
	sprintf(desc, "%u bytes", *row);
}

KUNIT_ARRAY_PARAM(too_long, too_long_rows, too_long_desc);

static void reasm_too_long(struct kunit *test)
{
	const u32 *len = test->param_value;
	struct frame f = { .seq = 1, .len = *len, .sport = 5001, .dport = 5002 };
	struct rds_reasm r = { 0 };
	u32 offset;

	for (f.payload = 0; f.payload <= 8192; f.payload += 1024)
		KUNIT_EXPECT_EQ(test, receive(&r, &f, &offset), RDS_FRAME_TOO_LONG);
	KUNIT_EXPECT_FALSE(test, r.active);
}

/* At each position of a message every other payload than the right one is refused. */
static void reasm_wrong_payload(struct kunit *test)
{
	static const u32 candidates[] = { 0, 1, 2, 4094, 4095, 4096, 4097, 4098, 8192, 0xffffffcf };
	const struct len_row *row = test->param_value;
	struct frame f = { .seq = 1, .len = row->len, .sport = 5001, .dport = 5002 };
	struct rds_reasm before = { 0 }, r;
	u32 i, got = 0, offset;

	do {
		u32 right = fragment(f.len, got);

		for (i = 0; i < ARRAY_SIZE(candidates); i++) {
			if (candidates[i] == right)
				continue;
			r = before;
			f.payload = candidates[i];
			KUNIT_EXPECT_EQ_MSG(test, receive(&r, &f, &offset), RDS_FRAME_BAD_LEN,
					    "payload %u at %u", f.payload, got);
		}
		f.payload = right;
		KUNIT_ASSERT_TRUE(test, !rds_frame_is_error(receive(&before, &f, &offset)));
		got += right;
	} while (got < f.len);
}

/* Acks with every value come between all fragments and change nothing. */
static void reasm_ack_between_fragments(struct kunit *test)
{
	const struct frame ack = { 0 };
	const struct len_row *row = test->param_value;
	struct frame f = { .seq = 9, .len = row->len, .sport = 5001, .dport = 5002 };
	struct rds_reasm r = { 0 }, before;
	u32 got = 0, i, offset = 0;

	for (i = 1; i <= row->fragments; i++) {
		before = r;
		KUNIT_EXPECT_EQ(test, receive(&r, &ack, &offset), RDS_FRAME_ACK);
		KUNIT_EXPECT_EQ(test, memcmp(&r, &before, sizeof(r)), 0);

		f.payload = fragment(f.len, got);
		KUNIT_EXPECT_FALSE(test, rds_frame_is_error(receive(&r, &f, &offset)));
		KUNIT_EXPECT_EQ(test, offset, got);
		got += f.payload;
	}
	KUNIT_EXPECT_FALSE(test, r.active);
	KUNIT_EXPECT_EQ(test, receive(&r, &ack, &offset), RDS_FRAME_ACK);
}

/* One frame on its own. */
struct single_row {
	const char	*name;
	struct frame	f;
	enum rds_frame	verdict;
};

static const struct single_row single_rows[] = {
	{ "ack", { 0, 0, 0, 0, 0, 0 }, RDS_FRAME_ACK },
	{ "ack with flags", { 0, 0, 0, 0, 0xff, 0 }, RDS_FRAME_ACK },
	{ "ack with a sequence number", { 7, 0, 0, 0, 0, 0 }, RDS_FRAME_ACK },
	{ "ack with a length", { 0, 8192, 0, 0, 1, 0 }, RDS_FRAME_ACK },
	{ "ack with a length too long", { 0, U32_MAX - 1, 0, 0, 0, 0 }, RDS_FRAME_ACK },
	{ "ping", { 1, 0, 1, 0, 0, 0 }, RDS_FRAME_LAST },
	{ "pong", { 1, 0, 0, 1, 0, 0 }, RDS_FRAME_LAST },
	{ "ping from the highest port", { 1, 0, 65535, 0, 0, 0 }, RDS_FRAME_LAST },
	{ "ports 0 with payload", { 0, 1, 0, 0, 0, 1 }, RDS_FRAME_LAST },
	{ "first half of a map", { 0, 8192, 0, 0, 1, 4096 }, RDS_FRAME_PART },
	{ "payload of a message of 0", { 1, 0, 5001, 5002, 0, 1 }, RDS_FRAME_BAD_LEN },
	{ "no payload", { 1, 1, 5001, 5002, 0, 0 }, RDS_FRAME_BAD_LEN },
	{ "one byte over", { 1, 1, 5001, 5002, 0, 2 }, RDS_FRAME_BAD_LEN },
	{ "fragment above 4096", { 1, 8192, 5001, 5002, 0, 4097 }, RDS_FRAME_BAD_LEN },
	{ "highest number", { U64_MAX, 1, 5001, 5002, 0, 1 }, RDS_FRAME_LAST },
	{ "just too long", { 1, MIB + 1, 5001, 5002, 0, 4096 }, RDS_FRAME_TOO_LONG },
	{ "longest length, ports 0", { 0, U32_MAX, 0, 0, 1, 4096 }, RDS_FRAME_TOO_LONG },
};

static void single_desc(const struct single_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(single, single_rows, single_desc);

static void reasm_single_frame(struct kunit *test)
{
	const struct single_row *row = test->param_value;
	struct rds_reasm r = { 0 };
	u32 offset = 0;

	KUNIT_EXPECT_EQ(test, receive(&r, &row->f, &offset), row->verdict);
	KUNIT_EXPECT_EQ(test, offset, 0);
}

static void reasm_bad_csum(struct kunit *test)
{
	const struct single_row *row = test->param_value;
	struct rds_reasm r = { 0 };
	struct rds_header h;
	u32 offset = 0;

	make_header(&h, &row->f);
	h.pad[0] ^= 1;
	KUNIT_EXPECT_EQ(test, rds_reasm_frame(&r, &h, RDS_HEADER_LEN + row->f.payload, &offset),
			RDS_FRAME_BAD_CSUM);
	KUNIT_EXPECT_FALSE(test, r.active);

	h.csum = 0;		/* not computed */
	KUNIT_EXPECT_EQ(test, rds_reasm_frame(&r, &h, RDS_HEADER_LEN + row->f.payload, &offset),
			row->verdict);
}

/* Frames shorter than a header, in buffers of just that many bytes: nothing is read. */
static void reasm_short_frame(struct kunit *test)
{
	struct rds_reasm r = { 0 };
	u32 bytes, offset = 0;

	for (bytes = 0; bytes < RDS_HEADER_LEN; bytes++) {
		void *h = kunit_kzalloc(test, bytes, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, h);
		KUNIT_EXPECT_EQ(test, rds_reasm_frame(&r, h, bytes, &offset), RDS_FRAME_SHORT);
	}
	KUNIT_EXPECT_FALSE(test, r.active);
}

/* Fragment 2 against fragment 1 { 5, 8192, 5001, 5002, 0 }. */
struct second_row {
	const char	*name;
	struct frame	f;
	enum rds_frame	verdict;
};

static const struct second_row second_rows[] = {
	{ "the same", { 5, 8192, 5001, 5002, 0, 4096 }, RDS_FRAME_LAST },
	{ "other flags", { 5, 8192, 5001, 5002, 0xff, 4096 }, RDS_FRAME_LAST },
	{ "next number", { 6, 8192, 5001, 5002, 0, 4096 }, RDS_FRAME_MISMATCH },
	{
		"number differs in its high half",
		{ 5 | 1ull << 32, 8192, 5001, 5002, 0, 4096 }, RDS_FRAME_MISMATCH,
	},
	{ "shorter message", { 5, 8191, 5001, 5002, 0, 4095 }, RDS_FRAME_MISMATCH },
	{ "longer message", { 5, 8193, 5001, 5002, 0, 4096 }, RDS_FRAME_MISMATCH },
	{ "message too long", { 5, MIB + 1, 5001, 5002, 0, 4096 }, RDS_FRAME_TOO_LONG },
	{ "other source port", { 5, 8192, 5002, 5002, 0, 4096 }, RDS_FRAME_MISMATCH },
	{ "other destination port", { 5, 8192, 5001, 5001, 0, 4096 }, RDS_FRAME_MISMATCH },
	{ "ports swapped", { 5, 8192, 5002, 5001, 0, 4096 }, RDS_FRAME_MISMATCH },
	{ "a map in between", { 0, 8192, 0, 0, 1, 4096 }, RDS_FRAME_MISMATCH },
	{ "a ping in between", { 5, 0, 5001, 0, 0, 0 }, RDS_FRAME_MISMATCH },
	{ "an ack in between", { 5, 8192, 0, 0, 0, 0 }, RDS_FRAME_ACK },
	{ "no payload", { 5, 8192, 5001, 5002, 0, 0 }, RDS_FRAME_BAD_LEN },
	{ "one byte short", { 5, 8192, 5001, 5002, 0, 4095 }, RDS_FRAME_BAD_LEN },
	{ "one byte over", { 5, 8192, 5001, 5002, 0, 4097 }, RDS_FRAME_BAD_LEN },
};

static void second_desc(const struct second_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(second, second_rows, second_desc);

static void reasm_second_fragment(struct kunit *test)
{
	static const struct frame first = { 5, 8192, 5001, 5002, 0, 4096 };
	const struct second_row *row = test->param_value;
	struct rds_reasm r = { 0 };
	u32 offset = 0;

	KUNIT_ASSERT_EQ(test, receive(&r, &first, &offset), RDS_FRAME_PART);
	KUNIT_EXPECT_EQ(test, receive(&r, &row->f, &offset), row->verdict);
}

/* Flags and extensions of fragment 1 count, whatever the others carry. */
static void reasm_first_header_counts(struct kunit *test)
{
	const struct frame plain = { 5, 12288, 5001, 5002, 0, 0 };
	struct rds_reasm r = { 0 };
	struct rds_header h;
	struct rds_ext ext;
	u32 offset, i;

	for (i = 0; i < 3; i++) {
		make_header(&h, &plain);
		h.flags = i ? RDS_FLAG_RETRANSMITTED : RDS_FLAG_ACK_REQUIRED;
		h.ack = cpu_to_be64(100 + i);
		h.credit = i;
		h.pad[3] = i;
		KUNIT_ASSERT_EQ(test, rds_ext_add_rdma(&h, 1000 + i), 0);
		rds_header_seal(&h);
		KUNIT_EXPECT_EQ(test, rds_reasm_frame(&r, &h, RDS_HEADER_LEN + 4096, &offset),
				i < 2 ? RDS_FRAME_PART : RDS_FRAME_LAST);
	}
	KUNIT_EXPECT_FALSE(test, r.active);
	KUNIT_EXPECT_EQ(test, r.first.flags, RDS_FLAG_ACK_REQUIRED);
	rds_ext_parse(&r.first, &ext);
	KUNIT_EXPECT_EQ(test, ext.rdma_rkey, 1000);
}

/* After one message comes the next, of any length and with any number. */
static void reasm_message_after_message(struct kunit *test)
{
	static const struct frame frames[] = {
		{ 0, 8192, 0, 0, 1, 4096 }, { 0, 8192, 0, 0, 1, 4096 },
		{ 1, 0, 5001, 5002, 0, 0 },
		{ 2, 4097, 5001, 5002, 0, 4096 }, { 2, 4097, 5001, 5002, 0, 1 },
		{ 3, 1, 5001, 5002, 0, 1 },
		{ 1, 1, 5001, 5002, 4, 1 },
	};
	static const enum rds_frame verdicts[] = {
		RDS_FRAME_PART, RDS_FRAME_LAST,
		RDS_FRAME_LAST,
		RDS_FRAME_PART, RDS_FRAME_LAST,
		RDS_FRAME_LAST,
		RDS_FRAME_LAST,
	};
	static const u32 offsets[] = { 0, 4096, 0, 0, 4096, 0, 0 };
	struct rds_reasm r = { 0 };
	u32 i, offset;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		KUNIT_EXPECT_EQ(test, receive(&r, &frames[i], &offset), verdicts[i]);
		KUNIT_EXPECT_EQ(test, offset, offsets[i]);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(r.first.seq), frames[i].seq);
	}
}

/* The whole flag byte decides what is a congestion map. */
static void reasm_cong_map_by_flags(struct kunit *test)
{
	struct rds_header h = { 0 };
	u32 flags;

	for (flags = 0; flags < 256; flags++) {
		h.flags = flags;
		KUNIT_EXPECT_EQ_MSG(test, rds_header_is_cong_map(&h), flags == 1,
				    "flags %#x", flags);
	}
}

static void reasm_errors_are_told(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, rds_frame_is_error(RDS_FRAME_ACK));
	KUNIT_EXPECT_FALSE(test, rds_frame_is_error(RDS_FRAME_PART));
	KUNIT_EXPECT_FALSE(test, rds_frame_is_error(RDS_FRAME_LAST));
	KUNIT_EXPECT_TRUE(test, rds_frame_is_error(RDS_FRAME_SHORT));
	KUNIT_EXPECT_TRUE(test, rds_frame_is_error(RDS_FRAME_BAD_CSUM));
	KUNIT_EXPECT_TRUE(test, rds_frame_is_error(RDS_FRAME_TOO_LONG));
	KUNIT_EXPECT_TRUE(test, rds_frame_is_error(RDS_FRAME_BAD_LEN));
	KUNIT_EXPECT_TRUE(test, rds_frame_is_error(RDS_FRAME_MISMATCH));
}

static struct kunit_case reasm_cases[] = {
	KUNIT_CASE_PARAM(reasm_whole_message, len_gen_params),
	KUNIT_CASE_PARAM(reasm_too_long, too_long_gen_params),
	KUNIT_CASE_PARAM(reasm_wrong_payload, len_gen_params),
	KUNIT_CASE_PARAM(reasm_ack_between_fragments, len_gen_params),
	KUNIT_CASE_PARAM(reasm_single_frame, single_gen_params),
	KUNIT_CASE_PARAM(reasm_bad_csum, single_gen_params),
	KUNIT_CASE(reasm_short_frame),
	KUNIT_CASE_PARAM(reasm_second_fragment, second_gen_params),
	KUNIT_CASE(reasm_first_header_counts),
	KUNIT_CASE(reasm_message_after_message),
	KUNIT_CASE(reasm_cong_map_by_flags),
	KUNIT_CASE(reasm_errors_are_told),
	{}
};

static struct kunit_suite reasm_suite = {
	.name = "rds_reasm",
	.test_cases = reasm_cases,
};

kunit_test_suite(reasm_suite);
