/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What administrators can set, per namespace: net.rds.*, see Documentation/sysctl.md.  Read with READ_ONCE(). */
#ifndef RDS_SYSCTL_H
#define RDS_SYSCTL_H

struct ctl_table_header;
struct rds_net;

struct rds_sysctl {
	/* as in mainline */
	int		reconnect_min_delay_ms;
	int		reconnect_max_delay_ms;
	int		max_unacked_packets;
	int		max_unacked_bytes;
	int		ping_enable;
	int		heartbeat_interval_secs;
	int		heartbeat_timeout_secs;	/* 0: nobody is asked */
	int		connection_idle_seconds;	/* 0: for ever */
	int		ib_max_send_wr;
	int		ib_max_recv_wr;
	int		ib_max_unsignaled_wr;
	int		ib_max_recv_allocation;	/* in units of 4 KiB */
	int		ib_flow_control;

	/* limits of the namespace */
	int		max_sockets;
	int		max_connections;
	int		max_mrs;
	int		max_rdma_bytes;	/* of one message */
	unsigned long	max_pinned_bytes;
	/* of each socket and connection in it */
	int		socket_max_mrs;
	unsigned long	socket_max_pinned_bytes;
	int		socket_max_empty;
	int		socket_max_notifications;
	int		connection_max_pongs;

	struct ctl_table_header *core;
	struct ctl_table_header *ib;
};

/* Set everything to its default, and show it below /proc/sys/net/rds.  Sleeps. */
int rds_sysctl_net_init(struct rds_net *rn);
/* Nobody reads or sets anything any more.  Sleeps. */
void rds_sysctl_net_exit(struct rds_net *rn);

#endif
