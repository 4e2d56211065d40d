/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What one network namespace owns: every table is per namespace. */
#ifndef RDS_NET_H
#define RDS_NET_H

#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "sysctl.h"

struct rds_stats;
struct rds_transport;

struct rds_net {
	struct net		*net;
	struct rds_stats __percpu *stats;
	struct rhashtable	bound;		/* bind.c: (address, port, scope) -> socket */
	struct rhashtable	conns;		/* conn.c: struct rds_conn_key -> connection */
	struct rhashtable	maps;		/* cong.c: local address -> congestion map */
	struct rhashtable	mrs;		/* mr.c: (domain, rkey) -> memory region */

	struct rds_sysctl	sysctl;

	/* with a limit each, see sysctl.h */
	atomic64_t		nr_bound;	/* sockets */
	atomic64_t		nr_conns;	/* objects that exist, the unlisted ones too */
	atomic64_t		nr_mrs;		/* not yet revoked */
	atomic64_t		pinned;		/* bytes, in whole pages */

	/* The transport beside loopback, see rds_transport_enter(). */
	struct mutex		fabric_lock;
	unsigned int		fabric_users;	/* bound sockets; the module, for the initial namespace */
	const struct rds_transport *fabric;	/* listens, and may have connections; NULL: neither */
	struct delayed_work	fabric_idle;	/* holds the namespace while it is pending or runs */
	void			*listeners;	/* the transport's own, while it listens */

	spinlock_t		lock;		/* the lists below, dying, and whom maps have refused; a leaf */
	struct list_head	conn_list;
	struct delayed_work	collector;	/* of unused connections, while there are any; started under the lock */
	struct list_head	socks;		/* struct rds_sock, until they are released */
	bool			dying;		/* no new connection any more */
};

extern unsigned int rds_net_id;

static inline struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

/* How rds_net_for_each() treats what it finds on a list. */
struct rds_list_ops {
	void	(*get)(struct list_head *item);		/* take a reference, under rn->lock */
	void	(*visit)(struct list_head *item, void *arg);
	void	(*put)(struct list_head *item);
};

/* Visit all that is on @list, a list under rn->lock, without holding that lock.  -ENOMEM.  Sleeps. */
int rds_net_for_each(struct rds_net *rn, struct list_head *list, const struct rds_list_ops *ops,
		     void *arg);

int rds_net_register(void);
void rds_net_unregister(void);

#endif
