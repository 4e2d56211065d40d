// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../ring.h"

struct init_row {
	u32	size;
	int	err;
};

static const struct init_row init_rows[] = {
	{ 0, -EINVAL },
	{ 1, 0 },
	{ 2, 0 },
	{ 3, -EINVAL },
	{ 255, -EINVAL },
	{ 256, 0 },
	{ 257, -EINVAL },
	{ 1u << 30, 0 },
	{ (1u << 30) + 1, -EINVAL },
	{ 1u << 31, -EINVAL },
	{ U32_MAX, -EINVAL },
};

static void init_desc(const struct init_row *row, char *desc)
{
	sprintf(desc, "size %u", row->size);
}

KUNIT_ARRAY_PARAM(init, init_rows, init_desc);

static void ring_init_size(struct kunit *test)
{
	const struct init_row *row = test->param_value;
	struct rds_ring r;
	u32 first;

	KUNIT_EXPECT_EQ(test, rds_ring_init(&r, row->size), row->err);
	if (row->err)
		return;
	KUNIT_EXPECT_EQ(test, rds_ring_room(&r), row->size);
	KUNIT_EXPECT_FALSE(test, rds_ring_taken(&r, 0));
	KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, row->size, &first));
	KUNIT_EXPECT_EQ(test, first, 0);
	KUNIT_EXPECT_EQ(test, rds_ring_room(&r), 0);
	KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, 1, &first));
}

/* A ring of a size whose counters begin just before some edge. */
struct start_row {
	u32	size;
	u32	start;
};

static const struct start_row start_rows[] = {
	{ 1, 0 },
	{ 1, U32_MAX },
	{ 2, U32_MAX },
	{ 4, 0 },
	{ 4, 3 },
	{ 4, U32_MAX - 1 },
	{ 8, 0x7ffffffd },
	{ 8, 0x80000000 },
	{ 8, U32_MAX - 4 },
	{ 64, U32_MAX },
};

static void start_desc(const struct start_row *row, char *desc)
{
	sprintf(desc, "size %u from %#x", row->size, row->start);
}

KUNIT_ARRAY_PARAM(start, start_rows, start_desc);

static struct rds_ring start_ring(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r;

	KUNIT_ASSERT_EQ(test, rds_ring_init(&r, row->size), 0);
	r.head = row->start;
	r.tail = row->start;
	return r;
}

/* With @used slots taken from the start: exactly those are, in that order. */
static void expect_used(struct kunit *test, struct rds_ring *r, u32 start, u32 used)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, rds_ring_room(r), r->size - used);
	for (i = 0; i < r->size; i++) {
		u32 index = rds_ring_index(r, start + i);

		KUNIT_EXPECT_LT(test, index, r->size);
		KUNIT_EXPECT_EQ_MSG(test, rds_ring_taken(r, index), i < used,
				    "slot %u of %u", i, used);
		KUNIT_EXPECT_EQ_MSG(test, rds_ring_finished(r, index), i < used ? i + 1 : 0,
				    "slot %u of %u", i, used);
	}
}

static void ring_take_one_by_one(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r = start_ring(test);
	u32 i, first;

	for (i = 0; i < row->size; i++) {
		expect_used(test, &r, row->start, i);
		KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, 1, &first));
		KUNIT_EXPECT_EQ(test, first, row->start + i);
	}
	expect_used(test, &r, row->start, row->size);
	KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, 1, &first));

	for (i = row->size; i; i--) {
		rds_ring_give(&r, 1);
		expect_used(test, &r, r.tail, i - 1);
	}
}

static void ring_take_all_or_nothing(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r = start_ring(test);
	u32 first = 0xabcd;

	KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, row->size + 1, &first));
	KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, U32_MAX, &first));
	KUNIT_EXPECT_EQ(test, first, 0xabcd);
	expect_used(test, &r, row->start, 0);

	KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, row->size, &first));
	KUNIT_EXPECT_EQ(test, first, row->start);
	KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, 0, &first));	/* nothing is always there */
	KUNIT_EXPECT_EQ(test, first, row->start + row->size);
	KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, 1, &first));
	expect_used(test, &r, row->start, row->size);
}

static void ring_untake_the_last(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r = start_ring(test);
	u32 n, first;

	for (n = 0; n <= row->size; n++) {
		KUNIT_ASSERT_TRUE(test, rds_ring_take(&r, row->size, &first));
		rds_ring_untake(&r, n);
		expect_used(test, &r, row->start, row->size - n);
		rds_ring_untake(&r, row->size - n);
	}
	KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, 1, &first));
	KUNIT_EXPECT_EQ(test, first, row->start);
}

/* One signalled work request finishes all before it; what comes later stays taken. */
static void ring_finish_several(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	u32 n, first;

	for (n = 1; n <= row->size; n++) {
		struct rds_ring r = start_ring(test);
		u32 index = rds_ring_index(&r, row->start + n - 1);

		KUNIT_ASSERT_TRUE(test, rds_ring_take(&r, row->size, &first));
		KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, index), n);
		KUNIT_EXPECT_EQ(test, r.tail, row->start);
		rds_ring_give(&r, n);
		KUNIT_EXPECT_EQ(test, r.tail, row->start + n);
		KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, index), 0);	/* not twice */
		expect_used(test, &r, row->start + n, row->size - n);

		KUNIT_EXPECT_TRUE(test, rds_ring_take(&r, n, &first));
		KUNIT_EXPECT_EQ(test, first, row->start + row->size);
	}
}

/* A completion for a slot that never was must not be believed. */
static void ring_index_out_of_range(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r = start_ring(test);
	u32 first;

	KUNIT_ASSERT_TRUE(test, rds_ring_take(&r, row->size, &first));
	KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, row->size), 0);
	KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, row->size + 1), 0);
	KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, U32_MAX), 0);
	KUNIT_EXPECT_FALSE(test, rds_ring_taken(&r, row->size));
	KUNIT_EXPECT_FALSE(test, rds_ring_taken(&r, U32_MAX));
}

/* Unequal takes and gives, many times round: every slot comes back in order. */
static void ring_many_rounds(struct kunit *test)
{
	const struct start_row *row = test->param_value;
	struct rds_ring r = start_ring(test);
	u32 taken = row->start, given = row->start;
	u32 round, n, first, index;

	for (round = 0; round < 1000; round++) {
		n = round * 7 % row->size + 1;
		if (n <= row->size - (taken - given)) {
			KUNIT_ASSERT_TRUE(test, rds_ring_take(&r, n, &first));
			KUNIT_EXPECT_EQ(test, first, taken);
			taken += n;
		} else {
			KUNIT_EXPECT_FALSE(test, rds_ring_take(&r, n, &first));
		}
		n = round * 5 % row->size + 1;
		if (n <= taken - given) {
			index = rds_ring_index(&r, given + n - 1);
			KUNIT_EXPECT_EQ(test, rds_ring_finished(&r, index), n);
			rds_ring_give(&r, n);
			given += n;
		}
		KUNIT_EXPECT_EQ(test, rds_ring_room(&r), row->size - (taken - given));
	}
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(ring_init_size, init_gen_params),
	KUNIT_CASE_PARAM(ring_take_one_by_one, start_gen_params),
	KUNIT_CASE_PARAM(ring_take_all_or_nothing, start_gen_params),
	KUNIT_CASE_PARAM(ring_untake_the_last, start_gen_params),
	KUNIT_CASE_PARAM(ring_finish_several, start_gen_params),
	KUNIT_CASE_PARAM(ring_index_out_of_range, start_gen_params),
	KUNIT_CASE_PARAM(ring_many_rounds, start_gen_params),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "rds_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
