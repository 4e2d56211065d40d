// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The loadable module.  The unit tests are another one, of the same files but for this. */
#include <linux/module.h>
#include "main.h"

static int __init rds_module_init(void)
{
	return rds_start();
}

static void __exit rds_module_exit(void)
{
	rds_stop();
}

module_init(rds_module_init);
module_exit(rds_module_exit);

MODULE_AUTHOR("The RDMA sockets authors");
MODULE_DESCRIPTION("RDS, reliable datagram sockets with RDMA");
MODULE_LICENSE("Dual BSD/GPL");
