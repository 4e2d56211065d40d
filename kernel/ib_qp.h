/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An endpoint's queues: set-up, and the same backwards. */
#ifndef RDS_IB_QP_H
#define RDS_IB_QP_H

#include <rdma/ib_verbs.h>

struct rds_ib_ep;

/* Is the device fit for this transport? */
bool rds_ib_qp_device_ok(const struct ib_device *ibdev);

/* Local pieces of one work request on @ibdev. */
unsigned int rds_ib_qp_max_sge(const struct ib_device *ibdev);

/* Make the queue pair of @ep, whose CM id has a device.  Sleeps.  On error nothing is left. */
int rds_ib_qp_create(struct rds_ib_ep *ep);

/* Drain and destroy; nothing happens if there is none.  Afterwards no completion comes, all messages
 * are let go, all operations ended.  Sleeps.
 */
void rds_ib_qp_destroy(struct rds_ib_ep *ep);

#endif
