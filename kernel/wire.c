// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "wire.h"

static_assert(sizeof(struct rds_header) == RDS_HEADER_LEN);
static_assert(offsetof(struct rds_header, len) == 16);
static_assert(offsetof(struct rds_header, flags) == 24);
static_assert(offsetof(struct rds_header, csum) == 30);
static_assert(offsetof(struct rds_header, ext) == 32);

/* The Internet checksum's sum (RFC 1071): 16-bit words added with end-around carry. */
static u16 header_sum(const struct rds_header *h)
{
	const u8 *bytes = (const u8 *)h;
	u32 sum = 0;
	int i;

	for (i = 0; i < RDS_HEADER_LEN; i += 2)
		sum += get_unaligned_be16(bytes + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

void rds_header_init(struct rds_header *h, u64 seq, u32 len, __be16 sport, __be16 dport)
{
	memset(h, 0, sizeof(*h));
	h->seq = cpu_to_be64(seq);
	h->len = cpu_to_be32(len);
	h->sport = sport;
	h->dport = dport;
}

void rds_header_seal(struct rds_header *h)
{
	h->csum = 0;
	h->csum = cpu_to_be16((u16)~header_sum(h));
}

bool rds_header_intact(const struct rds_header *h)
{
	return !h->csum || header_sum(h) == 0xffff;
}

/* Types from here on end the extensions. */
#define EXT_NR_TYPES	16

/* Bytes after the type; types without an entry have none. */
static const u8 ext_data_len[EXT_NR_TYPES] = {
	[RDS_EXT_VERSION]	= 4,
	[RDS_EXT_RDMA]		= 4,
	[RDS_EXT_RDMA_DEST]	= 8,
	[RDS_EXT_NPATHS]	= 2,
	[RDS_EXT_GENERATION]	= 4,
	[RDS_EXT_CAPS]		= 4,
};

/* Look at the extension at @offset.  Returns the offset of the one behind it, or 0
 * if there is none at @offset: the area or the extensions end there.
 */
static u32 ext_next(const struct rds_header *h, u32 offset)
{
	u8 type;

	if (offset >= RDS_EXT_LEN)
		return 0;
	type = h->ext[offset];
	if (type == RDS_EXT_NONE || type >= EXT_NR_TYPES)
		return 0;
	offset += 1 + ext_data_len[type];
	return offset <= RDS_EXT_LEN ? offset : 0;
}

int rds_ext_add(struct rds_header *h, u8 type, const void *data)
{
	u32 offset = 0;
	u32 next;
	u8 len;

	if (type >= EXT_NR_TYPES || !ext_data_len[type])
		return -EINVAL;
	len = ext_data_len[type];

	while ((next = ext_next(h, offset)))
		offset = next;
	/* the second test: the walk stopped at something else than free space */
	if (offset + 1 + len > RDS_EXT_LEN || h->ext[offset] != RDS_EXT_NONE)
		return -ENOSPC;

	/* nothing that happens to lie behind it may be taken for the next one */
	memset(h->ext + offset, 0, RDS_EXT_LEN - offset);
	h->ext[offset] = type;
	memcpy(h->ext + offset + 1, data, len);
	return 0;
}

int rds_ext_add_rdma(struct rds_header *h, u32 rkey)
{
	__be32 data = cpu_to_be32(rkey);

	return rds_ext_add(h, RDS_EXT_RDMA, &data);
}

int rds_ext_add_dest(struct rds_header *h, u64 cookie)
{
	__be32 data[2] = {
		cpu_to_be32(rds_cookie_rkey(cookie)),
		cpu_to_be32(rds_cookie_offset(cookie)),
	};

	return rds_ext_add(h, RDS_EXT_RDMA_DEST, data);
}

int rds_ext_add_caps(struct rds_header *h, u32 caps)
{
	__be32 data = cpu_to_be32(caps);

	return rds_ext_add(h, RDS_EXT_CAPS, &data);
}

static void ext_take_rdma(struct rds_ext *ext, const u8 *data)
{
	if (ext->has_rdma)
		return;
	ext->has_rdma = true;
	ext->rdma_rkey = get_unaligned_be32(data);
}

/* Of these there is no second one: two do not fit. */
static void ext_take_dest(struct rds_ext *ext, const u8 *data)
{
	ext->has_dest = true;
	ext->dest_rkey = get_unaligned_be32(data);
	ext->dest_offset = get_unaligned_be32(data + 4);
}

static void ext_take_npaths(struct rds_ext *ext, const u8 *data)
{
	if (ext->has_npaths)
		return;
	ext->has_npaths = true;
	ext->npaths = get_unaligned_be16(data);
}

static void ext_take_generation(struct rds_ext *ext, const u8 *data)
{
	if (ext->has_generation)
		return;
	ext->has_generation = true;
	ext->generation = get_unaligned_be32(data);
}

void rds_ext_parse(const struct rds_header *h, struct rds_ext *ext)
{
	u32 offset = 0;
	u32 next;

	memset(ext, 0, sizeof(*ext));
	for (; (next = ext_next(h, offset)); offset = next) {
		const u8 *data = h->ext + offset + 1;

		switch (h->ext[offset]) {
		case RDS_EXT_RDMA:
			ext_take_rdma(ext, data);
			break;
		case RDS_EXT_RDMA_DEST:
			ext_take_dest(ext, data);
			break;
		case RDS_EXT_NPATHS:
			ext_take_npaths(ext, data);
			break;
		case RDS_EXT_GENERATION:
			ext_take_generation(ext, data);
			break;
		case RDS_EXT_VERSION:
		case RDS_EXT_CAPS:
			break;
		default:
			ext->unknown = true;
		}
	}
	/* where the walk ended before there was nothing more */
	if (offset < RDS_EXT_LEN && h->ext[offset] >= EXT_NR_TYPES)
		ext->unknown = true;
	else if (offset < RDS_EXT_LEN && h->ext[offset] != RDS_EXT_NONE)
		ext->truncated = true;
}
