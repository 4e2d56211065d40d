// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: budgets, then messages: flags, sequence number relative to the last one, length. */
#include "fuzz.h"
#include "../ack.h"

struct message {
	u8	flags;
	s8	step;
	u32	len;
} __attribute__((packed));

struct budgets {
	u16	packets;
	u32	bytes;
} __attribute__((packed));

/* What was sent since the last one that asked for an ack. */
struct unasked {
	bool	any_asked;
	u64	packets;
	u64	bytes;
};

static void spend(struct rds_ack_budget *b, const struct budgets *max, struct unasked *u, u32 len)
{
	if (rds_ack_budget_spend(b, len, max->packets, max->bytes)) {
		/* not before one of the budgets was used up, but for the first */
		MUST(!u->any_asked || u->packets == max->packets || u->bytes + len > max->bytes);
		*u = (struct unasked){ .any_asked = true };
		return;
	}
	u->packets++;
	u->bytes += len;
	MUST(u->any_asked);
	MUST(u->packets <= max->packets && u->bytes <= max->bytes);
}

/* Judged one by one, and the way it is for a peer that tells its generation: never the same twice. */
static void receive(struct rds_rx_seq *rx, struct rds_rx_seq *strict, u64 seq, u8 flags)
{
	u64 expected = rx->next, highest = strict->next;
	bool taken = rds_rx_seq_accept(rx, seq, flags);

	MUST(taken == !(flags & RDS_FLAG_RETRANSMITTED && seq < expected));
	MUST(rx->next == (taken ? seq + 1 : expected));

	taken = rds_rx_seq_accept(strict, seq, flags | RDS_FLAG_RETRANSMITTED);
	MUST(taken == (seq >= highest));
	/* 2^64 messages are too many to be told from a restart */
	MUST(strict->next >= highest || seq == U64_MAX);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct rds_rx_seq rx = { 0 }, strict = { 0 };
	struct fuzz_input in = { data, size };
	struct rds_ack_budget b = { 0 };
	struct unasked u = { 0 };
	struct budgets max;
	struct message m;
	u64 seq = 1000;

	if (!fuzz_take(&in, &max, sizeof(max)))
		return 0;
	while (fuzz_take(&in, &m, sizeof(m))) {
		seq += m.step;
		spend(&b, &max, &u, m.len);
		receive(&rx, &strict, seq, m.flags);
	}
	return 0;
}
