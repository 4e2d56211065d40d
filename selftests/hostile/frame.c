// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "frame.h"

#include <string.h>

#define PATTERN_PERIOD	251	/* no divisor of a fragment */

void put_be16(uint8_t *to, uint16_t value)
{
	to[0] = value >> 8;
	to[1] = value;
}

void put_be32(uint8_t *to, uint32_t value)
{
	put_be16(to, value >> 16);
	put_be16(to + 2, value);
}

void put_be64(uint8_t *to, uint64_t value)
{
	put_be32(to, value >> 32);
	put_be32(to + 4, value);
}

uint16_t get_be16(const uint8_t *from)
{
	return from[0] << 8 | from[1];
}

uint32_t get_be32(const uint8_t *from)
{
	return (uint32_t)get_be16(from) << 16 | get_be16(from + 2);
}

uint64_t get_be64(const uint8_t *from)
{
	return (uint64_t)get_be32(from) << 32 | get_be32(from + 4);
}

static uint16_t fold(const uint8_t *from)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < HEAD_LEN; i += 2)
		sum += get_be16(from + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

void head_pack(const struct head *head, uint8_t *to)
{
	memset(to, 0, HEAD_LEN);
	put_be64(to, head->seq);
	put_be64(to + 8, head->ack);
	put_be32(to + 16, head->len);
	put_be16(to + 20, head->sport);
	put_be16(to + 22, head->dport);
	to[24] = head->flags;
	to[25] = head->credit;
	memcpy(to + 32, head->ext, EXT_LEN);
	put_be16(to + 30, ~fold(to));
}

void head_unpack(struct head *head, const uint8_t *from)
{
	head->seq = get_be64(from);
	head->ack = get_be64(from + 8);
	head->len = get_be32(from + 16);
	head->sport = get_be16(from + 20);
	head->dport = get_be16(from + 22);
	head->flags = from[24];
	head->credit = from[25];
	memcpy(head->ext, from + 32, EXT_LEN);
}

bool head_checksum_right(const uint8_t *from)
{
	return fold(from) == 0xffff;
}

void head_add_rdma(struct head *head, uint32_t rkey)
{
	head->ext[0] = EXT_RDMA;
	put_be32(head->ext + 1, rkey);
}

void head_add_dest(struct head *head, uint32_t rkey, uint32_t offset)
{
	head->ext[0] = EXT_RDMA_DEST;
	put_be32(head->ext + 1, rkey);
	put_be32(head->ext + 5, offset);
}

static uint8_t pattern_byte(size_t at, unsigned int seed)
{
	return (at % PATTERN_PERIOD * 31 + seed) % PATTERN_PERIOD;
}

void pattern(uint8_t *to, size_t from, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = pattern_byte(from + i, seed);
}

bool is_pattern(const uint8_t *bytes, size_t from, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] != pattern_byte(from + i, seed))
			return false;
	return true;
}

static uint8_t *put_addr(uint8_t *to, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (addr->sa_family == AF_INET) {
		memcpy(to, &sin->sin_addr, 4);
		return to + 4;
	}
	memcpy(to, &sin6->sin6_addr, 16);
	return to + 16;
}

size_t priv_pack(const struct priv *priv, uint8_t *to)
{
	uint8_t *at = to;

	at = put_addr(at, priv->from);
	at = put_addr(at, priv->to);
	memset(at, 0, 24);
	at[0] = priv->major;
	at[1] = priv->minor;
	put_be16(at + 2, priv->mask);
	at[4] = priv->tos;
	put_be64(at + 8, priv->ack);
	put_be32(at + 16, priv->credit);
	if (priv->caps) {
		at[20] = CAPS_MAGIC;
		at[21] = priv->caps;
	}
	return at + 24 - to;
}
