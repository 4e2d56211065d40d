// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fake.h"

#include <linux/slab.h>
#include <net/ipv6.h>
#include "../conn.h"
#include "../ib.h"
#include "../mr.h"
#include "../msg.h"
#include "../net.h"
#include "../rds_uapi.h"
#include "../xmit.h"

struct fake fake;

/* Connections have workers of their own, and all end at once. */
static DEFINE_SPINLOCK(fake_count_lock);

static unsigned int fake_count(unsigned int *counter)
{
	unsigned int n;

	spin_lock_bh(&fake_count_lock);
	n = *counter + 1;
	WRITE_ONCE(*counter, n);
	spin_unlock_bh(&fake_count_lock);
	return n;
}

struct in6_addr fake_addr(u8 n)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(htonl(0x0a4d0000 | n), &addr);
	return addr;
}

static struct rds_domain *fake_domain_get(struct rds_net *rn, const struct in6_addr *addr, u32 scope)
{
	if (!fake.domain || !ipv6_addr_v4mapped(addr) ||
	    (ntohl(addr->s6_addr32[3]) & 0xffffff00) != 0x0a4d0000)
		return ERR_PTR(-EADDRNOTAVAIL);
	return rds_domain_get(fake.domain);
}

static void fake_domain_release(struct rds_domain *domain)
{
	fake.domains--;
	kfree(domain);
}

static int fake_listen(struct rds_net *rn)
{
	if (!fake.listen_err)
		WRITE_ONCE(fake.listening, fake.listening + 1);
	return fake.listen_err;
}

static void fake_unlisten(struct rds_net *rn)
{
	WRITE_ONCE(fake.listening, fake.listening - 1);
}

/* Endpoints */

static struct fake_ep *fake_make(struct rds_path *path, bool active)
{
	struct fake_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	ep->nr = fake_count(&fake.made);
	rds_ep_init(&ep->ep, &fake_transport, path, active);
	return ep;
}

static void fake_come_up(struct rds_ep *ep)
{
	if (!fake.by_hand)
		rds_ep_post(ep, RDS_EV_ESTABLISHED);
}

static struct rds_ep *fake_connect(struct rds_path *path)
{
	struct fake_ep *ep;

	fake_count(&fake.connects);
	if (fake.connect_err)
		return ERR_PTR(fake.connect_err);
	ep = fake_make(path, true);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	fake_come_up(&ep->ep);
	return &ep->ep;
}

static int fake_accept(struct rds_ep *ep)
{
	fake_count(&fake.accepted);
	if (!fake.accept_err)
		fake_come_up(ep);
	return fake.accept_err;
}

static void fake_reject(struct rds_ep *ep)
{
	fake_count(&fake.rejected);
	fake.last_rejected = to_fake_ep(ep)->nr;
}

static int fake_step(struct rds_ep *ep)
{
	fake_count(&fake.steps);
	return fake.step_err;
}

static void fake_signal(struct rds_ep *ep, enum rds_signal signal)
{
	fake_count(&fake.signals[signal]);
}

static bool fake_busy(struct rds_ep *ep)
{
	return to_fake_ep(ep)->nr_ops;
}

static void fake_end_op(struct fake_ep *ep, int status)
{
	struct rds_op *op = ep->ops[0];
	struct rds_msg *msg = op->msg;

	ep->nr_ops--;
	memmove(ep->ops, ep->ops + 1, ep->nr_ops * sizeof(ep->ops[0]));
	rds_op_done(op, status);
	rds_msg_put(msg);
}

static void fake_close(struct rds_ep *rds_ep)
{
	struct fake_ep *ep = to_fake_ep(rds_ep);

	fake_count(&fake.closed);
	if (fake.on_close)
		fake.on_close(ep);
	while (ep->nr_ops)
		fake_end_op(ep, RDS_RDMA_DROPPED);
}

static void fake_release(struct rds_ep *rds_ep)
{
	fake_count(&fake.released);
	kfree(to_fake_ep(rds_ep));
}

/* Sending */

static void fake_enter(struct fake_ep *ep)
{
	if (atomic_inc_return(&ep->inside) != 1)
		fake.overlap = true;
}

static void fake_leave(struct fake_ep *ep)
{
	atomic_dec(&ep->inside);
}

static void fake_take_ops(struct fake_ep *ep, struct rds_msg *msg)
{
	struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(msg, i, op) {
		if (op->state != RDS_OP_NEW || ep->nr_ops == FAKE_MAX_OPS)
			continue;
		op->state = RDS_OP_POSTED;
		rds_msg_get(msg);
		ep->ops[ep->nr_ops++] = op;
	}
}

static void fake_record(struct fake_ep *ep, const struct rds_msg *msg)
{
	struct fake_sent *sent;
	const struct rds_op *op;
	unsigned int i;

	if (fake.nr_sent == FAKE_MAX_SENT)
		return;
	sent = &fake.sent[fake.nr_sent];
	sent->ep = ep->nr;
	sent->seq = be64_to_cpu(msg->hdr.seq);
	sent->flags = msg->hdr.flags;
	sent->sport = msg->hdr.sport;
	sent->dport = msg->hdr.dport;
	sent->len = msg->len;
	sent->ops = 0;
	rds_msg_for_each_op(msg, i, op)
		sent->ops += op->state == RDS_OP_POSTED;
	smp_store_release(&fake.nr_sent, fake.nr_sent + 1);
}

static int fake_take(struct fake_ep *ep, struct rds_msg *msg)
{
	unsigned int frags = max_t(u32, DIV_ROUND_UP(msg->len, RDS_FRAG_LEN), 1);
	int err = fake.xmit_err;

	if (err) {
		fake.xmit_err = 0;
		/* another sender comes, and leaves it to the owner to look again */
		rds_path_xmit(ep->ep.path);
		rds_ep_drop(&ep->ep, RDS_DROP_POST_FAILED, err);
		return err;
	}
	if (!ep->frags && fake.room)
		fake_take_ops(ep, msg);
	for (; ep->frags < frags; ep->frags++) {
		if (!fake.room)
			return -EAGAIN;
		fake.room--;
	}
	ep->frags = 0;
	fake_record(ep, msg);
	return 0;
}

static int fake_xmit(struct rds_ep *rds_ep, struct rds_msg *msg)
{
	struct fake_ep *ep = to_fake_ep(rds_ep);
	int err;

	fake_enter(ep);
	err = fake_take(ep, msg);
	fake_leave(ep);
	return err;
}

static void fake_flush(struct rds_ep *rds_ep)
{
	struct fake_ep *ep = to_fake_ep(rds_ep);

	fake_enter(ep);
	fake_count(&fake.flushes);
	fake_leave(ep);
}

/* Memory: each key has an allocation, so that one taken back twice shows. */

static int fake_mr_register(struct rds_domain *domain, struct rds_mr *mr)
{
	if (fake.mr_err)
		return fake.mr_err;
	mr->handle = kzalloc(1, GFP_KERNEL);
	if (!mr->handle)
		return -ENOMEM;
	mr->key.rkey = ++fake.last_rkey;
	mr->cookie = rds_cookie(mr->key.rkey, mr->offset);
	fake.registered++;
	return 0;
}

static void fake_mr_unregister(struct rds_domain *domain, struct rds_mr *mr)
{
	kfree(mr->handle);
	fake.unregistered++;
}

const struct rds_transport fake_transport = {
	.name		= "fake",
	.type		= RDS_TRANS_IB,
	.domain_get	= fake_domain_get,
	.domain_release	= fake_domain_release,
	.listen		= fake_listen,
	.unlisten	= fake_unlisten,
	.connect	= fake_connect,
	.accept		= fake_accept,
	.reject		= fake_reject,
	.step		= fake_step,
	.signal		= fake_signal,
	.busy		= fake_busy,
	.close		= fake_close,
	.release	= fake_release,
	.xmit		= fake_xmit,
	.flush		= fake_flush,
	.mr_register	= fake_mr_register,
	.mr_unregister	= fake_mr_unregister,
};

/* The RDMA transport's own place: see ib.h. */
int rds_ib_init(void)
{
	rds_transport_register(&fake_transport);
	return rds_transport_enter(&fake_transport, rds_net(&init_net));
}

void rds_ib_exit(void)
{
	rds_transport_unregister(&fake_transport);
}

/* For tests */

int fake_add_device(void)
{
	struct rds_domain *domain = kzalloc(sizeof(*domain), GFP_KERNEL);

	if (!domain)
		return -ENOMEM;
	domain->trans = &fake_transport;
	domain->atomics = true;
	domain->max_mr_pages = 257;
	refcount_set(&domain->ref, 1);
	fake.domain = domain;
	fake.domains++;
	return 0;
}

void fake_remove_device(void)
{
	struct rds_domain *domain = fake.domain;

	fake.domain = NULL;
	if (!domain)
		return;
	WRITE_ONCE(domain->dead, true);
	rds_domain_put(domain);
}

int fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.room = INT_MAX;
	return fake_add_device();
}

struct fake_ep *fake_request(struct rds_conn *conn, bool ordered)
{
	struct fake_ep *ep = fake_make(&conn->path, false);

	if (ep)
		ep->ep.ordered_duel = ordered;
	return ep;
}

struct fake_ep *fake_current(struct rds_conn *conn)
{
	struct rds_ep *ep;

	spin_lock_bh(&conn->path.tx_lock);
	ep = conn->path.ep ? rds_ep_get(conn->path.ep) : NULL;
	spin_unlock_bh(&conn->path.tx_lock);
	return ep ? to_fake_ep(ep) : NULL;
}

/* After the worker is done: it sets a path's state before it makes the endpoint that belongs to it. */
static struct fake_ep *fake_settled(struct rds_conn *conn)
{
	rds_path_flush(&conn->path);
	return fake_current(conn);
}

void fake_establish(struct rds_conn *conn)
{
	struct fake_ep *ep = fake_settled(conn);

	if (!ep)
		return;
	rds_ep_post(&ep->ep, RDS_EV_ESTABLISHED);
	rds_ep_put(&ep->ep);
	rds_path_flush(&conn->path);
}

void fake_lose(struct rds_conn *conn, enum rds_drop_reason reason)
{
	struct fake_ep *ep = fake_settled(conn);

	if (!ep)
		return;
	rds_ep_drop(&ep->ep, reason, 0);
	rds_ep_put(&ep->ep);
	rds_path_flush(&conn->path);
}

bool fake_ack(struct rds_conn *conn, u64 ack)
{
	struct fake_ep *ep = fake_current(conn);
	bool sane;

	if (!ep)
		return false;
	spin_lock_bh(&conn->path.rx_lock);
	sane = rds_path_acked(&ep->ep, ack);
	spin_unlock_bh(&conn->path.rx_lock);
	rds_ep_put(&ep->ep);
	return sane;
}

void fake_op_done(struct rds_conn *conn, int status)
{
	struct fake_ep *ep = fake_current(conn);

	if (!ep)
		return;
	if (ep->nr_ops)
		fake_end_op(ep, status);
	rds_ep_put(&ep->ep);
	rds_msg_flush();
}
