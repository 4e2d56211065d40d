// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "info.h"

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "rds_uapi.h"
#include "stats.h"

static int rds_info_counters(struct rds_net *rn, struct rds_info_counter *ctr)
{
	unsigned int i;

	for (i = 0; i < RDS_STAT_NR; i++) {
		strscpy_pad((char *)ctr[i].name, rds_stat_name(i), sizeof(ctr[i].name));
		ctr[i].value = rds_stat_sum(rn, i);
	}
	return sizeof(*ctr);
}

/* The snapshot is taken into kernel memory and copied out in one go: no user page is pinned, and
 * no lock is held while one is touched.
 */
static int rds_info_copy_counters(struct rds_net *rn, char __user *optval)
{
	size_t total = RDS_STAT_NR * sizeof(struct rds_info_counter);
	void *buf = kvzalloc(total, GFP_KERNEL);
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = rds_info_counters(rn, buf);
	if (copy_to_user(optval, buf, total))
		ret = -EFAULT;
	kvfree(buf);
	return ret;
}

int rds_info_get(struct rds_net *rn, int optname, char __user *optval, int __user *optlen)
{
	int total = RDS_STAT_NR * sizeof(struct rds_info_counter);
	int len, ret;

	if (get_user(len, optlen))
		return -EFAULT;
	/* a length that no page count can hold is an error, as in mainline */
	if (len < 0 || len > INT_MAX - (int)PAGE_SIZE + 1 ||
	    (unsigned long)optval + len < (unsigned long)optval)
		return -EINVAL;
	if (optname != RDS_INFO_COUNTERS)
		return -ENOPROTOOPT;
	ret = len < total ? -ENOSPC : rds_info_copy_counters(rn, optval);
	if (ret >= 0 || ret == -ENOSPC) {
		if (put_user(total, optlen))
			return -EFAULT;
	}
	return ret;
}
