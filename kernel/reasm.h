/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reassembly rules: what a frame is, and whether it may follow the last one. */
#ifndef RDS_REASM_H
#define RDS_REASM_H

#include "wire.h"

/* The message that an endpoint is receiving.  Zeroed: none. */
struct rds_reasm {
	bool			active;
	u32			got;		/* payload bytes so far */
	struct rds_header	first;		/* header of fragment 1: its flags and extensions count */
};

enum rds_frame {
	RDS_FRAME_ACK,			/* nothing but an ack value */
	RDS_FRAME_PART,			/* a fragment; more to come */
	RDS_FRAME_LAST,			/* completes a message */
	/* errors: the connection must be dropped */
	RDS_FRAME_SHORT,		/* shorter than a header */
	RDS_FRAME_BAD_CSUM,
	RDS_FRAME_TOO_LONG,		/* h_len above 1 MiB */
	RDS_FRAME_BAD_LEN,		/* payload is not what h_len and position require */
	RDS_FRAME_MISMATCH,		/* contradicts fragment 1 */
};

static inline bool rds_frame_is_error(enum rds_frame f)
{
	return f >= RDS_FRAME_SHORT;
}

/* Judge one received frame of @bytes bytes in all (header included) and advance @r.
 *
 * On PART and LAST, *@offset is where the frame's payload belongs in the
 * message.  After LAST @r is inactive again, with @r->first still readable.
 * ACK frames may come between fragments and leave @r alone.  Errors leave @r
 * undefined: the endpoint is done for.
 */
enum rds_frame rds_reasm_frame(struct rds_reasm *r, const struct rds_header *h, u32 bytes,
			       u32 *offset);

/* A complete message with exactly this flag byte is a congestion map. */
static inline bool rds_header_is_cong_map(const struct rds_header *h)
{
	return h->flags == RDS_FLAG_CONG_MAP;
}

#endif
