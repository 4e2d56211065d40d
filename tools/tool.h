/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What rds-get and rds-serve have in common besides the protocol. */
#ifndef TOOL_H
#define TOOL_H

#include <librds.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* "rds-get: ..." and a newline on stderr. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same without the name in front, and only if verbose_on. */
extern bool verbose_on;
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic, in milliseconds. */
int64_t now_ms(void);

/* A decimal number from @min to @max.  0 or -EINVAL. */
int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* "8 MiB", "1.5 KiB", "17 bytes" in a buffer of its caller. */
#define SIZE_STRLEN	32
const char *size_text(char *buf, uint64_t bytes);

#define HEX_STRLEN(bytes)	(2 * (bytes) + 1)
const char *hex_text(char *buf, const uint8_t *bytes, size_t len);

/*
 * Make a name that came from elsewhere fit to be shown: bytes that are no
 * printable ASCII become '?', and what exceeds @size is cut.  Returns @buf.
 */
char *name_text(char *buf, size_t size, const char *name, size_t len);

/*
 * The address of this host that leads to @peer, with port 0.
 * 0, -ENETUNREACH, or what socket(2) and connect(2) give.
 */
int local_for(const struct rds_addr *peer, struct rds_addr *local);

/* Is it an address of this host (of this network namespace)? */
int is_local(const struct rds_addr *addr);

/*
 * SIGINT, SIGTERM and SIGHUP are let in only while wait_events() waits, and
 * are then found in stop_signal.
 */
extern volatile int stop_signal;
void catch_signals(void);

/* poll(2), up to @timeout milliseconds; 0, or -EINTR for a signal above. */
int wait_events(struct pollfd *fds, unsigned int count, int64_t timeout);

/* End as a process does that @sig ended, for the sake of shells and makes. */
void end_by_signal(int sig) __attribute__((noreturn));

#endif /* TOOL_H */
