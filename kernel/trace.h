/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trace events: /sys/kernel/tracing/events/rds_sockets */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds_sockets

#if !defined(RDS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDS_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include "conn.h"
#include "drop.h"
#include "msg.h"
#include "path_fsm.h"

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
#endif

/* A connection moved from one state to another. */
TRACE_EVENT(rds_path_state,
	TP_PROTO(const struct rds_conn *conn, int from, int to),
	TP_ARGS(conn, from, to),
	TP_STRUCT__entry(
		__array(__u8, laddr, 16)
		__array(__u8, faddr, 16)
		__field(__u32, tos)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &conn->key.laddr, 16);
		memcpy(__entry->faddr, &conn->key.faddr, 16);
		__entry->tos = conn->key.tos;
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
		__array(__u8, laddr, 16)
		__array(__u8, faddr, 16)
		__field(__u32, tos)
		__field(int, reason)
		__field(int, err)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &conn->key.laddr, 16);
		memcpy(__entry->faddr, &conn->key.faddr, 16);
		__entry->tos = conn->key.tos;
		__entry->reason = reason;
		__entry->err = err;
	),
	TP_printk("%pI6c -> %pI6c tos %u: %s (%d)", __entry->laddr, __entry->faddr, __entry->tos,
		  rds_drop_text(__entry->reason), __entry->err)
);

DECLARE_EVENT_CLASS(rds_mr,
	TP_PROTO(u64 cookie, u32 len),
	TP_ARGS(cookie, len),
	TP_STRUCT__entry(
		__field(__u64, cookie)
		__field(__u32, len)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->len = len;
	),
	TP_printk("cookie %#llx len %u", __entry->cookie, __entry->len)
);

/* A buffer got a key, and lost it. */
DEFINE_EVENT(rds_mr, rds_mr_register, TP_PROTO(u64 cookie, u32 len), TP_ARGS(cookie, len));
DEFINE_EVENT(rds_mr, rds_mr_revoke, TP_PROTO(u64 cookie, u32 len), TP_ARGS(cookie, len));

/* sendmsg() queued an operation on the peer's memory. */
TRACE_EVENT(rds_op_queued,
	TP_PROTO(const struct rds_msg *msg, const struct rds_op *op),
	TP_ARGS(msg, op),
	TP_STRUCT__entry(
		__array(__u8, laddr, 16)
		__array(__u8, faddr, 16)
		__field(int, kind)
		__field(__u32, rkey)
		__field(__u64, raddr)
		__field(__u32, len)
		__field(__u64, seq)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &msg->conn->key.laddr, 16);
		memcpy(__entry->faddr, &msg->conn->key.faddr, 16);
		__entry->kind = op->kind;
		__entry->rkey = op->rkey;
		__entry->raddr = op->raddr;
		__entry->len = op->len;
		__entry->seq = msg->seq;
	),
	TP_printk("%pI6c -> %pI6c %s rkey %#x at %#llx len %u with message %llu", __entry->laddr,
		  __entry->faddr, rds_show_op(__entry->kind), __entry->rkey, __entry->raddr,
		  __entry->len, __entry->seq)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
