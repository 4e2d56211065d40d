// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The module that holds the suites.  Each suite includes the file that it tests, so that
 * rds_sockets.ko need not be loaded and exports nothing for tests.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("Tests of RDS sockets");
MODULE_LICENSE("Dual BSD/GPL");
