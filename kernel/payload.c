// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "payload.h"

#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "wire.h"

/* Every fragment must lie in one page, see rds_payload_piece(). */
static_assert(PAGE_SIZE % RDS_FRAG_LEN == 0);

struct rds_payload *rds_payload_alloc(u32 len, gfp_t gfp)
{
	/* pages may come in fragments of 4 KiB, whatever the page size */
	u16 max = len <= RDS_INLINE_MAX ? 0 : DIV_ROUND_UP(len, RDS_FRAG_LEN);
	struct rds_payload *p;

	p = kmalloc(sizeof(*p) + (max ? max * sizeof(p->bv[0]) : len), gfp);
	if (!p)
		return NULL;
	refcount_set(&p->ref, 1);
	p->len = max ? 0 : len;
	p->nr = 0;
	p->max = max;
	return p;
}

void rds_payload_add_page(struct rds_payload *p, struct page *page, u32 offset, u32 len)
{
	struct bio_vec *bv;

	if (WARN_ON_ONCE(p->nr >= p->max)) {
		put_page(page);
		return;
	}
	bv = &p->bv[p->nr++];
	bv->bv_page = page;
	bv->bv_offset = offset;
	bv->bv_len = len;
	p->len += len;
}

void rds_payload_put(struct rds_payload *p)
{
	unsigned int i;

	if (!p || !refcount_dec_and_test(&p->ref))
		return;
	for (i = 0; i < p->nr; i++)
		put_page(p->bv[i].bv_page);
	kfree(p);
}

size_t rds_payload_mem(const struct rds_payload *p)
{
	if (!p->max)
		return sizeof(*p) + p->len;
	return struct_size(p, bv, p->max) + p->nr * PAGE_SIZE;
}

static int rds_payload_fill_page(struct rds_payload *p, struct iov_iter *from, u32 len)
{
	struct page *page = alloc_page(GFP_KERNEL_ACCOUNT);

	if (!page)
		return -ENOMEM;
	rds_payload_add_page(p, page, 0, len);
	return copy_page_from_iter(page, 0, len, from) == len ? 0 : -EFAULT;
}

struct rds_payload *rds_payload_from_iter(struct iov_iter *from, u32 len)
{
	struct rds_payload *p = rds_payload_alloc(len, GFP_KERNEL_ACCOUNT);
	u32 done, n;
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	if (rds_payload_is_inline(p)) {
		if (copy_from_iter_full(rds_payload_data(p), len, from))
			return p;
		err = -EFAULT;
		goto put;
	}
	for (done = 0; done < len; done += n) {
		n = min_t(u32, len - done, PAGE_SIZE);
		err = rds_payload_fill_page(p, from, n);
		if (err)
			goto put;
	}
	return p;

put:
	rds_payload_put(p);
	return ERR_PTR(err);
}

size_t rds_payload_to_iter(struct rds_payload *p, u32 len, struct iov_iter *to)
{
	size_t done = 0;
	unsigned int i;
	size_t n;

	if (rds_payload_is_inline(p))
		return copy_to_iter(rds_payload_data(p), len, to);
	for (i = 0; i < p->nr && done < len; i++) {
		struct bio_vec *bv = &p->bv[i];

		n = min_t(size_t, len - done, bv->bv_len);
		if (copy_page_to_iter(bv->bv_page, bv->bv_offset, n, to) != n)
			break;
		done += n;
	}
	return done;
}

struct page *rds_payload_piece(const struct rds_payload *p, u32 offset, u32 *page_offset)
{
	const struct bio_vec *bv = &p->bv[offset / PAGE_SIZE];

	*page_offset = bv->bv_offset + offset % PAGE_SIZE;
	return bv->bv_page;
}
