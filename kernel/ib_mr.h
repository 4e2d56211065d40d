/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fast registration of user pages.
 *
 * A registration is a work request and needs a connected queue pair.  Each device has one of its own for
 * that, connected to itself, so that keys can be had before, and without, any connection.  It also runs
 * the atomics of an address on itself: a device's atomics are one step with each other, not with a CPU's.
 */
#ifndef RDS_IB_MR_H
#define RDS_IB_MR_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

struct rds_domain;
struct rds_ib_device;
struct rds_mr;
struct rds_op;

struct rds_ib_mrs {
	struct mutex		lock;		/* what follows, and posting */
	struct list_head	live;		/* struct rds_ib_mr */
	struct ib_qp		*qp;		/* NULL: to be made */
	struct ib_cqe		cqe;
	struct completion	done;
	enum ib_wc_status	status;
	bool			broken;		/* an overdue completion may still come */
};

void rds_ib_mrs_init(struct rds_ib_device *dev);
/* The device goes away: end all registrations. */
void rds_ib_mrs_exit(struct rds_ib_device *dev);

/* The most pages of one registration. */
u32 rds_ib_mr_max_pages(const struct ib_device *ibdev);
int rds_ib_mr_register(struct rds_domain *domain, struct rds_mr *mr);
void rds_ib_mr_unregister(struct rds_domain *domain, struct rds_mr *mr);
int rds_ib_mr_atomic(struct rds_domain *domain, struct rds_op *op);

#endif
