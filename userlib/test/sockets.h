/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A pair of bound sockets for the tests that need RDS in the kernel. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <librds.h>
#include <unistd.h>

#include "tap.h"

#define PATIENCE	30000	/* ms: only a failure takes so long */

struct end {
	int		fd;
	struct rds_addr	addr;
};

static inline struct end open_end(const char *addr)
{
	struct end end = { .fd = need(rds_open(addr, 0), addr) };

	need(rds_local_addr(end.fd, &end.addr), "rds_local_addr");
	return end;
}

/* Addresses of two sockets of this machine: arguments, else the loopback. */
static inline const char *addr_of(int argc, char **argv, int i)
{
	return argc > i ? argv[i] : "127.0.0.1";
}

static inline void prefix_names(int argc, char **argv)
{
	static char prefix[256];

	snprintf(prefix, sizeof(prefix), "%s to %s: ", addr_of(argc, argv, 1),
		 addr_of(argc, argv, 2));
	tap_prefix = prefix;
}

/* Receive one message of exactly this text; false after the patience is over. */
static inline int got_text(const struct end *end, const char *text, struct rds_incoming *in)
{
	char buf[256];
	ssize_t len;

	len = rds_recv_timeout(end->fd, buf, sizeof(buf), in, PATIENCE);
	if (len < 0)
		printf("# receiving: %s\n", rds_explain(RDS_CALL_RECV, len));
	else if (!(in->what & LIBRDS_IN_MESSAGE))
		printf("# no message, but what=%#x\n", in->what);
	return len == (ssize_t)strlen(text) && in->what & LIBRDS_IN_MESSAGE &&
	       !memcmp(buf, text, len);
}

#endif /* SOCKETS_H */
