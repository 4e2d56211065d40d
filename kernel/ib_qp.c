// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ib_qp.h"

#include "conn.h"
#include "ib_cm.h"
#include "ib_dev.h"
#include "ib_ep.h"
#include "ib_send.h"
#include "msg.h"

/* Local pieces that one work request of an RDMA operation gathers or scatters.  Every entry of the send queue has
 * room for them, used or not.
 */
#define RDS_IB_MAX_SGE		3u
/* Local pieces of an operation: RDS_RDMA_MAX bytes in up to 1024 ranges, each with its own first page. */
#define RDS_IB_OP_PIECES	(RDS_RDMA_MAX / PAGE_SIZE + 1024)

bool rds_ib_qp_device_ok(const struct ib_device *ibdev)
{
	const struct ib_device_attr *attrs = &ibdev->attrs;

	return ibdev->node_type == RDMA_NODE_IB_CA &&
	       attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
	       attrs->max_send_sge >= 2 && attrs->max_srq > 0 && attrs->max_srq_sge >= 2 &&
	       attrs->max_qp_wr >= rds_ib_tx_min_wrs();
}

unsigned int rds_ib_qp_max_sge(const struct ib_device *ibdev)
{
	return min_t(u32, ibdev->attrs.max_send_sge, RDS_IB_MAX_SGE);
}

static void rds_ib_qp_event(struct ib_event *event, void *data)
{
	struct rds_ib_ep *ep = data;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		rds_ib_peer_sends(ep);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rds_ep_drop(&ep->ep, RDS_DROP_QP_EVENT, event->event);
		break;
	default:
		break;
	}
}

/* Where the device prefers memory registrations to long lists for an operation's local side, the core
 * keeps some for each queue pair: enough for one operation of any size.
 */
static unsigned int rds_ib_qp_rdma_ctxs(struct rdma_cm_id *id)
{
	if (!id->device->attrs.max_sgl_rd)
		return 0;
	return rdma_rw_mr_factor(id->device, id->port_num, RDS_IB_OP_PIECES);
}

static int rds_ib_qp_create_qp(struct rds_ib_ep *ep)
{
	struct rds_ib_device *dev = ep->dev;
	struct ib_qp_init_attr init = {
		.event_handler	= rds_ib_qp_event,
		.qp_context	= ep,
		.send_cq	= ep->send_cq,
		.recv_cq	= dev->recv_cq,
		.srq		= dev->rq.srq,
		.cap		= {
			.max_send_wr	= rds_ib_tx_wrs(ep),
			.max_send_sge	= rds_ib_qp_max_sge(dev->ibdev),
			.max_rdma_ctxs	= rds_ib_qp_rdma_ctxs(ep->cm_id),
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int err;

	err = rdma_create_qp(ep->cm_id, dev->pd, &init);
	if (!err)
		ep->qp = ep->cm_id->qp;
	return err;
}

int rds_ib_qp_create(struct rds_ib_ep *ep)
{
	struct rds_ib_device *dev = ep->dev;
	int err;

	err = rds_ib_tx_init(ep);
	if (err)
		return err;
	/* every work request may complete, with an error if unsignalled */
	ep->send_cqes = rds_ib_tx_wrs(ep);
	ep->send_cq = ib_cq_pool_get(dev->ibdev, ep->send_cqes, -1, IB_POLL_SOFTIRQ);
	if (IS_ERR(ep->send_cq)) {
		err = PTR_ERR(ep->send_cq);
		goto out_tx_exit;
	}
	err = rds_ib_qp_create_qp(ep);
	if (err)
		goto out_put_cq;
	/* before any peer can send to it */
	err = rds_ib_dev_add_qp(dev, ep);
	if (err)
		goto out_destroy_qp;
	return 0;

out_destroy_qp:
	rdma_destroy_qp(ep->cm_id);
out_put_cq:
	ib_cq_pool_put(ep->send_cq, ep->send_cqes);
out_tx_exit:
	rds_ib_tx_exit(ep);
	return err;
}

void rds_ib_qp_destroy(struct rds_ib_ep *ep)
{
	struct rds_ib_device *dev = ep->dev;

	if (!ep->cm_id->qp)
		return;
	/* Sends: all have completed when this returns.  Not ib_drain_qp(): newer kernels go on with the shared receive
	 * queue and handle its completions here, beside the softirq that does so for all endpoints, in order.
	 */
	ib_drain_sq(ep->qp);
	rds_ib_tx_drop(ep);
	/* receives: no new completion when this returns, but some may wait to be handled */
	rdma_destroy_qp(ep->cm_id);
	if (!rds_ib_dev_barrier(dev, &ep->marker))
		rds_ib_dev_remove_qp(dev, ep);
	else
		pr_warn_ratelimited("rds_sockets: %s does not complete work\n",
				    dev_name(&dev->ibdev->dev));
	/* nothing comes in any more that could start it */
	timer_shutdown_sync(&ep->notify);
	ib_cq_pool_put(ep->send_cq, ep->send_cqes);
	rds_ib_tx_exit(ep);
}
