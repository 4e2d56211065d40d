// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* recvmsg(): notifications first, then messages; one kind a call. */
#include "sock.h"

#include <linux/compat.h>
#include "addr.h"
#include "cong.h"
#include "inc.h"
#include "mr.h"
#include "net.h"
#include "notify.h"
#include "payload.h"
#include "rds_uapi.h"
#include "stats.h"
#include "trace.h"

static int rds_recv_put_timestamp(struct sock *sk, struct msghdr *msg, const struct rds_inc *inc)
{
	struct timespec64 ts = ktime_to_timespec64(inc->stamp);

	if (!sock_flag(sk, SOCK_RCVTSTAMP))
		return 0;
	if (sock_flag(sk, SOCK_TSTAMP_NEW)) {
		struct __kernel_sock_timeval tv = {
			.tv_sec		= ts.tv_sec,
			.tv_usec	= ts.tv_nsec / NSEC_PER_USEC,
		};

		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(tv), &tv);
	} else {
		struct __kernel_old_timeval tv = {
			.tv_sec		= ts.tv_sec,
			.tv_usec	= ts.tv_nsec / NSEC_PER_USEC,
		};

		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(tv), &tv);
	}
}

#ifdef CONFIG_COMPAT
/* What a 32-bit program takes for a struct rds_cmsg_rx_trace: on some machines the times begin earlier. */
struct rds_rx_trace_compat {
	u8		rx_traces;
	u8		rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	compat_u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

static int rds_recv_put_trace(struct msghdr *msg, struct rds_cmsg_rx_trace *trace)
{
	struct rds_rx_trace_compat compat;

	if (!(msg->msg_flags & MSG_CMSG_COMPAT))
		return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(*trace), trace);
	memset(&compat, 0, sizeof(compat));
	compat.rx_traces = trace->rx_traces;
	memcpy(compat.rx_trace_pos, trace->rx_trace_pos, sizeof(compat.rx_trace_pos));
	memcpy(compat.rx_trace, trace->rx_trace, sizeof(compat.rx_trace));
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(compat), &compat);
}
#else
static int rds_recv_put_trace(struct msghdr *msg, struct rds_cmsg_rx_trace *trace)
{
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(*trace), trace);
}
#endif

/* Position i of the option is the time from stamp i to the next one; the last one is now. */
static int rds_recv_put_latency(struct rds_sock *rs, struct msghdr *msg, const struct rds_inc *inc)
{
	const struct rds_rx_trace_so so = READ_ONCE(rs->rx_trace);
	struct rds_cmsg_rx_trace trace;
	unsigned int i, pos;
	u64 next;

	if (!so.rx_traces)
		return 0;
	memset(&trace, 0, sizeof(trace));
	trace.rx_traces = so.rx_traces;
	for (i = 0; i < so.rx_traces; i++) {
		pos = so.rx_trace_pos[i];
		next = pos == RDS_RX_QUEUED ? ktime_get_ns() : inc->rx_ns[pos + 1];
		trace.rx_trace_pos[i] = pos;
		trace.rx_trace[i] = next - inc->rx_ns[pos];
	}
	return rds_recv_put_trace(msg, &trace);
}

static int rds_recv_put_inq(struct rds_sock *rs, struct msghdr *msg, const struct rds_inc *inc)
{
	int bytes;

	if (!READ_ONCE(rs->inq))
		return 0;
	bytes = rds_sock_queued_behind(rs, inc);
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_INQ, sizeof(bytes), &bytes);
}

static int rds_recv_put_cmsgs(struct sock *sk, struct msghdr *msg, const struct rds_inc *inc)
{
	u64 cookie = rds_cookie(inc->ext.dest_rkey, inc->ext.dest_offset);
	int err = 0;

	if (inc->ext.has_dest && cookie)
		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_DEST, sizeof(cookie), &cookie);
	if (!err)
		err = rds_recv_put_timestamp(sk, msg, inc);
	if (!err)
		err = rds_recv_put_latency(rds_sk(sk), msg, inc);
	return err ?: rds_recv_put_inq(rds_sk(sk), msg, inc);
}

static int rds_recv_copy(struct rds_sock *rs, struct rds_inc *inc, struct msghdr *msg, size_t size)
{
	u32 len = min_t(size_t, size, inc->len);

	/* the peer must not be able to write to a used-up buffer once its owner reads of it */
	if (inc->mr)
		rds_mr_wait_revoked(inc->mr);
	if (len && rds_payload_to_iter(inc->payload, len, &msg->msg_iter) != len)
		return -EFAULT;
	if (msg->msg_name)
		msg->msg_namelen = rds_addr_store(&inc->saddr, inc->sport, rs->bound.scope,
						  msg->msg_name);
	if (len < inc->len)
		msg->msg_flags |= MSG_TRUNC;
	rds_stat_add(rs->rn, copy_to_user, len);
	return rds_recv_put_cmsgs(&rs->sk, msg, inc) ?: (int)len;
}

static int rds_recv_inc(struct rds_sock *rs, struct rds_inc *inc, struct msghdr *msg, size_t size,
			int flags)
{
	int ret = rds_recv_copy(rs, inc, msg, size);

	if (!(flags & MSG_PEEK)) {
		if (ret < 0) {
			/* nothing is lost: the next call finds it in front again */
			rds_sock_untake(rs, inc);
			return ret;
		}
		rds_sock_consumed(rs, inc);
		rds_stat_inc(rs->rn, recv_delivered);
		trace_rds_recv_read(rs->rn, inc, 0);
	}
	if (ret >= 0 && flags & MSG_TRUNC)
		ret = inc->len;
	rds_inc_put(inc);
	return ret;
}

static int rds_recv_wait(struct sock *sk, long *timeo)
{
	long left;

	if (!*timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(*sk_sleep(sk), rds_sock_readable(rds_sk(sk)), *timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	if (!left)
		return -ETIMEDOUT;
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo = left;
	return 0;
}

int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_inc *inc;
	long timeo;
	int ret;

	if (flags & MSG_OOB)
		return 0;
	if (flags & MSG_ERRQUEUE)
		return sock_recv_errqueue(sock->sk, msg, size, SOL_RDS, 0);
	timeo = sock_rcvtimeo(sock->sk, flags & MSG_DONTWAIT);
	for (;;) {
		ret = rds_notify_recv(rs, msg) ?: rds_cong_recv(rs, msg);
		if (ret)
			return min(ret, 0);
		inc = rds_sock_take(rs, flags & MSG_PEEK);
		if (inc)
			return rds_recv_inc(rs, inc, msg, size, flags);
		/* a notification, or news of ports, waits for a larger control buffer */
		if (msg->msg_flags & MSG_CTRUNC)
			return 0;
		ret = rds_recv_wait(sock->sk, &timeo);
		if (ret)
			return ret;
	}
}
