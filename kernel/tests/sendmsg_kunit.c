// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sendmsg() checks everything before it does anything, and takes back what it did when it cannot go on. */
#include <linux/kthread.h>

#include "../cmsg.h"
#include "../cong.h"
#include "../msg.h"
#include "../net.h"
#include "fixture.h"

/* What a call may change. */
struct traces {
	unsigned int	keys;
	s64		pinned;
	unsigned int	sent;
	u32		snd_bytes;
	u32		snd_empty;
	size_t		snd_mem;
	int		ops;
	int		sock_refs;
	u64		queued;
	bool		sending;
};

static void take_traces(struct kunit *test, struct rds_sock *rs, struct traces *t)
{
	memset(t, 0, sizeof(*t));
	t->keys = fake.registered - fake.unregistered;
	t->pinned = fixture_pinned(test);
	t->sent = fake.nr_sent;
	t->snd_bytes = rs->snd_bytes;
	t->snd_empty = rs->snd_empty;
	t->snd_mem = rs->snd_mem;
	t->ops = fixture_ops(rs);
	t->sock_refs = refcount_read(&rs->sk.sk_refcnt);
	t->queued = fixture_stat(test, send_queued);
	t->sending = !list_empty(&rs->sending);
}

static void expect_no_traces(struct kunit *test, struct rds_sock *rs, const struct traces *before)
{
	struct traces now;

	take_traces(test, rs, &now);
	KUNIT_EXPECT_EQ(test, now.keys, before->keys);
	KUNIT_EXPECT_EQ(test, now.pinned, before->pinned);
	KUNIT_EXPECT_EQ(test, now.sent, before->sent);
	KUNIT_EXPECT_EQ(test, now.snd_bytes, before->snd_bytes);
	KUNIT_EXPECT_EQ(test, now.snd_empty, before->snd_empty);
	KUNIT_EXPECT_EQ(test, now.snd_mem, before->snd_mem);
	KUNIT_EXPECT_EQ(test, now.ops, before->ops);
	KUNIT_EXPECT_EQ(test, now.sock_refs, before->sock_refs);
	KUNIT_EXPECT_EQ(test, now.queued, before->queued);
	KUNIT_EXPECT_EQ(test, now.sending, before->sending);
}

/* A call that must fail with @err and change nothing. */
static void expect_refused(struct kunit *test, struct rds_sock *rs, u32 len, void *control, size_t control_len,
			   int err)
{
	struct traces before;

	take_traces(test, rs, &before);
	KUNIT_EXPECT_EQ(test, fixture_send_control(rs, 2, PORT_B, len, control, control_len), err);
	expect_no_traces(test, rs, &before);
}

/* Places in user memory, for tables. */
enum where { NOWHERE, RW, END, RO };

static u64 address(enum where where)
{
	switch (where) {
	case NOWHERE:
		return 0;
	case RW:
		return fixture_user.rw;
	case END:
		return fixture_user.rw + FIXTURE_PAGES * PAGE_SIZE;
	case RO:
		return fixture_user.ro;
	}
	return 0;
}

/* An operation with two local ranges of @bytes: the second at @where. */
struct rdma_row {
	const char	*name;
	enum where	list;		/* of the ranges */
	enum where	where;
	u64		bytes;
	u64		nr;
	u64		remote;
	u64		flags;
	int		err;
};

#define PUT	RDS_RDMA_READWRITE

static const struct rdma_row rdma_rows[] = {
	{ "no range", RW, RW, 10, 0, 20, 0, -EINVAL },
	{ "too many ranges", RW, RW, 10, RDS_MAX_LOCAL_IOVECS + 1, 20, 0, -EMSGSIZE },
	{ "ranges beyond all counting", RW, RW, 10, U64_MAX, 20, 0, -EMSGSIZE },
	{ "list not mapped", END, RW, 10, 2, 20, 0, -EFAULT },
	{ "list nowhere", NOWHERE, RW, 10, 2, 20, 0, -EFAULT },
	{ "empty range", RW, RW, 0, 2, 20, 0, -EINVAL },
	{ "range that wraps", RW, RW, U64_MAX, 2, 20, 0, -EINVAL },
	{ "more than the peer's side", RW, RW, 10, 2, 19, 0, -EINVAL },
	{ "peer's side above 1 MiB", RW, RW, 10, 2, RDS_MSG_MAX + 1, 0, -EMSGSIZE },
	{ "into memory that is not mapped", RW, END, 10, 2, 20, 0, -EFAULT },
	{ "from memory that is not mapped", RW, END, 10, 2, 20, PUT, -EFAULT },
	{ "into read-only memory", RW, RO, 10, 2, 20, 0, -EFAULT },
	{ "silent, too", RW, RO, 10, 2, 20, RDS_RDMA_SILENT, -EFAULT },
	{ "told of it, too", RW, END, 10, 2, 20, RDS_RDMA_NOTIFY_ME, -EFAULT },
};

static void rdma_desc(const struct rdma_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(rdma, rdma_rows, rdma_desc);

#define RDMA_CONTROL	CMSG_SPACE(sizeof(struct rds_rdma_args))

static void sendmsg_bad_operation(struct kunit *test)
{
	const struct rdma_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_iovec iov[] = {
		{ fixture_user.rw + PAGE_SIZE, row->bytes },
		{ address(row->where) + (row->where == RW ? 2 * PAGE_SIZE : 0), row->bytes },
	};
	struct rds_rdma_args args = {
		.remote_vec	= { 0, row->remote },
		.local_vec_addr	= address(row->list),
		.nr_local	= row->nr,
		.flags		= row->flags,
	};
	u8 control[RDMA_CONTROL] __aligned(sizeof(long)) = { 0 };

	fixture_write_user(test, iov, sizeof(iov));
	fixture_put_control(control, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	expect_refused(test, rs, 10, control, sizeof(control), row->err);
	expect_refused(test, rs, 0, control, sizeof(control), row->err);
}

/* Other control messages, of @len bytes that are all 1. */
struct control_row {
	const char	*name;
	int		type;
	size_t		len;
	int		err;
};

static const struct control_row control_rows[] = {
	{ "cookie that nobody has", RDS_CMSG_RDMA_DEST, 8, -EINVAL },
	{ "short cookie", RDS_CMSG_RDMA_DEST, 7, -EINVAL },
	{ "memory nowhere", RDS_CMSG_RDMA_MAP, sizeof(struct rds_get_mr_args), -EMSGSIZE },
	{ "short map", RDS_CMSG_RDMA_MAP, sizeof(struct rds_get_mr_args) - 1, -EINVAL },
	{ "short operation", RDS_CMSG_RDMA_ARGS, sizeof(struct rds_rdma_args) - 1, -EINVAL },
	{ "operation of ones", RDS_CMSG_RDMA_ARGS, sizeof(struct rds_rdma_args), -EMSGSIZE },
	{ "masked add", RDS_CMSG_MASKED_ATOMIC_FADD, sizeof(struct rds_atomic_args), -EOPNOTSUPP },
	{ "masked compare and swap", RDS_CMSG_MASKED_ATOMIC_CSWP, sizeof(struct rds_atomic_args), -EOPNOTSUPP },
	{ "short atomic", RDS_CMSG_MASKED_ATOMIC_FADD, sizeof(struct rds_atomic_args) - 1, -EINVAL },
	{ "zero-copy", RDS_CMSG_ZCOPY_COOKIE, 4, -EINVAL },
	{ "status, which is received only", RDS_CMSG_RDMA_STATUS, 64, -EINVAL },
	{ "unknown", 99, 64, -EINVAL },
};

static void control_desc(const struct control_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(control, control_rows, control_desc);

static void sendmsg_bad_control(struct kunit *test)
{
	const struct control_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u8 control[CMSG_SPACE(128)] __aligned(sizeof(long)) = { 0 };
	u8 ones[128];

	memset(ones, 1, sizeof(ones));
	fixture_put_control(control, row->type, ones, row->len);
	expect_refused(test, rs, 10, control, CMSG_LEN(row->len), row->err);
	/* what comes first may be as good as it likes */
	memmove(control + CMSG_SPACE(4), control, CMSG_SPACE(row->len));
	fixture_put_control(control, RDS_CMSG_ZCOPY_COOKIE, ones, 4);
	((struct cmsghdr *)control)->cmsg_level = SOL_SOCKET;
	expect_refused(test, rs, 10, control, CMSG_SPACE(4) + CMSG_LEN(row->len), row->err);
}

/* An atomic whose result goes to @offset from @where. */
struct atomic_row {
	const char	*name;
	enum where	where;
	u64		offset;
	u64		remote;
	u64		flags;
	int		err;
};

static const struct atomic_row atomic_rows[] = {
	{ "result nowhere", NOWHERE, 0, 0, 0, -EFAULT },
	{ "result not mapped", END, 0, 0, 0, -EFAULT },
	{ "result read-only", RO, 8, 0, RDS_RDMA_NOTIFY_ME, -EFAULT },
	{ "result not aligned", RW, 4, 0, 0, -EFAULT },
	{ "peer's word not aligned", RW, 8, 4, RDS_RDMA_SILENT, -EINVAL },
};

static void atomic_desc(const struct atomic_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(atomic, atomic_rows, atomic_desc);

/* Alone, and behind an operation that is as it should be, whose pages are pinned first. */
static void sendmsg_bad_atomic(struct kunit *test)
{
	const struct atomic_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_iovec iov = { fixture_user.rw + PAGE_SIZE, 5000 };
	struct rds_rdma_args rdma = {
		.remote_vec	= { 0, 5000 },
		.local_vec_addr	= fixture_user.rw,
		.nr_local	= 1,
	};
	struct rds_atomic_args args = {
		.local_addr	= address(row->where) + row->offset,
		.remote_addr	= row->remote,
		.flags		= row->flags,
	};
	u8 control[256] __aligned(sizeof(long)) = { 0 };
	size_t len;

	fixture_write_user(test, &iov, sizeof(iov));
	len = fixture_put_control(control, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	expect_refused(test, rs, 10, control, len, row->err);
	len += fixture_put_control(control + len, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma));
	expect_refused(test, rs, 10, control, len, row->err);
}

static size_t put_good_map(void *control)
{
	struct rds_get_mr_args args = { .vec = { fixture_user.rw, PAGE_SIZE } };

	return fixture_put_control(control, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
}

/* A key for memory, and what else may be wrong with the same message. */
static void sendmsg_map_with_something_bad(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	u8 control[256] __aligned(sizeof(long)) = { 0 };
	size_t len = put_good_map(control);
	u64 cookie = 5;

	fixture_put_control(control + len, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
	expect_refused(test, rs, 10, control, len + CMSG_LEN(sizeof(cookie)), -EINVAL);
	put_good_map(control + len);
	expect_refused(test, rs, 10, control, 2 * len, -EINVAL);
	expect_refused(test, rs, RDS_MSG_MAX + 1, control, len, -EMSGSIZE);
	fake_remove_device();
	expect_refused(test, rs, 10, control, len, -EAGAIN);
	KUNIT_ASSERT_EQ(test, fake_add_device(), 0);
	fake.mr_err = -ENOMEM;
	expect_refused(test, rs, 10, control, len, -ENOMEM);
	KUNIT_EXPECT_EQ(test, fake.registered, 0);
}

/* All is well with the call, but it cannot be taken now. */
enum obstacle { CONGESTED, FULL, DEAD };

struct late_row {
	const char	*name;
	enum obstacle	obstacle;
	bool		map;		/* with a key for memory, or else with an operation */
	int		err;
};

static const struct late_row late_rows[] = {
	{ "map, congested", CONGESTED, true, -ENOBUFS },
	{ "map, no room", FULL, true, -EAGAIN },
	{ "map, connection dead", DEAD, true, -EAGAIN },
	{ "operation, congested", CONGESTED, false, -ENOBUFS },
	{ "operation, no room", FULL, false, -EAGAIN },
	{ "operation, connection dead", DEAD, false, -EAGAIN },
};

static void late_desc(const struct late_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(late, late_rows, late_desc);

static void put_in_the_way(struct kunit *test, struct rds_sock *rs, struct rds_conn *conn,
			   enum obstacle obstacle)
{
	switch (obstacle) {
	case CONGESTED:
		rds_cong_set_port(conn->fmap, htons(PORT_B));
		return;
	case FULL:
		rs->sk.sk_sndbuf = 2 * 100;
		fixture_send_many(test, rs, 1, 100);
		FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
		rds_path_flush(&conn->path);
		return;
	case DEAD:
		rds_path_post(&conn->path, RDS_EV_KILL);
		rds_path_flush(&conn->path);
		return;
	}
}

static void sendmsg_abi5_19_refused_late(struct kunit *test)
{
	const struct late_row *row = test->param_value;
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	u8 control[256] __aligned(sizeof(long)) = { 0 };
	struct traces before;

	put_in_the_way(test, rs, conn, row->obstacle);
	if (row->map) {
		expect_refused(test, rs, 10, control, put_good_map(control), row->err);
	} else {
		take_traces(test, rs, &before);
		KUNIT_EXPECT_EQ(test, fixture_send_rdma(test, rs, 10, 5000, 0, 1), row->err);
		expect_no_traces(test, rs, &before);
	}
	if (row->obstacle == CONGESTED)
		rds_cong_clear_port(conn->fmap, htons(PORT_B));
}

static void sendmsg_bad_destination(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A), *unbound = fixture_socket(test, 1, 0);
	struct sockaddr_in6 sin6 = {
		.sin6_family	= AF_INET6,
		.sin6_port	= htons(PORT_B),
		.sin6_addr	= IN6ADDR_LOOPBACK_INIT,
	};
	u8 bytes[10] = { 0 };
	struct kvec vec = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	struct traces before;

	take_traces(test, rs, &before);
	KUNIT_EXPECT_EQ(test, fixture_send(unbound, 2, PORT_B, 10), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(rs->sk.sk_socket, &msg, &vec, 1, 10), -ENOTCONN);
	msg.msg_name = &sin6;
	msg.msg_namelen = sizeof(sin6);
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(rs->sk.sk_socket, &msg, &vec, 1, 10), -EOPNOTSUPP);
	sin6.sin6_addr = in6addr_any;
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(rs->sk.sk_socket, &msg, &vec, 1, 10), -EINVAL);
	msg.msg_namelen = 3;
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(rs->sk.sk_socket, &msg, &vec, 1, 10), -EINVAL);
	expect_no_traces(test, rs, &before);
	KUNIT_EXPECT_EQ(test, atomic64_read(&fixture(test)->rn->nr_conns), 0);
}

static void sendmsg_bad_payload(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	static const u32 lens[] = { 1, 200, 300, RDS_FRAG_LEN, 2 * RDS_FRAG_LEN };
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	struct in6_addr to = fake_addr(2);
	struct sockaddr_in sin = {
		.sin_family	= AF_INET,
		.sin_port	= htons(PORT_B),
		.sin_addr	= { to.s6_addr32[3] },
	};
	struct traces before;
	unsigned int i;
	int ret;

	take_traces(test, rs, &before);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct msghdr msg = { .msg_name = &sin, .msg_namelen = sizeof(sin), .msg_flags = MSG_DONTWAIT };
		struct iovec iov = { (void __user *)(address(END) - lens[i] + 1), lens[i] };

		iov_iter_init(&msg.msg_iter, ITER_SOURCE, &iov, 1, lens[i]);
		kthread_use_mm(fixture_user.mm);
		ret = sock_sendmsg(rs->sk.sk_socket, &msg);
		kthread_unuse_mm(fixture_user.mm);
		KUNIT_EXPECT_EQ(test, ret, -EFAULT);
	}
	expect_no_traces(test, rs, &before);
	KUNIT_EXPECT_EQ(test, conn->path.next_seq, 1);
}

/* The good case, to show that the tables above fail for their reasons alone. */
static void sendmsg_good(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A);
	struct rds_conn *conn = fixture_conn(test, 1, 2);
	u8 control[256] __aligned(sizeof(long)) = { 0 };
	u64 token;

	KUNIT_EXPECT_EQ(test, fixture_send_control(rs, 2, PORT_B, 10, control, put_good_map(control)), 10);
	FIXTURE_ASSERT_STATE(test, conn, RDS_PATH_UP);
	rds_path_flush(&conn->path);
	KUNIT_EXPECT_EQ(test, fake.registered, 1);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 1);
	KUNIT_EXPECT_EQ(test, fixture_send_rdma(test, rs, 10, 5000, 0, 9), 10);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 3);
	fake_op_done(conn, RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_ack(conn, 2));
	KUNIT_EXPECT_EQ(test, fixture_take_status(rs, &token), RDS_RDMA_SUCCESS);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 1);
}

static struct kunit_case sendmsg_cases[] = {
	KUNIT_CASE_PARAM(sendmsg_bad_operation, rdma_gen_params),
	KUNIT_CASE_PARAM(sendmsg_bad_control, control_gen_params),
	KUNIT_CASE_PARAM(sendmsg_bad_atomic, atomic_gen_params),
	KUNIT_CASE(sendmsg_map_with_something_bad),
	KUNIT_CASE_PARAM(sendmsg_abi5_19_refused_late, late_gen_params),
	KUNIT_CASE(sendmsg_bad_destination),
	KUNIT_CASE(sendmsg_bad_payload),
	KUNIT_CASE(sendmsg_good),
	{}
};

FIXTURE_SUITE("rds_sendmsg", sendmsg_cases);
