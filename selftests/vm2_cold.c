// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Keys from RDS_GET_MR, made before there is any connection and after, and what they do not open.
 *
 * vm2_peer on the other machine, which may be a stock one, does the writing and reading.  The first test of
 * each address family is meant to meet a module that has had no traffic yet.
 */
#include "vm2_asker.h"

FIXTURE(key) {
	struct asker a;
};
FIXTURE_VARIANT(key) {
	enum rds_bed bed;
};
FIXTURE_VARIANT_ADD(key, v4) { .bed = BED_RXE };
FIXTURE_VARIANT_ADD(key, v6) { .bed = BED_RXE6 };

FIXTURE_SETUP(key)
{
	asker_open(_metadata, &self->a, variant->bed);
}

FIXTURE_TEARDOWN(key)
{
	close(self->a.fd);
}

static void register_region(struct __test_metadata *_metadata, struct asker *a, struct region *r,
			    uint64_t flags)
{
	ASSERT_EQ(0, get_mr(a->fd, region_start(r), r->len, flags, &r->cookie));
}

static void peer_writes(struct __test_metadata *_metadata, struct asker *a, struct region *r,
			size_t offset, size_t len, uint32_t seed)
{
	struct ask ask = { .what = ASK_WRITE, .len = len, .offset = offset, .cookie = r->cookie,
			   .seed = seed };

	ask_plainly(_metadata, a, &ask);
	operation_succeeds(_metadata, a);
	fill(r->want + r->offset + offset, len, seed);
	ASSERT_TRUE(region_right(r));
}

/* The cookie travels as plain payload, and works at the first try. */
TEST_F_TIMEOUT(key, made_without_a_connection, RDS_SLOW_TEST)
{
	struct region r;

	region_make(_metadata, &r, 100, 8192, 1);
	register_region(_metadata, &self->a, &r, RDS_RDMA_READWRITE);
	peer_writes(_metadata, &self->a, &r, 0, 8192, 2);
}

TEST_F_TIMEOUT(key, made_after_traffic, RDS_SLOW_TEST)
{
	static const size_t lens[] = { 1, 100, 4096, 8192, 65536, RDS_MAX_MSG };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct region r;

		region_make(_metadata, &r, 4096 + i, lens[i], i);
		register_region(_metadata, &self->a, &r, RDS_RDMA_READWRITE);
		peer_writes(_metadata, &self->a, &r, 0, lens[i], 100 + i);
		peer_writes(_metadata, &self->a, &r, lens[i] / 3, lens[i] / 3 + 1, 200 + i);
		ASSERT_EQ(0, free_mr(self->a.fd, r.cookie));
		region_drop(&r);
	}
}

TEST_F_TIMEOUT(key, read_by_the_peer, RDS_SLOW_TEST)
{
	struct ask ask = { .what = ASK_READ, .len = 50000, .offset = 10 };
	struct region r;

	region_make(_metadata, &r, 5000, 60000, 3);
	register_region(_metadata, &self->a, &r, 0);
	ask.cookie = r.cookie;
	ask_plainly(_metadata, &self->a, &ask);
	ASSERT_EQ(digest(region_start(&r) + 10, 50000), operation_succeeds(_metadata, &self->a));
	ASSERT_TRUE(region_right(&r));
}

/* Only the initiator hears of it, and nothing changes. */
static void refused(struct __test_metadata *_metadata, struct asker *a, struct region *r,
		    uint32_t what, size_t offset, size_t len)
{
	struct ask ask = { .what = what, .len = len, .offset = offset, .cookie = r->cookie,
			   .seed = 4 };

	ask_plainly(_metadata, a, &ask);
	ASSERT_EQ(RDS_RDMA_REMOTE_ERROR, get_answer(_metadata, a, NULL).status) {
		TH_LOG("operation %u on %zu bytes at %zd", what, len, (ssize_t)offset);
	}
	ASSERT_TRUE(region_right(r));
}

/* The region is inside its first and its last page, so that the pages beside it exist. */
TEST_F_TIMEOUT(key, does_not_open_what_is_beside_it, RDS_SLOW_TEST)
{
	static const struct { ssize_t offset; size_t len; } beside[] = {
		{ -1, 1 }, { -100, 50 }, { -1, 2 }, { -1, 8194 }, { 8191, 2 }, { 8192, 1 },
		{ 8192, 100 }, { 0, 8193 }, { -8192, 4096 }, { 4 * 4096, 4096 },
	};
	struct region r;
	unsigned int i;

	region_make(_metadata, &r, 2 * 4096 + 100, 8192, 5);
	register_region(_metadata, &self->a, &r, RDS_RDMA_READWRITE);
	for (i = 0; i < ARRAY_SIZE(beside); i++) {
		refused(_metadata, &self->a, &r, ASK_WRITE, beside[i].offset, beside[i].len);
		refused(_metadata, &self->a, &r, ASK_READ, beside[i].offset, beside[i].len);
	}
	/* and it has not suffered from it */
	peer_writes(_metadata, &self->a, &r, 0, 8192, 6);
}

TEST_F_TIMEOUT(key, opens_nothing_after_it_was_freed, RDS_SLOW_TEST)
{
	struct region r;

	region_make(_metadata, &r, 100, 8192, 7);
	register_region(_metadata, &self->a, &r, RDS_RDMA_READWRITE);
	peer_writes(_metadata, &self->a, &r, 0, 100, 8);
	ASSERT_EQ(0, free_mr(self->a.fd, r.cookie));
	refused(_metadata, &self->a, &r, ASK_WRITE, 0, 100);
	refused(_metadata, &self->a, &r, ASK_READ, 0, 100);
}

TEST_F_TIMEOUT(key, for_one_use_is_gone_after_it, RDS_SLOW_TEST)
{
	struct region r;

	region_make(_metadata, &r, 100, 8192, 9);
	register_region(_metadata, &self->a, &r, RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE);
	peer_writes(_metadata, &self->a, &r, 0, 8192, 10);
	ASSERT_EQ(-EINVAL, free_mr(self->a.fd, r.cookie));
	refused(_metadata, &self->a, &r, ASK_WRITE, 0, 100);
}

TEST_HARNESS_MAIN
