// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "internal.h"

#define STRING(x)	#x
#define VERSION_STRING(major, minor, patch) \
	STRING(major) "." STRING(minor) "." STRING(patch)

const char *rds_version(void)
{
	return VERSION_STRING(LIBRDS_VERSION_MAJOR, LIBRDS_VERSION_MINOR,
			      LIBRDS_VERSION_PATCH);
}
