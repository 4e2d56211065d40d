// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cong_bits.h"

/* Readers take no lock: a byte is read and written whole. */

static u8 port_mask(u16 port)
{
	return 1u << (port % 8);
}

bool rds_cong_bit_test(const u8 *map, u16 port)
{
	return READ_ONCE(map[port / 8]) & port_mask(port);
}

bool rds_cong_bit_set(u8 *map, u16 port)
{
	u8 *byte = &map[port / 8];

	if (*byte & port_mask(port))
		return false;
	WRITE_ONCE(*byte, *byte | port_mask(port));
	return true;
}

bool rds_cong_bit_clear(u8 *map, u16 port)
{
	u8 *byte = &map[port / 8];

	if (!(*byte & port_mask(port)))
		return false;
	WRITE_ONCE(*byte, *byte & (u8)~port_mask(port));
	return true;
}

u64 rds_cong_part_cleared(const u8 *old, const u8 *new, u32 len)
{
	u64 cleared = 0;
	u32 i;

	/* 64 ports are 8 bytes, so that bit b of a little-endian word is port % 64 == b */
	for (i = 0; i < len; i += sizeof(u64))
		cleared |= get_unaligned_le64(old + i) & ~get_unaligned_le64(new + i);
	return cleared;
}

u64 rds_cong_bits_cleared(const u8 *old, const u8 *new)
{
	return rds_cong_part_cleared(old, new, RDS_CONG_MAP_LEN);
}

bool rds_cong_bits_empty(const u8 *map)
{
	u32 i;

	for (i = 0; i < RDS_CONG_MAP_LEN; i += sizeof(u64))
		if (get_unaligned_le64(map + i))
			return false;
	return true;
}
