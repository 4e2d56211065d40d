// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A little of everything, in a short time: what is run between loading and unloading, and in
 * namespaces that come and go.
 */
#include "rds_test.h"

FIXTURE(traffic) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(traffic);
RDS_BED_VARIANT_RXE6(traffic);

FIXTURE_SETUP(traffic)
{
	pair_open(_metadata, &self->p, variant->bed);
}

FIXTURE_TEARDOWN(traffic)
{
	/* some of what was sent is left unread, some keys are left registered */
	pair_close(&self->p);
}

static void exchange(struct __test_metadata *_metadata, struct rds_pair *p, size_t len)
{
	static char out[70000], in[70000];

	fill(out, len, len);
	ASSERT_EQ(len, rds_send(p->tx, &p->rx_addr, out, len, 0));
	ASSERT_EQ(len, rds_recv_wait(p->rx, in, sizeof(in), NULL));
	ASSERT_EQ(0, memcmp(out, in, len));
	ASSERT_EQ(len, rds_send(p->rx, &p->tx_addr, in, len, 0));
	ASSERT_EQ(len, rds_recv_wait(p->tx, in, sizeof(in), NULL));
	ASSERT_EQ(0, memcmp(out, in, len));
}

TEST_F(traffic, a_little_of_everything)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 65536 };
	char *remote = map_guarded(_metadata, 50000), *local = map_guarded(_metadata, 50000);
	struct rds_pair *p = &self->p;
	rds_rdma_cookie_t cookie;
	unsigned int i;

	ASSERT_EQ(0, get_mr(p->rx, remote, 50000, RDS_RDMA_READWRITE, &cookie));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		exchange(_metadata, p, sizes[i]);
	fill(local, 50000, 1);
	ASSERT_EQ(RDS_RDMA_SUCCESS,
		  rdma_run(p->tx, &p->rx_addr, cookie, 0, local, 50000, RDS_RDMA_READWRITE));
	ASSERT_EQ(0, memcmp(remote, local, 50000));
	memset(local, 0, 50000);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(p->tx, &p->rx_addr, cookie, 0, local, 50000, 0));
	ASSERT_EQ(0, memcmp(remote, local, 50000));
	ASSERT_EQ(0, get_mr(p->rx, remote, 50000, RDS_RDMA_USE_ONCE, NULL));
	ASSERT_EQ(6, rds_send(p->tx, &p->rx_addr, "unread", 6, 0));
}

TEST_HARNESS_MAIN
