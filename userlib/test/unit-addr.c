// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses from text and back, with a resolver of our own below the library. */
#include <arpa/inet.h>
#include <librds.h>
#include <netdb.h>

#include "tap.h"

/* Host names come from here, numbers from the real resolver. */
static struct {
	int	error;		/* EAI_*, or 0 */
	int	families[2];	/* of the addresses, in this order */
} names;

/* the linker's --wrap=getaddrinfo makes these two of one */
__typeof__(getaddrinfo) __real_getaddrinfo;

static struct addrinfo *name_entry(int family, struct addrinfo *next)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_DGRAM,
				  .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;

	__real_getaddrinfo(family == AF_INET ? "192.0.2.7" : "2001:db8::7", NULL, &hints, &ai);
	ai->ai_next = next;
	return ai;
}

__typeof__(getaddrinfo) __wrap_getaddrinfo;

int __wrap_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **list)
{
	errno = EPIPE;		/* it may leave anything there */
	if (strcmp(host, "peer.example"))
		return __real_getaddrinfo(host, service, hints, list);
	if (names.error)
		return names.error;
	*list = name_entry(names.families[1], NULL);
	*list = name_entry(names.families[0], *list);
	return 0;
}

static const struct {
	const char	*text;
	int		ret;
	const char	*formatted;
} numeric[] = {
	{ "127.0.0.1", 0, "127.0.0.1:7" },
	{ "10.9.1.1:4000", 0, "10.9.1.1:4000" },
	{ "10.9.1.1:0", 0, "10.9.1.1:0" },
	{ "10.9.1.1:65535", 0, "10.9.1.1:65535" },
	{ "::1", 0, "[::1]:7" },
	{ "[::1]", 0, "[::1]:7" },
	{ "[fd09:1::2]:4000", 0, "[fd09:1::2]:4000" },
	{ "fd09:1::2", 0, "[fd09:1::2]:7" },
	{ "::ffff:10.9.1.1", 0, "[::ffff:10.9.1.1]:7" },
	{ "[fe80::1%lo]:4000", 0, "[fe80::1%lo]:4000" },
	{ "fe80::1%lo", 0, "[fe80::1%lo]:7" },
	{ "0.0.0.0", 0, "0.0.0.0:7" },
	{ "", -EINVAL, NULL },
	{ ":4000", -EINVAL, NULL },
	{ "10.9.1.1:", -EINVAL, NULL },
	{ "10.9.1.1:65536", -EINVAL, NULL },
	{ "10.9.1.1:-1", -EINVAL, NULL },
	{ "10.9.1.1:+1", -EINVAL, NULL },
	{ "10.9.1.1: 1", -EINVAL, NULL },
	{ "10.9.1.1:0x1", -EINVAL, NULL },
	{ "10.9.1.1:99999999999999999999", -EINVAL, NULL },
	{ "[::1", -EINVAL, NULL },
	{ "[]", -EINVAL, NULL },
	{ "[::1]4000", -EINVAL, NULL },
	{ "[::1]:", -EINVAL, NULL },
	{ "[10.9.1.1]:4000", -ENOENT, NULL },
	{ "fe80::1%no-such-device", -ENOENT, NULL },
	{ "1:2:3", -ENOENT, NULL },
};

static void test_numeric(void)
{
	char text[LIBRDS_ADDR_STRLEN], name[128];
	struct rds_addr addr, untouched;
	size_t i;
	int ret;

	memset(&untouched, 0xa5, sizeof(untouched));
	for (i = 0; i < sizeof(numeric) / sizeof(numeric[0]); i++) {
		addr = untouched;
		ret = rds_addr_parse(&addr, numeric[i].text, 7);
		snprintf(name, sizeof(name), "parse \"%s\"", numeric[i].text);
		is_err(ret, numeric[i].ret, name);
		snprintf(name, sizeof(name), "\"%s\" and back", numeric[i].text);
		if (numeric[i].formatted)
			is_text(rds_addr_format(&addr, text, sizeof(text)),
				numeric[i].formatted, name);
		else
			ok(!memcmp(&addr, &untouched, sizeof(addr)), "%s: untouched", name);
	}
}

static void test_too_long(void)
{
	struct rds_addr addr;
	char text[600];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	is_err(rds_addr_parse(&addr, text, 0), -EINVAL, "599 letters");
	text[0] = '[';
	text[sizeof(text) - 2] = ']';
	is_err(rds_addr_parse(&addr, text, 0), -EINVAL, "597 letters in brackets");
	is_err(rds_addr_parse(&addr, NULL, 0), -EINVAL, "no text at all");
}

static void test_names(void)
{
	static const struct { int eai, ret; } errors[] = {
		{ EAI_NONAME, -ENOENT }, { EAI_NODATA, -ENOENT }, { EAI_FAIL, -ENOENT },
		{ EAI_AGAIN, -EAGAIN }, { EAI_MEMORY, -ENOMEM }, { EAI_SYSTEM, -EPIPE },
	};
	char text[LIBRDS_ADDR_STRLEN], name[64];
	struct rds_addr addr;
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		names.error = errors[i].eai;
		errno = 0;
		snprintf(name, sizeof(name), "resolver error %d", errors[i].eai);
		is_err(rds_addr_parse(&addr, "peer.example:1", 0), errors[i].ret, name);
		is(errno, 0, "resolver error leaves errno");
	}
	names.error = 0;
	names.families[0] = AF_INET6;
	names.families[1] = AF_INET;
	is_err(rds_addr_parse(&addr, "peer.example:4000", 0), 0, "name with both families");
	is_text(rds_addr_format(&addr, text, sizeof(text)), "192.0.2.7:4000",
		"name with both families gives IPv4");
	names.families[1] = AF_INET6;
	is_err(rds_addr_parse(&addr, "peer.example", 9), 0, "name with IPv6 only");
	is_text(rds_addr_format(&addr, text, sizeof(text)), "[2001:db8::7]:9",
		"name with IPv6 only gives IPv6");
}

static struct rds_addr parsed(const char *text)
{
	struct rds_addr addr = { 0 };

	need(rds_addr_parse(&addr, text, 0), text);
	return addr;
}

static void test_equal(void)
{
	static const struct { const char *a, *b; int equal; } rows[] = {
		{ "127.0.0.1:1", "127.0.0.1:1", 1 },
		{ "127.0.0.1:1", "127.0.0.1:2", 0 },
		{ "127.0.0.1:1", "127.0.0.2:1", 0 },
		{ "127.0.0.1:1", "[::1]:1", 0 },
		{ "[::1]:1", "[::1]:1", 1 },
		{ "[::1]:1", "[::2]:1", 0 },
		{ "[fe80::1%lo]:1", "[fe80::1]:1", 0 },
	};
	struct rds_addr a, b, none = { 0 };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = parsed(rows[i].a);
		b = parsed(rows[i].b);
		ok(rds_addr_equal(&a, &b) == rows[i].equal, "%s %s %s", rows[i].a,
		   rows[i].equal ? "equals" : "differs from", rows[i].b);
	}
	ok(!rds_addr_equal(&none, &none), "no address equals nothing");
}

static void test_small(void)
{
	struct rds_addr none = { 0 }, v4 = parsed("127.0.0.1:4000"), v6 = parsed("[::1]:4001");
	char text[6];

	is(rds_addr_len(&v4), 16, "length of an IPv4 address");
	is(rds_addr_len(&v6), 28, "length of an IPv6 address");
	is(rds_addr_len(&none), 0, "length of none");
	is(rds_addr_port(&v4), 4000, "port of an IPv4 address");
	is(rds_addr_port(&v6), 4001, "port of an IPv6 address");
	is(rds_addr_port(&none), 0, "port of none");
	is_text(rds_addr_format(&v4, text, sizeof(text)), "127.0", "short buffer is cut");
	is_text(rds_addr_format(&none, text, sizeof(text)), "(no a", "no address is text, too");
}

int main(void)
{
	test_numeric();
	test_too_long();
	test_names();
	test_equal();
	test_small();
	return tap_end();
}
