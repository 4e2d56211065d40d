/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Receive buffers, shared by all endpoints of a device, and what becomes of frames. */
#ifndef RDS_IB_RECV_H
#define RDS_IB_RECV_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct rds_ib_device;
struct rds_ib_ep;
struct rds_ib_rbuf;

struct rds_ib_rq {
	struct ib_srq		*srq;
	unsigned int		size;		/* buffers */
	struct rds_ib_rbuf	*bufs;
	void			*headers;	/* one for each buffer */
	u64			headers_dma;
	struct delayed_work	refill;

	spinlock_t		lock;		/* what follows */
	struct list_head	ready;		/* to be posted */
	struct list_head	empty;		/* without a page */
	unsigned int		nr_ready;
	bool			stopped;
};

/* Buffers for a device: the number, at most what it can do. */
unsigned int rds_ib_rq_size(const struct rds_ib_device *dev);

/* Make the shared receive queue and fill it.  Sleeps. */
int rds_ib_rq_init(struct rds_ib_device *dev);
/* With no queue pair left, and nobody polling the receive completion queue. */
void rds_ib_rq_exit(struct rds_ib_device *dev);

/* Forget the message that is being received.  Takes path->rx_lock. */
void rds_ib_rx_drop(struct rds_ib_ep *ep);

/* Has a message been waiting for its next fragment for long?  A hint: no lock is needed. */
bool rds_ib_rx_is_stale(const struct rds_ib_ep *ep);

#endif
