/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Slots of a work queue, taken in order and given back in order.
 *
 * One context takes (the owner of the transmit pass), one gives back (the
 * completion handler); they need no common lock.  The counters run freely, a
 * slot's index is the counter modulo the size.
 */
#ifndef RDS_RING_H
#define RDS_RING_H

#include "pure.h"

struct rds_ring {
	u32	size;		/* a power of two, at most 2^30 */
	u32	head;		/* next to take; written by the taker */
	u32	tail;		/* oldest taken; written by the giver */
};

/* @size is rounded up to a power of two by nobody: returns -EINVAL unless it is one. */
int rds_ring_init(struct rds_ring *r, u32 size);

static inline u32 rds_ring_index(const struct rds_ring *r, u32 counter)
{
	return counter & (r->size - 1);
}

/* Slots that can be taken now.  For the taker: may grow at any moment, never shrinks. */
u32 rds_ring_room(const struct rds_ring *r);

/* Take @n slots.  Returns true, and the counter of the first in *@first; false and
 * nothing taken if there are fewer.  Slot @first + i has index rds_ring_index(first + i).
 */
bool rds_ring_take(struct rds_ring *r, u32 n, u32 *first);

/* The taker returns the last @n slots that it took and did not use. */
void rds_ring_untake(struct rds_ring *r, u32 n);

/* Is the slot with index @index taken? */
bool rds_ring_taken(const struct rds_ring *r, u32 index);

/* For the giver: how many slots are finished when the slot with index @index is
 * (itself included; work requests complete in order)?  0 if it is not taken.
 * Handle them from counter @r->tail on, then rds_ring_give() that many.
 */
u32 rds_ring_finished(const struct rds_ring *r, u32 index);

/* Give back the @n oldest taken slots.  What was done to them before is visible
 * to whoever takes them next.
 */
void rds_ring_give(struct rds_ring *r, u32 n);

#endif
