// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Four processes, two on each machine, add to one counter in the memory of machine a, each 1,000 times 1.
 *
 * The two on a reach it at their own address, which needs no network: that is loopback, with the device carrying
 * out the atomics.  The other two lose their connection when the link goes down: an operation that was under way
 * then may have run or not, and is reported.  So the counter is at least the number of those that succeeded, and at
 * most that of all.  Each of those that succeeded has found an old value that no other one has.
 *
 * Runs on both machines.  With the link that goes down and up, it and vm2/fadd take turns by files in FOLDER:
 * each worker creates "begun.PART.WORKER" when a part of its additions begins, and waits with the second half
 * of the part for "cut.PART".
 *
 *	worker				owner of the counter, on a
 *	HELLO, repeated		-->
 *				<--	KEY, when all are there
 *	REPORT			-->
 *				<--	OVER, when all have reported; until then the worker's socket stays open
 */
#include <limits.h>
#include <sys/prctl.h>
#include "rds_test.h"

#define OWNER_PORT	5300
#define WORKER_PORT	5301	/* and those that follow */
#define HERE		2	/* workers on each machine */
#define WORKERS		(2 * HERE)
#define EACH		1000	/* additions of each worker */
#define UNDER_WAY	8	/* additions of one worker at once */
#define PARTS		5	/* the link goes down in all but the first */
#define PART		(EACH / PARTS)
#define HELLO_MS	500
#define STATUSES	(RDS_RDMA_OTHER_ERROR + 1)

/* In place of an old value */
#define NOT_TOLD	UINT64_MAX
#define FAILED		(UINT64_MAX - 1)

enum kind { HELLO = 1, KEY, REPORT, OVER };

struct msg {
	uint32_t		kind;
	uint32_t		worker;
	rds_rdma_cookie_t	cookie;
	uint32_t		statuses[STATUSES];
	uint64_t		old[EACH];	/* in order of the additions */
};

struct worker {
	int			fd;
	unsigned int		number;		/* from 0 to WORKERS - 1 */
	bool			flapping;
	union rds_addr		owner;
	rds_rdma_cookie_t	cookie;
	uint64_t		*local;		/* a word for each addition */
	unsigned int		sent, done;
	struct msg		report;
};

FIXTURE(fadd) {
	bool		is_owner;
	union rds_addr	my, owner;
	int		fd;			/* the owner's */
	volatile uint64_t *counter;
	pid_t		pids[HERE];
	union rds_addr	workers[WORKERS];
	struct msg	reports[WORKERS];
};
FIXTURE_VARIANT(fadd) {
	bool flapping;
};
FIXTURE_VARIANT_ADD(fadd, calm) { };
FIXTURE_VARIANT_ADD(fadd, flapping) { .flapping = true };

/* --- a worker ----------------------------------------------------------- */

static const char *turn_file(const char *what, unsigned int part)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.%u", getenv("FOLDER") ?: "", what, part);
	return path;
}

static void say(struct __test_metadata *_metadata, int fd, const union rds_addr *to, const struct msg *msg)
{
	ASSERT_EQ(sizeof(*msg), rds_send(fd, to, msg, sizeof(*msg), 0));
}

static void get_key(struct __test_metadata *_metadata, struct worker *w)
{
	struct msg hello = { .kind = HELLO, .worker = w->number }, msg = { 0 };
	int64_t end = now_ms() + RDS_WAIT_MS;
	ssize_t n;

	do {
		say(_metadata, w->fd, &w->owner, &hello);
		ready(w->fd, POLLIN, HELLO_MS);
		n = rds_recv(w->fd, &msg, sizeof(msg), MSG_DONTWAIT, NULL);
	} while (n == -EAGAIN && now_ms() < end);
	ASSERT_EQ(sizeof(msg), n);
	ASSERT_EQ(KEY, msg.kind);
	w->cookie = msg.cookie;
}

static void note(struct __test_metadata *_metadata, struct worker *w, const struct rds_rdma_notify *n)
{
	ASSERT_LT(n->user_token, w->sent);
	ASSERT_EQ(NOT_TOLD, w->report.old[n->user_token]) {
		TH_LOG("worker %u: addition %llu is told of twice", w->number, n->user_token);
	}
	ASSERT_TRUE(n->status == RDS_RDMA_SUCCESS || n->status == RDS_RDMA_DROPPED ||
		    n->status == RDS_RDMA_OTHER_ERROR) {
		TH_LOG("worker %u: addition %llu: status %d", w->number, n->user_token, n->status);
	}
	w->report.statuses[n->status]++;
	w->report.old[n->user_token] = n->status == RDS_RDMA_SUCCESS ? w->local[n->user_token] : FAILED;
	w->done++;
}

/* Notifications that are there, or come soon */
static void take_notifications(struct __test_metadata *_metadata, struct worker *w)
{
	struct rds_msg_in in;
	unsigned int i;
	ssize_t n;

	ready(w->fd, POLLIN, 100);
	n = rds_recv(w->fd, NULL, 0, MSG_DONTWAIT, &in);
	if (n == -EAGAIN)
		return;
	ASSERT_EQ(0, n);
	ASSERT_LT(0, in.nr_status);
	for (i = 0; i < in.nr_status; i++)
		note(_metadata, w, &in.status[i]);
}

static void add_one(struct __test_metadata *_metadata, struct worker *w)
{
	struct rds_atomic_args args = {
		.cookie = w->cookie, .local_addr = (uintptr_t)&w->local[w->sent],
		.fadd.add = 1, .flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, .user_token = w->sent,
	};
	struct rds_msg_out m;

	msg_init(&m, &w->owner, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	w->sent++;
	ASSERT_EQ(0, msg_send(w->fd, &m, 0));
}

/* So that the link is cut amid additions, and more begin before anybody knows of it. */
static void keep_in_step(struct __test_metadata *_metadata, struct worker *w)
{
	unsigned int part = w->sent / PART;
	char name[32];
	int fd;

	if (!w->flapping || !part)
		return;
	if (w->sent % PART == 0) {
		snprintf(name, sizeof(name), "begun.%u", part);
		fd = open(turn_file(name, w->number % HERE), O_CREAT | O_WRONLY, 0644);
		ASSERT_LE(0, fd);
		close(fd);
	}
	if (w->sent % PART == PART / 2)
		while (access(turn_file("cut", part), F_OK))
			take_notifications(_metadata, w);
}

/* All of them until their end; the time-out is the test's. */
static void add_all(struct __test_metadata *_metadata, struct worker *w)
{
	while (w->done < EACH) {
		if (w->sent < EACH && w->sent - w->done < UNDER_WAY) {
			keep_in_step(_metadata, w);
			add_one(_metadata, w);
		} else {
			take_notifications(_metadata, w);
		}
	}
}

/* What an addition that is over has left may not change any more. */
static void expect_same_values(struct __test_metadata *_metadata, const struct worker *w)
{
	unsigned int i;

	for (i = 0; i < EACH; i++)
		if (w->report.old[i] != FAILED)
			ASSERT_EQ(w->report.old[i], w->local[i]);
}

static void wait_for_end(struct __test_metadata *_metadata, struct worker *w)
{
	struct msg msg = { 0 };
	int tries = 4;
	ssize_t n;

	while ((n = rds_recv_wait(w->fd, &msg, sizeof(msg), NULL)) == -EAGAIN && tries--)
		;
	/* a notification too many would come as an empty message */
	ASSERT_EQ(sizeof(msg), n);
	ASSERT_EQ(OVER, msg.kind);
}

static void work(struct __test_metadata *_metadata, struct worker *w, union rds_addr my)
{
	unsigned int i;

	my = addr_with_port(&my, WORKER_PORT + w->number % HERE);
	w->fd = open_bound(_metadata, &my);
	w->local = map_guarded(_metadata, EACH * sizeof(*w->local));
	w->report = (struct msg){ .kind = REPORT, .worker = w->number };
	for (i = 0; i < EACH; i++)
		w->report.old[i] = NOT_TOLD;
	get_key(_metadata, w);
	add_all(_metadata, w);
	say(_metadata, w->fd, &w->owner, &w->report);
	wait_for_end(_metadata, w);
	expect_same_values(_metadata, w);
}

/* --- the owner ---------------------------------------------------------- */

FIXTURE_SETUP(fadd)
{
	union rds_addr my, peer;

	self->is_owner = !strcmp(getenv("ROLE") ?: "", "a");
	bed_need(_metadata, BED_RXE, &my, &peer);
	self->my = my;
	self->owner = addr_with_port(self->is_owner ? &my : &peer, OWNER_PORT);
	self->fd = self->is_owner ? open_bound(_metadata, &self->owner) : -1;
}

FIXTURE_TEARDOWN(fadd)
{
	if (self->fd >= 0)
		close(self->fd);
}

/* One message of that kind from each worker */
static void hear_all(struct __test_metadata *_metadata, FIXTURE_DATA(fadd) *self, enum kind kind)
{
	int64_t end = now_ms() + 5 * RDS_WAIT_MS;
	unsigned int heard = 0;
	struct rds_msg_in in;
	struct msg msg;
	ssize_t n;

	while (heard < WORKERS) {
		n = rds_recv_wait(self->fd, &msg, sizeof(msg), &in);
		if (n == -EAGAIN && now_ms() < end)
			continue;
		ASSERT_EQ(sizeof(msg), n);
		ASSERT_LT(msg.worker, WORKERS);
		if (msg.kind != kind || self->reports[msg.worker].kind == kind)
			continue;
		self->reports[msg.worker] = msg;
		self->workers[msg.worker] = in.from;
		heard++;
	}
}

static void tell_all(struct __test_metadata *_metadata, FIXTURE_DATA(fadd) *self, const struct msg *msg)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++)
		say(_metadata, self->fd, &self->workers[i], msg);
}

static void run_counter(struct __test_metadata *_metadata, FIXTURE_DATA(fadd) *self)
{
	struct msg msg = { .kind = KEY };

	self->counter = map_guarded(_metadata, sizeof(*self->counter));
	ASSERT_EQ(0, get_mr(self->fd, (void *)self->counter, sizeof(*self->counter), RDS_RDMA_READWRITE,
			    &msg.cookie));
	hear_all(_metadata, self, HELLO);
	tell_all(_metadata, self, &msg);
	hear_all(_metadata, self, REPORT);
	msg.kind = OVER;
	tell_all(_metadata, self, &msg);
}

/* All values that a worker's successful additions have found: none was found before.  How many there are. */
static unsigned int check_old_values(struct __test_metadata *_metadata, const struct msg *report,
				     uint64_t counter, bool *seen)
{
	unsigned int i, found = 0;

	for (i = 0; i < EACH; i++) {
		uint64_t old = report->old[i];

		if (old == FAILED)
			continue;
		ASSERT_LT(old, counter) {
			TH_LOG("worker %u, addition %u", report->worker, i);
		}
		ASSERT_FALSE(seen[old]) {
			TH_LOG("worker %u, addition %u: %llu was told before", report->worker, i,
			       (unsigned long long)old);
		}
		seen[old] = true;
		found++;
	}
	return found;
}

static void judge(struct __test_metadata *_metadata, FIXTURE_DATA(fadd) *self, bool flapping)
{
	unsigned int i, successes = 0, reported = 0;
	static bool seen[WORKERS * EACH];
	uint64_t counter = *self->counter;

	ASSERT_GE(WORKERS * EACH, counter);
	for (i = 0; i < WORKERS; i++) {
		const struct msg *r = &self->reports[i];

		TH_LOG("worker %u: success %u, dropped %u, other error %u", i, r->statuses[RDS_RDMA_SUCCESS],
		       r->statuses[RDS_RDMA_DROPPED], r->statuses[RDS_RDMA_OTHER_ERROR]);
		EXPECT_EQ(r->statuses[RDS_RDMA_SUCCESS],
			  check_old_values(_metadata, r, counter, seen));
		successes += r->statuses[RDS_RDMA_SUCCESS];
		reported += r->statuses[RDS_RDMA_DROPPED] + r->statuses[RDS_RDMA_OTHER_ERROR];
	}
	TH_LOG("the counter is %llu, %u additions succeeded, %u were reported", (unsigned long long)counter,
	       successes, reported);
	EXPECT_EQ(WORKERS * EACH, successes + reported);
	EXPECT_LE(successes, counter);
	if (flapping) {
		/* without, nothing would have been shown */
		EXPECT_LT(0, reported);
	} else {
		EXPECT_EQ(WORKERS * EACH, successes);
		EXPECT_EQ(WORKERS * EACH, counter);
	}
}

static void start_workers(struct __test_metadata *_metadata, FIXTURE_DATA(fadd) *self, bool flapping)
{
	static struct worker w;
	unsigned int i;

	w.owner = self->owner;
	w.flapping = flapping;
	for (i = 0; i < HERE; i++) {
		w.number = (self->is_owner ? 0 : HERE) + i;
		self->pids[i] = fork();
		ASSERT_GE(self->pids[i], 0);
		if (self->pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(_metadata, &w, self->my);
		_exit(0);
	}
}

TEST_F_TIMEOUT(fadd, sum_is_right, RDS_SLOW_TEST)
{
	unsigned int i;
	int status;

	start_workers(_metadata, self, variant->flapping);
	if (self->is_owner)
		run_counter(_metadata, self);
	for (i = 0; i < HERE; i++) {
		ASSERT_EQ(self->pids[i], waitpid(self->pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	if (self->is_owner)
		judge(_metadata, self, variant->flapping);
}

TEST_HARNESS_MAIN
