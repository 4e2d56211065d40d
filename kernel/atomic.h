/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a remote atomic does to its 8 bytes. */
#ifndef RDS_ATOMIC_H
#define RDS_ATOMIC_H

#include "pure.h"
#include "rds_uapi.h"

struct rds_atomic {
	bool	cswp;		/* compare and swap, else fetch and add */
	u64	operand;	/* to be added, or swapped in */
	u64	compare;	/* cswp */
	u64	compare_mask;	/* cswp: the bits that are compared; */
	u64	swap_mask;	/* and those that are replaced */
	u64	nocarry_mask;	/* add: no carry leaves these bits, each the top of a field of its own */
};

/* Take operands and masks of control message @type from @args. */
void rds_atomic_init(struct rds_atomic *a, int type, const struct rds_atomic_args *args);

/* Does it what the unmasked operation would do?  Devices know no other. */
bool rds_atomic_is_plain(const struct rds_atomic *a);

/* The new value where @old is. */
u64 rds_atomic_apply(const struct rds_atomic *a, u64 old);

#endif
