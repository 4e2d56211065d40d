/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue messages on a path, drain the queue, take acks. */
#ifndef RDS_XMIT_H
#define RDS_XMIT_H

#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/types.h>

struct rds_conn;
struct rds_ep;
struct rds_msg;
struct rds_path;

/* Number @msg and append it to the send queue; the path takes over the caller's reference
 * and the message takes one to the connection.  Returns 0; -EAGAIN if the path is dead (then
 * nothing was taken).  Any context.  Call rds_path_xmit() next.
 */
int rds_path_queue(struct rds_conn *conn, struct rds_msg *msg);

/* Send what can be sent.  Whoever finds the path idle drains it, the others leave their message
 * behind and return; so when this returns, each queued message is sent, or somebody is at it,
 * or there is no room or no connection, and the event that changes this calls again.
 * Any context except under rx_lock or tx_lock.
 */
void rds_path_xmit(struct rds_path *path);

/* For transports, in xmit: a transmit pass holds no lock, so that this tells whether it may sleep. */
static inline bool rds_xmit_may_sleep(void)
{
	return in_task() && !in_softirq() && !irqs_disabled();
}

/* The peer acknowledged all messages up to @ack on @ep.  Holding path->rx_lock or from the
 * transmit pass's flush; not tx_lock.  Returns false if @ack is one that was never sent on @ep:
 * the caller drops the endpoint.
 */
bool rds_path_acked(struct rds_ep *ep, u64 ack);

/* Take @msg off its path for good.  True: the caller has it and must call rds_msg_done() and drop
 * the path's reference; false: somebody else had taken it.
 */
bool rds_path_unlink(struct rds_msg *msg);

/* Take @msg off its path and end it with @status; nothing if it has ended already.  An operation
 * that the device has is left to end by itself.  Any context.
 */
void rds_path_cancel(struct rds_msg *msg, int status);

/* For the worker, with no endpoint and nobody transmitting: what was sent goes in front of the
 * queue again, flagged as retransmitted, except messages whose operation may have run.
 */
void rds_path_requeue(struct rds_path *path);

/* For the worker of a dead path: give up everything queued. */
void rds_path_purge(struct rds_path *path);

/* Answer a ping that came in on @path from port @dport.  Holding path->rx_lock. */
void rds_path_pong(struct rds_path *path, __be16 dport);

#endif
