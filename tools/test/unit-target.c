// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "get-target.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static const struct {
	const char	*text;
	int		err;
	const char	*addr;
	const char	*file;
} rows[] = {
	{ "host:file",			0, "host", "file" },
	{ "10.0.0.1:a/b c",		0, "10.0.0.1", "a/b c" },
	{ "10.0.0.1:/etc/passwd",	0, "10.0.0.1", "/etc/passwd" },
	{ "host:4460:file",		0, "host:4460", "file" },
	{ "host:4460:1:2",		0, "host:4460", "1:2" },
	{ "host:a:b",			0, "host", "a:b" },
	{ "host:12",			0, "host", "12" },
	{ "host:12a:b",			0, "host", "12a:b" },
	{ "host::file",			0, "host", ":file" },
	{ "[fd09::1]:file",		0, "fd09::1", "file" },
	{ "[fd09::1]:4460:file",	0, "[fd09::1]:4460", "file" },
	{ "[fe80::1%eth0]:f",		0, "fe80::1%eth0", "f" },
	{ "[::1]::f",			0, "::1", ":f" },
	{ "",				.err = -EINVAL },
	{ "host",			.err = -EINVAL },
	{ "host:",			.err = -EINVAL },
	{ ":file",			.err = -EINVAL },
	{ ":4460:file",			.err = -EINVAL },
	{ "host:4460:",			.err = -EINVAL },
	{ "[fd09::1]",			.err = -EINVAL },
	{ "[fd09::1]file",		.err = -EINVAL },
	{ "[fd09::1:file",		.err = -EINVAL },
	{ "[]:file",			.err = -EINVAL },
	{ "host-name-too-long:file",	.err = -EINVAL },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *file = NULL;
		char addr[17];
		int err = target_split(rows[i].text, addr, sizeof(addr), &file);

		ok(err == rows[i].err &&
		   (err || (!strcmp(addr, rows[i].addr) &&
			    !strcmp(file, rows[i].file))),
		   "target_split '%s'", rows[i].text);
	}
	return tap_end();
}
