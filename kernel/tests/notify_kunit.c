// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Status of operations on its way to the application: in order, and none lost. */
#include "../notify.h"

#include <linux/kthread.h>
#include <linux/slab.h>
#include "fixture.h"

#define ONE	CMSG_SPACE(sizeof(struct rds_rdma_notify))
#define MOST	8

static void queue(struct kunit *test, struct rds_sock *rs, u64 token)
{
	struct rds_notify *n = kzalloc(sizeof(*n), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, n);
	n->token = token;
	n->status = token % 5;
	rds_notify_queue(rs, n);
}

static struct rds_sock *with_notifications(struct kunit *test, unsigned int count)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	unsigned int i;

	for (i = 1; i <= count; i++)
		queue(test, rs, 1000 + i);
	return rs;
}

/* Receive into a control buffer of @len bytes and expect notifications from @first on.  Returns how many. */
static int receive(struct kunit *test, struct rds_sock *rs, size_t len, u64 first, bool truncated)
{
	u8 control[MOST * ONE] __aligned(sizeof(long)) = { 0 };
	struct msghdr msg = { .msg_control = control, .msg_controllen = len };
	struct rds_rdma_notify status;
	int count = rds_notify_recv(rs, &msg), i;

	for (i = 0; i < count && i < MOST; i++) {
		struct cmsghdr *head = (struct cmsghdr *)(control + i * ONE);

		KUNIT_EXPECT_EQ(test, head->cmsg_level, SOL_RDS);
		KUNIT_EXPECT_EQ(test, head->cmsg_type, RDS_CMSG_RDMA_STATUS);
		KUNIT_EXPECT_EQ(test, head->cmsg_len, CMSG_LEN(sizeof(status)));
		memcpy(&status, CMSG_DATA(head), sizeof(status));
		KUNIT_EXPECT_EQ(test, status.user_token, first + i);
		KUNIT_EXPECT_EQ(test, status.status, (first + i) % 5);
	}
	KUNIT_EXPECT_EQ(test, !!(msg.msg_flags & MSG_CTRUNC), truncated);
	return count;
}

/* Room in the control buffer, and how many of 5 come out of each call. */
struct room_row {
	const char	*name;
	size_t		len;
	int		counts[6];
};

static const struct room_row room_rows[] = {
	{ "none", 0, { 0 } },
	{ "less than a header", 15, { 0 } },
	{ "one byte short", CMSG_LEN(sizeof(struct rds_rdma_notify)) - 1, { 0 } },
	{ "exactly one", CMSG_LEN(sizeof(struct rds_rdma_notify)), { 1, 1, 1, 1, 1, 0 } },
	{ "one and a bit", ONE + 20, { 1, 1, 1, 1, 1, 0 } },
	{ "two", 2 * ONE, { 2, 2, 1, 0 } },
	{ "all", MOST * ONE, { 5, 0 } },
};

static void room_desc(const struct room_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(room, room_rows, room_desc);

static void notify_in_order(struct kunit *test)
{
	const struct room_row *row = test->param_value;
	struct rds_sock *rs = with_notifications(test, 5);
	u64 next = 1001;
	unsigned int i;
	int count;

	for (i = 0; i < ARRAY_SIZE(row->counts); i++) {
		count = receive(test, rs, row->len, next, !row->counts[0]);
		KUNIT_EXPECT_EQ(test, count, row->counts[i]);
		next += count;
	}
	/* what had no room is there still */
	KUNIT_EXPECT_EQ(test, receive(test, rs, MOST * ONE, next, false), 1006 - next);
	KUNIT_EXPECT_FALSE(test, rds_sock_readable(rs));
}

static void notify_nothing(struct kunit *test)
{
	struct rds_sock *rs = with_notifications(test, 0);

	KUNIT_EXPECT_EQ(test, receive(test, rs, MOST * ONE, 0, false), 0);
	KUNIT_EXPECT_EQ(test, receive(test, rs, 0, 0, false), 0);
}

/* Into user memory of which only the first notification has room. */
static void notify_bad_address(struct kunit *test)
{
	struct rds_sock *rs = with_notifications(test, 3);
	unsigned long end = fixture_user.rw + FIXTURE_PAGES * PAGE_SIZE;
	struct msghdr msg = {
		.msg_control_user	= (void __user *)(end - ONE),
		.msg_control_is_user	= true,
		.msg_controllen		= MOST * ONE,
	};
	int first, second;

	kthread_use_mm(fixture_user.mm);
	first = rds_notify_recv(rs, &msg);
	second = rds_notify_recv(rs, &msg);
	kthread_unuse_mm(fixture_user.mm);
	KUNIT_EXPECT_EQ(test, first, 1);
	KUNIT_EXPECT_EQ(test, second, -EFAULT);
	KUNIT_EXPECT_EQ(test, receive(test, rs, MOST * ONE, 1002, false), 2);
}

static void notify_makes_readable(struct kunit *test)
{
	struct rds_sock *rs = with_notifications(test, 0);

	KUNIT_EXPECT_FALSE(test, rds_sock_readable(rs));
	queue(test, rs, 1);
	KUNIT_EXPECT_TRUE(test, rds_sock_readable(rs));
	rds_notify_purge(rs);
	KUNIT_EXPECT_FALSE(test, rds_sock_readable(rs));
}

/* What comes for a socket that is being closed is freed, not kept: kmemleak would tell. */
static void notify_closing_socket(struct kunit *test)
{
	struct rds_sock *rs = with_notifications(test, 2);

	rds_sock_stop_receiving(rs);
	queue(test, rs, 3);
	KUNIT_EXPECT_EQ(test, receive(test, rs, MOST * ONE, 1001, false), 2);
}

static struct kunit_case notify_cases[] = {
	KUNIT_CASE_PARAM(notify_in_order, room_gen_params),
	KUNIT_CASE(notify_nothing),
	KUNIT_CASE(notify_bad_address),
	KUNIT_CASE(notify_makes_readable),
	KUNIT_CASE(notify_closing_socket),
	{}
};

FIXTURE_SUITE("rds_notify", notify_cases);
