// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "net.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include "bind.h"
#include "cong.h"
#include "conn.h"
#include "mr.h"
#include "stats.h"
#include "transport.h"

unsigned int rds_net_id __read_mostly;

static size_t rds_net_count(struct rds_net *rn, const struct list_head *list)
{
	const struct list_head *item;
	size_t n = 0;

	spin_lock_bh(&rn->lock);
	list_for_each(item, list)
		n++;
	spin_unlock_bh(&rn->lock);
	return n;
}

int rds_net_for_each(struct rds_net *rn, struct list_head *list, const struct rds_list_ops *ops,
		     void *arg)
{
	size_t room = rds_net_count(rn, list) + 16, n = 0, i;
	struct list_head **items, *item;

	items = kvmalloc_array(room, sizeof(*items), GFP_KERNEL_ACCOUNT);
	if (!items)
		return -ENOMEM;
	spin_lock_bh(&rn->lock);
	list_for_each(item, list) {
		if (n == room)
			break;
		ops->get(item);
		items[n++] = item;
	}
	spin_unlock_bh(&rn->lock);
	for (i = 0; i < n; i++) {
		ops->visit(items[i], arg);
		ops->put(items[i]);
	}
	kvfree(items);
	return 0;
}

static int __net_init rds_net_init(struct net *net)
{
	struct rds_net *rn = rds_net(net);
	int err = -ENOMEM;

	rn->net = net;
	spin_lock_init(&rn->lock);
	INIT_LIST_HEAD(&rn->socks);
	rds_transport_net_init(rn);
	rn->stats = alloc_percpu(struct rds_stats);
	if (!rn->stats)
		return err;
	err = rds_sysctl_net_init(rn);
	if (err)
		goto free_stats;
	err = rds_bind_net_init(rn);
	if (err)
		goto exit_sysctl;
	err = rds_cong_net_init(rn);
	if (err)
		goto exit_bind;
	err = rds_mr_net_init(rn);
	if (err)
		goto exit_cong;
	err = rds_conn_net_init(rn);
	if (err)
		goto exit_mr;
	return 0;

exit_mr:
	rds_mr_net_exit(rn);
exit_cong:
	rds_cong_net_exit(rn);
exit_bind:
	rds_bind_net_exit(rn);
exit_sysctl:
	rds_sysctl_net_exit(rn);
free_stats:
	free_percpu(rn->stats);
	return err;
}

/* No socket is left: each holds its namespace. */
static void __net_exit rds_net_exit(struct net *net)
{
	struct rds_net *rn = rds_net(net);

	rds_transport_net_exit(rn);
	rds_conn_net_exit(rn);
	rds_mr_net_exit(rn);
	rds_cong_net_exit(rn);
	rds_bind_net_exit(rn);
	rds_sysctl_net_exit(rn);
	free_percpu(rn->stats);
}

static struct pernet_operations rds_net_ops = {
	.init	= rds_net_init,
	.exit	= rds_net_exit,
	.id	= &rds_net_id,
	.size	= sizeof(struct rds_net),
};

int rds_net_register(void)
{
	return register_pernet_subsys(&rds_net_ops);
}

void rds_net_unregister(void)
{
	unregister_pernet_subsys(&rds_net_ops);
}
