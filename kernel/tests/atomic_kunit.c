// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../atomic.h"

/* What a caller gives, and what comes of it. */
struct row {
	const char	*name;
	int		type;
	u64		first;		/* add, or compare */
	u64		second;		/* swap, or mask of an add */
	u64		compare_mask;
	u64		swap_mask;
	bool		plain;
	u64		old;
	u64		new;
};

#define FADD	RDS_CMSG_ATOMIC_FADD
#define CSWP	RDS_CMSG_ATOMIC_CSWP
#define MFADD	RDS_CMSG_MASKED_ATOMIC_FADD
#define MCSWP	RDS_CMSG_MASKED_ATOMIC_CSWP
#define TOP	0x8000000000000000
#define ALL	U64_MAX

static const struct row rows[] = {
	{ "add", FADD, 5, 0, 0, 0, true, 37, 42 },
	{ "add, and around", FADD, ALL, 0, 0, 0, true, 0, ALL },
	{ "add ignores masks", FADD, 1, 0xff, 1, 1, true, 0xff, 0x100 },
	{ "swap", CSWP, 7, 9, 0, 0, true, 7, 9 },
	{ "swap, other value", CSWP, 7, 9, 0, 0, true, 8, 8 },
	{ "swap ignores masks", CSWP, 7, 9, 0, 0, true, 0x107, 0x107 },
	{ "masked add, no mask", MFADD, 1, 0, 0, 0, true, 0xff, 0x100 },
	{ "masked add, top bit", MFADD, 2, TOP, 0, 0, true, ALL, 1 },
	{ "masked add, two halves", MFADD, 0x200000003, 0x8000000080000000, 0, 0, false,
	  0x1ffffffff, 0x300000002 },
	{ "masked add, each byte", MFADD, 0x01ff01ff01ff01ff, 0x8080808080808080, 0, 0, false,
	  0xff01ff01ff01ff01, 0 },
	{ "masked add, each bit", MFADD, 0xf0f0, ALL, 0, 0, false, 0xff00, 0x0ff0 },
	{ "masked add, carry into a top bit", MFADD, 1, 0x80, 0, 0, false, 0x7f, 0x80 },
	{ "masked add, none out of it", MFADD, 1, 0x80, 0, 0, false, 0xff, 0 },
	{ "masked swap, full masks", MCSWP, 7, 9, ALL, ALL, true, 7, 9 },
	{ "masked swap, part compared", MCSWP, 0xab, 9, 0x0f, ALL, false, 0xfb, 9 },
	{ "masked swap, part differs", MCSWP, 0xab, 9, 0xf0, ALL, false, 0xfb, 0xfb },
	{ "masked swap, part replaced", MCSWP, 0xff, 0x11223344, ALL, 0xff00, false, 0xff, 0x33ff },
	{ "masked swap, nothing compared", MCSWP, 1, 2, 0, 3, false, 0xf8, 0xfa },
	{ "masked swap, nothing replaced", MCSWP, 5, 2, ALL, 0, false, 5, 5 },
};

static void row_desc(const struct row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(row, rows, row_desc);

static void atomic_does_what_it_says(struct kunit *test)
{
	const struct row *row = test->param_value;
	struct rds_atomic_args args = {
		.m_cswp = { row->first, row->second, row->compare_mask, row->swap_mask },
	};
	struct rds_atomic a;

	memset(&a, 0x5a, sizeof(a));
	rds_atomic_init(&a, row->type, &args);
	KUNIT_EXPECT_EQ(test, rds_atomic_is_plain(&a), row->plain);
	KUNIT_EXPECT_EQ(test, rds_atomic_apply(&a, row->old), row->new);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE_PARAM(atomic_does_what_it_says, row_gen_params),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "rds_atomic",
	.test_cases = atomic_cases,
};
kunit_test_suite(atomic_suite);
