/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The server's clients.
 *
 * A session is what the server knows of one client socket: one open file, the
 * answers that are due, and the RDMA writes that are under way.  All of it has
 * a fixed size, so that no client can make the server grow.
 *
 * Nothing here waits.  serve_message() and serve_notification() take in what
 * the network brings, serve_send(), serve_hash() and serve_expire() are called
 * again and again by the event loop and do a bounded piece of work each.
 */
#ifndef SERVE_SESSION_H
#define SERVE_SESSION_H

#include <librds.h>
#include <nettle/sha2.h>
#include <stdbool.h>

#include "copies.h"
#include "rds-file.h"
#include "serve-file.h"

#define MAX_REQUESTS	16	/* READs that a client may have unanswered */
#define MAX_REPLIES	40	/* of a session: those, twice, and some others */

/* A socket that the server listens on. */
struct endpoint {
	int		fd;
	bool		full;		/* the last send found no room */
	char		text[LIBRDS_ADDR_STRLEN];
};

/* An answer that is due; a DATA with RDS_FILE_OK needs its RDMA write first. */
struct reply {
	uint64_t	offset;
	uint64_t	cookie;
	uint32_t	request;
	uint32_t	length;
	uint32_t	status;
	uint16_t	type;
};

struct session {
	struct endpoint		*ep;
	struct rds_addr		peer;
	char			text[LIBRDS_ADDR_STRLEN];	/* of ->peer */
	char			name[256];	/* of the file, fit to be shown */
	struct served_file	file;
	struct sha256_ctx	sha;
	struct reply		replies[MAX_REPLIES];
	uint64_t		id;		/* chosen by the client */
	uint64_t		hashed;		/* bytes from the start of the file */
	uint64_t		goal;		/* hash up to here */
	uint64_t		rdma_bytes;	/* written, repeated ones included */
	int64_t			heard;		/* ms */
	uint32_t		serial;		/* unique while the server runs */
	unsigned int		first;		/* of ->replies */
	unsigned int		count;		/* of ->replies */
	unsigned int		in_flight;	/* RDMA writes, until notified */
	unsigned int		failures;	/* of RDMA writes in a row */
	uint8_t			digest[RDS_FILE_DIGEST_SIZE];
	bool			finishing;	/* the client waits for the digest */
	bool			finished;	/* it did, or does */
	bool			failed;		/* the file can no longer be served */
};

struct server {
	struct session		**sessions;
	unsigned int		count;
	unsigned int		max;
	unsigned int		turn;		/* whose answer is sent next */
	unsigned int		in_flight;	/* RDMA writes of all */
	int64_t			idle;		/* ms of silence, then forgotten */
	struct copies		copies;		/* at the start */
	uint64_t		message_bytes;	/* sent and received by us */
	uint32_t		serial;		/* last one given out */
	int			root;		/* the served folder, O_PATH */
	bool			copies_known;
	bool			blocked;	/* a send found no room */
};

/* A message of @len bytes that came in through @ep. */
void serve_message(struct server *srv, struct endpoint *ep,
		   const struct rds_addr *from, const uint8_t *buf, size_t len);

/* How an RDMA write ended. */
void serve_notification(struct server *srv, const struct rds_rdma_notify *n);

/* One answer to each client.  Is there more that could be sent at once? */
bool serve_send(struct server *srv);

/* Hash a piece of each file that needs it.  Is there more to hash? */
bool serve_hash(struct server *srv);

/* Forget silent clients. */
void serve_expire(struct server *srv);

/* Tell all clients that the server ends, and forget them. */
void serve_stop(struct server *srv);

#endif /* SERVE_SESSION_H */
