// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cong.h"

#include <linux/highmem.h>
#include <linux/rbtree.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "conn.h"
#include "net.h"
#include "notify.h"
#include "payload.h"
#include "rds_uapi.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"

/* Ports of @map have refused @rs, which has not been told of all of them that they are free again.  Of each two there is one
 * at most.  It holds the map, not the socket, which takes its refusals back before it goes.
 */
struct rds_cong_refusal {
	struct rb_node		sock_node;	/* rs->cong_refusals, under rn->lock */
	struct list_head	map_item;	/* map->refusals, likewise */
	struct rds_sock		*rs;
	struct rds_cong_map	*map;
	u64			ports;		/* bit = port % 64; never 0 */
};

static const struct rhashtable_params rds_cong_params = {
	.key_len		= sizeof(struct in6_addr),
	.key_offset		= offsetof(struct rds_cong_map, addr),
	.head_offset		= offsetof(struct rds_cong_map, node),
	.automatic_shrinking	= true,
};

static struct rds_cong_map *rds_cong_map_alloc(struct rds_net *rn)
{
	struct rds_cong_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);

	if (!map)
		return NULL;
	/* on their own they fill an object of a size that there is */
	map->bits = kzalloc(RDS_CONG_MAP_LEN, GFP_KERNEL_ACCOUNT);
	if (!map->bits) {
		kfree(map);
		return NULL;
	}
	kref_init(&map->ref);
	map->rn = rn;
	init_waitqueue_head(&map->wait);
	INIT_LIST_HEAD(&map->refusals);
	spin_lock_init(&map->lock);
	INIT_LIST_HEAD(&map->conns);
	return map;
}

/* The table's readers look at the address, without a reference. */
static void rds_cong_map_free(struct rds_cong_map *map)
{
	kfree(map->bits);
	kfree_rcu(map, rcu);
}

static void rds_cong_map_release(struct kref *ref)
{
	struct rds_cong_map *map = container_of(ref, struct rds_cong_map, ref);

	if (map->hashed)
		rhashtable_remove_fast(&map->rn->maps, &map->node, rds_cong_params);
	rds_cong_map_free(map);
}

void rds_cong_map_put(struct rds_cong_map *map)
{
	if (map)
		kref_put(&map->ref, rds_cong_map_release);
}

struct rds_cong_map *rds_cong_map_remote(struct rds_net *rn)
{
	return rds_cong_map_alloc(rn);
}

static struct rds_cong_map *rds_cong_map_lookup(struct rds_net *rn, const struct in6_addr *addr)
{
	struct rds_cong_map *map;

	rcu_read_lock();
	map = rhashtable_lookup(&rn->maps, addr, rds_cong_params);
	if (map && !kref_get_unless_zero(&map->ref))
		map = NULL;
	rcu_read_unlock();
	return map;
}

struct rds_cong_map *rds_cong_map_local(struct rds_net *rn, const struct in6_addr *addr)
{
	struct rds_cong_map *map, *new;
	int err;

	for (;;) {
		map = rds_cong_map_lookup(rn, addr);
		if (map)
			return map;
		new = rds_cong_map_alloc(rn);
		if (!new)
			return ERR_PTR(-ENOMEM);
		new->addr = *addr;
		err = rhashtable_lookup_insert_fast(&rn->maps, &new->node, rds_cong_params);
		if (!err) {
			new->hashed = true;
			return new;
		}
		rds_cong_map_free(new);
		if (err != -EEXIST)
			return ERR_PTR(-ENOMEM);
		/* somebody else's, or one whose last reference is just being dropped */
		cond_resched();
	}
}

void rds_cong_add_conn(struct rds_conn *conn)
{
	spin_lock_bh(&conn->lmap->lock);
	list_add_tail(&conn->map_item, &conn->lmap->conns);
	spin_unlock_bh(&conn->lmap->lock);
}

void rds_cong_remove_conn(struct rds_conn *conn)
{
	spin_lock_bh(&conn->lmap->lock);
	list_del_init(&conn->map_item);
	spin_unlock_bh(&conn->lmap->lock);
}

/* Nobody finds @r any more; it waits on @gone for rds_cong_free_refusals(). */
static void rds_cong_take_refusal(struct rds_cong_refusal *r, struct list_head *gone)
{
	lockdep_assert_held(&r->map->rn->lock);
	rb_erase(&r->sock_node, &r->rs->cong_refusals);
	list_move(&r->map_item, gone);
}

/* Without rn->lock, and without looking at the socket. */
static void rds_cong_free_refusals(struct list_head *gone)
{
	struct rds_cong_refusal *r, *tmp;

	list_for_each_entry_safe(r, tmp, gone, map_item) {
		rds_cong_map_put(r->map);
		kfree(r);
	}
}

/* Does it concern the socket that ports @freed are free?  Without a monitor any port does, and all is told. */
static bool rds_cong_concerns(struct rds_cong_refusal *r, u64 freed)
{
	struct rds_sock *rs = r->rs;

	lockdep_assert_held(&rs->rn->lock);
	if (!rs->cong_monitor) {
		r->ports = 0;
		WRITE_ONCE(rs->cong_news, true);
		return true;
	}
	freed &= r->ports;
	r->ports &= ~freed;
	WRITE_ONCE(rs->cong_freed, rs->cong_freed | freed);
	return freed;
}

/* Wake whoever was refused by @map or is blocked because of it, of which ports @freed are free now: at least one, for
 * whoever waits has seen a bit set.
 */
static void rds_cong_wake(struct rds_cong_map *map, u64 freed)
{
	struct rds_net *rn = map->rn;
	struct rds_cong_refusal *r, *tmp;
	LIST_HEAD(gone);

	wake_up_all(&map->wait);
	spin_lock_bh(&rn->lock);
	list_for_each_entry_safe(r, tmp, &map->refusals, map_item) {
		if (rds_cong_concerns(r, freed))
			r->rs->sk.sk_data_ready(&r->rs->sk);
		if (!r->ports)
			rds_cong_take_refusal(r, &gone);
	}
	spin_unlock_bh(&rn->lock);
	/* not the map's last references: the caller has one */
	rds_cong_free_refusals(&gone);
}

/* Have each peer told, from the worker of its connection: we may hold a socket's lock. */
static void rds_cong_tell_peers(struct rds_cong_map *map)
{
	struct rds_conn *conn;

	lockdep_assert_held(&map->lock);
	/* the bit before map_due; pairs with the one in rds_xmit_next(), which takes map_due back and then reads the bits */
	smp_mb();
	list_for_each_entry(conn, &map->conns, map_item) {
		if (conn->key.trans->loopback)
			continue;
		rds_stat_inc(map->rn, cong_update_queued);
		/* one whose last reference is gone leaves the list in a moment */
		if (!kref_get_unless_zero(&conn->ref))
			continue;
		WRITE_ONCE(conn->path.map_due, true);
		rds_path_post(&conn->path, RDS_PATH_XMIT);
		/* not the last one: the table's goes after @conn has left the list */
		rds_conn_put(conn);
	}
}

void rds_cong_set_port(struct rds_cong_map *map, __be16 port)
{
	spin_lock_bh(&map->lock);
	if (rds_cong_bit_set(map->bits, be16_to_cpu(port))) {
		trace_rds_cong_set(map, port);
		rds_cong_tell_peers(map);
	}
	spin_unlock_bh(&map->lock);
}

void rds_cong_clear_port(struct rds_cong_map *map, __be16 port)
{
	bool changed;

	spin_lock_bh(&map->lock);
	changed = rds_cong_bit_clear(map->bits, be16_to_cpu(port));
	if (changed) {
		trace_rds_cong_clear(map, port);
		rds_cong_tell_peers(map);
	}
	spin_unlock_bh(&map->lock);
	if (changed)
		rds_cong_wake(map, RDS_CONG_MONITOR_MASK(be16_to_cpu(port)));
}

/* Replace @len bytes at @offset of @map; returns which ports became free. */
static u64 rds_cong_map_replace(struct rds_cong_map *map, u32 offset, const struct bio_vec *bv)
{
	const u8 *page = kmap_local_page(bv->bv_page);
	u64 freed;

	freed = rds_cong_part_cleared(map->bits + offset, page + bv->bv_offset, RDS_FRAG_LEN);
	memcpy(map->bits + offset, page + bv->bv_offset, RDS_FRAG_LEN);
	kunmap_local(page);
	return freed;
}

void rds_cong_map_update(struct rds_conn *conn, struct rds_payload *payload)
{
	struct rds_cong_map *map = conn->fmap;
	u64 freed = 0;
	u32 offset;

	if (payload->len != RDS_CONG_MAP_LEN)
		return;
	spin_lock_bh(&map->lock);
	for (offset = 0; offset < RDS_CONG_MAP_LEN; offset += RDS_FRAG_LEN)
		freed |= rds_cong_map_replace(map, offset, &payload->bv[offset / RDS_FRAG_LEN]);
	spin_unlock_bh(&map->lock);
	rds_stat_inc(map->rn, cong_update_received);
	trace_rds_cong_map(conn, freed);
	if (freed)
		rds_cong_wake(map, freed);
}

struct rds_payload *rds_cong_map_payload(struct rds_cong_map *map, gfp_t gfp)
{
	struct rds_payload *p = rds_payload_alloc(RDS_CONG_MAP_LEN, gfp);
	u32 offset, n;

	if (!p)
		return NULL;
	for (offset = 0; offset < RDS_CONG_MAP_LEN; offset += n) {
		struct page *page = alloc_page(gfp);

		if (!page) {
			rds_payload_put(p);
			return NULL;
		}
		n = min_t(u32, RDS_CONG_MAP_LEN - offset, PAGE_SIZE);
		memcpy_to_page(page, 0, map->bits + offset, n);
		rds_payload_add_page(p, page, 0, n);
	}
	return p;
}

static int rds_cong_cmp_refusal(struct rb_node *a, const struct rb_node *b)
{
	const struct rds_cong_map *map_a = rb_entry(a, struct rds_cong_refusal, sock_node)->map;
	const struct rds_cong_map *map_b = rb_entry(b, struct rds_cong_refusal, sock_node)->map;

	return map_a == map_b ? 0 : map_a < map_b ? -1 : 1;
}

/* Refused: the next clearing wakes @rs.  Entered before the bit is looked at once more, so
 * that a clearing in between is not missed.
 */
static int rds_cong_remember(struct rds_sock *rs, struct rds_cong_map *map, __be16 port)
{
	struct rds_cong_refusal *new, *r;
	struct rb_node *found;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->rs = rs;
	new->map = map;
	spin_lock_bh(&rs->rn->lock);
	found = rb_find_add(&new->sock_node, &rs->cong_refusals, rds_cong_cmp_refusal);
	r = found ? rb_entry(found, struct rds_cong_refusal, sock_node) : new;
	r->ports |= RDS_CONG_MONITOR_MASK(be16_to_cpu(port));
	if (r == new) {
		kref_get(&map->ref);
		list_add_tail(&new->map_item, &map->refusals);
	}
	spin_unlock_bh(&rs->rn->lock);
	if (r != new)
		kfree(new);
	return 0;
}

static void rds_cong_take_all(struct rds_sock *rs, struct list_head *gone)
{
	struct rb_node *node;

	while ((node = rb_first(&rs->cong_refusals)))
		rds_cong_take_refusal(rb_entry(node, struct rds_cong_refusal, sock_node), gone);
}

void rds_cong_monitor(struct rds_sock *rs, bool on)
{
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rn->lock);
	if (rs->cong_monitor == on)
		goto unlock;
	rs->cong_monitor = on;
	WRITE_ONCE(rs->cong_freed, 0);
	WRITE_ONCE(rs->cong_news, false);
	rds_cong_take_all(rs, &gone);
unlock:
	spin_unlock_bh(&rs->rn->lock);
	rds_cong_free_refusals(&gone);
}

static u64 rds_cong_take_freed(struct rds_sock *rs)
{
	u64 freed;

	spin_lock_bh(&rs->rn->lock);
	freed = rs->cong_freed;
	WRITE_ONCE(rs->cong_freed, 0);
	spin_unlock_bh(&rs->rn->lock);
	return freed;
}

static void rds_cong_untake_freed(struct rds_sock *rs, u64 freed)
{
	spin_lock_bh(&rs->rn->lock);
	if (rs->cong_monitor)
		WRITE_ONCE(rs->cong_freed, rs->cong_freed | freed);
	spin_unlock_bh(&rs->rn->lock);
	/* other readers have found nothing meanwhile */
	rs->sk.sk_data_ready(&rs->sk);
}

int rds_cong_recv(struct rds_sock *rs, struct msghdr *msg)
{
	u64 freed;
	int err;

	if (!READ_ONCE(rs->cong_freed))
		return 0;
	if (!rds_cmsg_fits(msg, sizeof(freed))) {
		msg->msg_flags |= MSG_CTRUNC;
		return 0;
	}
	freed = rds_cong_take_freed(rs);
	if (!freed)
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_CONG_UPDATE, sizeof(freed), &freed);
	if (!err)
		return 1;
	rds_cong_untake_freed(rs, freed);
	return err;
}

void rds_cong_forget_sock(struct rds_sock *rs)
{
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rn->lock);
	rds_cong_take_all(rs, &gone);
	spin_unlock_bh(&rs->rn->lock);
	rds_cong_free_refusals(&gone);
}

/* @port is congested, and the caller does not wait. */
static int rds_cong_refuse(struct rds_cong_map *map, __be16 port, struct rds_sock *rs)
{
	int err = rds_cong_remember(rs, map, port);

	if (err)
		return err;
	/* pairs with the wake-up in rds_cong_wake() */
	smp_mb();
	if (rds_cong_test_port(map, port)) {
		rds_stat_inc(rs->rn, cong_send_error);
		return -ENOBUFS;
	}
	/* Who cleared it may have looked before we were on the list, where nothing stays that no clearing ends.  Others who
	 * were refused meanwhile are woken once too often at most.
	 */
	rds_cong_wake(map, RDS_CONG_MONITOR_MASK(be16_to_cpu(port)));
	return 0;
}

int rds_cong_wait(struct rds_cong_map *map, __be16 port, struct rds_sock *rs, long *timeo)
{
	long left;

	if (likely(!rds_cong_test_port(map, port)))
		return 0;
	if (!*timeo)
		return rds_cong_refuse(map, port, rs);
	rds_stat_inc(rs->rn, cong_send_blocked);
	left = wait_event_interruptible_timeout(map->wait, !rds_cong_test_port(map, port), *timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	if (!left)
		return -ETIMEDOUT;
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo = left;
	return 0;
}

int rds_cong_net_init(struct rds_net *rn)
{
	return rhashtable_init(&rn->maps, &rds_cong_params);
}

void rds_cong_net_exit(struct rds_net *rn)
{
	rhashtable_destroy(&rn->maps);
}
