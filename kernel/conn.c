// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "conn.h"

#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include "cong.h"
#include "limit.h"
#include "msg.h"
#include "net.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"
#include "xmit.h"

static_assert(sizeof(struct rds_conn_key) == 40 + sizeof(void *));	/* hashed: no holes */

/* One of so many connections can only be made by senders of this host. */
#define RDS_CONN_LOCAL_SHARE	4

/* How often unused connections are looked for: four times within what is allowed, and soon after that was changed. */
#define RDS_COLLECT_DELAY_MAX	(15 * HZ)

static struct kmem_cache *rds_conn_cache;

/* The number that tells peers of a new object from the one before it, which must differ: so it is counted.  The first is random,
 * so that they also tell that the module was loaded anew.
 */
static atomic_t rds_conn_generations;

static const struct rhashtable_params rds_conn_params = {
	.key_len		= sizeof(struct rds_conn_key),
	.key_offset		= offsetof(struct rds_conn, key),
	.head_offset		= offsetof(struct rds_conn, node),
	.automatic_shrinking	= true,
};

static void rds_conn_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(rds_conn_cache, container_of(rcu, struct rds_conn, rcu));
}

/* The namespace's end waits for the last one. */
static void rds_conn_uncount(struct rds_net *rn)
{
	if (atomic64_dec_and_test(&rn->nr_conns))
		wake_up_var(&rn->nr_conns);
}

/* Off all lists, or never on one. */
static void rds_conn_free(struct rds_conn *conn)
{
	struct rds_net *rn = conn->rn;

	if (!IS_ERR_OR_NULL(conn->lmap))
		rds_cong_map_put(conn->lmap);
	if (!IS_ERR_OR_NULL(conn->fmap))
		rds_cong_map_put(conn->fmap);
	call_rcu(&conn->rcu, rds_conn_free_rcu);
	rds_conn_uncount(rn);
}

static void rds_conn_release(struct kref *ref)
{
	struct rds_conn *conn = container_of(ref, struct rds_conn, ref);

	trace_rds_conn_end(conn);
	rds_conn_free(conn);
}

void rds_conn_put(struct rds_conn *conn)
{
	kref_put(&conn->ref, rds_conn_release);
}

struct rds_conn *rds_conn_find(struct rds_net *rn, const struct rds_conn_key *key)
{
	struct rds_conn *conn;

	rcu_read_lock();
	conn = rhashtable_lookup(&rn->conns, key, rds_conn_params);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

static u16 rds_conn_next_generation(void)
{
	return 1 + (u32)atomic_inc_return(&rds_conn_generations) % U16_MAX;
}

/* Both ends of a loopback connection are here: it is connected from the start, and never waits
 * for a worker.  Nobody else sees @conn yet.  Its only endpoint lives as long as it, and holds no reference.
 */
static int rds_conn_open_loopback(struct rds_conn *conn)
{
	struct rds_ep *ep = conn->key.trans->connect(&conn->path);

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	conn->path.ep = ep;
	conn->path.state = RDS_PATH_UP;
	conn->path.history.connects = 1;
	conn->path.history.connected = ktime_get_real_ns();
	rds_conn_put(conn);
	return 0;
}

/* @conn is on no list, and not in the table: nobody else sees it. */
static void rds_conn_close_loopback(struct rds_conn *conn)
{
	struct rds_ep *ep = conn->path.ep;

	conn->path.ep = NULL;
	ep->trans->release(ep);
}

/* Senders of this host are bounded by what they may open; a peer has any number of addresses and types of service.
 * So peers cannot take the last ones.
 */
static int rds_conn_count(struct rds_net *rn, enum rds_conn_side side)
{
	unsigned int max = READ_ONCE(rn->sysctl.max_connections);

	if (side == RDS_CONN_BY_PEER)
		max -= max / RDS_CONN_LOCAL_SHARE;
	if (rds_limit_take(&rn->nr_conns, 1, max))
		return 0;
	if (side == RDS_CONN_BY_PEER)
		return -EUSERS;
	rds_stat_inc(rn, limit_connections);
	return -ENOMEM;
}

static struct rds_conn *rds_conn_alloc(struct rds_net *rn, const struct rds_conn_key *key,
				       enum rds_conn_side side)
{
	struct rds_conn *conn;
	int err;

	err = rds_conn_count(rn, side);
	if (err)
		return ERR_PTR(err);
	conn = kmem_cache_zalloc(rds_conn_cache, GFP_KERNEL);
	if (!conn) {
		rds_conn_uncount(rn);
		return ERR_PTR(-ENOMEM);
	}
	conn->key = *key;
	conn->rn = rn;
	conn->generation = rds_conn_next_generation();
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->net_item);
	INIT_LIST_HEAD(&conn->map_item);
	rds_path_init(&conn->path);
	conn->lmap = rds_cong_map_local(rn, &key->laddr);
	conn->fmap = key->trans->loopback ? rds_cong_map_local(rn, &key->faddr) :
					    rds_cong_map_remote(rn);
	if (!IS_ERR_OR_NULL(conn->lmap) && !IS_ERR_OR_NULL(conn->fmap)) {
		trace_rds_conn_new(conn);
		return conn;
	}
	rds_conn_free(conn);
	return ERR_PTR(-ENOMEM);
}

static unsigned long rds_conn_collect_delay(const struct rds_net *rn)
{
	unsigned long allowed = READ_ONCE(rn->sysctl.connection_idle_seconds) * HZ;

	return allowed ? min_t(unsigned long, allowed / 4, RDS_COLLECT_DELAY_MAX) : RDS_COLLECT_DELAY_MAX;
}

static void rds_conn_start_collector(struct rds_net *rn)
{
	lockdep_assert_held(&rn->lock);
	if (!rn->dying && !list_empty(&rn->conn_list))
		queue_delayed_work(system_unbound_wq, &rn->collector, rds_conn_collect_delay(rn));
}

/* What is in the table afterwards: @conn, with a reference of the table's, or another one, with one for the caller.  Table and
 * list are one step for everybody: nobody but the caller has seen a connection that loses, and may take it for one of ours.
 */
static struct rds_conn *rds_conn_insert(struct rds_net *rn, struct rds_conn *conn)
{
	struct rds_conn *old;

	lockdep_assert_held(&rn->lock);
	if (rn->dying)
		return ERR_PTR(-ENETDOWN);
	rds_conn_get(conn);	/* before it can be found */
	rcu_read_lock();
	do {
		old = rhashtable_lookup_get_insert_fast(&rn->conns, &conn->node, rds_conn_params);
		/* one that has no reference left has been taken off since: the table's is the last */
	} while (!IS_ERR_OR_NULL(old) && !kref_get_unless_zero(&old->ref));
	rcu_read_unlock();
	if (old) {
		rds_conn_put(conn);
		return old;
	}
	list_add_tail(&conn->net_item, &rn->conn_list);
	rds_conn_start_collector(rn);
	return conn;
}

struct rds_conn *rds_conn_get_or_create(struct rds_net *rn, const struct rds_conn_key *key,
					enum rds_conn_side side)
{
	struct rds_conn *conn, *new;
	int err;

	conn = rds_conn_find(rn, key);
	if (conn)
		return conn;
	new = rds_conn_alloc(rn, key, side);
	if (IS_ERR(new))
		return new;
	if (key->trans->loopback) {
		err = rds_conn_open_loopback(new);
		if (err) {
			rds_conn_put(new);
			return ERR_PTR(err);
		}
	}
	spin_lock_bh(&rn->lock);
	conn = rds_conn_insert(rn, new);
	spin_unlock_bh(&rn->lock);
	if (conn == new) {
		rds_cong_add_conn(new);
		return new;
	}
	/* somebody else was faster */
	if (key->trans->loopback)
		rds_conn_close_loopback(new);
	rds_conn_put(new);
	return conn;
}

static void rds_conn_drop(struct rds_conn *conn, enum rds_drop_reason reason)
{
	struct rds_path *path = &conn->path;

	if (conn->key.trans->loopback)
		return;
	spin_lock_bh(&path->tx_lock);
	if (path->ep)
		rds_ep_drop(path->ep, reason, 0);
	spin_unlock_bh(&path->tx_lock);
}

static bool rds_conn_is_between(const struct rds_conn *conn, const struct in6_addr *laddr,
				const struct in6_addr *faddr)
{
	return ipv6_addr_equal(&conn->key.laddr, laddr) &&
	       (!faddr || ipv6_addr_equal(&conn->key.faddr, faddr));
}

void rds_conn_drop_from(struct rds_net *rn, const struct in6_addr *laddr,
			const struct in6_addr *faddr, int tos, enum rds_drop_reason reason)
{
	struct rds_conn *conn;

	spin_lock_bh(&rn->lock);
	list_for_each_entry(conn, &rn->conn_list, net_item) {
		if (rds_conn_is_between(conn, laddr, faddr) &&
		    (tos == RDS_ANY_TOS || conn->key.tos == tos))
			rds_conn_drop(conn, reason);
	}
	spin_unlock_bh(&rn->lock);
}

/* What rds_conn_for_each() was called with. */
struct rds_conn_visit {
	void	(*visit)(struct rds_conn *conn, void *arg);
	void	*arg;
};

static void rds_conn_item_get(struct list_head *item)
{
	rds_conn_get(list_entry(item, struct rds_conn, net_item));
}

static void rds_conn_item_visit(struct list_head *item, void *arg)
{
	struct rds_conn_visit *v = arg;

	v->visit(list_entry(item, struct rds_conn, net_item), v->arg);
}

static void rds_conn_item_put(struct list_head *item)
{
	rds_conn_put(list_entry(item, struct rds_conn, net_item));
}

int rds_conn_for_each(struct rds_net *rn, void (*visit)(struct rds_conn *conn, void *arg), void *arg)
{
	static const struct rds_list_ops ops = {
		.get	= rds_conn_item_get,
		.visit	= rds_conn_item_visit,
		.put	= rds_conn_item_put,
	};
	struct rds_conn_visit v = { .visit = visit, .arg = arg };

	return rds_net_for_each(rn, &rn->conn_list, &ops, &v);
}

/* Move those of @trans, or all with NULL, to @taken, each with a reference.  That list is the caller's alone. */
static void rds_conn_take(struct rds_net *rn, const struct rds_transport *trans, struct list_head *taken)
{
	struct rds_conn *conn, *tmp;

	spin_lock_bh(&rn->lock);
	list_for_each_entry_safe(conn, tmp, &rn->conn_list, net_item) {
		if (trans && conn->key.trans != trans)
			continue;
		rds_conn_get(conn);
		list_move_tail(&conn->net_item, taken);
	}
	spin_unlock_bh(&rn->lock);
}

/* Nobody is left who uses @conn, or can find it. */
static void rds_conn_end(struct rds_conn *conn)
{
	rds_cong_remove_conn(conn);
	if (conn->key.trans->loopback)
		rds_conn_close_loopback(conn);
	trace_rds_conn_end(conn);
	rds_conn_free(conn);
}

void rds_conn_collect(struct rds_net *rn)
{
	struct rds_conn *conn, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&rn->lock);
	list_for_each_entry_safe(conn, tmp, &rn->conn_list, net_item) {
		if (!rds_path_collect(&conn->path))
			continue;
		rhashtable_remove_fast(&rn->conns, &conn->node, rds_conn_params);
		list_move(&conn->net_item, &gone);
	}
	spin_unlock_bh(&rn->lock);
	list_for_each_entry_safe(conn, tmp, &gone, net_item)
		rds_conn_end(conn);
}

static void rds_conn_collector(struct work_struct *work)
{
	struct rds_net *rn = container_of(to_delayed_work(work), struct rds_net, collector);

	rds_conn_collect(rn);
	spin_lock_bh(&rn->lock);
	rds_conn_start_collector(rn);
	spin_unlock_bh(&rn->lock);
}

static void rds_conn_kill(struct rds_conn *conn)
{
	/* its endpoint ends as any other one now, and gives up a reference */
	if (conn->key.trans->loopback)
		rds_conn_get(conn);
	rds_path_post(&conn->path, RDS_EV_KILL);
}

static void rds_conn_bury(struct rds_conn *conn)
{
	rds_path_flush(&conn->path);
	rds_cong_remove_conn(conn);
	if (!rhashtable_remove_fast(&conn->rn->conns, &conn->node, rds_conn_params))
		rds_conn_put(conn);
	list_del_init(&conn->net_item);
	rds_conn_put(conn);
}

/* All are told before the end of any is waited for: it takes as long as the slowest one, and none that waits keeps another
 * from getting to know.
 */
void rds_conn_kill_all(struct rds_net *rn, const struct rds_transport *trans)
{
	struct rds_conn *conn, *tmp;
	LIST_HEAD(taken);

	rds_conn_take(rn, trans, &taken);
	list_for_each_entry(conn, &taken, net_item)
		rds_conn_kill(conn);
	list_for_each_entry_safe(conn, tmp, &taken, net_item)
		rds_conn_bury(conn);
}

void rds_conn_net_exit(struct rds_net *rn)
{
	spin_lock_bh(&rn->lock);
	rn->dying = true;
	spin_unlock_bh(&rn->lock);
	cancel_delayed_work_sync(&rn->collector);
	rds_conn_kill_all(rn, NULL);
	/* a message's last reference may still be with the workqueue that unpins its pages */
	rds_msg_flush();
	wait_var_event(&rn->nr_conns, !atomic64_read(&rn->nr_conns));
	rhashtable_destroy(&rn->conns);
}

int rds_conn_net_init(struct rds_net *rn)
{
	INIT_LIST_HEAD(&rn->conn_list);
	INIT_DELAYED_WORK(&rn->collector, rds_conn_collector);
	return rhashtable_init(&rn->conns, &rds_conn_params);
}

int rds_conn_init(void)
{
	atomic_set(&rds_conn_generations, get_random_u32());
	rds_conn_cache = kmem_cache_create("rds_sockets_conn", sizeof(struct rds_conn), 0,
					   SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT, NULL);
	return rds_conn_cache ? 0 : -ENOMEM;
}

void rds_conn_exit(void)
{
	rcu_barrier();	/* rds_conn_free_rcu() */
	kmem_cache_destroy(rds_conn_cache);
}
