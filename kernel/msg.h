/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An outgoing message: header, payload, and up to two operations on the peer's memory.
 *
 * Lifetime: see Documentation/lifetimes.md.  A queued message is on exactly one of its path's
 * two lists; whoever takes it off for good calls rds_msg_done(), once.
 */
#ifndef RDS_MSG_H
#define RDS_MSG_H

#include <linux/kref.h>
#include <linux/list.h>
#include "atomic.h"
#include "pin.h"
#include "wire.h"

struct rds_conn;
struct rds_notify;
struct rds_path;
struct rds_payload;
struct rds_sock;

enum rds_op_state {
	RDS_OP_NEW,		/* not handed to the device yet */
	RDS_OP_POSTED,		/* the device may be at it */
	RDS_OP_DONE,		/* over; status says how */
};

enum rds_op_kind {
	RDS_OP_READ,
	RDS_OP_WRITE,		/* to the peer */
	RDS_OP_ATOMIC,
};

/* An RDMA read or write, or an atomic: then the local side is the 8 bytes that receive the old value. */
struct rds_op {
	enum rds_op_state state;	/* written by the transmit pass, then by the completion */
	enum rds_op_kind kind;
	struct rds_atomic atomic;
	bool		fence;
	u32		rkey;
	u64		raddr;		/* as the device wants it: cookie offset included */
	u32		len;
	int		status;		/* RDS_RDMA_*: the first bad one, its own or its message's */
	struct rds_notify *notify;	/* allocated ahead, queued when the message's last part is done */
	struct rds_msg	*msg;
	struct list_head sock_item;	/* rs->ops, while its pages are pinned; under rs->snd_lock */
	bool		ending;		/* cancelled, or done with: it ends soon; under rs->snd_lock */
	struct rds_pin	pin;		/* the local side */
	struct work_struct work;	/* the end of unpinning, which may sleep */
};

/* Bytes of a message's RDMA: by default as many as mainline's, and what an administrator may allow (max_rdma_bytes). */
#define RDS_RDMA_DEFAULT	RDS_MSG_MAX
#define RDS_RDMA_MAX		(16u << 20)
#define RDS_MSG_MAX_OPS	2	/* a read or write, and an atomic */

struct rds_msg {
	struct kref		ref;
	struct list_head	path_item;	/* path->send_q or sent_q, under path->tx_lock */
	struct list_head	sock_item;	/* rs->sending, under rs->snd_lock */
	struct rds_sock		*rs;		/* holds the socket until the last part is done; NULL: ours */
	struct rds_conn		*conn;		/* holds it, from rds_path_queue() on */
	struct rds_path		*path;
	struct rds_header	hdr;		/* as sent, but for ack and checksum */
	struct rds_payload	*payload;	/* NULL: no bytes */
	u64			seq;
	u32			len;
	bool			queued;		/* on one of the path's lists; under path->tx_lock */
	bool			has_send;	/* false: silent operation alone, the peer sees no message */
	bool			sent_before;	/* its transmission had started on an earlier endpoint */

	struct rds_notify	*notify;	/* of the message itself, as an operation's */
	int			status;		/* RDS_RDMA_*, once the message itself is done */

	/* to be done before notifications are queued: the message itself and its operations */
	atomic_t		parts;
	atomic_t		ops_left;	/* of the operations */

	/* in the order in which they run; each waits for the one before to be posted, not to end */
	unsigned int		nr_ops;
	struct rds_op		*ops[RDS_MSG_MAX_OPS];
};

#define rds_msg_for_each_op(msg, i, op) \
	for ((i) = 0; (i) < (msg)->nr_ops && ((op) = (msg)->ops[i], true); (i)++)

/* A message without a socket: pong, congestion map.  NULL: no memory. */
struct rds_msg *rds_msg_alloc(gfp_t gfp);

static inline struct rds_msg *rds_msg_get(struct rds_msg *msg)
{
	kref_get(&msg->ref);
	return msg;
}

/* The memory that it takes, in bytes: once it is built, the same until its end. */
size_t rds_msg_mem(const struct rds_msg *msg);

/* Any context, no lock of ours held but path->rx_lock. */
void rds_msg_put(struct rds_msg *msg);

/* The message part is over with @status: acknowledged, cancelled or dropped.  Called once, by
 * whoever took it off its path list, without path->tx_lock.  Gives the send buffer back.
 */
void rds_msg_done(struct rds_msg *msg, int status);

/* The operation is over with @status.  Called by the transport, once per posted operation,
 * in any context without locks; or for one that will never be posted.  The pages are unpinned
 * before the application is told.
 */
void rds_op_done(struct rds_op *op, int status);

/* Did an operation of @msg end other than well? */
bool rds_msg_op_failed(const struct rds_msg *msg);

/* Run @work, which may sleep and may drop the last reference to a socket: unloading waits for it.
 * Any context.
 */
void rds_msg_queue_work(struct work_struct *work);

/* Wait for such work, and for unpinning, that is under way.  Sleeps. */
void rds_msg_flush(void);

int rds_msg_cache_init(void);
void rds_msg_cache_exit(void);

#endif
