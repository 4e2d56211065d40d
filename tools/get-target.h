/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The HOST[:PORT]:FILE argument.  Pure. */
#ifndef GET_TARGET_H
#define GET_TARGET_H

#include <stddef.h>

/*
 * Split @text: what precedes the file goes to @addr (@size bytes) in a form
 * that rds_addr_parse(3) reads, @file points at the rest of @text.  An IPv6
 * address stands in brackets.  Digits between two colons are a port.
 * 0, or -EINVAL.
 */
int target_split(const char *text, char *addr, size_t size, const char **file);

#endif /* GET_TARGET_H */
