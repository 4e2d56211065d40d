/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why a connection was dropped: one list for records, trace events, log lines and counters. */
#ifndef RDS_DROP_H
#define RDS_DROP_H

#include <linux/types.h>

#define RDS_DROP_REASONS(X)					\
	X(NONE, none,				"none")				\
	/* while connecting */					\
	X(SETUP, setup,				"set-up failed")		\
	X(ADDR_ERROR, addr_error,		"address not resolved")		\
	X(ROUTE_ERROR, route_error,		"route not resolved")		\
	X(CONNECT_ERROR, connect_error,		"connect error")		\
	X(UNREACHABLE, unreachable,		"peer unreachable")		\
	X(REJECTED, rejected,			"rejected by peer")		\
	X(VERSION, version,			"version not spoken")		\
	X(CONNECT_TIMEOUT, connect_timeout,	"connecting took too long")	\
	X(DUEL, duel,				"yielded to peer's request")	\
	X(EARLY_REPEAT, early_repeat,		"repeat before peer's reply")	\
	/* while up */						\
	X(PEER_RECONNECTED, peer_reconnected,	"peer asked to connect anew")	\
	X(DISCONNECTED, disconnected,		"peer disconnected")		\
	X(ADDR_CHANGE, addr_change,		"address changed")		\
	X(DEVICE_REMOVED, device_removed,	"device removed")		\
	X(QP_EVENT, qp_event,			"queue pair failed")		\
	X(POST_FAILED, post_failed,		"posting a work request failed") \
	X(SEND_ERROR, send_error,		"send failed")			\
	X(SEND_STALLED, send_stalled,		"sends do not complete")	\
	X(HEARTBEAT, heartbeat,			"peer gives no sign of life")	\
	X(RECV_ERROR, recv_error,		"receive failed")		\
	X(REMOTE_ACCESS, remote_access,		"remote access refused")	\
	X(OP_ERROR, op_error,			"RDMA operation failed")	\
	X(NO_MEMORY, no_memory,			"out of memory")		\
	/* the peer broke the protocol */			\
	X(FRAME_SHORT, frame_short,		"frame without a header")	\
	X(BAD_CSUM, bad_csum,			"bad header checksum")		\
	X(TOO_LONG, too_long,			"message too long")		\
	X(BAD_LEN, bad_len,			"wrong frame length")		\
	X(MISMATCH, mismatch,			"fragments contradict")		\
	X(BAD_ACK, bad_ack,			"ack for what was never sent")	\
	/* decided here */					\
	X(PARTIAL_LIMIT, partial_limit,		"too many unfinished messages")	\
	X(PARTIAL_STALE, partial_stale,		"message never finished")	\
	X(RECV_OVERRUN, recv_overrun,		"receiver full and ignored")	\
	X(OP_CANCEL, op_cancel,			"operation did not end in time") \
	X(USER_RESET, user_reset,		"reset by the administrator") \
	X(NETNS_EXIT, netns_exit,		"namespace or module exit")	\
	X(IDLE, idle,				"unused for a while")

enum rds_drop_reason {
#define RDS_DROP_ENUM(name, lower, text) RDS_DROP_##name,
	RDS_DROP_REASONS(RDS_DROP_ENUM)
#undef RDS_DROP_ENUM
	RDS_DROP_NR
};

const char *rds_drop_text(enum rds_drop_reason reason);
/* As in the counter "drop_NAME", at most 31 characters. */
const char *rds_drop_name(enum rds_drop_reason reason);
/* Did the peer end the connection, or refuse it? */
bool rds_drop_is_by_peer(enum rds_drop_reason reason);

#endif
