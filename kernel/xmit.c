// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Draining a path's queue.
 *
 * One context at a time owns the transmit pass (xmit_busy).  It alone talks to the transport's
 * xmit and flush, without a lock; tx_lock covers the lists and who the owner is.  A message goes
 * from send_q to sent_q when its transmission starts, and stays xmit_msg until all of it has been
 * taken, over several passes if there is no room.  The owner holds a reference to it, so that it may
 * be acknowledged or cancelled meanwhile: its remaining fragments are sent all the same, since the
 * peer cannot do with half a message.
 */
#include "xmit.h"

#include "cong.h"
#include "conn.h"
#include "msg.h"
#include "payload.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"

/* Passes after which an owner hands over to the worker: a sender should not send for others all day. */
#define RDS_XMIT_PASSES		16

/* @msg leaves the lists. */
static void rds_path_take(struct rds_path *path, struct rds_msg *msg, struct list_head *to)
{
	lockdep_assert_held(&path->tx_lock);
	msg->queued = false;
	list_move_tail(&msg->path_item, to);
	if (!msg->rs)
		path->pongs--;
}

int rds_path_queue(struct rds_conn *conn, struct rds_msg *msg)
{
	struct rds_path *path = &conn->path;
	bool down;

	spin_lock_bh(&path->tx_lock);
	if (path->state == RDS_PATH_DEAD) {
		spin_unlock_bh(&path->tx_lock);
		return -EAGAIN;
	}
	msg->conn = rds_conn_get(conn);
	/* pairs with rds_sock_collect(), which then looks at conn */
	smp_store_release(&msg->path, path);
	msg->seq = path->next_seq++;
	msg->hdr.seq = cpu_to_be64(msg->seq);
	msg->queued = true;
	WRITE_ONCE(path->used, jiffies);
	list_add_tail(&msg->path_item, &path->send_q);
	if (!msg->rs)
		path->pongs++;
	trace_rds_msg_queued(msg, 0);
	down = path->state == RDS_PATH_DOWN;
	spin_unlock_bh(&path->tx_lock);
	rds_stat_inc(conn->rn, send_queued);
	if (down)
		rds_path_post(path, RDS_EV_WANTED);
	return 0;
}

/* The pass */

static struct rds_msg *rds_xmit_map(struct rds_path *path)
{
	struct rds_conn *conn = rds_path_conn(path);
	struct rds_msg *msg = rds_msg_alloc(GFP_ATOMIC);

	if (!msg)
		return NULL;
	msg->payload = rds_cong_map_payload(conn->lmap, GFP_ATOMIC);
	if (!msg->payload) {
		rds_msg_put(msg);
		return NULL;
	}
	msg->len = RDS_CONG_MAP_LEN;
	rds_header_init(&msg->hdr, 0, msg->len, 0, 0);
	msg->hdr.flags = RDS_FLAG_CONG_MAP;
	return msg;
}

static void rds_xmit_set_flags(struct rds_path *path, struct rds_msg *msg)
{
	struct rds_net *rn = rds_path_conn(path)->rn;

	if (msg->sent_before) {
		msg->hdr.flags |= RDS_FLAG_RETRANSMITTED | RDS_FLAG_ACK_REQUIRED;
		rds_stat_inc(rn, retransmitted);
	}
	if (rds_ack_budget_spend(&path->budget, msg->len, READ_ONCE(rn->sysctl.max_unacked_packets),
				 READ_ONCE(rn->sysctl.max_unacked_bytes)))
		msg->hdr.flags |= RDS_FLAG_ACK_REQUIRED;
	if (msg->hdr.flags & RDS_FLAG_ACK_REQUIRED)
		rds_stat_inc(rn, send_ack_required);
}

/* The next message to go out on @ep, or NULL; the path keeps a reference in xmit_msg. */
static struct rds_msg *rds_xmit_next(struct rds_path *path, struct rds_ep *ep)
{
	struct rds_msg *msg = NULL;

	spin_lock_bh(&path->tx_lock);
	if (path->ep != ep || path->state != RDS_PATH_UP || ep->quiet)
		goto out;
	msg = path->xmit_msg;
	if (msg)
		goto out;
	if (path->map_due && !ep->trans->loopback) {
		WRITE_ONCE(path->map_due, false);
		/* the bits are read after map_due was taken back: a change from now on sets it anew.
		 * Pairs with the one in rds_cong_tell_peers().
		 */
		smp_mb();
		msg = rds_xmit_map(path);
		if (!msg)
			rds_ep_drop(ep, RDS_DROP_NO_MEMORY, -ENOMEM);
		path->xmit_msg = msg;
		goto out;
	}
	msg = list_first_entry_or_null(&path->send_q, struct rds_msg, path_item);
	if (!msg) {
		rds_stat_inc(rds_path_conn(path)->rn, send_queue_empty);
		goto out;
	}
	list_move_tail(&msg->path_item, &path->sent_q);
	rds_xmit_set_flags(path, msg);
	trace_rds_msg_sent(msg, 0);
	path->xmit_msg = rds_msg_get(msg);
out:
	spin_unlock_bh(&path->tx_lock);
	return msg;
}

/* All of @msg has been taken by the transport. */
static void rds_xmit_taken(struct rds_path *path, struct rds_ep *ep, struct rds_msg *msg)
{
	spin_lock_bh(&path->tx_lock);
	path->xmit_msg = NULL;
	if (msg->seq)
		ep->tx_done = msg->seq;
	spin_unlock_bh(&path->tx_lock);
	rds_msg_put(msg);
}

static void rds_xmit_pass(struct rds_path *path, struct rds_ep *ep)
{
	struct rds_msg *msg;

	while ((msg = rds_xmit_next(path, ep))) {
		if (ep->trans->xmit(ep, msg))
			break;
		rds_xmit_taken(path, ep, msg);
	}
	ep->trans->flush(ep);
}

/* Become the owner, unless there is one: then it will look again before it leaves. */
static bool rds_xmit_acquire(struct rds_path *path)
{
	bool mine;

	spin_lock_bh(&path->tx_lock);
	mine = !path->xmit_busy;
	path->xmit_busy = true;
	path->xmit_again = true;
	spin_unlock_bh(&path->tx_lock);
	return mine;
}

/* The endpoint for one more pass, with a reference; NULL if there is nothing to do: then the caller
 * is no longer the owner.
 */
static struct rds_ep *rds_xmit_continue(struct rds_path *path, bool *again)
{
	struct rds_ep *ep = NULL;

	spin_lock_bh(&path->tx_lock);
	/* Nothing more on one that is given up, before the worker gets to it: what is before it may never have been sent,
	 * or have been refused, and an ack for what comes after would cover it.
	 */
	*again = path->xmit_again && path->state == RDS_PATH_UP && !rds_ep_is_dropped(path->ep);
	path->xmit_again = false;
	if (*again)
		ep = rds_ep_get(path->ep);
	else
		path->xmit_busy = false;
	spin_unlock_bh(&path->tx_lock);
	return ep;
}

static void rds_xmit_release(struct rds_path *path)
{
	spin_lock_bh(&path->tx_lock);
	path->xmit_busy = false;
	spin_unlock_bh(&path->tx_lock);
}

void rds_path_xmit(struct rds_path *path)
{
	struct rds_net *rn = rds_path_conn(path)->rn;
	unsigned int passes = 0;
	struct rds_ep *ep;
	bool again;

	if (!rds_xmit_acquire(path)) {
		rds_stat_inc(rn, send_lock_contention);
		return;
	}
	while ((ep = rds_xmit_continue(path, &again))) {
		/* somebody came while the pass before was under way */
		if (passes)
			rds_stat_inc(rn, send_lock_queue_raced);
		rds_xmit_pass(path, ep);
		rds_ep_put(ep);
		if (++passes == RDS_XMIT_PASSES) {
			rds_stat_inc(rn, send_immediate_retry);
			rds_xmit_release(path);
			rds_path_post(path, RDS_PATH_XMIT);
			break;
		}
	}
	if (wq_has_sleeper(&path->xmit_idle))
		wake_up_all(&path->xmit_idle);
}

/* Acks and the end of messages */

bool rds_path_acked(struct rds_ep *ep, u64 ack)
{
	struct rds_path *path = ep->path;
	struct rds_msg *msg, *tmp;
	LIST_HEAD(acked);
	bool sane;

	/* whatever it says, the peer lives; most have said so already */
	if (!READ_ONCE(ep->heard))
		WRITE_ONCE(ep->heard, true);
	spin_lock_bh(&path->tx_lock);
	sane = !rds_ep_is_current(ep) || ack <= ep->tx_done;
	if (sane && rds_ep_is_current(ep) && ack > ep->acked) {
		ep->acked = ack;
		list_for_each_entry_safe(msg, tmp, &path->sent_q, path_item) {
			if (msg->seq > ack)
				break;
			rds_path_take(path, msg, &acked);
		}
	}
	spin_unlock_bh(&path->tx_lock);

	list_for_each_entry_safe(msg, tmp, &acked, path_item) {
		list_del_init(&msg->path_item);
		rds_stat_inc(msg->conn->rn, send_drop_acked);
		rds_msg_done(msg, RDS_RDMA_SUCCESS);
		rds_msg_put(msg);
	}
	return sane;
}

/* Take @msg off the path's lists, the path's reference with it; false if somebody else did. */
static bool rds_path_unlink_locked(struct rds_msg *msg)
{
	LIST_HEAD(list);

	lockdep_assert_held(&msg->path->tx_lock);
	if (!msg->queued)
		return false;
	rds_path_take(msg->path, msg, &list);
	list_del_init(&msg->path_item);
	return true;
}

bool rds_path_unlink(struct rds_msg *msg)
{
	struct rds_path *path = msg->path;
	bool mine;

	spin_lock_bh(&path->tx_lock);
	mine = rds_path_unlink_locked(msg);
	spin_unlock_bh(&path->tx_lock);
	return mine;
}

/* Operations that were never handed to the device, of a message that never will be. */
static void rds_msg_abandon_ops(struct rds_msg *msg, int status)
{
	struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(msg, i, op) {
		if (op->state == RDS_OP_NEW)
			rds_op_done(op, status);
	}
}

void rds_path_cancel(struct rds_msg *msg, int status)
{
	struct rds_path *path = msg->path;
	bool mine, sending;

	/* In one step: once off the lists it cannot become xmit_msg any more.  If it is, its operations go out,
	 * or are given up when the endpoint is closed.
	 */
	spin_lock_bh(&path->tx_lock);
	mine = rds_path_unlink_locked(msg);
	sending = path->xmit_msg == msg;
	spin_unlock_bh(&path->tx_lock);
	if (!mine)
		return;
	if (!sending)
		rds_msg_abandon_ops(msg, status);
	rds_msg_done(msg, status);
	rds_msg_put(msg);
}

/* Give up messages that have left the lists. */
static void rds_msgs_drop(struct list_head *list)
{
	struct rds_msg *msg, *tmp;

	list_for_each_entry_safe(msg, tmp, list, path_item) {
		list_del_init(&msg->path_item);
		rds_msg_abandon_ops(msg, RDS_RDMA_DROPPED);
		rds_msg_done(msg, RDS_RDMA_DROPPED);
		rds_msg_put(msg);
	}
}

static void rds_path_drop_xmit_msg(struct rds_path *path)
{
	struct rds_msg *msg;
	bool orphan = false;

	spin_lock_bh(&path->tx_lock);
	msg = path->xmit_msg;
	path->xmit_msg = NULL;
	if (msg)
		orphan = msg->seq && !msg->queued;
	spin_unlock_bh(&path->tx_lock);
	if (!msg)
		return;
	if (orphan)
		rds_msg_abandon_ops(msg, RDS_RDMA_DROPPED);
	rds_msg_put(msg);
}

void rds_path_requeue(struct rds_path *path)
{
	struct rds_msg *msg, *tmp;
	LIST_HEAD(dropped);

	rds_path_drop_xmit_msg(path);
	spin_lock_bh(&path->tx_lock);
	list_for_each_entry_safe(msg, tmp, &path->sent_q, path_item) {
		/* an operation of it did not end well, or nobody knows how: never again, and not without it */
		if (rds_msg_op_failed(msg))
			rds_path_take(path, msg, &dropped);
		else
			msg->sent_before = true;
	}
	list_splice_init(&path->sent_q, &path->send_q);
	spin_unlock_bh(&path->tx_lock);
	rds_msgs_drop(&dropped);
}

void rds_path_purge(struct rds_path *path)
{
	struct rds_msg *msg, *tmp;
	LIST_HEAD(dropped);

	spin_lock_bh(&path->tx_lock);
	list_splice_tail_init(&path->sent_q, &path->send_q);
	list_for_each_entry_safe(msg, tmp, &path->send_q, path_item)
		rds_path_take(path, msg, &dropped);
	spin_unlock_bh(&path->tx_lock);
	rds_msgs_drop(&dropped);
}

void rds_path_pong(struct rds_path *path, __be16 dport)
{
	struct rds_conn *conn = rds_path_conn(path);
	struct rds_msg *msg;

	/* what a peer can make us keep is bounded; it loses a pong, as it would to congestion */
	if (READ_ONCE(path->pongs) >= READ_ONCE(conn->rn->sysctl.connection_max_pongs) ||
	    rds_cong_test_port(conn->fmap, dport)) {
		rds_stat_inc(conn->rn, pong_dropped);
		return;
	}
	msg = rds_msg_alloc(GFP_ATOMIC);
	if (!msg) {
		rds_stat_inc(conn->rn, pong_dropped);
		return;
	}
	rds_header_init(&msg->hdr, 0, 0, 0, dport);
	if (rds_path_queue(conn, msg)) {
		rds_msg_put(msg);
		return;
	}
	rds_stat_inc(conn->rn, send_pong);
	/* the caller holds rx_lock: let the worker send it */
	rds_path_post(path, RDS_PATH_XMIT);
}
