// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Options at level SOL_RDS. */
#include "sock.h"

#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "info.h"
#include "mr.h"
#include "rds_uapi.h"
#include "transport.h"

static int rds_set_get_mr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds_get_mr_args args;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	return rds_mr_create(rs, &args, NULL);
}

/* All that a key needs to know of the destination is the device, and that comes from the bound
 * address.
 */
static int rds_set_get_mr_for_dest(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds_get_mr_for_dest_args dest;
	struct rds_get_mr_args args;

	if (optlen != sizeof(dest))
		return -EINVAL;
	if (copy_from_sockptr(&dest, optval, sizeof(dest)))
		return -EFAULT;
	args.vec = dest.vec;
	args.cookie_addr = dest.cookie_addr;
	args.flags = dest.flags;
	return rds_mr_create(rs, &args, NULL);
}

static int rds_set_free_mr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	const struct rds_transport *trans = rds_sock_trans(rs);
	struct rds_free_mr_args args;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	if (!trans || !trans->mr_register)
		return -EINVAL;
	if (args.cookie)
		return rds_mr_free(rs, args.cookie);
	rds_mr_flush(rs);
	return 0;
}

static int rds_set_cancel(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct sockaddr_in6 sin6 = {};
	struct in6_addr addr;

	if (!rds_sock_trans(rs))
		return -ENOTCONN;
	if (optlen < sizeof(struct sockaddr_in))
		return -EINVAL;
	if (copy_from_sockptr(&sin6, optval, min_t(size_t, optlen, sizeof(sin6))))
		return -EFAULT;
	/* the length alone tells the family; the port stands at the same place in both */
	if (optlen < sizeof(sin6))
		ipv6_addr_set_v4mapped(((struct sockaddr_in *)&sin6)->sin_addr.s_addr, &addr);
	else
		addr = sin6.sin6_addr;
	rds_sock_cancel(rs, &addr, sin6.sin6_port);
	rds_sock_wait_ops(rs);
	return 0;
}

static int rds_set_recverr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	int value;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	WRITE_ONCE(rs->recverr, value);
	return 0;
}

int rds_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	switch (optname) {
	case RDS_CANCEL_SENT_TO:
		return rds_set_cancel(rs, optval, optlen);
	case RDS_GET_MR:
		return rds_set_get_mr(rs, optval, optlen);
	case RDS_GET_MR_FOR_DEST:
		return rds_set_get_mr_for_dest(rs, optval, optlen);
	case RDS_FREE_MR:
		return rds_set_free_mr(rs, optval, optlen);
	case RDS_RECVERR:
		return rds_set_recverr(rs, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

static int rds_put_int(int value, char __user *optval, int __user *optlen)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < (int)sizeof(value))
		return -EINVAL;
	if (put_user(value, (int __user *)optval) || put_user((int)sizeof(value), optlen))
		return -EFAULT;
	return 0;
}

int rds_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	const struct rds_transport *trans = rds_sock_trans(rs);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if (optname >= RDS_INFO_FIRST && optname <= RDS_INFO_LAST)
		return rds_info_get(rs->rn, optname, optval, optlen);
	switch (optname) {
	case RDS_RECVERR:
		return rds_put_int(READ_ONCE(rs->recverr), optval, optlen);
	case SO_RDS_TRANSPORT:
		return rds_put_int(trans ? trans->type : RDS_TRANS_NONE, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}
