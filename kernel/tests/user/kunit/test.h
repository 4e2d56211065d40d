/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* As much of the KUnit API as the tests here use, for user space: see ../runner.c.
 *
 * A suite that compiles against this must compile against the kernel's header too.
 */
#ifndef RDS_USER_KUNIT_TEST_H
#define RDS_USER_KUNIT_TEST_H

#include "../pure_user.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	const void	*param_value;
	void		*priv;

	/* the runner's */
	bool		failed;
	jmp_buf		abort;
	void		**blocks;
	size_t		nr_blocks;
};

struct kunit_case {
	void		(*run_case)(struct kunit *test);
	const char	*name;
	const void	*(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char		name[256];
	int			(*init)(struct kunit *test);
	void			(*exit)(struct kunit *test);
	struct kunit_case	*test_cases;

	/* the runner's */
	struct kunit_suite	*next;
};

void kunit_user_register(struct kunit_suite *suite);
void kunit_user_fail(struct kunit *test, bool fatal, const char *file, int line,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));
void *kunit_user_alloc(struct kunit *test, size_t size);

/* The kernel collects a module's suites from a section; here each one signs on by itself. */
#define kunit_test_suite(suite)							\
	static void __attribute__((constructor)) kunit_register_##suite(void)	\
	{									\
		kunit_user_register(&(suite));					\
	}									\
	_Static_assert(1, "takes the semicolon")

#define KUNIT_CASE(test_name)	{ .run_case = test_name, .name = #test_name }
#define KUNIT_CASE_PARAM(test_name, gen_params)	\
	{ .run_case = test_name, .name = #test_name, .generate_params = gen_params }

#define KUNIT_ARRAY_PARAM(name, array, get_desc)				\
static const void *name##_gen_params(const void *prev, char *desc)		\
{										\
	__typeof__((array)[0]) *row = prev;					\
	void (*describe)(__typeof__(row) r, char *d) = get_desc;		\
										\
	row = row ? row + 1 : (array);						\
	if (row == (array) + ARRAY_SIZE(array))					\
		return NULL;							\
	if (describe)								\
		describe(row, desc);						\
	return row;								\
}

#define GFP_KERNEL	0

/* Zeroed, of exactly @size bytes (ASan watches the end), freed with the test. */
#define kunit_kzalloc(test, size, gfp)	kunit_user_alloc(test, (size) + 0 * (gfp))

#define KUNIT_USER_BINARY(test, fatal, left, op, right, fmt, ...)		\
do {										\
	__typeof__(left) kunit_l = (left);					\
	__typeof__(right) kunit_r = (right);					\
										\
	if (!(kunit_l op kunit_r))						\
		kunit_user_fail(test, fatal, __FILE__, __LINE__,		\
				"%s %s %s, but %lld (%#llx), %lld (%#llx) " fmt,	\
				#left, #op, #right,				\
				(long long)kunit_l, (long long)kunit_l,		\
				(long long)kunit_r, (long long)kunit_r,		\
				##__VA_ARGS__);					\
} while (0)

#define KUNIT_USER_BOOL(test, fatal, condition, wanted, fmt, ...)		\
do {										\
	bool kunit_c = (condition);						\
										\
	if (kunit_c != (wanted))						\
		kunit_user_fail(test, fatal, __FILE__, __LINE__,		\
				"%s should be " #wanted " " fmt, #condition,	\
				##__VA_ARGS__);					\
} while (0)

#define KUNIT_EXPECT_EQ(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, ==, right, "")
#define KUNIT_EXPECT_NE(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, !=, right, "")
#define KUNIT_EXPECT_LT(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, <, right, "")
#define KUNIT_EXPECT_LE(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, <=, right, "")
#define KUNIT_EXPECT_GT(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, >, right, "")
#define KUNIT_EXPECT_GE(test, left, right)	\
	KUNIT_USER_BINARY(test, false, left, >=, right, "")
#define KUNIT_EXPECT_EQ_MSG(test, left, right, fmt, ...)	\
	KUNIT_USER_BINARY(test, false, left, ==, right, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, condition)	\
	KUNIT_USER_BOOL(test, false, condition, true, "")
#define KUNIT_EXPECT_TRUE_MSG(test, condition, fmt, ...)	\
	KUNIT_USER_BOOL(test, false, condition, true, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, condition)	\
	KUNIT_USER_BOOL(test, false, condition, false, "")
#define KUNIT_EXPECT_FALSE_MSG(test, condition, fmt, ...)	\
	KUNIT_USER_BOOL(test, false, condition, false, fmt, ##__VA_ARGS__)

#define KUNIT_ASSERT_EQ(test, left, right)	\
	KUNIT_USER_BINARY(test, true, left, ==, right, "")
#define KUNIT_ASSERT_LE(test, left, right)	\
	KUNIT_USER_BINARY(test, true, left, <=, right, "")
#define KUNIT_ASSERT_TRUE(test, condition)	\
	KUNIT_USER_BOOL(test, true, condition, true, "")
#define KUNIT_ASSERT_NOT_NULL(test, pointer)	\
	KUNIT_USER_BOOL(test, true, (pointer) != NULL, true, "")

#endif
