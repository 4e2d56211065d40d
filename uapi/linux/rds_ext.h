/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * What AF_RDS sockets of this module offer beyond <linux/rds.h>, by the numbers
 * and names of Oracle's kernel where it has them.  Other kernels refuse them:
 * ENOPROTOOPT for options and lists, EINVAL for the control message.
 */
#ifndef _LINUX_RDS_EXT_H
#define _LINUX_RDS_EXT_H

#include <linux/types.h>
#include <linux/in6.h>		/* struct in6_addr */

/* set and get: int, boolean.  With each message, RDS_CMSG_INQ tells how many
 * bytes of payload are still queued behind it: the last call of a loop that
 * drains the socket, which finds nothing, can be saved.
 */
#define SO_RDS_INQ			12
#define RDS_CMSG_INQ			12	/* received: int.  Sent, 12 is RDS_CMSG_ZCOPY_COOKIE */

/* sent: struct rds_asend_args.  Report when the peer's RDS has this message, or
 * that it will not have it, by RDS_CMSG_RDMA_STATUS.
 */
#define RDS_CMSG_ASYNC_SEND		10

#define RDS_SEND_NOTIFY_ME		0x0100	/* without it nothing is reported */

struct rds_asend_args {
	__u64	user_token;	/* comes back in struct rds_rdma_notify */
	__u64	flags;		/* RDS_SEND_NOTIFY_ME */
};

/* set: struct rds_reset, struct rds6_reset; needs CAP_NET_ADMIN in the socket's
 * network namespace.  Drop the connection between two addresses, or with @dst
 * zero all of those of @src, whatever their type of service.  It is set up anew
 * for what is queued, which is then sent; an RDMA operation of which nobody
 * knows whether it ran ends with RDS_RDMA_DROPPED.  Number 8 is also
 * SO_RDS_TRANSPORT, told apart by its length.
 */
#define RDS_CONN_RESET			8
#define RDS6_CONN_RESET			11

struct rds_reset {
	__u8		tos;
	__be32		src;
	__be32		dst;
};

struct rds6_reset {
	__u8		tos;
	struct in6_addr	src;
	struct in6_addr	dst;
};

/* What RDS6_INFO_CONNECTIONS tells: struct rds6_info_connection, and at its end
 * the type of service, which IPv4 records have.
 */
struct rds6_info_connection_tos {
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[16];
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

/* What RDS_INFO_SOCKETS and RDS6_INFO_SOCKETS tell: struct rds_info_socket, struct
 * rds6_info_socket, and at their end, first what Oracle's kernel has there:
 */
struct rds_info_socket_ext {
	__u32		sndbuf;
	__be32		bound_addr;
	__be32		connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;
	__u64		inum;
	__u32		pid;		/* the process that made it, as the reader calls it; 0: it is none of his */
	__u32		cong;		/* 1: its port is congested */
	__u64		pinned;		/* bytes, in whole pages */
} __attribute__((packed));

struct rds6_info_socket_ext {
	__u32		sndbuf;
	struct in6_addr	bound_addr;
	struct in6_addr	connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;
	__u64		inum;
	__u32		pid;
	__u32		cong;
	__u64		pinned;
} __attribute__((packed));

/*
 * A list as RDS_INFO_* of <linux/rds.h> are: each connection's path, for both
 * families, with what happened to it.  (10018 to 10021 are other lists of
 * Oracle's kernel.)  Records may grow at their end: use the returned size as
 * the stride.
 */
#define RDS_INFO_PATHS			10100

#define RDS_INFO_PATH_DOWN		0
#define RDS_INFO_PATH_CONNECTING	1
#define RDS_INFO_PATH_UP		2
#define RDS_INFO_PATH_CLOSING		3	/* waiting for the device to end what it is at */
#define RDS_INFO_PATH_DEAD		4	/* about to go away */

#define RDS_INFO_PATH_FLAG_ACTIVE	0x01	/* not DOWN: at our own request, not the peer's */

#define RDS_INFO_DROP_FLAG_PEER		0x01	/* the peer ended the connection, or refused it */

struct rds_info_drop {
	__s64		when;		/* ns since 1970; 0: there was none */
	__s32		err;		/* < 0: -errno; > 0: what the device or its connection manager said */
	__u8		flags;
	__u8		reserved[3];
	__u8		reason[32];	/* NUL-terminated: the counter drop_REASON has it */
};

#define RDS_INFO_PATH_DROPS		4

struct rds_info_path {
	struct in6_addr	laddr;		/* IPv4: mapped */
	struct in6_addr	faddr;
	__u8		transport[16];
	__u32		scope;		/* interface of link-local addresses, or 0 */
	__u8		tos;
	__u8		lane;		/* of several paths of a connection; 0 */
	__u8		state;
	__u8		flags;
	__u64		requests;	/* to connect: ours, and */
	__u64		accepts;	/* the peer's that were taken */
	__u64		connects;	/* times that it came up */
	__u64		nr_drops;	/* attempts that failed are among them */
	__s64		attempted;	/* last request of either side; ns since 1970, 0: never */
	__s64		connected;	/* last time that it came up */
	struct rds_info_drop drops[RDS_INFO_PATH_DROPS];	/* the last ones, newest first */
};

/* Likewise: each RDMA device that the caller's network namespace may use. */
#define RDS_INFO_DEVICES		10101

struct rds_info_device {
	__u8		name[64];	/* NUL-terminated, as rdma(8) has it */
	__u8		transport[16];
	__u64		regions;	/* that have a key */
	__u64		pinned;		/* bytes, in whole pages, of regions and operations of its sockets */
};

#endif /* _LINUX_RDS_EXT_H */
