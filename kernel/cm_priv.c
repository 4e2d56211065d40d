// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cm_priv.h"

/* What follows the two addresses, in either layout. */
struct cm_tail {
	u8	major;
	u8	minor;
	__be16	minor_mask;
	u8	tos;
	u8	reserved[3];	/* sent as zero, not read: others put a frame size here */
	__be64	ack;
	__be32	credit;
	u8	magic;
	u8	caps;
	__be16	generation;
} __packed;

#define ADDR_LEN_V4	4
#define ADDR_LEN_V6	16

static_assert(2 * ADDR_LEN_V4 + sizeof(struct cm_tail) == RDS_CM_PRIV_LEN_V4);
static_assert(2 * ADDR_LEN_V6 + sizeof(struct cm_tail) == RDS_CM_PRIV_LEN_V6);
static_assert(offsetof(struct cm_tail, ack) == 16 - 2 * ADDR_LEN_V4);

static u32 addr_len(bool v6)
{
	return v6 ? ADDR_LEN_V6 : ADDR_LEN_V4;
}

static u32 priv_len(bool v6)
{
	return v6 ? RDS_CM_PRIV_LEN_V6 : RDS_CM_PRIV_LEN_V4;
}

/* The last bytes of an address are what goes over the wire: all, or the IPv4 address. */
static u8 *wire_part(struct in6_addr *addr, bool v6)
{
	return addr->s6_addr + ADDR_LEN_V6 - addr_len(v6);
}

static void decode_addr(struct in6_addr *addr, bool v6, const u8 *from)
{
	memset(addr, 0, sizeof(*addr));
	if (!v6) {
		addr->s6_addr[10] = 0xff;
		addr->s6_addr[11] = 0xff;
	}
	memcpy(wire_part(addr, v6), from, addr_len(v6));
}

int rds_cm_priv_encode(const struct rds_cm_priv *p, bool v6, void *buf)
{
	struct in6_addr saddr = p->saddr;
	struct in6_addr daddr = p->daddr;
	u32 n = addr_len(v6);
	struct cm_tail tail;
	u8 *to = buf;

	memset(&tail, 0, sizeof(tail));
	tail.major = p->version >> 8;
	tail.minor = p->version & 0xff;
	tail.minor_mask = cpu_to_be16(p->minor_mask);
	tail.tos = p->tos;
	tail.ack = cpu_to_be64(p->ack);
	tail.credit = cpu_to_be32(p->credit);
	if (p->caps) {
		tail.magic = RDS_CAP_MAGIC;
		tail.caps = p->caps;
		tail.generation = cpu_to_be16(p->generation);
	}

	memcpy(to, wire_part(&saddr, v6), n);
	memcpy(to + n, wire_part(&daddr, v6), n);
	memcpy(to + 2 * n, &tail, sizeof(tail));
	return priv_len(v6);
}

int rds_cm_priv_decode(struct rds_cm_priv *p, bool v6, const void *buf, u32 len)
{
	u32 n = addr_len(v6);
	const u8 *from = buf;
	struct cm_tail tail;

	memset(p, 0, sizeof(*p));
	if (len < priv_len(v6))
		return -EINVAL;

	memcpy(&tail, from + 2 * n, sizeof(tail));
	decode_addr(&p->saddr, v6, from);
	decode_addr(&p->daddr, v6, from + n);
	p->version = RDS_VERSION(tail.major, tail.minor);
	p->minor_mask = be16_to_cpu(tail.minor_mask);
	p->tos = tail.tos;
	p->ack = be64_to_cpu(tail.ack);
	p->credit = be32_to_cpu(tail.credit);
	if (tail.magic == RDS_CAP_MAGIC && tail.caps) {
		p->caps = tail.caps;
		p->generation = be16_to_cpu(tail.generation);
	}
	return 0;
}

static u8 version_major(u16 version)
{
	return version >> 8;
}

u16 rds_cm_choose_version(const struct rds_cm_priv *p, bool v6, u32 len)
{
	u16 common = p->minor_mask & RDS_MINOR_MASK;

	if (!len)
		return 0;
	if (len < priv_len(v6) || !version_major(p->version))
		return RDS_VERSION_4_0;
	if (version_major(p->version) == 4 && common)
		return RDS_VERSION_4_0 + (common & 2 ? 1 : 0);
	if (p->version == RDS_VERSION_3_1)
		return RDS_VERSION_3_1;
	return 0;
}

bool rds_cm_reply_version_ok(u16 version)
{
	return !version_major(version) || version >= RDS_VERSION_3_1;
}

int rds_addr_cmp(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a->s6_addr, b->s6_addr, ADDR_LEN_V6);
}
