/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Pinned user pages, charged to their owner's RLIMIT_MEMLOCK. */
#ifndef RDS_PIN_H
#define RDS_PIN_H

#include <linux/scatterlist.h>
#include "atomic.h"
#include "rds_uapi.h"

struct mm_struct;
struct rds_domain;
struct rds_sock;

/* Zeroed: nothing pinned. */
struct rds_pin {
	struct rds_sock	*rs;		/* for whom; held by whoever has the pages pinned */
	struct rds_domain *domain;	/* on whose account; NULL, or with a reference */
	struct mm_struct *mm;		/* who is charged; holds mmgrab() */
	struct page	**pages;
	unsigned int	nr_pages;	/* pinned and charged */
	bool		writable;
	struct sg_table	sgt;		/* byte-exact, one entry a page */
};

/* Pin the current process's @nr ranges @iov, which together touch @pages pages and have been
 * checked (cmsg.h), for as long as it takes.  @writable: the device writes into them.  @domain: whose
 * device will use them; NULL: none is known.
 *
 * Sleeps; no lock may be held.  Returns 0, or with nothing pinned or charged:
 * -ENOMEM (the memlock limit, one of the socket or its namespace, or no memory), -EFAULT (not mapped, or not with this access),
 * -EOPNOTSUPP (the kernel forbids a long-term pin of this mapping).
 */
int rds_pin_user(struct rds_pin *pin, struct rds_sock *rs, struct rds_domain *domain,
		 const struct rds_iovec *iov, unsigned int nr, unsigned int pages, bool writable);

/* Release and uncharge.  Sleeps.  Nothing happens if nothing is pinned. */
void rds_pin_release(struct rds_pin *pin);

/* The same in any context, as far as it can be had there: false if rds_pin_release() has to do the rest, which is all
 * of it if the pages are writable, as they are locked to be marked dirty.
 */
bool rds_pin_try_release(struct rds_pin *pin);

/* Copy @len bytes between two sets of pages, from byte @src_off of one to byte @dst_off of the
 * other.  Both ranges must lie inside.  May sleep.
 */
void rds_pin_copy(struct rds_pin *dst, u32 dst_off, struct rds_pin *src, u32 src_off, u32 len);

/* Let @a work on the 8 bytes at byte @offset, where their address is a multiple of 8, in one step for
 * every CPU.  Returns what was there.  Does not sleep.
 */
u64 rds_pin_atomic(struct rds_pin *pin, u32 offset, const struct rds_atomic *a);

/* Store @value in the first 8 bytes, whose address is a multiple of 8.  Does not sleep. */
void rds_pin_store(struct rds_pin *pin, u64 value);

#endif
