/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * RDS, reliable datagram sockets with RDMA: the user ABI.
 *
 * Names, numbers and layouts are those of the header that distributions ship
 * as <linux/rds.h>: a program compiled with either one runs on either kernel.
 * Both carry the same include guard, so that whichever comes first serves.
 *
 * A socket is socket(AF_RDS, SOCK_SEQPACKET, 0), bound once to an address of
 * this host and a port.  One socket talks to any number of peers; each message
 * of up to 1 MiB arrives whole, once and in order, or its sender is told.
 *
 * RDMA in three steps:
 *  1. the owner of a buffer gets a key for it: setsockopt(RDS_GET_MR), or an
 *     RDS_CMSG_RDMA_MAP control message on the request itself.  The key is a
 *     64-bit "cookie": the low half is the device's key, the high half the
 *     offset of the first byte;
 *  2. the peer learns the cookie: from the message's RDS_CMSG_RDMA_DEST, or
 *     from plain payload;
 *  3. the peer sends a message with RDS_CMSG_RDMA_ARGS.  The bytes move
 *     straight between the two buffers, and the message itself is delivered
 *     after a write has landed.  With RDS_RDMA_NOTIFY_ME the initiator reads
 *     one RDS_CMSG_RDMA_STATUS when all is through.
 *
 * Integers are in CPU order unless typed __be*.  Socket options are at level
 * SOL_RDS and have exactly the length of their struct, unless noted.
 */
#ifndef _LINUX_RDS_H
#define _LINUX_RDS_H

#include <linux/types.h>
#include <linux/socket.h>	/* __kernel_sockaddr_storage */
#include <linux/in6.h>		/* struct in6_addr */

#define RDS_IB_ABI_VERSION		0x301

#define SOL_RDS				276

/* setsockopt and getsockopt */

/* set: struct sockaddr_in or sockaddr_in6.  Drop every message of this socket
 * to that address and port that the peer has not acknowledged.
 */
#define RDS_CANCEL_SENT_TO		1
/* set: struct rds_get_mr_args.  Register a buffer, store its cookie. */
#define RDS_GET_MR			2
/* set: struct rds_free_mr_args.  Revoke a cookie; cookie 0 only completes
 * revocations that are under way.
 */
#define RDS_FREE_MR			3
/* 4: was a barrier once; ENOPROTOOPT */
/* set and get: int, boolean.  Report RDMA operations that a reconnect dropped
 * even where RDS_RDMA_NOTIFY_ME was not given.
 */
#define RDS_RECVERR			5
/* set: int, boolean.  Report ports that stopped being congested. */
#define RDS_CONG_MONITOR		6
/* set: struct rds_get_mr_for_dest_args.  As RDS_GET_MR, for the device that
 * leads to a destination.
 */
#define RDS_GET_MR_FOR_DEST		7
/* set before bind, and get: int, one of RDS_TRANS_* */
#define SO_RDS_TRANSPORT		8
/* set: struct rds_rx_trace_so */
#define SO_RDS_MSG_RXPATH_LATENCY	10

/* values of SO_RDS_TRANSPORT; bound to 127.0.0.0/8 or ::1 it reads 3 */
#define RDS_TRANS_IB			0
#define RDS_TRANS_GAP			1
#define RDS_TRANS_TCP			2
#define RDS_TRANS_COUNT			3
#define RDS_TRANS_NONE			(~0)
#define RDS_TRANS_IWARP			RDS_TRANS_GAP

/* ioctl, pointer to one byte: the type of service of all that is sent later */
#define SIOCRDSSETTOS			(SIOCPROTOPRIVATE)
#define SIOCRDSGETTOS			(SIOCPROTOPRIVATE + 1)

typedef __u8	rds_tos_t;
typedef __u64	rds_rdma_cookie_t;

/*
 * Control messages at level SOL_RDS.
 *
 *  sent:      RDMA_ARGS, RDMA_DEST, RDMA_MAP, the four atomics, ZCOPY_COOKIE
 *  received:  RDMA_DEST, RDMA_STATUS, CONG_UPDATE, RXPATH_LATENCY,
 *             ZCOPY_COMPLETION
 */
#define RDS_CMSG_RDMA_ARGS		1	/* struct rds_rdma_args */
#define RDS_CMSG_RDMA_DEST		2	/* rds_rdma_cookie_t */
#define RDS_CMSG_RDMA_MAP		3	/* struct rds_get_mr_args */
#define RDS_CMSG_RDMA_STATUS		4	/* struct rds_rdma_notify */
#define RDS_CMSG_CONG_UPDATE		5	/* __u64, bit = port % 64 */
#define RDS_CMSG_ATOMIC_FADD		6	/* struct rds_atomic_args */
#define RDS_CMSG_ATOMIC_CSWP		7	/* struct rds_atomic_args */
#define RDS_CMSG_MASKED_ATOMIC_FADD	8	/* struct rds_atomic_args */
#define RDS_CMSG_MASKED_ATOMIC_CSWP	9	/* struct rds_atomic_args */
#define RDS_CMSG_RXPATH_LATENCY		11	/* struct rds_cmsg_rx_trace */
#define RDS_CMSG_ZCOPY_COOKIE		12	/* __u32 */
#define RDS_CMSG_ZCOPY_COMPLETION	13	/* struct rds_zcopy_cookies */

/*
 * Snapshots, by getsockopt.  The buffer receives an array of the named struct;
 * the call returns the size of one element (use it as the stride), optlen the
 * bytes filled.  Too small a buffer: ENOSPC, and optlen tells what is needed.
 */
#define RDS_INFO_FIRST			10000
#define RDS_INFO_COUNTERS		10000
#define RDS_INFO_CONNECTIONS		10001
/* 10002 was flow statistics */
#define RDS_INFO_SEND_MESSAGES		10003
#define RDS_INFO_RETRANS_MESSAGES	10004
#define RDS_INFO_RECV_MESSAGES		10005
#define RDS_INFO_SOCKETS		10006
#define RDS_INFO_TCP_SOCKETS		10007
#define RDS_INFO_IB_CONNECTIONS		10008
#define RDS_INFO_CONNECTION_STATS	10009
#define RDS_INFO_IWARP_CONNECTIONS	10010

/* the same with IPv6 addresses, IPv4 ones as v4-mapped */
#define RDS6_INFO_CONNECTIONS		10011
#define RDS6_INFO_SEND_MESSAGES		10012
#define RDS6_INFO_RETRANS_MESSAGES	10013
#define RDS6_INFO_RECV_MESSAGES		10014
#define RDS6_INFO_SOCKETS		10015
#define RDS6_INFO_TCP_SOCKETS		10016
#define RDS6_INFO_IB_CONNECTIONS	10017

#define RDS_INFO_LAST			10017

struct rds_info_counter {
	__u8	name[32];	/* NUL-terminated */
	__u64	value;
} __attribute__((packed));

#define RDS_INFO_CONNECTION_FLAG_SENDING	0x01
#define RDS_INFO_CONNECTION_FLAG_CONNECTING	0x02
#define RDS_INFO_CONNECTION_FLAG_CONNECTED	0x04

#define TRANSNAMSIZ	16

struct rds_info_connection {
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	__be32		laddr;
	__be32		faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

struct rds6_info_connection {
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		flags;
} __attribute__((packed));

#define RDS_INFO_MESSAGE_FLAG_ACK		0x01
#define RDS_INFO_MESSAGE_FLAG_FAST_ACK		0x02

struct rds_info_message {
	__u64		seq;
	__u32		len;
	__be32		laddr;
	__be32		faddr;
	__be16		lport;
	__be16		fport;
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

struct rds6_info_message {
	__u64		seq;
	__u32		len;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__be16		lport;
	__be16		fport;
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

struct rds_info_socket {
	__u32		sndbuf;		/* bytes of payload */
	__be32		bound_addr;
	__be32		connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;		/* bytes of payload */
	__u64		inum;
} __attribute__((packed));

struct rds6_info_socket {
	__u32		sndbuf;
	struct in6_addr	bound_addr;
	struct in6_addr	connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;
	__u64		inum;
} __attribute__((packed));

struct rds_info_tcp_socket {
	__be32		local_addr;
	__be16		local_port;
	__be32		peer_addr;
	__be16		peer_port;
	__u64		hdr_rem;
	__u64		data_rem;
	__u32		last_sent_nxt;
	__u32		last_expected_una;
	__u32		last_seen_una;
	__u8		tos;
} __attribute__((packed));

struct rds6_info_tcp_socket {
	struct in6_addr	local_addr;
	__be16		local_port;
	struct in6_addr	peer_addr;
	__be16		peer_port;
	__u64		hdr_rem;
	__u64		data_rem;
	__u32		last_sent_nxt;
	__u32		last_expected_una;
	__u32		last_seen_una;
} __attribute__((packed));

#define RDS_IB_GID_LEN	16

struct rds_info_rdma_connection {
	__be32		src_addr;
	__be32		dst_addr;
	__u8		src_gid[RDS_IB_GID_LEN];
	__u8		dst_gid[RDS_IB_GID_LEN];
	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		rdma_mr_max;
	__u32		rdma_mr_size;
	__u8		tos;
	__u8		sl;
	__u32		cache_allocs;
};

struct rds6_info_rdma_connection {
	struct in6_addr	src_addr;
	struct in6_addr	dst_addr;
	__u8		src_gid[RDS_IB_GID_LEN];
	__u8		dst_gid[RDS_IB_GID_LEN];
	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		rdma_mr_max;
	__u32		rdma_mr_size;
	__u8		tos;
	__u8		sl;
	__u32		cache_allocs;
};

/* Where a received message spent its time: positions to report, in ns. */
enum rds_message_rxpath_latency {
	RDS_MSG_RX_HDR_TO_DGRAM_START = 0,
	RDS_MSG_RX_DGRAM_REASSEMBLE,
	RDS_MSG_RX_DGRAM_DELIVERED,
	RDS_MSG_RX_DGRAM_TRACE_MAX
};

struct rds_rx_trace_so {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

struct rds_cmsg_rx_trace {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	__u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/* Ports p and q share a bit of RDS_CMSG_CONG_UPDATE when p % 64 == q % 64. */
#define RDS_CONG_MONITOR_SIZE	64
#define RDS_CONG_MONITOR_BIT(port)	(((unsigned int)(port)) % RDS_CONG_MONITOR_SIZE)
#define RDS_CONG_MONITOR_MASK(port)	(1ULL << RDS_CONG_MONITOR_BIT(port))

struct rds_iovec {
	__u64	addr;
	__u64	bytes;
};

struct rds_get_mr_args {
	struct rds_iovec	vec;		/* the buffer; any alignment */
	__u64			cookie_addr;	/* where to store the cookie, or 0 */
	__u64			flags;		/* RDS_RDMA_READWRITE, _USE_ONCE, _INVALIDATE */
};

struct rds_get_mr_for_dest_args {
	struct __kernel_sockaddr_storage dest_addr;
	struct rds_iovec	vec;
	__u64			cookie_addr;
	__u64			flags;
};

struct rds_free_mr_args {
	rds_rdma_cookie_t	cookie;
	__u64			flags;		/* RDS_RDMA_INVALIDATE */
};

struct rds_rdma_args {
	rds_rdma_cookie_t	cookie;		/* the peer's */
	struct rds_iovec	remote_vec;	/* offset from the cookie's first byte, and bytes */
	__u64			local_vec_addr;	/* address of an array of struct rds_iovec */
	__u64			nr_local;	/* its elements, 1 to 1024 */
	__u64			flags;		/* RDS_RDMA_READWRITE, _FENCE, _NOTIFY_ME, _SILENT */
	__u64			user_token;	/* comes back in struct rds_rdma_notify */
};

struct rds_atomic_args {
	rds_rdma_cookie_t	cookie;
	__u64			local_addr;	/* of a __u64 that receives the old value */
	__u64			remote_addr;	/* offset from the cookie's first byte */
	union {
		struct {
			__u64	compare;
			__u64	swap;
		} cswp;
		struct {
			__u64	add;
		} fadd;
		struct {
			__u64	compare;
			__u64	swap;
			__u64	compare_mask;
			__u64	swap_mask;
		} m_cswp;
		struct {
			__u64	add;
			__u64	nocarry_mask;
		} m_fadd;
	};
	__u64			flags;
	__u64			user_token;
};

struct rds_rdma_notify {
	__u64	user_token;
	__s32	status;		/* RDS_RDMA_SUCCESS and on */
};

#define RDS_RDMA_SUCCESS	0
#define RDS_RDMA_REMOTE_ERROR	1	/* the peer's key does not allow it */
#define RDS_RDMA_CANCELED	2	/* RDS_CANCEL_SENT_TO */
#define RDS_RDMA_DROPPED	3	/* the connection broke: done or not, nobody knows */
#define RDS_RDMA_OTHER_ERROR	4

#define RDS_MAX_ZCOOKIES	8

struct rds_zcopy_cookies {
	__u32	num;
	__u32	cookies[RDS_MAX_ZCOOKIES];
};

/* flags of the structs above */
#define RDS_RDMA_READWRITE	0x0001	/* operation: write to the peer, not read; key: writable */
#define RDS_RDMA_FENCE		0x0002	/* what follows waits for the read to end */
#define RDS_RDMA_INVALIDATE	0x0004	/* revoke before the message is readable */
#define RDS_RDMA_USE_ONCE	0x0008	/* the first operation on the key revokes it */
#define RDS_RDMA_DONTWAIT	0x0010	/* no effect */
#define RDS_RDMA_NOTIFY_ME	0x0020	/* report with RDS_CMSG_RDMA_STATUS */
#define RDS_RDMA_SILENT		0x0040	/* no payload: send no message either */

#endif /* _LINUX_RDS_H */
