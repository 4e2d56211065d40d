// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* D01: no call takes a kernel address or a hole for user memory. */
#include <sys/uio.h>
#include "rds_test.h"

#define LIMIT	0x7ffffffff000ULL	/* TASK_SIZE with 4-level page tables */

FIXTURE(kernel_addr) {
	struct rds_pair		p;
	size_t			page;
	char			*three;		/* pages, the middle one missing */
};
RDS_BED_VARIANTS(kernel_addr);

FIXTURE_SETUP(kernel_addr)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->page = page_size();
	self->three = map_guarded(_metadata, 3 * self->page);
	ASSERT_EQ(0, mprotect(self->three + self->page, self->page, PROT_NONE));
}

FIXTURE_TEARDOWN(kernel_addr)
{
	pair_close(&self->p);
}

/* Places that no page of user memory may be taken from, 3 pages long. */
static unsigned int bad_places(FIXTURE_DATA(kernel_addr) *self, void **place)
{
	place[0] = (void *)KERNEL_ADDR;
	place[1] = (void *)0xffffffff81000000ULL;	/* kernel text without KASLR */
	place[2] = (void *)(LIMIT - self->page);	/* straddles the limit */
	place[3] = (void *)LIMIT;
	place[4] = self->three;
	place[5] = self->three + self->page - 1;
	place[6] = NULL;
	return 7;
}

TEST_F(kernel_addr, D01_send_from)
{
	unsigned int i, n;
	void *place[8];
	char c = 0;

	n = bad_places(self, place);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(-EFAULT, rds_send(self->p.tx, &self->p.rx_addr, place[i],
					    3 * self->page, 0)) {
			TH_LOG("place %u", i);
		}
	}
	/* none of it was queued */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
}

TEST_F(kernel_addr, D01_receive_into)
{
	size_t len = 3 * self->page;
	char *out = map_guarded(_metadata, len), *in = map_guarded(_metadata, len);
	unsigned int i, n;
	void *place[8];

	fill(out, len, 1);
	n = bad_places(self, place);
	ASSERT_EQ(len, rds_send(self->p.tx, &self->p.rx_addr, out, len, 0));
	ASSERT_TRUE(ready(self->p.rx, POLLIN, RDS_WAIT_MS));
	while (rds_recv(self->p.rx, in, len, MSG_DONTWAIT | MSG_PEEK, NULL) == -EAGAIN)
		nap();
	for (i = 0; i < n; i++) {
		EXPECT_EQ(-EFAULT, rds_recv(self->p.rx, place[i], len, MSG_DONTWAIT, NULL)) {
			TH_LOG("place %u", i);
		}
	}
	/* it is still there, whole */
	memset(in, 0, len);
	ASSERT_EQ(len, rds_recv(self->p.rx, in, len, MSG_DONTWAIT, NULL));
	EXPECT_EQ(0, memcmp(out, in, len));
}

TEST_F(kernel_addr, D01_register)
{
	rds_rdma_cookie_t cookie;
	unsigned int i, n;
	void *place[8];
	int err;

	n = bad_places(self, place);
	for (i = 0; i < n; i++) {
		err = get_mr(self->p.rx, place[i], 3 * self->page, RDS_RDMA_READWRITE, &cookie);
		EXPECT_EQ(-EFAULT, err) {
			TH_LOG("place %u", i);
		}
	}
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(kernel_addr, D01_rdma_local_side)
{
	size_t len = 3 * self->page;
	char *remote = map_guarded(_metadata, len);
	rds_rdma_cookie_t cookie;
	unsigned int i, n;
	void *place[8];

	fill(remote, len, 2);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, len, RDS_RDMA_READWRITE, &cookie));
	n = bad_places(self, place);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(-EFAULT, rdma_op(self->p.tx, &self->p.rx_addr, cookie, 0, place[i], len,
					   0, 0)) {
			TH_LOG("read into place %u", i);
		}
		EXPECT_EQ(-EFAULT, rdma_op(self->p.tx, &self->p.rx_addr, cookie, 0, place[i], len,
					   RDS_RDMA_READWRITE, 0)) {
			TH_LOG("write from place %u", i);
		}
	}
}

TEST_F(kernel_addr, D01_names_and_options)
{
	struct rds_msg_out m;

	msg_init(&m, &self->p.rx_addr, "x", 1);
	m.hdr.msg_name = (void *)KERNEL_ADDR;
	EXPECT_EQ(-EFAULT, msg_send(self->p.tx, &m, 0));
	msg_init(&m, &self->p.rx_addr, "x", 1);
	m.hdr.msg_control = (void *)KERNEL_ADDR;
	m.hdr.msg_controllen = 64;
	EXPECT_EQ(-EFAULT, msg_send(self->p.tx, &m, 0));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, RDS_GET_MR, (void *)KERNEL_ADDR,
				   sizeof(struct rds_get_mr_args)));
	EXPECT_EQ(-EFAULT, set_opt(self->p.rx, RDS_FREE_MR, (void *)KERNEL_ADDR,
				   sizeof(struct rds_free_mr_args)));
}

TEST_HARNESS_MAIN
