// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA reads and writes, built by the core's rdma_rw helpers, and atomics.
 *
 * An operation may have more work requests than the ring has slots: they go out as room comes, each
 * in a slot of its own like a frame.  The last one is signalled and ends the operation.
 */
#include "ib_send.h"

#include <linux/random.h>
#include <linux/slab.h>
#include "conn.h"
#include "msg.h"
#include "rds_uapi.h"
#include "stats.h"
#include "xmit.h"

int rds_ib_op_status(enum ib_wc_status status)
{
	return status == IB_WC_REM_ACCESS_ERR ? RDS_RDMA_REMOTE_ERROR : RDS_RDMA_OTHER_ERROR;
}

static enum dma_data_direction rds_ib_op_dir(const struct rds_op *op)
{
	return op->kind == RDS_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* Reads and writes */

static int rds_ib_rw_build(struct rds_ib_ep *ep, struct rds_ib_op *op)
{
	struct rds_op *what = op->what;
	struct sg_table *sgt = &what->pin.sgt;
	int ret;

	ret = rdma_rw_ctx_init(&op->ctx, ep->qp, ep->cm_id->port_num, sgt->sgl, sgt->orig_nents, 0,
			       what->raddr, what->rkey, rds_ib_op_dir(what));
	/* bounce buffers in short supply, as for an atomic: there may be some in a moment */
	if (ret == -EIO)
		return -EAGAIN;
	if (ret < 0)
		return ret;
	/* the completion entry is set for each when it is taken into the ring */
	op->next = rdma_rw_ctx_wrs(&op->ctx, ep->qp, ep->cm_id->port_num, NULL, NULL);
	return 0;
}

static void rds_ib_rw_unbuild(struct rds_ib_ep *ep, struct rds_ib_op *op)
{
	struct sg_table *sgt = &op->what->pin.sgt;

	rdma_rw_ctx_destroy(&op->ctx, ep->qp, ep->cm_id->port_num, sgt->sgl, sgt->orig_nents,
			    rds_ib_op_dir(op->what));
}

/* Atomics: the local side is 8 bytes of one page.
 *
 * Soft-RoCE's target answers a repeated send with a plain acknowledgement of the last request that it has carried
 * out, and when that is an atomic, its initiator takes this for the answer: the atomic succeeds, and no old value is
 * ever stored.  So there is a random number in its place meanwhile, and one that is still there tells that.
 */

static void rds_ib_atomic_mark(struct rds_ib_op *op)
{
	struct rds_atomic put = { .cswp = true, .swap_mask = U64_MAX };

	op->atomic.mark = get_random_u64();
	put.operand = op->atomic.mark;
	op->atomic.before = rds_pin_atomic(&op->what->pin, 0, &put);
}

/* True, and what was there is back, if the device has stored nothing. */
static bool rds_ib_atomic_unmark(struct rds_ib_op *op)
{
	const struct rds_atomic undo = {
		.cswp		= true,
		.compare	= op->atomic.mark,
		.compare_mask	= U64_MAX,
		.operand	= op->atomic.before,
		.swap_mask	= U64_MAX,
	};

	return rds_pin_atomic(&op->what->pin, 0, &undo) == op->atomic.mark;
}

void rds_ib_atomic_wr_init(struct ib_atomic_wr *wr, struct ib_sge *sge, const struct rds_op *what,
			   const struct ib_pd *pd)
{
	const struct rds_atomic *a = &what->atomic;

	sge->addr = sg_dma_address(what->pin.sgt.sgl);
	sge->length = sizeof(u64);
	sge->lkey = pd->local_dma_lkey;
	wr->wr.opcode = a->cswp ? IB_WR_ATOMIC_CMP_AND_SWP : IB_WR_ATOMIC_FETCH_AND_ADD;
	wr->wr.send_flags = IB_SEND_SIGNALED;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
	wr->remote_addr = what->raddr;
	wr->rkey = what->rkey;
	wr->compare_add = a->cswp ? a->compare : a->operand;
	wr->swap = a->operand;
}

static int rds_ib_atomic_build(struct rds_ib_ep *ep, struct rds_ib_op *op)
{
	struct rds_ib_device *dev = ep->dev;

	if (!dev->domain.atomics)
		return -EOPNOTSUPP;
	rds_ib_atomic_mark(op);
	if (ib_dma_map_sgtable_attrs(dev->ibdev, &op->what->pin.sgt, DMA_FROM_DEVICE, 0)) {
		rds_ib_atomic_unmark(op);
		return -EAGAIN;
	}
	rds_ib_atomic_wr_init(&op->atomic.wr, &op->atomic.sge, op->what, dev->pd);
	op->next = &op->atomic.wr.wr;
	return 0;
}

static void rds_ib_atomic_unbuild(struct rds_ib_ep *ep, struct rds_ib_op *op)
{
	ib_dma_unmap_sgtable_attrs(ep->dev->ibdev, &op->what->pin.sgt, DMA_FROM_DEVICE, 0);
}

/* @status, unless that is a success without the old value. */
static int rds_ib_atomic_status(struct rds_ib_ep *ep, struct rds_ib_op *op, int status)
{
	if (!rds_ib_atomic_unmark(op) || status != RDS_RDMA_SUCCESS)
		return status;
	rds_stat_inc(rds_path_conn(ep->ep.path)->rn, ib_atomic_lost);
	return RDS_RDMA_OTHER_ERROR;
}

/* All of them */

void rds_ib_op_end(struct rds_ib_ep *ep, struct rds_ib_op *op, int status)
{
	struct rds_op *what = op->what;
	struct rds_msg *msg = what->msg;

	status = op->status ?: status;
	if (what->kind == RDS_OP_ATOMIC) {
		rds_ib_atomic_unbuild(ep, op);
		status = rds_ib_atomic_status(ep, op, status);
	} else {
		rds_ib_rw_unbuild(ep, op);
	}
	/* one that never reached the ring is as it was, and may run on the next endpoint */
	if (what->state == RDS_OP_POSTED)
		rds_op_done(what, status);
	kfree(op);
	rds_msg_put(msg);
}

/* Map the local side and build the work requests.  Sleeps. */
static struct rds_ib_op *rds_ib_op_build(struct rds_ib_ep *ep, struct rds_op *what)
{
	struct rds_ib_op *op;
	int err;

	op = kzalloc(sizeof(*op), GFP_KERNEL);
	if (!op)
		return ERR_PTR(-ENOMEM);
	op->what = what;
	err = what->kind == RDS_OP_ATOMIC ? rds_ib_atomic_build(ep, op) : rds_ib_rw_build(ep, op);
	if (err) {
		kfree(op);
		return ERR_PTR(err);
	}
	rds_msg_get(what->msg);
	return op;
}

/* The device refuses the operation itself: it, and its message, would fail for ever. */
static int rds_ib_op_refused(struct rds_ib_ep *ep, struct rds_op *what, int err)
{
	what->state = RDS_OP_POSTED;
	rds_op_done(what, RDS_RDMA_OTHER_ERROR);
	rds_ep_drop(&ep->ep, RDS_DROP_OP_ERROR, err);
	return err;
}

static int rds_ib_op_begin(struct rds_ib_ep *ep, struct rds_op *what)
{
	struct rds_ib_op *op;

	/* building sleeps; a completion leaves it to the worker */
	if (!rds_xmit_may_sleep()) {
		rds_path_post(ep->ep.path, RDS_PATH_XMIT);
		return -EAGAIN;
	}
	op = rds_ib_op_build(ep, what);
	if (IS_ERR(op)) {
		/* no memory, or all registrations for large operations in use */
		if (PTR_ERR(op) != -ENOMEM && PTR_ERR(op) != -EAGAIN)
			return rds_ib_op_refused(ep, what, PTR_ERR(op));
		rds_ib_tx_retry_later(ep);
		return -EAGAIN;
	}
	ep->tx.op = op;
	return 0;
}

static void rds_ib_op_count(struct rds_ib_ep *ep, const struct rds_op *what)
{
	struct rds_net *rn = rds_path_conn(ep->ep.path)->rn;

	if (what->kind != RDS_OP_ATOMIC)
		return;
	if (what->atomic.cswp)
		rds_stat_inc(rn, ib_atomic_cswp);
	else
		rds_stat_inc(rn, ib_atomic_fadd);
}

static int rds_ib_xmit_op(struct rds_ib_ep *ep, struct rds_op *what)
{
	struct rds_ib_tx *tx = &ep->tx;
	struct rds_ib_slot *slot;
	struct ib_send_wr *wr;
	int err;

	if (what->state == RDS_OP_NEW && !tx->op) {
		err = rds_ib_op_begin(ep, what);
		if (err)
			return err;
	}
	if (!tx->op || tx->op->what != what)
		return 0;
	while ((wr = tx->op->next)) {
		slot = rds_ib_tx_take(ep);
		if (!slot)
			return -EAGAIN;
		what->state = RDS_OP_POSTED;
		tx->op->next = wr->next;
		slot->op = tx->op;
		slot->op_last = !wr->next;
		rds_ib_tx_append(ep, slot, wr);
	}
	rds_ib_op_count(ep, what);
	tx->op = NULL;
	return 0;
}

int rds_ib_xmit_ops(struct rds_ib_ep *ep, struct rds_msg *msg)
{
	struct rds_op *what;
	unsigned int i;
	int err;

	rds_msg_for_each_op(msg, i, what) {
		err = rds_ib_xmit_op(ep, what);
		if (err)
			return err;
	}
	return 0;
}
