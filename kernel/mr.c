// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mr.h"

#include <linux/capability.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include "cmsg.h"
#include "limit.h"
#include "msg.h"
#include "net.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"

static_assert(sizeof(struct rds_mr_key) == 8 + sizeof(void *));	/* hashed: no holes */

static const struct rhashtable_params rds_mr_params = {
	.key_len		= sizeof(struct rds_mr_key),
	.key_offset		= offsetof(struct rds_mr, key),
	.head_offset		= offsetof(struct rds_mr, node),
	.automatic_shrinking	= true,
};

static void rds_mr_release(struct kref *ref)
{
	struct rds_mr *mr = container_of(ref, struct rds_mr, ref);

	rds_domain_put(mr->key.domain);
	kfree_rcu(mr, rcu);
}

void rds_mr_put(struct rds_mr *mr)
{
	kref_put(&mr->ref, rds_mr_release);
}

/* Taking off: whoever gets true has the table's reference and revokes.  In one step it is among those that are
 * being revoked, so that nobody who waits for these can miss it.
 */
static bool rds_mr_unlink(struct rds_mr *mr)
{
	struct rds_sock *rs = mr->rs;
	bool mine;

	spin_lock_bh(&rs->mr_lock);
	mine = mr->live;
	mr->live = false;
	if (mine) {
		mr->turn = rs->next_turn++;
		list_move_tail(&mr->sock_item, &rs->revoking);
	}
	spin_unlock_bh(&rs->mr_lock);
	if (mine)
		rhashtable_remove_fast(&mr->rn->mrs, &mr->node, rds_mr_params);
	return mine;
}

void rds_mr_copy_end(struct rds_mr *mr)
{
	if (atomic_dec_and_test(&mr->copies))
		complete(&mr->idle);
	rds_mr_put(mr);
}

static void rds_mr_uncount(struct rds_sock *rs)
{
	rds_limit_give(&rs->rn->nr_mrs, 1);
	rds_limit_give(&rs->nr_mrs, 1);
}

static void rds_mr_leave(struct rds_mr *mr)
{
	struct rds_sock *rs = mr->rs;

	spin_lock_bh(&rs->mr_lock);
	list_del_init(&mr->sock_item);
	spin_unlock_bh(&rs->mr_lock);
	rds_mr_uncount(rs);
	wake_up_var(&rs->revoking);
}

/* No longer live, or never: end every access, then let the pages go.  Drops the table's reference.  The caller
 * holds the socket.
 */
static void rds_mr_revoke(struct rds_mr *mr)
{
	struct rds_domain *domain = mr->key.domain;

	domain->trans->mr_unregister(domain, mr);
	atomic64_dec(&domain->nr_mrs);
	if (!atomic_dec_and_test(&mr->copies))
		wait_for_completion(&mr->idle);
	rds_pin_release(&mr->pin);
	rds_stat_inc(mr->rn, mr_revoked);
	trace_rds_mr_revoke(mr->rs, mr->cookie, mr->len, 0);
	complete_all(&mr->revoked);
	rds_mr_leave(mr);
	rds_mr_put(mr);
}

static void rds_mr_work(struct work_struct *work)
{
	struct rds_mr *mr = container_of(work, struct rds_mr, work);
	struct rds_sock *rs = mr->rs;

	rds_mr_revoke(mr);
	sock_put(&rs->sk);
}

static int rds_mr_pin(struct rds_mr *mr, const struct rds_get_mr_args *args, u32 pages)
{
	struct rds_domain *domain = mr->key.domain;
	int err;

	err = rds_pin_user(&mr->pin, mr->rs, domain, &args->vec, 1, pages, true);
	/* a mapping that its owner cannot write to can still be read from, unless asked for more */
	if (err == -EFAULT && !(args->flags & RDS_RDMA_READWRITE))
		err = rds_pin_user(&mr->pin, mr->rs, domain, &args->vec, 1, pages, false);
	return err;
}

/* One more region, of the socket and of the namespace; false: too many. */
static bool rds_mr_count(struct rds_sock *rs)
{
	struct rds_net *rn = rs->rn;

	if (!rds_limit_take(&rs->nr_mrs, 1, READ_ONCE(rn->sysctl.socket_max_mrs)))
		goto refuse;
	if (rds_limit_take(&rn->nr_mrs, 1, READ_ONCE(rn->sysctl.max_mrs)))
		return true;
	rds_limit_give(&rs->nr_mrs, 1);
refuse:
	rds_stat_inc(rn, limit_mrs);
	return false;
}

static struct rds_mr *rds_mr_alloc(struct rds_sock *rs, const struct rds_get_mr_args *args)
{
	struct rds_mr *mr;

	if (!rds_mr_count(rs))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		rds_mr_uncount(rs);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&mr->ref);
	INIT_LIST_HEAD(&mr->sock_item);
	atomic_set(&mr->copies, 1);
	init_completion(&mr->idle);
	init_completion(&mr->revoked);
	INIT_WORK(&mr->work, rds_mr_work);
	mr->rn = rs->rn;
	mr->rs = rs;
	mr->offset = offset_in_page(args->vec.addr);
	mr->len = args->vec.bytes;
	mr->use_once = args->flags & RDS_RDMA_USE_ONCE;
	return mr;
}

static int rds_mr_publish(struct rds_sock *rs, struct rds_mr *mr)
{
	int err;

	/* the table first: who finds a region on the list may take it off both */
	err = rhashtable_lookup_insert_fast(&mr->rn->mrs, &mr->node, rds_mr_params);
	if (err)
		return -ENOMEM;
	spin_lock_bh(&rs->mr_lock);
	mr->live = true;
	list_add_tail(&mr->sock_item, &rs->mrs);
	spin_unlock_bh(&rs->mr_lock);
	return 0;
}

static int rds_mr_check(struct rds_sock *rs, const struct rds_get_mr_args *args, u32 *pages)
{
	const struct rds_transport *trans = rds_sock_trans(rs);
	int err;

	if (!trans)
		return -ENOTCONN;
	if (!trans->mr_register)
		return -EOPNOTSUPP;
	err = rds_mr_check_range(&args->vec, PAGE_SIZE, RDS_MR_MAX_PAGES, pages);
	if (err == -EINVAL && args->vec.bytes)
		return err;
	if (!rlimit(RLIMIT_MEMLOCK) && !capable(CAP_IPC_LOCK))
		return -EPERM;
	return err;
}

/* A registered region with the table's reference for the caller, not yet published. */
static struct rds_mr *rds_mr_register(struct rds_sock *rs, const struct rds_get_mr_args *args,
				      u32 pages)
{
	struct rds_domain *domain;
	struct rds_mr *mr;
	int err;

	domain = rds_sock_domain(rs);
	if (IS_ERR(domain))
		return ERR_CAST(domain);
	mr = pages > domain->max_mr_pages ? ERR_PTR(-EMSGSIZE) : rds_mr_alloc(rs, args);
	if (IS_ERR(mr)) {
		rds_domain_put(domain);
		return mr;
	}
	mr->key.domain = domain;	/* put with the region */
	err = rds_mr_pin(mr, args, pages);
	if (err)
		goto put;
	err = domain->trans->mr_register(domain, mr);
	if (err)
		goto unpin;
	atomic64_inc(&domain->nr_mrs);
	return mr;

unpin:
	rds_pin_release(&mr->pin);
put:
	rds_mr_uncount(rs);
	rds_mr_put(mr);
	return ERR_PTR(err);
}

int rds_mr_create(struct rds_sock *rs, const struct rds_get_mr_args *args, u64 *cookie)
{
	struct rds_mr *mr;
	u32 pages;
	u64 value;
	int err;

	err = rds_mr_check(rs, args, &pages);
	mr = err ? ERR_PTR(err) : rds_mr_register(rs, args, pages);
	if (IS_ERR(mr)) {
		trace_rds_mr_failed(rs, 0, min_t(u64, args->vec.bytes, U32_MAX), PTR_ERR(mr));
		return PTR_ERR(mr);
	}
	value = mr->cookie;
	rds_stat_inc(rs->rn, mr_registered);
	trace_rds_mr_register(rs, value, mr->len, 0);
	err = rds_mr_publish(rs, mr);
	if (err) {
		rds_mr_revoke(mr);
		return err;
	}
	/* from here on another thread may free it: do not touch mr */
	if (args->cookie_addr && put_user(value, (u64 __user *)u64_to_user_ptr(args->cookie_addr))) {
		rds_mr_free(rs, value);
		return -EFAULT;
	}
	if (cookie)
		*cookie = value;
	return 0;
}

static struct rds_mr *rds_mr_lookup(struct rds_net *rn, struct rds_domain *domain, u32 rkey)
{
	struct rds_mr_key key = { .domain = domain, .rkey = rkey };
	struct rds_mr *mr;

	rcu_read_lock();
	mr = rhashtable_lookup(&rn->mrs, &key, rds_mr_params);
	if (mr && !kref_get_unless_zero(&mr->ref))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

/* What of a cookie names a region: all of it, or the key alone. */
#define RDS_MR_BY_COOKIE	U64_MAX
#define RDS_MR_BY_KEY		((u64)U32_MAX)

static bool rds_mr_is(const struct rds_mr *mr, u64 cookie, u64 mask)
{
	return !((mr->cookie ^ cookie) & mask);
}

/* Regions of a device that has gone are not found by the socket's present domain. */
static struct rds_mr *rds_mr_search(struct rds_sock *rs, u64 cookie, u64 mask)
{
	struct rds_mr *mr, *found = NULL;

	spin_lock_bh(&rs->mr_lock);
	list_for_each_entry(mr, &rs->mrs, sock_item) {
		if (!rds_mr_is(mr, cookie, mask))
			continue;
		kref_get(&mr->ref);
		found = mr;
		break;
	}
	spin_unlock_bh(&rs->mr_lock);
	return found;
}

/* The region of @rs that @mask of @cookie names, with a reference. */
static struct rds_mr *rds_mr_find(struct rds_sock *rs, u64 cookie, u64 mask)
{
	struct rds_domain *domain = rds_sock_domain(rs);
	struct rds_mr *mr = NULL;

	if (!IS_ERR(domain)) {
		mr = rds_mr_lookup(rs->rn, domain, rds_cookie_rkey(cookie));
		rds_domain_put(domain);
	}
	if (mr && mr->rs == rs && rds_mr_is(mr, cookie, mask))
		return mr;
	if (mr)
		rds_mr_put(mr);
	return rds_mr_search(rs, cookie, mask);
}

int rds_mr_free(struct rds_sock *rs, u64 cookie)
{
	struct rds_mr *mr = rds_mr_find(rs, cookie, RDS_MR_BY_COOKIE);
	int err = -EINVAL;

	if (!mr)
		return err;
	if (rds_mr_unlink(mr)) {
		rds_mr_revoke(mr);
		err = 0;
	}
	rds_mr_put(mr);
	return err;
}

bool rds_mr_owned(struct rds_sock *rs, u64 cookie)
{
	struct rds_mr *mr = rds_mr_find(rs, cookie, RDS_MR_BY_KEY);

	if (!mr)
		return false;
	rds_mr_put(mr);
	return true;
}

/* The domain is no more than part of the key here: one that has died finds nothing. */
static struct rds_mr *rds_mr_lookup_from(struct rds_sock *rs, u32 rkey)
{
	struct rds_domain *domain;

	spin_lock_bh(&rs->peer_lock);
	domain = rs->domain;
	spin_unlock_bh(&rs->peer_lock);
	return rds_mr_lookup(rs->rn, domain, rkey);
}

struct rds_mr *rds_mr_used(struct rds_sock *rs, u32 rkey)
{
	struct rds_mr *mr = rds_mr_lookup_from(rs, rkey);

	if (!mr)
		return NULL;
	if (mr->rs != rs || !mr->use_once || !rds_mr_unlink(mr)) {
		rds_mr_put(mr);
		return NULL;
	}
	/* the work has the table's reference, and the socket's to say that it is through */
	sock_hold(&rs->sk);
	rds_msg_queue_work(&mr->work);
	return mr;
}

struct rds_mr *rds_mr_copy_begin(struct rds_sock *rs, u32 rkey)
{
	struct rds_mr *mr = rds_mr_lookup_from(rs, rkey);

	if (!mr)
		return NULL;
	if (atomic_inc_not_zero(&mr->copies))
		return mr;
	rds_mr_put(mr);
	return NULL;
}

void rds_mr_wait_revoked(struct rds_mr *mr)
{
	wait_for_completion(&mr->revoked);
}

/* Are all revocations over whose turn was before @turn?  The list has them in that order. */
static bool rds_mr_revoked_before(struct rds_sock *rs, u64 turn)
{
	struct rds_mr *mr;
	bool over;

	spin_lock_bh(&rs->mr_lock);
	mr = list_first_entry_or_null(&rs->revoking, struct rds_mr, sock_item);
	over = !mr || mr->turn >= turn;
	spin_unlock_bh(&rs->mr_lock);
	return over;
}

void rds_mr_flush(struct rds_sock *rs)
{
	u64 turn;

	spin_lock_bh(&rs->mr_lock);
	turn = rs->next_turn;
	spin_unlock_bh(&rs->mr_lock);
	wait_var_event(&rs->revoking, rds_mr_revoked_before(rs, turn));
}

void rds_mr_free_all(struct rds_sock *rs)
{
	struct rds_mr *mr;

	for (;;) {
		spin_lock_bh(&rs->mr_lock);
		mr = list_first_entry_or_null(&rs->mrs, struct rds_mr, sock_item);
		if (mr)
			kref_get(&mr->ref);
		spin_unlock_bh(&rs->mr_lock);
		if (!mr)
			break;
		if (rds_mr_unlink(mr))
			rds_mr_revoke(mr);
		rds_mr_put(mr);
	}
	rds_mr_flush(rs);
}

int rds_mr_net_init(struct rds_net *rn)
{
	return rhashtable_init(&rn->mrs, &rds_mr_params);
}

void rds_mr_net_exit(struct rds_net *rn)
{
	rhashtable_destroy(&rn->mrs);
}
