/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A congestion map's bits: port p is bit p % 8, from the least significant, of byte p / 8,
 * on hosts of any byte order.
 */
#ifndef RDS_CONG_BITS_H
#define RDS_CONG_BITS_H

#include "wire.h"

bool rds_cong_bit_test(const u8 *map, u16 port);

/* Set or clear; returns true if that changed the bit.  The caller serialises writers. */
bool rds_cong_bit_set(u8 *map, u16 port);
bool rds_cong_bit_clear(u8 *map, u16 port);

/* Which ports, by port % 64, are set in @old and clear in @new?  Both RDS_CONG_MAP_LEN bytes, or @len of both
 * at the same place, a multiple of 8.
 */
u64 rds_cong_bits_cleared(const u8 *old, const u8 *new);
u64 rds_cong_part_cleared(const u8 *old, const u8 *new, u32 len);

/* True if no bit is set in @map of RDS_CONG_MAP_LEN bytes. */
bool rds_cong_bits_empty(const u8 *map);

#endif
