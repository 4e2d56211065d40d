/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One end of an RDS connection in user space, over librdmacm and libibverbs: it does what it is told, be
 * that right or wrong.
 *
 * Functions return 0 or -errno unless they say otherwise.  Waits are bounded by PEER_WAIT_MS.
 */
#ifndef HOSTILE_PEER_H
#define HOSTILE_PEER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include "frame.h"

#define PEER_PORT4	18634
#define PEER_PORT6	16385
#define PEER_WAIT_MS	40000
#define PEER_SLOT	8192
#define PEER_SENDS	64
#define PEER_RECEIVES	128
#define PEER_AREA	(MESSAGE_MAX + 8192)

struct frame {
	struct head	head;
	uint8_t		raw[HEAD_LEN];
	uint8_t		payload[FRAGMENT];
	size_t		len;		/* of the payload */
};

struct peer {
	struct sockaddr_storage		from;
	struct sockaddr_storage		to;
	struct rdma_event_channel	*events;
	struct rdma_cm_id		*id;
	struct ibv_pd			*pd;
	struct ibv_mr			*mr;
	struct ibv_comp_channel		*sent;		/* completions of sends */
	struct ibv_comp_channel		*arrived;	/* those of receives: wakes for solicited ones only */
	struct ibv_cq			*send_cq;
	struct ibv_cq			*recv_cq;
	struct ibv_qp			*qp;
	uint8_t				*memory;	/* send slots, receive slots, area */
	uint8_t				*area;		/* for RDMA: PEER_AREA bytes */
	/* set before connecting, and kept by peer_close() */
	bool				no_receives;
	uint8_t				tos;		/* in our private data */
	uint8_t				caps;

	unsigned int			next_slot;
	unsigned int			under_way;	/* sends */
	int				send_status;	/* first one that failed, IBV_WC_* */

	uint64_t			seq;		/* last number sent */
	uint64_t			got;		/* highest number received */

	/* what the other side said when it answered or asked */
	int				status;
	uint8_t				said[256];
	size_t				said_len;
	struct rdma_conn_param		asked;		/* without its private data */
};

/* --- connecting --- */

static inline const struct sockaddr *peer_from(const struct peer *p)
{
	return (const struct sockaddr *)&p->from;
}

static inline const struct sockaddr *peer_to(const struct peer *p)
{
	return (const struct sockaddr *)&p->to;
}

/* Everything up to, but without, the request.  @from and @to are texts. */
int peer_prepare(struct peer *p, const char *from, const char *to);
int peer_request(struct peer *p, const void *priv, size_t len);
/* Wait for @want.  -ECONNREFUSED: rejected; -ECONNRESET: disconnected; -EPROTO: anything else. */
int peer_wait(struct peer *p, enum rdma_cm_event_type want);
/* The queue pair becomes able to send, without telling the other side. */
int peer_ready(struct peer *p);
/* And now tell it. */
int peer_confirm(struct peer *p);
/* What a peer that means well says of itself: version 3.1. */
size_t peer_priv(const struct peer *p, uint8_t *to);
/* All of it, as a peer that means well does it. */
int peer_connect(struct peer *p, const char *from, const char *to);
/* peer_connect(), then both congestion maps. */
int peer_hello(struct peer *p, const char *from, const char *to);

/* Tell the other side, and wait until it has let go. */
void peer_disconnect(struct peer *p);
/* The queue pair is gone and nobody is told: packets get no answer. */
void peer_fall_silent(struct peer *p);
/* Free everything, whatever there is; may be called again. */
void peer_close(struct peer *p);

/* --- being connected to --- */

struct peer_listener {
	struct rdma_event_channel	*events;
	struct rdma_cm_id		*id;
};

int peer_listen(struct peer_listener *l, const char *at);
void peer_unlisten(struct peer_listener *l);
/* Wait for a request and make @p of it. */
int peer_requested(struct peer_listener *l, struct peer *p);
int peer_accept(struct peer *p, const void *priv, size_t len);
int peer_reject(struct peer *p, const void *priv, size_t len);

/* --- sending --- */

/* Post one frame; does not wait unless all slots are in use. */
int peer_push(struct peer *p, const void *bytes, size_t len, bool solicited);
/* Wait until all that was pushed is over: 0 or the first bad IBV_WC_*, -errno; -ECONNRESET: the other side
 * has let go.
 */
int peer_settle(struct peer *p);
/* Push one and settle. */
int peer_send(struct peer *p, const void *bytes, size_t len);
/* A frame of @head with its checksum and @len bytes of payload. */
int peer_push_frame(struct peer *p, const struct head *head, const void *payload, size_t len);
int peer_send_frame(struct peer *p, const struct head *head, const void *payload, size_t len);
/* A whole message, pattern(seed), with the next number if @head has none; not settled. */
int peer_push_message(struct peer *p, struct head head, unsigned int seed);
/* A congestion map; @port is congested, or none if it is 0. */
int peer_push_map(struct peer *p, uint16_t port);
int peer_send_ack(struct peer *p, uint64_t ack);
/* An RDMA write or read of @len bytes of the area: IBV_WC_* or -errno. */
int peer_rdma(struct peer *p, enum ibv_wr_opcode opcode, size_t offset, uint64_t raddr, uint32_t rkey, size_t len);

/* --- receiving --- */

/* The next frame: 0, -ETIMEDOUT, -ECONNRESET, -EIO. */
int peer_take_within(struct peer *p, struct frame *f, int ms);
static inline int peer_take(struct peer *p, struct frame *f)
{
	return peer_take_within(p, f, PEER_WAIT_MS);
}

/* The next frame that is neither of a map nor nothing but an ack. */
int peer_take_data(struct peer *p, struct frame *f);

#endif
