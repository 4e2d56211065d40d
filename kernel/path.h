/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One ordered lane of a connection, and the endpoint that is its present incarnation.
 *
 * The worker is the only writer of state and ep; everybody else posts an event and returns.
 * It changes them under rx_lock and tx_lock, so that either lock suffices to read them.
 */
#ifndef RDS_PATH_H
#define RDS_PATH_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "ack.h"
#include "drop.h"
#include "path_fsm.h"

struct rds_conn;
struct rds_msg;
struct rds_path;
struct rds_transport;

/* Bits of rds_ep.events beside those of enum rds_path_event (LOST, ESTABLISHED). */
#define RDS_EP_STEP		RDS_PATH_NR_EVENTS	/* transport->step() has something to do */
#define RDS_EP_PEER_BUSY	(RDS_PATH_NR_EVENTS + 1)	/* the peer says so, see RDS_FLAG_QUIET */
#define RDS_EP_PEER_QUIET	(RDS_PATH_NR_EVENTS + 2)
#define RDS_EP_PEER_AGREED	(RDS_PATH_NR_EVENTS + 3)
/* Bits of rds_path.events beside those of enum rds_path_event. */
#define RDS_PATH_XMIT		RDS_PATH_NR_EVENTS	/* run a transmit pass from the worker */
#define RDS_PATH_UNUSED		(RDS_PATH_NR_EVENTS + 1)	/* for a while: close it, if the peer agrees */

/* One incarnation of a path on the fabric; embedded first in the transport's own struct.
 * Never reset: a reconnect makes a new one.  A late event finds the endpoint it belongs to,
 * posts to it, and nobody looks any more.
 */
struct rds_ep {
	struct kref			ref;
	const struct rds_transport	*trans;
	struct rds_path			*path;		/* holds the connection */
	unsigned long			events;		/* posted, not yet seen by the worker */
	enum rds_drop_reason		reason;		/* the first one; set before LOST is posted */
	int				err;
	struct list_head		request_item;	/* path->requests, under path->tx_lock */
	bool				active;		/* our own request, not the peer's */
	bool				ordered_duel;	/* the peer has RDS_CAP_ORDERED_DUEL */
	bool				heartbeat;	/* and RDS_CAP_HEARTBEAT */
	bool				can_quiet;	/* and RDS_CAP_QUIET */
	bool				probed;		/* the peer was asked for a sign of life; worker only: */
	unsigned long			probe_end;	/* until when it may take its time, in jiffies */
	bool				heard;		/* something came in since */

	bool				peer_quiet;	/* it sends nothing more on this endpoint; worker only */
	u64				quiet_seq;	/* path->next_seq when we became quiet; worker only */

	bool				received;	/* a message; under path->rx_lock */

	/* written by the owner of the transmit pass, under path->tx_lock */
	u64				tx_done;	/* highest number wholly handed to the device */
	/* under path->tx_lock */
	u64				acked;		/* highest ack seen on this endpoint */
	bool				quiet;		/* no message is transmitted any more */
};

/* Drops that a path remembers. */
#define RDS_PATH_DROPS	4

/* Why and when an endpoint was dropped. */
struct rds_path_drop {
	enum rds_drop_reason	reason;
	int			err;
	s64			when;		/* ns since 1970 */
};

/* What happened to a path since it was made. */
struct rds_path_history {
	u64			requests;	/* to connect: ours, */
	u64			accepts;	/* and those of the peer that we took */
	u64			connects;	/* times that it came up */
	u64			drop_count;
	s64			attempted;	/* the last of either request, in ns since 1970; 0: never */
	s64			connected;	/* likewise */
	struct rds_path_drop	drops[RDS_PATH_DROPS];	/* the last ones; drop_count % RDS_PATH_DROPS is next */
};

struct rds_path {
	/* worker only */
	struct work_struct	work;
	unsigned int		backoff_ms;	/* upper bound of the next delay; 0: retry at once */
	unsigned int		attempts;	/* connects since the last UP */

	/* posted by anybody */
	unsigned long		events;
	struct timer_list	timer;

	spinlock_t		rx_lock;	/* outer */
	struct rds_rx_seq	rx;
	u16			peer_generation;	/* of the peer's connection object; 0: it told none */

	spinlock_t		tx_lock;	/* inner */
	enum rds_path_state	state;		/* worker writes under both locks */
	struct rds_ep		*ep;		/* same; NULL in DOWN and DEAD */
	u64			next_seq;	/* next number to be given; first is 1 */
	u64			settled_seq;	/* see rds_path_is_settled() */
	unsigned long		used;		/* last came up or took a message of either side, in jiffies; read without lock */
	struct list_head	send_q;		/* not yet sent */
	struct list_head	sent_q;		/* transmission started, not acked */
	struct rds_msg		*xmit_msg;	/* at which the transmit pass is, partly sent */
	bool			xmit_busy;	/* somebody is the owner of the transmit pass */
	bool			xmit_again;	/* something changed since the owner last looked */
	bool			map_due;	/* our congestion map is to be sent first */
	unsigned int		pongs;		/* queued or unacked; a peer may not take them, so there is a limit */
	struct list_head	requests;	/* of the peer, not yet looked at; the newest last */
	unsigned int		nr_requests;
	struct rds_path_history	history;	/* the worker writes it */
	struct rds_ack_budget	budget;
	wait_queue_head_t	xmit_idle;	/* the worker waits for !xmit_busy */
};

/* Requests of one peer that may wait for the worker. */
#define RDS_PATH_MAX_REQUESTS	8

void rds_path_init(struct rds_path *path);

/* Start the worker for @bit of path->events.  Any context. */
void rds_path_post(struct rds_path *path, unsigned int bit);

/* The peer's request @ep is at hand: the worker will accept it, or reject it for a newer one.
 * Returns 0 and takes over the caller's reference; -EBUSY if too many wait; -ESHUTDOWN if the path
 * is dead.  Any context.
 */
int rds_path_post_request(struct rds_path *path, struct rds_ep *ep);

/* For transports: set up the embedded endpoint, with one reference for the caller; takes a
 * reference to the path's connection, which the last rds_ep_put() drops.
 */
void rds_ep_init(struct rds_ep *ep, const struct rds_transport *trans, struct rds_path *path,
		 bool active);

static inline struct rds_ep *rds_ep_get(struct rds_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}

/* The last one calls trans->release().  Any context. */
void rds_ep_put(struct rds_ep *ep);

/* Post @bit (RDS_EV_ESTABLISHED or RDS_EP_STEP) for @ep.  Any context. */
void rds_ep_post(struct rds_ep *ep, unsigned int bit);

/* @ep is of no more use: have the worker close it.  The first reason counts; @err is a
 * negative errno, a completion status or a CM reason.  Any context, any lock.
 */
void rds_ep_drop(struct rds_ep *ep, enum rds_drop_reason reason, int err);

/* Was it given up?  Whoever called rds_ep_drop() sees it at once, everybody else soon. */
static inline bool rds_ep_is_dropped(const struct rds_ep *ep)
{
	return READ_ONCE(ep->reason) != RDS_DROP_NONE;
}

/* The peer told @generation while connecting @ep: another one than before means that it was restarted,
 * and that all its numbers are new.  Before anything is received on @ep; no lock held.
 */
void rds_ep_set_peer_generation(struct rds_ep *ep, u16 generation);

/* Is @ep still its path's?  Holding path->rx_lock or tx_lock. */
static inline bool rds_ep_is_current(const struct rds_ep *ep)
{
	return ep->path->ep == ep;
}

/* Has nothing of the path been used for as long as the namespace allows?  Then have it closed; true if nothing is left to be
 * closed, nobody has a reference but the table, and whoever makes the connection anew can do without what this one knows:
 * then the table's reference is gone, too.  Holding rn->lock.
 */
bool rds_path_collect(struct rds_path *path);

/* Wait until the worker has nothing to do.  Sleeps. */
void rds_path_flush(struct rds_path *path);

int rds_path_wq_init(void);
void rds_path_wq_exit(void);

#endif
