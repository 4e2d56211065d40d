// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The module that holds the suites.  It is made of the same objects as rds_sockets.ko, which exports nothing for
 * tests and must not be loaded beside it, with a transport for tests in the place of the RDMA devices.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("Tests of RDS sockets");
MODULE_LICENSE("Dual BSD/GPL");
