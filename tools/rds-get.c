// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Fetch a file from rds-serve by RDMA. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "get-fetch.h"
#include "get-progress.h"
#include "get-target.h"
#include "get-window.h"
#include "tool.h"

#define DEFAULT_WINDOWS		4
#define DEFAULT_TIMEOUT_MS	20000

static const char usage_text[] =
"Usage: rds-get [OPTION]... HOST[:PORT]:FILE\n"
"Fetch FILE by RDMA from rds-serve on HOST; an IPv6 address stands in brackets.\n"
"\n"
"  -o, --output=OUT        write to OUT, not to FILE's last part here\n"
"  -f, --force             replace OUT if it exists\n"
"  -I, --source=ADDR       speak from this local address\n"
"  -t, --timeout=SECONDS   give up after such a silence of the server (20)\n"
"  -w, --windows=N         buffers that are being filled at once, 1 to 16 (4)\n"
"  -s, --window-size=KIB   size of each, 4 to 1024 (1024)\n"
"  -q, --quiet             no progress, no summary\n"
"  -v, --verbose           tell each step on stderr\n"
"  -h, --help              this text\n"
"  -V, --version           version\n"
"\n"
"Exit: 0 fetched, 1 RDS unavailable here, 2 usage, 3 refused by the server,\n"
"4 no answer, 5 file changed meanwhile, 6 OUT cannot be written.\n";

static const struct option long_options[] = {
	{ "output",		required_argument,	NULL, 'o' },
	{ "force",		no_argument,		NULL, 'f' },
	{ "source",		required_argument,	NULL, 'I' },
	{ "timeout",		required_argument,	NULL, 't' },
	{ "windows",		required_argument,	NULL, 'w' },
	{ "window-size",	required_argument,	NULL, 's' },
	{ "quiet",		no_argument,		NULL, 'q' },
	{ "verbose",		no_argument,		NULL, 'v' },
	{ "help",		no_argument,		NULL, 'h' },
	{ "version",		no_argument,		NULL, 'V' },
	{ }
};

struct arguments {
	struct fetch_options	fetch;
	const char		*out;
	const char		*target;
	bool			force;
};

static int usage_error(const char *what, const char *value)
{
	say("%s '%s'", what, value);
	fputs("Try 'rds-get --help'.\n", stderr);
	return GET_USAGE;
}

static int read_option(struct arguments *args, int c)
{
	uint64_t n;

	switch (c) {
	case 'o':
		args->out = optarg;
		return 0;
	case 'f':
		args->force = true;
		return 0;
	case 'I':
		args->fetch.source = optarg;
		return 0;
	case 't':
		if (parse_number(optarg, 1, 86400, &n))
			return usage_error("not 1 to 86400 seconds:", optarg);
		args->fetch.timeout = n * 1000;
		return 0;
	case 'w':
		if (parse_number(optarg, 1, WINDOWS_MAX, &n))
			return usage_error("not 1 to 16 windows:", optarg);
		args->fetch.windows = n;
		return 0;
	case 's':
		if (parse_number(optarg, 4, RDS_FILE_READ_MAX / 1024, &n))
			return usage_error("not 4 to 1024 KiB:", optarg);
		args->fetch.window_size = n * 1024;
		return 0;
	case 'q':
		args->fetch.quiet = true;
		return 0;
	case 'v':
		verbose_on = true;
		return 0;
	case 'h':
		fputs(usage_text, stdout);
		exit(GET_OK);
	case 'V':
		printf("rds-get, librds %s\n", rds_version());
		exit(GET_OK);
	default:
		fputs("Try 'rds-get --help'.\n", stderr);
		return GET_USAGE;
	}
}

static int read_arguments(struct arguments *args, int argc, char **argv)
{
	int c, err;

	while ((c = getopt_long(argc, argv, "o:fI:t:w:s:qvhV", long_options,
				NULL)) >= 0) {
		err = read_option(args, c);
		if (err)
			return err;
	}
	if (argc - optind != 1) {
		say("one argument HOST[:PORT]:FILE is needed");
		fputs("Try 'rds-get --help'.\n", stderr);
		return GET_USAGE;
	}
	args->target = argv[optind];
	return 0;
}

static int find_server(struct arguments *args)
{
	char text[NI_MAXHOST + 8];
	int err;

	if (target_split(args->target, text, sizeof(text), &args->fetch.name))
		return usage_error("not HOST[:PORT]:FILE:", args->target);
	if (strlen(args->fetch.name) > RDS_FILE_NAME_MAX) {
		say("the name of the file is longer than %d bytes",
		    RDS_FILE_NAME_MAX);
		return GET_USAGE;
	}
	err = rds_addr_parse(&args->fetch.server, text, RDS_FILE_PORT);
	if (err) {
		say("'%s': %s", text, rds_explain(RDS_CALL_ADDR, err));
		return GET_USAGE;
	}
	return 0;
}

static int find_source(struct arguments *args)
{
	const char *source = args->fetch.source;
	char text[LIBRDS_ADDR_STRLEN];
	int err;

	if (source) {
		err = rds_addr_parse(&args->fetch.local, source, 0);
		if (!err)
			return 0;
		say("'%s': %s", source, rds_explain(RDS_CALL_ADDR, err));
		return GET_USAGE;
	}
	err = local_for(&args->fetch.server, &args->fetch.local);
	if (!err)
		return 0;
	rds_addr_format(&args->fetch.server, text, sizeof(text));
	say("no way from here to %s: %s", text, strerror(-err));
	return GET_NO_ANSWER;
}

static int find_output(struct arguments *args)
{
	const char *slash = strrchr(args->fetch.name, '/');

	if (!args->out)
		args->out = slash ? slash + 1 : args->fetch.name;
	if (!*args->out) {
		say("'%s' ends with a slash: name a file", args->fetch.name);
		return GET_USAGE;
	}
	return 0;
}

static void print_copies(const struct fetch_result *res)
{
	uint64_t sent = res->copied - res->copied_rdma;

	if (!res->copies_known) {
		puts("copied by the CPU in RDS: unknown, this kernel does not tell");
		return;
	}
	printf("copied by the CPU in RDS: %" PRIu64 " bytes of the file",
	       res->copied);
	if (res->copied_rdma)
		printf(" (between addresses of the loopback transport the kernel stands in for an RDMA device)");
	if (sent)
		printf(" (other RDS programs on this host may have had a share in it)");
	putchar('\n');
}

static void print_summary(const struct arguments *args,
			  const struct fetch_result *res)
{
	char size[SIZE_STRLEN], rate[SIZE_STRLEN + 2];
	char hex[HEX_STRLEN(RDS_FILE_DIGEST_SIZE)];

	printf("%s: %" PRIu64 " bytes (%s) in %.2f s, %s\n", args->out,
	       res->size, size_text(size, res->size), res->elapsed / 1000.0,
	       rate_text(rate, res->size, res->elapsed));
	printf("SHA-256, the same at both ends: %s\n",
	       hex_text(hex, res->digest, RDS_FILE_DIGEST_SIZE));
	printf("RDMA-written by the server: %" PRIu64 " bytes in %" PRIu64 " write%s",
	       res->size, res->writes, res->writes == 1 ? "" : "s");
	if (res->retries)
		printf(", %" PRIu64 " asked for again after the connection broke",
		       res->retries);
	printf("\n");
	print_copies(res);
}

static int get(struct arguments *args)
{
	struct fetch_result res;
	struct output out;
	int err;

	err = output_open(&out, args->out, args->force);
	if (err) {
		output_abort(&out);
		return output_failed(&out, "create", err);
	}
	err = fetch(&args->fetch, &out, &res);
	if (!err) {
		err = output_commit(&out);
		if (err)
			err = output_failed(&out, "complete", err);
	}
	output_abort(&out);
	if (!err && !args->fetch.quiet)
		print_summary(args, &res);
	return err;
}

int main(int argc, char **argv)
{
	struct arguments args = {
		.fetch = {
			.windows = DEFAULT_WINDOWS,
			.window_size = RDS_FILE_READ_MAX,
			.timeout = DEFAULT_TIMEOUT_MS,
		},
	};
	int err;

	err = read_arguments(&args, argc, argv);
	if (!err)
		err = find_server(&args);
	if (!err)
		err = find_output(&args);
	if (!err)
		err = find_source(&args);
	if (err)
		return err;
	catch_signals();
	err = get(&args);
	if (err > 128)
		end_by_signal(err - 128);
	if (fflush(stdout) || ferror(stdout))
		say("cannot write to standard output: %s", strerror(errno));
	return err;
}
