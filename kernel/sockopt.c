// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Options at level SOL_RDS. */
#include "sock.h"

#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "cong.h"
#include "conn.h"
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
	rds_sock_wait_ops(rs, &addr, sin6.sin6_port);
	return 0;
}

/* A boolean, as an int of at least 4 bytes. */
static int rds_read_bool(bool *value, sockptr_t optval, unsigned int optlen)
{
	int n;

	if (optlen < sizeof(n))
		return -EINVAL;
	if (copy_from_sockptr(&n, optval, sizeof(n)))
		return -EFAULT;
	*value = n;
	return 0;
}

static int rds_set_recverr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	bool on;
	int err = rds_read_bool(&on, optval, optlen);

	if (!err)
		WRITE_ONCE(rs->recverr, on);
	return err;
}

static int rds_set_inq(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	bool on;
	int err = rds_read_bool(&on, optval, optlen);

	if (!err)
		WRITE_ONCE(rs->inq, on);
	return err;
}

static int rds_set_cong_monitor(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	bool on;
	int err = rds_read_bool(&on, optval, optlen);

	if (!err)
		rds_cong_monitor(rs, on);
	return err;
}

static int rds_set_transport_to(struct rds_sock *rs, int type)
{
	const struct rds_transport *trans;

	if (type < 0 || type >= RDS_TRANS_COUNT)
		return -EINVAL;
	trans = rds_transport_by_type(type);
	if (!trans)
		return -ENOPROTOOPT;
	rs->preset = trans;
	return 0;
}

/* Once, and before bind. */
static int rds_set_transport(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	int type, err;

	if (rds_sock_trans(rs) || READ_ONCE(rs->preset))
		return -EOPNOTSUPP;
	if (optlen != sizeof(type))
		return -EINVAL;
	if (copy_from_sockptr(&type, optval, sizeof(type)))
		return -EFAULT;
	lock_sock(&rs->sk);
	err = -EOPNOTSUPP;
	if (!rs->trans && !rs->preset)
		err = rds_set_transport_to(rs, type);
	release_sock(&rs->sk);
	return err;
}

/* Which times to report with each message; every error is EFAULT, as in mainline. */
static int rds_set_rx_latency(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds_rx_trace_so so;
	unsigned int i;

	if (optlen != sizeof(so) || copy_from_sockptr(&so, optval, sizeof(so)))
		return -EFAULT;
	if (so.rx_traces > ARRAY_SIZE(so.rx_trace_pos))
		return -EFAULT;
	for (i = 0; i < so.rx_traces; i++) {
		if (so.rx_trace_pos[i] >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			return -EFAULT;
	}
	/* nobody may find the number of one call with the positions of another */
	memset(so.rx_trace_pos + so.rx_traces, 0, ARRAY_SIZE(so.rx_trace_pos) - so.rx_traces);
	WRITE_ONCE(rs->rx_trace, so);
	return 0;
}

/* As at level SOL_SOCKET. */
static int rds_set_timestamp(struct rds_sock *rs, int optname, sockptr_t optval, unsigned int optlen)
{
	int on;

	if (optlen != sizeof(on) || copy_from_sockptr(&on, optval, sizeof(on)))
		return -EFAULT;
	lock_sock(&rs->sk);
	sock_valbool_flag(&rs->sk, SOCK_RCVTSTAMP, on);
	sock_valbool_flag(&rs->sk, SOCK_TSTAMP_NEW, on && optname == SO_TIMESTAMP_NEW);
	release_sock(&rs->sk);
	return 0;
}

/* @dst all zero: whatever @src is connected to, with any type of service. */
static void rds_reset(struct rds_sock *rs, u8 tos, const struct in6_addr *src,
		      const struct in6_addr *dst, bool to_all)
{
	if (to_all)
		rds_conn_drop_from(rs->rn, src, NULL, RDS_ANY_TOS, RDS_DROP_USER_RESET);
	else
		rds_conn_drop_from(rs->rn, src, dst, tos, RDS_DROP_USER_RESET);
}

static bool rds_may_reset(const struct rds_sock *rs)
{
	return ns_capable(sock_net(&rs->sk)->user_ns, CAP_NET_ADMIN);
}

static int rds_set_reset4(struct rds_sock *rs, sockptr_t optval)
{
	struct in6_addr src, dst;
	struct rds_reset reset;

	if (!rds_may_reset(rs))
		return -EPERM;
	if (copy_from_sockptr(&reset, optval, sizeof(reset)))
		return -EFAULT;
	ipv6_addr_set_v4mapped(reset.src, &src);
	ipv6_addr_set_v4mapped(reset.dst, &dst);
	rds_reset(rs, reset.tos, &src, &dst, !reset.dst);
	return 0;
}

static int rds_set_reset6(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds6_reset reset;

	if (optlen != sizeof(reset))
		return -EINVAL;
	if (!rds_may_reset(rs))
		return -EPERM;
	if (copy_from_sockptr(&reset, optval, sizeof(reset)))
		return -EFAULT;
	rds_reset(rs, reset.tos, &reset.src, &reset.dst, ipv6_addr_any(&reset.dst));
	return 0;
}

/* Option 8 of mainline and that of Oracle's kernel have different lengths. */
static int rds_set_transport_or_reset(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	if (optlen == sizeof(struct rds_reset))
		return rds_set_reset4(rs, optval);
	return rds_set_transport(rs, optval, optlen);
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
	case RDS_CONG_MONITOR:
		return rds_set_cong_monitor(rs, optval, optlen);
	case SO_RDS_TRANSPORT:
		return rds_set_transport_or_reset(rs, optval, optlen);
	case RDS6_CONN_RESET:
		return rds_set_reset6(rs, optval, optlen);
	case SO_RDS_INQ:
		return rds_set_inq(rs, optval, optlen);
	case SO_RDS_MSG_RXPATH_LATENCY:
		return rds_set_rx_latency(rs, optval, optlen);
	case SO_TIMESTAMP_OLD:
	case SO_TIMESTAMP_NEW:
		return rds_set_timestamp(rs, optname, optval, optlen);
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
	const struct rds_transport *trans = rds_sock_trans(rs) ?: READ_ONCE(rs->preset);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if ((optname >= RDS_INFO_FIRST && optname <= RDS_INFO_LAST) ||
	    optname == RDS_INFO_PATHS || optname == RDS_INFO_DEVICES)
		return rds_info_get(rs->rn, optname, optval, optlen);
	switch (optname) {
	case RDS_RECVERR:
		return rds_put_int(READ_ONCE(rs->recverr), optval, optlen);
	case SO_RDS_INQ:
		return rds_put_int(READ_ONCE(rs->inq), optval, optlen);
	case SO_RDS_TRANSPORT:
		return rds_put_int(trans ? trans->type : RDS_TRANS_NONE, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}
