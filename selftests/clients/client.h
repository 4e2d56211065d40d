/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The clients in this folder do what the tools of the rds-tools package do, call by call, as the description of the ABI (section 18)
 * tells it; nobody has looked at those tools.  They are compiled with the distribution's <linux/rds.h>.  Each speaks TAP.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "../rds_test.h"

/* What a tool would print before it gives up. */
static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ksft_exit_fail_msg("%s\n", text);
	exit(KSFT_FAIL);	/* not reached, but not every version says so */
}

/* A socket bound to @addr, which gets the port that was given. */
static int bound_socket(union rds_addr *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = rds_socket(), on = 1, err;

	if (fd < 0)
		give_up("socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		give_up("SO_REUSEADDR: %s", strerror(errno));
	err = rds_bind(fd, addr);
	if (err)
		give_up("bind: %s", strerror(-err));
	if (getsockname(fd, &addr->sa, &len))
		give_up("getsockname: %s", strerror(errno));
	return fd;
}

/* The type of service, asked for after bind and before the first message, through a pointer to a long. */
static int set_tos(int fd, long tos)
{
	return ioctl(fd, SIOCRDSSETTOS, &tos) ? -errno : 0;
}

static union rds_addr address_argument(const char *text, uint16_t port)
{
	union rds_addr addr = addr_make(text, port);

	if (!addr.sa.sa_family)
		give_up("%s is no address", text);
	return addr;
}

#endif /* CLIENT_H */
