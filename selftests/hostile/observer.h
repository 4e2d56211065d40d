/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Asking observer.py, which runs on the machine with our module: its address is in PEER_ADDR.
 *
 * Functions return -errno: the observer's, or -EPIPE when it does not answer.
 */
#ifndef HOSTILE_OBSERVER_H
#define HOSTILE_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

#define OBSERVER_PORT	7000

/* A connection to the observer: its descriptor. */
int observer_open(void);
void observer_close(int fd);

/* Ask for FORMAT...; up to @nr numbers of the answer go to @numbers.  Returns how many there were. */
int observer_ask(int fd, long long *numbers, int nr, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same where one number, or none, is of interest: it, 0, or -errno. */
long long observer_get(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
