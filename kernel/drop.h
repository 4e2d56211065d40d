/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why a connection was dropped: one list for records, trace events and log lines. */
#ifndef RDS_DROP_H
#define RDS_DROP_H

#define RDS_DROP_REASONS(X)					\
	X(NONE,			"none")				\
	/* while connecting */					\
	X(SETUP,		"set-up failed")		\
	X(ADDR_ERROR,		"address not resolved")		\
	X(ROUTE_ERROR,		"route not resolved")		\
	X(CONNECT_ERROR,	"connect error")		\
	X(UNREACHABLE,		"peer unreachable")		\
	X(REJECTED,		"rejected by peer")		\
	X(VERSION,		"version not spoken")		\
	X(CONNECT_TIMEOUT,	"connecting took too long")	\
	X(DUEL,			"yielded to peer's request")	\
	X(EARLY_REPEAT,		"repeat before peer's reply")	\
	/* while up */						\
	X(PEER_RECONNECTED,	"peer asked to connect anew")	\
	X(DISCONNECTED,		"peer disconnected")		\
	X(ADDR_CHANGE,		"address changed")		\
	X(DEVICE_REMOVED,	"device removed")		\
	X(QP_EVENT,		"queue pair failed")		\
	X(POST_FAILED,		"posting a work request failed") \
	X(SEND_ERROR,		"send failed")			\
	X(SEND_STALLED,		"sends do not complete")	\
	X(RECV_ERROR,		"receive failed")		\
	X(REMOTE_ACCESS,	"remote access refused")	\
	X(OP_ERROR,		"RDMA operation failed")	\
	X(NO_MEMORY,		"out of memory")		\
	/* the peer broke the protocol */			\
	X(FRAME_SHORT,		"frame without a header")	\
	X(BAD_CSUM,		"bad header checksum")		\
	X(TOO_LONG,		"message too long")		\
	X(BAD_LEN,		"wrong frame length")		\
	X(MISMATCH,		"fragments contradict")		\
	X(BAD_ACK,		"ack for what was never sent")	\
	/* decided here */					\
	X(OP_CANCEL,		"operation did not end in time") \
	X(NETNS_EXIT,		"namespace or module exit")

enum rds_drop_reason {
#define RDS_DROP_ENUM(name, text) RDS_DROP_##name,
	RDS_DROP_REASONS(RDS_DROP_ENUM)
#undef RDS_DROP_ENUM
	RDS_DROP_NR
};

const char *rds_drop_text(enum rds_drop_reason reason);

#endif
