/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Status of RDMA operations on its way to the application, in order of completion. */
#ifndef RDS_NOTIFY_H
#define RDS_NOTIFY_H

#include <linux/list.h>
#include <linux/types.h>

struct msghdr;
struct rds_sock;

struct rds_notify {
	struct list_head	item;		/* rs->notifies, under rs->rcv_lock */
	u64			place;		/* in that queue; grows */
	u64			token;
	int			status;
	bool			failures_only;	/* RDS_RECVERR: tell of failures, all as DROPPED */
};

/* Hand @n over to the application and wake it.  Any context. */
void rds_notify_queue(struct rds_sock *rs, struct rds_notify *n);

/* Is there room in @msg for a control message with @len bytes of data? */
bool rds_cmsg_fits(const struct msghdr *msg, size_t len);

/* Put as many RDMA_STATUS messages into @msg as fit.  Returns how many; 0 with none queued, or
 * with no room for one, when MSG_CTRUNC is set and all stay queued.  -EFAULT: the one that could not
 * be stored, and those behind it, stay queued.  Sleeps.
 */
int rds_notify_recv(struct rds_sock *rs, struct msghdr *msg);

/* The socket is being released. */
void rds_notify_purge(struct rds_sock *rs);

#endif
