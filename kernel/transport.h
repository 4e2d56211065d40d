/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The seam between the core and what carries messages.  Calls go down through struct
 * rds_transport, and up through path.h, xmit.h, deliver.h, msg.h and mr.h.
 */
#ifndef RDS_TRANSPORT_H
#define RDS_TRANSPORT_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct in6_addr;
struct rds6_info_rdma_connection;
struct rds_ep;
struct rds_msg;
struct rds_mr;
struct rds_net;
struct rds_op;
struct rds_path;
struct rds_transport;

/* Where keys are valid: an RDMA device, or this host for loopback.  Embedded in the transport's
 * own struct; counted there.
 */
struct rds_domain {
	const struct rds_transport	*trans;
	refcount_t			ref;
	bool				dead;		/* the device is gone: registers nothing more */
	bool				atomics;	/* remote atomics work */
	u32				max_mr_pages;	/* of one registration */
	atomic64_t			nr_mrs;		/* registered */
	atomic64_t			pinned;		/* bytes, in whole pages, for its sockets */
};

typedef void (*rds_domain_fn)(struct rds_domain *domain, const char *name, void *arg);

/* What is told beside messages and their acks. */
enum rds_signal {
	RDS_SIGNAL_PING,	/* send something, if you are there */
	RDS_SIGNAL_QUIET,	/* see RDS_FLAG_QUIET */
	RDS_SIGNAL_AGREED,
	RDS_SIGNAL_BUSY,
};

struct rds_transport {
	const char	*name;		/* as in the info records, under 15 characters */
	int		type;		/* as SO_RDS_TRANSPORT reads it */
	bool		loopback;	/* both ends are here: always connected, maps are shared */
	bool		masked_atomics;	/* of any mask */

	/* The domain to which local address @addr belongs, with a reference; ERR_PTR(-EADDRNOTAVAIL)
	 * if it is not this transport's.  Sleeps.
	 */
	struct rds_domain *(*domain_get)(struct rds_net *rn, const struct in6_addr *addr, u32 scope);
	/* The last reference.  Any context. */
	void (*domain_release)(struct rds_domain *domain);
	/* Call @fn, which does not sleep, for each device that @rn may use.  NULL: there are no devices. */
	void (*domain_for_each)(struct rds_net *rn, rds_domain_fn fn, void *arg);

	/* Take requests of peers for addresses of @rn's namespace, from now on or no longer.  When unlisten has
	 * returned none is under way.  -ENOMEM, -EADDRINUSE.  One call at a time, in pairs.  Sleep.  NULL: no peer
	 * asks.
	 */
	int (*listen)(struct rds_net *rn);
	void (*unlisten)(struct rds_net *rn);

	/* Called by the path's worker alone, sleeping.
	 *
	 * connect: make an endpoint and start connecting; it posts RDS_EV_ESTABLISHED when messages can
	 *	be sent, or is dropped.  ERR_PTR on failure: -EADDRNOTAVAIL when our address is gone.  The
	 *	path makes it current when this returns: events posted before that are seen.
	 * accept: go on with a request that rds_path_post_request() brought.  Error: it will be closed.
	 * reject: refuse such a request and let it go.
	 * step: an RDS_EP_STEP was posted.  Error: the endpoint is dropped with SETUP unless it had
	 *	been dropped with a better reason.
	 * signal: tell the peer, which has the capability for it.  NULL: no peer has.
	 * close: disconnect, drain.  When it returns, the device touches no message and no memory of
	 *	this endpoint, rds_op_done() has been called for every operation posted, and all
	 *	references to messages are dropped.  Called exactly once for each endpoint that connect
	 *	returned or accept got, and nobody is in xmit or flush.
	 */
	struct rds_ep *(*connect)(struct rds_path *path);
	int (*accept)(struct rds_ep *ep);
	void (*reject)(struct rds_ep *ep);
	int (*step)(struct rds_ep *ep);
	void (*signal)(struct rds_ep *ep, enum rds_signal signal);
	void (*close)(struct rds_ep *ep);
	/* The last reference: free the memory.  Any context. */
	void (*release)(struct rds_ep *ep);

	/* Called by the owner of the transmit pass, any context, not sleeping, no lock held.
	 *
	 * xmit: prepare as much of @msg as there is room for, operation first.  Returns 0 when all of
	 *	it is prepared; -EAGAIN when out of room: call again with the same message (maybe in a later
	 *	pass; each completion that makes room calls rds_path_xmit()); another error: the endpoint
	 *	has been dropped.  Sets op->state to RDS_OP_POSTED when the operation goes out.
	 * flush: hand everything prepared to the device, and acks that are due.
	 */
	int (*xmit)(struct rds_ep *ep, struct rds_msg *msg);
	void (*flush)(struct rds_ep *ep);

	/* Is the device at anything of @ep, be it the last ack?  Holding the path's tx_lock, nobody in xmit. */
	bool (*busy)(struct rds_ep *ep);

	/* Tell administrators more about @ep, which is up; addresses and TOS are there.  Holding the path's tx_lock.
	 * NULL: no such records.
	 */
	void (*info)(struct rds_ep *ep, struct rds6_info_rdma_connection *record);

	/* Register mr->pin for remote reads and writes; sets mr->key.rkey, mr->cookie and
	 * mr->handle.  Sleeps, bounded.  -ENOMEM, -EAGAIN (device away), -EIO.
	 */
	int (*mr_register)(struct rds_domain *domain, struct rds_mr *mr);
	/* When it returns no peer can touch the memory any more.  Sleeps, bounded. */
	void (*mr_unregister)(struct rds_domain *domain, struct rds_mr *mr);
	/* Have the device run atomic @op on memory of this host.  Returns RDS_RDMA_*.  Sleeps, bounded.
	 * NULL: nobody but CPUs touches what keys open.
	 */
	int (*atomic)(struct rds_domain *domain, struct rds_op *op);
};

extern const struct rds_transport rds_loop_transport;

static inline struct rds_domain *rds_domain_get(struct rds_domain *domain)
{
	refcount_inc(&domain->ref);
	return domain;
}

static inline void rds_domain_put(struct rds_domain *domain)
{
	if (domain && refcount_dec_and_test(&domain->ref))
		domain->trans->domain_release(domain);
}

/* The transport to which a local address belongs: loopback for 127.0.0.0/8 and ::1, else the first
 * that owns it.  Returns its domain with a reference, or ERR_PTR(-EADDRNOTAVAIL), ERR_PTR(-ENOMEM).  Sleeps.
 */
struct rds_domain *rds_transport_find(struct rds_net *rn, const struct in6_addr *addr, u32 scope);
/* Call @fn, which does not sleep, for each device of any transport that @rn may use. */
void rds_transport_for_each_domain(struct rds_net *rn, rds_domain_fn fn, void *arg);
/* The transport that SO_RDS_TRANSPORT calls @type, NULL if it is not there.  Loopback cannot be asked for. */
const struct rds_transport *rds_transport_by_type(int type);

/* A socket of @rn is bound to @trans, from now on or no longer.  A transport may keep the namespace alive by what it listens
 * and connects with.  So it does neither without such a socket, but for a second in which what was sent before the last
 * close is delivered.  Enter: -ENOMEM, -EADDRINUSE.  Sleep.
 */
int rds_transport_enter(const struct rds_transport *trans, struct rds_net *rn);
void rds_transport_leave(const struct rds_transport *trans, struct rds_net *rn);
void rds_transport_net_init(struct rds_net *rn);
/* No socket is left: end at once what is left of the transport's.  Sleeps. */
void rds_transport_net_exit(struct rds_net *rn);

/* Addresses have come to or left devices: sockets find out anew to which device theirs belongs.  Any context. */
void rds_transport_addresses_changed(void);
/* How often that was so.  What is looked up after this was read is no older. */
unsigned int rds_transport_address_changes(void);

/* The one that was registered beside loopback (main.c), or NULL. */
void rds_transport_register(const struct rds_transport *trans);
void rds_transport_unregister(const struct rds_transport *trans);

#endif
