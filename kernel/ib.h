/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The RDMA transport, as the rest of the module sees it. */
#ifndef RDS_IB_H
#define RDS_IB_H

#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_INFINIBAND_ADDR_TRANS)
/* Take over the devices there are, listen, and register the transport.  Sleeps. */
int rds_ib_init(void);
/* Let go of all devices: drops every endpoint and waits until the paths' workers have closed them;
 * no connection is made any more.  Sleeps.
 */
void rds_ib_exit(void);
#else
static inline int rds_ib_init(void)
{
	return 0;
}

static inline void rds_ib_exit(void)
{
}
#endif

#endif
