// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "transport.h"

#include <linux/err.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>
#include "conn.h"
#include "net.h"

/* How long listeners and connections outlive the last socket of their namespace. */
#define RDS_TRANSPORT_LINGER	HZ

/* The one beside loopback.  Set before the family is registered, cleared after it is gone. */
static const struct rds_transport *rds_fabric;

static atomic_t rds_address_changes;

void rds_transport_register(const struct rds_transport *trans)
{
	rds_fabric = trans;
}

void rds_transport_unregister(const struct rds_transport *trans)
{
	if (rds_fabric == trans)
		rds_fabric = NULL;
}

void rds_transport_for_each_domain(struct rds_net *rn, rds_domain_fn fn, void *arg)
{
	if (rds_fabric && rds_fabric->domain_for_each)
		rds_fabric->domain_for_each(rn, fn, arg);
}

struct rds_domain *rds_transport_find(struct rds_net *rn, const struct in6_addr *addr, u32 scope)
{
	struct rds_domain *domain;

	/* with IPv6 switched off nobody has one */
	if (!ipv6_addr_v4mapped(addr) && !ipv6_mod_enabled())
		return ERR_PTR(-EADDRNOTAVAIL);
	domain = rds_loop_transport.domain_get(rn, addr, scope);
	if (!IS_ERR(domain) || !rds_fabric)
		return domain;
	return rds_fabric->domain_get(rn, addr, scope);
}

void rds_transport_addresses_changed(void)
{
	/* after what has changed: a full barrier */
	atomic_inc_return(&rds_address_changes);
}

unsigned int rds_transport_address_changes(void)
{
	return atomic_read_acquire(&rds_address_changes);
}

const struct rds_transport *rds_transport_by_type(int type)
{
	return rds_fabric && rds_fabric->type == type ? rds_fabric : NULL;
}

/* Namespaces that the transport is used in */

static void rds_transport_stop(struct rds_net *rn)
{
	const struct rds_transport *trans = rn->fabric;

	lockdep_assert_held(&rn->fabric_lock);
	if (!trans)
		return;
	trans->unlisten(rn);
	rds_conn_kill_all(rn, trans);
	rn->fabric = NULL;
}

static void rds_transport_idle(struct work_struct *work)
{
	struct rds_net *rn = container_of(work, struct rds_net, fabric_idle.work);
	struct net *net = rn->net;

	mutex_lock(&rn->fabric_lock);
	if (!rn->fabric_users)
		rds_transport_stop(rn);
	mutex_unlock(&rn->fabric_lock);
	put_net(net);
}

int rds_transport_enter(const struct rds_transport *trans, struct rds_net *rn)
{
	int err = 0;

	if (!trans->listen)
		return 0;
	mutex_lock(&rn->fabric_lock);
	if (!rn->fabric)
		err = trans->listen(rn);
	if (!err) {
		rn->fabric = trans;
		rn->fabric_users++;
	}
	mutex_unlock(&rn->fabric_lock);
	return err;
}

void rds_transport_leave(const struct rds_transport *trans, struct rds_net *rn)
{
	if (!trans->listen)
		return;
	mutex_lock(&rn->fabric_lock);
	if (!--rn->fabric_users) {
		get_net(rn->net);
		if (mod_delayed_work(system_long_wq, &rn->fabric_idle, RDS_TRANSPORT_LINGER))
			put_net(rn->net);	/* it was pending, and has one */
	}
	mutex_unlock(&rn->fabric_lock);
}

void rds_transport_net_init(struct rds_net *rn)
{
	mutex_init(&rn->fabric_lock);
	INIT_DELAYED_WORK(&rn->fabric_idle, rds_transport_idle);
}

void rds_transport_net_exit(struct rds_net *rn)
{
	/* only when the module goes: a namespace does not end meanwhile */
	if (cancel_delayed_work_sync(&rn->fabric_idle))
		put_net(rn->net);
	mutex_lock(&rn->fabric_lock);
	rds_transport_stop(rn);
	mutex_unlock(&rn->fabric_lock);
}
