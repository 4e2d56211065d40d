/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The 48-byte header, its checksum and its extension area. */
#ifndef RDS_WIRE_H
#define RDS_WIRE_H

#include "pure.h"

#define RDS_HEADER_LEN		48
#define RDS_EXT_LEN		16
#define RDS_FRAG_LEN		4096u		/* payload of a full frame */
#define RDS_MSG_MAX		(1u << 20)	/* payload of a message */
#define RDS_CONG_MAP_LEN	8192u		/* 65536 ports, a bit each */

#define RDS_PORT_PING		0
#define RDS_PORT_PROBE		1		/* reserved: nobody binds it */

/* header flags; a congestion map has exactly RDS_FLAG_CONG_MAP and no other */
#define RDS_FLAG_CONG_MAP	0x01
#define RDS_FLAG_ACK_REQUIRED	0x02
#define RDS_FLAG_RETRANSMITTED	0x04
/* Of ack frames between peers that have RDS_CAP_HEARTBEAT: a question whether the other one lives, and the answer. */
#define RDS_FLAG_HB_PING	0x08
#define RDS_FLAG_HB_PONG	0x10
/* Of ack frames between peers that have RDS_CAP_QUIET.  QUIET: everything of mine is acknowledged, I send nothing more on this
 * connection, and close it when you agree.  AGREED: so it is with me.  BUSY: it is not, go on.  When both are quiet, neither can
 * lose an operation to the end of the connection, and each knows that the other will repeat nothing.
 */
#define RDS_FLAG_QUIET		0x20
#define RDS_FLAG_BUSY		0x40
#define RDS_FLAG_AGREED		0x80

struct rds_header {
	__be64	seq;		/* 0 in ack frames and congestion maps */
	__be64	ack;		/* highest completed number of the other direction */
	__be32	len;		/* payload of the whole message */
	__be16	sport;
	__be16	dport;
	u8	flags;
	u8	credit;
	u8	pad[4];
	__be16	csum;
	u8	ext[RDS_EXT_LEN];
};

enum rds_ext_type {
	RDS_EXT_NONE		= 0,
	RDS_EXT_VERSION		= 1,	/* 4 bytes, ignored */
	RDS_EXT_RDMA		= 2,	/* be32 rkey of the operation before this message */
	RDS_EXT_RDMA_DEST	= 3,	/* be32 rkey, be32 offset: a cookie for the peer */
	RDS_EXT_NPATHS		= 5,	/* be16 */
	RDS_EXT_GENERATION	= 6,	/* be32 */
	RDS_EXT_CAPS		= 7,	/* be32 bits, of heartbeats: RDS_EXT_CAP_*; not read */
};

#define RDS_EXT_CAP_HEARTBEAT	0x00000001	/* pings are answered */

/* Extensions found in one header. */
struct rds_ext {
	bool	has_rdma;
	bool	has_dest;
	bool	has_npaths;
	bool	has_generation;
	bool	unknown;	/* there was one that we do not know */
	bool	truncated;	/* the last one would have passed the end */
	u32	rdma_rkey;
	u32	dest_rkey;
	u32	dest_offset;
	u16	npaths;
	u32	generation;
};

/* A cookie, as user space and the extension see it. */
static inline u64 rds_cookie(u32 rkey, u32 offset)
{
	return (u64)offset << 32 | rkey;
}

static inline u32 rds_cookie_rkey(u64 cookie)
{
	return (u32)cookie;
}

static inline u32 rds_cookie_offset(u64 cookie)
{
	return cookie >> 32;
}

/* Fill every byte of @h: the given fields, everything else zero. */
void rds_header_init(struct rds_header *h, u64 seq, u32 len, __be16 sport, __be16 dport);

/* Write the checksum over all 48 bytes.  Call last: any later change spoils it. */
void rds_header_seal(struct rds_header *h);

/* True if the checksum holds, or is 0, which means "not computed". */
bool rds_header_intact(const struct rds_header *h);

/* Append an extension.  @data: what follows the type byte, its length implied
 * by the type.  Returns 0; -EINVAL for a type that has no length; -ENOSPC when
 * type and data do not fit.
 */
int rds_ext_add(struct rds_header *h, u8 type, const void *data);
int rds_ext_add_rdma(struct rds_header *h, u32 rkey);
int rds_ext_add_dest(struct rds_header *h, u64 cookie);
int rds_ext_add_caps(struct rds_header *h, u32 caps);

/* Collect the extensions of @h.  Never fails: parsing ends at type 0, at a type
 * of 16 or more, and at one whose data would pass the end; other types that
 * we do not know are stepped over as one byte, as every peer does.  The first
 * of two equal extensions counts.
 */
void rds_ext_parse(const struct rds_header *h, struct rds_ext *ext);

#endif
