/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An RDMA device: what all of its endpoints share. */
#ifndef RDS_IB_DEV_H
#define RDS_IB_DEV_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include "ib_mr.h"
#include "ib_recv.h"
#include "transport.h"

struct rds_net;

/* Sent through the device's receive completion queue to learn that all before it was handled. */
struct rds_ib_marker {
	struct ib_cqe		cqe;
	struct completion	done;
};

struct rds_ib_device {
	struct rds_domain	domain;		/* its references keep this memory, not the device */
	struct ib_device	*ibdev;		/* valid until rds_ib_dev_remove() returns */
	struct rds_net		*rn;		/* of the namespace that it belongs to; likewise */
	struct list_head	item;		/* rds_ib_devices, while alive */

	struct ib_pd		*pd;		/* one for all, so that every queue pair may use a key */
	struct ib_cq		*recv_cq;	/* receives, markers, registrations */
	struct rds_ib_rq	rq;
	struct rds_ib_mrs	mrs;
	struct rds_ib_marker	mrs_marker;

	struct mutex		marker_lock;
	struct ib_qp		*marker_qp;	/* always in the error state: flushes what is posted */

	/* Endpoint by queue pair: what a receive completion is for.  The pointer is a mere number here.
	 * An endpoint stays until no completion of its queue pair can be left.
	 */
	struct rhashtable	qps;
	wait_queue_head_t	qp_gone;

	atomic_t		partial_pages;	/* of messages that are being received */

	spinlock_t		ep_lock;	/* eps, domain.dead */
	struct list_head	eps;		/* those that use the device */
	wait_queue_head_t	ep_gone;

	struct ib_event_handler	events;
};

static inline struct rds_ib_device *rds_ib_dev(struct rds_domain *domain)
{
	return container_of(domain, struct rds_ib_device, domain);
}

struct rdma_cm_id;
struct rds_ib_ep;

extern const struct rds_transport rds_ib_transport;

/* The live device that uses @ibdev, with a reference to its domain, or NULL. */
struct rds_ib_device *rds_ib_dev_find(struct ib_device *ibdev);
void rds_ib_dev_for_each(struct rds_net *rn, rds_domain_fn fn, void *arg);
void rds_ib_dev_free(struct rds_domain *domain);

/* @ep begins to use the device and the address of @id, until detach: ep->dev is set.  -ENODEV if the device is not, or no
 * longer, ours.  From now on @ep is dropped when either goes away.
 */
int rds_ib_dev_attach(struct rds_ib_ep *ep, const struct rdma_cm_id *id);
/* @ep touches nothing of the device any more.  Nothing happens if it never did. */
void rds_ib_dev_detach(struct rds_ib_ep *ep);

/* Has the address of @ep, which is attached, left the device?  Then nothing can be sent for it any more, not even by the CM,
 * be the address back or not: it has another place in the device's table.  RoCE only; a port's InfiniBand address
 * stays when an IP address goes.  Any context.
 */
bool rds_ib_dev_lost_address(const struct rds_ib_ep *ep);

/* Give up endpoints that have been waiting for the rest of a message for long.  Any context. */
void rds_ib_dev_drop_stale(struct rds_ib_device *dev);

/* Enter @ep under its queue pair; the table takes a reference.  Sleeps. */
int rds_ib_dev_add_qp(struct rds_ib_device *dev, struct rds_ib_ep *ep);
void rds_ib_dev_remove_qp(struct rds_ib_device *dev, struct rds_ib_ep *ep);
/* The endpoint of a receive completion; stays valid while the completion is being handled. */
struct rds_ib_ep *rds_ib_dev_find_qp(struct rds_ib_device *dev, const struct ib_qp *qp);

/* Wait until every completion that is in the receive queue now has been handled.  Sleeps, bounded.
 * On error @marker is still in use, until the device is removed.
 */
int rds_ib_dev_barrier(struct rds_ib_device *dev, struct rds_ib_marker *marker);

int rds_ib_dev_register_client(void);
void rds_ib_dev_unregister_client(void);

#endif
