/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The bytes of a message: small ones inside, larger ones in pages. Shared by an outgoing and,
 * on loopback, an incoming message, and by the work requests that carry it.
 */
#ifndef RDS_PAYLOAD_H
#define RDS_PAYLOAD_H

#include <linux/bvec.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct iov_iter;

/* Up to here the bytes live inside.  256 bytes of a send slot less the header. */
#define RDS_INLINE_MAX	208u

struct rds_payload {
	refcount_t	ref;
	u32		len;
	u16		nr;		/* pages in use; 0: the bytes are inside */
	u16		max;		/* pages there is room for */
	struct bio_vec	bv[];		/* or u8 data[len], see rds_payload_data() */
};

static inline u8 *rds_payload_data(struct rds_payload *p)
{
	return (u8 *)p->bv;
}

static inline bool rds_payload_is_inline(const struct rds_payload *p)
{
	return !p->max;
}

/* Copy @len bytes (1 to RDS_MSG_MAX) from user space, into memory that the caller's control group pays
 * for.  Sleeps.  Pages are filled whole, so that fragment i is one piece of one page.  Returns
 * ERR_PTR(-EFAULT or -ENOMEM).
 */
struct rds_payload *rds_payload_from_iter(struct iov_iter *from, u32 len);

/* Room for @len bytes in all: inside if @len <= RDS_INLINE_MAX (then already "full": the caller
 * writes rds_payload_data()), else for pages that rds_payload_add_page() brings.  NULL: no memory.
 */
struct rds_payload *rds_payload_alloc(u32 len, gfp_t gfp);

/* Append @len bytes of @page from @offset; takes over the caller's page reference. */
void rds_payload_add_page(struct rds_payload *p, struct page *page, u32 offset, u32 len);

static inline struct rds_payload *rds_payload_get(struct rds_payload *p)
{
	refcount_inc(&p->ref);
	return p;
}

/* Any context; NULL is fine. */
void rds_payload_put(struct rds_payload *p);

/* The memory that it takes, in bytes. */
size_t rds_payload_mem(const struct rds_payload *p);

/* Copy the first @len bytes to user space; returns how many were copied.  Sleeps. */
size_t rds_payload_to_iter(struct rds_payload *p, u32 len, struct iov_iter *to);

/* The piece at @offset, which is a multiple of 4096: its page, place in it, and length up to
 * @len (no piece of 4096 crosses a page).  Only for payloads in pages.
 */
struct page *rds_payload_piece(const struct rds_payload *p, u32 offset, u32 *page_offset);

#endif
