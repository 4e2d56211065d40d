/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The connection manager: listening, connecting, answering. */
#ifndef RDS_IB_CM_H
#define RDS_IB_CM_H

#include "ib_ep.h"

struct in6_addr;
struct net;
struct rds_net;

/* The transport's calls. */
struct rds_ep *rds_ib_connect(struct rds_path *path);
int rds_ib_accept(struct rds_ep *ep);
void rds_ib_reject(struct rds_ep *ep);
int rds_ib_step(struct rds_ep *ep);
void rds_ib_close(struct rds_ep *ep);
void rds_ib_release(struct rds_ep *ep);
int rds_ib_listen(struct rds_net *rn);
void rds_ib_unlisten(struct rds_net *rn);

/* The device that has local address @addr of namespace @net, with a reference to its domain; else an ERR_PTR.  Sleeps. */
struct rds_ib_device *rds_ib_cm_find_device(struct net *net, const struct in6_addr *addr, u32 scope);

/* @ep's peer considers us connected.  Any context, until its queue pair is gone. */
void rds_ib_peer_sends(struct rds_ib_ep *ep);

#endif
