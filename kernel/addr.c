// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "addr.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

static enum rds_addr_kind rds_addr_kind_v4(__be32 addr)
{
	if (addr == htonl(INADDR_ANY))
		return RDS_ADDR_ANY;
	if (addr == htonl(INADDR_BROADCAST) || ipv4_is_multicast(addr))
		return RDS_ADDR_OTHER;
	return RDS_ADDR_UNICAST;
}

static enum rds_addr_kind rds_addr_kind_v6(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return rds_addr_kind_v4(addr->s6_addr32[3]);
	if (ipv6_addr_any(addr))
		return RDS_ADDR_ANY;
	return ipv6_addr_type(addr) & IPV6_ADDR_UNICAST ? RDS_ADDR_UNICAST : RDS_ADDR_OTHER;
}

static void rds_addr_from_in6(const struct sockaddr_in6 *sin6, struct rds_addr *a)
{
	a->addr = sin6->sin6_addr;
	a->port = sin6->sin6_port;
	a->kind = rds_addr_kind_v6(&a->addr);
	a->v4 = ipv6_addr_v4mapped(&a->addr);
	a->link_local = ipv6_addr_type(&a->addr) & IPV6_ADDR_LINKLOCAL;
	a->scope = a->link_local ? sin6->sin6_scope_id : 0;
}

static void rds_addr_from_in(const struct sockaddr_in *sin, struct rds_addr *a)
{
	ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &a->addr);
	a->port = sin->sin_port;
	a->kind = rds_addr_kind_v4(sin->sin_addr.s_addr);
	a->v4 = true;
}

int rds_addr_parse(const struct sockaddr *uaddr, int len, struct rds_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (len < (int)offsetofend(struct sockaddr, sa_family))
		return -EINVAL;
	a->family = uaddr->sa_family;
	switch (uaddr->sa_family) {
	case AF_INET:
		if (len < (int)sizeof(struct sockaddr_in))
			return -EINVAL;
		rds_addr_from_in((const struct sockaddr_in *)uaddr, a);
		return 0;
	case AF_INET6:
		if (len < (int)sizeof(struct sockaddr_in6))
			return -EINVAL;
		rds_addr_from_in6((const struct sockaddr_in6 *)uaddr, a);
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

int rds_addr_store(const struct in6_addr *addr, __be16 port, u32 scope, void *sa)
{
	struct sockaddr_in6 *sin6 = sa;
	struct sockaddr_in *sin = sa;

	if (ipv6_addr_v4mapped(addr)) {
		memset(sin, 0, sizeof(*sin));
		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		return sizeof(*sin);
	}
	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = port;
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = scope;
	return sizeof(*sin6);
}
