// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Serve the files below a folder to rds-get. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve-session.h"
#include "tool.h"

#define MAX_ENDPOINTS		64
#define DEFAULT_CLIENTS		256
#define DEFAULT_IDLE_MS		60000
#define RECEIVE_BATCH		64	/* messages, then others have their turn */
#define BLOCKED_INTERVAL_MS	20	/* congestion ends without POLLOUT */
#define EXPIRE_INTERVAL_MS	1000
#define SEND_BUFFER		(1024 * 1024)	/* bytes of answers on their way */

static const char usage_text[] =
"Usage: rds-serve [OPTION]... DIR\n"
"Serve the regular files below DIR to rds-get, by RDMA from the page cache.\n"
"\n"
"  -a, --address=ADDR[:PORT]  listen there; may be repeated (all, port 4460)\n"
"  -c, --clients=N            clients at once, 1 to 4096 (256)\n"
"  -t, --timeout=SECONDS      forget a client that is silent for so long (60)\n"
"  -v, --verbose              tell on stderr what happens\n"
"  -h, --help                 this text\n"
"  -V, --version              version\n"
"\n"
"Whoever can reach the address can read the files that this user can read.\n"
"Ends on SIGINT or SIGTERM.  Exit: 0 ended by a signal, 1 RDS unavailable here,\n"
"2 usage.\n";

enum { SERVE_SYSTEM = 1, SERVE_USAGE = 2 };

static const struct option long_options[] = {
	{ "address",	required_argument,	NULL, 'a' },
	{ "clients",	required_argument,	NULL, 'c' },
	{ "timeout",	required_argument,	NULL, 't' },
	{ "verbose",	no_argument,		NULL, 'v' },
	{ "help",	no_argument,		NULL, 'h' },
	{ "version",	no_argument,		NULL, 'V' },
	{ }
};

struct daemon {
	struct server	srv;
	struct endpoint	eps[MAX_ENDPOINTS];
	unsigned int	nr_eps;
	const char	*addrs[MAX_ENDPOINTS];
	unsigned int	nr_addrs;
	const char	*dir;
};

static int usage_error(const char *what, const char *value)
{
	say("%s '%s'", what, value);
	fputs("Try 'rds-serve --help'.\n", stderr);
	return SERVE_USAGE;
}

static int read_option(struct daemon *d, int c)
{
	uint64_t n;

	switch (c) {
	case 'a':
		if (d->nr_addrs == MAX_ENDPOINTS)
			return usage_error("one address too many:", optarg);
		d->addrs[d->nr_addrs++] = optarg;
		return 0;
	case 'c':
		if (parse_number(optarg, 1, 4096, &n))
			return usage_error("not 1 to 4096 clients:", optarg);
		d->srv.max = n;
		return 0;
	case 't':
		if (parse_number(optarg, 1, 86400, &n))
			return usage_error("not 1 to 86400 seconds:", optarg);
		d->srv.idle = n * 1000;
		return 0;
	case 'v':
		verbose_on = true;
		return 0;
	case 'h':
		fputs(usage_text, stdout);
		exit(0);
	case 'V':
		printf("rds-serve, librds %s\n", rds_version());
		exit(0);
	default:
		fputs("Try 'rds-serve --help'.\n", stderr);
		return SERVE_USAGE;
	}
}

static int read_arguments(struct daemon *d, int argc, char **argv)
{
	int c, err;

	while ((c = getopt_long(argc, argv, "a:c:t:vhV", long_options,
				NULL)) >= 0) {
		err = read_option(d, c);
		if (err)
			return err;
	}
	if (argc - optind != 1) {
		say("one argument DIR is needed");
		fputs("Try 'rds-serve --help'.\n", stderr);
		return SERVE_USAGE;
	}
	d->dir = argv[optind];
	return 0;
}

static int open_folder(struct daemon *d)
{
	d->srv.root = open(d->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d->srv.root >= 0)
		return 0;
	say("cannot serve '%s': %s", d->dir, strerror(errno));
	return SERVE_USAGE;
}

/* --- sockets -------------------------------------------------------------- */

/* 0 or as rds_open(3). */
static int add_endpoint(struct daemon *d, const struct rds_addr *addr)
{
	struct endpoint *ep = &d->eps[d->nr_eps];
	int fd, err, size = SEND_BUFFER;

	fd = rds_open(NULL, SOCK_NONBLOCK);
	if (fd < 0)
		return fd;
	err = rds_bind(fd, addr);
	if (err) {
		close(fd);
		return err;
	}
	/* cut to net.core.wmem_max, which serves as well, only slower */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ep->fd = fd;
	rds_addr_format(addr, ep->text, sizeof(ep->text));
	d->nr_eps++;
	return 0;
}

static int add_given(struct daemon *d, const char *text)
{
	struct rds_addr addr;
	int err;

	err = rds_addr_parse(&addr, text, RDS_FILE_PORT);
	if (err) {
		say("'%s': %s", text, rds_explain(RDS_CALL_ADDR, err));
		return SERVE_USAGE;
	}
	err = add_endpoint(d, &addr);
	if (err) {
		say("cannot listen on '%s': %s", text,
		    rds_explain(RDS_CALL_OPEN, err));
		return SERVE_SYSTEM;
	}
	return 0;
}

static bool to_addr(const struct sockaddr *sa, struct rds_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa && sa->sa_family == AF_INET) {
		memcpy(&addr->in, sa, sizeof(addr->in));
		addr->in.sin_port = htons(RDS_FILE_PORT);
		return true;
	}
	if (sa && sa->sa_family == AF_INET6) {
		memcpy(&addr->in6, sa, sizeof(addr->in6));
		addr->in6.sin6_port = htons(RDS_FILE_PORT);
		return true;
	}
	return false;
}

/* Every address of this host that some RDS transport serves. */
static int add_all(struct daemon *d)
{
	struct ifaddrs *list, *i;
	struct rds_addr addr;
	int err = -EADDRNOTAVAIL, failed;

	if (getifaddrs(&list) < 0) {
		say("cannot list this host's addresses: %s", strerror(errno));
		return SERVE_SYSTEM;
	}
	for (i = list; i && d->nr_eps < MAX_ENDPOINTS; i = i->ifa_next) {
		if (!(i->ifa_flags & IFF_UP) || !to_addr(i->ifa_addr, &addr))
			continue;
		failed = add_endpoint(d, &addr);
		if (failed && failed != -EADDRNOTAVAIL)
			err = failed;
	}
	freeifaddrs(list);
	if (d->nr_eps)
		return 0;
	say("cannot listen on any address of this host: %s",
	    rds_explain(RDS_CALL_OPEN, err));
	return SERVE_SYSTEM;
}

static int open_endpoints(struct daemon *d)
{
	int err = 0;

	if (!d->nr_addrs)
		return add_all(d);
	for (unsigned int i = 0; i < d->nr_addrs && !err; i++)
		err = add_given(d, d->addrs[i]);
	return err;
}

static void print_start(const struct daemon *d)
{
	printf("rds-serve: serving '%s' on", d->dir);
	for (unsigned int i = 0; i < d->nr_eps; i++)
		printf(" %s", d->eps[i].text);
	putchar('\n');
	fflush(stdout);
}

/* --- the loop ------------------------------------------------------------- */

static void receive(struct daemon *d, struct endpoint *ep)
{
	static uint8_t buf[RDS_FILE_MSG_MAX + 1];	/* longer: malformed */
	struct rds_incoming in;

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		ssize_t n = rds_recv(ep->fd, buf, sizeof(buf), &in, MSG_DONTWAIT);

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			say("%s: %s", ep->text, rds_explain(RDS_CALL_RECV, n));
			return;
		}
		for (uint32_t j = 0; j < in.nr_notify; j++)
			serve_notification(&d->srv, &in.notify[j]);
		if (in.what & LIBRDS_IN_MESSAGE)
			serve_message(&d->srv, ep, &in.from, buf, n);
	}
}

static void prepare_poll(struct daemon *d, struct pollfd *fds)
{
	for (unsigned int i = 0; i < d->nr_eps; i++) {
		fds[i].fd = d->eps[i].fd;
		fds[i].events = d->eps[i].full ? POLLIN | POLLOUT : POLLIN;
		d->eps[i].full = false;
	}
}

static int serve(struct daemon *d)
{
	struct pollfd fds[MAX_ENDPOINTS];
	int64_t expire = now_ms();
	bool busy = false;
	int err;

	while (!stop_signal) {
		int64_t wait = d->srv.blocked ? BLOCKED_INTERVAL_MS :
						EXPIRE_INTERVAL_MS;

		prepare_poll(d, fds);
		err = wait_events(fds, d->nr_eps, busy ? 0 : wait);
		if (err && err != -EINTR) {
			say("cannot wait: %s", strerror(-err));
			return SERVE_SYSTEM;
		}
		for (unsigned int i = 0; i < d->nr_eps; i++)
			receive(d, &d->eps[i]);
		d->srv.blocked = false;
		busy = serve_hash(&d->srv);	/* may end in an answer */
		busy |= serve_send(&d->srv);
		if (now_ms() >= expire) {
			serve_expire(&d->srv);
			expire = now_ms() + EXPIRE_INTERVAL_MS;
		}
	}
	return 0;
}

static int start(struct daemon *d)
{
	int err;

	d->srv.sessions = calloc(d->srv.max, sizeof(*d->srv.sessions));
	if (!d->srv.sessions) {
		say("out of memory");
		return SERVE_SYSTEM;
	}
	err = open_folder(d);
	if (!err)
		err = open_endpoints(d);
	if (err)
		return err;
	d->srv.copies_known = !copies_read(d->eps[0].fd, &d->srv.copies);
	return 0;
}

int main(int argc, char **argv)
{
	static struct daemon d = {
		.srv = { .max = DEFAULT_CLIENTS, .idle = DEFAULT_IDLE_MS },
	};
	int err;

	err = read_arguments(&d, argc, argv);
	if (!err)
		err = start(&d);
	if (err)
		return err;
	catch_signals();
	print_start(&d);
	err = serve(&d);
	serve_stop(&d.srv);
	if (stop_signal)
		note("ended by signal: %s", strsignal(stop_signal));
	return err;
}
