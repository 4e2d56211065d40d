// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Loopback: 127.0.0.0/8, ::1, and a device's address that talks to itself.  Both ends are sockets
 * of this namespace, and RDMA is a copy between their pinned pages, with the same keys, errors and
 * notifications as on a device.
 */
#include "transport.h"

#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "cong.h"
#include "conn.h"
#include "deliver.h"
#include "inc.h"
#include "mr.h"
#include "msg.h"
#include "net.h"
#include "payload.h"
#include "sock.h"
#include "stats.h"
#include "trace.h"
#include "xmit.h"

/* Keys for 127.0.0.0/8 and ::1.  They are valid in their namespace, whose table finds them. */
static struct rds_domain rds_loop_domain = {
	.trans	 = &rds_loop_transport,
	.ref	 = REFCOUNT_INIT(1),	/* never given up */
	.atomics = true,
	.max_mr_pages = RDS_MR_MAX_PAGES,
};

static struct rds_domain *rds_loop_domain_get(struct rds_net *rn, const struct in6_addr *addr,
					      u32 scope)
{
	if (!ipv6_addr_loopback(addr) &&
	    !(ipv6_addr_v4mapped(addr) && ipv4_is_loopback(addr->s6_addr32[3])))
		return ERR_PTR(-EADDRNOTAVAIL);
	return rds_domain_get(&rds_loop_domain);
}

static struct rds_ep *rds_loop_connect(struct rds_path *path)
{
	struct rds_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);

	if (!ep)
		return ERR_PTR(-ENOMEM);
	rds_ep_init(ep, &rds_loop_transport, path, true);
	return ep;
}

static void rds_loop_close(struct rds_ep *ep)
{
	/* every operation and message was over when xmit returned */
}

static void rds_loop_release(struct rds_ep *ep)
{
	kfree(ep);
}

static bool rds_loop_allowed(const struct rds_conn *conn, const struct rds_op *op,
			     const struct rds_mr *mr)
{
	u64 offset = op->raddr - mr->offset;

	/* a key opens only what its owner's peers may see: memory at the address we talk to */
	if (!ipv6_addr_equal(&mr->rs->bound.addr, &conn->key.faddr))
		return false;
	if (op->raddr < mr->offset || offset > mr->len || op->len > mr->len - offset)
		return false;
	return op->kind == RDS_OP_READ || mr->pin.writable;
}

/* Where peers use the key through a device, only the device itself is one step with what they do. */
static int rds_loop_atomic(struct rds_op *op, struct rds_mr *mr, u32 offset)
{
	struct rds_domain *domain = mr->key.domain;

	if (domain->trans->atomic)
		return domain->trans->atomic(domain, op);
	rds_pin_store(&op->pin, rds_pin_atomic(&mr->pin, offset, &op->atomic));
	return RDS_RDMA_SUCCESS;
}

/* Move bytes between the operation's pages and the region that its key names. */
static int rds_loop_run(struct rds_conn *conn, struct rds_op *op, struct rds_mr *mr)
{
	u64 offset = op->raddr - mr->offset;

	if (!rds_loop_allowed(conn, op, mr))
		return RDS_RDMA_REMOTE_ERROR;
	switch (op->kind) {
	case RDS_OP_READ:
		rds_pin_copy(&op->pin, 0, &mr->pin, offset, op->len);
		break;
	case RDS_OP_WRITE:
		rds_pin_copy(&mr->pin, offset, &op->pin, 0, op->len);
		break;
	case RDS_OP_ATOMIC:
		return rds_loop_atomic(op, mr, offset);
	}
	rds_stat_add(conn->rn, rdma_copied_bytes, op->len);
	return RDS_RDMA_SUCCESS;
}

/* Both ends are in the sender's domain.  The socket is held until the operation is done. */
static int rds_loop_op(struct rds_conn *conn, struct rds_op *op)
{
	struct rds_mr *mr = rds_mr_copy_begin(op->msg->rs, op->rkey);
	int status;

	if (!mr)
		return RDS_RDMA_REMOTE_ERROR;
	status = rds_loop_run(conn, op, mr);
	rds_mr_copy_end(mr);
	return status;
}

/* An echo: back to the sender's port, from port 0. */
static void rds_loop_pong(struct rds_conn *conn, const struct rds_msg *ping)
{
	struct rds_header hdr;
	struct rds_inc *inc;

	rds_stat_inc(conn->rn, recv_ping);
	trace_rds_ping(conn, ping->hdr.sport);
	if (!ping->hdr.sport)
		return;
	/* nobody else bounds what a socket gets that pings and does not read */
	if (rds_cong_test_port(conn->lmap, ping->hdr.sport)) {
		rds_stat_inc(conn->rn, pong_dropped);
		return;
	}
	rds_header_init(&hdr, 0, 0, 0, ping->hdr.sport);
	inc = rds_inc_alloc(&hdr, &conn->key.faddr, &conn->key.laddr, conn->key.scope, GFP_ATOMIC);
	if (!inc)
		return;
	rds_stat_inc(conn->rn, send_pong);
	rds_deliver(conn->rn, inc);
}

static int rds_loop_deliver(struct rds_conn *conn, struct rds_msg *msg)
{
	struct rds_inc *inc;

	conn->path.rx.next = msg->seq + 1;
	if (msg->hdr.dport == htons(RDS_PORT_PING) && READ_ONCE(conn->rn->sysctl.ping_enable)) {
		rds_loop_pong(conn, msg);
		return 0;
	}
	inc = rds_inc_alloc(&msg->hdr, &conn->key.laddr, &conn->key.faddr, conn->key.scope,
			    GFP_ATOMIC);
	if (!inc)
		return -ENOMEM;
	if (msg->payload)
		inc->payload = rds_payload_get(msg->payload);
	rds_deliver(conn->rn, inc);
	return 0;
}

/* What follows a failed operation is not run, as on a device. */
static int rds_loop_ops(struct rds_conn *conn, struct rds_msg *msg)
{
	int status = RDS_RDMA_SUCCESS;
	struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(msg, i, op) {
		if (op->state != RDS_OP_NEW)
			continue;
		op->state = RDS_OP_POSTED;
		if (status == RDS_RDMA_SUCCESS) {
			status = rds_loop_op(conn, op);
			rds_op_done(op, status);
		} else {
			rds_op_done(op, RDS_RDMA_DROPPED);
		}
	}
	return status;
}

static int rds_loop_xmit(struct rds_ep *ep, struct rds_msg *msg)
{
	struct rds_conn *conn = rds_path_conn(ep->path);
	int status;

	/* an atomic may wait for a device */
	if (msg->nr_ops && !rds_xmit_may_sleep()) {
		rds_path_post(ep->path, RDS_PATH_XMIT);
		return -EAGAIN;
	}
	status = rds_loop_ops(conn, msg);
	/* on a device a failed operation takes its message with it, too */
	if (status != RDS_RDMA_SUCCESS) {
		rds_path_cancel(msg, RDS_RDMA_DROPPED);
		return 0;
	}
	if (msg->has_send && rds_loop_deliver(conn, msg)) {
		/* no memory: the worker tries again */
		rds_path_post(ep->path, RDS_PATH_XMIT);
		return -EAGAIN;
	}
	return 0;
}

static void rds_loop_flush(struct rds_ep *ep)
{
	rds_path_acked(ep, ep->tx_done);
}

/* Random keys: nobody who was not told one should hit it by counting. */
static int rds_loop_mr_register(struct rds_domain *domain, struct rds_mr *mr)
{
	do {
		mr->key.rkey = get_random_u32();
	} while (!mr->key.rkey);
	mr->cookie = rds_cookie(mr->key.rkey, mr->offset);
	return 0;
}

static void rds_loop_mr_unregister(struct rds_domain *domain, struct rds_mr *mr)
{
	/* off the table it cannot be found; rds_mr_copy_begin() has the rest */
}

const struct rds_transport rds_loop_transport = {
	.name		= "loopback",
	.type		= 3,
	.loopback	= true,
	.masked_atomics	= true,
	.domain_get	= rds_loop_domain_get,
	.connect	= rds_loop_connect,
	.close		= rds_loop_close,
	.release	= rds_loop_release,
	.xmit		= rds_loop_xmit,
	.flush		= rds_loop_flush,
	.mr_register	= rds_loop_mr_register,
	.mr_unregister	= rds_loop_mr_unregister,
};
