// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: size of the ring, place of its counters, then what is done to it. */
#include "fuzz.h"
#include "../ring.h"

enum { TAKE, UNTAKE, FINISH, NR_ACTIONS };

struct start {
	u8	order;		/* size is 2^order, or no power of two with the highest bit */
	u32	counter;	/* where head and tail begin: near their wrap, too */
} __attribute__((packed));

struct action {
	u8	what;
	u16	n;
} __attribute__((packed));

/* Slots taken, in order, as numbers that do not wrap. */
struct model {
	u64	head;
	u64	tail;
};

static void take(struct rds_ring *r, struct model *m, u32 n)
{
	u32 first, room = r->size - (m->head - m->tail);

	MUST(rds_ring_take(r, n, &first) == (n <= room));
	if (n > room)
		return;
	MUST(first == (u32)m->head);
	m->head += n;
}

static void untake(struct rds_ring *r, struct model *m, u32 n)
{
	u32 used = m->head - m->tail;

	n = used ? n % (used + 1) : 0;
	rds_ring_untake(r, n);
	m->head -= n;
}

/* A completion tells of a slot, maybe of one that nobody took. */
static void finish(struct rds_ring *r, struct model *m, u32 index)
{
	u32 n = rds_ring_finished(r, index), used = m->head - m->tail;

	MUST(rds_ring_taken(r, index) == !!n);
	MUST(n <= used);
	if (index >= r->size)
		MUST(!n);
	else if (n)
		MUST(rds_ring_index(r, (u32)m->tail + n - 1) == index);
	else
		MUST(rds_ring_index(r, index - (u32)m->tail) >= used);
	rds_ring_give(r, n);
	m->tail += n;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct action a;
	struct rds_ring r;
	struct start s;
	struct model m;

	if (!fuzz_take(&in, &s, sizeof(s)))
		return 0;
	if (s.order & 0x80) {
		MUST(rds_ring_init(&r, s.counter) == (is_power_of_2(s.counter) &&
						      s.counter <= 1u << 30 ? 0 : -EINVAL));
		return 0;
	}
	MUST(!rds_ring_init(&r, 1u << s.order % 12));
	r.head = r.tail = s.counter;
	m.head = m.tail = (1ull << 32) + s.counter;

	while (fuzz_take(&in, &a, sizeof(a))) {
		if (a.what % NR_ACTIONS == TAKE)
			take(&r, &m, a.n);
		else if (a.what % NR_ACTIONS == UNTAKE)
			untake(&r, &m, a.n);
		else
			finish(&r, &m, a.n);
		MUST(rds_ring_room(&r) == r.size - (m.head - m.tail));
	}
	return 0;
}
