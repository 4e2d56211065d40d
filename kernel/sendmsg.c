// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sendmsg(): parse, check, build, wait for room, pin, queue, transmit. */
#include "sock.h"

#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include "addr.h"
#include "cmsg.h"
#include "cong.h"
#include "conn.h"
#include "mr.h"
#include "msg.h"
#include "net.h"
#include "notify.h"
#include "payload.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"
#include "xmit.h"

/* Mainline refuses all but the first two (and what a 32-bit caller adds): write() adds MSG_EOR,
 * sendmmsg() MSG_BATCH, io_uring and many libraries MSG_NOSIGNAL, and all of them are harmless.
 */
#define RDS_SEND_FLAGS \
	(MSG_DONTWAIT | MSG_ZEROCOPY | MSG_CMSG_COMPAT | MSG_NOSIGNAL | MSG_EOR | MSG_BATCH)

/* With the send buffer full, a peer that has fewer messages queued than this, and less than this part of the
 * buffer, may have more.  Of very many queued messages, only the newest are looked at.
 */
#define RDS_SEND_SHARE_MSGS	8
#define RDS_SEND_SHARE_PART	8
#define RDS_SEND_LOOK_BACK	1024

/* What one call is about. */
struct rds_send {
	struct rds_sock		*rs;
	struct rds_addr		to;
	u32			len;
	long			timeo;		/* jiffies left to wait */
	struct rds_send_req	req;
	struct rds_iovec	*iov;		/* local ranges of an operation, checked */
	u64			op_bytes;
	u64			op_pages;
	struct rds_atomic	atomic;
	u64			map_cookie;	/* registered by this call */
	bool			mapped;
	struct rds_conn		*conn;
	struct rds_msg		*msg;
};

/* Checks without effect, in the order in which mainline finds things wrong */

static int rds_send_dest(struct rds_send *s, struct msghdr *m)
{
	struct rds_sock *rs = s->rs;
	bool connected;

	if (m->msg_namelen) {
		if (m->msg_namelen < (int)sizeof(struct sockaddr_in) ||
		    rds_addr_parse(m->msg_name, m->msg_namelen, &s->to) ||
		    s->to.kind != RDS_ADDR_UNICAST || (s->to.link_local && !s->to.scope))
			return -EINVAL;
		connected = true;
	} else {
		spin_lock_bh(&rs->peer_lock);
		connected = rs->connected;
		s->to.addr = rs->peer_addr;
		s->to.port = rs->peer_port;
		s->to.scope = rs->peer_scope;
		spin_unlock_bh(&rs->peer_lock);
		s->to.v4 = ipv6_addr_v4mapped(&s->to.addr);
	}
	if (!rds_sock_trans(rs) || !connected)
		return -ENOTCONN;
	if (s->to.v4 != ipv6_addr_v4mapped(&rs->bound.addr))
		return -EOPNOTSUPP;
	if (s->to.scope && rs->bound.scope && s->to.scope != rs->bound.scope)
		return -EINVAL;
	return 0;
}

static int rds_send_check_size(struct rds_send *s, size_t len, u64 rdma_bytes)
{
	if (len > RDS_MSG_MAX || len > rds_sndbuf(s->rs) ||
	    rdma_bytes > READ_ONCE(s->rs->rn->sysctl.max_rdma_bytes))
		return -EMSGSIZE;
	s->len = len;
	return 0;
}

/* The local ranges are read once, here; all that follows works on this copy. */
static int rds_send_import_iov(struct rds_send *s, const struct rds_rdma_args *args)
{
	size_t bytes = args->nr_local * sizeof(*s->iov);

	kvfree(s->iov);
	s->iov = kvmalloc(bytes, GFP_KERNEL);
	if (!s->iov)
		return -ENOMEM;
	if (copy_from_user(s->iov, u64_to_user_ptr(args->local_vec_addr), bytes))
		return -EFAULT;
	return rds_rdma_check_local(s->iov, args->nr_local, PAGE_SIZE, &s->op_bytes, &s->op_pages);
}

/* That there is one operation at most is found later, as in mainline. */
static int rds_send_import_rdma(struct rds_send *s, const struct msghdr *m)
{
	struct rds_rdma_args args;
	long offset = 0;
	int err;

	while ((offset = rds_cmsg_next_rdma(m->msg_control, m->msg_controllen, offset, &args)) > 0) {
		err = rds_send_import_iov(s, &args);
		if (err)
			return err;
	}
	return offset;
}

static int rds_send_check_types(const struct msghdr *m)
{
	int types = rds_cmsg_types(m->msg_control, m->msg_controllen);

	if (types < 0)
		return types;
	if (m->msg_flags & MSG_ZEROCOPY && !(types & BIT(RDS_CMSG_ZCOPY_COOKIE)))
		return -EINVAL;
	return 0;
}

static int rds_send_check(struct rds_send *s, struct msghdr *m, size_t len)
{
	u64 rdma_bytes;
	int err;

	if (m->msg_flags & ~RDS_SEND_FLAGS)
		return -EOPNOTSUPP;
	err = rds_send_dest(s, m);
	if (err)
		return err;
	err = rds_cmsg_check_form(m->msg_control, m->msg_controllen, &rdma_bytes);
	if (err)
		return err;
	err = rds_send_check_size(s, len, rdma_bytes);
	if (err)
		return err;
	/* only TCP sends from user pages */
	if (m->msg_flags & MSG_ZEROCOPY && sock_flag(&s->rs->sk, SOCK_ZEROCOPY))
		return -EOPNOTSUPP;
	err = rds_send_import_rdma(s, m);
	if (err)
		return err;
	return rds_send_check_types(m);
}

/* The message */

static int rds_send_check_atomics_work(struct rds_send *s)
{
	struct rds_domain *domain = rds_sock_domain(s->rs);
	bool work;

	if (IS_ERR(domain))
		return PTR_ERR(domain);
	work = domain->atomics;
	rds_domain_put(domain);
	return work ? 0 : -EOPNOTSUPP;
}

static int rds_send_check_atomic(struct rds_send *s)
{
	const struct rds_atomic_args *args = &s->req.atomic;

	rds_atomic_init(&s->atomic, s->req.atomic_type, args);
	if (!rds_atomic_is_plain(&s->atomic) && !rds_sock_trans(s->rs)->masked_atomics)
		return -EOPNOTSUPP;
	if (!IS_ALIGNED(args->local_addr, sizeof(u64)))
		return -EFAULT;
	/* no device would do it, and one that is asked ends the connection */
	if (!IS_ALIGNED(args->remote_addr + rds_cookie_offset(args->cookie), sizeof(u64)))
		return -EINVAL;
	return rds_send_check_atomics_work(s);
}

static int rds_send_check_control(struct rds_send *s, const struct msghdr *m)
{
	int err;

	err = rds_cmsg_parse(&s->req, m->msg_control, m->msg_controllen);
	if (err)
		return err;
	/* a cookie is for a message that is sent from user pages; and none is */
	if (s->req.has_zcopy)
		return -EINVAL;
	if (s->req.has_rdma && s->op_bytes > s->req.rdma.remote_vec.bytes)
		return -EINVAL;
	if (s->req.has_dest && !rds_mr_owned(s->rs, s->req.dest_cookie))
		return -EINVAL;
	return s->req.has_atomic ? rds_send_check_atomic(s) : 0;
}

/* Have the application told by @token: of the end, or with RDS_RECVERR alone of a failure.  NULL: no memory, or it
 * does not read what it asked for before.
 */
static struct rds_notify *rds_send_notify(struct rds_send *s, u64 token, bool always)
{
	struct rds_sock *rs = s->rs;
	struct rds_notify *n;

	if (READ_ONCE(rs->nr_notifies) >= READ_ONCE(rs->rn->sysctl.socket_max_notifications)) {
		rds_stat_inc(rs->rn, limit_notifications);
		return NULL;
	}
	n = kzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	if (!n)
		return NULL;
	n->token = token;
	n->failures_only = !always;
	/* the application waits for the end of the whole message */
	if (always)
		s->msg->hdr.flags |= RDS_FLAG_ACK_REQUIRED;
	return n;
}

/* Append an operation on @remote, counted from the first byte of @cookie.  NULL: no memory. */
static struct rds_op *rds_send_add_op(struct rds_send *s, u64 cookie, u64 remote, u64 flags,
				      u64 token)
{
	struct rds_msg *msg = s->msg;
	struct rds_op *op;

	op = kzalloc(sizeof(*op), GFP_KERNEL_ACCOUNT);
	if (!op)
		return NULL;
	op->msg = msg;
	INIT_LIST_HEAD(&op->sock_item);
	op->fence = flags & RDS_RDMA_FENCE;
	op->rkey = rds_cookie_rkey(cookie);
	op->raddr = remote + rds_cookie_offset(cookie);
	msg->ops[msg->nr_ops++] = op;
	if (!(flags & RDS_RDMA_SILENT))
		msg->has_send = true;

	if (!(flags & RDS_RDMA_NOTIFY_ME) && !s->rs->recverr)
		return op;
	op->notify = rds_send_notify(s, token, flags & RDS_RDMA_NOTIFY_ME);
	/* without memory for it, the operation goes with its message */
	return op->notify ? op : NULL;
}

static int rds_send_build_rdma(struct rds_send *s)
{
	const struct rds_rdma_args *args = &s->req.rdma;
	struct rds_op *op;

	op = rds_send_add_op(s, args->cookie, args->remote_vec.addr, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	op->kind = args->flags & RDS_RDMA_READWRITE ? RDS_OP_WRITE : RDS_OP_READ;
	op->len = s->op_bytes;
	rds_ext_add_rdma(&s->msg->hdr, op->rkey);
	return 0;
}

static int rds_send_build_atomic(struct rds_send *s)
{
	const struct rds_atomic_args *args = &s->req.atomic;
	struct rds_op *op;

	op = rds_send_add_op(s, args->cookie, args->remote_addr, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	op->kind = RDS_OP_ATOMIC;
	op->atomic = s->atomic;
	op->len = sizeof(u64);
	return 0;
}

static int rds_send_build_ops(struct rds_send *s)
{
	int err = 0;

	if (!s->req.has_rdma && !s->req.has_atomic)
		return 0;
	/* silent operations without payload need none */
	s->msg->has_send = s->len;
	if (s->req.has_rdma)
		err = rds_send_build_rdma(s);
	if (!err && s->req.has_atomic)
		err = rds_send_build_atomic(s);
	return err;
}

/* What control messages ask for, as far as nobody else sees of it. */
static int rds_send_add_control(struct rds_send *s, const struct msghdr *m)
{
	int err;

	err = rds_send_check_control(s, m);
	if (err)
		return err;
	if (s->req.has_dest)
		rds_ext_add_dest(&s->msg->hdr, s->req.dest_cookie);
	if (s->req.has_async && s->req.async.flags & RDS_SEND_NOTIFY_ME) {
		s->msg->notify = rds_send_notify(s, s->req.async.user_token, true);
		if (!s->msg->notify)
			return -ENOMEM;
	}
	return rds_send_build_ops(s);
}

static int rds_send_build(struct rds_send *s, struct msghdr *m)
{
	struct rds_msg *msg = rds_msg_alloc(GFP_KERNEL);
	struct rds_payload *payload;

	if (!msg)
		return -ENOMEM;
	s->msg = msg;
	msg->len = s->len;
	rds_header_init(&msg->hdr, 0, s->len, s->rs->bound.port, s->to.port);
	if (s->len) {
		payload = rds_payload_from_iter(&m->msg_iter, s->len);
		if (IS_ERR(payload))
			return PTR_ERR(payload);
		msg->payload = payload;
		rds_stat_add(s->rs->rn, copy_from_user, s->len);
	}
	return rds_send_add_control(s, m);
}

/* The connection */

static struct rds_conn *rds_send_cached_conn(struct rds_sock *rs, const struct rds_conn_key *key)
{
	struct rds_conn *conn;

	spin_lock_bh(&rs->peer_lock);
	conn = rs->conn;
	if (conn && memcmp(&conn->key, key, sizeof(*key)))
		conn = NULL;
	if (conn)
		rds_conn_get(conn);
	spin_unlock_bh(&rs->peer_lock);
	return conn;
}

/* An address talks to itself without the fabric. */
static const struct rds_transport *rds_send_transport(const struct rds_send *s)
{
	if (ipv6_addr_equal(&s->to.addr, &s->rs->bound.addr))
		return &rds_loop_transport;
	return s->rs->trans;
}

static int rds_send_find_conn(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_conn_key key = {
		.laddr	= rs->bound.addr,
		.faddr	= s->to.addr,
		.trans	= rds_send_transport(s),
		.scope	= s->to.scope ?: rs->bound.scope,
	};
	struct rds_conn *conn, *old;

	if (!key.trans->loopback)
		key.tos = READ_ONCE(rs->tos);
	conn = rds_send_cached_conn(rs, &key);
	if (!conn) {
		conn = rds_conn_get_or_create(rs->rn, &key, RDS_CONN_BY_SENDER);
		if (IS_ERR(conn))
			return PTR_ERR(conn);
		spin_lock_bh(&rs->peer_lock);
		old = rs->conn;
		rs->conn = rds_conn_get(conn);
		spin_unlock_bh(&rs->peer_lock);
		if (old)
			rds_conn_put(old);
	}
	s->conn = conn;
	return 0;
}

/* Room in the send buffer: taken, the message is the socket's */

/* Does the peer have less queued than its share?  Whoever has filled the buffer alone has not: its newest messages
 * are enough, in number or in bytes.
 */
static bool rds_send_has_share(const struct rds_send *s)
{
	const struct rds_sock *rs = s->rs;
	unsigned int looked = 0, msgs = 0;
	const struct rds_msg *msg;
	u32 bytes = 0;

	lockdep_assert_held(&rs->snd_lock);
	list_for_each_entry_reverse(msg, &rs->sending, sock_item) {
		if (looked++ == RDS_SEND_LOOK_BACK)
			break;
		/* written without snd_lock; it is no more than compared */
		if (READ_ONCE(msg->path) != &s->conn->path)
			continue;
		bytes += msg->len;
		if (++msgs == RDS_SEND_SHARE_MSGS || bytes >= rds_sndbuf(rs) / RDS_SEND_SHARE_PART)
			return false;
	}
	return true;
}

/* A peer that takes nothing must not keep the socket from others: they have their shares of as much again. */
static bool rds_send_has_room(const struct rds_send *s)
{
	return rds_sock_has_room(s->rs, s->len, RDS_SND_ALL) ||
	       (rds_sock_has_room(s->rs, s->len, RDS_SND_TWICE) && rds_send_has_share(s));
}

static bool rds_send_reserve(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_msg *msg = s->msg;
	bool room;

	spin_lock_bh(&rs->snd_lock);
	room = rds_send_has_room(s);
	if (room) {
		rds_sock_charge(rs, msg);
		if (rds_sock_half_full(rs))
			msg->hdr.flags |= RDS_FLAG_ACK_REQUIRED;
		sock_hold(&rs->sk);
		msg->rs = rs;
	}
	spin_unlock_bh(&rs->snd_lock);
	return room;
}

static void rds_send_unreserve(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_msg *msg = s->msg;

	spin_lock_bh(&rs->snd_lock);
	rds_sock_uncharge(rs, msg);
	spin_unlock_bh(&rs->snd_lock);
	msg->rs = NULL;
	/* somebody may be waiting for the room that was taken meanwhile */
	rs->sk.sk_write_space(&rs->sk);
	sock_put(&rs->sk);
}

static int rds_send_wait_room(struct rds_send *s)
{
	struct sock *sk = &s->rs->sk;
	long left;

	if (rds_send_reserve(s))
		return 0;
	rds_stat_inc(s->rs->rn, send_queue_full);
	if (!s->timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(*sk_sleep(sk), rds_send_reserve(s), s->timeo);
	if (left < 0)
		return sock_intr_errno(s->timeo);
	return left ? 0 : -ETIMEDOUT;
}

/* Pin and register */

static int rds_send_pin_op(struct rds_send *s, struct rds_op *op)
{
	const struct rds_iovec word = { .addr = s->req.atomic.local_addr, .bytes = sizeof(u64) };
	struct rds_domain *domain = rds_sock_domain(s->rs);
	bool writable = op->kind != RDS_OP_WRITE;
	int err;

	/* the device is away, and may come back before the operation's turn */
	if (IS_ERR(domain))
		domain = NULL;
	if (op->kind == RDS_OP_ATOMIC)
		err = rds_pin_user(&op->pin, s->rs, domain, &word, 1, 1, writable);
	else
		err = rds_pin_user(&op->pin, s->rs, domain, s->iov, s->req.rdma.nr_local,
				   s->op_pages, writable);
	rds_domain_put(domain);
	if (err)
		return err;
	atomic_inc(&s->msg->parts);
	atomic_inc(&s->msg->ops_left);
	rds_sock_op_begin(s->rs, op);
	return 0;
}

static int rds_send_pin(struct rds_send *s)
{
	struct rds_op *op;
	unsigned int i;
	int err;

	if (s->req.has_map) {
		err = rds_mr_create(s->rs, &s->req.map, &s->map_cookie);
		if (err)
			return err;
		s->mapped = true;
		rds_ext_add_dest(&s->msg->hdr, s->map_cookie);
	}
	rds_msg_for_each_op(s->msg, i, op) {
		err = rds_send_pin_op(s, op);
		if (err)
			return err;
	}
	return 0;
}

static void rds_send_unpin(struct rds_send *s)
{
	struct rds_op *op;
	unsigned int i;

	if (s->mapped)
		rds_mr_free(s->rs, s->map_cookie);
	rds_msg_for_each_op(s->msg, i, op) {
		if (!op->pin.mm)
			continue;
		rds_pin_release(&op->pin);
		atomic_dec(&s->msg->parts);
		atomic_dec(&s->msg->ops_left);
		rds_sock_op_over(s->rs, op);
	}
}

static void rds_send_count_op(struct rds_net *rn, const struct rds_op *op)
{
	switch (op->kind) {
	case RDS_OP_READ:
		rds_stat_add(rn, rdma_read_bytes, op->len);
		break;
	case RDS_OP_WRITE:
		rds_stat_add(rn, rdma_write_bytes, op->len);
		break;
	case RDS_OP_ATOMIC:
		rds_stat_inc(rn, atomics);
		return;
	}
	rds_stat_inc(rn, send_rdma);
	rds_stat_add(rn, send_rdma_bytes, op->len);
}

static void rds_send_count(struct rds_send *s)
{
	struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(s->msg, i, op) {
		trace_rds_op_queued(op, 0);
		rds_send_count_op(s->rs->rn, op);
	}
}

static int rds_send_queue(struct rds_send *s)
{
	int err;

	err = rds_cong_wait(s->conn->fmap, s->to.port, s->rs, &s->timeo);
	if (!err)
		err = rds_send_wait_room(s);
	if (err) {
		trace_rds_send_refused(s->conn, s->rs->bound.port, s->to.port, s->len, err);
		return err;
	}
	err = rds_send_pin(s);
	if (err)
		goto undo;
	rds_msg_get(s->msg);	/* the path's */
	err = rds_path_queue(s->conn, s->msg);
	if (err) {
		rds_msg_put(s->msg);
		goto undo;
	}
	rds_send_count(s);
	rds_path_xmit(&s->conn->path);
	return 0;

undo:
	rds_send_unpin(s);
	rds_send_unreserve(s);
	return err;
}

static void rds_send_end(struct rds_send *s)
{
	kvfree(s->iov);
	if (s->msg)
		rds_msg_put(s->msg);
	if (s->conn)
		rds_conn_put(s->conn);
	kfree(s);
}

int rds_sendmsg(struct socket *sock, struct msghdr *m, size_t len)
{
	size_t left = msg_data_left(m);
	struct rds_send *s;
	int err;

	/* 400 bytes: too much for the stack of a call that goes down to a driver */
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->rs = rds_sk(sock->sk);
	s->timeo = sock_sndtimeo(sock->sk, m->msg_flags & MSG_DONTWAIT);
	err = rds_send_check(s, m, len);
	if (!err)
		err = rds_send_build(s, m);
	/* a message that is refused makes no connection */
	if (!err)
		err = rds_send_find_conn(s);
	if (!err)
		err = rds_send_queue(s);
	rds_send_end(s);
	if (!err)
		return len;
	/* io_uring makes the same call again, when there is room, with what is left of the payload */
	iov_iter_revert(&m->msg_iter, left - msg_data_left(m));
	return err;
}
