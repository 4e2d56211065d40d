/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An incoming message.  It refers to nothing of the connection or device it came from. */
#ifndef RDS_INC_H
#define RDS_INC_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include "wire.h"

struct rds_mr;
struct rds_payload;

/* The way of a message: stamps of SO_RDS_MSG_RXPATH_LATENCY, whose positions they are. */
enum rds_rx_stamp {
	RDS_RX_HEADER,		/* its first frame was seen */
	RDS_RX_START,		/* and judged: the message began */
	RDS_RX_QUEUED,		/* it is in the socket's queue */
	RDS_RX_STAMPS
};

struct rds_inc {
	struct kref		ref;		/* queue, reader */
	struct list_head	item;		/* rs->received, under rs->rcv_lock */
	u64			place;		/* in that queue; grows */
	struct in6_addr		saddr;
	struct in6_addr		daddr;
	u32			scope;
	u8			tos;		/* of the connection it came by */
	u64			seq;
	__be16			sport;
	__be16			dport;
	u32			len;
	struct rds_payload	*payload;	/* NULL: no bytes */
	struct rds_ext		ext;
	struct rds_mr		*mr;		/* a region this message used up: dead before it is read */
	ktime_t			stamp;		/* real time of queueing */
	u64			rx_ns[RDS_RX_STAMPS];	/* when, in ns of CLOCK_MONOTONIC */
};

/* NULL: no memory.  @hdr gives ports, length and extensions; addresses are the caller's. */
struct rds_inc *rds_inc_alloc(const struct rds_header *hdr, const struct in6_addr *saddr,
			      const struct in6_addr *daddr, u32 scope, gfp_t gfp);

static inline struct rds_inc *rds_inc_get(struct rds_inc *inc)
{
	kref_get(&inc->ref);
	return inc;
}

/* The memory that it takes, in bytes. */
size_t rds_inc_mem(const struct rds_inc *inc);

/* Any context; NULL is fine. */
void rds_inc_put(struct rds_inc *inc);

int rds_inc_cache_init(void);
void rds_inc_cache_exit(void);

#endif
