/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Random socket calls: what the parts share.
 *
 * Call number N of thread T is a function of the seed, T and N alone: each draws from a generator of
 * its own.  So a run of one thread is repeated by its seed, whatever it met, and calls can be looked at
 * one by one.
 *
 * User memory that calls are pointed at is the arena.  The program itself never touches it, so that any
 * part of it may be away, read-only or somebody else's at any time.
 */
#ifndef SOCKFUZZ_H
#define SOCKFUZZ_H

#include "rds_test.h"

#define FZ_THREADS	4
#define FZ_SOCKS	24
#define FZ_KEYS		64
#define FZ_RING		64		/* calls kept of each thread; a power of 2 */
#define FZ_TEXT		168
#define FZ_ARENA	(4ul << 20)	/* the first half is anonymous, the second a file's */
#define FZ_HALF		(FZ_ARENA / 2)
#define FZ_GUARD	(2ul << 20)	/* nothing, on both sides of it: calls are pointed across its ends */

/* One thread as the watching process sees it. */
struct fz_thread {
	pid_t		tid;
	int64_t		since;		/* when its call began, 0 between calls */
	uint64_t	calls;
	char		ring[FZ_RING][FZ_TEXT];
};

/* Between the process that calls and the one that watches. */
struct fz_shared {
	bool			stop;
	struct fz_thread	thread[FZ_THREADS];
};

struct fz_world {
	struct fz_shared	*shared;
	uint64_t		seed;
	uint64_t		max_calls;	/* of each thread */
	bool			rxe;
	bool			verbose;
	int			fd[FZ_SOCKS];	/* sockets, or -1 */
	rds_rdma_cookie_t	key[FZ_KEYS];	/* some valid, some no longer */
	char			*arena;
	int			arena_fd;
	union rds_addr		addr[8];	/* ours, usable */
	unsigned int		nr_addrs;
};

/* One call. */
struct fz_call {
	struct fz_world		*w;
	struct fz_thread	*t;
	uint64_t		rng;
	char			*text;		/* in the ring */
	size_t			used;
	bool			in_child;
};

/* --- drawing --- */

static inline uint64_t fz_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline uint64_t fz_u64(struct fz_call *c)
{
	c->rng += 0x9e3779b97f4a7c15ull;
	return fz_mix(c->rng);
}

/* 0 to @n - 1 */
static inline unsigned int fz_below(struct fz_call *c, unsigned int n)
{
	return (fz_u64(c) >> 32) * n >> 32;
}

/* True once in @n times. */
static inline bool fz_rare(struct fz_call *c, unsigned int n)
{
	return !fz_below(c, n);
}

#endif /* SOCKFUZZ_H */
