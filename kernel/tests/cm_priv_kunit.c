// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../cm_priv.h"

#define V4(a, b, c, d)	{ .s6_addr = { [10] = 0xff, 0xff, a, b, c, d } }

/* Private data and what it says. */
struct layout_row {
	const char		*name;
	bool			v6;
	u8			bytes[RDS_CM_PRIV_LEN_V6];
	struct rds_cm_priv	says;
};

static const struct layout_row layout_rows[] = {
	{
		.name = "request of a stock 6.1 kernel",
		.bytes = {
			10, 9, 1, 2, 10, 9, 1, 1,
			3, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		},
		.says = {
			.saddr = V4(10, 9, 1, 2), .daddr = V4(10, 9, 1, 1),
			.version = 0x0301, .minor_mask = 3,
		},
	}, {
		.name = "reply of a stock 6.1 kernel",
		.bytes = {
			10, 9, 1, 1, 10, 9, 1, 2,
			3, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		},
		.says = {
			.saddr = V4(10, 9, 1, 1), .daddr = V4(10, 9, 1, 2),
			.version = 0x0301, .minor_mask = 3,
		},
	}, {
		.name = "every field, IPv4",
		.bytes = {
			0xfe, 2, 3, 4, 5, 6, 7, 8,
			9, 10, 11, 12, 13, 0, 0, 0, 0x81, 15, 16, 17, 18, 19, 20, 21,
			0x82, 23, 24, 25, 0x5d, 0x81, 0x82, 0x03,
		},
		.says = {
			.saddr = V4(0xfe, 2, 3, 4), .daddr = V4(5, 6, 7, 8),
			.version = 0x090a, .minor_mask = 0x0b0c, .tos = 13,
			.ack = 0x810f101112131415, .credit = 0x82171819,
			.caps = 0x81, .generation = 0x8203,
		},
	}, {
		.name = "every field, IPv6", .v6 = true,
		.bytes = {
			0xfd, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
			0xfe, 0x80, 0, 0, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15,
			4, 1, 0, 2, 0xff, 0, 0, 0, 0x81, 15, 16, 17, 18, 19, 20, 21,
			0x82, 23, 24, 25, 0x5d, 0x01, 0x00, 0x02,
		},
		.says = {
			.saddr = { .s6_addr = { 0xfd, 9, 0, 1, [15] = 1 } },
			.daddr = { .s6_addr = { 0xfe, 0x80, [8] = 8, 9, 10, 11, 12, 13, 14, 15 } },
			.version = 0x0401, .minor_mask = 2, .tos = 255,
			.ack = 0x810f101112131415, .credit = 0x82171819,
			.caps = RDS_CAP_ORDERED_DUEL, .generation = 2,
		},
	}, {
		.name = "IPv4 addresses in the IPv6 layout", .v6 = true,
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 1, 2,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 1, 1,
			3, 1, 0, 3,
		},
		.says = {
			.saddr = V4(10, 9, 1, 2), .daddr = V4(10, 9, 1, 1),
			.version = 0x0301, .minor_mask = 3,
		},
	},
};

static void layout_desc(const struct layout_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(layout, layout_rows, layout_desc);

static void expect_same(struct kunit *test, const struct rds_cm_priv *got,
			const struct rds_cm_priv *want)
{
	KUNIT_EXPECT_EQ(test, rds_addr_cmp(&got->saddr, &want->saddr), 0);
	KUNIT_EXPECT_EQ(test, rds_addr_cmp(&got->daddr, &want->daddr), 0);
	KUNIT_EXPECT_EQ(test, got->version, want->version);
	KUNIT_EXPECT_EQ(test, got->minor_mask, want->minor_mask);
	KUNIT_EXPECT_EQ(test, got->tos, want->tos);
	KUNIT_EXPECT_EQ(test, got->ack, want->ack);
	KUNIT_EXPECT_EQ(test, got->credit, want->credit);
	KUNIT_EXPECT_EQ(test, got->caps, want->caps);
	KUNIT_EXPECT_EQ(test, got->generation, want->generation);
}

static void cm_priv_encode(struct kunit *test)
{
	const struct layout_row *row = test->param_value;
	u8 buf[RDS_CM_PRIV_LEN_V6 + 1];
	int len = row->v6 ? 56 : 32;

	memset(buf, 0xa5, sizeof(buf));
	KUNIT_EXPECT_EQ(test, rds_cm_priv_encode(&row->says, row->v6, buf), len);
	KUNIT_EXPECT_EQ(test, memcmp(buf, row->bytes, len), 0);
	KUNIT_EXPECT_EQ(test, buf[RDS_CM_PRIV_LEN_V6], 0xa5);
}

/* From a buffer of just the layout's size, then of what the CM pads it to. */
static void cm_priv_decode(struct kunit *test)
{
	const struct layout_row *row = test->param_value;
	const u32 lens[] = { row->v6 ? 56 : 32, row->v6 ? 57 : 33, row->v6 ? 196 : 56, 196 };
	struct rds_cm_priv p;
	u8 *buf;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		buf = kunit_kzalloc(test, lens[i], GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memset(buf, 0xa5, lens[i]);
		memcpy(buf, row->bytes, lens[0]);
		memset(&p, 0x5a, sizeof(p));
		KUNIT_EXPECT_EQ(test, rds_cm_priv_decode(&p, row->v6, buf, lens[i]), 0);
		expect_same(test, &p, &row->says);
	}
}

static void cm_priv_decode_too_short(struct kunit *test)
{
	const struct layout_row *row = test->param_value;
	static const struct rds_cm_priv zeros;
	struct rds_cm_priv p;
	u32 len;
	u8 *buf;

	for (len = 0; len < (row->v6 ? 56 : 32); len++) {
		buf = kunit_kzalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, row->bytes, len);
		memset(&p, 0x5a, sizeof(p));
		KUNIT_EXPECT_EQ(test, rds_cm_priv_decode(&p, row->v6, buf, len), -EINVAL);
		expect_same(test, &p, &zeros);
	}
}

/* Tail padding and the capabilities that it stands for. */
struct caps_row {
	u8	tail[4];
	u8	caps;
	u16	generation;
};

static const struct caps_row caps_rows[] = {
	{ { 0, 0, 0, 0 }, 0 },
	{ { 0, 0, 0, 1 }, 0 },
	{ { 0xff, 0xff, 0xff, 0xff }, 0 },
	{ { 0x5e, 1, 0, 1 }, 0 },
	{ { 0x5d, 0, 0, 0 }, 0 },
	{ { 0x5d, 0, 1, 2 }, 0, 0 },
	{ { 0x5d, 1, 0, 0 }, RDS_CAP_ORDERED_DUEL, 0 },
	{ { 0x5d, 1, 1, 2 }, RDS_CAP_ORDERED_DUEL, 0x0102 },
	{ { 0x5d, 0xff, 0xff, 0xff }, 0xff, 0xffff },
};

static void caps_desc(const struct caps_row *row, char *desc)
{
	sprintf(desc, "%02x%02x %02x%02x", row->tail[0], row->tail[1], row->tail[2], row->tail[3]);
}

KUNIT_ARRAY_PARAM(caps, caps_rows, caps_desc);

static void cm_priv_caps_need_the_magic(struct kunit *test)
{
	const struct caps_row *row = test->param_value;
	u8 buf[RDS_CM_PRIV_LEN_V6] = { 0 };
	struct rds_cm_priv p;

	memcpy(buf + 28, row->tail, 4);
	KUNIT_EXPECT_EQ(test, rds_cm_priv_decode(&p, false, buf, sizeof(buf)), 0);
	KUNIT_EXPECT_EQ(test, p.caps, row->caps);
	KUNIT_EXPECT_EQ(test, p.generation, row->generation);

	memset(buf, 0, sizeof(buf));
	memcpy(buf + 52, row->tail, 4);
	KUNIT_EXPECT_EQ(test, rds_cm_priv_decode(&p, true, buf, sizeof(buf)), 0);
	KUNIT_EXPECT_EQ(test, p.caps, row->caps);
	KUNIT_EXPECT_EQ(test, p.generation, row->generation);
}

/* A request's version and how it is answered. */
struct choose_row {
	const char	*name;
	u32		len;
	bool		v6;
	u16		version;
	u16		mask;
	u16		answer;		/* 0: reject */
};

static const struct choose_row choose_rows[] = {
	{ "no private data", 0, false, 0, 0, 0 },
	{ "no private data, v6", 0, true, 0, 0, 0 },
	{ "no private data whatever it says", 0, false, 0x0301, 3, 0 },
	{ "1 byte", 1, false, 0, 0, 0x0400 },
	{ "one byte short", 31, false, 0x0301, 3, 0x0400 },
	{ "exact", 32, false, 0x0301, 3, 0x0301 },
	{ "v6 one byte short", 55, true, 0x0301, 3, 0x0400 },
	{ "v6 exact", 56, true, 0x0301, 3, 0x0301 },
	{ "padded", 196, false, 0x0301, 3, 0x0301 },
	{ "major 0", 32, false, 0x0000, 3, 0x0400 },
	{ "major 0 minor 1", 32, false, 0x0001, 0, 0x0400 },
	{ "1.0", 32, false, 0x0100, 3, 0 },
	{ "2.1", 32, false, 0x0201, 3, 0 },
	{ "3.0", 32, false, 0x0300, 3, 0 },
	{ "3.1 mask 0", 32, false, 0x0301, 0, 0x0301 },
	{ "3.1 mask 65535", 32, false, 0x0301, 0xffff, 0x0301 },
	{ "3.2", 32, false, 0x0302, 3, 0 },
	{ "4.1 mask 0", 32, false, 0x0401, 0, 0 },
	{ "4.1 mask 1", 32, false, 0x0401, 1, 0x0400 },
	{ "4.0 mask 2", 32, false, 0x0400, 2, 0x0401 },
	{ "4.1 mask 3", 32, false, 0x0401, 3, 0x0401 },
	{ "4.0 mask 3", 32, false, 0x0400, 3, 0x0401 },
	{ "4.1 only minors unknown to us", 32, false, 0x0401, 0xfffc, 0 },
	{ "4.255 mask 65535", 32, false, 0x04ff, 0xffff, 0x0401 },
	{ "v6 4.1 mask 3", 56, true, 0x0401, 3, 0x0401 },
	{ "5.0", 32, false, 0x0500, 3, 0 },
	{ "255.255", 32, false, 0xffff, 0xffff, 0 },
};

static void choose_desc(const struct choose_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(choose, choose_rows, choose_desc);

static void cm_choose_version(struct kunit *test)
{
	const struct choose_row *row = test->param_value;
	const struct rds_cm_priv p = { .version = row->version, .minor_mask = row->mask };

	KUNIT_EXPECT_EQ(test, rds_cm_choose_version(&p, row->v6, row->len), row->answer);
}

/* What we answer to a request, byte for byte as it comes in. */
static void cm_choose_after_decode(struct kunit *test)
{
	const struct choose_row *row = test->param_value;
	const struct rds_cm_priv sent = { .version = row->version, .minor_mask = row->mask };
	struct rds_cm_priv p;
	u8 buf[256] = { 0 };

	rds_cm_priv_encode(&sent, row->v6, buf);
	rds_cm_priv_decode(&p, row->v6, buf, row->len);
	KUNIT_EXPECT_EQ(test, rds_cm_choose_version(&p, row->v6, row->len), row->answer);
}

/* A reply's version and whether we go on. */
struct reply_row {
	u16	version;
	bool	ok;
};

static const struct reply_row reply_rows[] = {
	{ 0x0000, true },	/* nothing said: no or short private data */
	{ 0x00ff, true },
	{ 0x0100, false },
	{ 0x02ff, false },
	{ 0x0300, false },
	{ 0x0301, true },
	{ 0x0302, true },
	{ 0x0400, true },
	{ 0x0401, true },
	{ 0xffff, true },
};

static void reply_desc(const struct reply_row *row, char *desc)
{
	sprintf(desc, "%u.%u", row->version >> 8, row->version & 0xff);
}

KUNIT_ARRAY_PARAM(reply, reply_rows, reply_desc);

static void cm_reply_version(struct kunit *test)
{
	const struct reply_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, rds_cm_reply_version_ok(row->version), row->ok);
}

/* Addresses in ascending order. */
static const struct in6_addr ascending[] = {
	{ .s6_addr = { 0 } },
	{ .s6_addr = { [15] = 1 } },
	V4(0, 0, 0, 0),
	V4(10, 9, 1, 1),
	V4(10, 9, 1, 2),
	V4(127, 255, 255, 255),
	V4(128, 0, 0, 0),
	V4(255, 255, 255, 255),
	{ .s6_addr = { [7] = 1 } },
	{ .s6_addr = { [0] = 0x7f, [15] = 0xff } },
	{ .s6_addr = { [0] = 0x80 } },
	{ .s6_addr = { 0xfd, 9, 0, 1, [15] = 1 } },
	{ .s6_addr = { 0xfd, 9, 0, 1, [15] = 2 } },
	{ .s6_addr = { 0xfe, 0x80 } },
};

static void cm_addr_order(struct kunit *test)
{
	int i, j, cmp;

	for (i = 0; i < ARRAY_SIZE(ascending); i++) {
		for (j = 0; j < ARRAY_SIZE(ascending); j++) {
			cmp = rds_addr_cmp(&ascending[i], &ascending[j]);
			KUNIT_EXPECT_EQ_MSG(test, cmp < 0, i < j, "rows %d, %d", i, j);
			KUNIT_EXPECT_EQ_MSG(test, cmp == 0, i == j, "rows %d, %d", i, j);
		}
	}
}

static struct kunit_case cm_priv_cases[] = {
	KUNIT_CASE_PARAM(cm_priv_encode, layout_gen_params),
	KUNIT_CASE_PARAM(cm_priv_decode, layout_gen_params),
	KUNIT_CASE_PARAM(cm_priv_decode_too_short, layout_gen_params),
	KUNIT_CASE_PARAM(cm_priv_caps_need_the_magic, caps_gen_params),
	KUNIT_CASE_PARAM(cm_choose_version, choose_gen_params),
	KUNIT_CASE_PARAM(cm_choose_after_decode, choose_gen_params),
	KUNIT_CASE_PARAM(cm_reply_version, reply_gen_params),
	KUNIT_CASE(cm_addr_order),
	{}
};

static struct kunit_suite cm_priv_suite = {
	.name = "rds_cm_priv",
	.test_cases = cm_priv_cases,
};

kunit_test_suite(cm_priv_suite);
