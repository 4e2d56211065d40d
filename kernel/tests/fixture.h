/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tests of objects share: the whole stack, started anew for each test and stopped behind it, on the fake
 * transport.  Stopping is a test of its own: it waits for every connection, and its caches complain of objects left.
 */
#ifndef RDS_TEST_FIXTURE_H
#define RDS_TEST_FIXTURE_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include "../conn.h"
#include "../rds_uapi.h"
#include "../sock.h"
#include "../stats.h"
#include "fake.h"

#define FIXTURE_MAX	8

/* Ports of the two ends in most tests. */
#define PORT_A		4000
#define PORT_B		5000

struct fixture {
	struct rds_net	*rn;
	struct socket	*socks[FIXTURE_MAX];
	unsigned int	nr_socks;
	struct rds_conn	*conns[FIXTURE_MAX];
	unsigned int	nr_conns;
	s64		pinned;		/* pages charged when the test began */
	bool		running;
};

/* User memory, of the process that loads the module. */
struct fixture_user {
	struct mm_struct *mm;
	unsigned long	rw;		/* FIXTURE_PAGES that can be written to, then none at all */
	unsigned long	ro;		/* one that cannot */
};

#define FIXTURE_PAGES	8

extern struct fixture_user fixture_user;

/* For struct kunit_suite */
int fixture_suite_init(struct kunit_suite *suite);
void fixture_suite_exit(struct kunit_suite *suite);
int fixture_init(struct kunit *test);
void fixture_exit(struct kunit *test);

#define FIXTURE_SUITE(suite_name, cases)		\
	static struct kunit_suite fixture_suite = {	\
		.name		= suite_name,		\
		.suite_init	= fixture_suite_init,	\
		.suite_exit	= fixture_suite_exit,	\
		.init		= fixture_init,		\
		.exit		= fixture_exit,		\
		.test_cases	= cases,		\
	};						\
	kunit_test_suite(fixture_suite)

static inline struct fixture *fixture(struct kunit *test)
{
	return test->priv;
}

/* Let go of sockets and connections and stop the stack, before the end of the test. */
void fixture_stop(struct kunit *test);

/* A socket bound to 10.77.0.@n, or to no address with @port 0. */
struct rds_sock *fixture_socket(struct kunit *test, u8 n, u16 port);
/* The connection between two addresses; the test's end drops the reference. */
struct rds_conn *fixture_conn(struct kunit *test, u8 from, u8 to);

/* sendmsg() to 10.77.0.@n, not waiting, in a process that has fixture_user. */
int fixture_send_control(struct rds_sock *rs, u8 n, u16 port, u32 len, void *control, size_t control_len);

static inline int fixture_send(struct rds_sock *rs, u8 n, u16 port, u32 len)
{
	return fixture_send_control(rs, n, port, len, NULL, 0);
}

/* @count messages of @len bytes from port A to address 2, port B; each must be taken. */
void fixture_send_many(struct kunit *test, struct rds_sock *rs, unsigned int count, u32 len);

/* RDS_GET_MR for the current suite's user memory, as setsockopt() would. */
int fixture_get_mr(struct rds_sock *rs, u64 addr, u64 bytes, u64 flags, u64 *cookie);

/* Write a control message of level SOL_RDS to @control, which has room.  Returns what it takes. */
size_t fixture_put_control(void *control, int type, const void *data, size_t len);

/* Write to the start of the user memory. */
void fixture_write_user(struct kunit *test, const void *data, size_t len);

/* A message with an RDMA operation on @bytes of the user memory; it notifies with @token. */
int fixture_send_rdma(struct kunit *test, struct rds_sock *rs, u32 len, u64 bytes, u64 flags, u64 token);

/* The oldest notification's status, which is removed, and its token; -ENOENT: none. */
int fixture_take_status(struct rds_sock *rs, u64 *token);

/* A message with these fields comes in on @conn, as from the peer. */
void fixture_receive(struct kunit *test, struct rds_conn *conn, u64 seq, u8 flags, u16 sport, u16 dport,
		     u32 len);

/* Pages charged to the process since the test began. */
s64 fixture_pinned(struct kunit *test);

/* Operations of @rs whose pages are pinned. */
static inline unsigned int fixture_ops(struct rds_sock *rs)
{
	struct list_head *item;
	unsigned int n = 0;

	spin_lock_bh(&rs->snd_lock);
	list_for_each(item, &rs->ops)
		n++;
	spin_unlock_bh(&rs->snd_lock);
	return n;
}

#define fixture_stat(test, name)	rds_stat_sum(fixture(test)->rn, RDS_STAT_##name)

/* Runs @func(@data) in another thread; fixture_join() waits for its end.  Not on the stack. */
struct fixture_thread {
	struct work_struct	work;
	struct completion	done;
	void			(*func)(void *data);
	void			*data;
};

void fixture_start(struct fixture_thread *thread, void (*func)(void *data), void *data);
void fixture_join(struct fixture_thread *thread);

/* Has it become true within a minute?  Nothing here takes so long, on however slow a machine. */
#define fixture_eventually(condition)						\
({										\
	unsigned long fixture_end = jiffies + 60 * HZ;				\
										\
	while (!(condition) && time_before(jiffies, fixture_end))		\
		usleep_range(500, 2000);					\
	(condition);								\
})

#define FIXTURE_EXPECT_STATE(test, conn, wanted) \
	KUNIT_EXPECT_TRUE(test, fixture_eventually(READ_ONCE((conn)->path.state) == (wanted)))
#define FIXTURE_ASSERT_STATE(test, conn, wanted) \
	KUNIT_ASSERT_TRUE(test, fixture_eventually(READ_ONCE((conn)->path.state) == (wanted)))

#endif
