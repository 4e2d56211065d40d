/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The private data of connection requests and replies, and version negotiation. */
#ifndef RDS_CM_PRIV_H
#define RDS_CM_PRIV_H

#include "pure.h"

#define RDS_CM_PORT_V4		18634
#define RDS_CM_PORT_V6		16385
#define RDS_CM_PRIV_LEN_V4	32
#define RDS_CM_PRIV_LEN_V6	56

#define RDS_VERSION(major, minor)	((u16)((major) << 8 | (minor)))
#define RDS_VERSION_3_1		RDS_VERSION(3, 1)
#define RDS_VERSION_4_0		RDS_VERSION(4, 0)
#define RDS_MINOR_MASK		0x0003

/* What we send in a reject: a 4-byte integer in CPU order, as mainline reads it. */
#define RDS_REJECT_CODE		1

/* Capabilities between our own peers, in the tail padding that others send as zero: a byte
 * RDS_CAP_MAGIC, a byte of capability bits, and a big-endian 16-bit generation.
 *
 * The generation is a number of the sender's connection object (conn.c).  Another one than last time means that
 * the peer was restarted, or has forgotten a connection that nobody used, and counts its messages from 1: they
 * are new, even those that it has to send again.
 */
#define RDS_CAP_MAGIC		0x5d
#define RDS_CAP_ORDERED_DUEL	0x01	/* of two simultaneous requests, the smaller address's stands */
#define RDS_CAP_HEARTBEAT	0x02	/* answers RDS_FLAG_HB_PING */
#define RDS_CAP_QUIET		0x04	/* answers RDS_FLAG_QUIET, and does not reconnect with nothing to send */

/* Decoded private data.  IPv4 addresses are v4-mapped. */
struct rds_cm_priv {
	struct in6_addr	saddr;		/* the sender's own address */
	struct in6_addr	daddr;		/* its peer's */
	u16		version;	/* RDS_VERSION(major, minor) */
	u16		minor_mask;
	u8		tos;
	u64		ack;		/* we send 0 */
	u32		credit;		/* we send 0: no flow control */
	u8		caps;		/* 0 unless the magic was there */
	u16		generation;	/* 0: not known; only with capabilities */
};

/* Encode @p in the layout for IPv6 or IPv4 into @buf, which has room for RDS_CM_PRIV_LEN_V6
 * bytes.  Returns the length.
 */
int rds_cm_priv_encode(const struct rds_cm_priv *p, bool v6, void *buf);

/* Decode @len bytes.  Returns 0; -EINVAL if they are too few for the layout (then @p holds
 * zeros).  Longer is fine: the CM pads.
 */
int rds_cm_priv_decode(struct rds_cm_priv *p, bool v6, const void *buf, u32 len);

/* Choose the version to answer a request with; @len and @p as for decode.
 * Returns the version, or 0: reject.  (No data: reject; too short, or
 * major 0: 4.0; 4.x with a common minor bit: 4.(highest); 3.1; nothing else.)
 */
u16 rds_cm_choose_version(const struct rds_cm_priv *p, bool v6, u32 len);

/* May we go on with the version that a reply carries?  3.1 and above; and major 0, which
 * means that the peer said nothing.
 */
bool rds_cm_reply_version_ok(u16 version);

/* Compare two addresses as 128-bit big-endian numbers: < 0, 0, > 0. */
int rds_addr_cmp(const struct in6_addr *a, const struct in6_addr *b);

#endif
