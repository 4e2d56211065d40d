// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "bind.h"

#include <linux/random.h>
#include <linux/rhashtable.h>
#include "limit.h"
#include "net.h"
#include "sock.h"
#include "stats.h"

static_assert(sizeof(struct rds_bind_key) == 24);	/* hashed as bytes: no holes */

static const struct rhashtable_params rds_bind_params = {
	.key_len		= sizeof(struct rds_bind_key),
	.key_offset		= offsetof(struct rds_sock, bound),
	.head_offset		= offsetof(struct rds_sock, bind_node),
	.automatic_shrinking	= true,
};

/* Ports 0 and 1 are the ping service and the lane probe. */
#define RDS_FIRST_PORT	2
#define RDS_PORTS	(65536 - RDS_FIRST_PORT)

static int rds_bind_insert(struct rds_net *rn, struct rds_sock *rs, u16 port)
{
	int err;

	rs->bound.port = htons(port);
	err = rhashtable_lookup_insert_fast(&rn->bound, &rs->bind_node, rds_bind_params);
	if (!err)
		return 0;
	return err == -EEXIST ? -EADDRINUSE : -ENOMEM;
}

static int rds_bind_any_port(struct rds_net *rn, struct rds_sock *rs)
{
	u32 start = get_random_u32() % RDS_PORTS;
	int err = -EADDRINUSE;
	u32 i;

	for (i = 0; i < RDS_PORTS && err == -EADDRINUSE; i++) {
		err = rds_bind_insert(rn, rs, RDS_FIRST_PORT + (start + i) % RDS_PORTS);
		cond_resched();
	}
	return err;
}

int rds_bind_add(struct rds_net *rn, struct rds_sock *rs, const struct in6_addr *addr, u32 scope,
		 __be16 *port)
{
	int err;

	if (ntohs(*port) == 1)
		return -EINVAL;
	if (!rds_limit_take(&rn->nr_bound, 1, READ_ONCE(rn->sysctl.max_sockets))) {
		rds_stat_inc(rn, limit_sockets);
		return -ENOMEM;
	}
	rs->bound.addr = *addr;
	rs->bound.scope = scope;
	if (*port)
		err = rds_bind_insert(rn, rs, ntohs(*port));
	else
		err = rds_bind_any_port(rn, rs);
	if (err) {
		rds_limit_give(&rn->nr_bound, 1);
		memset(&rs->bound, 0, sizeof(rs->bound));
		return err;
	}
	*port = rs->bound.port;
	return 0;
}

void rds_bind_remove(struct rds_net *rn, struct rds_sock *rs)
{
	rhashtable_remove_fast(&rn->bound, &rs->bind_node, rds_bind_params);
	rds_limit_give(&rn->nr_bound, 1);
}

struct rds_sock *rds_bind_lookup(struct rds_net *rn, const struct in6_addr *addr, u32 scope,
				 __be16 port)
{
	struct rds_bind_key key = { .addr = *addr, .scope = scope, .port = port };
	struct rds_sock *rs;

	rcu_read_lock();
	rs = rhashtable_lookup(&rn->bound, &key, rds_bind_params);
	if (rs && !refcount_inc_not_zero(&rs->sk.sk_refcnt))
		rs = NULL;
	rcu_read_unlock();
	return rs;
}

int rds_bind_net_init(struct rds_net *rn)
{
	return rhashtable_init(&rn->bound, &rds_bind_params);
}

void rds_bind_net_exit(struct rds_net *rn)
{
	rhashtable_destroy(&rn->bound);
}
