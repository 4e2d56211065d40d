/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading lists of records (abi section 12), and the addresses in them. */
#ifndef INFO_LIST_H
#define INFO_LIST_H

#include "rds_test.h"
#include <linux/rds_ext.h>

/* Connections stay: those of all tests before are on the lists. */
#define INFO_MAX_BYTES	(1024 * 1024)

/* A list, and where it is read to. */
struct list {
	int	stride;
	int	len;
	char	bytes[INFO_MAX_BYTES];
};

static inline int list_read(int fd, int opt, struct list *l)
{
	socklen_t len = sizeof(l->bytes);

	l->stride = getsockopt(fd, SOL_RDS, opt, l->bytes, &len);
	if (l->stride < 0)
		return -errno;
	l->len = len;
	return len / l->stride;
}

/* For each record of list @l, by a pointer of the right type. */
#define for_each_record(r, l)								\
	for ((r) = (void *)(l).bytes; (char *)(r) < (l).bytes + (l).len;			\
	     (r) = (void *)((char *)(r) + (l).stride))

/* As the records have it: IPv4 mapped. */
static inline struct in6_addr mapped(const union rds_addr *a)
{
	struct in6_addr in6 = { .s6_addr = { [10] = 0xff, 0xff } };

	if (a->sa.sa_family == AF_INET6)
		return a->in6.sin6_addr;
	memcpy(&in6.s6_addr[12], &a->in.sin_addr, 4);
	return in6;
}

static inline bool is_addr(struct in6_addr in6, const union rds_addr *a)
{
	struct in6_addr want = mapped(a);

	return !memcmp(&in6, &want, sizeof(want));
}

/* The RDMA connection that begins at @from, on list @l, which is read for it; NULL: there is none. */
static inline struct rds6_info_rdma_connection *rdma_connection_from(int fd, const union rds_addr *from,
								     struct list *l)
{
	struct rds6_info_rdma_connection *c;

	if (list_read(fd, RDS6_INFO_IB_CONNECTIONS, l) < 0)
		return NULL;
	for_each_record(c, *l)
		if (is_addr(c->src_addr, from))
			return c;
	return NULL;
}

static inline bool is_v4(const union rds_addr *a)
{
	return a->sa.sa_family == AF_INET;
}

/* The path between two addresses, by @transport and of type of service @tos: how many there are, or -errno. */
static inline int find_path(int fd, struct list *l, const union rds_addr *from, const union rds_addr *to,
			    const char *transport, uint8_t tos, struct rds_info_path *found)
{
	int n = list_read(fd, RDS_INFO_PATHS, l), nr_found = 0;
	struct rds_info_path *path;

	if (n < 0)
		return n;
	memset(found, 0, sizeof(*found));
	for_each_record(path, *l) {
		if (!is_addr(path->laddr, from) || !is_addr(path->faddr, to) || path->tos != tos ||
		    strcmp((char *)path->transport, transport))
			continue;
		*found = *path;
		nr_found++;
	}
	return nr_found;
}

/* The drop for @reason among those that are remembered, NULL: none. */
static inline const struct rds_info_drop *find_drop(const struct rds_info_path *path, const char *reason)
{
	unsigned int i;

	for (i = 0; i < RDS_INFO_PATH_DROPS; i++)
		if (!strcmp((const char *)path->drops[i].reason, reason))
			return &path->drops[i];
	return NULL;
}

/* An administrator's call: 0 or -errno.  Without @dst all of @src's connections. */
static inline int reset_conn(int fd, uint8_t tos, const union rds_addr *src, const union rds_addr *dst)
{
	struct rds6_reset reset = { .tos = tos, .src = mapped(src) };

	if (dst)
		reset.dst = mapped(dst);
	return set_opt(fd, RDS6_CONN_RESET, &reset, sizeof(reset));
}

#endif
