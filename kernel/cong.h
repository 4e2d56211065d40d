/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Congestion: which ports of an address take no more messages for now. */
#ifndef RDS_CONG_H
#define RDS_CONG_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "cong_bits.h"

struct msghdr;
struct rds_conn;
struct rds_net;
struct rds_payload;
struct rds_sock;

/* One map.  A local address's is in rn->maps and has the connections that start there; what a
 * remote peer told belongs to its connection alone.
 */
struct rds_cong_map {
	struct in6_addr		addr;
	struct rhash_head	node;
	struct kref		ref;
	struct rds_net		*rn;
	struct rcu_head		rcu;
	bool			hashed;		/* a local address's */
	wait_queue_head_t	wait;		/* senders blocked by a set bit */
	struct list_head	refusals;	/* struct rds_cong_refusal, under rn->lock */
	spinlock_t		lock;		/* conns, writes to bits */
	struct list_head	conns;
	u8			*bits;		/* RDS_CONG_MAP_LEN bytes */
};

/* The map of local address @addr, made if need be; a reference.  Sleeps.  ERR_PTR(-ENOMEM). */
struct rds_cong_map *rds_cong_map_local(struct rds_net *rn, const struct in6_addr *addr);
/* A map for what a peer tells. */
struct rds_cong_map *rds_cong_map_remote(struct rds_net *rn);
void rds_cong_map_put(struct rds_cong_map *map);

/* A connection enters and leaves its local map's list.  Any context. */
void rds_cong_add_conn(struct rds_conn *conn);
void rds_cong_remove_conn(struct rds_conn *conn);

/* Port @port of our address became congested, or is free again: tell every peer and whoever
 * waits on this host.  May be called with rs->rcv_lock held.
 */
void rds_cong_set_port(struct rds_cong_map *map, __be16 port);
void rds_cong_clear_port(struct rds_cong_map *map, __be16 port);

static inline bool rds_cong_test_port(const struct rds_cong_map *map, __be16 port)
{
	return rds_cong_bit_test(map->bits, be16_to_cpu(port));
}

/* The peer sent its map: @payload of RDS_CONG_MAP_LEN bytes.  Any context. */
void rds_cong_map_update(struct rds_conn *conn, struct rds_payload *payload);

/* A copy of @map's bits as payload of a map message.  NULL: no memory. */
struct rds_payload *rds_cong_map_payload(struct rds_cong_map *map, gfp_t gfp);

/* Wait until @port is not congested.  Returns 0; -ENOBUFS if @timeo is 0 (and has the socket
 * polled awake when a port of @map is free again, or this one if it monitors), or -ENOMEM if that cannot be noted; -ETIMEDOUT; the
 * errno for a signal.  Takes what it used off @timeo.  Sleeps.
 */
int rds_cong_wait(struct rds_cong_map *map, __be16 port, struct rds_sock *rs, long *timeo);

/* RDS_CONG_MONITOR: report which ports are free again, or forget about it. */
void rds_cong_monitor(struct rds_sock *rs, bool on);

/* Put a CONG_UPDATE with the ports that became free into @msg.  Returns 1; 0 with nothing to report, or with no
 * room for it, when MSG_CTRUNC is set and it stays; -EFAULT: it stays.  Sleeps.
 */
int rds_cong_recv(struct rds_sock *rs, struct msghdr *msg);

/* A socket that is being released is not to be woken any more. */
void rds_cong_forget_sock(struct rds_sock *rs);

int rds_cong_net_init(struct rds_net *rn);
void rds_cong_net_exit(struct rds_net *rn);

#endif
