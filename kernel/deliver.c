// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "deliver.h"

#include "cong.h"
#include "conn.h"
#include "inc.h"
#include "mr.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "xmit.h"

static bool rds_sock_is_full(const struct rds_sock *rs)
{
	return rs->rcv_bytes > rds_rcvbuf(rs) || rs->rcv_mem > rds_rcv_mem_soft(rs);
}

/* Does its peer go on although it was told to stop?  Looked at without a lock: a few connections may
 * pass the limit at once, with a message each.
 */
static bool rds_sock_is_overrun(const struct rds_sock *rs)
{
	return READ_ONCE(rs->rcv_mem) > rds_rcv_mem_hard(rs);
}

/* Returns false if the socket takes no more. */
static bool rds_deliver_to(struct rds_sock *rs, struct rds_inc *inc)
{
	bool taken;

	inc->stamp = ktime_get_real();
	inc->rx_ns[RDS_RX_QUEUED] = ktime_get_ns();
	spin_lock_bh(&rs->rcv_lock);
	taken = !rs->released;
	if (taken) {
		trace_rds_recv_queued(rs->rn, inc, 0);
		inc->place = rs->next_place++;
		list_add_tail(&inc->item, &rs->received);
		rs->rcv_bytes += inc->len;
		rs->rcv_mem += rds_inc_mem(inc);
		if (rds_sock_is_full(rs) && !rs->congested) {
			rs->congested = true;
			rds_cong_set_port(rs->lmap, rs->bound.port);
		}
	}
	spin_unlock_bh(&rs->rcv_lock);
	return taken;
}

static void rds_deliver_or_drop(struct rds_net *rn, struct rds_sock *rs, struct rds_inc *inc)
{
	u32 len = inc->len;

	if (inc->ext.has_rdma)
		inc->mr = rds_mr_used(rs, inc->ext.rdma_rkey);
	if (rds_deliver_to(rs, inc)) {
		rds_stat_inc(rn, recv_queued);
		rds_stat_add(rn, recv_bytes_added_to_sock, len);
		rs->sk.sk_data_ready(&rs->sk);
	} else {
		rds_stat_inc(rn, recv_drop_dead_sock);
		trace_rds_recv_dropped(rn, inc, -ESHUTDOWN);
		rds_inc_put(inc);
	}
}

static int rds_deliver_bounded(struct rds_net *rn, struct rds_inc *inc, bool bounded)
{
	struct rds_sock *rs;
	int err = 0;

	rs = rds_bind_lookup(rn, &inc->daddr, inc->scope, inc->dport);
	if (!rs) {
		rds_stat_inc(rn, recv_drop_no_sock);
		trace_rds_recv_dropped(rn, inc, -ECONNREFUSED);
		rds_inc_put(inc);
		return 0;
	}
	if (bounded && rds_sock_is_overrun(rs)) {
		err = -ENOBUFS;
		trace_rds_recv_dropped(rn, inc, err);
		rds_inc_put(inc);
	} else {
		rds_deliver_or_drop(rn, rs, inc);
	}
	sock_put(&rs->sk);
	return err;
}

void rds_deliver(struct rds_net *rn, struct rds_inc *inc)
{
	rds_deliver_bounded(rn, inc, false);
}

/* A peer that tells its generation starts its numbers anew only with another one: then a low number is a
 * repeat even without the flag.
 */
static bool rds_path_accepts(struct rds_path *path, const struct rds_header *hdr)
{
	u8 flags = hdr->flags;

	if (path->peer_generation)
		flags |= RDS_FLAG_RETRANSMITTED;
	return rds_rx_seq_accept(&path->rx, be64_to_cpu(hdr->seq), flags);
}

static void rds_count_extensions(struct rds_net *rn, const struct rds_ext *ext)
{
	if (ext->unknown)
		rds_stat_inc(rn, recv_ext_unknown);
	if (ext->truncated)
		rds_stat_inc(rn, recv_ext_truncated);
}

int rds_path_receive(struct rds_path *path, const struct rds_header *hdr, struct rds_inc *inc)
{
	struct rds_net *rn = rds_path_conn(path)->rn;
	struct rds_rx_seq before = path->rx;
	int err;

	WRITE_ONCE(path->used, jiffies);
	if (path->ep)
		path->ep->received = true;
	if (hdr->flags & RDS_FLAG_ACK_REQUIRED)
		rds_stat_inc(rn, recv_ack_required);
	rds_count_extensions(rn, &inc->ext);
	if (!rds_path_accepts(path, hdr)) {
		rds_stat_inc(rn, recv_drop_old_seq);
		trace_rds_recv_dropped(rn, inc, -EALREADY);
	} else if (hdr->dport == htons(RDS_PORT_PING) && READ_ONCE(rn->sysctl.ping_enable)) {
		rds_stat_inc(rn, recv_ping);
		trace_rds_ping(rds_path_conn(path), hdr->sport);
		if (hdr->sport)
			rds_path_pong(path, hdr->sport);
	} else if (hdr->dport != htons(RDS_PORT_PROBE) || hdr->sport) {
		err = rds_deliver_bounded(rn, inc, true);
		if (err)
			path->rx = before;
		return err;
	}
	rds_inc_put(inc);
	return 0;
}
