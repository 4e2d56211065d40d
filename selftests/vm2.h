/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tests with two machines ask of vm2_peer, which runs on the other one, and what it answers.
 *
 * The asking side owns all expectations; the peer does as it is told, over calls that every RDS module has.
 * Both are of one architecture, so that structs travel as they are.
 */
#ifndef VM2_H
#define VM2_H

#include "rds_test.h"

#define PEER_PORT	4000	/* takes struct ask, gives struct answer */
#define ECHO_PORT	4001	/* sends back every message, each byte inverted */

/* The peer's memory, all of it filled by fill() with the seed of the last ASK_MAP. */
#define AREA_LEN	(RDS_MAX_MSG + 4 * 4096)

enum ask_what {
	ASK_WRITE,	/* RDMA-write @len bytes, fill(@seed), to the asker's buffer */
	ASK_READ,	/* RDMA-read @len bytes from there; answered with a digest of them */
	ASK_MAP,	/* fill the area, map @len bytes of it from @offset by RDS_CMSG_RDMA_MAP on the answer */
	ASK_LOOK,	/* digest of the area */
	ASK_HOLD,	/* open a socket and do not read from it: its port */
	ASK_TAKE,	/* read @len messages from it; message i must be fill(@seed + i) */
};

/* A buffer of the asker's is named by the cookie that came with the message, or else by @cookie. */
struct ask {
	uint32_t	what;
	uint32_t	len;
	uint64_t	offset;		/* from the start of the buffer; "negative" ones wrap */
	uint64_t	cookie;
	uint64_t	flags;		/* RDS_RDMA_* beside READWRITE and NOTIFY_ME */
	uint32_t	seed;
	uint32_t	unused;
};

/* An operation that succeeds is answered twice: by the message that carries it, with status ARRIVED, and
 * when its notification has come, with its status.  One that fails has only the second answer.
 */
struct answer {
	uint32_t	what;
	int32_t		status;		/* RDS_RDMA_*, or -errno */
	uint64_t	digest;
	uint32_t	value;		/* port, or messages that were right */
	uint32_t	unused;
};

#define ARRIVED		1000

static inline uint64_t digest(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	uint64_t h = 0xcbf29ce484222325ULL;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

#endif
