// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: frames one after the other: how to make its header, the header, bytes received. */
#include "fuzz.h"
#include "../reasm.h"

#define REPEAT		0x01	/* the header of the last frame, flags from this one */
#define SEAL		0x02	/* with a checksum that holds */
#define FITTING		0x04	/* as many bytes as fit */

struct step {
	u8			how;
	struct rds_header	h;
	u32			bytes;
} __attribute__((packed));

/* What the endpoint has put together, counted separately. */
struct model {
	bool	open;
	u32	got;
};

static void check(struct model *m, const struct rds_header *h, u32 bytes, enum rds_frame frame,
		  u32 offset)
{
	u32 len = be32_to_cpu(h->len);

	switch (frame) {
	case RDS_FRAME_PART:
	case RDS_FRAME_LAST:
		MUST(bytes >= RDS_HEADER_LEN);
		MUST(bytes - RDS_HEADER_LEN <= RDS_FRAG_LEN);
		MUST(offset == (m->open ? m->got : 0));
		m->got = offset + bytes - RDS_HEADER_LEN;
		/* the message never leaves its bounds, and is whole exactly at its end */
		MUST(m->got <= len && len <= RDS_MSG_MAX);
		MUST((m->got == len) == (frame == RDS_FRAME_LAST));
		m->open = frame == RDS_FRAME_PART;
		break;
	case RDS_FRAME_ACK:
		MUST(bytes == RDS_HEADER_LEN && !h->sport && !h->dport);
		break;
	case RDS_FRAME_SHORT:
		MUST(bytes < RDS_HEADER_LEN);
		break;
	case RDS_FRAME_BAD_CSUM:
		MUST(!rds_header_intact(h));
		break;
	case RDS_FRAME_TOO_LONG:
		MUST(len > RDS_MSG_MAX);
		break;
	case RDS_FRAME_MISMATCH:
		MUST(m->open);
		break;
	case RDS_FRAME_BAD_LEN:
		break;
	default:
		MUST(!"a verdict");
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rds_header last = { 0 };
	struct rds_reasm r = { 0 };
	struct model m = { 0 };
	enum rds_frame frame;
	struct step step;
	u32 offset, left;

	while (fuzz_take(&in, &step, sizeof(step))) {
		struct rds_header h = step.h;

		if (step.how & REPEAT) {
			h = last;
			h.flags = step.h.flags;
		}
		if (step.how & SEAL)
			rds_header_seal(&h);
		if (step.how & FITTING) {
			left = be32_to_cpu(h.len) - (m.open ? m.got : 0);
			step.bytes = RDS_HEADER_LEN + (left > RDS_FRAG_LEN ? RDS_FRAG_LEN : left);
		}
		last = h;

		frame = rds_reasm_frame(&r, &h, step.bytes, &offset);
		check(&m, &h, step.bytes, frame, offset);
		if (rds_frame_is_error(frame))
			break;
		MUST(r.active == m.open);
	}
	return 0;
}
