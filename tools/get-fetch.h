/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Fetching one file from a server. */
#ifndef GET_FETCH_H
#define GET_FETCH_H

#include <librds.h>
#include <stdbool.h>

#include "copies.h"
#include "get-output.h"
#include "rds-file.h"

/* Exit codes of rds-get; 128 + n: ended by signal n. */
enum get_exit {
	GET_OK,
	GET_SYSTEM,		/* RDS or memory is not to be had on this host */
	GET_USAGE,
	GET_REFUSED,		/* the server does not give this file */
	GET_NO_ANSWER,
	GET_CHANGED,		/* the file changed meanwhile, or digests differ */
	GET_OUTPUT,		/* OUT cannot be written */
};

struct fetch_options {
	struct rds_addr	server;
	struct rds_addr	local;		/* port 0: any */
	const char	*name;
	const char	*source;	/* how the user gave ->local, or NULL */
	unsigned int	windows;	/* 1 to WINDOWS_MAX */
	size_t		window_size;	/* bytes, up to RDS_FILE_READ_MAX */
	int64_t		timeout;	/* ms without a word from the server */
	bool		quiet;
};

struct fetch_result {
	uint64_t	size;		/* bytes of the file, all RDMA-written */
	uint64_t	writes;		/* RDMA writes, repeated ones not counted */
	uint64_t	retries;	/* writes asked for again */
	uint64_t	message_bytes;	/* payload of all messages, both directions */
	uint64_t	copied;		/* bytes of the file, by the CPU, in RDS */
	uint64_t	copied_rdma;	/* the part of it that loopback RDMA is */
	bool		copies_known;	/* the two above are valid */
	bool		same_host;	/* the counters include the server's copies */
	int64_t		elapsed;	/* ms, until the digests were compared */
	uint8_t		digest[RDS_FILE_DIGEST_SIZE];
};

/*
 * Fetch into @out.  On GET_OK all of the file is written and its digest is the
 * server's; otherwise a sentence on stderr has said why not.  stop_signal ends
 * the fetch with 128 + its number.
 */
int fetch(const struct fetch_options *opt, struct output *out,
	  struct fetch_result *res);

/* What to say when OUT cannot be written.  Returns GET_OUTPUT. */
int output_failed(const struct output *out, const char *doing, int err);

#endif /* GET_FETCH_H */
