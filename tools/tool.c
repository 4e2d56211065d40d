// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool verbose_on;
volatile int stop_signal;
static sigset_t wait_mask;

void say(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void note(const char *fmt, ...)
{
	va_list args;

	if (!verbose_on)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*text))	/* strtoull takes "-1" */
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n < min || n > max)
		return -EINVAL;
	*value = n;
	return 0;
}

const char *size_text(char *buf, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double n = bytes / 1024.0;
	unsigned int i = 0;

	if (bytes < 1024) {
		snprintf(buf, SIZE_STRLEN, "%" PRIu64 " bytes", bytes);
		return buf;
	}
	for (; n >= 1024 && i < 3; i++)
		n /= 1024;
	snprintf(buf, SIZE_STRLEN, "%.*f %s", n == (uint64_t)n ? 0 : 1, n,
		 units[i]);
	return buf;
}

const char *hex_text(char *buf, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sprintf(buf + 2 * i, "%02x", bytes[i]);
	return buf;
}

char *name_text(char *buf, size_t size, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len && i + 1 < size; i++)
		buf[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	buf[i] = 0;
	return buf;
}

int local_for(const struct rds_addr *peer, struct rds_addr *local)
{
	socklen_t len = sizeof(*local);
	int fd, err = 0;

	fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Connecting a UDP socket only looks up the route. */
	if (connect(fd, &peer->sa, rds_addr_len(peer)) < 0 ||
	    getsockname(fd, &local->sa, &len) < 0)
		err = -errno;
	close(fd);
	if (err)
		return err;
	if (local->sa.sa_family == AF_INET6)
		local->in6.sin6_port = 0;
	else
		local->in.sin_port = 0;
	return 0;
}

int is_local(const struct rds_addr *addr)
{
	struct rds_addr probe = *addr;
	int fd, err;

	if (probe.sa.sa_family == AF_INET6)
		probe.in6.sin6_port = 0;
	else
		probe.in.sin_port = 0;
	fd = socket(probe.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	err = bind(fd, &probe.sa, rds_addr_len(&probe));
	close(fd);
	return !err;
}

static void on_signal(int sig)
{
	stop_signal = sig;
}

/* What our starter had ignored (nohup, a shell's background job) stays so. */
static void catch_signal(int sig, sigset_t *block)
{
	struct sigaction sa;

	sigaction(sig, NULL, &sa);
	if (sa.sa_handler == SIG_IGN)
		return;
	sa = (struct sigaction){ .sa_handler = on_signal };
	sigaction(sig, &sa, NULL);
	sigaddset(block, sig);
}

void catch_signals(void)
{
	sigset_t block;

	sigemptyset(&block);
	catch_signal(SIGINT, &block);
	catch_signal(SIGTERM, &block);
	catch_signal(SIGHUP, &block);
	sigprocmask(SIG_BLOCK, &block, &wait_mask);
	sigdelset(&wait_mask, SIGINT);
	sigdelset(&wait_mask, SIGTERM);
	sigdelset(&wait_mask, SIGHUP);
	/* "ulimit -f" then gives an error that can be told */
	signal(SIGXFSZ, SIG_IGN);
}

int wait_events(struct pollfd *fds, unsigned int count, int64_t timeout)
{
	struct timespec ts = {
		.tv_sec = timeout / 1000,
		.tv_nsec = timeout % 1000 * 1000000,
	};

	if (ppoll(fds, count, &ts, &wait_mask) < 0 && errno != EINTR)
		return -errno;
	return stop_signal ? -EINTR : 0;
}

void end_by_signal(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);
}
