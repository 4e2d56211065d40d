// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sock.h"

#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include "cong.h"
#include "conn.h"
#include "inc.h"
#include "msg.h"
#include "net.h"
#include "stats.h"
#include "transport.h"
#include "xmit.h"

/* How long a close waits for operations that a device is at, before it drops their connection. */
#define RDS_CLOSE_OPS_TIMEOUT	(5 * HZ)

/* The cached domain with a reference, if its device is still there; *@fresh: no address has moved since it was found. */
static struct rds_domain *rds_sock_cached_domain(struct rds_sock *rs, unsigned int changes, bool *fresh)
{
	struct rds_domain *domain;

	spin_lock_bh(&rs->peer_lock);
	domain = rs->domain;
	if (domain && READ_ONCE(domain->dead))
		domain = NULL;
	if (domain)
		rds_domain_get(domain);
	*fresh = domain && rs->domain_seen == changes;
	spin_unlock_bh(&rs->peer_lock);
	return domain;
}

static void rds_sock_cache_domain(struct rds_sock *rs, struct rds_domain *domain, unsigned int changes)
{
	struct rds_domain *old;

	spin_lock_bh(&rs->peer_lock);
	old = rs->domain;
	rs->domain = rds_domain_get(domain);
	rs->domain_seen = changes;
	spin_unlock_bh(&rs->peer_lock);
	rds_domain_put(old);
}

struct rds_domain *rds_sock_domain(struct rds_sock *rs)
{
	const struct rds_transport *trans = rds_sock_trans(rs);
	unsigned int changes = rds_transport_address_changes();
	struct rds_domain *domain, *cached;
	bool fresh;

	if (!trans)
		return ERR_PTR(-ENOTCONN);
	cached = rds_sock_cached_domain(rs, changes, &fresh);
	if (fresh)
		return cached;
	domain = trans->domain_get(rs->rn, &rs->bound.addr, rs->bound.scope);
	if (PTR_ERR(domain) == -EADDRNOTAVAIL && cached) {
		/* away for a moment: most likely it comes back to where it was */
		domain = cached;
		cached = NULL;
	}
	if (!IS_ERR(domain))
		rds_sock_cache_domain(rs, domain, changes);
	else if (PTR_ERR(domain) != -ENOMEM)
		domain = ERR_PTR(-EAGAIN);
	rds_domain_put(cached);
	return domain;
}

/* Receiving */

struct rds_inc *rds_sock_take(struct rds_sock *rs, bool peek)
{
	struct rds_inc *inc;

	spin_lock_bh(&rs->rcv_lock);
	inc = list_first_entry_or_null(&rs->received, struct rds_inc, item);
	if (inc && peek)
		rds_inc_get(inc);
	else if (inc)
		list_del_init(&inc->item);
	spin_unlock_bh(&rs->rcv_lock);
	return inc;
}

void rds_sock_untake(struct rds_sock *rs, struct rds_inc *inc)
{
	struct rds_inc *next;

	spin_lock_bh(&rs->rcv_lock);
	list_for_each_entry(next, &rs->received, item) {
		if (next->place > inc->place)
			break;
	}
	list_add_tail(&inc->item, &next->item);
	spin_unlock_bh(&rs->rcv_lock);
	rs->sk.sk_data_ready(&rs->sk);
}

void rds_sock_consumed(struct rds_sock *rs, struct rds_inc *inc)
{
	spin_lock_bh(&rs->rcv_lock);
	rs->rcv_bytes -= inc->len;
	rs->rcv_mem -= rds_inc_mem(inc);
	if (rs->congested && rs->rcv_bytes < rds_rcvbuf(rs) / 2 &&
	    rs->rcv_mem < rds_rcv_mem_soft(rs) / 2) {
		rs->congested = false;
		rds_cong_clear_port(rs->lmap, rs->bound.port);
	}
	spin_unlock_bh(&rs->rcv_lock);
	rds_stat_add(rs->rn, recv_bytes_freed_fromsock, inc->len);
}

u32 rds_sock_queued_behind(struct rds_sock *rs, const struct rds_inc *inc)
{
	u32 bytes;

	spin_lock_bh(&rs->rcv_lock);
	/* one that was only looked at may have been read by somebody else */
	bytes = rs->rcv_bytes - min(rs->rcv_bytes, inc->len);
	spin_unlock_bh(&rs->rcv_lock);
	return bytes;
}

bool rds_sock_readable(struct rds_sock *rs)
{
	bool readable;

	spin_lock_bh(&rs->rcv_lock);
	readable = !list_empty(&rs->received) || !list_empty(&rs->notifies) ||
		   READ_ONCE(rs->cong_freed);
	spin_unlock_bh(&rs->rcv_lock);
	return readable;
}

void rds_sock_stop_receiving(struct rds_sock *rs)
{
	struct rds_inc *inc;
	bool congested;

	spin_lock_bh(&rs->rcv_lock);
	rs->released = true;
	congested = rs->congested;
	rs->congested = false;
	spin_unlock_bh(&rs->rcv_lock);
	while ((inc = rds_sock_take(rs, false)))
		rds_inc_put(inc);
	if (congested)
		rds_cong_clear_port(rs->lmap, rs->bound.port);
}

/* Sending */

bool rds_sock_has_room(const struct rds_sock *rs, u32 len, enum rds_snd_share share)
{
	u64 buf = rds_sndbuf(rs), used = READ_ONCE(rs->snd_bytes), max = buf;

	if (RDS_SND_ALL * (u64)READ_ONCE(rs->snd_mem) >= share * buf * RDS_SND_MEM)
		return false;
	if (!len) {
		used = READ_ONCE(rs->snd_empty);
		max = READ_ONCE(rs->rn->sysctl.socket_max_empty);
	}
	return RDS_SND_ALL * used < share * max;
}

bool rds_sock_writable(const struct rds_sock *rs)
{
	return rds_sock_has_room(rs, 0, RDS_SND_ALL) && rds_sock_has_room(rs, 1, RDS_SND_ALL);
}

bool rds_sock_half_full(const struct rds_sock *rs)
{
	return !rds_sock_has_room(rs, 0, RDS_SND_HALF) || !rds_sock_has_room(rs, 1, RDS_SND_HALF);
}

void rds_sock_charge(struct rds_sock *rs, struct rds_msg *msg)
{
	lockdep_assert_held(&rs->snd_lock);
	list_add_tail(&msg->sock_item, &rs->sending);
	WRITE_ONCE(rs->snd_bytes, rs->snd_bytes + msg->len);
	WRITE_ONCE(rs->snd_empty, rs->snd_empty + !msg->len);
	WRITE_ONCE(rs->snd_mem, rs->snd_mem + rds_msg_mem(msg));
}

void rds_sock_uncharge(struct rds_sock *rs, struct rds_msg *msg)
{
	lockdep_assert_held(&rs->snd_lock);
	list_del_init(&msg->sock_item);
	WRITE_ONCE(rs->snd_bytes, rs->snd_bytes - msg->len);
	WRITE_ONCE(rs->snd_empty, rs->snd_empty - !msg->len);
	WRITE_ONCE(rs->snd_mem, rs->snd_mem - rds_msg_mem(msg));
}

static bool rds_msg_goes_to(const struct rds_msg *msg, const struct in6_addr *addr, __be16 port)
{
	return !addr || (msg->hdr.dport == port && ipv6_addr_equal(&msg->conn->key.faddr, addr));
}

/* Messages that are being queued just now have no path yet; they count as sent afterwards. */
static bool rds_msg_is_meant(const struct rds_msg *msg, const struct in6_addr *addr, __be16 port)
{
	return smp_load_acquire(&msg->path) && rds_msg_goes_to(msg, addr, port);
}

static void rds_sock_collect(struct rds_sock *rs, const struct in6_addr *addr, __be16 port,
			     struct list_head *list)
{
	struct rds_msg *msg, *tmp;
	struct rds_op *op;

	spin_lock_bh(&rs->snd_lock);
	list_for_each_entry_safe(msg, tmp, &rs->sending, sock_item) {
		if (rds_msg_is_meant(msg, addr, port))
			list_move_tail(&msg->sock_item, list);
	}
	/* also those whose message is acknowledged already, or being cancelled by another thread */
	list_for_each_entry(op, &rs->ops, sock_item) {
		if (rds_msg_is_meant(op->msg, addr, port))
			op->ending = true;
	}
	spin_unlock_bh(&rs->snd_lock);
}

static struct rds_msg *rds_sock_pop(struct rds_sock *rs, struct list_head *list)
{
	struct rds_msg *msg;

	spin_lock_bh(&rs->snd_lock);
	msg = list_first_entry_or_null(list, struct rds_msg, sock_item);
	if (msg) {
		list_del_init(&msg->sock_item);
		rds_msg_get(msg);
	}
	spin_unlock_bh(&rs->snd_lock);
	return msg;
}

void rds_sock_op_begin(struct rds_sock *rs, struct rds_op *op)
{
	spin_lock_bh(&rs->snd_lock);
	list_add_tail(&op->sock_item, &rs->ops);
	spin_unlock_bh(&rs->snd_lock);
}

void rds_sock_op_over(struct rds_sock *rs, struct rds_op *op)
{
	spin_lock_bh(&rs->snd_lock);
	list_del_init(&op->sock_item);
	spin_unlock_bh(&rs->snd_lock);
	wake_up_var(&rs->ops);
}

static bool rds_sock_ops_ended(struct rds_sock *rs, const struct in6_addr *addr, __be16 port)
{
	struct rds_op *op;
	bool ended = true;

	spin_lock_bh(&rs->snd_lock);
	list_for_each_entry(op, &rs->ops, sock_item) {
		if (!op->ending || !rds_msg_goes_to(op->msg, addr, port))
			continue;
		ended = false;
		break;
	}
	spin_unlock_bh(&rs->snd_lock);
	return ended;
}

void rds_sock_wait_ops(struct rds_sock *rs, const struct in6_addr *addr, __be16 port)
{
	if (wait_var_event_timeout(&rs->ops, rds_sock_ops_ended(rs, addr, port),
				   RDS_CLOSE_OPS_TIMEOUT))
		return;
	rds_conn_drop_from(rs->rn, &rs->bound.addr, addr, RDS_ANY_TOS, RDS_DROP_OP_CANCEL);
	wait_var_event(&rs->ops, rds_sock_ops_ended(rs, addr, port));
}

void rds_sock_cancel(struct rds_sock *rs, const struct in6_addr *addr, __be16 port)
{
	struct rds_msg *msg;
	LIST_HEAD(list);

	rds_sock_collect(rs, addr, port, &list);
	while ((msg = rds_sock_pop(rs, &list))) {
		rds_path_cancel(msg, RDS_RDMA_CANCELED);
		rds_msg_put(msg);
	}
}

/* All sockets of a namespace */

void rds_sock_enlist(struct rds_sock *rs)
{
	spin_lock_bh(&rs->rn->lock);
	list_add_tail(&rs->net_item, &rs->rn->socks);
	spin_unlock_bh(&rs->rn->lock);
}

void rds_sock_delist(struct rds_sock *rs)
{
	spin_lock_bh(&rs->rn->lock);
	list_del_init(&rs->net_item);
	spin_unlock_bh(&rs->rn->lock);
}

/* What rds_sock_for_each() was called with. */
struct rds_sock_visit {
	void	(*visit)(struct rds_sock *rs, void *arg);
	void	*arg;
};

static void rds_sock_item_get(struct list_head *item)
{
	sock_hold(&list_entry(item, struct rds_sock, net_item)->sk);
}

static void rds_sock_item_visit(struct list_head *item, void *arg)
{
	struct rds_sock_visit *v = arg;

	v->visit(list_entry(item, struct rds_sock, net_item), v->arg);
}

static void rds_sock_item_put(struct list_head *item)
{
	sock_put(&list_entry(item, struct rds_sock, net_item)->sk);
}

int rds_sock_for_each(struct rds_net *rn, void (*visit)(struct rds_sock *rs, void *arg), void *arg)
{
	static const struct rds_list_ops ops = {
		.get	= rds_sock_item_get,
		.visit	= rds_sock_item_visit,
		.put	= rds_sock_item_put,
	};
	struct rds_sock_visit v = { .visit = visit, .arg = arg };

	return rds_net_for_each(rn, &rn->socks, &ops, &v);
}
