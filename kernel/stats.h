/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters, per namespace and CPU, under the names that administrators know, then our own.  Documentation/socket-api.md says which
 * of the known ones have no counterpart here.
 */
#ifndef RDS_STATS_H
#define RDS_STATS_H

#include "drop.h"
#include "net.h"

#define RDS_STATS_CORE(X)						\
	X(conn_reset) X(recv_drop_bad_checksum) X(recv_drop_old_seq)	\
	X(recv_drop_no_sock) X(recv_drop_dead_sock)			\
	X(recv_deliver_raced) X(recv_delivered) X(recv_queued)		\
	X(recv_immediate_retry) X(recv_delayed_retry)			\
	X(recv_ack_required) X(recv_rdma_bytes) X(recv_ping)		\
	X(send_queue_empty) X(send_queue_full) X(send_lock_contention)	\
	X(send_lock_queue_raced) X(send_immediate_retry)		\
	X(send_delayed_retry) X(send_drop_acked) X(send_ack_required)	\
	X(send_queued) X(send_rdma) X(send_rdma_bytes) X(send_pong)	\
	X(page_remainder_hit) X(page_remainder_miss) X(copy_to_user)	\
	X(copy_from_user) X(cong_update_queued) X(cong_update_received)	\
	X(cong_send_error) X(cong_send_blocked)				\
	X(recv_bytes_added_to_sock) X(recv_bytes_freed_fromsock)	\
	X(send_stuck_rm)

#define RDS_STATS_IB(X)							\
	X(ib_connect_raced) X(ib_listen_closed_stale)			\
	X(ib_evt_handler_call) X(ib_tasklet_call) X(ib_tx_cq_event)	\
	X(ib_tx_ring_full) X(ib_tx_throttle) X(ib_tx_sg_mapping_failure) \
	X(ib_tx_stalled) X(ib_tx_credit_updates) X(ib_rx_cq_event)	\
	X(ib_rx_ring_empty) X(ib_rx_refill_from_cq)			\
	X(ib_rx_refill_from_thread) X(ib_rx_alloc_limit)		\
	X(ib_rx_total_frags) X(ib_rx_total_incs) X(ib_rx_credit_updates) \
	X(ib_ack_sent) X(ib_ack_send_failure) X(ib_ack_send_delayed)	\
	X(ib_ack_send_piggybacked) X(ib_ack_received)			\
	X(ib_rdma_mr_8k_alloc) X(ib_rdma_mr_8k_free)			\
	X(ib_rdma_mr_8k_used) X(ib_rdma_mr_8k_pool_flush)		\
	X(ib_rdma_mr_8k_pool_wait) X(ib_rdma_mr_8k_pool_depleted)	\
	X(ib_rdma_mr_1m_alloc) X(ib_rdma_mr_1m_free)			\
	X(ib_rdma_mr_1m_used) X(ib_rdma_mr_1m_pool_flush)		\
	X(ib_rdma_mr_1m_pool_wait) X(ib_rdma_mr_1m_pool_depleted)	\
	X(ib_rdma_mr_8k_reused) X(ib_rdma_mr_1m_reused)			\
	X(ib_atomic_cswp) X(ib_atomic_fadd)

/* Ours.  rdma_copied_bytes: RDMA bytes that the CPU had to copy itself (loopback).
 * ib_atomic_lost: atomics that a device has carried out without telling the old value.
 * ib_hb_*: heartbeats.
 * ib_refused_*: requests to connect that were rejected.  recv_bad_map, recv_ext_*: congestion maps of
 * another size, and extensions that we do not know or that pass the end of their area; they are ignored.
 * limit_*: calls and requests that a limit of sysctl.h refused.
 */
#define RDS_STATS_OWN(X)						\
	X(rdma_copied_bytes) X(rdma_read_bytes) X(rdma_write_bytes)	\
	X(mr_registered) X(mr_revoked) X(pinned_bytes) X(unpinned_bytes) \
	X(pong_dropped) X(retransmitted) X(ops_dropped)			\
	X(ib_posts) X(ib_srq_low) X(atomics) X(ib_atomic_lost)		\
	X(ib_refused_version) X(ib_refused_address) X(ib_refused_busy)	\
	X(ib_refused_limit) X(ib_refused_error)				\
	X(ib_hb_ping_sent) X(ib_hb_pong_sent)				\
	X(ib_hb_ping_received) X(ib_hb_pong_received)			\
	X(recv_bad_map) X(recv_ext_unknown) X(recv_ext_truncated)	\
	X(limit_sockets) X(limit_connections) X(limit_mrs)		\
	X(limit_pinned) X(limit_notifications)

enum rds_stat {
#define RDS_STAT_ENUM(name) RDS_STAT_##name,
	RDS_STATS_CORE(RDS_STAT_ENUM)
	RDS_STATS_IB(RDS_STAT_ENUM)
	RDS_STATS_OWN(RDS_STAT_ENUM)
#undef RDS_STAT_ENUM
	/* connections dropped, by reason */
#define RDS_STAT_DROP_ENUM(name, lower, text) RDS_STAT_drop_##lower,
	RDS_DROP_REASONS(RDS_STAT_DROP_ENUM)
#undef RDS_STAT_DROP_ENUM
	RDS_STAT_NR
};

struct rds_stats {
	u64 value[RDS_STAT_NR];
};

/* Any context. */
#define rds_stat_add(rn, name, n) \
	this_cpu_add((rn)->stats->value[RDS_STAT_##name], (n))
#define rds_stat_inc(rn, name)	rds_stat_add(rn, name, 1)

static inline void rds_stat_inc_drop(const struct rds_net *rn, enum rds_drop_reason reason)
{
	this_cpu_inc(rn->stats->value[RDS_STAT_drop_none + reason]);
}

/* The name, at most 31 characters, and the sum over all CPUs of counter @i < RDS_STAT_NR. */
const char *rds_stat_name(unsigned int i);
u64 rds_stat_sum(const struct rds_net *rn, unsigned int i);

#endif
