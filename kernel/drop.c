// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "drop.h"

static const char *const rds_drop_texts[RDS_DROP_NR] = {
#define RDS_DROP_TEXT(name, lower, text) [RDS_DROP_##name] = text,
	RDS_DROP_REASONS(RDS_DROP_TEXT)
#undef RDS_DROP_TEXT
};

const char *rds_drop_text(enum rds_drop_reason reason)
{
	return rds_drop_texts[reason < RDS_DROP_NR ? reason : RDS_DROP_NONE];
}
