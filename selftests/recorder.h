/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the parts of the recorder share; recorder.c tells what it does. */
#ifndef RECORDER_H
#define RECORDER_H

#include "rds_test.h"

#define MAX_PAIRS	4		/* of addresses */
#define SLOTS		8		/* operations under way, for each pair */

/* Say what is wrong, as a comment; only the first few times. */
static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A socket bound to @port of @addr, or the end of the program. */
static int open_at(union rds_addr addr, uint16_t port);

/* Allocations are made to fail: ENOMEM is an answer that any call may give, and may be tried again after. */
static bool memory_may_fail;

/* Something was sent or received: we are not stuck. */
static void note_progress(void);

/* With one pair of addresses: the operation in @slot was sent, and has succeeded. */
static void note_op_sent(unsigned int slot);
static void note_op_success(unsigned int slot);

#endif
