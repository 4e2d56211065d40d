// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "get-target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The colon that ends "PORT:", or NULL if @text does not start like that. */
static const char *port_end(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && text[digits] == ':' ? text + digits : NULL;
}

int target_split(const char *text, char *addr, size_t size, const char **file)
{
	int bracket = *text == '[';
	const char *host = text + bracket;
	const char *end = strchr(host, bracket ? ']' : ':');
	const char *colon, *port;
	int len, port_len = 0;

	if (!end || end == host || end[bracket] != ':')
		return -EINVAL;
	colon = end + bracket;
	port = colon + 1;
	*file = port;
	if (port_end(port)) {
		*file = port_end(port) + 1;
		port_len = *file - 1 - port;
	}
	if (!**file)
		return -EINVAL;

	/* rds_addr_parse() takes an IPv6 address without port only bare */
	if (!port_len)
		len = snprintf(addr, size, "%.*s", (int)(end - host), host);
	else
		len = snprintf(addr, size, "%.*s:%.*s", (int)(colon - text),
			       text, port_len, port);
	return (size_t)len < size ? 0 : -EINVAL;
}
