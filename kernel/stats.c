// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stats.h"

#include <linux/percpu.h>

static const char *const rds_stat_names[RDS_STAT_NR] = {
#define RDS_STAT_NAME(name) [RDS_STAT_##name] = #name,
	RDS_STATS_CORE(RDS_STAT_NAME)
	RDS_STATS_IB(RDS_STAT_NAME)
	RDS_STATS_OWN(RDS_STAT_NAME)
#undef RDS_STAT_NAME
#define RDS_STAT_DROP_NAME(name, lower, text) [RDS_STAT_drop_##lower] = "drop_" #lower,
	RDS_DROP_REASONS(RDS_STAT_DROP_NAME)
#undef RDS_STAT_DROP_NAME
};

const char *rds_stat_name(unsigned int i)
{
	return rds_stat_names[i];
}

u64 rds_stat_sum(const struct rds_net *rn, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(rn->stats, cpu)->value[i]);
	return sum;
}
