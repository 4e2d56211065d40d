// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connecting.
 *
 * The CM's callbacks take down what they learn and post an event; the path's worker does the rest.
 * Only a request that cannot be meant for us is answered in the callback.  An endpoint and its CM id
 * refer to each other until close() destroys the id, after which no callback comes.
 */
#include "ib_cm.h"

#include <linux/delay.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <rdma/ib_cm.h>
#include "cm_priv.h"
#include "conn.h"
#include "ib_qp.h"
#include "ib_recv.h"
#include "net.h"
#include "stats.h"
#include "trace.h"

/* How long resolving an address or a route may take, in ms. */
#define RDS_IB_RESOLVE_MS	5000
/* A lost packet is sent again after 4.096 us * 2^16 = 0.27 s, and the peer given up after seven times that,
 * 1.9 s.  The CM's default for RoCE is eight times as long: a single lost packet would stop a connection
 * for 2 s, a vanished peer be noticed after 15 s.
 */
#define RDS_IB_ACK_TIMEOUT	16
/* What a peer without a receive buffer is told to wait: 0.32 ms */
#define RDS_IB_MIN_RNR_TIMER	10
#define RDS_IB_RETRY_COUNT	6	/* 7 is for ever on soft-RoCE */
#define RDS_IB_RNR_RETRY	7	/* for ever */
/* How often a port that is down is looked at when there is nothing else to do, in ms. */
#define RDS_IB_PORT_POLL_MS	100
/* How long a device may take to hear that an address has left the network, and how often it is looked, in ms. */
#define RDS_IB_GID_TIMEOUT_MS	5000
#define RDS_IB_GID_POLL_MS	10
/* How long a peer that sends may be unknown to the CM before that is told.  Its confirmation is on the way, and
 * overtaken by a few milliseconds at most, unless it was lost.
 */
#define RDS_IB_CM_NOTIFY_DELAY		HZ
/* How long the CM may take to take in that a connection is established. */
#define RDS_IB_CM_NOTIFY_TIMEOUT	(2 * HZ)
/* RDMA reads under way in each direction; each costs memory. */
#define RDS_IB_READS		16

/* The CM ids of a namespace that take requests.  Each holds the namespace. */
struct rds_ib_listener {
	struct rdma_cm_id	*id;		/* NULL: IPv6 is switched off */
	struct rds_net		*rn;
	bool			v6;
};

#define RDS_IB_LISTENERS	2

/* Addresses */

static void rds_ib_to_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr,
			       u32 scope, u16 port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = scope;
}

static void rds_ib_from_sockaddr(struct in6_addr *addr, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, addr);
	else
		*addr = sin6->sin6_addr;
}

/* Does our namespace have the local address of @conn, be it at an RDMA device or not? */
static bool rds_ib_has_address(const struct rds_conn *conn)
{
	struct rdma_dev_addr dev_addr = { .net = conn->rn->net };
	struct sockaddr_storage ss;

	rds_ib_to_sockaddr(&ss, &conn->key.laddr, conn->key.scope, 0);
	return !rdma_translate_ip((struct sockaddr *)&ss, &dev_addr);
}

static int rds_ib_no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Binding a CM id to it is how an address' device is found. */
struct rds_ib_device *rds_ib_cm_find_device(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct rds_ib_device *dev = NULL;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	/* the CM would look into tables that are not there */
	if (!ipv6_addr_v4mapped(addr) && !ipv6_mod_enabled())
		return ERR_PTR(-EADDRNOTAVAIL);
	id = rdma_create_id(net, rds_ib_no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return ERR_CAST(id);
	rds_ib_to_sockaddr(&ss, addr, scope, 0);
	err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err && id->device)
		dev = rds_ib_dev_find(id->device);
	rdma_destroy_id(id);
	return dev ?: ERR_PTR(err == -ENOMEM ? err : -EADDRNOTAVAIL);
}

/* Endpoints */

/* The worker tells the CM, whose locks are not for interrupts.
 *
 * Not at once: when the peer disconnects just then, the CM of Linux 6.1 neither calls off our reply, which it
 * does not need any more, nor lets us destroy the id before it has sent that for a minute.  One whose
 * confirmation was lost had to wait four times as long for the CM itself to find out.
 */
static void rds_ib_notify_cm(struct timer_list *timer)
{
	struct rds_ib_ep *ep = from_timer(ep, timer, notify);

	if (smp_load_acquire(&ep->stage) != RDS_IB_CONNECTED)
		rds_ep_post(&ep->ep, RDS_EP_STEP);
}

void rds_ib_peer_sends(struct rds_ib_ep *ep)
{
	if (ep->ep.active || READ_ONCE(ep->stage) == RDS_IB_CONNECTED ||
	    test_and_set_bit(RDS_IB_PEER_SENDS, &ep->flags))
		return;
	mod_timer(&ep->notify, jiffies + RDS_IB_CM_NOTIFY_DELAY);
}

static struct rds_ib_ep *rds_ib_ep_alloc(struct rds_path *path, bool active)
{
	struct rds_ib_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	rds_ep_init(&ep->ep, &rds_ib_transport, path, active);
	timer_setup(&ep->notify, rds_ib_notify_cm, 0);
	return ep;
}

void rds_ib_release(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);

	rds_payload_put(ep->rx.partial);
	kfree_rcu(ep, rcu);
}

/* No callback for @ep comes from now on. */
static void rds_ib_ep_let_go(struct rds_ib_ep *ep)
{
	rdma_destroy_id(ep->cm_id);
	rds_ib_dev_detach(ep);
	rds_ep_put(&ep->ep);	/* the CM id's */
}

static const struct rds_conn_key *rds_ib_ep_key(const struct rds_ib_ep *ep)
{
	return &rds_path_conn(ep->ep.path)->key;
}

static int rds_ib_fill_priv(const struct rds_ib_ep *ep, u16 version, void *buf)
{
	const struct rds_conn_key *key = rds_ib_ep_key(ep);
	struct rds_cm_priv priv = {
		.saddr		= key->laddr,
		.daddr		= key->faddr,
		.version	= version,
		.minor_mask	= RDS_MINOR_MASK,
		.tos		= key->tos,
		.caps		= RDS_CAP_ORDERED_DUEL | RDS_CAP_HEARTBEAT | RDS_CAP_QUIET,
		.generation	= rds_path_conn(ep->ep.path)->generation,
	};

	return rds_cm_priv_encode(&priv, !ipv6_addr_v4mapped(&key->laddr), buf);
}

static void rds_ib_take_caps(struct rds_ib_ep *ep, const struct rds_cm_priv *priv)
{
	ep->ep.ordered_duel = priv->caps & RDS_CAP_ORDERED_DUEL;
	ep->ep.heartbeat = priv->caps & RDS_CAP_HEARTBEAT;
	ep->ep.can_quiet = ep->ep.heartbeat && priv->caps & RDS_CAP_QUIET;
}

static void rds_ib_fill_param(struct rdma_conn_param *param, const struct ib_device *ibdev,
			      const void *priv, u8 len)
{
	memset(param, 0, sizeof(*param));
	param->private_data = priv;
	param->private_data_len = len;
	param->responder_resources = min(ibdev->attrs.max_qp_rd_atom, RDS_IB_READS);
	param->initiator_depth = min(ibdev->attrs.max_qp_init_rd_atom, RDS_IB_READS);
	param->retry_count = RDS_IB_RETRY_COUNT;
	param->rnr_retry_count = RDS_IB_RNR_RETRY;
}

/* Events of an endpoint */

/* What the peer answered, if anything; the side that accepted gets no data here. */
static void rds_ib_cm_established(struct rds_ib_ep *ep, const struct rdma_conn_param *param)
{
	bool v6 = !ipv6_addr_v4mapped(&rds_ib_ep_key(ep)->laddr);
	struct rds_cm_priv priv;

	if (ep->ep.active) {
		rds_cm_priv_decode(&priv, v6, param->private_data, param->private_data_len);
		if (!rds_cm_reply_version_ok(priv.version)) {
			rds_ep_drop(&ep->ep, RDS_DROP_VERSION, priv.version);
			return;
		}
		rds_ib_take_caps(ep, &priv);
		rds_ep_set_peer_generation(&ep->ep, priv.generation);
	}
	/* after the generation: see rds_ib_frame_is_early() */
	smp_store_release(&ep->stage, RDS_IB_CONNECTED);
	/* wake_up_var() looks for who waits without a lock */
	smp_mb();
	wake_up_var(&ep->stage);
	rds_ep_post(&ep->ep, RDS_EV_ESTABLISHED);
}

static void rds_ib_cm_stage(struct rds_ib_ep *ep, enum rds_ib_stage stage)
{
	smp_store_release(&ep->stage, stage);
	rds_ep_post(&ep->ep, RDS_EP_STEP);
}

/* Returns 0: the id is destroyed by close() alone. */
static int rds_ib_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rds_ib_ep *ep = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rds_ib_cm_stage(ep, RDS_IB_ADDR_RESOLVED);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rds_ib_cm_stage(ep, RDS_IB_ROUTE_RESOLVED);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rds_ib_cm_established(ep, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rds_ep_drop(&ep->ep, RDS_DROP_ADDR_ERROR, event->status);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rds_ep_drop(&ep->ep, RDS_DROP_ROUTE_ERROR, event->status);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rds_ep_drop(&ep->ep, RDS_DROP_CONNECT_ERROR, event->status);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		rds_ep_drop(&ep->ep, RDS_DROP_UNREACHABLE, event->status);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rds_ep_drop(&ep->ep, RDS_DROP_REJECTED, event->status);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		rds_ep_drop(&ep->ep, RDS_DROP_DISCONNECTED, event->status);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rds_ep_drop(&ep->ep, RDS_DROP_DEVICE_REMOVED, event->status);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rds_ep_drop(&ep->ep, RDS_DROP_ADDR_CHANGE, event->status);
		break;
	default:
		break;
	}
	return 0;
}

/* Our own request */

static void rds_ib_set_options(struct rdma_cm_id *id, u32 tos)
{
	/* none of them fails for a reliable connection; without them the defaults hold */
	rdma_set_ack_timeout(id, RDS_IB_ACK_TIMEOUT);
	rdma_set_min_rnr_timer(id, RDS_IB_MIN_RNR_TIMER);
	if (tos)
		rdma_set_service_type(id, tos);
}

static int rds_ib_resolve(struct rds_ib_ep *ep)
{
	const struct rds_conn_key *key = rds_ib_ep_key(ep);
	bool v6 = !ipv6_addr_v4mapped(&key->faddr);
	struct sockaddr_storage src, dst;
	int err;

	rds_ib_to_sockaddr(&src, &key->laddr, key->scope, 0);
	rds_ib_to_sockaddr(&dst, &key->faddr, key->scope,
			   v6 ? RDS_CM_PORT_V6 : RDS_CM_PORT_V4);
	err = rdma_resolve_addr(ep->cm_id, (struct sockaddr *)&src, (struct sockaddr *)&dst,
				RDS_IB_RESOLVE_MS);
	return err && !rds_ib_has_address(rds_path_conn(ep->ep.path)) ? -EADDRNOTAVAIL : err;
}

struct rds_ep *rds_ib_connect(struct rds_path *path)
{
	struct rds_ib_ep *ep = rds_ib_ep_alloc(path, true);
	int err;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	rds_ep_get(&ep->ep);	/* the CM id's */
	ep->cm_id = rdma_create_id(rds_path_conn(path)->rn->net, rds_ib_cm_event, ep, RDMA_PS_TCP,
				   IB_QPT_RC);
	if (IS_ERR(ep->cm_id)) {
		err = PTR_ERR(ep->cm_id);
		rds_ep_put(&ep->ep);
		goto out_put;
	}
	rds_ib_set_options(ep->cm_id, rds_ib_ep_key(ep)->tos);
	err = rds_ib_resolve(ep);
	if (err) {
		rds_ib_ep_let_go(ep);
		goto out_put;
	}
	return &ep->ep;

out_put:
	rds_ep_put(&ep->ep);
	return ERR_PTR(err);
}

static int rds_ib_resolve_route(struct rds_ib_ep *ep)
{
	int err;

	err = rds_ib_dev_attach(ep, ep->cm_id);
	if (err)
		return err;
	return rdma_resolve_route(ep->cm_id, RDS_IB_RESOLVE_MS);
}

/* Mainline's rule, which fabrics are set up for: the service level is the low half of the type of service.  Without
 * one, what the route's resolution came up with.
 */
static void rds_ib_choose_level(struct rds_ib_ep *ep)
{
	u32 tos = rds_ib_ep_key(ep)->tos;

	if (tos)
		ep->cm_id->route.path_rec->sl = tos & 0xf;
}

static int rds_ib_request(struct rds_ib_ep *ep)
{
	struct rdma_conn_param param;
	u8 priv[RDS_CM_PRIV_LEN_V6];
	int err;

	err = rds_ib_qp_create(ep);
	if (err)
		return err;
	rds_ib_choose_level(ep);
	rds_ib_fill_param(&param, ep->dev->ibdev, priv,
			  rds_ib_fill_priv(ep, RDS_VERSION_3_1, priv));
	return rdma_connect(ep->cm_id, &param);
}

int rds_ib_step(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);

	switch (smp_load_acquire(&ep->stage)) {
	case RDS_IB_ADDR_RESOLVED:
		return rds_ib_resolve_route(ep);
	case RDS_IB_ROUTE_RESOLVED:
		return rds_ib_request(ep);
	case RDS_IB_RESOLVING:
		/* one that the peer asked for, until the CM has heard of its confirmation */
		if (!base->active && test_bit(RDS_IB_PEER_SENDS, &ep->flags) &&
		    !rdma_notify(ep->cm_id, IB_EVENT_COMM_EST))
			set_bit(RDS_IB_CM_NOTIFIED, &ep->flags);
		break;
	case RDS_IB_CONNECTED:
		break;
	}
	return 0;
}

/* The peer's request */

int rds_ib_accept(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);
	struct rdma_conn_param param;
	u8 priv[RDS_CM_PRIV_LEN_V6];
	int err;

	if (rds_ep_is_dropped(base))
		return -ECONNABORTED;
	rds_ib_set_options(ep->cm_id, rds_ib_ep_key(ep)->tos);
	rds_ep_set_peer_generation(base, ep->peer_generation);
	err = rds_ib_qp_create(ep);
	if (err)
		return err;
	rds_ib_fill_param(&param, ep->dev->ibdev, priv, rds_ib_fill_priv(ep, ep->version, priv));
	param.initiator_depth = min(param.initiator_depth, ep->initiator_depth);
	param.responder_resources = min(param.responder_resources, ep->responder_resources);
	rdma_lock_handler(ep->cm_id);
	err = rdma_accept(ep->cm_id, &param);
	rdma_unlock_handler(ep->cm_id);
	return err;
}

static void rds_ib_send_reject(struct rdma_cm_id *id)
{
	int code = RDS_REJECT_CODE;

	rdma_reject(id, &code, sizeof(code), IB_CM_REJ_CONSUMER_DEFINED);
}

void rds_ib_reject(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);

	rds_stat_inc(rds_path_conn(base->path)->rn, ib_connect_raced);
	rds_ib_send_reject(ep->cm_id);
	rds_ib_ep_let_go(ep);
}

static bool rds_ib_port_is_down(const struct rds_ib_ep *ep)
{
	struct ib_port_attr attr;

	return !READ_ONCE(ep->dev->domain.dead) &&
	       !ib_query_port(ep->dev->ibdev, ep->cm_id->port_num, &attr) &&
	       attr.state != IB_PORT_ACTIVE;
}

/* Letting a connection go tells the peer, and soft-RoCE up to 6.1 never receives a CM message again once it had
 * to send one without a route.  Nothing can be connected meanwhile anyway, so wait for the port, unless the
 * connection has to go for good.  Nobody is told when our address has left the device: it may have come to
 * another one.
 */
static void rds_ib_wait_for_port(const struct rds_ib_ep *ep)
{
	struct rds_path *path = ep->ep.path;

	/* being killed already, or about to be */
	while (path->state != RDS_PATH_DEAD && !test_bit(RDS_EV_KILL, &path->events) &&
	       rds_ib_port_is_down(ep) && !rds_ib_dev_lost_address(ep))
		msleep(RDS_IB_PORT_POLL_MS);
}

/* The device hears from a work queue that our address has left the network.  Until then it takes a message of
 * the CM, for which there is no route, see above; afterwards the CM cannot make one.
 */
static void rds_ib_wait_for_gid(const struct rds_ib_ep *ep)
{
	unsigned int tries = RDS_IB_GID_TIMEOUT_MS / RDS_IB_GID_POLL_MS;

	if (!rdma_protocol_roce(ep->dev->ibdev, ep->cm_id->port_num))
		return;
	while (tries-- && !READ_ONCE(ep->dev->domain.dead) && !rds_ib_dev_lost_address(ep) &&
	       !rds_ib_has_address(rds_path_conn(ep->ep.path)))
		msleep(RDS_IB_GID_POLL_MS);
}

/* The CM takes in later that the connection is established, and calls its reply off only then.  Disconnected
 * before, it forgets the reply, which is sent again for a minute and keeps the id from being destroyed.
 */
static void rds_ib_wait_for_cm(struct rds_ib_ep *ep)
{
	if (test_bit(RDS_IB_CM_NOTIFIED, &ep->flags))
		wait_var_event_timeout(&ep->stage,
				       smp_load_acquire(&ep->stage) == RDS_IB_CONNECTED,
				       RDS_IB_CM_NOTIFY_TIMEOUT);
}

void rds_ib_close(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);
	bool down;

	if (ep->dev)
		rds_ib_wait_for_gid(ep);
	down = ep->dev && rds_ib_port_is_down(ep);
	if (ep->cm_id->qp) {
		rds_ib_wait_for_cm(ep);
		/* also before it is established: then it fails, and destroying the id tells the peer */
		if (!down)
			rdma_disconnect(ep->cm_id);
		rds_ib_qp_destroy(ep);
	}
	if (ep->dev)
		rds_ib_rx_drop(ep);
	/* by now every operation has ended: nobody but this path's worker waits */
	if (down)
		rds_ib_wait_for_port(ep);
	rds_ib_ep_let_go(ep);
}

/* Listening */

/* Which connection a request is for.  What it says of addresses must be what the CM says. */
static int rds_ib_request_key(struct rdma_cm_id *id, const struct rds_cm_priv *priv, bool said,
			      struct rds_conn_key *key)
{
	memset(key, 0, sizeof(*key));
	rds_ib_from_sockaddr(&key->laddr, &id->route.addr.src_addr);
	rds_ib_from_sockaddr(&key->faddr, &id->route.addr.dst_addr);
	if (said && (!ipv6_addr_equal(&key->laddr, &priv->daddr) ||
		     !ipv6_addr_equal(&key->faddr, &priv->saddr)))
		return -EINVAL;
	/* both ends would be one connection */
	if (ipv6_addr_equal(&key->laddr, &key->faddr))
		return -EINVAL;
	if (ipv6_addr_type(&key->laddr) & IPV6_ADDR_LINKLOCAL)
		key->scope = id->route.addr.dev_addr.bound_dev_if;
	key->trans = &rds_ib_transport;
	key->tos = priv->tos;
	return 0;
}

static struct rds_ib_ep *rds_ib_request_ep(struct rdma_cm_id *id, struct rds_net *rn,
					   const struct rds_conn_key *key)
{
	struct rds_conn *conn;
	struct rds_ib_ep *ep;
	int err;

	conn = rds_conn_get_or_create(rn, key, RDS_CONN_BY_PEER);
	if (IS_ERR(conn))
		return ERR_CAST(conn);
	ep = rds_ib_ep_alloc(&conn->path, false);
	rds_conn_put(conn);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	err = rds_ib_dev_attach(ep, id);
	if (err) {
		rds_ep_put(&ep->ep);
		return ERR_PTR(err);
	}
	return ep;
}

/* Hand @id and @ep over to each other, and both to the worker. */
static int rds_ib_request_post(struct rdma_cm_id *id, struct rds_ib_ep *ep)
{
	int err;

	rds_ep_get(&ep->ep);	/* the CM id's */
	ep->cm_id = id;
	id->context = ep;
	id->event_handler = rds_ib_cm_event;
	err = rds_path_post_request(ep->ep.path, &ep->ep);
	if (!err)
		return 0;
	rds_ib_dev_detach(ep);
	rds_ep_put(&ep->ep);
	rds_ep_put(&ep->ep);
	return err;
}

static int rds_ib_take_request(const struct rds_ib_listener *listener, struct rdma_cm_id *id,
			       const struct rdma_conn_param *param)
{
	struct rds_conn_key key;
	bool v6 = listener->v6;
	struct rds_cm_priv priv;
	struct rds_ib_ep *ep;
	u16 version;
	bool said;

	said = !rds_cm_priv_decode(&priv, v6, param->private_data, param->private_data_len);
	version = rds_cm_choose_version(&priv, v6, param->private_data_len);
	if (!version)
		return -EPROTONOSUPPORT;
	/* the CM goes by the address alone */
	if (!rdma_dev_access_netns(id->device, listener->rn->net))
		return -EADDRNOTAVAIL;
	if (rds_ib_request_key(id, &priv, said, &key))
		return -EADDRNOTAVAIL;
	ep = rds_ib_request_ep(id, listener->rn, &key);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ep->version = version;
	ep->peer_generation = priv.generation;
	ep->initiator_depth = param->initiator_depth;
	ep->responder_resources = param->responder_resources;
	rds_ib_take_caps(ep, &priv);
	return rds_ib_request_post(id, ep);
}

static void rds_ib_count_refusal(struct rds_net *rn, const struct rdma_cm_id *id, int err)
{
	struct rds_conn_key key = { 0 };

	rds_ib_from_sockaddr(&key.laddr, &id->route.addr.src_addr);
	rds_ib_from_sockaddr(&key.faddr, &id->route.addr.dst_addr);
	trace_rds_conn_refused(rn, &key, err);
	switch (err) {
	case -EPROTONOSUPPORT:
		rds_stat_inc(rn, ib_refused_version);
		break;
	case -EADDRNOTAVAIL:
		rds_stat_inc(rn, ib_refused_address);
		break;
	case -EBUSY:
		rds_stat_inc(rn, ib_refused_busy);
		break;
	case -EUSERS:
		rds_stat_inc(rn, ib_refused_limit);
		break;
	default:
		rds_stat_inc(rn, ib_refused_error);
	}
}

/* Returns non-zero to have @id destroyed. */
static int rds_ib_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rds_ib_listener *listener = id->context;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	err = rds_ib_take_request(listener, id, &event->param.conn);
	if (err) {
		rds_ib_count_refusal(listener->rn, id, err);
		rds_ib_send_reject(id);
	}
	return err;
}

static int rds_ib_listen_one(struct rds_ib_listener *listener)
{
	const struct in6_addr any4 = { .s6_addr32[2] = htonl(0xffff) };
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(listener->rn->net, rds_ib_listen_event, listener, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (listener->v6) {
		rds_ib_to_sockaddr(&ss, &in6addr_any, 0, RDS_CM_PORT_V6);
		err = rdma_set_afonly(id, 1);
	} else {
		rds_ib_to_sockaddr(&ss, &any4, 0, RDS_CM_PORT_V4);
		err = 0;
	}
	if (!err)
		err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		err = rdma_listen(id, SOMAXCONN);
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	listener->id = id;
	return 0;
}

static void rds_ib_listeners_free(struct rds_ib_listener *listeners)
{
	unsigned int i;

	for (i = 0; i < RDS_IB_LISTENERS; i++) {
		if (listeners[i].id)
			rdma_destroy_id(listeners[i].id);
	}
	kfree(listeners);
}

int rds_ib_listen(struct rds_net *rn)
{
	struct rds_ib_listener *listeners;
	unsigned int i;
	int err;

	listeners = kcalloc(RDS_IB_LISTENERS, sizeof(*listeners), GFP_KERNEL);
	if (!listeners)
		return -ENOMEM;
	for (i = 0; i < RDS_IB_LISTENERS; i++) {
		struct rds_ib_listener *listener = &listeners[i];

		listener->rn = rn;
		listener->v6 = i > 0;
		/* the CM would take requests that nobody can answer */
		if (listener->v6 && !ipv6_mod_enabled())
			continue;
		err = rds_ib_listen_one(listener);
		if (err) {
			pr_err_ratelimited("rds_sockets: cannot listen on RDMA port %u: error %d\n",
			       listener->v6 ? RDS_CM_PORT_V6 : RDS_CM_PORT_V4, err);
			rds_ib_listeners_free(listeners);
			return err;
		}
	}
	rn->listeners = listeners;
	return 0;
}

void rds_ib_unlisten(struct rds_net *rn)
{
	rds_ib_listeners_free(rn->listeners);
	rn->listeners = NULL;
}
