/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the pure files (layer 0) may use: integers, byte order, memory copies.
 *
 * They know no kernel object, so that the same sources run in user space too,
 * where the tables in tests/ and the fuzzers reach every line.
 */
#ifndef RDS_PURE_H
#define RDS_PURE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/in6.h>
#include <linux/limits.h>
#include <linux/socket.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#else
#include "tests/user/pure_user.h"
#endif

#endif
