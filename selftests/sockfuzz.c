// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Random socket calls: who makes them, who watches, and what must hold at the end.
 *
 *   sockfuzz [-t SECONDS] [-s SEED]                   all four tests, SECONDS of each
 *   sockfuzz -o TEST -s SEED -n CALLS [-u] [-v]       one round again: the line that a round printed
 *
 * A round is a process: it opens sockets, makes calls until it is stopped, closes everything, and looks
 * at its own pinned pages.  Its parent watches: a call that takes long is interrupted, one that is not
 * over long after that hangs; and when the kernel's log tells of trouble, what was called last is
 * printed beside it.  After each round no socket, key, pinned page or unread message may be left, and after
 * all of them no more memory be in use than after the first.
 */
#include <inttypes.h>
#include <sys/wait.h>
#include "sockfuzz_ops.h"

#define FZ_SECONDS	10	/* of each test, by default */
#define FZ_ROUND	20	/* seconds that a round takes at most */
#define FZ_PATIENCE_MS	300	/* then a call is interrupted */
#define FZ_HANG_MS	120000	/* then it hangs; closing may take seconds, on a slow machine many */
#define FZ_FLAT_KIB	(64 * 1024)
#define FZ_MEMLOCK	(3 * RDS_MAX_MSG / 2)

enum fz_test { FZ_LOOP, FZ_LOOP_RACE, FZ_RXE, FZ_RXE_RACE, FZ_NR_TESTS };

static const char *const test_names[] = {
	"one thread, loopback", "racing threads, loopback", "one thread, rxe",
	"racing threads, rxe",
};

struct options {
	unsigned int	seconds;
	uint64_t	seed;
	int		only;		/* a test, or -1: all */
	uint64_t	calls;		/* of each thread, 0: until the time is up */
	bool		nobody;
	bool		verbose;
};

struct round {
	struct fz_world		w;
	unsigned int		threads;
	bool			nobody;		/* an ordinary user, with a limit on pinned memory */
	int64_t			end;
	pid_t			pid;
	int			kmsg;
	bool			splat;
};

/* --- the process that calls --- */

static void interrupted(int sig) {}

static bool world_open(struct round *r, enum fz_test test)
{
	static const enum rds_bed loop[] = { BED_LOOP4, BED_LOOP6 };
	static const enum rds_bed rxe[] = { BED_RXE, BED_RXE6, BED_LOOP4 };
	const enum rds_bed *bed = test >= FZ_RXE ? rxe : loop;
	unsigned int i, nr = test >= FZ_RXE ? ARRAY_SIZE(rxe) : ARRAY_SIZE(loop);
	struct fz_world *w = &r->w;

	for (i = 0; i < nr; i++) {
		if (!bed_addrs(bed[i], &w->addr[w->nr_addrs], &w->addr[w->nr_addrs + 1]))
			return false;
		w->nr_addrs += 2;
	}
	for (i = 0; i < FZ_SOCKS; i++)
		w->fd[i] = -1;
	w->arena_fd = memfd_create("arena", MFD_CLOEXEC);
	if (w->arena_fd < 0 || ftruncate(w->arena_fd, FZ_HALF))
		return false;
	w->arena = mmap(NULL, FZ_ARENA + 2 * FZ_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->arena == MAP_FAILED)
		return false;
	w->arena += FZ_GUARD;
	return !mprotect(w->arena, FZ_HALF, PROT_READ | PROT_WRITE) &&
	       mmap(w->arena + FZ_HALF, FZ_HALF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    w->arena_fd, 0) != MAP_FAILED;
}

struct caller {
	struct round	*r;
	unsigned int	number;
};

static void *make_calls(void *arg)
{
	struct caller *me = arg;
	struct fz_world *w = &me->r->w;
	uint64_t n;

	w->shared->thread[me->number].tid = my_tid();
	for (n = 0; !__atomic_load_n(&w->shared->stop, __ATOMIC_RELAXED); n++) {
		if (w->max_calls && n == w->max_calls)
			break;
		fz_run(w, me->number, n);
	}
	w->shared->thread[me->number].tid = 0;
	return NULL;
}

static int make_round(struct round *r)
{
	struct sigaction sa = { .sa_handler = interrupted };
	struct caller caller[FZ_THREADS];
	pthread_t thread[FZ_THREADS];
	unsigned int i;

	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (r->nobody && become_nobody(FZ_MEMLOCK))
		return 2;
	for (i = 0; i < r->threads; i++) {
		caller[i] = (struct caller){ r, i };
		/* the first is the process itself, so that one thread is all there is */
		if (i && pthread_create(&thread[i], NULL, make_calls, &caller[i]))
			return 3;
	}
	make_calls(&caller[0]);
	for (i = 1; i < r->threads; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < FZ_SOCKS; i++)
		if (r->w.fd[i] >= 0)
			close(r->w.fd[i]);
	if (!pinned_settles_at(0)) {
		printf("# %ld bytes are still pinned\n", pinned_bytes());
		return 4;
	}
	return 0;
}

/* --- the one that watches --- */

static void print_ring(const struct fz_thread *t)
{
	uint64_t n = t->calls < FZ_RING ? 0 : t->calls + 1 - FZ_RING;

	for (; n <= t->calls; n++)
		printf("#   %s\n", t->ring[n % FZ_RING]);
}

static void print_rings(const struct round *r)
{
	unsigned int i;

	for (i = 0; i < r->threads; i++)
		print_ring(&r->w.shared->thread[i]);
	fflush(stdout);
}

static void print_file(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, n, stdout);
	close(fd);
}

/* True if a thread hangs for good. */
static bool watch_thread(const struct round *r, const struct fz_thread *t)
{
	int64_t since = __atomic_load_n(&t->since, __ATOMIC_RELAXED), now = now_ms();
	char path[64];

	if (!t->tid || !since || now - since < FZ_PATIENCE_MS)
		return false;
	syscall(SYS_tgkill, r->pid, t->tid, SIGUSR1);
	if (now - since < FZ_HANG_MS)
		return false;
	printf("# a call takes longer than %d s and cannot be interrupted: %s\n", FZ_HANG_MS / 1000,
	       t->ring[t->calls % FZ_RING]);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stack", r->pid, t->tid);
	print_file(path);
	return true;
}

/* The kernel's words for trouble; the rig has its own, longer list. */
static bool is_splat(const char *line)
{
	static const char *const words[] = {
		"WARNING:", "BUG:", "KASAN", "UBSAN", "Oops", "Call Trace", "general protection",
		"refcount_t:", "blocked for more than",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

static void watch_log(struct round *r)
{
	char line[2048];
	ssize_t n;

	while ((n = read(r->kmsg, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n < 0 ? 0 : n] = 0;
		if (r->splat || !is_splat(line))
			continue;
		r->splat = true;
		printf("# the kernel says: %s# the last calls:\n", line);
		print_rings(r);
	}
}

/* Wait for the round's end: its exit code, or -1 if it hangs. */
static int watch_round(struct round *r)
{
	struct fz_shared *shared = r->w.shared;
	int64_t late = r->end + 2 * FZ_HANG_MS;
	unsigned int i;
	int status;

	while (waitpid(r->pid, &status, WNOHANG) != r->pid) {
		if (now_ms() > r->end)
			__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
		watch_log(r);
		for (i = 0; i < r->threads; i++)
			if (watch_thread(r, &shared->thread[i]))
				return -1;
		if (now_ms() > late) {
			printf("# closing takes for ever\n");
			return -1;
		}
		usleep(100000);
	}
	watch_log(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status;
}

/* --- what is left behind --- */

static bool nothing_left(int fd)
{
	return counter(fd, "mr_registered") != UINT64_MAX &&
	       counter(fd, "mr_registered") == counter(fd, "mr_revoked") &&
	       counter(fd, "pinned_bytes") == counter(fd, "unpinned_bytes");
}

/* Objects in use of one of our slab caches; -1: it cannot be seen, as it is merged with another. */
static long slab_objects(const char *name)
{
	char path[128], line[256], found[64];
	long n = -1, used;
	FILE *f;
	int fd;

	/* what lies on the lists of a CPU counts as used */
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", name);
	fd = open(path, O_WRONLY);
	if (fd >= 0) {
		if (write(fd, "1", 1) != 1)
			printf("# %s: %s\n", path, strerror(errno));
		close(fd);
	}
	f = fopen("/proc/slabinfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", found, &used) == 2 && !strcmp(found, name))
			n = used;
	if (f)
		fclose(f);
	return n;
}

/* Sockets go after a grace period. */
static bool slabs_are_empty(void)
{
	return !slab_objects("RDS") && !slab_objects("rds_sockets_inc");
}

static bool round_is_clean(void)
{
	int64_t end = now_ms() + FZ_HANG_MS / 2;
	int fd = rds_socket();
	bool clean;

	if (fd < 0)
		return false;
	while (!(clean = nothing_left(fd)) && now_ms() < end)
		nap();
	if (!clean)
		printf("# keys: %" PRIu64 " made, %" PRIu64 " revoked; bytes: %" PRIu64
		       " pinned, %" PRIu64 " unpinned\n", counter(fd, "mr_registered"),
		       counter(fd, "mr_revoked"), counter(fd, "pinned_bytes"),
		       counter(fd, "unpinned_bytes"));
	close(fd);
	while (!slabs_are_empty() && now_ms() < end)
		usleep(100000);
	if (!slabs_are_empty()) {
		printf("# %ld sockets, %ld received messages are left\n", slab_objects("RDS"),
		       slab_objects("rds_sockets_inc"));
		clean = false;
	}
	return clean;
}

static long available_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f;
	int fd;

	sync();
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
	if (fd >= 0) {
		if (write(fd, "3", 1) != 1)
			printf("# drop_caches: %s\n", strerror(errno));
		close(fd);
	}
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* --- rounds and tests --- */

static void print_round(const struct round *r, enum fz_test test, const struct options *o)
{
	const struct fz_shared *shared = r->w.shared;
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < r->threads; i++)
		if (shared->thread[i].calls > most)
			most = shared->thread[i].calls;
	printf("# %s: again by sockfuzz -o %d -s %" PRIu64 " -n %" PRIu64 "%s\n", test_names[test],
	       test, r->w.seed, o->calls ?: most + 1, r->nobody ? " -u" : "");
	fflush(stdout);
}

static bool run_round(enum fz_test test, const struct options *o, uint64_t seed, bool nobody,
		      unsigned int seconds)
{
	struct round r = {
		.w = { .seed = seed, .max_calls = o->calls, .verbose = o->verbose },
		.threads = test == FZ_LOOP_RACE || test == FZ_RXE_RACE ? FZ_THREADS : 1,
		.nobody = nobody,
	};
	int code;

	r.w.shared = mmap(NULL, sizeof(*r.w.shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r.kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r.w.shared == MAP_FAILED || r.kmsg < 0 || lseek(r.kmsg, 0, SEEK_END) < 0 ||
	    !world_open(&r, test)) {
		printf("# cannot begin: %s\n", strerror(errno));
		return false;
	}
	fflush(stdout);
	/* a run that is repeated takes the time it takes */
	r.end = now_ms() + (o->calls ? 3600 : seconds) * 1000ll;
	r.pid = fork();
	if (!r.pid) {
		code = make_round(&r);
		fflush(stdout);
		_exit(code);
	}
	code = r.pid < 0 ? -1 : watch_round(&r);
	print_round(&r, test, o);
	if (code) {
		printf("# ended with %d; the last calls:\n", code);
		print_rings(&r);
		if (r.pid > 0)
			kill(r.pid, SIGKILL);
	}
	munmap(r.w.shared, sizeof(*r.w.shared));
	munmap(r.w.arena - FZ_GUARD, FZ_ARENA + 2 * FZ_GUARD);
	close(r.w.arena_fd);
	close(r.kmsg);
	return !code && !r.splat && round_is_clean();
}

static bool run_test(enum fz_test test, const struct options *o)
{
	unsigned int i, rounds = o->seconds / FZ_ROUND + 2, seconds = o->seconds / rounds + 1;
	long before = 0, after;

	for (i = 0; i < rounds; i++) {
		/* every other round by an ordinary user */
		if (!run_round(test, o, o->seed + 1000 * test + i, i % 2, seconds))
			return false;
		if (!i)
			before = available_kib();
	}
	after = available_kib();
	printf("# memory available: %ld KiB after the first round, %ld KiB after the last\n", before,
	       after);
	return before - after < FZ_FLAT_KIB;
}

static bool parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "t:s:o:n:uv")) != -1) {
		switch (c) {
		case 't':
			o->seconds = atoi(optarg);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			o->only = atoi(optarg);
			break;
		case 'n':
			o->calls = strtoull(optarg, NULL, 0);
			break;
		case 'u':
			o->nobody = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc && o->only < FZ_NR_TESTS;
}

int main(int argc, char **argv)
{
	struct options o = { .seconds = FZ_SECONDS, .seed = 1, .only = -1 };
	int test, failed = 0;
	bool ok;

	if (!parse(argc, argv, &o)) {
		fprintf(stderr, "usage: sockfuzz [-t SECONDS] [-s SEED] [-o TEST [-n CALLS] [-u] [-v]]\n");
		return 2;
	}
	if (o.only >= 0) {
		printf("TAP version 13\n1..1\n");
		ok = run_round(o.only, &o, o.seed, o.nobody, o.seconds);
		printf("%s 1 %s\n", ok ? "ok" : "not ok", test_names[o.only]);
		return !ok;
	}
	printf("TAP version 13\n1..%d\n", FZ_NR_TESTS);
	for (test = 0; test < FZ_NR_TESTS; test++) {
		ok = run_test(test, &o);
		printf("%s %d %s\n", ok ? "ok" : "not ok", test + 1, test_names[test]);
		fflush(stdout);
		failed += !ok;
	}
	return failed ? 1 : 0;
}
