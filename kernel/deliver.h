/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Incoming messages: from a path to a socket. */
#ifndef RDS_DELIVER_H
#define RDS_DELIVER_H

#include "wire.h"

struct rds_conn;
struct rds_inc;
struct rds_net;
struct rds_path;

/* A complete message has arrived on @path: drop repeats, answer pings, else deliver.
 * @inc: ours to keep or free.  @hdr: header of its first fragment.  Holding path->rx_lock.
 * Returns 0; -ENOBUFS if its receiver's memory is at the hard limit: then it counts as not received, and must not be
 * acknowledged, so that the peer sends it again.
 */
int rds_path_receive(struct rds_path *path, const struct rds_header *hdr, struct rds_inc *inc);

/* Give @inc, which comes from this host, to the socket that it is for, or drop and count it.  Takes over the reference.
 * Senders of this host see congestion at once, and need no hard limit.  Any context.
 */
void rds_deliver(struct rds_net *rn, struct rds_inc *inc);

#endif
