// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ib_dev.h"

#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "ib_ep.h"
#include "ib_qp.h"
#include "net.h"

/* How long anything that the device does by itself may take. */
#define RDS_IB_DEV_TIMEOUT	(5 * HZ)
/* Receive completion queue entries beside those for receive buffers: a registration with its error, and
 * markers, of which overdue ones may pile up.
 */
#define RDS_IB_DEV_EXTRA_CQES	64
#define RDS_IB_DEV_MARKERS	16

static DEFINE_SPINLOCK(rds_ib_devices_lock);
static LIST_HEAD(rds_ib_devices);

struct rds_ib_device *rds_ib_dev_find(struct ib_device *ibdev)
{
	struct rds_ib_device *dev, *found = NULL;

	spin_lock(&rds_ib_devices_lock);
	list_for_each_entry(dev, &rds_ib_devices, item) {
		if (dev->ibdev != ibdev)
			continue;
		rds_domain_get(&dev->domain);
		found = dev;
		break;
	}
	spin_unlock(&rds_ib_devices_lock);
	return found;
}

void rds_ib_dev_for_each(struct rds_net *rn, rds_domain_fn fn, void *arg)
{
	struct rds_ib_device *dev;

	spin_lock(&rds_ib_devices_lock);
	list_for_each_entry(dev, &rds_ib_devices, item) {
		if (rdma_dev_access_netns(dev->ibdev, rn->net))
			fn(&dev->domain, dev_name(&dev->ibdev->dev), arg);
	}
	spin_unlock(&rds_ib_devices_lock);
}

void rds_ib_dev_free(struct rds_domain *domain)
{
	kfree(rds_ib_dev(domain));
}

/* Endpoints that use the device */

bool rds_ib_dev_lost_address(const struct rds_ib_ep *ep)
{
	const struct ib_gid_attr *gid = ep->gid;
	bool lost;

	if (!gid || !rdma_protocol_roce(gid->device, gid->port_num))
		return false;
	rcu_read_lock();
	lost = IS_ERR(rdma_read_gid_attr_ndev_rcu(gid));
	rcu_read_unlock();
	return lost;
}

static void rds_ib_dev_check_address(struct rds_ib_ep *ep)
{
	if (rds_ib_dev_lost_address(ep))
		rds_ep_drop(&ep->ep, RDS_DROP_ADDR_CHANGE, -EADDRNOTAVAIL);
}

static void rds_ib_dev_hold_gid(struct rds_ib_ep *ep, const struct ib_gid_attr *gid)
{
	if (gid)
		rdma_hold_gid_attr(gid);
	ep->gid = gid;
}

static void rds_ib_dev_put_gid(struct rds_ib_ep *ep)
{
	if (ep->gid)
		rdma_put_gid_attr(ep->gid);
	ep->gid = NULL;
}

int rds_ib_dev_attach(struct rds_ib_ep *ep, const struct rdma_cm_id *id)
{
	struct rds_ib_device *dev = rds_ib_dev_find(id->device);
	bool dead;

	if (!dev)
		return -ENODEV;
	rds_ib_dev_hold_gid(ep, id->route.addr.dev_addr.sgid_attr);
	spin_lock_bh(&dev->ep_lock);
	dead = dev->domain.dead;
	if (!dead)
		list_add(&ep->dev_item, &dev->eps);
	spin_unlock_bh(&dev->ep_lock);
	if (dead) {
		rds_ib_dev_put_gid(ep);
		rds_domain_put(&dev->domain);
		return -ENODEV;
	}
	ep->dev = dev;
	/* whoever looked before it was on the list has not seen it */
	rds_ib_dev_check_address(ep);
	return 0;
}

void rds_ib_dev_detach(struct rds_ib_ep *ep)
{
	struct rds_ib_device *dev = ep->dev;

	if (!dev)
		return;
	spin_lock_bh(&dev->ep_lock);
	/* the address first: with no endpoint on the list the device may be gone in the next moment */
	rds_ib_dev_put_gid(ep);
	list_del(&ep->dev_item);
	spin_unlock_bh(&dev->ep_lock);
	wake_up_all(&dev->ep_gone);
	ep->dev = NULL;
	rds_domain_put(&dev->domain);
}

static bool rds_ib_dev_unused(struct rds_ib_device *dev)
{
	bool unused;

	spin_lock_bh(&dev->ep_lock);
	unused = list_empty(&dev->eps);
	spin_unlock_bh(&dev->ep_lock);
	return unused;
}

static void rds_ib_dev_drop_eps(struct rds_ib_device *dev)
{
	struct rds_ib_ep *ep;

	spin_lock_bh(&dev->ep_lock);
	WRITE_ONCE(dev->domain.dead, true);
	list_for_each_entry(ep, &dev->eps, dev_item)
		rds_ep_drop(&ep->ep, RDS_DROP_DEVICE_REMOVED, -ENODEV);
	spin_unlock_bh(&dev->ep_lock);
	wait_event(dev->ep_gone, rds_ib_dev_unused(dev));
}

/* The device's table of addresses has changed, which is later than the network's: with no lock of that held, and
 * able to sleep.
 */
static void rds_ib_dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct rds_ib_device *dev = container_of(handler, struct rds_ib_device, events);
	struct rds_ib_ep *ep;

	if (event->event != IB_EVENT_GID_CHANGE)
		return;
	rds_transport_addresses_changed();
	spin_lock_bh(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, dev_item)
		rds_ib_dev_check_address(ep);
	spin_unlock_bh(&dev->ep_lock);
}

void rds_ib_dev_drop_stale(struct rds_ib_device *dev)
{
	struct rds_ib_ep *ep;

	spin_lock_bh(&dev->ep_lock);
	list_for_each_entry(ep, &dev->eps, dev_item)
		if (rds_ib_rx_is_stale(ep))
			rds_ep_drop(&ep->ep, RDS_DROP_PARTIAL_STALE, -ETIMEDOUT);
	spin_unlock_bh(&dev->ep_lock);
}

/* Endpoint by queue pair */

static const struct rhashtable_params rds_ib_qp_params = {
	.head_offset		= offsetof(struct rds_ib_ep, qp_node),
	.key_offset		= offsetof(struct rds_ib_ep, qp),
	.key_len		= sizeof_field(struct rds_ib_ep, qp),
	.automatic_shrinking	= true,
};

struct rds_ib_ep *rds_ib_dev_find_qp(struct rds_ib_device *dev, const struct ib_qp *qp)
{
	return rhashtable_lookup_fast(&dev->qps, &qp, rds_ib_qp_params);
}

/* The allocator may give a new queue pair the place of one that was destroyed just now; then wait
 * until the last completion of that one has been handled.
 */
int rds_ib_dev_add_qp(struct rds_ib_device *dev, struct rds_ib_ep *ep)
{
	long left = 2 * RDS_IB_DEV_TIMEOUT;
	int err;

	rds_ep_get(&ep->ep);
	for (;;) {
		err = rhashtable_lookup_insert_fast(&dev->qps, &ep->qp_node, rds_ib_qp_params);
		if (err != -EEXIST || !left)
			break;
		left = wait_event_timeout(dev->qp_gone, !rds_ib_dev_find_qp(dev, ep->qp), left);
	}
	if (err)
		rds_ep_put(&ep->ep);
	return err;
}

void rds_ib_dev_remove_qp(struct rds_ib_device *dev, struct rds_ib_ep *ep)
{
	rhashtable_remove_fast(&dev->qps, &ep->qp_node, rds_ib_qp_params);
	wake_up_all(&dev->qp_gone);
	rds_ep_put(&ep->ep);
}

/* An endpoint whose barrier failed: now that the completion queue is gone, nothing refers to it. */
static void rds_ib_dev_free_qp(void *ptr, void *arg)
{
	struct rds_ib_ep *ep = ptr;

	rds_ep_put(&ep->ep);
}

/* Markers */

static void rds_ib_marker_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_marker *marker = container_of(wc->wr_cqe, struct rds_ib_marker, cqe);

	complete(&marker->done);
}

int rds_ib_dev_barrier(struct rds_ib_device *dev, struct rds_ib_marker *marker)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe		= &marker->cqe,
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= IB_SEND_SIGNALED,
		},
	};
	int err;

	marker->cqe.done = rds_ib_marker_done;
	init_completion(&marker->done);
	mutex_lock(&dev->marker_lock);
	err = ib_post_send(dev->marker_qp, &wr.wr, NULL);
	if (!err && !wait_for_completion_timeout(&marker->done, RDS_IB_DEV_TIMEOUT))
		err = -ETIMEDOUT;
	mutex_unlock(&dev->marker_lock);
	return err;
}

/* What is posted to a queue pair in the error state completes as flushed, and needs neither a peer nor an
 * address.
 */
static int rds_ib_marker_qp_init(struct rds_ib_device *dev)
{
	struct ib_qp_init_attr init = {
		.send_cq	= dev->recv_cq,
		.recv_cq	= dev->recv_cq,
		.cap		= {
			.max_send_wr	= RDS_IB_DEV_MARKERS,
			.max_recv_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= rdma_start_port(dev->ibdev),
	};
	struct ib_qp *qp;
	int err;

	qp = ib_create_qp(dev->pd, &init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_ERR;
	if (!err)
		err = ib_modify_qp(qp, &attr, IB_QP_STATE);
	if (err) {
		ib_destroy_qp(qp);
		return err;
	}
	dev->marker_qp = qp;
	return 0;
}

/* Coming and going of devices */

static struct rds_ib_device *rds_ib_dev_alloc(struct ib_device *ibdev)
{
	struct rds_ib_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->ibdev = ibdev;
	/* moved to another one, a device is removed and comes anew; one that all share is the initial one's */
	dev->rn = rds_net(read_pnet(&ibdev->coredev.rdma_net));
	dev->domain.trans = &rds_ib_transport;
	dev->domain.atomics = ibdev->attrs.atomic_cap != IB_ATOMIC_NONE;
	dev->domain.max_mr_pages = rds_ib_mr_max_pages(ibdev);
	refcount_set(&dev->domain.ref, 1);
	mutex_init(&dev->marker_lock);
	init_waitqueue_head(&dev->qp_gone);
	spin_lock_init(&dev->ep_lock);
	INIT_LIST_HEAD(&dev->eps);
	init_waitqueue_head(&dev->ep_gone);
	rds_ib_mrs_init(dev);
	return dev;
}

static int rds_ib_dev_setup(struct rds_ib_device *dev)
{
	struct ib_device *ibdev = dev->ibdev;
	int err;

	dev->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->pd))
		return PTR_ERR(dev->pd);
	/* asked for once: it can be set at any time */
	dev->rq.size = rds_ib_rq_size(dev);
	dev->recv_cq = ib_alloc_cq_any(ibdev, dev, dev->rq.size + RDS_IB_DEV_EXTRA_CQES,
				       IB_POLL_SOFTIRQ);
	if (IS_ERR(dev->recv_cq)) {
		err = PTR_ERR(dev->recv_cq);
		goto out_dealloc_pd;
	}
	err = rds_ib_marker_qp_init(dev);
	if (err)
		goto out_free_cq;
	err = rhashtable_init(&dev->qps, &rds_ib_qp_params);
	if (err)
		goto out_destroy_marker_qp;
	err = rds_ib_rq_init(dev);
	if (err)
		goto out_destroy_qps;
	return 0;

out_destroy_qps:
	rhashtable_destroy(&dev->qps);
out_destroy_marker_qp:
	ib_destroy_qp(dev->marker_qp);
out_free_cq:
	ib_free_cq(dev->recv_cq);
out_dealloc_pd:
	ib_dealloc_pd(dev->pd);
	return err;
}

/* With no endpoint left.  The completion queue goes before what its completions refer to. */
static void rds_ib_dev_teardown(struct rds_ib_device *dev)
{
	rds_ib_mrs_exit(dev);
	ib_destroy_qp(dev->marker_qp);
	ib_free_cq(dev->recv_cq);
	rds_ib_rq_exit(dev);
	rhashtable_free_and_destroy(&dev->qps, rds_ib_dev_free_qp, NULL);
	ib_dealloc_pd(dev->pd);
}

static struct ib_client rds_ib_client;

static int rds_ib_dev_add(struct ib_device *ibdev)
{
	struct rds_ib_device *dev;
	int err;

	if (!rds_ib_qp_device_ok(ibdev))
		return -EOPNOTSUPP;
	dev = rds_ib_dev_alloc(ibdev);
	if (!dev)
		return -ENOMEM;
	err = rds_ib_dev_setup(dev);
	if (err) {
		pr_warn("rds_sockets: cannot use RDMA device %s: error %d\n",
			dev_name(&ibdev->dev), err);
		kfree(dev);
		return err;
	}
	ib_set_client_data(ibdev, &rds_ib_client, dev);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, rds_ib_dev_event);
	ib_register_event_handler(&dev->events);
	spin_lock(&rds_ib_devices_lock);
	list_add_tail(&dev->item, &rds_ib_devices);
	spin_unlock(&rds_ib_devices_lock);
	/* it may have got addresses before, which nobody could find */
	rds_transport_addresses_changed();
	return 0;
}

static void rds_ib_dev_remove(struct ib_device *ibdev, void *data)
{
	struct rds_ib_device *dev = data;

	ib_unregister_event_handler(&dev->events);
	spin_lock(&rds_ib_devices_lock);
	list_del(&dev->item);
	spin_unlock(&rds_ib_devices_lock);
	rds_ib_dev_drop_eps(dev);
	rds_ib_dev_teardown(dev);
	rds_domain_put(&dev->domain);
}

static struct ib_client rds_ib_client = {
	.name	= "rds_sockets",
	.add	= rds_ib_dev_add,
	.remove	= rds_ib_dev_remove,
};

int rds_ib_dev_register_client(void)
{
	return ib_register_client(&rds_ib_client);
}

void rds_ib_dev_unregister_client(void)
{
	ib_unregister_client(&rds_ib_client);
}
