// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "reasm.h"

/* Ack frames are told by this alone, whatever their length field and flags say. */
static bool is_ack_frame(const struct rds_header *h, u32 payload)
{
	return !h->sport && !h->dport && !payload;
}

/* Flags, ack, credit and extensions may differ from fragment to fragment. */
static bool same_message(const struct rds_header *a, const struct rds_header *b)
{
	return a->seq == b->seq && a->len == b->len &&
	       a->sport == b->sport && a->dport == b->dport;
}

enum rds_frame rds_reasm_frame(struct rds_reasm *r, const struct rds_header *h, u32 bytes,
			       u32 *offset)
{
	u32 payload, len;

	if (bytes < RDS_HEADER_LEN)
		return RDS_FRAME_SHORT;
	if (!rds_header_intact(h))
		return RDS_FRAME_BAD_CSUM;

	payload = bytes - RDS_HEADER_LEN;
	if (is_ack_frame(h, payload))
		return RDS_FRAME_ACK;

	len = be32_to_cpu(h->len);
	if (len > RDS_MSG_MAX)
		return RDS_FRAME_TOO_LONG;

	if (!r->active) {
		r->active = true;
		r->got = 0;
		r->first = *h;
	} else if (!same_message(&r->first, h)) {
		return RDS_FRAME_MISMATCH;
	}
	if (payload != min_t(u32, len - r->got, RDS_FRAG_LEN))
		return RDS_FRAME_BAD_LEN;

	*offset = r->got;
	r->got += payload;
	if (r->got < len)
		return RDS_FRAME_PART;
	r->active = false;
	return RDS_FRAME_LAST;
}
