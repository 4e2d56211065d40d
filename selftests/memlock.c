// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Pinned pages against RLIMIT_MEMLOCK: abi section 6 (GET_MR), better than mainline, which
 * only asks whether the limit is 0.
 */
#include "rds_test.h"

#define LIMIT	(64 * 1024)

/* Sockets are made by root; each test runs its body as nobody with a limit. */
FIXTURE(memlock) {
	struct rds_pair	p;
	char		*buf;
	size_t		page;
	rds_rdma_cookie_t remote;	/* of p.rx, 1 MiB */
};
RDS_BED_VARIANTS(memlock);

FIXTURE_SETUP(memlock)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->page = page_size();
	self->buf = map_guarded(_metadata, RDS_MAX_MSG);
	ASSERT_EQ(0, get_mr(self->p.rx, map_guarded(_metadata, RDS_MAX_MSG), RDS_MAX_MSG,
			    RDS_RDMA_READWRITE, &self->remote));
}

FIXTURE_TEARDOWN(memlock)
{
	pair_close(&self->p);
}

/* In a child: 0 if the expression holds, else leave with the line number's low byte */
#define NEED(expr)							\
	do {								\
		if (!(expr)) {						\
			printf("# line %d: not true: %s\n", __LINE__, #expr);	\
			fflush(stdout);					\
			return 1;					\
		}							\
	} while (0)

static int limit_is_kept(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	rds_rdma_cookie_t cookie[2];
	int fd = self->p.tx;

	NEED(!become_nobody(LIMIT));
	NEED(pinned_bytes() == 0);
	NEED(get_mr(fd, self->buf, LIMIT + 1, 0, cookie) == -ENOMEM);
	NEED(pinned_bytes() == 0);
	NEED(get_mr(fd, self->buf, LIMIT, 0, cookie) == 0);
	NEED(pinned_bytes() == LIMIT);
	NEED(get_mr(fd, self->buf + LIMIT, 1, 0, cookie + 1) == -ENOMEM);
	NEED(pinned_bytes() == LIMIT);
	NEED(free_mr(fd, cookie[0]) == 0);
	NEED(pinned_bytes() == 0);
	/* whole pages are pinned, however few of their bytes are registered */
	NEED(get_mr(fd, self->buf + self->page - 1, LIMIT, 0, cookie) == -ENOMEM);
	NEED(get_mr(fd, self->buf + self->page - 1, LIMIT - self->page, 0, cookie) == 0);
	NEED(pinned_bytes() == LIMIT);
	return 0;
}

TEST_F(memlock, unprivileged_cannot_pin_more)
{
	EXPECT_EQ(0, in_child(limit_is_kept, self));
}

static int limit_counts_every_socket(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	rds_rdma_cookie_t cookie;

	NEED(!become_nobody(LIMIT));
	NEED(get_mr(self->p.tx, self->buf, LIMIT / 2, 0, &cookie) == 0);
	NEED(get_mr(self->p.rx, self->buf, LIMIT / 2, 0, &cookie) == 0);
	NEED(get_mr(self->p.tx, self->buf, 1, 0, &cookie) == -ENOMEM);
	NEED(get_mr(self->p.rx, self->buf, 1, 0, &cookie) == -ENOMEM);
	NEED(pinned_bytes() == LIMIT);
	return 0;
}

TEST_F(memlock, one_limit_for_all_sockets)
{
	EXPECT_EQ(0, in_child(limit_counts_every_socket, self));
}

static int limit_is_for_map_too(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->buf, LIMIT + 1 } };
	struct rds_msg_out m;

	NEED(!become_nobody(LIMIT));
	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	NEED(msg_send(self->p.tx, &m, 0) == -ENOMEM);
	NEED(pinned_bytes() == 0);
	return 0;
}

TEST_F(memlock, map_message_cannot_pin_more)
{
	EXPECT_EQ(0, in_child(limit_is_for_map_too, self));
}

static int limit_is_for_operations_too(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	int fd = self->p.tx;

	NEED(!become_nobody(LIMIT));
	NEED(rdma_run(fd, &self->p.rx_addr, self->remote, 0, self->buf, LIMIT + 1,
		      RDS_RDMA_READWRITE) == -ENOMEM);
	NEED(rdma_run(fd, &self->p.rx_addr, self->remote, 0, self->buf, LIMIT + 1, 0) == -ENOMEM);
	NEED(pinned_bytes() == 0);
	NEED(rdma_run(fd, &self->p.rx_addr, self->remote, 0, self->buf, LIMIT,
		      RDS_RDMA_READWRITE) == RDS_RDMA_SUCCESS);
	NEED(rdma_run(fd, &self->p.rx_addr, self->remote, 0, self->buf, LIMIT,
		      0) == RDS_RDMA_SUCCESS);
	NEED(pinned_settles_at(0));
	return 0;
}

TEST_F(memlock, operation_cannot_pin_more)
{
	EXPECT_EQ(0, in_child(limit_is_for_operations_too, self));
}

static int run_fadd(FIXTURE_DATA(memlock) *self, void *old)
{
	struct rds_atomic_args args = {
		.cookie = self->remote, .local_addr = (uintptr_t)old, .fadd.add = 1,
		.flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
	};
	struct rds_msg_out m;
	ssize_t n;

	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	n = msg_send(self->p.tx, &m, 0);
	return n < 0 ? n : rdma_status(self->p.tx, NULL);
}

static int limit_is_for_atomics_too(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	rds_rdma_cookie_t cookie;

	NEED(!become_nobody(LIMIT));
	NEED(get_mr(self->p.tx, self->buf, LIMIT, 0, &cookie) == 0);
	NEED(run_fadd(self, self->buf + LIMIT) == -ENOMEM);
	NEED(pinned_bytes() == LIMIT);
	NEED(free_mr(self->p.tx, cookie) == 0);
	NEED(run_fadd(self, self->buf + LIMIT) == RDS_RDMA_SUCCESS);
	NEED(pinned_settles_at(0));
	return 0;
}

TEST_F(memlock, abi6_better_atomic_cannot_pin_more)
{
	EXPECT_EQ(0, in_child(limit_is_for_atomics_too, self));
}

static int limit_of_zero(void *arg)
{
	FIXTURE_DATA(memlock) *self = arg;
	rds_rdma_cookie_t cookie;

	NEED(!become_nobody(0));
	NEED(get_mr(self->p.tx, self->buf, 1, 0, &cookie) == -EPERM);
	/* in the order of abi section 6: wrap, permission, empty, size, fault */
	NEED(get_mr(self->p.tx, (void *)UINTPTR_MAX, 2, 0, &cookie) == -EINVAL);
	NEED(get_mr(self->p.tx, self->buf, 0, 0, &cookie) == -EPERM);
	NEED(get_mr(self->p.tx, self->buf, 258 * self->page, 0, &cookie) == -EPERM);
	NEED(get_mr(self->p.tx, self->buf - 1, 1, 0, &cookie) == -EPERM);
	NEED(pinned_bytes() == 0);
	return 0;
}

TEST_F(memlock, abi6_limit_0_is_no_permission)
{
	EXPECT_EQ(0, in_child(limit_of_zero, self));
}

static int privileged(void *arg)
{
	struct rlimit lim = { .rlim_cur = LIMIT, .rlim_max = LIMIT };
	FIXTURE_DATA(memlock) *self = arg;
	rds_rdma_cookie_t cookie;

	NEED(!setrlimit(RLIMIT_MEMLOCK, &lim));
	NEED(get_mr(self->p.tx, self->buf, RDS_MAX_MSG, 0, &cookie) == 0);
	NEED(pinned_bytes() == RDS_MAX_MSG);
	lim.rlim_cur = lim.rlim_max = 0;
	NEED(!setrlimit(RLIMIT_MEMLOCK, &lim));
	NEED(get_mr(self->p.tx, self->buf, 1, 0, &cookie) == 0);
	return 0;
}

TEST_F(memlock, abi6_cap_ipc_lock_exempts)
{
	EXPECT_EQ(0, in_child(privileged, self));
}

/* --- threads at the limit --- */

#define THREADS	4

struct pinner {
	FIXTURE_DATA(memlock)	*self;
	int			got;
	int			error;
};

static void *pin_and_release(void *arg)
{
	struct pinner *p = arg;
	rds_rdma_cookie_t cookie;
	int i, err;

	for (i = 0; i < rds_rounds(300); i++) {
		err = get_mr(p->self->p.tx, p->self->buf, LIMIT * 3 / 4, 0, &cookie);
		if (err && err != -ENOMEM)
			p->error = err;
		if (err)
			continue;
		p->got++;
		if (pinned_bytes() > LIMIT)
			p->error = -ERANGE;
		err = free_mr(p->self->p.tx, cookie);
		if (err)
			p->error = err;
	}
	return NULL;
}

static int race_for_the_limit(void *arg)
{
	struct pinner p[THREADS] = {};
	pthread_t thread[THREADS];
	int i, got = 0;

	NEED(!become_nobody(LIMIT));
	for (i = 0; i < THREADS; i++) {
		p[i].self = arg;
		NEED(!pthread_create(&thread[i], NULL, pin_and_release, &p[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		NEED(p[i].error == 0);
		got += p[i].got;
	}
	NEED(got > 0);
	NEED(pinned_bytes() == 0);
	return 0;
}

TEST_F_TIMEOUT(memlock, threads_at_the_limit, RDS_SLOW_TEST)
{
	EXPECT_EQ(0, in_child(race_for_the_limit, self));
}

TEST_HARNESS_MAIN
