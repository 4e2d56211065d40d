/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * What AF_RDS sockets of this module offer beyond <linux/rds.h>, by the numbers
 * and names of Oracle's kernel.  Other kernels refuse them: ENOPROTOOPT for the
 * option, EINVAL for the control message.
 */
#ifndef _LINUX_RDS_EXT_H
#define _LINUX_RDS_EXT_H

#include <linux/types.h>

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

#endif /* _LINUX_RDS_EXT_H */
