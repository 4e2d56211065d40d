// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sysctl.h"

#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include "msg.h"
#include "net.h"
#include "path.h"
#include "sock.h"

/* A device gets them when it is added: those that are there when the module is loaded need a parameter. */
static int ib_srq_size = 512;
module_param(ib_srq_size, int, 0444);
MODULE_PARM_DESC(ib_srq_size, "Default of sysctl net.rds.ib.max_recv_wr: receive buffers of an RDMA device, 64 to 16384");

static const int rds_delay_limit = 3600 * 1000;
static const int rds_unsignaled_limit = 64;
static const int rds_heartbeat_interval_limit = 600;
static const int rds_heartbeat_timeout_limit = 60;
static const int rds_idle_limit = 86400;
static const int rds_rdma_limit = RDS_RDMA_MAX;

/* The value's place in a table for all namespaces is an offset, kept in data until the copy is made. */
#define RDS_PLACE(field)	((void *)offsetof(struct rds_sysctl, field))
#define RDS_INT(name, field, min, max) {				\
	.procname	= name,						\
	.data		= RDS_PLACE(field),				\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= (void *)(min),				\
	.extra2		= (void *)(max),				\
}
#define RDS_ULONG(name, field) {					\
	.procname	= name,						\
	.data		= RDS_PLACE(field),				\
	.maxlen		= sizeof(unsigned long),			\
	.mode		= 0644,						\
	.proc_handler	= proc_doulongvec_minmax,			\
}

/* The first two bound each other; the limits begin behind connection_idle_seconds. */
enum { RDS_MIN_DELAY, RDS_MAX_DELAY, RDS_FIRST_LIMIT = 8 };

static const struct ctl_table rds_core_table[] = {
	RDS_INT("reconnect_min_delay_ms", reconnect_min_delay_ms, SYSCTL_ONE, NULL),
	RDS_INT("reconnect_max_delay_ms", reconnect_max_delay_ms, NULL, &rds_delay_limit),
	RDS_INT("max_unacked_packets", max_unacked_packets, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("max_unacked_bytes", max_unacked_bytes, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("ping_enable", ping_enable, SYSCTL_ZERO, SYSCTL_ONE),
	RDS_INT("conn_heartbeat_interval_secs", heartbeat_interval_secs, SYSCTL_ONE,
		&rds_heartbeat_interval_limit),
	RDS_INT("conn_heartbeat_timeout_secs", heartbeat_timeout_secs, SYSCTL_ZERO,
		&rds_heartbeat_timeout_limit),
	RDS_INT("connection_idle_seconds", connection_idle_seconds, SYSCTL_ZERO, &rds_idle_limit),

	RDS_INT("max_sockets", max_sockets, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("max_connections", max_connections, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("max_mrs", max_mrs, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("max_rdma_bytes", max_rdma_bytes, SYSCTL_ONE, &rds_rdma_limit),
	RDS_ULONG("max_pinned_bytes", max_pinned_bytes),
	RDS_INT("socket_max_mrs", socket_max_mrs, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_ULONG("socket_max_pinned_bytes", socket_max_pinned_bytes),
	RDS_INT("socket_max_empty_messages", socket_max_empty, SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_INT("socket_max_notifications", socket_max_notifications, SYSCTL_ZERO, SYSCTL_INT_MAX),
	RDS_INT("connection_max_pongs", connection_max_pongs, SYSCTL_ZERO, SYSCTL_INT_MAX),
};

static const struct ctl_table rds_ib_table[] = {
	RDS_INT("max_send_wr", ib_max_send_wr, SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_INT("max_recv_wr", ib_max_recv_wr, SYSCTL_ONE, SYSCTL_INT_MAX),
	RDS_INT("max_unsignaled_wr", ib_max_unsignaled_wr, SYSCTL_ONE, &rds_unsignaled_limit),
	RDS_INT("max_recv_allocation", ib_max_recv_allocation, SYSCTL_ONE, SYSCTL_INT_MAX),
	/* credits belong to receive queues of single connections: what is not done cannot be switched on */
	RDS_INT("flow_control", ib_flow_control, SYSCTL_ZERO, SYSCTL_ZERO),
};

static void rds_sysctl_set_defaults(struct rds_sysctl *s)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;

	s->reconnect_min_delay_ms = 1;
	s->reconnect_max_delay_ms = 1000;
	s->max_unacked_packets = 8;
	s->max_unacked_bytes = 16 << 20;
	s->ping_enable = 1;
	s->heartbeat_interval_secs = 60;
	s->heartbeat_timeout_secs = 10;
	s->connection_idle_seconds = 600;
	s->ib_max_send_wr = 32;
	s->ib_max_recv_wr = max(ib_srq_size, 1);
	s->ib_max_unsignaled_wr = 8;
	s->ib_max_recv_allocation = 65536;

	s->max_sockets = 32768;
	s->max_connections = 16384;
	s->max_mrs = 352256;
	s->max_rdma_bytes = RDS_RDMA_DEFAULT;
	s->max_pinned_bytes = min_t(u64, ram / 2, ULONG_MAX);
	s->socket_max_mrs = 65536;
	s->socket_max_pinned_bytes = min_t(u64, ram / 4, ULONG_MAX);
	s->socket_max_empty = 1024;
	s->socket_max_notifications = 65536;
	s->connection_max_pongs = 64;
}

/* Limits protect the host: who has made a namespace of their own, and is its root, reads them only. */
static void rds_sysctl_protect(struct ctl_table *table, const struct net *net)
{
	unsigned int i;

	if (net->user_ns == &init_user_ns)
		return;
	for (i = RDS_FIRST_LIMIT; i < ARRAY_SIZE(rds_core_table); i++)
		table[i].mode = 0444;
}

/* A copy of @from for @rn, with an empty entry behind the last. */
static struct ctl_table *rds_sysctl_copy(struct rds_net *rn, const struct ctl_table *from, size_t n)
{
	struct ctl_table *table = kcalloc(n + 1, sizeof(*table), GFP_KERNEL_ACCOUNT);
	size_t i;

	if (!table)
		return NULL;
	memcpy(table, from, n * sizeof(*table));
	for (i = 0; i < n; i++)
		table[i].data = (void *)&rn->sysctl + (unsigned long)from[i].data;
	return table;
}

static struct ctl_table_header *rds_sysctl_register(struct rds_net *rn, const char *path,
						    struct ctl_table *table, size_t n)
{
	struct ctl_table_header *header;

	if (!table)
		return NULL;
	header = register_net_sysctl_sz(rn->net, path, table, n);
	if (!header)
		kfree(table);
	return header;
}

static struct ctl_table_header *rds_sysctl_register_core(struct rds_net *rn)
{
	const size_t n = ARRAY_SIZE(rds_core_table);
	struct ctl_table *table = rds_sysctl_copy(rn, rds_core_table, n);

	if (table) {
		table[RDS_MIN_DELAY].extra2 = &rn->sysctl.reconnect_max_delay_ms;
		table[RDS_MAX_DELAY].extra1 = &rn->sysctl.reconnect_min_delay_ms;
		rds_sysctl_protect(table, rn->net);
	}
	return rds_sysctl_register(rn, "net/rds", table, n);
}

static struct ctl_table_header *rds_sysctl_register_ib(struct rds_net *rn)
{
	const size_t n = ARRAY_SIZE(rds_ib_table);

	return rds_sysctl_register(rn, "net/rds/ib", rds_sysctl_copy(rn, rds_ib_table, n), n);
}

static void rds_sysctl_unregister(struct ctl_table_header *header)
{
	const struct ctl_table *table;

	if (!header)
		return;
	table = header->ctl_table_arg;
	unregister_net_sysctl_table(header);
	kfree(table);
}

int rds_sysctl_net_init(struct rds_net *rn)
{
	rds_sysctl_set_defaults(&rn->sysctl);
	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	rn->sysctl.core = rds_sysctl_register_core(rn);
	rn->sysctl.ib = rds_sysctl_register_ib(rn);
	if (rn->sysctl.core && rn->sysctl.ib)
		return 0;
	rds_sysctl_net_exit(rn);
	return -ENOMEM;
}

void rds_sysctl_net_exit(struct rds_net *rn)
{
	rds_sysctl_unregister(rn->sysctl.ib);
	rds_sysctl_unregister(rn->sysctl.core);
}
