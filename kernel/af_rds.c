// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The family: create, bind, connect, poll, release. */
#include "af_rds.h"

#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "addr.h"
#include "cong.h"
#include "conn.h"
#include "mr.h"
#include "net.h"
#include "notify.h"
#include "sock.h"
#include "transport.h"

static bool rds_family_open;	/* false while the module is coming up or going */

/* A transport that was asked for stays asked for when it does not have the address. */
static struct rds_domain *rds_bind_domain(struct rds_sock *rs, const struct rds_addr *a)
{
	struct rds_domain *domain;

	if (rs->preset) {
		domain = rs->preset->domain_get(rs->rn, &a->addr, a->scope);
		return IS_ERR(domain) ? ERR_PTR(-ENOPROTOOPT) : domain;
	}
	domain = rds_transport_find(rs->rn, &a->addr, a->scope);
	if (PTR_ERR_OR_ZERO(domain) == -EADDRNOTAVAIL)
		pr_info_ratelimited("rds_sockets: %pI6c is no address of a transport: not bound\n",
				    &a->addr);
	return domain;
}

static int rds_bind_to(struct rds_sock *rs, const struct rds_addr *a)
{
	unsigned int changes = rds_transport_address_changes();
	struct rds_domain *domain;
	struct rds_cong_map *map;
	__be16 port = a->port;
	int err;

	domain = rds_bind_domain(rs, a);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	err = rds_transport_enter(domain->trans, rs->rn);
	if (err)
		goto put_domain;
	map = rds_cong_map_local(rs->rn, &a->addr);
	if (IS_ERR(map)) {
		err = PTR_ERR(map);
		goto leave;
	}
	/* messages can come in as soon as the table has the socket */
	rs->lmap = map;
	rs->domain = domain;
	rs->domain_seen = changes;
	err = rds_bind_add(rs->rn, rs, &a->addr, a->scope, &port);
	if (err)
		goto put_map;
	/* pairs with rds_sock_trans(): who sees it sees the address, too */
	smp_store_release(&rs->trans, domain->trans);
	return 0;

put_map:
	rs->lmap = NULL;
	rs->domain = NULL;
	rds_cong_map_put(map);
leave:
	rds_transport_leave(domain->trans, rs->rn);
put_domain:
	rds_domain_put(domain);
	return err;
}

static int rds_bind(struct socket *sock, struct sockaddr *uaddr, int len)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr a;
	int err = -EINVAL;

	if (rds_addr_parse(uaddr, len, &a) || a.kind != RDS_ADDR_UNICAST ||
	    (a.link_local && !a.scope))
		return -EINVAL;
	lock_sock(&rs->sk);
	if (!rs->trans && !(rs->peer_scope && a.scope && rs->peer_scope != a.scope))
		err = rds_bind_to(rs, &a);
	release_sock(&rs->sk);
	return err;
}

static int rds_connect_check(const struct rds_sock *rs, const struct rds_addr *a)
{
	if (a->kind != RDS_ADDR_UNICAST) {
		if (a->family == AF_INET6)
			return -EPROTOTYPE;
		return a->kind == RDS_ADDR_ANY ? -EDESTADDRREQ : -EINVAL;
	}
	if (a->link_local && !a->scope)
		return -EINVAL;
	if (a->scope && rs->bound.scope && a->scope != rs->bound.scope)
		return -EINVAL;
	return 0;
}

static void rds_disconnect(struct socket *sock)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	lock_sock(&rs->sk);
	spin_lock_bh(&rs->peer_lock);
	rs->connected = false;
	rs->peer_addr = in6addr_any;
	rs->peer_port = 0;
	rs->peer_scope = 0;
	spin_unlock_bh(&rs->peer_lock);
	sock->state = SS_UNCONNECTED;
	release_sock(&rs->sk);
}

static int rds_connect(struct socket *sock, struct sockaddr *uaddr, int len, int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr a;
	int err;

	if (len >= (int)sizeof(uaddr->sa_family) && uaddr->sa_family == AF_UNSPEC) {
		rds_disconnect(sock);
		return 0;
	}
	err = rds_addr_parse(uaddr, len, &a);
	if (err)
		return err;
	lock_sock(&rs->sk);
	err = rds_connect_check(rs, &a);
	if (!err) {
		spin_lock_bh(&rs->peer_lock);
		rs->connected = true;
		rs->peer_addr = a.addr;
		rs->peer_port = a.port;
		rs->peer_scope = a.scope;
		spin_unlock_bh(&rs->peer_lock);
		sock->state = SS_CONNECTED;
	}
	release_sock(&rs->sk);
	return err;
}

/* Once, and before the first message: all of a socket's messages to a peer are in one order. */
static int rds_tos_choose(struct rds_sock *rs, u8 tos)
{
	int err = 0;

	spin_lock_bh(&rs->peer_lock);
	if (rs->tos || rs->conn)
		err = -EINVAL;
	else
		WRITE_ONCE(rs->tos, tos);
	spin_unlock_bh(&rs->peer_lock);
	return err;
}

static int rds_ioctl_set_tos(struct rds_sock *rs, const rds_tos_t __user *arg)
{
	const struct rds_transport *trans = rds_sock_trans(rs);
	rds_tos_t tos;

	if (get_user(tos, arg))
		return -EFAULT;
	/* between two sockets of this host there is no service to choose from */
	if (!trans || trans->loopback)
		return -ENOIOCTLCMD;
	return rds_tos_choose(rs, tos);
}

/* What is not ours goes on to the generic layer, which tries its own and answers ENOTTY. */
static int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	switch (cmd) {
	case SIOCRDSSETTOS:
		return rds_ioctl_set_tos(rs, (const rds_tos_t __user *)arg);
	case SIOCRDSGETTOS:
		return put_user(READ_ONCE(rs->tos), (rds_tos_t __user *)arg);
	default:
		return -ENOIOCTLCMD;
	}
}

static int rds_getname_peer(struct rds_sock *rs, struct sockaddr *uaddr)
{
	struct in6_addr addr;
	bool connected;
	__be16 port;
	u32 scope;

	spin_lock_bh(&rs->peer_lock);
	connected = rs->connected;
	addr = rs->peer_addr;
	port = rs->peer_port;
	scope = rs->peer_scope;
	spin_unlock_bh(&rs->peer_lock);
	return connected ? rds_addr_store(&addr, port, scope, uaddr) : -ENOTCONN;
}

/* Not bound: no family; connected but not bound: the peer's family, address zero. */
static int rds_getname_unbound(struct rds_sock *rs, struct sockaddr *uaddr)
{
	bool v6;

	spin_lock_bh(&rs->peer_lock);
	v6 = rs->connected && !ipv6_addr_v4mapped(&rs->peer_addr);
	uaddr->sa_family = rs->connected ? (v6 ? AF_INET6 : AF_INET) : AF_UNSPEC;
	spin_unlock_bh(&rs->peer_lock);
	if (v6)
		return sizeof(struct sockaddr_in6);
	return sizeof(struct sockaddr_in);
}

static int rds_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	memset(uaddr, 0, sizeof(struct sockaddr_in6));
	if (peer)
		return rds_getname_peer(rs, uaddr);
	if (!rds_sock_trans(rs))
		return rds_getname_unbound(rs, uaddr);
	return rds_addr_store(&rs->bound.addr, rs->bound.port, rs->bound.scope, uaddr);
}

static __poll_t rds_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs = rds_sk(sk);
	__poll_t mask = 0;

	sock_poll_wait(file, sock, wait);
	/* with a monitor also for ports that are free again */
	if (rds_sock_readable(rs))
		mask |= EPOLLIN | EPOLLRDNORM;
	/* reported once: a port that this socket was refused for may be free now */
	if (READ_ONCE(rs->cong_news) && xchg(&rs->cong_news, false))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
	if (rds_sock_writable(rs))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (sk->sk_err || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/* A receiver that found the socket before it left the table may still look at it: it sees "released"
 * under rcv_lock and leaves lmap alone, and takes the domain under peer_lock for a pointer's value.
 */
static void rds_release_caches(struct rds_sock *rs)
{
	struct rds_domain *domain;
	struct rds_conn *conn;

	spin_lock_bh(&rs->peer_lock);
	domain = rs->domain;
	conn = rs->conn;
	rs->domain = NULL;
	rs->conn = NULL;
	spin_unlock_bh(&rs->peer_lock);
	if (conn)
		rds_conn_put(conn);
	rds_domain_put(domain);
	rds_cong_map_put(rs->lmap);
	rs->lmap = NULL;
}

static int rds_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs;

	if (!sk)
		return 0;
	rs = rds_sk(sk);
	rds_sock_delist(rs);
	rds_sock_stop_receiving(rs);
	if (rs->trans)
		rds_bind_remove(rs->rn, rs);
	rds_sock_cancel(rs, NULL, 0);
	rds_sock_wait_ops(rs, NULL, 0);
	rds_mr_free_all(rs);
	rds_notify_purge(rs);
	rds_cong_forget_sock(rs);
	sock_orphan(sk);
	sock->sk = NULL;
	rds_release_caches(rs);
	if (rs->trans)
		rds_transport_leave(rs->trans, rs->rn);
	sock_put(sk);
	return 0;
}

static const struct proto_ops rds_proto_ops = {
	.family		= PF_RDS,
	.owner		= THIS_MODULE,
	.release	= rds_release,
	.bind		= rds_bind,
	.connect	= rds_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= rds_getname,
	.poll		= rds_poll,
	.ioctl		= rds_ioctl,
	.listen		= sock_no_listen,
	.shutdown	= sock_no_shutdown,
	.setsockopt	= rds_setsockopt,
	.getsockopt	= rds_getsockopt,
	.sendmsg	= rds_sendmsg,
	.recvmsg	= rds_recvmsg,
	.mmap		= sock_no_mmap,
};

static struct proto rds_proto = {
	.name		= "RDS",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct rds_sock),
};

static void rds_sock_destruct(struct sock *sk)
{
	put_pid(rds_sk(sk)->creator);
}

static void rds_sock_init(struct rds_sock *rs, struct net *net)
{
	rs->rn = rds_net(net);
	rs->creator = get_pid(task_tgid(current));
	rs->sk.sk_destruct = rds_sock_destruct;
	spin_lock_init(&rs->peer_lock);
	spin_lock_init(&rs->snd_lock);
	spin_lock_init(&rs->rcv_lock);
	spin_lock_init(&rs->mr_lock);
	INIT_LIST_HEAD(&rs->sending);
	INIT_LIST_HEAD(&rs->ops);
	INIT_LIST_HEAD(&rs->received);
	INIT_LIST_HEAD(&rs->notifies);
	rs->cong_refusals = RB_ROOT;
	INIT_LIST_HEAD(&rs->mrs);
	INIT_LIST_HEAD(&rs->revoking);
}

static int rds_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct sock *sk;

	if (!READ_ONCE(rds_family_open))
		return -EAFNOSUPPORT;
	if (sock->type != SOCK_SEQPACKET || protocol)
		return -ESOCKTNOSUPPORT;
	sk = sk_alloc(net, AF_RDS, GFP_KERNEL, &rds_proto, kern);
	if (!sk)
		return -ENOMEM;
	sock->ops = &rds_proto_ops;
	sock_init_data(sock, sk);
	sock_set_flag(sk, SOCK_RCU_FREE);	/* found by bind.c under RCU */
	rds_sock_init(rds_sk(sk), net);
	rds_sock_enlist(rds_sk(sk));
	return 0;
}

static const struct net_proto_family rds_family = {
	.family	= AF_RDS,
	.create	= rds_create,
	.owner	= THIS_MODULE,
};

/* One line that tells who has the family, and what to do about it. */
static void rds_family_say_taken(void)
{
	struct socket *sock;
	const char *owner = "this kernel";

	if (sock_create_kern(&init_net, AF_RDS, SOCK_SEQPACKET, 0, &sock)) {
		pr_err("rds_sockets: AF_RDS is taken by another RDS stack: unload it first (modprobe -r rds_rdma rds_tcp rds)\n");
		return;
	}
	if (sock->ops->owner)
		owner = module_name(sock->ops->owner);
	pr_err("rds_sockets: AF_RDS is taken by %s: unload it first (modprobe -r rds_rdma rds_tcp %s)\n",
	       owner, owner);
	sock_release(sock);
}

int rds_family_init(void)
{
	int err;

	err = sock_register(&rds_family);
	if (err == -EEXIST)
		rds_family_say_taken();
	if (err)
		return err;
	err = proto_register(&rds_proto, 1);
	if (err)
		sock_unregister(AF_RDS);
	return err;
}

void rds_family_start(void)
{
	WRITE_ONCE(rds_family_open, true);
}

void rds_family_exit(void)
{
	WRITE_ONCE(rds_family_open, false);
	sock_unregister(AF_RDS);
	proto_unregister(&rds_proto);
}
