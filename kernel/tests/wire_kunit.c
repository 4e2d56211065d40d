// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../wire.h"

/* Headers as a stock 6.1 kernel sent them over RoCE, with what they say. */
struct golden_row {
	const char	*name;
	u8		bytes[RDS_HEADER_LEN];
	u64		seq;
	u64		ack;
	u32		len;
	u16		sport;
	u16		dport;
	u8		flags;
	u64		dest;	/* cookie of the extension, or 0 */
	u32		rdma;	/* rkey of the extension, or 0 */
};

static const struct golden_row golden_rows[] = {
	{
		.name = "congestion map, nothing received yet",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			0x00, 0x00, 0x20, 0x00, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0xde, 0xff,
		},
		.len = 8192, .flags = RDS_FLAG_CONG_MAP,
	}, {
		.name = "congestion map with ack",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
			0x00, 0x00, 0x20, 0x00, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0xde, 0xfe,
		},
		.ack = 1, .len = 8192, .flags = RDS_FLAG_CONG_MAP,
	}, {
		.name = "ping, first message",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0x94, 0xbb, 0, 0, 0x02, 0, 0, 0, 0, 0, 0x69, 0x43,
		},
		.seq = 1, .sport = 38075, .flags = RDS_FLAG_ACK_REQUIRED,
	}, {
		.name = "pong",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
			0, 0, 0, 0, 0, 0, 0x94, 0xbb, 0x02, 0, 0, 0, 0, 0, 0x69, 0x42,
		},
		.seq = 1, .ack = 1, .dport = 38075, .flags = RDS_FLAG_ACK_REQUIRED,
	}, {
		.name = "ack frame",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe,
		},
		.ack = 1,
	}, {
		.name = "1 byte",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1,
			0, 0, 0, 1, 0x13, 0x8a, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0xd8, 0xe8,
		},
		.seq = 2, .ack = 1, .len = 1, .sport = 5002, .dport = 5001,
	}, {
		.name = "4097 bytes",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1,
			0, 0, 0x10, 0x01, 0x13, 0x8a, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0xc8, 0xe5,
		},
		.seq = 5, .ack = 1, .len = 4097, .sport = 5002, .dport = 5001,
	}, {
		.name = "9000 bytes",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1,
			0, 0, 0x23, 0x28, 0x13, 0x8a, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0xb5, 0xbd,
		},
		.seq = 6, .ack = 1, .len = 9000, .sport = 5002, .dport = 5001,
	}, {
		.name = "request with an RDMA destination",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 3,
			0, 0, 0, 9, 0x1e, 0x61, 0x1a, 0x0a, 0, 0, 0, 0, 0, 0, 0xc4, 0x7e,
			0x03, 0x00, 0x00, 0x03, 0x00,
		},
		.seq = 7, .ack = 3, .len = 9, .sport = 7777, .dport = 6666, .dest = 0x300,
	}, {
		.name = "message behind an RDMA write",
		.bytes = {
			0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7,
			0, 0, 0, 2, 0x1a, 0x0a, 0x1e, 0x61, 0, 0, 0, 0, 0, 0, 0xc5, 0x84,
			0x02, 0x00, 0x00, 0x03, 0x00,
		},
		.seq = 4, .ack = 7, .len = 2, .sport = 6666, .dport = 7777, .rdma = 0x300,
	},
};

static void golden_desc(const struct golden_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(golden, golden_rows, golden_desc);

static void wire_golden_read(struct kunit *test)
{
	const struct golden_row *row = test->param_value;
	struct rds_header h;
	struct rds_ext ext;

	memcpy(&h, row->bytes, sizeof(h));
	KUNIT_EXPECT_TRUE(test, rds_header_intact(&h));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(h.seq), row->seq);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(h.ack), row->ack);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(h.len), row->len);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(h.sport), row->sport);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(h.dport), row->dport);
	KUNIT_EXPECT_EQ(test, h.flags, row->flags);
	KUNIT_EXPECT_EQ(test, h.credit, 0);

	rds_ext_parse(&h, &ext);
	KUNIT_EXPECT_EQ(test, ext.has_dest, row->dest != 0);
	KUNIT_EXPECT_EQ(test, rds_cookie(ext.dest_rkey, ext.dest_offset), row->dest);
	KUNIT_EXPECT_EQ(test, ext.has_rdma, row->rdma != 0);
	KUNIT_EXPECT_EQ(test, ext.rdma_rkey, row->rdma);
}

/* What we send for the same message is the same bytes. */
static void wire_golden_write(struct kunit *test)
{
	const struct golden_row *row = test->param_value;
	struct rds_header h;

	memset(&h, 0xa5, sizeof(h));
	rds_header_init(&h, row->seq, row->len, cpu_to_be16(row->sport), cpu_to_be16(row->dport));
	h.ack = cpu_to_be64(row->ack);
	h.flags = row->flags;
	if (row->dest)
		KUNIT_EXPECT_EQ(test, rds_ext_add_dest(&h, row->dest), 0);
	if (row->rdma)
		KUNIT_EXPECT_EQ(test, rds_ext_add_rdma(&h, row->rdma), 0);
	rds_header_seal(&h);
	KUNIT_EXPECT_EQ(test, memcmp(&h, row->bytes, sizeof(h)), 0);
}

static void wire_csum_sees_each_bit(struct kunit *test)
{
	const struct golden_row *row = test->param_value;
	struct rds_header h;
	u32 bit;

	for (bit = 0; bit < 8 * RDS_HEADER_LEN; bit++) {
		memcpy(&h, row->bytes, sizeof(h));
		((u8 *)&h)[bit / 8] ^= 1u << (bit % 8);
		KUNIT_EXPECT_FALSE_MSG(test, rds_header_intact(&h), "bit %u", bit);
	}
}

static void wire_csum_zero_is_not_computed(struct kunit *test)
{
	const struct golden_row *row = test->param_value;
	struct rds_header h;

	memcpy(&h, row->bytes, sizeof(h));
	h.csum = 0;
	KUNIT_EXPECT_TRUE(test, rds_header_intact(&h));
	memset(h.ext, 0xff, sizeof(h.ext));
	KUNIT_EXPECT_TRUE(test, rds_header_intact(&h));
}

/* A header of equal bytes, and its checksum by hand. */
struct fill_row {
	u8	fill;
	u16	csum;
};

static const struct fill_row fill_rows[] = {
	{ 0x00, 0xffff },
	{ 0xff, 0x0000 },	/* sums to minus zero: sent as 0, which every peer accepts */
	{ 0x01, 0xe8e8 },	/* 23 * 0x0101 = 0x1717 */
	{ 0x80, 0x7474 },	/* 23 * 0x8080 = 0xb8b80, with carry 0x8b8b */
	{ 0xfe, 0x1717 },
};

static void fill_desc(const struct fill_row *row, char *desc)
{
	sprintf(desc, "fill %#04x", row->fill);
}

KUNIT_ARRAY_PARAM(fill, fill_rows, fill_desc);

static void wire_csum_by_hand(struct kunit *test)
{
	const struct fill_row *row = test->param_value;
	struct rds_header h;

	memset(&h, row->fill, sizeof(h));
	rds_header_seal(&h);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(h.csum), row->csum);
	KUNIT_EXPECT_TRUE(test, rds_header_intact(&h));

	rds_header_seal(&h);	/* the old sum does not enter into the new one */
	KUNIT_EXPECT_EQ(test, be16_to_cpu(h.csum), row->csum);
}

/* 0xffff + 0xffff + 1 = 0x1ffff: adding the carry makes another one. */
static void wire_csum_carries_twice(struct kunit *test)
{
	struct rds_header h = { .seq = cpu_to_be64(0xffffffff00000001) };

	rds_header_seal(&h);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(h.csum), 0xfffe);
	KUNIT_EXPECT_TRUE(test, rds_header_intact(&h));
}

static void wire_init_fills_every_byte(struct kunit *test)
{
	struct rds_header a, b;

	memset(&a, 0x00, sizeof(a));
	memset(&b, 0xff, sizeof(b));
	rds_header_init(&a, 0x0102030405060708, 0x090a0b0c, cpu_to_be16(0x0d0e),
			cpu_to_be16(0x0f10));
	rds_header_init(&b, 0x0102030405060708, 0x090a0b0c, cpu_to_be16(0x0d0e),
			cpu_to_be16(0x0f10));
	KUNIT_EXPECT_EQ(test, memcmp(&a, &b, sizeof(a)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&a, "\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\0"
				     "\11\12\13\14\15\16\17\20\0\0\0\0\0\0\0\0"
				     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 48), 0);
}

/* rkey and offset of a cookie, apart and together */
struct cookie_row {
	u32	rkey;
	u32	offset;
	u64	cookie;
};

static const struct cookie_row cookie_rows[] = {
	{ 0, 0, 0 },
	{ U32_MAX, 0, 0x00000000ffffffff },
	{ 0, U32_MAX, 0xffffffff00000000 },
	{ 0x80000001, 0xfff, 0x00000fff80000001 },
	{ U32_MAX, U32_MAX, U64_MAX },
};

static void cookie_desc(const struct cookie_row *row, char *desc)
{
	sprintf(desc, "%#llx", (unsigned long long)row->cookie);
}

KUNIT_ARRAY_PARAM(cookie, cookie_rows, cookie_desc);

static void wire_cookie_halves(struct kunit *test)
{
	const struct cookie_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, rds_cookie(row->rkey, row->offset), row->cookie);
	KUNIT_EXPECT_EQ(test, rds_cookie_rkey(row->cookie), row->rkey);
	KUNIT_EXPECT_EQ(test, rds_cookie_offset(row->cookie), row->offset);
}

static void wire_cookie_crosses_the_wire(struct kunit *test)
{
	const struct cookie_row *row = test->param_value;
	struct rds_header h;
	struct rds_ext ext;

	rds_header_init(&h, 1, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, rds_ext_add_dest(&h, row->cookie), 0);
	KUNIT_ASSERT_EQ(test, rds_ext_add_rdma(&h, row->rkey), 0);
	rds_ext_parse(&h, &ext);
	KUNIT_EXPECT_TRUE(test, ext.has_dest);
	KUNIT_EXPECT_TRUE(test, ext.has_rdma);
	KUNIT_EXPECT_EQ(test, rds_cookie(ext.dest_rkey, ext.dest_offset), row->cookie);
	KUNIT_EXPECT_EQ(test, ext.rdma_rkey, row->rkey);
}

/* Extensions added one after the other with data 0xd1 0xd2 ...; the last one has the result. */
struct add_row {
	const char	*name;
	u8		before[RDS_EXT_LEN];
	u8		types[5];
	u8		nr;
	int		last;
	u8		after[RDS_EXT_LEN];
};

static const struct add_row add_rows[] = {
	{ "type 0", { 0 }, { 0 }, 1, -EINVAL, { 0 } },
	{ "type 4 has no length", { 0 }, { 4 }, 1, -EINVAL, { 0 } },
	{ "type 8 has no length", { 0 }, { 8 }, 1, -EINVAL, { 0 } },
	{ "type 15 has no length", { 0 }, { 15 }, 1, -EINVAL, { 0 } },
	{ "type 16 ends a list", { 0 }, { 16 }, 1, -EINVAL, { 0 } },
	{ "type 255 ends a list", { 0 }, { 255 }, 1, -EINVAL, { 0 } },
	{ "version", { 0 }, { 1 }, 1, 0, { 1, 0xd1, 0xd2, 0xd3, 0xd4 } },
	{ "rdma", { 0 }, { 2 }, 1, 0, { 2, 0xd1, 0xd2, 0xd3, 0xd4 } },
	{
		"rdma dest", { 0 }, { 3 }, 1, 0,
		{ 3, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 },
	},
	{ "npaths", { 0 }, { 5 }, 1, 0, { 5, 0xd1, 0xd2 } },
	{ "generation", { 0 }, { 6 }, 1, 0, { 6, 0xd1, 0xd2, 0xd3, 0xd4 } },
	{ "capabilities", { 0 }, { 7 }, 1, 0, { 7, 0xd1, 0xd2, 0xd3, 0xd4 } },
	{
		"rdma dest and rdma", { 0 }, { 3, 2 }, 2, 0,
		{
			3, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8,
			2, 0xd1, 0xd2, 0xd3, 0xd4,
		},
	}, {
		"one byte too few", { 0 }, { 3, 2, 5 }, 3, -ENOSPC,
		{
			3, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8,
			2, 0xd1, 0xd2, 0xd3, 0xd4,
		},
	}, {
		"two rdma dests", { 0 }, { 3, 3 }, 2, -ENOSPC,
		{ 3, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 },
	}, {
		"filled to the last byte", { 0 }, { 6, 2, 5, 5 }, 4, 0,
		{
			6, 0xd1, 0xd2, 0xd3, 0xd4, 2, 0xd1, 0xd2, 0xd3, 0xd4,
			5, 0xd1, 0xd2, 5, 0xd1, 0xd2,
		},
	}, {
		"full", { 0 }, { 6, 2, 5, 5, 5 }, 5, -ENOSPC,
		{
			6, 0xd1, 0xd2, 0xd3, 0xd4, 2, 0xd1, 0xd2, 0xd3, 0xd4,
			5, 0xd1, 0xd2, 5, 0xd1, 0xd2,
		},
	},
	{ "behind a byte that is no type", { 16 }, { 5 }, 1, -ENOSPC, { 16 } },
	{
		"garbage behind the end is no extension",
		{ 0, 5, 5, 5, 5, 5 }, { 5 }, 1, 0, { 5, 0xd1, 0xd2 },
	},
	{ "behind an unknown type", { 4 }, { 5 }, 1, 0, { 4, 5, 0xd1, 0xd2 } },
	{
		"behind one cut off by the end",
		{ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3 }, { 5 }, 1, -ENOSPC,
		{ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3 },
	},
};

static void add_desc(const struct add_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(add, add_rows, add_desc);

static void wire_ext_add(struct kunit *test)
{
	static const u8 data[8] = { 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 };
	const struct add_row *row = test->param_value;
	struct rds_header h;
	int i, err;

	rds_header_init(&h, 1, 0, 0, 0);
	memcpy(h.ext, row->before, sizeof(h.ext));
	for (i = 0; i < row->nr; i++) {
		err = rds_ext_add(&h, row->types[i], data);
		KUNIT_EXPECT_EQ(test, err, i == row->nr - 1 ? row->last : 0);
	}
	KUNIT_EXPECT_EQ(test, memcmp(h.ext, row->after, sizeof(h.ext)), 0);
}

/* An extension area and what is found in it. */
struct parse_row {
	const char	*name;
	u8		ext[RDS_EXT_LEN];
	struct rds_ext	found;
};

#define FOUND_RDMA(rkey)	.has_rdma = true, .rdma_rkey = (rkey)
#define FOUND_DEST(rkey, off)	.has_dest = true, .dest_rkey = (rkey), .dest_offset = (off)
#define FOUND_NPATHS(n)		.has_npaths = true, .npaths = (n)
#define FOUND_GENERATION(n)	.has_generation = true, .generation = (n)
#define FOUND_UNKNOWN		.unknown = true
#define FOUND_TRUNCATED		.truncated = true

static const struct parse_row parse_rows[] = {
	{ "nothing", { 0 }, { 0 } },
	{ "what follows type 0 is not read", { 0, 2, 1, 2, 3, 4, 5, 0, 8 }, { 0 } },
	{ "rdma", { 2, 0x81, 2, 3, 4 }, { FOUND_RDMA(0x81020304) } },
	{
		"rdma dest",
		{ 3, 0x81, 2, 3, 4, 0x85, 6, 7, 8 }, { FOUND_DEST(0x81020304, 0x85060708) },
	},
	{ "npaths of a probe", { 5, 0, 8 }, { FOUND_NPATHS(8) } },
	{ "npaths 65535", { 5, 0xff, 0xff }, { FOUND_NPATHS(65535) } },
	{ "generation", { 6, 0x81, 2, 3, 4 }, { FOUND_GENERATION(0x81020304) } },
	{ "version is stepped over", { 1, 2, 2, 2, 2, 5, 0, 8 }, { FOUND_NPATHS(8) } },
	{ "capabilities are stepped over", { 7, 2, 2, 2, 2, 5, 0, 8 }, { FOUND_NPATHS(8) } },
	{ "capabilities past the end", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7, 0, 0, 0 }, { FOUND_UNKNOWN, FOUND_TRUNCATED } },
	{
		"probe of a newer peer", { 5, 0, 8, 6, 1, 2, 3, 4, 8, 0 },
		{ FOUND_NPATHS(8), FOUND_GENERATION(0x01020304), FOUND_UNKNOWN },
	}, {
		"RDMA message of a newer peer", { 2, 1, 2, 3, 4, 4, 0, 0, 0x20, 0, 1, 0, 0, 0 },
		{ FOUND_RDMA(0x01020304), FOUND_UNKNOWN },
	}, {
		"dest and rdma", { 3, 1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 10, 11, 12 },
		{ FOUND_DEST(0x01020304, 0x05060708), FOUND_RDMA(0x090a0b0c) },
	},
	{ "the first of two counts", { 5, 0, 8, 5, 0, 1 }, { FOUND_NPATHS(8) } },
	{
		"the first of two rdma counts", { 2, 0, 0, 0, 1, 2, 0, 0, 0, 2 },
		{ FOUND_RDMA(1) },
	}, {
		"the first of two generations counts", { 6, 0, 0, 0, 1, 6, 0, 0, 0, 2 },
		{ FOUND_GENERATION(1) },
	},
	{ "unknown type is one byte", { 8, 5, 0, 8 }, { FOUND_NPATHS(8), FOUND_UNKNOWN } },
	{ "unknown type's data is read on", { 4, 5, 0, 8, 9 }, { FOUND_NPATHS(8), FOUND_UNKNOWN } },
	{
		"each unknown type",
		{ 4, 8, 9, 10, 11, 12, 13, 14, 15, 5, 0, 8 }, { FOUND_NPATHS(8), FOUND_UNKNOWN },
	},
	{ "type 16 ends", { 16, 5, 0, 8 }, { FOUND_UNKNOWN } },
	{ "type 255 ends", { 5, 0, 8, 255, 6, 0, 0, 0, 1 }, { FOUND_NPATHS(8), FOUND_UNKNOWN } },
	{
		"dest to the last byte", { 8, 8, 8, 8, 8, 8, 8, 3, 1, 2, 3, 4, 5, 6, 7, 8 },
		{ FOUND_DEST(0x01020304, 0x05060708), FOUND_UNKNOWN },
	},
	{
		"dest past the end", { 8, 8, 8, 8, 8, 8, 8, 8, 3, 1, 2, 3, 4, 5, 6, 7 },
		{ FOUND_UNKNOWN, FOUND_TRUNCATED },
	},
	{
		"rdma to the last byte", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2, 1, 2, 3, 4 },
		{ FOUND_RDMA(0x01020304), FOUND_UNKNOWN },
	},
	{
		"rdma past the end", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2, 1, 2, 3 },
		{ FOUND_UNKNOWN, FOUND_TRUNCATED },
	},
	{
		"npaths to the last byte", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 5, 0, 8 },
		{ FOUND_NPATHS(8), FOUND_UNKNOWN },
	},
	{
		"npaths past the end", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 5, 0 },
		{ FOUND_UNKNOWN, FOUND_TRUNCATED },
	},
	{
		"generation as last byte", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 6 },
		{ FOUND_UNKNOWN, FOUND_TRUNCATED },
	},
	{
		"unknown types throughout", { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 },
		{ FOUND_UNKNOWN },
	},
	{
		"one past the end hides no earlier one",
		{ 5, 0, 8, 1, 0, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7 },
		{ FOUND_NPATHS(8), FOUND_TRUNCATED },
	},
};

static void parse_desc(const struct parse_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(parse, parse_rows, parse_desc);

static void wire_ext_parse(struct kunit *test)
{
	const struct parse_row *row = test->param_value;
	struct rds_header *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	const struct rds_ext *want = &row->found;
	struct rds_ext got;

	KUNIT_ASSERT_NOT_NULL(test, h);
	memcpy(h->ext, row->ext, sizeof(h->ext));
	memset(&got, 0x5a, sizeof(got));
	rds_ext_parse(h, &got);
	KUNIT_EXPECT_EQ(test, got.has_rdma, want->has_rdma);
	KUNIT_EXPECT_EQ(test, got.has_dest, want->has_dest);
	KUNIT_EXPECT_EQ(test, got.has_npaths, want->has_npaths);
	KUNIT_EXPECT_EQ(test, got.has_generation, want->has_generation);
	KUNIT_EXPECT_EQ(test, got.rdma_rkey, want->rdma_rkey);
	KUNIT_EXPECT_EQ(test, got.dest_rkey, want->dest_rkey);
	KUNIT_EXPECT_EQ(test, got.dest_offset, want->dest_offset);
	KUNIT_EXPECT_EQ(test, got.npaths, want->npaths);
	KUNIT_EXPECT_EQ(test, got.generation, want->generation);
	KUNIT_EXPECT_EQ(test, got.unknown, want->unknown);
	KUNIT_EXPECT_EQ(test, got.truncated, want->truncated);
}

/* Those who do not know it go on reading in its data: a zero ends it there. */
static void wire_caps_are_safe(struct kunit *test)
{
	static const u8 want[RDS_EXT_LEN] = { 7, 0, 0, 0, 1 };
	struct rds_header *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	KUNIT_EXPECT_EQ(test, rds_ext_add_caps(h, RDS_EXT_CAP_HEARTBEAT), 0);
	KUNIT_EXPECT_EQ(test, memcmp(h->ext, want, RDS_EXT_LEN), 0);
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(wire_golden_read, golden_gen_params),
	KUNIT_CASE_PARAM(wire_golden_write, golden_gen_params),
	KUNIT_CASE_PARAM(wire_csum_sees_each_bit, golden_gen_params),
	KUNIT_CASE_PARAM(wire_csum_zero_is_not_computed, golden_gen_params),
	KUNIT_CASE_PARAM(wire_csum_by_hand, fill_gen_params),
	KUNIT_CASE(wire_csum_carries_twice),
	KUNIT_CASE(wire_init_fills_every_byte),
	KUNIT_CASE_PARAM(wire_cookie_halves, cookie_gen_params),
	KUNIT_CASE_PARAM(wire_cookie_crosses_the_wire, cookie_gen_params),
	KUNIT_CASE_PARAM(wire_ext_add, add_gen_params),
	KUNIT_CASE_PARAM(wire_ext_parse, parse_gen_params),
	KUNIT_CASE(wire_caps_are_safe),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "rds_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
