// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Runs every suite that is linked in and prints TAP: one line for each case and parameter.
 * Exits 0 if all passed, 1 otherwise.  Reasons precede their "not ok" as comments.
 */
#include <kunit/test.h>

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

/* Seconds for one case and parameter; the slowest takes milliseconds. */
#define TIME_LIMIT	60

static struct kunit_suite *suites;
static unsigned int nr_run, nr_failed;

void kunit_user_register(struct kunit_suite *suite)
{
	struct kunit_suite **end = &suites;

	while (*end)
		end = &(*end)->next;
	*end = suite;
}

void kunit_user_fail(struct kunit *test, bool fatal, const char *file, int line,
		     const char *format, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');

	test->failed = true;
	if (fatal)
		longjmp(test->abort, 1);
}

static void *must(void *block)
{
	if (!block) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return block;
}

void *kunit_user_alloc(struct kunit *test, size_t size)
{
	void *block = must(calloc(1, size ? size : 1));

	test->blocks = must(realloc(test->blocks, (test->nr_blocks + 1) * sizeof(void *)));
	test->blocks[test->nr_blocks++] = block;
	return block;
}

static void free_blocks(struct kunit *test)
{
	while (test->nr_blocks)
		free(test->blocks[--test->nr_blocks]);
	free(test->blocks);
}

static void run_one(struct kunit_suite *suite, struct kunit_case *test_case, const void *param,
		    const char *desc)
{
	struct kunit test = { .param_value = param };

	alarm(TIME_LIMIT);
	fflush(stdout);		/* so that a sanitizer's report comes after its test's place */
	if (!setjmp(test.abort)) {
		if (suite->init && suite->init(&test))
			kunit_user_fail(&test, true, suite->name, 0, "init failed");
		test_case->run_case(&test);
	}
	if (suite->exit)
		suite->exit(&test);
	free_blocks(&test);

	alarm(0);

	nr_failed += test.failed;
	printf("%sok %u - %s.%s%s%s\n", test.failed ? "not " : "", ++nr_run, suite->name,
	       test_case->name, *desc ? ": " : "", desc);
}

/* Visit each parameter of a case; @suite is NULL to count only.  Returns their number. */
static unsigned int each_param(struct kunit_suite *suite, struct kunit_case *test_case)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *param = NULL;
	unsigned int n = 0;

	if (!test_case->generate_params) {
		if (suite)
			run_one(suite, test_case, NULL, desc);
		return 1;
	}
	while ((param = test_case->generate_params(param, desc))) {
		n++;
		if (suite)
			run_one(suite, test_case, param, desc);
		desc[0] = '\0';
	}
	return n;
}

static unsigned int each_case(bool run)
{
	struct kunit_case *test_case;
	struct kunit_suite *suite;
	unsigned int n = 0;

	for (suite = suites; suite; suite = suite->next)
		for (test_case = suite->test_cases; test_case->run_case; test_case++)
			n += each_param(run ? suite : NULL, test_case);
	return n;
}

/* The case goes round in circles, there is no way back to it. */
static void on_alarm(int signal)
{
	static const char text[] = "Bail out! a test takes for ever\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

int main(void)
{
	unsigned int planned = each_case(false);

	signal(SIGALRM, on_alarm);
	printf("TAP version 13\n1..%u\n", planned);
	each_case(true);
	if (nr_failed)
		printf("# %u of %u failed\n", nr_failed, nr_run);
	return nr_failed || !nr_run;
}
