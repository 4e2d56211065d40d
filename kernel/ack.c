// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ack.h"

bool rds_ack_budget_spend(struct rds_ack_budget *b, u32 len, u32 max_packets, u32 max_bytes)
{
	/* what may go unasked may have been made less meanwhile */
	b->packets = min_t(u32, b->packets, max_packets);
	b->bytes = min_t(u32, b->bytes, max_bytes);
	if (!b->packets || b->bytes < len) {
		b->packets = max_packets;
		b->bytes = max_bytes;
		return true;
	}
	b->packets--;
	b->bytes -= len;
	return false;
}

bool rds_rx_seq_accept(struct rds_rx_seq *rx, u64 seq, u8 flags)
{
	if ((flags & RDS_FLAG_RETRANSMITTED) && seq < rx->next)
		return false;
	rx->next = seq + 1;
	return true;
}
