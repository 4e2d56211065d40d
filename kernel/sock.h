/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The socket. */
#ifndef RDS_SOCK_H
#define RDS_SOCK_H

#include <linux/rhashtable-types.h>
#include <net/sock.h>
#include "bind.h"
#include "rds_uapi.h"

struct rds_cong_map;
struct rds_conn;
struct rds_domain;
struct rds_inc;
struct rds_msg;
struct rds_net;
struct rds_op;
struct rds_transport;

struct rds_sock {
	struct sock		sk;		/* first */
	struct rds_net		*rn;
	struct list_head	net_item;	/* rn->socks, under rn->lock */

	/* Written under the socket lock.  bound, lmap and the key are stable once trans is seen set
	 * by rds_sock_trans(); the peer may change at any time, hence peer_lock.
	 */
	const struct rds_transport *trans;	/* NULL: not bound */
	const struct rds_transport *preset;	/* by SO_RDS_TRANSPORT: the only one to bind to, or NULL */
	struct rds_bind_key	bound;
	struct rhash_head	bind_node;
	struct rds_cong_map	*lmap;		/* of the bound address */

	spinlock_t		peer_lock;	/* the peer, the two caches; a leaf */
	bool			connected;
	struct in6_addr		peer_addr;
	__be16			peer_port;
	u32			peer_scope;
	u8			tos;		/* type of service of what is sent; fixed with the first message */
	struct rds_conn		*conn;		/* the last one used, or NULL */
	struct rds_domain	*domain;	/* where keys are registered, or NULL */
	unsigned int		domain_seen;	/* rds_transport_address_changes() before it was found */

	spinlock_t		snd_lock;
	struct list_head	sending;	/* messages not done */
	u32			snd_bytes;	/* their payload */
	u32			snd_empty;	/* how many have none */
	size_t			snd_mem;	/* the memory that they take */
	struct list_head	ops;		/* operations whose pages are pinned */

	spinlock_t		rcv_lock;
	struct list_head	received;
	struct list_head	notifies;
	u32			nr_notifies;
	u64			next_place;	/* in either queue */
	u32			rcv_bytes;	/* of payload received and not read */
	size_t			rcv_mem;	/* the memory that it takes */
	bool			congested;	/* our port's bit is set */
	bool			released;	/* takes no more messages */

	/* under rn->lock */
	struct rb_root		cong_refusals;	/* by the map that refused us */
	bool			cong_news;	/* such a map has free ports again */
	bool			cong_monitor;
	u64			cong_freed;	/* with a monitor, which ones, to be reported; bit = port % 64 */

	spinlock_t		mr_lock;
	struct list_head	mrs;
	struct list_head	revoking;	/* regions on their way out, the oldest first */
	u64			next_turn;	/* of the next one's revocation */
	atomic64_t		nr_mrs;		/* on either list, or on their way there */
	atomic64_t		pinned;		/* bytes, in whole pages, of regions and operations */

	struct pid		*creator;	/* the process */
	bool			recverr;
	bool			inq;		/* SO_RDS_INQ */
	struct rds_rx_trace_so	rx_trace;	/* SO_RDS_MSG_RXPATH_LATENCY; 4 bytes, read and written at once */
};

static inline struct rds_sock *rds_sk(const struct sock *sk)
{
	return (struct rds_sock *)sk;
}

/* The transport, NULL while not bound. */
static inline const struct rds_transport *rds_sock_trans(const struct rds_sock *rs)
{
	return smp_load_acquire(&rs->trans);
}

/* The options count bytes of payload; the generic layer doubles what the user asks for. */
static inline u32 rds_sndbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_sndbuf) / 2;
}

static inline u32 rds_rcvbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_rcvbuf) / 2;
}

/* Memory of received messages in bytes.  The receive buffer counts payload; of empty or tiny messages
 * the rest is most, and is bounded by a multiple of it: above the soft limit the port is congested, too.
 * Peers that were told finish what they have under way, which is a send buffer's worth or more.  Above the
 * hard limit they are not heard any more.
 */
#define RDS_RCV_MEM_SOFT	32	/* times the receive buffer */
#define RDS_RCV_MEM_HARD	64
#define RDS_RCV_MEM_HARD_MIN	(1u << 20)

static inline size_t rds_rcv_mem_soft(const struct rds_sock *rs)
{
	return (size_t)rds_rcvbuf(rs) * RDS_RCV_MEM_SOFT;
}

static inline size_t rds_rcv_mem_hard(const struct rds_sock *rs)
{
	return max_t(size_t, (size_t)rds_rcvbuf(rs) * RDS_RCV_MEM_HARD, RDS_RCV_MEM_HARD_MIN);
}

/* Likewise of messages queued for sending, which the send buffer counts by payload.  Messages without any are
 * counted by number, too (sysctl socket_max_empty).
 */
#define RDS_SND_MEM		32	/* times the send buffer */

/* Shares of what may be queued for sending, see rds_sock_has_room(). */
enum rds_snd_share {
	RDS_SND_HALF	= 1,
	RDS_SND_ALL	= 2,
	RDS_SND_TWICE	= 4,
};

/* The oldest received message: taken off with its reference, or with @peek left there and another
 * reference.  NULL: none.  One taken off is either put back where it was, and other readers are woken, who have
 * found nothing meanwhile; or it is consumed: then its bytes are given back and the port may stop being congested.
 */
struct rds_inc *rds_sock_take(struct rds_sock *rs, bool peek);
void rds_sock_untake(struct rds_sock *rs, struct rds_inc *inc);
void rds_sock_consumed(struct rds_sock *rs, struct rds_inc *inc);

/* Payload that is queued behind @inc, in bytes. */
u32 rds_sock_queued_behind(struct rds_sock *rs, const struct rds_inc *inc);

/* Is there a message or a notification? */
bool rds_sock_readable(struct rds_sock *rs);
/* Is less than @share of what may be queued for sending, so that a message of @len bytes more may be?  The last one
 * may exceed what is left.  Without rs->snd_lock it is a guess.
 */
bool rds_sock_has_room(const struct rds_sock *rs, u32 len, enum rds_snd_share share);
/* Is there room for a message of any kind, to any peer? */
bool rds_sock_writable(const struct rds_sock *rs);
/* Is it time to ask for acknowledgements?  Whatever is sent now, what is queued needs one. */
bool rds_sock_half_full(const struct rds_sock *rs);

/* @msg counts as queued for sending by @rs, or does no longer.  Holding rs->snd_lock. */
void rds_sock_charge(struct rds_sock *rs, struct rds_msg *msg);
void rds_sock_uncharge(struct rds_sock *rs, struct rds_msg *msg);

/* From now on nothing is delivered to @rs; what was is gone.  Called once. */
void rds_sock_stop_receiving(struct rds_sock *rs);

/* An operation's pages are pinned for it, and are no longer. */
void rds_sock_op_begin(struct rds_sock *rs, struct rds_op *op);
void rds_sock_op_over(struct rds_sock *rs, struct rds_op *op);

/* Wait until no device is at the memory of operations that rds_sock_cancel() has ended with the same
 * arguments.  What other threads have sent since is not waited for.  Bounded: operations that take too
 * long cost their connection.  Sleeps.
 */
void rds_sock_wait_ops(struct rds_sock *rs, const struct in6_addr *addr, __be16 port);

/* End messages to @addr and @port, or all with @addr NULL, that are not acknowledged. */
void rds_sock_cancel(struct rds_sock *rs, const struct in6_addr *addr, __be16 port);

/* The socket can be found by rds_sock_for_each() from here to here. */
void rds_sock_enlist(struct rds_sock *rs);
void rds_sock_delist(struct rds_sock *rs);
/* Call @visit for each socket of the namespace, without a lock.  -ENOMEM.  Sleeps. */
int rds_sock_for_each(struct rds_net *rn, void (*visit)(struct rds_sock *rs, void *arg), void *arg);

/* sendmsg.c and recvmsg.c, as in struct proto_ops */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags);
/* sockopt.c */
int rds_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int rds_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen);

/* The domain for the bound address, with a reference; found anew when its device went away, or addresses have moved.  The former
 * one while the address is nowhere.  Sleeps.  ERR_PTR(-EAGAIN): no device just now, ERR_PTR(-ENOMEM).
 */
struct rds_domain *rds_sock_domain(struct rds_sock *rs);

#endif
