/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Test Anything Protocol: one line for each check, the plan at the end. */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;
static const char *tap_prefix = "";	/* of every name: what is tested this time */

static inline int __attribute__((format(printf, 2, 3)))
ok(int good, const char *fmt, ...)
{
	va_list args;

	printf("%sok %d - %s", good ? "" : "not ", ++tap_count, tap_prefix);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	tap_failed += !good;
	return good;
}

/* Equal numbers; both are shown when they are not. */
static inline int is(long long got, long long want, const char *name)
{
	if (got != want)
		printf("# %s: got %lld, want %lld\n", name, got, want);
	return ok(got == want, "%s", name);
}

/* The same with errors, shown by name. */
static inline int is_err(long long got, long long want, const char *name)
{
	if (got != want)
		printf("# %s: got %lld (%s), want %lld (%s)\n", name,
		       got, got < 0 ? strerror(-got) : "no error",
		       want, want < 0 ? strerror(-want) : "no error");
	return ok(got == want, "%s", name);
}

static inline int is_text(const char *got, const char *want, const char *name)
{
	int same = !strcmp(got, want);

	if (!same)
		printf("# %s: got \"%s\", want \"%s\"\n", name, got, want);
	return ok(same, "%s", name);
}

/* What every later check needs: without it there is no point in going on. */
static inline long long need(long long ret, const char *what)
{
	if (ret < 0) {
		printf("Bail out! %s: %s\n", what, strerror(-ret));
		exit(1);
	}
	return ret;
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif /* TAP_H */
