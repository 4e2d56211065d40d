/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A transport for tests, in the place of the RDMA devices: it has addresses 10.77.0.0/24, does what a test tells it,
 * and keeps a record.  One test at a time uses it.
 */
#ifndef RDS_TEST_FAKE_H
#define RDS_TEST_FAKE_H

#include <linux/completion.h>
#include "../path.h"
#include "../transport.h"
#include "../wire.h"

struct rds_conn;

#define FAKE_MAX_SENT	512
#define FAKE_MAX_OPS	16

struct fake_ep {
	struct rds_ep	ep;
	unsigned int	nr;		/* of the endpoints made in this test, from 1 */
	unsigned int	frags;		/* of the message at hand that are gone already */
	struct rds_op	*ops[FAKE_MAX_OPS];	/* that the device is at, with a reference to the message */
	unsigned int	nr_ops;
	atomic_t	inside;		/* xmit or flush */
};

/* A message that was wholly taken. */
struct fake_sent {
	unsigned int	ep;		/* which endpoint took it */
	u64		seq;
	u8		flags;
	__be16		sport;
	__be16		dport;
	u32		len;
	unsigned int	ops;		/* of its operations, how many went out with it */
};

struct fake {
	/* told by the test */
	bool		by_hand;	/* endpoints become established only by fake_establish() */
	int		listen_err;
	int		connect_err;
	int		accept_err;
	int		step_err;
	int		xmit_err;	/* the next transmission drops the endpoint */
	int		mr_err;
	int		room;		/* fragments that may still be taken */
	void		(*on_close)(struct fake_ep *ep);	/* while the path is closing it */

	/* the record */
	int		listening;	/* namespaces */
	unsigned int	connects;	/* calls, failed ones too */
	unsigned int	made;		/* endpoints */
	unsigned int	accepted;
	unsigned int	rejected;
	unsigned int	last_rejected;	/* number of that endpoint */
	unsigned int	steps;
	unsigned int	signals[RDS_SIGNAL_BUSY + 1];	/* by kind */
	unsigned int	closed;
	unsigned int	released;
	unsigned int	flushes;
	unsigned int	registered;
	unsigned int	unregistered;
	unsigned int	domains;	/* made and not released */
	struct fake_sent sent[FAKE_MAX_SENT];
	unsigned int	nr_sent;
	bool		overlap;	/* two were in xmit or flush of one endpoint at once */

	u32		last_rkey;
	struct rds_domain *domain;	/* the device; NULL: it is away */
};

extern struct fake fake;
extern const struct rds_transport fake_transport;

/* 10.77.0.@n, v4-mapped */
struct in6_addr fake_addr(u8 n);

/* Start anew: a device, endless room, endpoints that come up by themselves. */
int fake_reset(void);

/* The device goes, and another one comes. */
void fake_remove_device(void);
int fake_add_device(void);

static inline struct fake_ep *to_fake_ep(struct rds_ep *ep)
{
	return container_of(ep, struct fake_ep, ep);
}

/* The peer asks to connect @conn: its request, not posted yet, with one reference.  NULL: no memory. */
struct fake_ep *fake_request(struct rds_conn *conn, bool ordered);

/* The current endpoint of @conn, with a reference, or NULL. */
struct fake_ep *fake_current(struct rds_conn *conn);
/* Something happens to it, if there is one; returns when the worker has dealt with it. */
void fake_establish(struct rds_conn *conn);
void fake_lose(struct rds_conn *conn, enum rds_drop_reason reason);
/* The peer acknowledges up to @ack on it; as rds_path_acked(). */
bool fake_ack(struct rds_conn *conn, u64 ack);
/* The device is through with the oldest operation on it. */
void fake_op_done(struct rds_conn *conn, int status);

#endif
