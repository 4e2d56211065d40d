/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The namespace's table of bound addresses. */
#ifndef RDS_BIND_H
#define RDS_BIND_H

#include "pure.h"

struct rds_net;
struct rds_sock;

struct rds_bind_key {
	struct in6_addr	addr;
	u32		scope;
	__be16		port;
	u16		zero;
};

/* Enter @rs under @addr, @scope and *@port; port 0: choose a free one from 2 up and store it.
 * Returns 0, -EADDRINUSE, -ENOMEM (or too many are bound), -EINVAL for the reserved port 1.  Sleeps, socket locked.
 */
int rds_bind_add(struct rds_net *rn, struct rds_sock *rs, const struct in6_addr *addr, u32 scope,
		 __be16 *port);
void rds_bind_remove(struct rds_net *rn, struct rds_sock *rs);

/* The socket bound there, with a reference, or NULL.  Any context. */
struct rds_sock *rds_bind_lookup(struct rds_net *rn, const struct in6_addr *addr, u32 scope,
				 __be16 port);

int rds_bind_net_init(struct rds_net *rn);
void rds_bind_net_exit(struct rds_net *rn);

#endif
