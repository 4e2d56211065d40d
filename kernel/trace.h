/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trace events: /sys/kernel/tracing/events/rds_sockets, explained in Documentation/tracing.md. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds_sockets

#if !defined(RDS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDS_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include "conn.h"
#include "cong.h"
#include "drop.h"
#include "inc.h"
#include "msg.h"
#include "net.h"
#include "path_fsm.h"
#include "sock.h"
#include "transport.h"

#ifndef RDS_TRACE_NAMES
#define RDS_TRACE_NAMES
#define rds_show_state(s) __print_symbolic(s,		\
	{ RDS_PATH_DOWN,	"DOWN" },		\
	{ RDS_PATH_CONNECTING,	"CONNECTING" },		\
	{ RDS_PATH_UP,		"UP" },			\
	{ RDS_PATH_CLOSING,	"CLOSING" },		\
	{ RDS_PATH_DEAD,	"DEAD" })
#define rds_show_op(kind) __print_symbolic(kind,	\
	{ RDS_OP_READ,		"read" },		\
	{ RDS_OP_WRITE,		"write" },		\
	{ RDS_OP_ATOMIC,	"atomic" })

#define RDS_TRACE_NO_TRANS	255

/* Every event begins with these, in this order.  What does not apply is 0, but trans. */
#define RDS_TRACE_COMMON				\
	__array(__u8, laddr, 16)	/* ours; IPv4 is mapped */ \
	__array(__u8, faddr, 16)	/* the peer's */	\
	__field(__u16, lport)				\
	__field(__u16, fport)				\
	__field(__u32, netns)		/* inode */	\
	__field(__u8, trans)		/* as SO_RDS_TRANSPORT reads it */ \
	__field(__u8, tos)				\
	__field(__u32, len)		/* bytes */	\
	__field(__u64, seq)		/* of the message */ \
	__field(int, err)		/* -errno, or RDS_RDMA_* where an event is about a status */

#define RDS_TRACE_ASSIGN(rn, l, f, lp, fp, type, t)	do {	\
	memcpy(__entry->laddr, (l), 16);			\
	memcpy(__entry->faddr, (f), 16);			\
	__entry->lport = be16_to_cpu(lp);			\
	__entry->fport = be16_to_cpu(fp);			\
	__entry->netns = (rn)->net->ns.inum;			\
	__entry->trans = (type);				\
	__entry->tos = (t);					\
	__entry->len = 0;					\
	__entry->seq = 0;					\
	__entry->err = 0;					\
} while (0)

#define RDS_TRACE_ASSIGN_CONN(conn, lp, fp)			\
	RDS_TRACE_ASSIGN((conn)->rn, &(conn)->key.laddr, &(conn)->key.faddr, lp, fp, \
			 (conn)->key.trans->type, (conn)->key.tos)

#define RDS_TRACE_ASSIGN_SOCK(rs)				\
	RDS_TRACE_ASSIGN((rs)->rn, &(rs)->bound.addr, &in6addr_any, (rs)->bound.port, 0, \
			 (rs)->trans ? (rs)->trans->type : RDS_TRACE_NO_TRANS, 0)
#endif

DECLARE_EVENT_CLASS(rds_conn,
	TP_PROTO(const struct rds_conn *conn),
	TP_ARGS(conn),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(RDS_TRACE_ASSIGN_CONN(conn, 0, 0);),
	TP_printk("%pI6c -> %pI6c tos %u", __entry->laddr, __entry->faddr, __entry->tos)
);

/* A connection is made by its first message or its peer's request, and ends with its namespace. */
DEFINE_EVENT(rds_conn, rds_conn_new, TP_PROTO(const struct rds_conn *conn), TP_ARGS(conn));
DEFINE_EVENT(rds_conn, rds_conn_end, TP_PROTO(const struct rds_conn *conn), TP_ARGS(conn));

/* A connection moved from one state to another. */
TRACE_EVENT(rds_path_state,
	TP_PROTO(const struct rds_conn *conn, int from, int to),
	TP_ARGS(conn, from, to),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(conn, 0, 0);
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%pI6c -> %pI6c tos %u: %s -> %s", __entry->laddr, __entry->faddr, __entry->tos,
		  rds_show_state(__entry->from), rds_show_state(__entry->to))
);

/* A connection's endpoint was given up. */
TRACE_EVENT(rds_path_drop,
	TP_PROTO(const struct rds_conn *conn, int reason, int err),
	TP_ARGS(conn, reason, err),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(int, reason)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(conn, 0, 0);
		__entry->reason = reason;
		__entry->err = err;
	),
	TP_printk("%pI6c -> %pI6c tos %u: %s (%d)", __entry->laddr, __entry->faddr, __entry->tos,
		  rds_drop_text(__entry->reason), __entry->err)
);

DECLARE_EVENT_CLASS(rds_msg,
	TP_PROTO(const struct rds_msg *msg, int status),
	TP_ARGS(msg, status),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(__u8, flags)
		__field(bool, again)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(msg->conn, msg->hdr.sport, msg->hdr.dport);
		__entry->len = msg->len;
		__entry->seq = msg->seq;
		__entry->err = status;
		__entry->flags = msg->hdr.flags;
		__entry->again = msg->sent_before;
	),
	TP_printk("%pI6c -> %pI6c ports %u -> %u message %llu len %u flags %#x%s status %d", __entry->laddr,
		  __entry->faddr, __entry->lport, __entry->fport, __entry->seq, __entry->len, __entry->flags,
		  __entry->again ? " again" : "", __entry->err)
);

/* A message is on its connection's queue; its transmission begins; it is acknowledged, cancelled or dropped. */
DEFINE_EVENT(rds_msg, rds_msg_queued, TP_PROTO(const struct rds_msg *msg, int status), TP_ARGS(msg, status));
DEFINE_EVENT(rds_msg, rds_msg_sent, TP_PROTO(const struct rds_msg *msg, int status), TP_ARGS(msg, status));
DEFINE_EVENT(rds_msg, rds_msg_done, TP_PROTO(const struct rds_msg *msg, int status), TP_ARGS(msg, status));

/* sendmsg() did not get through: congested port (ENOBUFS), full buffer (EAGAIN), time-out, signal. */
TRACE_EVENT(rds_send_refused,
	TP_PROTO(const struct rds_conn *conn, __be16 lport, __be16 fport, u32 len, int err),
	TP_ARGS(conn, lport, fport, len, err),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(conn, lport, fport);
		__entry->len = len;
		__entry->err = err;
	),
	TP_printk("%pI6c -> %pI6c ports %u -> %u len %u: %d", __entry->laddr, __entry->faddr, __entry->lport,
		  __entry->fport, __entry->len, __entry->err)
);

DECLARE_EVENT_CLASS(rds_op,
	TP_PROTO(const struct rds_op *op, int status),
	TP_ARGS(op, status),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(int, kind)
		__field(__u32, rkey)
		__field(__u64, raddr)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(op->msg->conn, op->msg->hdr.sport, op->msg->hdr.dport);
		__entry->len = op->len;
		__entry->seq = op->msg->seq;
		__entry->err = status;
		__entry->kind = op->kind;
		__entry->rkey = op->rkey;
		__entry->raddr = op->raddr;
	),
	TP_printk("%pI6c -> %pI6c %s rkey %#x at %#llx len %u with message %llu status %d", __entry->laddr,
		  __entry->faddr, rds_show_op(__entry->kind), __entry->rkey, __entry->raddr,
		  __entry->len, __entry->seq, __entry->err)
);

/* sendmsg() queued an operation on the peer's memory; it has ended. */
DEFINE_EVENT(rds_op, rds_op_queued, TP_PROTO(const struct rds_op *op, int status), TP_ARGS(op, status));
DEFINE_EVENT(rds_op, rds_op_done, TP_PROTO(const struct rds_op *op, int status), TP_ARGS(op, status));

DECLARE_EVENT_CLASS(rds_inc,
	TP_PROTO(const struct rds_net *rn, const struct rds_inc *inc, int err),
	TP_ARGS(rn, inc, err),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(
		RDS_TRACE_ASSIGN(rn, &inc->daddr, &inc->saddr, inc->dport, inc->sport, RDS_TRACE_NO_TRANS, 0);
		__entry->len = inc->len;
		__entry->seq = inc->seq;
		__entry->err = err;
	),
	TP_printk("%pI6c <- %pI6c ports %u <- %u message %llu len %u: %d", __entry->laddr, __entry->faddr,
		  __entry->lport, __entry->fport, __entry->seq, __entry->len, __entry->err)
);

/* A message is in a socket's queue; a program has it; or nobody gets it: no socket (ECONNREFUSED), one that is
 * being closed (ESHUTDOWN), a repeat (EALREADY), a receiver that is full and ignored (ENOBUFS).
 */
DEFINE_EVENT(rds_inc, rds_recv_queued,
	TP_PROTO(const struct rds_net *rn, const struct rds_inc *inc, int err), TP_ARGS(rn, inc, err));
DEFINE_EVENT(rds_inc, rds_recv_read,
	TP_PROTO(const struct rds_net *rn, const struct rds_inc *inc, int err), TP_ARGS(rn, inc, err));
DEFINE_EVENT(rds_inc, rds_recv_dropped,
	TP_PROTO(const struct rds_net *rn, const struct rds_inc *inc, int err), TP_ARGS(rn, inc, err));

/* The peer asks for an echo. */
TRACE_EVENT(rds_ping,
	TP_PROTO(const struct rds_conn *conn, __be16 fport),
	TP_ARGS(conn, fport),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(RDS_TRACE_ASSIGN_CONN(conn, 0, fport);),
	TP_printk("%pI6c <- %pI6c port %u", __entry->laddr, __entry->faddr, __entry->fport)
);

DECLARE_EVENT_CLASS(rds_cong,
	TP_PROTO(const struct rds_cong_map *map, __be16 port),
	TP_ARGS(map, port),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(
		RDS_TRACE_ASSIGN(map->rn, &map->addr, &in6addr_any, port, 0, RDS_TRACE_NO_TRANS, 0);
	),
	TP_printk("%pI6c port %u", __entry->laddr, __entry->lport)
);

/* A port of ours became congested, and is free again. */
DEFINE_EVENT(rds_cong, rds_cong_set, TP_PROTO(const struct rds_cong_map *map, __be16 port), TP_ARGS(map, port));
DEFINE_EVENT(rds_cong, rds_cong_clear, TP_PROTO(const struct rds_cong_map *map, __be16 port), TP_ARGS(map, port));

/* A peer's map has come. */
TRACE_EVENT(rds_cong_map,
	TP_PROTO(const struct rds_conn *conn, u64 freed),
	TP_ARGS(conn, freed),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(__u64, freed)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_CONN(conn, 0, 0);
		__entry->freed = freed;
	),
	TP_printk("%pI6c <- %pI6c freed %#llx", __entry->laddr, __entry->faddr, __entry->freed)
);

DECLARE_EVENT_CLASS(rds_mr,
	TP_PROTO(const struct rds_sock *rs, u64 cookie, u32 len, int err),
	TP_ARGS(rs, cookie, len, err),
	TP_STRUCT__entry(
		RDS_TRACE_COMMON
		__field(__u64, cookie)
	),
	TP_fast_assign(
		RDS_TRACE_ASSIGN_SOCK(rs);
		__entry->len = len;
		__entry->err = err;
		__entry->cookie = cookie;
	),
	TP_printk("cookie %#llx len %u socket %pI6c port %u: %d", __entry->cookie, __entry->len, __entry->laddr,
		  __entry->lport, __entry->err)
);

/* A buffer got a key, lost it, or got none. */
DEFINE_EVENT(rds_mr, rds_mr_register,
	TP_PROTO(const struct rds_sock *rs, u64 cookie, u32 len, int err), TP_ARGS(rs, cookie, len, err));
DEFINE_EVENT(rds_mr, rds_mr_revoke,
	TP_PROTO(const struct rds_sock *rs, u64 cookie, u32 len, int err), TP_ARGS(rs, cookie, len, err));
DEFINE_EVENT(rds_mr, rds_mr_failed,
	TP_PROTO(const struct rds_sock *rs, u64 cookie, u32 len, int err), TP_ARGS(rs, cookie, len, err));

/* A peer's request to connect was rejected. */
TRACE_EVENT(rds_conn_refused,
	TP_PROTO(const struct rds_net *rn, const struct rds_conn_key *key, int err),
	TP_ARGS(rn, key, err),
	TP_STRUCT__entry(RDS_TRACE_COMMON),
	TP_fast_assign(
		RDS_TRACE_ASSIGN(rn, &key->laddr, &key->faddr, 0, 0, RDS_TRANS_IB, key->tos);
		__entry->err = err;
	),
	TP_printk("%pI6c <- %pI6c tos %u: %d", __entry->laddr, __entry->faddr, __entry->tos, __entry->err)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
