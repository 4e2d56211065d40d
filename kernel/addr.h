/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Socket addresses of user space to and from our own form, IPv4 as v4-mapped IPv6. */
#ifndef RDS_ADDR_H
#define RDS_ADDR_H

#include "pure.h"

struct sockaddr;
struct sockaddr_storage;

enum rds_addr_kind {
	RDS_ADDR_UNICAST,
	RDS_ADDR_ANY,
	RDS_ADDR_OTHER,		/* broadcast, multicast */
};

struct rds_addr {
	struct in6_addr		addr;
	__be16			port;
	u32			scope;		/* 0 unless link-local */
	enum rds_addr_kind	kind;
	bool			v4;
	bool			link_local;
	int			family;		/* of the sockaddr: AF_INET or AF_INET6 */
};

/* Returns 0; -EINVAL if @len is too short for the family, -EAFNOSUPPORT for another family.
 * What kind of address is acceptable is the caller's to judge.
 */
int rds_addr_parse(const struct sockaddr *uaddr, int len, struct rds_addr *a);

/* Store as sockaddr_in (v4-mapped) or sockaddr_in6; returns the length.  Pads with zeros. */
int rds_addr_store(const struct in6_addr *addr, __be16 port, u32 scope, void *sa);

#endif
