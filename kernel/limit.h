/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counts with a limit. */
#ifndef RDS_LIMIT_H
#define RDS_LIMIT_H

#include <linux/atomic.h>
#include <linux/types.h>

/* Take @n of what may be @max in all; false and nothing taken if that would be more.  Never more than the limit,
 * not for a moment either: what is taken back would make another thread fail that had room.  Any context.
 */
static inline bool rds_limit_take(atomic64_t *used, u64 n, u64 max)
{
	s64 old = atomic64_read(used);

	do {
		if (old + n > max)
			return false;
	} while (!atomic64_try_cmpxchg(used, &old, old + n));
	return true;
}

static inline void rds_limit_give(atomic64_t *used, u64 n)
{
	atomic64_sub(n, used);
}

#endif
