// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "drop.h"

static const char *const rds_drop_texts[RDS_DROP_NR] = {
#define RDS_DROP_TEXT(name, lower, text) [RDS_DROP_##name] = text,
	RDS_DROP_REASONS(RDS_DROP_TEXT)
#undef RDS_DROP_TEXT
};

static const char *const rds_drop_names[RDS_DROP_NR] = {
#define RDS_DROP_NAME(name, lower, text) [RDS_DROP_##name] = #lower,
	RDS_DROP_REASONS(RDS_DROP_NAME)
#undef RDS_DROP_NAME
};

static enum rds_drop_reason rds_drop_known(enum rds_drop_reason reason)
{
	return reason < RDS_DROP_NR ? reason : RDS_DROP_NONE;
}

const char *rds_drop_text(enum rds_drop_reason reason)
{
	return rds_drop_texts[rds_drop_known(reason)];
}

const char *rds_drop_name(enum rds_drop_reason reason)
{
	return rds_drop_names[rds_drop_known(reason)];
}

bool rds_drop_is_by_peer(enum rds_drop_reason reason)
{
	return reason == RDS_DROP_REJECTED || reason == RDS_DROP_DUEL ||
	       reason == RDS_DROP_PEER_RECONNECTED || reason == RDS_DROP_DISCONNECTED;
}
