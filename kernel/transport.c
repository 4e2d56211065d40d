// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "transport.h"

#include <linux/err.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>

/* The one beside loopback.  Set before the family is registered, cleared after it is gone. */
static const struct rds_transport *rds_fabric;

void rds_transport_register(const struct rds_transport *trans)
{
	rds_fabric = trans;
}

void rds_transport_unregister(const struct rds_transport *trans)
{
	if (rds_fabric == trans)
		rds_fabric = NULL;
}

void rds_transport_for_each_domain(struct rds_net *rn, rds_domain_fn fn, void *arg)
{
	if (rds_fabric && rds_fabric->domain_for_each)
		rds_fabric->domain_for_each(rn, fn, arg);
}

struct rds_domain *rds_transport_find(struct rds_net *rn, const struct in6_addr *addr, u32 scope)
{
	struct rds_domain *domain;

	/* with IPv6 switched off nobody may be asked for the device of an address: the tables are not there */
	if (!ipv6_addr_v4mapped(addr) && !ipv6_mod_enabled())
		return ERR_PTR(-EADDRNOTAVAIL);
	domain = rds_loop_transport.domain_get(rn, addr, scope);
	if (!IS_ERR(domain) || !rds_fabric)
		return domain;
	return rds_fabric->domain_get(rn, addr, scope);
}

const struct rds_transport *rds_transport_by_type(int type)
{
	return rds_fabric && rds_fabric->type == type ? rds_fabric : NULL;
}
