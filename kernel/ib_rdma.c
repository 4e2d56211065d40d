// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA reads and writes, built by the core's rdma_rw helpers.
 *
 * An operation may have more work requests than the ring has slots: they go out as room comes, each
 * in a slot of its own like a frame.  The last one is signalled and ends the operation.
 */
#include "ib_send.h"

#include <linux/preempt.h>
#include <linux/slab.h>
#include "conn.h"
#include "msg.h"
#include "rds_uapi.h"

int rds_ib_op_status(enum ib_wc_status status)
{
	return status == IB_WC_REM_ACCESS_ERR ? RDS_RDMA_REMOTE_ERROR : RDS_RDMA_OTHER_ERROR;
}

static enum dma_data_direction rds_ib_op_dir(const struct rds_op *op)
{
	return op->write ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

void rds_ib_op_end(struct rds_ib_ep *ep, struct rds_ib_op *op, int status)
{
	struct rds_msg *msg = op->msg;
	struct sg_table *sgt = &msg->op->pin.sgt;

	rdma_rw_ctx_destroy(&op->ctx, ep->qp, ep->cm_id->port_num, sgt->sgl, sgt->orig_nents,
			    rds_ib_op_dir(msg->op));
	/* one that never reached the ring is as it was, and may run on the next endpoint */
	if (msg->op->state == RDS_OP_POSTED)
		rds_msg_op_done(msg, op->status ?: status);
	kfree(op);
	rds_msg_put(msg);
}

/* The transmit pass holds no lock, so that this tells whether it may sleep. */
static bool rds_ib_may_sleep(void)
{
	return in_task() && !in_softirq() && !irqs_disabled();
}

/* Map the local side and build the work requests.  Sleeps. */
static struct rds_ib_op *rds_ib_op_build(struct rds_ib_ep *ep, struct rds_msg *msg)
{
	struct sg_table *sgt = &msg->op->pin.sgt;
	struct rds_op *what = msg->op;
	struct rds_ib_op *op;
	int ret;

	op = kzalloc(sizeof(*op), GFP_KERNEL);
	if (!op)
		return ERR_PTR(-ENOMEM);
	ret = rdma_rw_ctx_init(&op->ctx, ep->qp, ep->cm_id->port_num, sgt->sgl, sgt->orig_nents, 0,
			       what->raddr, what->rkey, rds_ib_op_dir(what));
	if (ret < 0) {
		kfree(op);
		return ERR_PTR(ret);
	}
	op->msg = rds_msg_get(msg);
	/* the completion entry is set for each when it is taken into the ring */
	op->next = rdma_rw_ctx_wrs(&op->ctx, ep->qp, ep->cm_id->port_num, NULL, NULL);
	return op;
}

/* The device refuses the operation itself: it, and its message, would fail for ever. */
static int rds_ib_op_refused(struct rds_ib_ep *ep, struct rds_msg *msg, int err)
{
	msg->op->state = RDS_OP_POSTED;
	rds_msg_op_done(msg, RDS_RDMA_OTHER_ERROR);
	rds_ep_drop(&ep->ep, RDS_DROP_OP_ERROR, err);
	return err;
}

static int rds_ib_op_begin(struct rds_ib_ep *ep, struct rds_msg *msg)
{
	struct rds_ib_op *op;

	/* building sleeps; a completion leaves it to the worker */
	if (!rds_ib_may_sleep()) {
		rds_path_post(ep->ep.path, RDS_PATH_XMIT);
		return -EAGAIN;
	}
	op = rds_ib_op_build(ep, msg);
	if (IS_ERR(op)) {
		/* no memory, or all registrations for large operations in use */
		if (PTR_ERR(op) != -ENOMEM && PTR_ERR(op) != -EAGAIN)
			return rds_ib_op_refused(ep, msg, PTR_ERR(op));
		rds_ib_tx_retry_later(ep);
		return -EAGAIN;
	}
	ep->tx.op = op;
	return 0;
}

int rds_ib_xmit_op(struct rds_ib_ep *ep, struct rds_msg *msg)
{
	struct rds_ib_tx *tx = &ep->tx;
	struct rds_ib_slot *slot;
	struct ib_send_wr *wr;
	int err;

	if (!tx->op) {
		if (msg->op->state != RDS_OP_NEW)
			return 0;
		err = rds_ib_op_begin(ep, msg);
		if (err)
			return err;
	}
	while ((wr = tx->op->next)) {
		slot = rds_ib_tx_take(ep);
		if (!slot)
			return -EAGAIN;
		msg->op->state = RDS_OP_POSTED;
		tx->op->next = wr->next;
		slot->op = tx->op;
		slot->op_last = !wr->next;
		rds_ib_tx_append(ep, slot, wr);
	}
	tx->op = NULL;
	return 0;
}
