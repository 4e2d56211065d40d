// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ring.h"

#define RING_MAX	(1u << 30)

/* The counters' difference is right across their wrap: size is at most 2^30. */
static u32 ring_used(const struct rds_ring *r)
{
	/* pairs with the releases in rds_ring_give() and rds_ring_take() */
	u32 tail = smp_load_acquire(&r->tail);
	u32 head = smp_load_acquire(&r->head);

	return head - tail;
}

int rds_ring_init(struct rds_ring *r, u32 size)
{
	if (!size || (size & (size - 1)) || size > RING_MAX)
		return -EINVAL;
	r->size = size;
	r->head = 0;
	r->tail = 0;
	return 0;
}

u32 rds_ring_room(const struct rds_ring *r)
{
	return r->size - ring_used(r);
}

bool rds_ring_take(struct rds_ring *r, u32 n, u32 *first)
{
	if (n > rds_ring_room(r))
		return false;
	*first = r->head;
	smp_store_release(&r->head, r->head + n);
	return true;
}

void rds_ring_untake(struct rds_ring *r, u32 n)
{
	smp_store_release(&r->head, r->head - n);
}

bool rds_ring_taken(const struct rds_ring *r, u32 index)
{
	return rds_ring_finished(r, index) != 0;
}

u32 rds_ring_finished(const struct rds_ring *r, u32 index)
{
	u32 distance;

	if (index >= r->size)
		return 0;
	distance = rds_ring_index(r, index - READ_ONCE(r->tail));
	return distance < ring_used(r) ? distance + 1 : 0;
}

void rds_ring_give(struct rds_ring *r, u32 n)
{
	smp_store_release(&r->tail, r->tail + n);
}
