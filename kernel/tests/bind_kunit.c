// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The table of bound addresses. */
#include "../bind.h"

#include "fixture.h"

static int bind_to(struct kunit *test, struct rds_sock *rs, u8 n, u32 scope, u16 *port)
{
	struct in6_addr addr = fake_addr(n);
	__be16 be_port = htons(*port);
	int err = rds_bind_add(fixture(test)->rn, rs, &addr, scope, &be_port);

	*port = ntohs(be_port);
	return err;
}

static void unbind(struct kunit *test, struct rds_sock *rs)
{
	rds_bind_remove(fixture(test)->rn, rs);
}

static struct rds_sock *find(struct kunit *test, u8 n, u32 scope, u16 port)
{
	struct in6_addr addr = fake_addr(n);
	struct rds_sock *rs = rds_bind_lookup(fixture(test)->rn, &addr, scope, htons(port));

	if (rs)
		sock_put(&rs->sk);
	return rs;
}

/* A second socket beside one at address 1, scope 0, port A. */
struct second_row {
	const char	*name;
	u8		n;
	u32		scope;
	u16		port;
	int		err;
};

static const struct second_row second_rows[] = {
	{ "the same", 1, 0, PORT_A, -EADDRINUSE },
	{ "other port", 1, 0, PORT_A + 1, 0 },
	{ "other address", 2, 0, PORT_A, 0 },
	{ "other scope", 1, 1, PORT_A, 0 },
	{ "first free port", 1, 0, 2, 0 },
	{ "last port", 1, 0, 65535, 0 },
	{ "the probe's port", 1, 0, 1, -EINVAL },
};

static void second_desc(const struct second_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(second, second_rows, second_desc);

static void bind_second(struct kunit *test)
{
	const struct second_row *row = test->param_value;
	struct rds_sock *a = fixture_socket(test, 1, PORT_A);
	struct rds_sock *b = fixture_socket(test, 1, 0);
	static const struct rds_bind_key none;
	u16 port = row->port;

	KUNIT_EXPECT_EQ(test, bind_to(test, b, row->n, row->scope, &port), row->err);
	KUNIT_EXPECT_EQ(test, port, row->port);
	KUNIT_EXPECT_PTR_EQ(test, find(test, 1, 0, PORT_A), a);
	if (row->err) {
		KUNIT_EXPECT_EQ(test, memcmp(&b->bound, &none, sizeof(none)), 0);
		return;
	}
	KUNIT_EXPECT_PTR_EQ(test, find(test, row->n, row->scope, row->port), b);
	unbind(test, b);
	KUNIT_EXPECT_NULL(test, find(test, row->n, row->scope, row->port));
}

static void bind_free_again(struct kunit *test)
{
	struct rds_sock *a = fixture_socket(test, 1, 0);
	struct rds_sock *b = fixture_socket(test, 1, 0);
	u16 port = PORT_A;

	KUNIT_ASSERT_EQ(test, bind_to(test, a, 1, 0, &port), 0);
	unbind(test, a);
	KUNIT_ASSERT_EQ(test, bind_to(test, b, 1, 0, &port), 0);
	KUNIT_EXPECT_PTR_EQ(test, find(test, 1, 0, PORT_A), b);
	unbind(test, b);
}

/* Any port: not one of the reserved ones, and not one that is taken. */
static void bind_any_port(struct kunit *test)
{
	struct rds_sock *rs[FIXTURE_MAX];
	u16 ports[FIXTURE_MAX] = { 0 };
	unsigned int i, j;

	for (i = 0; i < FIXTURE_MAX; i++) {
		rs[i] = fixture_socket(test, 1, 0);
		KUNIT_EXPECT_EQ(test, bind_to(test, rs[i], 1, 0, &ports[i]), 0);
		KUNIT_EXPECT_GE(test, ports[i], 2);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, ports[i], ports[j]);
	}
	for (i = 0; i < FIXTURE_MAX; i++) {
		KUNIT_EXPECT_PTR_EQ(test, find(test, 1, 0, ports[i]), rs[i]);
		unbind(test, rs[i]);
	}
}

static void bind_lookup_holds_the_socket(struct kunit *test)
{
	struct rds_sock *rs = fixture_socket(test, 1, PORT_A), *found;
	struct in6_addr addr = fake_addr(1);
	int refs = refcount_read(&rs->sk.sk_refcnt);

	found = rds_bind_lookup(fixture(test)->rn, &addr, 0, htons(PORT_A));
	KUNIT_ASSERT_PTR_EQ(test, found, rs);
	KUNIT_EXPECT_EQ(test, refcount_read(&rs->sk.sk_refcnt), refs + 1);
	fixture(test)->nr_socks--;
	sock_release(rs->sk.sk_socket);
	/* closed: not found any more, but whoever found it may use it */
	KUNIT_EXPECT_NULL(test, find(test, 1, 0, PORT_A));
	KUNIT_EXPECT_TRUE(test, found->released);
	KUNIT_EXPECT_EQ(test, refcount_read(&found->sk.sk_refcnt), 1);
	sock_put(&found->sk);
}

static struct kunit_case bind_cases[] = {
	KUNIT_CASE_PARAM(bind_second, second_gen_params),
	KUNIT_CASE(bind_free_again),
	KUNIT_CASE(bind_any_port),
	KUNIT_CASE(bind_lookup_holds_the_socket),
	{}
};

FIXTURE_SUITE("rds_bind", bind_cases);
