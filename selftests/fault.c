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

static int send_map(FIXTURE_DATA(kernel_addr) *self, const void *place, size_t len)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)place, len } };
	struct rds_msg_out m;

	msg_init(&m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	return msg_send(self->p.tx, &m, 0);
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
		/* not even for reading */
		err = get_mr(self->p.rx, place[i], 3 * self->page, 0, &cookie);
		EXPECT_EQ(-EFAULT, err) {
			TH_LOG("place %u, to be read", i);
		}
		err = get_mr_for_dest(self->p.rx, place[i], 3 * self->page, 0, &cookie);
		EXPECT_EQ(-EFAULT, err) {
			TH_LOG("place %u, for a destination", i);
		}
		err = send_map(self, place[i], 3 * self->page);
		EXPECT_EQ(-EFAULT, err) {
			TH_LOG("place %u, with a message", i);
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

/* --- every other address that a call takes --- */

static const struct {
	int		opt;
	socklen_t	len;
} options_in[] = {
	{ RDS_GET_MR, sizeof(struct rds_get_mr_args) },
	{ RDS_GET_MR_FOR_DEST, sizeof(struct rds_get_mr_for_dest_args) },
	{ RDS_FREE_MR, sizeof(struct rds_free_mr_args) },
	{ RDS_CANCEL_SENT_TO, sizeof(struct sockaddr_in) },
	{ RDS_CANCEL_SENT_TO, sizeof(struct sockaddr_in6) },
	{ RDS_RECVERR, sizeof(int) },
};

TEST_F(kernel_addr, D01_options_in)
{
	void *bad[] = { (void *)KERNEL_ADDR, (void *)LIMIT, self->three + self->page,
			self->three + self->page - 1 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(options_in); i++) {
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			EXPECT_EQ(-EFAULT, set_opt(self->p.rx, options_in[i].opt, bad[j],
						   options_in[i].len)) {
				TH_LOG("option %d, place %u", options_in[i].opt, j);
			}
		}
	}
}

static int get_opt(int fd, int opt, void *buf, void *len)
{
	return getsockopt(fd, SOL_RDS, opt, buf, len) < 0 ? -errno : 0;
}

TEST_F(kernel_addr, D01_options_out)
{
	static const int options[] = { RDS_RECVERR, SO_RDS_TRANSPORT, RDS_INFO_COUNTERS };
	socklen_t len, room = sizeof(struct rds_info_counter) * RDS_MAX_COUNTERS;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		len = room;
		EXPECT_EQ(-EFAULT, get_opt(self->p.rx, options[i], (void *)KERNEL_ADDR, &len));
		len = room;
		EXPECT_EQ(-EFAULT, get_opt(self->p.rx, options[i], self->three + self->page, &len));
		EXPECT_EQ(-EFAULT, get_opt(self->p.rx, options[i], self->three, (void *)KERNEL_ADDR));
		EXPECT_EQ(-EFAULT, get_opt(self->p.rx, options[i], self->three,
					   self->three + self->page));
	}
}

TEST_F(kernel_addr, D01_socket_addresses)
{
	struct sockaddr *bad = (void *)KERNEL_ADDR;
	socklen_t len = sizeof(union rds_addr);
	int64_t end = now_ms() + RDS_WAIT_MS;
	int err;
	char c;

	EXPECT_EQ(-1, bind(self->p.tx, bad, len));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, connect(self->p.tx, bad, len));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, getsockname(self->p.tx, bad, &len));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, getsockname(self->p.tx, (void *)self->three, (void *)KERNEL_ADDR));
	EXPECT_EQ(EFAULT, errno);
	/* of a message that is there; its sender's address cannot be told */
	ASSERT_EQ(1, rds_send(self->p.rx, &self->p.tx_addr, "x", 1, 0));
	ASSERT_TRUE(ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	do {
		err = recvfrom(self->p.tx, &c, 1, MSG_DONTWAIT, bad, &len) < 0 ? errno : 0;
	} while (err == EAGAIN && now_ms() < end);
	EXPECT_EQ(EFAULT, err);
}

TEST_HARNESS_MAIN
