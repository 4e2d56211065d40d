/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The endpoint: a CM id, a queue pair, a send ring, a message being received. */
#ifndef RDS_IB_EP_H
#define RDS_IB_EP_H

#include <linux/atomic.h>
#include <linux/rhashtable-types.h>
#include <linux/timer.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>
#include "ib_dev.h"
#include "path.h"
#include "payload.h"
#include "reasm.h"
#include "ring.h"

struct rds_msg;

/* A send buffer: header, and payload that is small enough. */
#define RDS_IB_SLOT_BYTES	256
static_assert(RDS_IB_SLOT_BYTES == RDS_HEADER_LEN + RDS_INLINE_MAX);

/* An operation under way. */
struct rds_ib_op {
	struct rds_op		*what;		/* holds its message */
	union {
		struct rdma_rw_ctx	ctx;	/* of a read or write */
		struct {
			struct ib_atomic_wr	wr;
			struct ib_sge		sge;
			u64			mark;	/* what the old value replaces, */
			u64			before;	/* instead of this */
		} atomic;
	};
	struct ib_send_wr	*next;		/* of the chain, not yet taken into the ring; NULL: all are */
	int			status;		/* RDS_RDMA_*, from a failed completion; 0: none was seen */
};

/* One work request of the send queue. */
struct rds_ib_slot {
	struct ib_cqe		cqe;
	struct rds_ib_ep	*ep;
	struct rds_msg		*msg;		/* a fragment of it; holds it */
	struct rds_ib_op	*op;		/* one of its work requests */
	bool			op_last;	/* its last one */
	bool			ack;		/* an ack frame */
	u32			page_len;	/* of a page mapped for this frame; 0: none */
	struct ib_sge		sge[2];
	struct ib_send_wr	wr;		/* unused if op is set: it has its own */
};

struct rds_ib_tx {
	struct rds_ring		ring;		/* taken by the transmit pass, given back by completions */
	struct rds_ib_slot	*slots;
	void			*bufs;		/* RDS_IB_SLOT_BYTES for each slot */
	u64			bufs_dma;

	/* owner of the transmit pass */
	struct ib_send_wr	*first;		/* prepared, not yet posted */
	struct ib_send_wr	*last;
	unsigned int		unsignalled;	/* work requests since the last signalled one */
	struct rds_ib_op	*op;		/* not yet wholly in the ring */
	bool			started;	/* fragments of the message at hand have been prepared, */
	u32			offset;		/* up to here, */
	u64			ack;		/* with this ack */

	/* watchdog */
	u32			seen_tail;	/* of the ring, last time */
	unsigned int		stalled;	/* times in a row that it had not moved */
};

struct rds_ib_rx {
	/* under path->rx_lock */
	struct rds_reasm	reasm;
	struct rds_payload	*partial;	/* of the message being received */
	u64			header_ns;	/* its first frame was seen, */
	u64			start_ns;	/* and judged */
	unsigned int		pages;		/* of it, counted in dev->partial_pages */
	unsigned long		grown;		/* jiffies when the last one came; read without the lock */

	atomic64_t		done;		/* the highest complete number; what we acknowledge */
};

/* How far connecting has come, as the CM tells. */
enum rds_ib_stage {
	RDS_IB_RESOLVING,
	RDS_IB_ADDR_RESOLVED,
	RDS_IB_ROUTE_RESOLVED,
	RDS_IB_CONNECTED,
};

/* Bits of rds_ib_ep.flags */
enum {
	RDS_IB_ACK_DUE,			/* the peer wants an ack */
	RDS_IB_ACK_SENDING,		/* an ack frame is in the ring */
	RDS_IB_PING_DUE,		/* the next one is to ask the peer for a sign of life, */
	RDS_IB_PONG_DUE,		/* to be one, */
	RDS_IB_QUIET_DUE,		/* to tell that we are quiet, */
	RDS_IB_AGREED_DUE,		/* we too, */
	RDS_IB_BUSY_DUE,		/* or are not */
	RDS_IB_WANT_ROOM,		/* a transmit pass waits for completions */
	RDS_IB_PEER_SENDS,		/* the peer considers us connected */
	RDS_IB_CM_NOTIFIED,		/* the CM was told so, and will say that we are connected */
};

struct rds_ib_ep {
	struct rds_ep		ep;		/* first */
	struct rdma_cm_id	*cm_id;		/* refers to this endpoint, and holds it */
	enum rds_ib_stage	stage;		/* written by the CM's callback, read by the worker */
	u16			version;	/* to answer a request with */
	u16			peer_generation;	/* from a request */
	u8			initiator_depth;	/* of a request: RDMA reads at once, ours */
	u8			responder_resources;	/* and the peer's */

	struct rds_ib_device	*dev;		/* holds its domain */
	struct list_head	dev_item;	/* dev->eps */
	const struct ib_gid_attr *gid;		/* our address in the device's table, held; NULL: the CM named none */

	struct ib_qp		*qp;		/* stays set as key of dev->qps when it is gone */
	struct rhash_head	qp_node;
	struct rds_ib_marker	marker;
	struct ib_cq		*send_cq;	/* shared with others */
	unsigned int		send_cqes;	/* our part of it */

	unsigned long		flags;
	struct timer_list	notify;		/* the peer sends, and the CM has not heard of it */
	struct timer_list	retry;		/* run a transmit pass, after a want of memory */
	struct timer_list	watchdog;	/* looks whether sends complete, while any are under way */
	struct rds_ib_tx	tx;
	struct rds_ib_rx	rx;
	struct rcu_head		rcu;
};

/* Is an ack frame to be sent, for whatever reason? */
static inline bool rds_ib_ack_is_due(const struct rds_ib_ep *ep)
{
	const unsigned long due = BIT(RDS_IB_ACK_DUE) | BIT(RDS_IB_PING_DUE) | BIT(RDS_IB_PONG_DUE) |
				  BIT(RDS_IB_QUIET_DUE) | BIT(RDS_IB_AGREED_DUE) | BIT(RDS_IB_BUSY_DUE);

	return READ_ONCE(ep->flags) & due;
}

static inline struct rds_ib_ep *rds_ib_ep(struct rds_ep *ep)
{
	return container_of(ep, struct rds_ib_ep, ep);
}

#endif
