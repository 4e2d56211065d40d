// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: a kind of atomic, its struct, a value to work on. */
#include "fuzz.h"
#include "../atomic.h"

struct work {
	u8			kind;
	struct rds_atomic_args	args;
	u64			old;
} __attribute__((packed));

/* Bit by bit, with a carry that the mask's bits keep in. */
static u64 add(u64 a, u64 b, u64 nocarry)
{
	unsigned int i, sum, carry = 0;
	u64 result = 0;

	for (i = 0; i < 64; i++) {
		sum = (a >> i & 1) + (b >> i & 1) + carry;
		result |= (u64)(sum & 1) << i;
		carry = nocarry >> i & 1 ? 0 : sum >> 1;
	}
	return result;
}

static u64 swap(const struct rds_atomic_args *args, u64 old, u64 compare_mask, u64 swap_mask)
{
	if ((old & compare_mask) != (args->cswp.compare & compare_mask))
		return old;
	return (old & ~swap_mask) | (args->cswp.swap & swap_mask);
}

static u64 expected(int type, const struct rds_atomic_args *args, u64 old)
{
	switch (type) {
	case RDS_CMSG_ATOMIC_FADD:
		return old + args->fadd.add;
	case RDS_CMSG_ATOMIC_CSWP:
		return old == args->cswp.compare ? args->cswp.swap : old;
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		return add(old, args->m_fadd.add, args->m_fadd.nocarry_mask);
	default:
		return swap(args, old, args->m_cswp.compare_mask, args->m_cswp.swap_mask);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rds_atomic_args args;
	struct rds_atomic a;
	struct work work;
	int type, plain;

	while (fuzz_take(&in, &work, sizeof(work))) {
		args = work.args;
		type = RDS_CMSG_ATOMIC_FADD + work.kind % 4;
		rds_atomic_init(&a, type, &args);
		MUST(rds_atomic_apply(&a, work.old) == expected(type, &args, work.old));
		/* what is called plain does as a device without masks would */
		plain = a.cswp ? RDS_CMSG_ATOMIC_CSWP : RDS_CMSG_ATOMIC_FADD;
		if (rds_atomic_is_plain(&a))
			MUST(rds_atomic_apply(&a, work.old) == expected(plain, &args, work.old));
		else
			MUST(type != plain);
	}
	return 0;
}
