// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "atomic.h"

void rds_atomic_init(struct rds_atomic *a, int type, const struct rds_atomic_args *args)
{
	memset(a, 0, sizeof(*a));
	a->compare_mask = U64_MAX;
	a->swap_mask = U64_MAX;
	switch (type) {
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		a->compare_mask = args->m_cswp.compare_mask;
		a->swap_mask = args->m_cswp.swap_mask;
		fallthrough;
	case RDS_CMSG_ATOMIC_CSWP:
		a->cswp = true;
		a->compare = args->cswp.compare;
		a->operand = args->cswp.swap;
		break;
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		a->nocarry_mask = args->m_fadd.nocarry_mask;
		fallthrough;
	default:
		a->operand = args->fadd.add;
		break;
	}
}

bool rds_atomic_is_plain(const struct rds_atomic *a)
{
	if (a->cswp)
		return a->compare_mask == U64_MAX && a->swap_mask == U64_MAX;
	/* what would be carried out of the topmost bit is lost anyway */
	return !(a->nocarry_mask & ~BIT_ULL(63));
}

/* Each field's top bit is added without carry, so that nothing comes out of it; what is carried into it
 * comes from the sum of the other bits, where the top bits are zero.
 */
static u64 rds_atomic_add(const struct rds_atomic *a, u64 old)
{
	u64 tops = a->nocarry_mask;

	return ((old & ~tops) + (a->operand & ~tops)) ^ ((old ^ a->operand) & tops);
}

u64 rds_atomic_apply(const struct rds_atomic *a, u64 old)
{
	if (!a->cswp)
		return rds_atomic_add(a, old);
	if ((old ^ a->compare) & a->compare_mask)
		return old;
	return (old & ~a->swap_mask) | (a->operand & a->swap_mask);
}
