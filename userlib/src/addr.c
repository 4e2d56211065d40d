// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses with ports, between text and binary. */
#include "internal.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host name has at most 253 bytes; an IPv6 address with scope has fewer. */
#define HOST_MAX	256

struct host_port {
	char		host[HOST_MAX];
	uint16_t	port;
	int		family;		/* what the notation allows */
};

static int parse_port(const char *text, uint16_t *port)
{
	unsigned long value;

	if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 5)
		return -EINVAL;
	value = strtoul(text, NULL, 10);
	if (value > UINT16_MAX)
		return -EINVAL;
	*port = value;
	return 0;
}

static int copy_host(struct host_port *hp, const char *text, size_t len)
{
	if (!len || len >= sizeof(hp->host))
		return -EINVAL;
	memcpy(hp->host, text, len);
	hp->host[len] = '\0';
	return 0;
}

/* "[ADDR6]" or "[ADDR6]:PORT" */
static int split_bracketed(struct host_port *hp, const char *text)
{
	const char *end = strchr(text, ']');
	int ret;

	if (!end)
		return -EINVAL;
	hp->family = AF_INET6;
	ret = copy_host(hp, text + 1, end - text - 1);
	if (ret || !end[1])
		return ret;
	return end[1] == ':' ? parse_port(end + 2, &hp->port) : -EINVAL;
}

static int split_host_port(struct host_port *hp, const char *text)
{
	const char *colon = strchr(text, ':');
	int ret;

	if (*text == '[')
		return split_bracketed(hp, text);
	if (colon && strchr(colon + 1, ':')) {
		/* two colons and no brackets: an IPv6 address without a port */
		hp->family = AF_INET6;
		return copy_host(hp, text, strlen(text));
	}
	if (!colon)
		return copy_host(hp, text, strlen(text));
	ret = copy_host(hp, text, colon - text);
	return ret ? ret : parse_port(colon + 1, &hp->port);
}

static int resolver_error(int error, int saved_errno)
{
	switch (error) {
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return saved_errno ? -saved_errno : -EIO;
	default:
		return -ENOENT;
	}
}

/* Called with errno to be preserved by the caller. */
static int resolve(const struct host_port *hp, struct rds_addr *addr)
{
	struct addrinfo hints = {
		.ai_family = hp->family,
		.ai_socktype = SOCK_DGRAM,	/* one entry per address */
	};
	struct addrinfo *list, *ai, *best = NULL;
	int error;

	error = getaddrinfo(hp->host, NULL, &hints, &list);
	if (error)
		return resolver_error(error, errno);
	/*
	 * An RDS socket talks to peers of its own family only, so a name with
	 * addresses of both must give the same one at both ends: the IPv4 one.
	 */
	for (ai = list; ai; ai = ai->ai_next) {
		if (ai->ai_addrlen > sizeof(*addr))
			continue;
		if (!best || (best->ai_family != AF_INET && ai->ai_family == AF_INET))
			best = ai;
	}
	if (best)
		memcpy(addr, best->ai_addr, best->ai_addrlen);
	freeaddrinfo(list);
	return best ? 0 : -ENOENT;
}

int rds_addr_parse(struct rds_addr *addr, const char *text, uint16_t port)
{
	struct host_port hp = { .port = port, .family = AF_UNSPEC };
	struct rds_addr result = { 0 };
	int saved_errno = errno;
	int ret;

	if (!text)
		return -EINVAL;
	ret = split_host_port(&hp, text);
	if (ret)
		return ret;
	ret = resolve(&hp, &result);
	errno = saved_errno;
	if (ret)
		return ret;
	if (result.sa.sa_family == AF_INET6)
		result.in6.sin6_port = htons(hp.port);
	else
		result.in.sin_port = htons(hp.port);
	*addr = result;
	return 0;
}

/* "%INTERFACE", or nothing; @buf holds IF_NAMESIZE + 1 bytes. */
static void format_scope(uint32_t scope, char *buf)
{
	int saved_errno = errno;
	char name[IF_NAMESIZE];

	buf[0] = '\0';
	if (scope && if_indextoname(scope, name))
		snprintf(buf, IF_NAMESIZE + 1, "%%%s", name);
	else if (scope)
		snprintf(buf, IF_NAMESIZE + 1, "%%%u", scope);
	errno = saved_errno;
}

char *rds_addr_format(const struct rds_addr *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN], scope[IF_NAMESIZE + 1];
	unsigned int port = rds_addr_port(addr);

	switch (addr->sa.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &addr->in.sin_addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, port);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &addr->in6.sin6_addr, host, sizeof(host));
		format_scope(addr->in6.sin6_scope_id, scope);
		snprintf(buf, size, "[%s%s]:%u", host, scope, port);
		break;
	default:
		snprintf(buf, size, "(no address)");
		break;
	}
	return buf;
}

uint16_t rds_addr_port(const struct rds_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ntohs(addr->in.sin_port);
	case AF_INET6:
		return ntohs(addr->in6.sin6_port);
	default:
		return 0;
	}
}

socklen_t rds_addr_len(const struct rds_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return sizeof(addr->in);
	case AF_INET6:
		return sizeof(addr->in6);
	default:
		return 0;
	}
}

int rds_addr_equal(const struct rds_addr *a, const struct rds_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || rds_addr_port(a) != rds_addr_port(b))
		return 0;
	switch (a->sa.sa_family) {
	case AF_INET:
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	case AF_INET6:
		return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
	default:
		return 0;
	}
}
