/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a <linux/rds.h> says in numbers: constants, sizes and offsets. */
#ifndef RDS_UAPI_VALUES_H
#define RDS_UAPI_VALUES_H

#include <stdbool.h>

struct uapi_value {
	const char	*name;
	bool		known;		/* the header has it */
	long long	value;
};

/* By our header and by the distribution's: the same names in the same order, then NULL. */
extern const struct uapi_value uapi_ours[];
extern const struct uapi_value uapi_theirs[];

#endif
