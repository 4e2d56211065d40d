/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A connection: what is between two addresses on one transport.  Its path carries the messages. */
#ifndef RDS_CONN_H
#define RDS_CONN_H

#include <linux/kref.h>
#include <linux/rhashtable-types.h>
#include "path.h"

struct rds_cong_map;
struct rds_net;
struct rds_transport;

struct rds_conn_key {
	struct in6_addr			laddr;
	struct in6_addr			faddr;
	const struct rds_transport	*trans;
	u32				scope;
	u32				tos;
};

struct rds_conn {
	struct rds_conn_key	key;
	struct rhash_head	node;		/* rn->conns */
	struct list_head	net_item;	/* rn->conn_list, under rn->lock */
	struct list_head	map_item;	/* lmap->conns, under lmap->lock */
	struct rds_net		*rn;
	struct rds_cong_map	*lmap;		/* of laddr: what we tell the peer */
	struct rds_cong_map	*fmap;		/* what the peer told us; loopback: faddr's own */
	u16			generation;	/* not 0: tells the peer that we are new */
	struct rds_path		path;
	struct kref		ref;		/* table, messages, sockets' caches, worker, endpoints */
	struct rcu_head		rcu;
};

/* Who wants a connection. */
enum rds_conn_side {
	RDS_CONN_BY_SENDER,
	RDS_CONN_BY_PEER,
};

/* Find or make; sleeps.  Returns a reference, or ERR_PTR(-ENOMEM) (to a sender also for too many), ERR_PTR(-EUSERS)
 * for more than peers may make us have, ERR_PTR(-ENETDOWN) when the namespace is going away.  Any number of callers get
 * the same object.
 */
struct rds_conn *rds_conn_get_or_create(struct rds_net *rn, const struct rds_conn_key *key,
					enum rds_conn_side side);

/* A reference to the one that exists, or NULL.  Any context. */
struct rds_conn *rds_conn_find(struct rds_net *rn, const struct rds_conn_key *key);

static inline struct rds_conn *rds_conn_get(struct rds_conn *conn)
{
	kref_get(&conn->ref);
	return conn;
}

/* Any context. */
void rds_conn_put(struct rds_conn *conn);

static inline struct rds_conn *rds_path_conn(struct rds_path *path)
{
	return container_of(path, struct rds_conn, path);
}

#define RDS_ANY_TOS	(-1)

/* Drop the present endpoint of every connection from @laddr to @faddr, or to anywhere with NULL, of type of
 * service @tos or RDS_ANY_TOS.  Those of loopback have nothing that could be set up anew, and stay.  Any context.
 */
void rds_conn_drop_from(struct rds_net *rn, const struct in6_addr *laddr,
			const struct in6_addr *faddr, int tos, enum rds_drop_reason reason);

/* Call @visit for each connection of the namespace, without a lock.  -ENOMEM.  Sleeps. */
int rds_conn_for_each(struct rds_net *rn, void (*visit)(struct rds_conn *conn, void *arg), void *arg);

/* End those that have not been used for a while.  Sleeps. */
void rds_conn_collect(struct rds_net *rn);

/* Kill every connection of @trans, or of all with NULL: each has let go of its endpoint when this returns.  Nobody may
 * be about to send on one, or to make one.  Sleeps.
 */
void rds_conn_kill_all(struct rds_net *rn, const struct rds_transport *trans);

int rds_conn_net_init(struct rds_net *rn);
/* Kill every connection of the namespace and wait for the end of each worker.  Sleeps. */
void rds_conn_net_exit(struct rds_net *rn);
int rds_conn_init(void);
void rds_conn_exit(void);

#endif
