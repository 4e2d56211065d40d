// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "msg.h"

#include <linux/cache.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "conn.h"
#include "notify.h"
#include "payload.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "xmit.h"

static struct kmem_cache *rds_msg_cache;
/* Unpins what operations wrote to, which sleeps; the notification follows from there. */
static struct workqueue_struct *rds_msg_wq;

struct rds_msg *rds_msg_alloc(gfp_t gfp)
{
	struct rds_msg *msg = kmem_cache_zalloc(rds_msg_cache, gfp);

	if (!msg)
		return NULL;
	kref_init(&msg->ref);
	INIT_LIST_HEAD(&msg->path_item);
	INIT_LIST_HEAD(&msg->sock_item);
	atomic_set(&msg->parts, 1);
	msg->has_send = true;
	return msg;
}

size_t rds_msg_mem(const struct rds_msg *msg)
{
	return L1_CACHE_ALIGN(sizeof(*msg)) + msg->nr_ops * sizeof(struct rds_op) +
	       (msg->payload ? rds_payload_mem(msg->payload) : 0);
}

static void rds_msg_release(struct kref *ref)
{
	struct rds_msg *msg = container_of(ref, struct rds_msg, ref);
	struct rds_op *op;
	unsigned int i;

	rds_payload_put(msg->payload);
	rds_msg_for_each_op(msg, i, op) {
		kfree(op->notify);
		kfree(op);
	}
	kfree(msg->notify);
	if (msg->conn)
		rds_conn_put(msg->conn);
	kmem_cache_free(rds_msg_cache, msg);
}

void rds_msg_put(struct rds_msg *msg)
{
	kref_put(&msg->ref, rds_msg_release);
}

/* The first bad status stays. */
static void rds_op_set_status(struct rds_op *op, int status)
{
	cmpxchg(&op->status, RDS_RDMA_SUCCESS, status);
}

bool rds_msg_op_failed(const struct rds_msg *msg)
{
	const struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(msg, i, op) {
		if (op->state == RDS_OP_DONE && op->status != RDS_RDMA_SUCCESS)
			return true;
	}
	return false;
}

static void rds_msg_tell(struct rds_sock *rs, struct rds_notify **notify, int status)
{
	struct rds_notify *n = *notify;

	if (!n)
		return;
	if (n->failures_only) {
		if (status == RDS_RDMA_SUCCESS || status == RDS_RDMA_CANCELED)
			return;
		status = RDS_RDMA_DROPPED;
	}
	*notify = NULL;
	n->status = status;
	rds_notify_queue(rs, n);
}

static void rds_msg_part_done(struct rds_msg *msg)
{
	struct rds_sock *rs = msg->rs;
	struct rds_op *op;
	unsigned int i;

	if (!atomic_dec_and_test(&msg->parts) || !rs)
		return;
	rds_msg_for_each_op(msg, i, op)
		rds_msg_tell(rs, &op->notify, op->status);
	rds_msg_tell(rs, &msg->notify, msg->status);
	sock_put(&rs->sk);
}

void rds_msg_done(struct rds_msg *msg, int status)
{
	struct rds_sock *rs = msg->rs;
	struct rds_op *op;
	unsigned int i;

	trace_rds_msg_done(msg, status);
	msg->status = status;
	rds_msg_for_each_op(msg, i, op)
		rds_op_set_status(op, status);
	if (rs) {
		spin_lock_bh(&rs->snd_lock);
		rds_sock_uncharge(rs, msg);
		spin_unlock_bh(&rs->snd_lock);
		rs->sk.sk_write_space(&rs->sk);
	}
	rds_msg_part_done(msg);
}

/* Silent operations were the whole message. */
static void rds_msg_end_silent(struct rds_msg *msg)
{
	if (!rds_path_unlink(msg))
		return;
	/* each has a status of its own; one that has not failed is not told that the other has */
	rds_msg_done(msg, RDS_RDMA_SUCCESS);
	rds_msg_put(msg);
}

/* With the pages unpinned. */
static void rds_op_finish(struct rds_op *op)
{
	struct rds_msg *msg = op->msg;
	struct rds_sock *rs = msg->rs;

	if (atomic_dec_and_test(&msg->ops_left) && !msg->has_send)
		rds_msg_end_silent(msg);
	rds_sock_op_over(rs, op);
	rds_msg_part_done(msg);
	rds_msg_put(msg);
}

static void rds_op_work(struct work_struct *work)
{
	struct rds_op *op = container_of(work, struct rds_op, work);

	rds_pin_release(&op->pin);
	rds_op_finish(op);
}

void rds_op_done(struct rds_op *op, int status)
{
	struct rds_msg *msg = op->msg;

	trace_rds_op_done(op, status);
	rds_op_set_status(op, status);
	op->state = RDS_OP_DONE;
	if (status == RDS_RDMA_DROPPED)
		rds_stat_inc(msg->conn->rn, ops_dropped);
	rds_msg_get(msg);
	if (rds_pin_try_release(&op->pin)) {
		rds_op_finish(op);
		return;
	}
	INIT_WORK(&op->work, rds_op_work);
	rds_msg_queue_work(&op->work);
}

void rds_msg_queue_work(struct work_struct *work)
{
	queue_work(rds_msg_wq, work);
}

void rds_msg_flush(void)
{
	flush_workqueue(rds_msg_wq);
}

int rds_msg_cache_init(void)
{
	rds_msg_cache = kmem_cache_create("rds_sockets_msg", sizeof(struct rds_msg), 0,
					  SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT, NULL);
	if (!rds_msg_cache)
		return -ENOMEM;
	rds_msg_wq = alloc_workqueue("rds_sockets_ops", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (rds_msg_wq)
		return 0;
	kmem_cache_destroy(rds_msg_cache);
	return -ENOMEM;
}

void rds_msg_cache_exit(void)
{
	destroy_workqueue(rds_msg_wq);
	kmem_cache_destroy(rds_msg_cache);
}
