// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "info.h"

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "conn.h"
#include "inc.h"
#include "msg.h"
#include "rds_uapi.h"
#include "sock.h"
#include "stats.h"
#include "transport.h"

/* How often to begin anew when a list grows while it is copied. */
#define RDS_INFO_TRIES	10

/* One walk over a list.  Records are counted; those that fit are stored. */
struct rds_info {
	const struct rds_info_list *list;
	struct rds_net	*rn;
	void		*buf;
	size_t		room;		/* records */
	size_t		count;
};

struct rds_info_list {
	int	optname;
	size_t	size;		/* of a record */
	bool	v6;		/* IPv6 records, for both families */
	bool	sent;		/* of messages: those whose transmission started */
	int	(*walk)(struct rds_info *info);
};

/* The place of the next record, zeroed; NULL: it is only counted. */
static void *rds_info_next(struct rds_info *info)
{
	size_t n = info->count++;

	return n < info->room ? info->buf + n * info->list->size : NULL;
}

/* The records of IPv4 tell nothing of others. */
static bool rds_info_wants(const struct rds_info *info, const struct in6_addr *addr)
{
	return info->list->v6 || ipv6_addr_v4mapped(addr);
}

static __be32 rds_info_v4(const struct in6_addr *addr)
{
	return addr->s6_addr32[3];
}

/* Counters */

static int rds_info_counters(struct rds_info *info)
{
	struct rds_info_counter *ctr;
	unsigned int i;

	for (i = 0; i < RDS_STAT_NR; i++) {
		ctr = rds_info_next(info);
		if (!ctr)
			continue;
		strscpy_pad((char *)ctr->name, rds_stat_name(i), sizeof(ctr->name));
		ctr->value = rds_stat_sum(info->rn, i);
	}
	return 0;
}

/* Connections */

static u8 rds_info_conn_flags(const struct rds_path *path)
{
	u8 flags = 0;

	if (path->xmit_busy)
		flags |= RDS_INFO_CONNECTION_FLAG_SENDING;
	if (path->state == RDS_PATH_CONNECTING)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTING;
	if (path->state == RDS_PATH_UP)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTED;
	return flags;
}

static void rds_info_conn4(struct rds_info_connection *c, const struct rds_conn *conn)
{
	c->next_tx_seq = conn->path.next_seq;
	c->next_rx_seq = READ_ONCE(conn->path.rx.next);
	c->laddr = rds_info_v4(&conn->key.laddr);
	c->faddr = rds_info_v4(&conn->key.faddr);
	strscpy((char *)c->transport, conn->key.trans->name, sizeof(c->transport));
	c->flags = rds_info_conn_flags(&conn->path);
	c->tos = conn->key.tos;
}

static void rds_info_conn6(struct rds6_info_connection_tos *c, const struct rds_conn *conn)
{
	c->next_tx_seq = conn->path.next_seq;
	c->next_rx_seq = READ_ONCE(conn->path.rx.next);
	c->laddr = conn->key.laddr;
	c->faddr = conn->key.faddr;
	strscpy((char *)c->transport, conn->key.trans->name, sizeof(c->transport));
	c->flags = rds_info_conn_flags(&conn->path);
	c->tos = conn->key.tos;
}

static void rds_info_conn(struct rds_conn *conn, void *arg)
{
	struct rds_info *info = arg;
	void *record;

	if (!rds_info_wants(info, &conn->key.laddr))
		return;
	record = rds_info_next(info);
	if (!record)
		return;
	spin_lock_bh(&conn->path.tx_lock);
	if (info->list->v6)
		rds_info_conn6(record, conn);
	else
		rds_info_conn4(record, conn);
	spin_unlock_bh(&conn->path.tx_lock);
}

static int rds_info_conns(struct rds_info *info)
{
	return rds_conn_for_each(info->rn, rds_info_conn, info);
}

/* Of RDMA connections there is more to tell while they are up. */

static void rds_info_rdma4(struct rds_info_rdma_connection *c,
			   const struct rds6_info_rdma_connection *from)
{
	c->src_addr = rds_info_v4(&from->src_addr);
	c->dst_addr = rds_info_v4(&from->dst_addr);
	memcpy(c->src_gid, from->src_gid, sizeof(c->src_gid));
	memcpy(c->dst_gid, from->dst_gid, sizeof(c->dst_gid));
	c->max_send_wr = from->max_send_wr;
	c->max_recv_wr = from->max_recv_wr;
	c->max_send_sge = from->max_send_sge;
	c->rdma_mr_max = from->rdma_mr_max;
	c->rdma_mr_size = from->rdma_mr_size;
	c->tos = from->tos;
	c->sl = from->sl;
	c->cache_allocs = from->cache_allocs;
}

static void rds_info_rdma_conn(struct rds_conn *conn, void *arg)
{
	struct rds6_info_rdma_connection record;
	struct rds_path *path = &conn->path;
	struct rds_info *info = arg;
	void *to;

	if (!conn->key.trans->info || !rds_info_wants(info, &conn->key.laddr))
		return;
	to = rds_info_next(info);
	if (!to)
		return;
	memset(&record, 0, sizeof(record));	/* its padding goes to user space, too */
	record.src_addr = conn->key.laddr;
	record.dst_addr = conn->key.faddr;
	record.tos = conn->key.tos;
	/* under the lock the endpoint stays the path's: nobody closes it */
	spin_lock_bh(&path->tx_lock);
	if (path->state == RDS_PATH_UP)
		conn->key.trans->info(path->ep, &record);
	spin_unlock_bh(&path->tx_lock);
	if (info->list->v6)
		memcpy(to, &record, sizeof(record));
	else
		rds_info_rdma4(to, &record);
}

static int rds_info_rdma_conns(struct rds_info *info)
{
	return rds_conn_for_each(info->rn, rds_info_rdma_conn, info);
}

/* Paths, and what happened to them */

static_assert(RDS_INFO_PATH_DOWN == (int)RDS_PATH_DOWN);
static_assert(RDS_INFO_PATH_CONNECTING == (int)RDS_PATH_CONNECTING);
static_assert(RDS_INFO_PATH_UP == (int)RDS_PATH_UP);
static_assert(RDS_INFO_PATH_CLOSING == (int)RDS_PATH_CLOSING);
static_assert(RDS_INFO_PATH_DEAD == (int)RDS_PATH_DEAD);
static_assert(RDS_INFO_PATH_DROPS == RDS_PATH_DROPS);

static void rds_info_drop(struct rds_info_drop *to, const struct rds_path_drop *drop)
{
	to->when = drop->when;
	to->err = drop->err;
	if (rds_drop_is_by_peer(drop->reason))
		to->flags = RDS_INFO_DROP_FLAG_PEER;
	strscpy((char *)to->reason, rds_drop_name(drop->reason), sizeof(to->reason));
}

static void rds_info_history(struct rds_info_path *to, const struct rds_path_history *h)
{
	u64 i, n = min_t(u64, h->drop_count, RDS_PATH_DROPS);

	to->requests = h->requests;
	to->accepts = h->accepts;
	to->connects = h->connects;
	to->nr_drops = h->drop_count;
	to->attempted = h->attempted;
	to->connected = h->connected;
	for (i = 0; i < n; i++)
		rds_info_drop(&to->drops[i], &h->drops[(h->drop_count - 1 - i) % RDS_PATH_DROPS]);
}

static void rds_info_path(struct rds_conn *conn, void *arg)
{
	struct rds_path *path = &conn->path;
	struct rds_info_path *to = rds_info_next(arg);

	if (!to)
		return;
	to->laddr = conn->key.laddr;
	to->faddr = conn->key.faddr;
	strscpy((char *)to->transport, conn->key.trans->name, sizeof(to->transport));
	to->scope = conn->key.scope;
	to->tos = conn->key.tos;
	spin_lock_bh(&path->tx_lock);
	to->state = path->state;
	if (path->ep && path->ep->active)
		to->flags = RDS_INFO_PATH_FLAG_ACTIVE;
	rds_info_history(to, &path->history);
	spin_unlock_bh(&path->tx_lock);
}

static int rds_info_paths(struct rds_info *info)
{
	return rds_conn_for_each(info->rn, rds_info_path, info);
}

/* Messages */

/* One message; ours is the local end. */
struct rds_info_msg {
	u64			seq;
	u32			len;
	const struct in6_addr	*laddr;
	const struct in6_addr	*faddr;
	__be16			lport;
	__be16			fport;
	u8			tos;
};

static void rds_info_msg4(struct rds_info_message *to, const struct rds_info_msg *m)
{
	to->seq = m->seq;
	to->len = m->len;
	to->laddr = rds_info_v4(m->laddr);
	to->faddr = rds_info_v4(m->faddr);
	to->lport = m->lport;
	to->fport = m->fport;
	to->tos = m->tos;
}

static void rds_info_msg6(struct rds6_info_message *to, const struct rds_info_msg *m)
{
	to->seq = m->seq;
	to->len = m->len;
	to->laddr = *m->laddr;
	to->faddr = *m->faddr;
	to->lport = m->lport;
	to->fport = m->fport;
	to->tos = m->tos;
}

static void rds_info_msg(struct rds_info *info, const struct rds_info_msg *m)
{
	void *to = rds_info_next(info);

	if (to && info->list->v6)
		rds_info_msg6(to, m);
	else if (to)
		rds_info_msg4(to, m);
}

static void rds_info_conn_msgs(struct rds_conn *conn, void *arg)
{
	struct rds_path *path = &conn->path;
	struct rds_info *info = arg;
	struct rds_msg *msg;

	if (!rds_info_wants(info, &conn->key.laddr))
		return;
	spin_lock_bh(&path->tx_lock);
	list_for_each_entry(msg, info->list->sent ? &path->sent_q : &path->send_q, path_item) {
		rds_info_msg(info, &(struct rds_info_msg){
			.seq	= msg->seq,
			.len	= msg->len,
			.laddr	= &conn->key.laddr,
			.faddr	= &conn->key.faddr,
			.lport	= msg->hdr.sport,
			.fport	= msg->hdr.dport,
			.tos	= conn->key.tos,
		});
	}
	spin_unlock_bh(&path->tx_lock);
}

static int rds_info_send_msgs(struct rds_info *info)
{
	return rds_conn_for_each(info->rn, rds_info_conn_msgs, info);
}

static void rds_info_sock_msgs(struct rds_sock *rs, void *arg)
{
	struct rds_info *info = arg;
	struct rds_inc *inc;

	if (!rds_sock_trans(rs) || !rds_info_wants(info, &rs->bound.addr))
		return;
	spin_lock_bh(&rs->rcv_lock);
	list_for_each_entry(inc, &rs->received, item) {
		rds_info_msg(info, &(struct rds_info_msg){
			.seq	= inc->seq,
			.len	= inc->len,
			.laddr	= &inc->daddr,
			.faddr	= &inc->saddr,
			.lport	= inc->dport,
			.fport	= inc->sport,
			.tos	= inc->tos,
		});
	}
	spin_unlock_bh(&rs->rcv_lock);
}

static int rds_info_recv_msgs(struct rds_info *info)
{
	return rds_sock_for_each(info->rn, rds_info_sock_msgs, info);
}

/* Sockets */

static void rds_info_sock6(struct rds6_info_socket_ext *to, struct rds_sock *rs)
{
	to->sndbuf = rds_sndbuf(rs);
	to->rcvbuf = rds_rcvbuf(rs);
	to->inum = sock_i_ino(&rs->sk);
	to->pid = pid_vnr(rs->creator);
	to->cong = READ_ONCE(rs->congested);
	to->pinned = atomic64_read(&rs->pinned);
	if (rds_sock_trans(rs)) {
		to->bound_addr = rs->bound.addr;
		to->bound_port = rs->bound.port;
	}
	spin_lock_bh(&rs->peer_lock);
	to->connected_addr = rs->peer_addr;
	to->connected_port = rs->peer_port;
	spin_unlock_bh(&rs->peer_lock);
}

static void rds_info_sock4(struct rds_info_socket_ext *to, struct rds_sock *rs)
{
	struct rds6_info_socket_ext from = {};

	rds_info_sock6(&from, rs);
	to->sndbuf = from.sndbuf;
	to->rcvbuf = from.rcvbuf;
	to->inum = from.inum;
	to->bound_addr = rds_info_v4(&from.bound_addr);
	to->bound_port = from.bound_port;
	to->connected_addr = rds_info_v4(&from.connected_addr);
	to->connected_port = from.connected_port;
	to->pid = from.pid;
	to->cong = from.cong;
	to->pinned = from.pinned;
}

static void rds_info_sock(struct rds_sock *rs, void *arg)
{
	struct rds_info *info = arg;
	void *to;

	/* one that is not bound has no family */
	if (!info->list->v6 && (!rds_sock_trans(rs) || !rds_info_wants(info, &rs->bound.addr)))
		return;
	to = rds_info_next(info);
	if (to && info->list->v6)
		rds_info_sock6(to, rs);
	else if (to)
		rds_info_sock4(to, rs);
}

static int rds_info_socks(struct rds_info *info)
{
	return rds_sock_for_each(info->rn, rds_info_sock, info);
}

/* Devices */

static void rds_info_device(struct rds_domain *domain, const char *name, void *arg)
{
	struct rds_info_device *to = rds_info_next(arg);

	if (!to)
		return;
	strscpy((char *)to->name, name, sizeof(to->name));
	strscpy((char *)to->transport, domain->trans->name, sizeof(to->transport));
	to->regions = atomic64_read(&domain->nr_mrs);
	to->pinned = atomic64_read(&domain->pinned);
}

static int rds_info_devices(struct rds_info *info)
{
	rds_transport_for_each_domain(info->rn, rds_info_device, info);
	return 0;
}

/* The protocol */

static const struct rds_info_list rds_info_lists[] = {
	{ RDS_INFO_COUNTERS, sizeof(struct rds_info_counter), .walk = rds_info_counters },
	{ RDS_INFO_CONNECTIONS, sizeof(struct rds_info_connection), .walk = rds_info_conns },
	{ RDS_INFO_SEND_MESSAGES, sizeof(struct rds_info_message), .walk = rds_info_send_msgs },
	{ RDS_INFO_RETRANS_MESSAGES, sizeof(struct rds_info_message), .sent = true,
	  .walk = rds_info_send_msgs },
	{ RDS_INFO_RECV_MESSAGES, sizeof(struct rds_info_message), .walk = rds_info_recv_msgs },
	{ RDS_INFO_SOCKETS, sizeof(struct rds_info_socket_ext), .walk = rds_info_socks },
	{ RDS_INFO_IB_CONNECTIONS, sizeof(struct rds_info_rdma_connection),
	  .walk = rds_info_rdma_conns },
	{ RDS6_INFO_CONNECTIONS, sizeof(struct rds6_info_connection_tos), .v6 = true,
	  .walk = rds_info_conns },
	{ RDS6_INFO_SEND_MESSAGES, sizeof(struct rds6_info_message), .v6 = true,
	  .walk = rds_info_send_msgs },
	{ RDS6_INFO_RETRANS_MESSAGES, sizeof(struct rds6_info_message), .v6 = true, .sent = true,
	  .walk = rds_info_send_msgs },
	{ RDS6_INFO_RECV_MESSAGES, sizeof(struct rds6_info_message), .v6 = true,
	  .walk = rds_info_recv_msgs },
	{ RDS6_INFO_SOCKETS, sizeof(struct rds6_info_socket_ext), .v6 = true,
	  .walk = rds_info_socks },
	{ RDS6_INFO_IB_CONNECTIONS, sizeof(struct rds6_info_rdma_connection), .v6 = true,
	  .walk = rds_info_rdma_conns },
	{ RDS_INFO_PATHS, sizeof(struct rds_info_path), .v6 = true, .walk = rds_info_paths },
	{ RDS_INFO_DEVICES, sizeof(struct rds_info_device), .walk = rds_info_devices },
};

static const struct rds_info_list *rds_info_find(int optname)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rds_info_lists); i++) {
		if (rds_info_lists[i].optname == optname)
			return &rds_info_lists[i];
	}
	return NULL;
}

static int rds_info_walk(struct rds_info *info)
{
	info->count = 0;
	return info->list->walk(info);
}

/* Walk twice, first to count; again if the list grew meanwhile.  Leaves a buffer of info->count records,
 * to be freed; -ENOSPC, with none, if these are more than @len bytes.
 */
static int rds_info_snapshot(struct rds_info *info, size_t len)
{
	unsigned int tries;
	int err;

	for (tries = 0; tries < RDS_INFO_TRIES; tries++) {
		info->room = 0;
		err = rds_info_walk(info);
		if (err)
			return err;
		if (info->count * info->list->size > len)
			return -ENOSPC;
		info->room = info->count;
		info->buf = kvcalloc(max(info->room, (size_t)1), info->list->size, GFP_KERNEL_ACCOUNT);
		if (!info->buf)
			return -ENOMEM;
		err = rds_info_walk(info);
		if (!err && info->count <= info->room)
			return 0;
		kvfree(info->buf);
		if (err)
			return err;
	}
	return -ENOSPC;
}

/* The snapshot is taken into kernel memory and copied out in one go: no user page is pinned, and
 * no lock is held while one is touched.
 */
static int rds_info_copy(struct rds_info *info, char __user *optval, size_t len)
{
	int err = rds_info_snapshot(info, len);

	if (err)
		return err;
	if (copy_to_user(optval, info->buf, info->count * info->list->size))
		err = -EFAULT;
	kvfree(info->buf);
	return err ?: info->list->size;
}

int rds_info_get(struct rds_net *rn, int optname, char __user *optval, int __user *optlen)
{
	struct rds_info info = { .rn = rn };
	int len, ret;

	if (get_user(len, optlen))
		return -EFAULT;
	/* a length that no page count can hold is an error, as in mainline */
	if (len < 0 || len > INT_MAX - (int)PAGE_SIZE + 1 ||
	    (unsigned long)optval + len < (unsigned long)optval)
		return -EINVAL;
	info.list = rds_info_find(optname);
	if (!info.list)
		return -ENOPROTOOPT;
	ret = rds_info_copy(&info, optval, len);
	if (ret >= 0 || ret == -ENOSPC) {
		if (put_user((int)(info.count * info.list->size), optlen))
			return -EFAULT;
	}
	return ret;
}
