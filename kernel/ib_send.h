/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Messages and acks into the send queue. */
#ifndef RDS_IB_SEND_H
#define RDS_IB_SEND_H

#include "ib_ep.h"

/* The transport's calls. */
int rds_ib_xmit(struct rds_ep *ep, struct rds_msg *msg);
void rds_ib_flush(struct rds_ep *ep);
void rds_ib_signal(struct rds_ep *ep, enum rds_signal signal);
bool rds_ib_busy(struct rds_ep *ep);

/* Make and free the ring.  Sleep. */
int rds_ib_tx_init(struct rds_ib_ep *ep);
void rds_ib_tx_exit(struct rds_ib_ep *ep);
/* Entries of the send queue that the ring needs, the drain's included; and the fewest with which one works. */
unsigned int rds_ib_tx_wrs(const struct rds_ib_ep *ep);
unsigned int rds_ib_tx_min_wrs(void);
/* With the queue pair drained, but still there: end all that is left in the ring. */
void rds_ib_tx_drop(struct rds_ib_ep *ep);

/* For the owner of the transmit pass: the next slot, or NULL if the ring is full: then a
 * completion calls rds_path_xmit().
 */
struct rds_ib_slot *rds_ib_tx_take(struct rds_ib_ep *ep);
/* Append @wr, which completes as @slot. */
void rds_ib_tx_append(struct rds_ib_ep *ep, struct rds_ib_slot *slot, struct ib_send_wr *wr);
/* Have a transmit pass a little later. */
void rds_ib_tx_retry_later(struct rds_ib_ep *ep);

/* ib_rdma.c */

/* Put the operations of @msg into the ring, unless that has been done; -EAGAIN: not all of it yet. */
int rds_ib_xmit_ops(struct rds_ib_ep *ep, struct rds_msg *msg);
/* A signalled work request for atomic @what, whose local side is mapped. */
void rds_ib_atomic_wr_init(struct ib_atomic_wr *wr, struct ib_sge *sge, const struct rds_op *what,
			   const struct ib_pd *pd);
/* It is over, or will never be begun. */
void rds_ib_op_end(struct rds_ib_ep *ep, struct rds_ib_op *op, int status);
/* What a failed completion says about the operation. */
int rds_ib_op_status(enum ib_wc_status status);

#endif
