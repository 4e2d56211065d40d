/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The module's sysctls, of the network namespace that the caller is in. */
#ifndef RDS_SELFTEST_SYSCTL_H
#define RDS_SELFTEST_SYSCTL_H

#include "rds_test.h"

#define SYSCTL_DIR	"/proc/sys/net/rds/"

/* 0 or -errno. */
static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = -errno;
	close(fd);
	return err;
}

/* The number that a file begins with, -1 if there is none. */
static inline long read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long value;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

static inline const char *sysctl_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), SYSCTL_DIR "%s", name);
	return path;
}

static inline int sysctl_write(const char *name, const char *text)
{
	return write_text(sysctl_path(name), text);
}

static inline int sysctl_set(const char *name, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return sysctl_write(name, text);
}

static inline long sysctl_get(const char *name)
{
	return read_number(sysctl_path(name));
}

#endif
