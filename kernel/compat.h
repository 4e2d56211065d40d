/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between kernels 6.1 and 6.12; everything else is written for the newer one.
 * Included in front of every file by Kbuild.
 */
#ifndef RDS_COMPAT_H
#define RDS_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#include <linux/timer.h>
#define timer_delete_sync(timer)	del_timer_sync(timer)
#define timer_shutdown_sync(timer)	del_timer_sync(timer)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#include <net/net_namespace.h>
/* the table's end is an empty entry */
#define register_net_sysctl_sz(net, path, table, size)	register_net_sysctl(net, path, table)
#endif

#endif
