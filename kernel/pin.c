// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pin.h"

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "limit.h"
#include "net.h"
#include "sock.h"
#include "stats.h"
#include "transport.h"

static bool rds_pin_charge_process(struct mm_struct *mm, unsigned int pages)
{
	bool unlimited = capable(CAP_IPC_LOCK);

	return rds_limit_take(&mm->pinned_vm, pages,
			      unlimited ? S64_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT);
}

/* The process's limit comes first: what it alone is to blame for is not counted. */
static int rds_pin_charge(struct rds_sock *rs, struct mm_struct *mm, unsigned int pages)
{
	const struct rds_sysctl *max = &rs->rn->sysctl;
	u64 bytes = (u64)pages << PAGE_SHIFT;

	if (!rds_pin_charge_process(mm, pages))
		return -ENOMEM;
	if (!rds_limit_take(&rs->pinned, bytes, READ_ONCE(max->socket_max_pinned_bytes)))
		goto uncharge_process;
	if (rds_limit_take(&rs->rn->pinned, bytes, READ_ONCE(max->max_pinned_bytes)))
		return 0;
	rds_limit_give(&rs->pinned, bytes);
uncharge_process:
	rds_limit_give(&mm->pinned_vm, pages);
	rds_stat_inc(rs->rn, limit_pinned);
	return -ENOMEM;
}

static void rds_pin_uncharge(struct rds_sock *rs, struct mm_struct *mm, unsigned int pages)
{
	u64 bytes = (u64)pages << PAGE_SHIFT;

	rds_limit_give(&rs->rn->pinned, bytes);
	rds_limit_give(&rs->pinned, bytes);
	rds_limit_give(&mm->pinned_vm, pages);
}

/* Pin one range behind what is pinned already and append its pieces at *@sg. */
static int rds_pin_range(struct rds_pin *pin, const struct rds_iovec *iov, unsigned int gup,
			 struct scatterlist **sg)
{
	struct page **pages = pin->pages + pin->nr_pages;
	u32 offset = offset_in_page(iov->addr);
	u64 left = iov->bytes;
	int want, got, i;

	want = DIV_ROUND_UP(offset + left, PAGE_SIZE);
	got = pin_user_pages_fast(iov->addr & PAGE_MASK, want, gup, pages);
	if (got != want) {
		if (got > 0)
			unpin_user_pages(pages, got);
		return got < 0 && got != -ENOMEM && got != -EOPNOTSUPP ? -EFAULT :
		       got < 0 ? got : -EFAULT;
	}
	pin->nr_pages += want;
	for (i = 0; i < want; i++) {
		u32 n = min_t(u64, left, PAGE_SIZE - offset);

		sg_set_page(*sg, pages[i], n, offset);
		*sg = sg_next(*sg);
		left -= n;
		offset = 0;
	}
	return 0;
}

static void rds_pin_unpin(struct rds_pin *pin)
{
	if (pin->writable)
		unpin_user_pages_dirty_lock(pin->pages, pin->nr_pages, true);
	else
		unpin_user_pages(pin->pages, pin->nr_pages);
}

/* What devices have is only told: it is no limit. */
static void rds_pin_account(struct rds_pin *pin, struct rds_domain *domain)
{
	u64 bytes = (u64)pin->nr_pages << PAGE_SHIFT;

	rds_stat_add(pin->rs->rn, pinned_bytes, bytes);
	if (!domain)
		return;
	pin->domain = rds_domain_get(domain);
	atomic64_add(bytes, &domain->pinned);
}

static void rds_pin_unaccount(struct rds_pin *pin)
{
	u64 bytes = (u64)pin->nr_pages << PAGE_SHIFT;

	rds_stat_add(pin->rs->rn, unpinned_bytes, bytes);
	if (!pin->domain)
		return;
	atomic64_sub(bytes, &pin->domain->pinned);
	rds_domain_put(pin->domain);
}

int rds_pin_user(struct rds_pin *pin, struct rds_sock *rs, struct rds_domain *domain,
		 const struct rds_iovec *iov, unsigned int nr, unsigned int pages, bool writable)
{
	/* an operation's, too: its peer may be away for ever */
	unsigned int gup = FOLL_LONGTERM | (writable ? FOLL_WRITE : 0);
	struct scatterlist *sg;
	unsigned int i;
	int err;

	err = rds_pin_charge(rs, current->mm, pages);
	if (err)
		return err;
	pin->rs = rs;
	pin->writable = writable;
	pin->nr_pages = 0;
	err = -ENOMEM;
	pin->pages = kvmalloc_array(pages, sizeof(*pin->pages), GFP_KERNEL_ACCOUNT);
	if (!pin->pages)
		goto uncharge;
	err = sg_alloc_table(&pin->sgt, pages, GFP_KERNEL_ACCOUNT);
	if (err)
		goto free_pages;
	sg = pin->sgt.sgl;
	for (i = 0; i < nr; i++) {
		err = rds_pin_range(pin, &iov[i], gup, &sg);
		if (err)
			goto unpin;
	}
	pin->mm = current->mm;
	mmgrab(pin->mm);
	rds_pin_account(pin, domain);
	return 0;

unpin:
	/* nothing was written to them */
	unpin_user_pages(pin->pages, pin->nr_pages);
	sg_free_table(&pin->sgt);
free_pages:
	kvfree(pin->pages);
uncharge:
	rds_pin_uncharge(rs, current->mm, pages);
	memset(pin, 0, sizeof(*pin));
	return err;
}

/* Leaves the reference to the process's memory to the caller. */
static struct mm_struct *rds_pin_let_go(struct rds_pin *pin)
{
	struct mm_struct *mm = pin->mm;

	if (pin->pages) {
		rds_pin_unpin(pin);
		sg_free_table(&pin->sgt);
		kvfree(pin->pages);
		rds_pin_uncharge(pin->rs, mm, pin->nr_pages);
		rds_pin_unaccount(pin);
	}
	memset(pin, 0, sizeof(*pin));
	return mm;
}

void rds_pin_release(struct rds_pin *pin)
{
	struct mm_struct *mm = rds_pin_let_go(pin);

	if (mm)
		mmdrop(mm);
}

bool rds_pin_try_release(struct rds_pin *pin)
{
	struct mm_struct *mm;

	if (pin->writable)
		return false;
	mm = rds_pin_let_go(pin);
	/* the last mmdrop() takes locks that are not for softirq */
	if (!mm || atomic_add_unless(&mm->mm_count, -1, 1))
		return true;
	pin->mm = mm;
	return false;
}

/* A place in a scatterlist whose entries lie in one page each. */
struct rds_pin_cursor {
	struct scatterlist	*sg;
	u32			offset;
};

static void rds_pin_seek(struct rds_pin_cursor *c, struct rds_pin *pin, u32 offset)
{
	c->sg = pin->sgt.sgl;
	c->offset = offset;
	while (c->sg && c->offset >= c->sg->length) {
		c->offset -= c->sg->length;
		c->sg = sg_next(c->sg);
	}
}

static void rds_pin_advance(struct rds_pin_cursor *c, u32 n)
{
	c->offset += n;
	if (c->offset < c->sg->length)
		return;
	c->offset = 0;
	c->sg = sg_next(c->sg);
}

void rds_pin_copy(struct rds_pin *dst, u32 dst_off, struct rds_pin *src, u32 src_off, u32 len)
{
	struct rds_pin_cursor d, s;

	rds_pin_seek(&d, dst, dst_off);
	rds_pin_seek(&s, src, src_off);
	while (len && d.sg && s.sg) {
		u32 n = min3(len, d.sg->length - d.offset, s.sg->length - s.offset);

		memcpy_page(sg_page(d.sg), d.sg->offset + d.offset,
			    sg_page(s.sg), s.sg->offset + s.offset, n);
		rds_pin_advance(&d, n);
		rds_pin_advance(&s, n);
		len -= n;
		cond_resched();	/* up to RDS_RDMA_MAX */
	}
}

u64 rds_pin_atomic(struct rds_pin *pin, u32 offset, const struct rds_atomic *a)
{
	struct rds_pin_cursor c;
	u64 *word, old;
	void *page;

	rds_pin_seek(&c, pin, offset);
	page = kmap_local_page(sg_page(c.sg));
	word = page + c.sg->offset + c.offset;
	old = READ_ONCE(*word);
	while (!try_cmpxchg64(word, &old, rds_atomic_apply(a, old)))
		;
	kunmap_local(page);
	return old;
}

void rds_pin_store(struct rds_pin *pin, u64 value)
{
	struct scatterlist *sg = pin->sgt.sgl;
	void *page = kmap_local_page(sg_page(sg));

	WRITE_ONCE(*(u64 *)(page + sg->offset), value);
	kunmap_local(page);
}
