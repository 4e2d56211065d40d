// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions: who has one, and that it is revoked once and its pages let go. */
#include "../mr.h"

#include "../deliver.h"
#include "../inc.h"
#include "../wire.h"
#include "fixture.h"

static u64 make_mr(struct kunit *test, struct rds_sock *rs, u64 flags)
{
	u64 cookie = 0;

	KUNIT_ASSERT_EQ(test, fixture_get_mr(rs, fixture_user.rw + 100, PAGE_SIZE, flags, &cookie), 0);
	return cookie;
}

/* So many exist and are charged, two pages each. */
static void expect_mrs(struct kunit *test, unsigned int count)
{
	KUNIT_EXPECT_EQ(test, fake.registered - fake.unregistered, count);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 2 * count);
}

static void mr_made_and_freed(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u64 cookie = make_mr(test, rs, 0);

	expect_mrs(test, 1);
	KUNIT_EXPECT_EQ(test, rds_cookie_rkey(cookie), fake.last_rkey);
	KUNIT_EXPECT_EQ(test, rds_cookie_offset(cookie), 100);
	KUNIT_EXPECT_TRUE(test, rds_mr_owned(rs, cookie));
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), 0);
	expect_mrs(test, 0);
	KUNIT_EXPECT_FALSE(test, rds_mr_owned(rs, cookie));
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), -EINVAL);	/* twice */
	KUNIT_EXPECT_EQ(test, fake.unregistered, 1);
}

/* A key is its owner's alone; to free it all of the cookie counts, to send it the key. */
static void mr_of_somebody_else(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_sock *other = fixture_socket(test, 1, PORT_B);
	u64 cookie = make_mr(test, rs, RDS_RDMA_USE_ONCE);

	KUNIT_EXPECT_FALSE(test, rds_mr_owned(other, cookie));
	KUNIT_EXPECT_EQ(test, rds_mr_free(other, cookie), -EINVAL);
	KUNIT_EXPECT_NULL(test, rds_mr_used(other, rds_cookie_rkey(cookie)));
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie ^ 1ull << 32), -EINVAL);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, 0), -EINVAL);
	expect_mrs(test, 1);
	KUNIT_EXPECT_TRUE(test, rds_mr_owned(rs, cookie));
	KUNIT_EXPECT_TRUE(test, rds_mr_owned(rs, cookie ^ 1ull << 32));
	KUNIT_EXPECT_FALSE(test, rds_mr_owned(other, cookie ^ 1ull << 32));
	KUNIT_EXPECT_FALSE(test, rds_mr_owned(rs, cookie + 1));
}

/* Memory in fixture_user: pages from its start, or beside it. */
enum where { RW, END, RO };

struct bad_row {
	const char	*name;
	enum where	where;
	u64		offset;
	u64		bytes;
	u64		flags;
	int		transport_err;
	int		err;
};

static const struct bad_row bad_rows[] = {
	{ "nothing", RW, 0, 0, 0, 0, -EINVAL },
	{ "wraps", RW, 0, U64_MAX, 0, 0, -EINVAL },
	{ "too many pages", RW, 1, RDS_MSG_MAX + PAGE_SIZE, 0, 0, -EMSGSIZE },
	{ "not mapped", END, 0, 1, 0, 0, -EFAULT },
	{ "end not mapped", END, -PAGE_SIZE, PAGE_SIZE + 1, 0, 0, -EFAULT },
	{ "writing to what is read-only", RO, 0, 10, RDS_RDMA_READWRITE, 0, -EFAULT },
	{ "device has no keys", RW, 0, 10, 0, -ENOMEM, -ENOMEM },
	{ "device is away", RW, 0, 10, 0, -EAGAIN, -EAGAIN },
	{ "device fails", RW, 0, 10, RDS_RDMA_USE_ONCE, -EIO, -EIO },
};

static void bad_desc(const struct bad_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(bad, bad_rows, bad_desc);

static u64 address(enum where where)
{
	switch (where) {
	case RW:
		return fixture_user.rw;
	case END:
		return fixture_user.rw + FIXTURE_PAGES * PAGE_SIZE;
	case RO:
		return fixture_user.ro;
	}
	return 0;
}

static void mr_failure_leaves_nothing(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	unsigned int domain_refs = refcount_read(&fake.domain->ref);
	u64 cookie = 0;

	fake.mr_err = row->transport_err;
	KUNIT_EXPECT_EQ(test, fixture_get_mr(rs, address(row->where) + row->offset, row->bytes, row->flags,
					     &cookie), row->err);
	expect_mrs(test, 0);
	KUNIT_EXPECT_EQ(test, cookie, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->mrs));
	KUNIT_EXPECT_EQ(test, refcount_read(&fake.domain->ref), domain_refs);
}

static void mr_of_an_unbound_socket(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, 0);
	u64 cookie;

	KUNIT_EXPECT_EQ(test, fixture_get_mr(rs, fixture_user.rw, 10, 0, &cookie), -ENOTCONN);
}

/* What can only be read can still be read by a peer. */
static void mr_of_read_only_memory(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_mr *mr;
	u64 cookie;

	KUNIT_ASSERT_EQ(test, fixture_get_mr(rs, fixture_user.ro, 10, 0, &cookie), 0);
	mr = list_first_entry(&rs->mrs, struct rds_mr, sock_item);
	KUNIT_EXPECT_FALSE(test, mr->pin.writable);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 1);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), 0);
}

/* Used up by a message: revoked once, and never again by its owner. */
static void mr_use_once(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u64 cookie = make_mr(test, rs, RDS_RDMA_USE_ONCE);
	u32 rkey = rds_cookie_rkey(cookie);
	struct rds_mr *mr = rds_mr_used(rs, rkey);

	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_EXPECT_NULL(test, rds_mr_used(rs, rkey));
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), -EINVAL);
	rds_mr_wait_revoked(mr);
	rds_mr_put(mr);
	rds_mr_flush(rs);
	expect_mrs(test, 0);
	KUNIT_EXPECT_EQ(test, fake.unregistered, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&rs->revoking));
}

static void mr_use_often(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u64 cookie = make_mr(test, rs, RDS_RDMA_READWRITE);

	KUNIT_EXPECT_NULL(test, rds_mr_used(rs, rds_cookie_rkey(cookie)));
	KUNIT_EXPECT_NULL(test, rds_mr_used(rs, 12345));
	expect_mrs(test, 1);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), 0);
}

/* The message that tells of the use has the region until it is read. */
static void mr_used_by_a_message(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u64 cookie = make_mr(test, rs, RDS_RDMA_USE_ONCE);
	struct in6_addr from = fake_addr(2), to = fake_addr(1);
	struct rds_header hdr;
	struct rds_inc *inc;

	rds_header_init(&hdr, 1, 0, htons(PORT_B), htons(PORT_A));
	KUNIT_ASSERT_EQ(test, rds_ext_add_rdma(&hdr, rds_cookie_rkey(cookie)), 0);
	inc = rds_inc_alloc(&hdr, &from, &to, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, inc);
	rds_deliver(fixture(test)->rn, inc);
	inc = rds_sock_take(rs, false);
	KUNIT_ASSERT_NOT_NULL(test, inc);
	KUNIT_EXPECT_NOT_NULL(test, inc->mr);
	if (inc->mr)
		rds_mr_wait_revoked(inc->mr);
	expect_mrs(test, 0);
	rds_sock_consumed(rs, inc);
	rds_inc_put(inc);
}

/* Closing revokes all, used and unused. */
static void mr_closing_revokes(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	unsigned int i;
	u64 cookie;

	for (i = 0; i < 5; i++)
		cookie = make_mr(test, rs, i & 1 ? RDS_RDMA_USE_ONCE : 0);
	expect_mrs(test, 5);
	rds_mr_free_all(rs);
	expect_mrs(test, 0);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookie), -EINVAL);
	make_mr(test, rs, 0);		/* left to the end of the test */
}

/* A device that went away keeps its keys' records until they are freed, and serves no new ones. */
static void mr_device_removed(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u64 old = make_mr(test, rs, 0), once = make_mr(test, rs, RDS_RDMA_USE_ONCE), new = 0;

	fake_remove_device();
	KUNIT_EXPECT_EQ(test, fixture_get_mr(rs, fixture_user.rw, 10, 0, &new), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, rds_mr_owned(rs, old));
	KUNIT_EXPECT_TRUE(test, rds_mr_owned(rs, old ^ 1ull << 32));
	KUNIT_ASSERT_EQ(test, fake_add_device(), 0);
	KUNIT_EXPECT_EQ(test, fake.domains, 2);
	new = make_mr(test, rs, 0);
	expect_mrs(test, 3);
	/* a key of the old device is none of the new one's */
	KUNIT_EXPECT_NULL(test, rds_mr_used(rs, rds_cookie_rkey(once)));
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, old), 0);
	KUNIT_EXPECT_EQ(test, fake.domains, 2);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, once), 0);
	KUNIT_EXPECT_EQ(test, fake.domains, 1);		/* its last reference */
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, old), -EINVAL);
	KUNIT_EXPECT_EQ(test, rds_mr_free(rs, new), 0);
	expect_mrs(test, 0);
}

/* An address that is nowhere, or has come back, is where it was; one that has come to another device takes new keys
 * along, not old ones.
 */
static void mr_address_moved(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_domain *former = fake.domain;
	u64 cookies[4];
	unsigned int i;

	cookies[0] = make_mr(test, rs, 0);
	fake.domain = NULL;
	rds_transport_addresses_changed();
	cookies[1] = make_mr(test, rs, 0);
	fake.domain = former;
	rds_transport_addresses_changed();
	cookies[2] = make_mr(test, rs, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&former->nr_mrs), 3);
	KUNIT_ASSERT_EQ(test, fake_add_device(), 0);
	/* nobody looks while nothing is said to have changed */
	KUNIT_EXPECT_PTR_EQ(test, rs->domain, former);
	rds_transport_addresses_changed();
	cookies[3] = make_mr(test, rs, 0);
	KUNIT_EXPECT_PTR_EQ(test, rs->domain, fake.domain);
	KUNIT_EXPECT_EQ(test, atomic64_read(&former->nr_mrs), 3);
	KUNIT_EXPECT_EQ(test, atomic64_read(&fake.domain->nr_mrs), 1);
	for (i = 0; i < ARRAY_SIZE(cookies); i++)
		KUNIT_EXPECT_EQ(test, rds_mr_free(rs, cookies[i]), 0);
	KUNIT_EXPECT_EQ(test, fake.domains, 2);
	rds_domain_put(former);		/* the device's own */
	KUNIT_EXPECT_EQ(test, fake.domains, 1);
}

struct freeing {
	struct fixture_thread	thread;
	struct rds_sock		*rs;
	u64			cookie;
	int			err;
	bool			done;
};

static void free_it(void *data)
{
	struct freeing *freeing = data;

	freeing->err = rds_mr_free(freeing->rs, freeing->cookie);
	smp_store_release(&freeing->done, true);
}

/* Pages are not let go under a copy that goes on. */
static void mr_freed_under_a_copy(struct kunit *test)
{
	struct freeing *freeing = kunit_kzalloc(test, sizeof(*freeing), GFP_KERNEL);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_mr *mr;
	u32 rkey;

	KUNIT_ASSERT_NOT_NULL(test, freeing);
	freeing->rs = rs;
	freeing->cookie = make_mr(test, rs, 0);
	rkey = rds_cookie_rkey(freeing->cookie);
	mr = rds_mr_copy_begin(rs, rkey);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	fixture_start(&freeing->thread, free_it, freeing);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE(fake.unregistered)));
	KUNIT_EXPECT_NULL(test, rds_mr_copy_begin(rs, rkey));
	KUNIT_EXPECT_FALSE(test, smp_load_acquire(&freeing->done));
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 2);
	rds_mr_copy_end(mr);
	fixture_join(&freeing->thread);
	KUNIT_EXPECT_EQ(test, freeing->err, 0);
	expect_mrs(test, 0);
}

/* A key used up by a message, whose revocation takes as long as the copy that is returned. */
static struct rds_mr *use_up(struct kunit *test, struct rds_sock *rs)
{
	u32 rkey = rds_cookie_rkey(make_mr(test, rs, RDS_RDMA_USE_ONCE));
	struct rds_mr *copy = rds_mr_copy_begin(rs, rkey), *used;

	KUNIT_ASSERT_NOT_NULL(test, copy);
	used = rds_mr_used(rs, rkey);
	KUNIT_EXPECT_PTR_EQ(test, used, copy);
	if (used)
		rds_mr_put(used);
	return copy;
}

struct flushing {
	struct fixture_thread	thread;
	struct rds_sock		*rs;
	struct task_struct	*task;
	bool			done;
};

static void flush_it(void *data)
{
	struct flushing *flushing = data;

	smp_store_release(&flushing->task, current);
	rds_mr_flush(flushing->rs);
	smp_store_release(&flushing->done, true);
}

static bool sleeps(const struct flushing *flushing)
{
	struct task_struct *task = smp_load_acquire(&flushing->task);

	return task && READ_ONCE(task->__state) != TASK_RUNNING;
}

/* Who waits for revocations waits for those that had begun, and others can begin as many as they like. */
static void mr_flush_is_bounded(struct kunit *test)
{
	struct flushing *flushing = kunit_kzalloc(test, sizeof(*flushing), GFP_KERNEL);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_mr *before, *after;

	KUNIT_ASSERT_NOT_NULL(test, flushing);
	flushing->rs = rs;
	before = use_up(test, rs);
	fixture_start(&flushing->thread, flush_it, flushing);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(sleeps(flushing)));
	after = use_up(test, rs);
	KUNIT_EXPECT_FALSE(test, smp_load_acquire(&flushing->done));
	rds_mr_copy_end(before);
	KUNIT_EXPECT_TRUE(test, fixture_eventually(smp_load_acquire(&flushing->done)));
	KUNIT_EXPECT_FALSE(test, list_empty(&rs->revoking));
	rds_mr_copy_end(after);
	fixture_join(&flushing->thread);
	rds_mr_flush(rs);
	expect_mrs(test, 0);
}

/* Of several threads that free one key, and a message that uses it up, one wins. */
#define FREERS	4

static void mr_freed_at_once(struct kunit *test)
{
	struct freeing *freeing = kunit_kzalloc(test, FREERS * sizeof(*freeing), GFP_KERNEL);
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	unsigned int i, round, won;
	struct rds_mr *used;
	u64 cookie;

	KUNIT_ASSERT_NOT_NULL(test, freeing);
	for (round = 1; round <= 20; round++) {
		cookie = make_mr(test, rs, RDS_RDMA_USE_ONCE);
		for (i = 0; i < FREERS; i++) {
			freeing[i].rs = rs;
			freeing[i].cookie = cookie;
			fixture_start(&freeing[i].thread, free_it, &freeing[i]);
		}
		used = rds_mr_used(rs, rds_cookie_rkey(cookie));
		won = used ? 1 : 0;
		for (i = 0; i < FREERS; i++) {
			fixture_join(&freeing[i].thread);
			won += !freeing[i].err;
		}
		KUNIT_EXPECT_EQ(test, won, 1);
		if (used)
			rds_mr_put(used);
		rds_mr_flush(rs);
		KUNIT_EXPECT_EQ(test, fake.unregistered, round);
	}
	expect_mrs(test, 0);
}

static struct kunit_case mr_cases[] = {
	KUNIT_CASE(mr_made_and_freed),
	KUNIT_CASE(mr_of_somebody_else),
	KUNIT_CASE_PARAM(mr_failure_leaves_nothing, bad_gen_params),
	KUNIT_CASE(mr_of_an_unbound_socket),
	KUNIT_CASE(mr_of_read_only_memory),
	KUNIT_CASE(mr_use_once),
	KUNIT_CASE(mr_use_often),
	KUNIT_CASE(mr_used_by_a_message),
	KUNIT_CASE(mr_closing_revokes),
	KUNIT_CASE(mr_device_removed),
	KUNIT_CASE(mr_address_moved),
	KUNIT_CASE(mr_freed_under_a_copy),
	KUNIT_CASE(mr_flush_is_bounded),
	KUNIT_CASE(mr_freed_at_once),
	{}
};

FIXTURE_SUITE("rds_mr", mr_cases);
