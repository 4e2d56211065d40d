// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: changes to a map, made by us (set or clear a port) or by a peer (any byte). */
#include "fuzz.h"
#include "../cong_bits.h"

enum { SET, CLEAR, PEER_WRITES, NR_HOWS };

struct change {
	u8	how;
	u16	port;
	u8	byte;
} __attribute__((packed));

/* By the wire's rule alone: from the least significant bit. */
static bool model_test(const u8 *map, u32 port)
{
	return map[port >> 3] >> (port & 7) & 1;
}

static void change_port(u8 *map, u16 port, bool set)
{
	bool was = model_test(map, port);
	u8 others = map[port >> 3] & ~(1u << (port & 7));

	MUST(rds_cong_bit_test(map, port) == was);
	MUST((set ? rds_cong_bit_set(map, port) : rds_cong_bit_clear(map, port)) == (was != set));
	MUST(rds_cong_bit_test(map, port) == set);
	MUST((map[port >> 3] & ~(1u << (port & 7))) == others);
}

/* Byte by byte what the code does word by word: a byte holds the ports from 8 times its place on. */
static void compare(const u8 *old, const u8 *new)
{
	bool empty = true;
	u64 cleared = 0;
	u32 i;

	for (i = 0; i < RDS_CONG_MAP_LEN; i++) {
		cleared |= (u64)(u8)(old[i] & ~new[i]) << 8 * i % 64;
		empty &= !new[i];
	}
	MUST(rds_cong_bits_cleared(old, new) == cleared);
	MUST(rds_cong_bits_empty(new) == empty);
	MUST(!rds_cong_bits_cleared(new, new));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 zeros[RDS_CONG_MAP_LEN];
	u8 *map = fuzz_copy(zeros, sizeof(zeros)), *old;
	struct fuzz_input in = { data, size };
	size_t half = size / 2;
	struct change c;

	while (in.left > half && fuzz_take(&in, &c, sizeof(c)))
		map[c.port >> 3] = c.byte;
	old = fuzz_copy(map, sizeof(zeros));
	while (fuzz_take(&in, &c, sizeof(c))) {
		if (c.how % NR_HOWS == PEER_WRITES)
			map[c.port >> 3] = c.byte;
		else
			change_port(map, c.port, c.how % NR_HOWS == SET);
	}
	compare(old, map);
	free(old);
	free(map);
	return 0;
}
