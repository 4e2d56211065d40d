// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../ack.h"

#define MIB	(1024u * 1024)

/* A run of equal messages and which of them ask for an ack. */
struct budget_row {
	const char	*name;
	u32		max_packets;
	u32		max_bytes;
	u32		len;
	u32		messages;
	u32		every;		/* 1 + k * every ask */
};

static const struct budget_row budget_rows[] = {
	{ "8 packets, no bytes", 8, 16 * MIB, 0, 100, 9 },
	{ "8 packets, 1 MiB each", 8, 16 * MIB, MIB, 100, 9 },
	{ "8 packets, small", 8, 16 * MIB, 1, 100, 9 },
	{ "no packet budget", 0, 16 * MIB, 1, 20, 1 },
	{ "1 packet", 1, 16 * MIB, 1, 20, 2 },
	{ "no byte budget", 8, 0, 1, 20, 1 },
	{ "no byte budget, no bytes", 8, 0, 0, 100, 9 },
	{ "bytes for exactly two more", 8, 2000, 1000, 20, 3 },
	{ "one byte missing for two more", 8, 1999, 1000, 20, 2 },
	{ "a message above the budget", 8, MIB - 1, MIB, 20, 1 },
	{ "largest budgets", U32_MAX, U32_MAX, MIB, 5000, 4096 },
};

static void budget_desc(const struct budget_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(budget, budget_rows, budget_desc);

static void ack_asked_for(struct kunit *test)
{
	const struct budget_row *row = test->param_value;
	struct rds_ack_budget b = { 0 };
	u32 i;

	for (i = 0; i < row->messages; i++)
		KUNIT_EXPECT_EQ_MSG(test, rds_ack_budget_spend(&b, row->len, row->max_packets,
							       row->max_bytes),
				    i % row->every == 0, "message %u", i + 1);
}

/* Budgets that were made smaller hold at once. */
static void ack_budgets_made_smaller(struct kunit *test)
{
	struct rds_ack_budget b = { 0 };

	KUNIT_EXPECT_TRUE(test, rds_ack_budget_spend(&b, 1, 1000, MIB));
	KUNIT_EXPECT_FALSE(test, rds_ack_budget_spend(&b, 1, 2, MIB));
	KUNIT_EXPECT_FALSE(test, rds_ack_budget_spend(&b, 1, 2, MIB));
	KUNIT_EXPECT_TRUE(test, rds_ack_budget_spend(&b, 1, 1000, MIB));
	KUNIT_EXPECT_FALSE(test, rds_ack_budget_spend(&b, 1, 1000, 2));
	KUNIT_EXPECT_FALSE(test, rds_ack_budget_spend(&b, 1, 1000, 2));
	KUNIT_EXPECT_TRUE(test, rds_ack_budget_spend(&b, 1, 1000, 2));
}

/* Both budgets start anew together. */
static void ack_budgets_start_anew(struct kunit *test)
{
	static const u32 lens[] = { 10, 90, 11, 100, 0, 0, 1, 50 };
	static const bool asks[] = { true, false, true, false, false, true, false, false };
	struct rds_ack_budget b = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		KUNIT_EXPECT_EQ_MSG(test, rds_ack_budget_spend(&b, lens[i], 2, 100), asks[i],
				    "message %u", i + 1);
}

/* Numbers arriving one after the other at a path that starts with nothing. */
struct arrival {
	u64	seq;
	u8	flags;
	bool	accepted;
	u64	next;
};

#define RETRANS		RDS_FLAG_RETRANSMITTED

struct seq_row {
	const char	*name;
	struct arrival	arrivals[6];
	u32		nr;
};

static const struct seq_row seq_rows[] = {
	{ "in order", { { 1, 0, true, 2 }, { 2, 0, true, 3 }, { 3, 0, true, 4 } }, 3 },
	{ "first is a retransmission", { { 1, RETRANS, true, 2 } }, 1 },
	{
		"cancelled messages leave gaps",
		{ { 1, 0, true, 2 }, { 5, 0, true, 6 }, { 1000, 0, true, 1001 } }, 3,
	},
	{
		"repeats are dropped",
		{ { 1, 0, true, 2 }, { 2, 0, true, 3 },
		  { 1, RETRANS, false, 3 }, { 2, RETRANS, false, 3 },
		  { 3, RETRANS, true, 4 }, { 4, 0, true, 5 } }, 6,
	},
	{ "repeat among other flags", { { 7, 0, true, 8 }, { 7, 0xff, false, 8 } }, 2 },
	{ "unflagged, it is no repeat", { { 7, 0, true, 8 }, { 7, 0xfb, true, 8 } }, 2 },
	{
		"peer restarted",
		{ { 100, 0, true, 101 }, { 1, 0, true, 2 }, { 2, RETRANS, true, 3 } }, 3,
	},
	{ "the last accepted one again", { { 3, 0, true, 4 }, { 3, RETRANS, false, 4 } }, 2 },
	{ "the next one flagged", { { 3, 0, true, 4 }, { 4, RETRANS, true, 5 } }, 2 },
	{
		"number 0 flagged, at the start",
		{ { 0, RETRANS, true, 1 }, { 0, RETRANS, false, 1 } }, 2,
	},
	{
		"above 32 bits",
		{ { 1ull << 32, 0, true, (1ull << 32) + 1 },
		  { 1, RETRANS, false, (1ull << 32) + 1 } }, 2,
	},
	{
		"the highest number",
		{ { U64_MAX - 1, 0, true, U64_MAX }, { U64_MAX, RETRANS, true, 0 },
		  { 1, 0, true, 2 } }, 3,
	},
};

static void seq_desc(const struct seq_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(seq, seq_rows, seq_desc);

static void ack_rx_seq(struct kunit *test)
{
	const struct seq_row *row = test->param_value;
	struct rds_rx_seq rx = { 0 };
	u32 i;

	for (i = 0; i < row->nr; i++) {
		const struct arrival *a = &row->arrivals[i];

		KUNIT_EXPECT_EQ_MSG(test, rds_rx_seq_accept(&rx, a->seq, a->flags), a->accepted,
				    "arrival %u", i + 1);
		KUNIT_EXPECT_EQ_MSG(test, rx.next, a->next, "arrival %u", i + 1);
	}
}

static struct kunit_case ack_cases[] = {
	KUNIT_CASE_PARAM(ack_asked_for, budget_gen_params),
	KUNIT_CASE(ack_budgets_made_smaller),
	KUNIT_CASE(ack_budgets_start_anew),
	KUNIT_CASE_PARAM(ack_rx_seq, seq_gen_params),
	{}
};

static struct kunit_suite ack_suite = {
	.name = "rds_ack",
	.test_cases = ack_cases,
};

kunit_test_suite(ack_suite);
