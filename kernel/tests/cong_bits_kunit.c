// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../cong_bits.h"

/* Where a port's bit is, as the wire has it. */
struct port_row {
	u16	port;
	u32	byte;
	u8	mask;
};

static const struct port_row port_rows[] = {
	{ 0, 0, 0x01 },
	{ 1, 0, 0x02 },
	{ 7, 0, 0x80 },
	{ 8, 1, 0x01 },
	{ 63, 7, 0x80 },
	{ 64, 8, 0x01 },
	{ 65, 8, 0x02 },
	{ 255, 31, 0x80 },
	{ 256, 32, 0x01 },
	{ 5001, 625, 0x02 },
	{ 32767, 4095, 0x80 },
	{ 32768, 4096, 0x01 },
	{ 65528, 8191, 0x01 },
	{ 65535, 8191, 0x80 },
};

static void port_desc(const struct port_row *row, char *desc)
{
	sprintf(desc, "port %u", row->port);
}

KUNIT_ARRAY_PARAM(port, port_rows, port_desc);

static u8 *new_map(struct kunit *test, u8 fill)
{
	u8 *map = kunit_kzalloc(test, RDS_CONG_MAP_LEN, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, map);
	memset(map, fill, RDS_CONG_MAP_LEN);
	return map;
}

static void cong_bit_is_where_the_wire_has_it(struct kunit *test)
{
	const struct port_row *row = test->param_value;
	u8 *map = new_map(test, 0);

	KUNIT_EXPECT_TRUE(test, rds_cong_bits_empty(map));
	map[row->byte] = row->mask;
	KUNIT_EXPECT_TRUE(test, rds_cong_bit_test(map, row->port));
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_test(map, row->port ^ 1));
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_test(map, row->port ^ 8));
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_test(map, row->port ^ 0x8000));
	KUNIT_EXPECT_FALSE(test, rds_cong_bits_empty(map));

	map[row->byte] = ~row->mask;
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_test(map, row->port));
}

/* Setting and clearing tell of changes, and touch no other bit. */
static void cong_bit_set_and_clear(struct kunit *test)
{
	const struct port_row *row = test->param_value;
	u8 *map = new_map(test, 0);
	u8 *want = new_map(test, 0);

	KUNIT_EXPECT_FALSE(test, rds_cong_bit_clear(map, row->port));
	KUNIT_EXPECT_TRUE(test, rds_cong_bit_set(map, row->port));
	want[row->byte] = row->mask;
	KUNIT_EXPECT_EQ(test, memcmp(map, want, RDS_CONG_MAP_LEN), 0);
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_set(map, row->port));
	KUNIT_EXPECT_TRUE(test, rds_cong_bit_clear(map, row->port));
	KUNIT_EXPECT_TRUE(test, rds_cong_bits_empty(map));

	memset(map, 0xff, RDS_CONG_MAP_LEN);
	memset(want, 0xff, RDS_CONG_MAP_LEN);
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_set(map, row->port));
	KUNIT_EXPECT_TRUE(test, rds_cong_bit_clear(map, row->port));
	want[row->byte] = ~row->mask;
	KUNIT_EXPECT_EQ(test, memcmp(map, want, RDS_CONG_MAP_LEN), 0);
	KUNIT_EXPECT_FALSE(test, rds_cong_bit_clear(map, row->port));
	KUNIT_EXPECT_TRUE(test, rds_cong_bit_set(map, row->port));
	want[row->byte] = 0xff;
	KUNIT_EXPECT_EQ(test, memcmp(map, want, RDS_CONG_MAP_LEN), 0);
}

/* Only what was set and is clear counts; it is told by port % 64. */
static void cong_cleared_by_port(struct kunit *test)
{
	const struct port_row *row = test->param_value;
	u8 *with = new_map(test, 0);
	u8 *without = new_map(test, 0);
	u64 bit = 1ull << (row->port % 64);

	rds_cong_bit_set(with, row->port);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(with, without), bit);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(without, with), 0);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(with, with), 0);

	memset(with, 0xff, RDS_CONG_MAP_LEN);
	memset(without, 0xff, RDS_CONG_MAP_LEN);
	rds_cong_bit_clear(without, row->port);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(with, without), bit);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(without, with), 0);
}

static void cong_cleared_adds_up(struct kunit *test)
{
	u8 *none = new_map(test, 0);
	u8 *all = new_map(test, 0xff);
	u8 *map = new_map(test, 0);

	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(all, none), U64_MAX);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(none, all), 0);

	rds_cong_bit_set(map, 3);
	rds_cong_bit_set(map, 67);	/* shares bit 3 */
	rds_cong_bit_set(map, 65535);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(map, none), 1ull << 63 | 1ull << 3);
	KUNIT_EXPECT_EQ(test, rds_cong_bits_cleared(map, all), 0);
}

static void cong_every_port_has_its_own_bit(struct kunit *test)
{
	u8 *map = new_map(test, 0);
	u32 port;

	for (port = 0; port < 65536; port++) {
		KUNIT_ASSERT_TRUE(test, !rds_cong_bit_test(map, port));
		KUNIT_ASSERT_TRUE(test, rds_cong_bit_set(map, port));
		KUNIT_ASSERT_TRUE(test, rds_cong_bit_test(map, port));
	}
	for (port = 0; port < 65536; port++) {
		KUNIT_ASSERT_TRUE(test, !rds_cong_bits_empty(map));
		KUNIT_ASSERT_TRUE(test, rds_cong_bit_clear(map, port));
		KUNIT_ASSERT_TRUE(test, !rds_cong_bit_test(map, port));
	}
	KUNIT_EXPECT_TRUE(test, rds_cong_bits_empty(map));
}

static struct kunit_case cong_bits_cases[] = {
	KUNIT_CASE_PARAM(cong_bit_is_where_the_wire_has_it, port_gen_params),
	KUNIT_CASE_PARAM(cong_bit_set_and_clear, port_gen_params),
	KUNIT_CASE_PARAM(cong_cleared_by_port, port_gen_params),
	KUNIT_CASE(cong_cleared_adds_up),
	KUNIT_CASE(cong_every_port_has_its_own_bit),
	{}
};

static struct kunit_suite cong_bits_suite = {
	.name = "rds_cong_bits",
	.test_cases = cong_bits_cases,
};

kunit_test_suite(cong_bits_suite);
