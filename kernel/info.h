/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Snapshots for administrators, by getsockopt. */
#ifndef RDS_INFO_H
#define RDS_INFO_H

struct rds_net;

/* Store the records of list @optname, as many as there are, in the user's buffer.  Returns the size
 * of one record, with the bytes stored in *@optlen; -ENOSPC, with the bytes needed there; -EINVAL for
 * a negative length; -EFAULT; -ENOPROTOOPT for a list that we do not have.  Sleeps.
 */
int rds_info_get(struct rds_net *rn, int optname, char __user *optval, int __user *optlen);

#endif
