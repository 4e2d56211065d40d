// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Our <linux/rds.h> against the distribution's: whatever that one has, ours has alike.  (Ours
 * may have more.)  In user space only: the kernel has one header at a time.
 */
#include <kunit/test.h>
#include "uapi_values.h"

/* The next value that the distribution knows. */
static const void *value_gen_params(const void *prev, char *desc)
{
	const struct uapi_value *value = prev;

	value = value ? value + 1 : uapi_theirs;
	while (value->name && !value->known)
		value++;
	if (!value->name)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", value->name);
	return value;
}

static void uapi_same_value(struct kunit *test)
{
	const struct uapi_value *theirs = test->param_value;
	const struct uapi_value *ours = &uapi_ours[theirs - uapi_theirs];

	KUNIT_ASSERT_EQ(test, strcmp(ours->name, theirs->name), 0);
	KUNIT_EXPECT_TRUE(test, ours->known);
	KUNIT_EXPECT_EQ(test, ours->value, theirs->value);
}

/* The list of constants is made by a script: did it find them? */
static void uapi_names_were_found(struct kunit *test)
{
	static const char * const some[] = {
		"SOL_RDS", "SO_RDS_TRANSPORT", "RDS_TRANS_NONE", "SIOCRDSGETTOS", "TRANSNAMSIZ",
		"RDS_GET_MR", "RDS_CMSG_ZCOPY_COMPLETION", "RDS_INFO_LAST", "RDS_RDMA_SILENT",
	};
	const struct uapi_value *value;
	u32 i, found = 0;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (value = uapi_theirs; value->name; value++)
			found += value->known && !strcmp(value->name, some[i]);
	KUNIT_EXPECT_EQ(test, found, ARRAY_SIZE(some));
}

static struct kunit_case uapi_cases[] = {
	KUNIT_CASE(uapi_names_were_found),
	KUNIT_CASE_PARAM(uapi_same_value, value_gen_params),
	{}
};

static struct kunit_suite uapi_suite = {
	.name = "rds_uapi",
	.test_cases = uapi_cases,
};

kunit_test_suite(uapi_suite);
