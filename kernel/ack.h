/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sequence numbers: when to ask for an ack, and which numbers are new. */
#ifndef RDS_ACK_H
#define RDS_ACK_H

#include "wire.h"

/* How much may be sent before an ack is asked for.  Zeroed, the first message asks. */
struct rds_ack_budget {
	u32	packets;
	u32	bytes;
};

/* Account one message of @len payload bytes about to be sent for the first time.
 * Returns true if it has to carry RDS_FLAG_ACK_REQUIRED: its budget of
 * @max_packets messages or @max_bytes bytes is used up (and then starts anew).
 * With 8 packets every 9th message asks.
 */
bool rds_ack_budget_spend(struct rds_ack_budget *b, u32 len, u32 max_packets, u32 max_bytes);

/* The receive side of one path.  Zeroed: nothing received. */
struct rds_rx_seq {
	u64	next;		/* one above the last accepted number */
};

/* Is message @seq to be delivered?  False only for a repeat: flagged as retransmitted
 * and below the expected number.  True moves the expectation to @seq + 1, also
 * backwards: a peer that was restarted counts from 1 again.
 */
bool rds_rx_seq_accept(struct rds_rx_seq *rx, u64 seq, u8 flags);

#endif
