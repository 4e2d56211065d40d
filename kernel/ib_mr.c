// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ib_mr.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "ib_dev.h"
#include "ib_send.h"
#include "mr.h"
#include "msg.h"
#include "stats.h"
#include "wire.h"

/* How long one registration may take. */
#define RDS_IB_MR_TIMEOUT	(5 * HZ)
/* Registrations up to here count as small. */
#define RDS_IB_MR_SMALL_PAGES	2

/* A key in use. */
struct rds_ib_mr {
	struct list_head	item;		/* mrs->live, while ibmr is set */
	struct ib_mr		*ibmr;		/* NULL: the device is gone */
	struct rds_mr		*mr;
	enum dma_data_direction	dir;
};

/* The queue pair that is connected to itself */

static int rds_ib_mr_qp_to_init(struct ib_qp *qp, u32 port, bool atomics)
{
	struct ib_qp_attr attr = {
		.qp_state	 = IB_QPS_INIT,
		.port_num	 = port,
		.qp_access_flags = atomics ? IB_ACCESS_REMOTE_ATOMIC : 0,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

static int rds_ib_mr_qp_to_rtr(struct ib_qp *qp, u32 port, const struct ib_gid_attr *gid)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTR,
		.path_mtu	= IB_MTU_1024,
		.dest_qp_num	= qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer	= 10,
	};
	struct ib_port_attr port_attr;
	int err;

	err = ib_query_port(qp->device, port, &port_attr);
	if (err)
		return err;
	attr.ah_attr.type = rdma_ah_find_type(qp->device, port);
	if (attr.ah_attr.type == RDMA_AH_ATTR_TYPE_ROCE) {
		err = rdma_read_gid_l2_fields(gid, NULL, attr.ah_attr.roce.dmac);
		if (err)
			return err;
	}
	rdma_ah_set_port_num(&attr.ah_attr, port);
	rdma_ah_set_dlid(&attr.ah_attr, port_attr.lid);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&gid->gid, 0, gid->index, 1, 0);
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			    IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int rds_ib_mr_qp_to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTS,
		.timeout	= 14,
		.retry_cnt	= 6,	/* soft-RoCE takes 7 for ever */
		.max_rd_atomic	= 1,
		.rnr_retry	= 7,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int rds_ib_mr_qp_connect_by(struct rds_ib_device *dev, struct ib_qp *qp, u32 port,
				   const struct ib_gid_attr *gid)
{
	int err;

	err = rds_ib_mr_qp_to_init(qp, port, dev->domain.atomics);
	if (!err)
		err = rds_ib_mr_qp_to_rtr(qp, port, gid);
	if (!err)
		err = rds_ib_mr_qp_to_rts(qp);
	return err;
}

static void rds_ib_mr_qp_reset(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	ib_modify_qp(qp, &attr, IB_QP_STATE);
}

static bool rds_ib_mr_gid_link_local(const struct ib_gid_attr *gid)
{
	return ipv6_addr_type((const struct in6_addr *)&gid->gid) & IPV6_ADDR_LINKLOCAL;
}

static int rds_ib_mr_qp_try(struct rds_ib_device *dev, struct ib_qp *qp, u32 port, int index,
			    bool link_local)
{
	const struct ib_gid_attr *gid;
	int err = -EAGAIN;

	gid = rdma_get_gid_attr(qp->device, port, index);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	if (rds_ib_mr_gid_link_local(gid) == link_local) {
		err = rds_ib_mr_qp_connect_by(dev, qp, port, gid);
		if (err)
			rds_ib_mr_qp_reset(qp);
	}
	rdma_put_gid_attr(gid);
	return err;
}

static int rds_ib_mr_qp_connect_to(struct rds_ib_device *dev, struct ib_qp *qp, bool link_local)
{
	struct ib_device *ibdev = qp->device;
	int index;
	u32 port;

	rdma_for_each_port(ibdev, port) {
		for (index = 0; index < ibdev->port_data[port].immutable.gid_tbl_len; index++) {
			if (!rds_ib_mr_qp_try(dev, qp, port, index, link_local))
				return 0;
		}
	}
	return -EAGAIN;
}

/* A device may have a link-local address that its interface has not, and that nothing can be sent to:
 * good enough for registrations, of which nothing leaves, but the last choice.
 */
static int rds_ib_mr_qp_connect(struct rds_ib_device *dev, struct ib_qp *qp)
{
	return rds_ib_mr_qp_connect_to(dev, qp, false) ?
	       rds_ib_mr_qp_connect_to(dev, qp, true) : 0;
}

static int rds_ib_mr_qp_make(struct rds_ib_device *dev)
{
	struct ib_qp_init_attr init = {
		.send_cq	= dev->recv_cq,
		.recv_cq	= dev->recv_cq,
		.cap		= {
			.max_send_wr	= 2,
			.max_recv_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	struct ib_qp *qp;
	int err;

	qp = ib_create_qp(dev->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	err = rds_ib_mr_qp_connect(dev, qp);
	if (err)
		ib_destroy_qp(qp);
	else
		dev->mrs.qp = qp;
	return err;
}

static void rds_ib_mr_qp_destroy(struct rds_ib_mrs *mrs)
{
	if (mrs->qp)
		ib_destroy_qp(mrs->qp);
	mrs->qp = NULL;
}

/* Posting to it */

static void rds_ib_mr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_mrs *mrs = container_of(wc->wr_cqe, struct rds_ib_mrs, cqe);

	mrs->status = wc->status;
	complete(&mrs->done);
}

/* Post @wr, which is signalled, and wait until it is over. */
static int rds_ib_mr_post(struct rds_ib_device *dev, struct ib_send_wr *wr)
{
	struct rds_ib_mrs *mrs = &dev->mrs;
	int err;

	lockdep_assert_held(&mrs->lock);
	/* not that of the one before, if this one does not even begin */
	mrs->status = IB_WC_GENERAL_ERR;
	if (mrs->broken)
		return -EIO;
	if (!mrs->qp) {
		err = rds_ib_mr_qp_make(dev);
		if (err)
			return err;
	}
	wr->wr_cqe = &mrs->cqe;
	reinit_completion(&mrs->done);
	err = ib_post_send(mrs->qp, wr, NULL);
	if (err)
		return err;
	if (!wait_for_completion_timeout(&mrs->done, RDS_IB_MR_TIMEOUT))
		return -ETIMEDOUT;
	return mrs->status == IB_WC_SUCCESS ? 0 : -EIO;
}

/* Get rid of a queue pair that failed.  An overdue completion must not be taken for that of a later
 * registration.
 */
static void rds_ib_mr_qp_fail(struct rds_ib_device *dev, int err)
{
	rds_ib_mr_qp_destroy(&dev->mrs);
	if (err == -ETIMEDOUT && rds_ib_dev_barrier(dev, &dev->mrs_marker))
		dev->mrs.broken = true;
}

/* A failure may be of the queue pair's, for instance after an event on its port: try once with another. */
static int rds_ib_mr_do_register(struct rds_ib_device *dev, struct ib_mr *ibmr, int access)
{
	struct ib_reg_wr wr = {
		.wr = {
			.opcode		= IB_WR_REG_MR,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.mr	= ibmr,
		.key	= ibmr->rkey,
		.access	= access,
	};
	int attempt, err;

	for (attempt = 0; attempt < 2; attempt++) {
		err = rds_ib_mr_post(dev, &wr.wr);
		if (!err)
			return 0;
		if (!dev->mrs.qp)
			return err;
		rds_ib_mr_qp_fail(dev, err);
	}
	return -EIO;
}

static int rds_ib_mr_run_atomic(struct rds_ib_device *dev, struct rds_op *op)
{
	struct ib_atomic_wr wr = {};
	struct ib_sge sge;
	int err;

	rds_ib_atomic_wr_init(&wr, &sge, op, dev->pd);
	err = rds_ib_mr_post(dev, &wr.wr);
	if (!err)
		return RDS_RDMA_SUCCESS;
	if (dev->mrs.qp)
		rds_ib_mr_qp_fail(dev, err);
	return err == -ETIMEDOUT ? RDS_RDMA_DROPPED : rds_ib_op_status(dev->mrs.status);
}

int rds_ib_mr_atomic(struct rds_domain *domain, struct rds_op *op)
{
	struct rds_ib_device *dev = rds_ib_dev(domain);
	int status = RDS_RDMA_OTHER_ERROR;

	mutex_lock(&dev->mrs.lock);
	if (!dev->domain.dead &&
	    !ib_dma_map_sgtable_attrs(dev->ibdev, &op->pin.sgt, DMA_FROM_DEVICE, 0)) {
		status = rds_ib_mr_run_atomic(dev, op);
		ib_dma_unmap_sgtable_attrs(dev->ibdev, &op->pin.sgt, DMA_FROM_DEVICE, 0);
	}
	mutex_unlock(&dev->mrs.lock);
	return status;
}

/* Regions */

static int rds_ib_mr_access(const struct rds_mr *mr)
{
	int access = IB_ACCESS_REMOTE_READ;

	if (mr->pin.writable)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (mr->pin.writable && mr->key.domain->atomics)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* Map the pages for the device and describe them to it.  The key covers the region's bytes alone, its first
 * byte at the address that is its place in the page: what peers have in their cookies.
 */
static int rds_ib_mr_map(struct rds_ib_device *dev, struct rds_ib_mr *rmr)
{
	struct sg_table *sgt = &rmr->mr->pin.sgt;
	int err, n;

	err = ib_dma_map_sgtable_attrs(dev->ibdev, sgt, rmr->dir, 0);
	if (err)
		return -ENOMEM;
	n = ib_map_mr_sg(rmr->ibmr, sgt->sgl, sgt->nents, NULL, PAGE_SIZE);
	rmr->ibmr->iova = offset_in_page(rmr->ibmr->iova);
	if (n == sgt->nents && rmr->ibmr->length == rmr->mr->len &&
	    rmr->ibmr->iova == rmr->mr->offset)
		return 0;
	ib_dma_unmap_sgtable_attrs(dev->ibdev, sgt, rmr->dir, 0);
	return n < 0 ? n : -EINVAL;
}

/* Regions have room for a page more than there are: when an access ends with the last of 256 pages, soft-RoCE of
 * Linux 6.1 looks where the next 256 would stand.
 */
#define RDS_IB_MR_SPARE_PAGES	1u

u32 rds_ib_mr_max_pages(const struct ib_device *ibdev)
{
	return min_t(u32, ibdev->attrs.max_fast_reg_page_list_len - RDS_IB_MR_SPARE_PAGES,
		     RDS_MR_MAX_PAGES);
}

static struct ib_mr *rds_ib_mr_alloc(struct rds_ib_device *dev, unsigned int pages)
{
	return ib_alloc_mr(dev->pd, IB_MR_TYPE_MEM_REG, pages + RDS_IB_MR_SPARE_PAGES);
}

static int rds_ib_mr_setup(struct rds_ib_device *dev, struct rds_ib_mr *rmr)
{
	struct rds_mr *mr = rmr->mr;
	int err;

	if (dev->domain.dead)
		return -EAGAIN;
	rmr->ibmr = rds_ib_mr_alloc(dev, mr->pin.nr_pages);
	if (IS_ERR(rmr->ibmr))
		return PTR_ERR(rmr->ibmr);
	err = rds_ib_mr_map(dev, rmr);
	if (err)
		goto out_dereg;
	err = rds_ib_mr_do_register(dev, rmr->ibmr, rds_ib_mr_access(mr));
	if (err)
		goto out_unmap;
	list_add(&rmr->item, &dev->mrs.live);
	mr->key.rkey = rmr->ibmr->rkey;
	mr->cookie = rds_cookie(rmr->ibmr->rkey, mr->offset);
	mr->handle = rmr;
	return 0;

out_unmap:
	ib_dma_unmap_sgtable_attrs(dev->ibdev, &mr->pin.sgt, rmr->dir, 0);
out_dereg:
	ib_dereg_mr(rmr->ibmr);
	return err;
}

static bool rds_ib_mr_is_small(const struct rds_mr *mr)
{
	return mr->pin.nr_pages <= RDS_IB_MR_SMALL_PAGES;
}

/* Without a pool each one is made for its only use. */
static void rds_ib_mr_count_made(struct rds_mr *mr)
{
	if (rds_ib_mr_is_small(mr)) {
		rds_stat_inc(mr->rn, ib_rdma_mr_8k_alloc);
		rds_stat_inc(mr->rn, ib_rdma_mr_8k_used);
	} else {
		rds_stat_inc(mr->rn, ib_rdma_mr_1m_alloc);
		rds_stat_inc(mr->rn, ib_rdma_mr_1m_used);
	}
}

static void rds_ib_mr_count_freed(struct rds_mr *mr)
{
	if (rds_ib_mr_is_small(mr))
		rds_stat_inc(mr->rn, ib_rdma_mr_8k_free);
	else
		rds_stat_inc(mr->rn, ib_rdma_mr_1m_free);
}

int rds_ib_mr_register(struct rds_domain *domain, struct rds_mr *mr)
{
	struct rds_ib_device *dev = rds_ib_dev(domain);
	struct rds_ib_mr *rmr;
	int err;

	rmr = kzalloc(sizeof(*rmr), GFP_KERNEL);
	if (!rmr)
		return -ENOMEM;
	rmr->mr = mr;
	rmr->dir = mr->pin.writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	mutex_lock(&dev->mrs.lock);
	err = rds_ib_mr_setup(dev, rmr);
	mutex_unlock(&dev->mrs.lock);
	if (err)
		kfree(rmr);
	else
		rds_ib_mr_count_made(mr);
	return err;
}

/* Nobody can use the key when this returns. */
static void rds_ib_mr_end(struct rds_ib_device *dev, struct rds_ib_mr *rmr)
{
	lockdep_assert_held(&dev->mrs.lock);
	ib_dereg_mr(rmr->ibmr);
	ib_dma_unmap_sgtable_attrs(dev->ibdev, &rmr->mr->pin.sgt, rmr->dir, 0);
	rmr->ibmr = NULL;
	list_del(&rmr->item);
}

void rds_ib_mr_unregister(struct rds_domain *domain, struct rds_mr *mr)
{
	struct rds_ib_device *dev = rds_ib_dev(domain);
	struct rds_ib_mr *rmr = mr->handle;

	if (!rmr)
		return;
	mutex_lock(&dev->mrs.lock);
	if (rmr->ibmr)
		rds_ib_mr_end(dev, rmr);
	mutex_unlock(&dev->mrs.lock);
	mr->handle = NULL;
	rds_ib_mr_count_freed(mr);
	kfree(rmr);
}

void rds_ib_mrs_init(struct rds_ib_device *dev)
{
	struct rds_ib_mrs *mrs = &dev->mrs;

	mutex_init(&mrs->lock);
	INIT_LIST_HEAD(&mrs->live);
	mrs->cqe.done = rds_ib_mr_done;
	init_completion(&mrs->done);
}

void rds_ib_mrs_exit(struct rds_ib_device *dev)
{
	struct rds_ib_mrs *mrs = &dev->mrs;
	struct rds_ib_mr *rmr, *tmp;

	mutex_lock(&mrs->lock);
	list_for_each_entry_safe(rmr, tmp, &mrs->live, item)
		rds_ib_mr_end(dev, rmr);
	rds_ib_mr_qp_destroy(mrs);
	mutex_unlock(&mrs->lock);
}
