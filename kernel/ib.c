// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ib.h"

#include <net/net_namespace.h>
#include "ib_cm.h"
#include "ib_dev.h"
#include "ib_ep.h"
#include "ib_mr.h"
#include "ib_qp.h"
#include "ib_send.h"
#include "mr.h"
#include "net.h"
#include "rds_uapi.h"
#include "transport.h"

static struct rds_domain *rds_ib_domain_get(struct rds_net *rn, const struct in6_addr *addr,
					    u32 scope)
{
	struct rds_ib_device *dev = rds_ib_cm_find_device(rn->net, addr, scope);

	return IS_ERR(dev) ? ERR_CAST(dev) : &dev->domain;
}

static void rds_ib_info(struct rds_ep *base, struct rds6_info_rdma_connection *record)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);
	const struct ib_device_attr *attrs = &ep->dev->ibdev->attrs;

	rdma_read_gids(ep->cm_id, (union ib_gid *)record->src_gid, (union ib_gid *)record->dst_gid);
	record->max_send_wr = ep->tx.ring.size;
	record->max_recv_wr = ep->dev->rq.size;
	record->max_send_sge = rds_ib_qp_max_sge(ep->dev->ibdev);
	record->rdma_mr_max = attrs->max_mr;
	record->rdma_mr_size = ep->dev->domain.max_mr_pages;
	record->sl = ep->cm_id->route.path_rec ? ep->cm_id->route.path_rec->sl : 0;
}

const struct rds_transport rds_ib_transport = {
	.name		= "infiniband",
	.type		= RDS_TRANS_IB,
	.domain_get	= rds_ib_domain_get,
	.domain_for_each = rds_ib_dev_for_each,
	.domain_release	= rds_ib_dev_free,
	.listen		= rds_ib_listen,
	.unlisten	= rds_ib_unlisten,
	.connect	= rds_ib_connect,
	.accept		= rds_ib_accept,
	.reject		= rds_ib_reject,
	.step		= rds_ib_step,
	.signal		= rds_ib_signal,
	.close		= rds_ib_close,
	.release	= rds_ib_release,
	.xmit		= rds_ib_xmit,
	.flush		= rds_ib_flush,
	.busy		= rds_ib_busy,
	.info		= rds_ib_info,
	.mr_register	= rds_ib_mr_register,
	.mr_unregister	= rds_ib_mr_unregister,
	.atomic		= rds_ib_mr_atomic,
};

int rds_ib_init(void)
{
	int err;

	err = rds_ib_dev_register_client();
	if (err)
		return err;
	rds_transport_register(&rds_ib_transport);
	/* the initial namespace answers peers with or without sockets, as in mainline, until it is taken down with the rest */
	err = rds_transport_enter(&rds_ib_transport, rds_net(&init_net));
	if (err)
		rds_ib_exit();
	return err;
}

void rds_ib_exit(void)
{
	rds_transport_unregister(&rds_ib_transport);
	rds_ib_dev_unregister_client();
}
