// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDS_GET_MR, RDS_GET_MR_FOR_DEST, RDS_FREE_MR: abi sections 6 and 11.  Limits are in
 * memlock.c, what a peer can do with a key in rdma.c and rdma_error.c.
 */
#include "rds_test.h"

FIXTURE(mr) {
	union rds_addr	a;
	union rds_addr	b;
	int		fd;
	char		*buf;	/* 1 MiB and a page */
	size_t		page;
};
RDS_BED_VARIANTS(mr);

FIXTURE_SETUP(mr)
{
	bed_need(_metadata, variant->bed, &self->a, &self->b);
	self->fd = open_bound(_metadata, &self->a);
	self->page = page_size();
	self->buf = map_guarded(_metadata, RDS_MAX_MSG + self->page);
	ASSERT_EQ(0, pinned_bytes());
}

FIXTURE_TEARDOWN(mr)
{
	close(self->fd);
}

/* --- errors in their order --- */

static int (*const getters[])(int, const void *, size_t, uint64_t, rds_rdma_cookie_t *) = {
	get_mr, get_mr_for_dest,
};

TEST(D15_unbound)
{
	char *buf = map_guarded(_metadata, 1), *hole = unmapped_page(_metadata);
	rds_rdma_cookie_t cookie = 7;
	int i, fd = rds_socket();

	ASSERT_GE(fd, 0);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ENOTCONN, getters[i](fd, buf, 1, 0, &cookie));
		EXPECT_EQ(-ENOTCONN, getters[i](fd, (void *)UINTPTR_MAX, 2, 0, &cookie));
		EXPECT_EQ(-ENOTCONN, getters[i](fd, buf, 0, 0, &cookie));
		EXPECT_EQ(-ENOTCONN, getters[i](fd, hole, 1, 0, &cookie));
	}
	EXPECT_EQ(7, cookie);
	EXPECT_EQ(-EINVAL, free_mr(fd, 0x1234));
	EXPECT_EQ(-EINVAL, free_mr(fd, 0));
}

TEST(D15_bind_failed)
{
	union rds_addr a = addr_make("192.0.2.1", 0), port1 = addr_make("127.0.0.1", 1);
	char *buf = map_guarded(_metadata, 1);
	rds_rdma_cookie_t cookie;
	int i, fd = rds_socket();

	ASSERT_GE(fd, 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &a));
		EXPECT_EQ(-ENOTCONN, getters[i](fd, buf, 1, 0, &cookie));
		ASSERT_EQ(-EINVAL, rds_bind(fd, &port1));
		EXPECT_EQ(-ENOTCONN, getters[i](fd, buf, 1, 0, &cookie));
		EXPECT_EQ(-EINVAL, free_mr(fd, 0x1234));
	}
	/* connected is not bound, and operations need no less than keys */
	ASSERT_EQ(0, rds_connect(fd, &port1));
	EXPECT_EQ(-ENOTCONN, get_mr(fd, buf, 1, 0, &cookie));
	EXPECT_EQ(-ENOTCONN, rdma_op(fd, NULL, 0x1234, 0, buf, 1, 0, 0));
}

TEST_F(mr, abi11_option_lengths)
{
	struct rds_get_mr_for_dest_args args;
	void *hole = unmapped_page(_metadata);

	memset(&args, 0, sizeof(args));
	EXPECT_EQ(-EINVAL, set_opt(self->fd, RDS_GET_MR, &args, sizeof(struct rds_get_mr_args) - 1));
	EXPECT_EQ(-EINVAL, set_opt(self->fd, RDS_GET_MR, &args, sizeof(struct rds_get_mr_args) + 1));
	EXPECT_EQ(-EINVAL, set_opt(self->fd, RDS_GET_MR_FOR_DEST, &args, sizeof(args) - 1));
	EXPECT_EQ(-EINVAL, set_opt(self->fd, RDS_FREE_MR, &args, 8));
	EXPECT_EQ(-EINVAL, set_opt(self->fd, RDS_FREE_MR, &args, 17));
	EXPECT_EQ(-EFAULT, set_opt(self->fd, RDS_GET_MR, hole, sizeof(struct rds_get_mr_args)));
	EXPECT_EQ(-EFAULT, set_opt(self->fd, RDS_GET_MR_FOR_DEST, hole, sizeof(args)));
	EXPECT_EQ(-EFAULT, set_opt(self->fd, RDS_FREE_MR, hole, sizeof(struct rds_free_mr_args)));
}

TEST_F(mr, abi11_destination_is_ignored)
{
	struct rds_get_mr_for_dest_args args;
	rds_rdma_cookie_t cookie = 0;

	memset(&args, 0x55, sizeof(args));
	args.vec = (struct rds_iovec){ (uintptr_t)self->buf, 100 };
	args.cookie_addr = (uintptr_t)&cookie;
	args.flags = 0;
	ASSERT_EQ(0, set_opt(self->fd, RDS_GET_MR_FOR_DEST, &args, sizeof(args)));
	EXPECT_EQ(0, free_mr(self->fd, cookie));
}

TEST_F(mr, abi6_range_errors)
{
	rds_rdma_cookie_t cookie = 7;
	int i;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EINVAL, getters[i](self->fd, (void *)UINTPTR_MAX, 2, 0, &cookie));
		EXPECT_EQ(-EINVAL, getters[i](self->fd, self->buf, UINT64_MAX, 0, &cookie));
		EXPECT_EQ(-EINVAL, getters[i](self->fd, self->buf, 0, 0, &cookie));
		EXPECT_EQ(-EMSGSIZE, getters[i](self->fd, self->buf, 1ULL << 32, 0, &cookie));
		EXPECT_EQ(-EMSGSIZE, getters[i](self->fd, self->buf, 1ULL << 40, 0, &cookie));
		EXPECT_EQ(-EFAULT, getters[i](self->fd, self->buf - 1, 1, 0, &cookie));
		EXPECT_EQ(-EFAULT, getters[i](self->fd, self->buf - 1, 2, 0, &cookie));
		EXPECT_EQ(-EFAULT, getters[i](self->fd, self->buf + RDS_MAX_MSG + self->page - 1, 2,
					      0, &cookie));
	}
	EXPECT_EQ(7, cookie);
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(mr, abi6_writable_key_of_read_only_memory)
{
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, mprotect(self->buf, self->page, PROT_READ));
	EXPECT_EQ(-EFAULT, get_mr(self->fd, self->buf, 1, RDS_RDMA_READWRITE, &cookie));
	EXPECT_EQ(0, pinned_bytes());
}

/* The clock's page, which the kernel shows to every process and which has nothing that one could hold: NULL, not found. */
static char *clock_page(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar]"))
			start = strtoul(line, NULL, 16);
	if (f)
		fclose(f);
	return (char *)start;
}

TEST_F(mr, abi6_memory_that_cannot_be_pinned)
{
	rds_rdma_cookie_t cookie = 7, key;
	char *page = clock_page();
	int i;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, get_mr(self->fd, self->buf, 100, RDS_RDMA_READWRITE, &key));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-EFAULT, getters[i](self->fd, page, 100, 0, &cookie));
	EXPECT_EQ(-EFAULT, rdma_op(self->fd, &self->a, key, 0, page, 100, RDS_RDMA_READWRITE, 0));
	EXPECT_EQ(7, cookie);
	EXPECT_EQ(0, free_mr(self->fd, key));
	EXPECT_EQ(0, pinned_bytes());
}

/* --- before any connection; sizes and alignments --- */

TEST_F(mr, freshly_bound_socket_gets_a_key)
{
	rds_rdma_cookie_t cookie = 0, other = 0;

	EXPECT_EQ(0, get_mr(self->fd, self->buf, self->page, RDS_RDMA_READWRITE, &cookie));
	EXPECT_NE(0, cookie);
	EXPECT_EQ(0, get_mr_for_dest(self->fd, self->buf, self->page, RDS_RDMA_READWRITE, &other));
	EXPECT_NE(0, other);
	EXPECT_EQ(0, free_mr(self->fd, cookie));
	EXPECT_EQ(0, free_mr(self->fd, other));
}

TEST_F(mr, abi16_sizes_and_alignments)
{
	static const size_t sizes[] = { 1, 2, 7, 4095, 4096, 4097, 8192, 65537, RDS_MAX_MSG };
	static const size_t offsets[] = { 0, 1, 7, 8, 2048, 4095 };
	rds_rdma_cookie_t cookie;
	unsigned int i, j;
	long pages;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			ASSERT_EQ(0, get_mr(self->fd, self->buf + offsets[j], sizes[i],
					    RDS_RDMA_READWRITE, &cookie)) {
				TH_LOG("%zu bytes at offset %zu", sizes[i], offsets[j]);
			}
			pages = (offsets[j] + sizes[i] + self->page - 1) / self->page;
			EXPECT_EQ(pages * self->page, pinned_bytes());
			ASSERT_EQ(0, free_mr(self->fd, cookie));
			EXPECT_EQ(0, pinned_bytes());
		}
	}
}

/* On soft-RoCE 512 pages, of which one is spare. */
TEST_F(mr, abi16_better_as_long_as_the_device_takes)
{
	size_t most = (variant->bed == BED_RXE ? 511 : 4096) * self->page;
	char *buf = map_guarded(_metadata, most + self->page);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->fd, buf, most, RDS_RDMA_READWRITE, &cookie));
	EXPECT_EQ(most, pinned_bytes());
	ASSERT_EQ(0, free_mr(self->fd, cookie));
	if (variant->bed == BED_RXE) {
		EXPECT_EQ(-EMSGSIZE, get_mr(self->fd, buf, most + 1, RDS_RDMA_READWRITE, &cookie));
		EXPECT_EQ(-EMSGSIZE, get_mr(self->fd, buf + 1, most, RDS_RDMA_READWRITE, &cookie));
	}
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(mr, abi6_cookie_need_not_be_stored)
{
	EXPECT_EQ(0, get_mr(self->fd, self->buf, 1, 0, NULL));
	close(self->fd);
	EXPECT_EQ(0, pinned_bytes());
	self->fd = rds_socket();
}

/* --- D16: the cookie cannot be stored --- */

TEST_F_TIMEOUT(mr, D16_cookie_fault, RDS_SLOW_TEST)
{
	char *ro = map_guarded(_metadata, self->page), *copy = malloc(RDS_MAX_MSG);
	void *hole = unmapped_page(_metadata);
	long regions = device_regions();
	rds_rdma_cookie_t cookie;
	int i, j;

	fill(self->buf, RDS_MAX_MSG, 5);
	memcpy(copy, self->buf, RDS_MAX_MSG);
	ASSERT_EQ(0, mprotect(ro, self->page, PROT_READ));
	for (i = 0; i < 300; i++) {
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(-EFAULT, getters[j](self->fd, self->buf, 9000, 0, hole));
			ASSERT_EQ(-EFAULT, getters[j](self->fd, self->buf, 9000, 0, (void *)ro));
			ASSERT_EQ(-EFAULT, getters[j](self->fd, self->buf, 9000, 0,
						      (void *)KERNEL_ADDR));
		}
	}
	EXPECT_EQ(0, pinned_bytes());
	EXPECT_EQ(regions, device_regions());
	EXPECT_EQ(0, memcmp(copy, self->buf, RDS_MAX_MSG));
	ASSERT_EQ(0, get_mr(self->fd, self->buf, 9000, 0, &cookie));
	EXPECT_EQ(0, free_mr(self->fd, cookie));
}

/* D56: what was pinned before a hole was met is let go once, whoever else has it pinned. */
TEST_F_TIMEOUT(mr, D56_pins_before_a_hole, RDS_SLOW_TEST)
{
	long regions = device_regions();
	rds_rdma_cookie_t first;
	int i, j;

	fill(self->buf, self->page, 7);
	ASSERT_EQ(0, get_mr(self->fd, self->buf, self->page, RDS_RDMA_READWRITE, &first));
	ASSERT_EQ(0, mprotect(self->buf + 2 * self->page, self->page, PROT_NONE));
	for (i = 0; i < rds_rounds(1000); i++) {
		for (j = 0; j < 2; j++) {
			ASSERT_EQ(-EFAULT, getters[j](self->fd, self->buf, 4 * self->page,
						      i % 2 ? RDS_RDMA_READWRITE : 0, NULL));
		}
		ASSERT_EQ(-EFAULT, rdma_op(self->fd, &self->a, first, 0, self->buf,
					   4 * self->page, 0, 0)) {
			TH_LOG("round %d", i);
		}
	}
	EXPECT_EQ(self->page, pinned_bytes());
	EXPECT_EQ(regions + bed_is_rxe(variant->bed), device_regions());
	/* a page given away too often would be somebody else's by now */
	for (i = 0; i < 64; i++)
		memset(map_guarded(_metadata, self->page), 0xee, self->page);
	EXPECT_FALSE(all_bytes(self->buf, 64, 0xee));
	EXPECT_EQ(0, free_mr(self->fd, first));
	EXPECT_EQ(0, pinned_bytes());
}

/* D19: pages that lie one behind the other may be mapped as one. */
TEST_F_TIMEOUT(mr, D19_physically_contiguous_pages, RDS_SLOW_TEST)
{
	static const size_t sizes[] = { 65536, 65537, 131072 + 4095, 524288, RDS_MAX_MSG };
	const size_t huge = 2 * RDS_MAX_MSG;
	int tx, nr = open("/proc/sys/vm/nr_hugepages", O_WRONLY);
	union rds_addr b = self->b;
	char *remote, *local = self->buf;
	rds_rdma_cookie_t cookie;
	unsigned int i, j;

	ASSERT_EQ(1, write(nr, "2", 1));
	close(nr);
	remote = mmap(NULL, huge, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)remote);
	tx = open_bound(_metadata, &b);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j <= 4095; j += 4095) {
			memset(remote, 0, huge);
			fill(local, sizes[i], i);
			ASSERT_EQ(0, get_mr(self->fd, remote + j, sizes[i], RDS_RDMA_READWRITE,
					    &cookie));
			ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(tx, &self->a, cookie, 0, local, sizes[i],
							     RDS_RDMA_READWRITE));
			EXPECT_EQ(0, memcmp(remote + j, local, sizes[i]));
			EXPECT_TRUE(all_bytes(remote, j, 0));
			EXPECT_TRUE(all_bytes(remote + j + sizes[i], 4096, 0));
			memset(local, 0, sizes[i]);
			ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(tx, &self->a, cookie, 0, local, sizes[i],
							     0));
			EXPECT_EQ(0, memcmp(remote + j, local, sizes[i]));
			ASSERT_EQ(0, free_mr(self->fd, cookie));
		}
	}
	/* and as the local side of an operation */
	ASSERT_EQ(0, get_mr(self->fd, local, RDS_MAX_MSG, RDS_RDMA_READWRITE, &cookie));
	fill(remote, RDS_MAX_MSG, 9);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(tx, &self->a, cookie, 0, remote, RDS_MAX_MSG,
					     RDS_RDMA_READWRITE));
	EXPECT_EQ(0, memcmp(remote, local, RDS_MAX_MSG));
	close(tx);
}

/* The peer writes to them, and reads what it wrote. */
static void expect_usable_by(struct __test_metadata *_metadata, FIXTURE_DATA(mr) *self, int tx, char *remote)
{
	char *local = self->buf;
	rds_rdma_cookie_t cookie;

	fill(local, 9000, 11);
	ASSERT_EQ(0, get_mr(self->fd, remote + 1, 9000, RDS_RDMA_READWRITE, &cookie));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(tx, &self->a, cookie, 0, local, 9000, RDS_RDMA_READWRITE));
	EXPECT_EQ(0, memcmp(remote + 1, local, 9000));
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(tx, &self->a, cookie, 0, local + 10000, 9000, 0));
	EXPECT_EQ(0, memcmp(local + 10000, local, 9000));
	EXPECT_EQ(0, free_mr(self->fd, cookie));
}

TEST_F_TIMEOUT(mr, abi6_huge_and_private_file_pages, RDS_SLOW_TEST)
{
	const size_t huge = 2 * RDS_MAX_MSG;
	int tx, file, nr = open("/proc/sys/vm/nr_hugepages", O_WRONLY);
	union rds_addr b = self->b;
	char *map, *zero;

	ASSERT_EQ(1, write(nr, "2", 1));
	close(nr);
	tx = open_bound(_metadata, &b);
	file = memfd_create("huge", MFD_HUGETLB);
	ASSERT_GE(file, 0);
	ASSERT_EQ(0, ftruncate(file, huge));
	map = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	expect_usable_by(_metadata, self, tx, map);
	munmap(map, huge);
	close(file);

	/* of a private mapping the process's own pages are written, not the file's */
	file = memfd_create("file", 0);
	ASSERT_EQ(0, ftruncate(file, 4 * self->page));
	map = mmap(NULL, 4 * self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	expect_usable_by(_metadata, self, tx, map);
	zero = map_guarded(_metadata, 4 * self->page);
	memset(zero, 1, 4 * self->page);
	ASSERT_EQ(4 * self->page, pread(file, zero, 4 * self->page, 0));
	EXPECT_TRUE(all_bytes(zero, 4 * self->page, 0));
	close(file);
	close(tx);
}

TEST_F(mr, D16_cookie_inside_the_region)
{
	rds_rdma_cookie_t *inside = (void *)(self->buf + 64);

	ASSERT_EQ(0, get_mr(self->fd, self->buf, self->page, RDS_RDMA_READWRITE, inside));
	EXPECT_EQ(0, free_mr(self->fd, *inside));
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F_TIMEOUT(mr, D16_cookie_unmapped_meanwhile, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t *cookie = map_guarded(_metadata, self->page);
	struct rds_flicker f;
	rds_rdma_cookie_t copy;
	int i, err;

	flicker_start(_metadata, &f, cookie);
	for (i = 0; i < rds_rounds(500); i++) {
		err = get_mr(self->fd, self->buf, 9000, 0, cookie);
		ASSERT_TRUE(err == 0 || err == -EFAULT);
	}
	flicker_stop(&f);
	copy = *cookie;
	/* the last one that was stored, if any was, is the only key known */
	if (copy) {
		EXPECT_EQ(0, free_mr(self->fd, copy));
	}
	close(self->fd);
	EXPECT_EQ(0, pinned_bytes());
	self->fd = rds_socket();
}

/* --- keys --- */

#define MANY	100

TEST_F(mr, cookies_are_unique)
{
	rds_rdma_cookie_t cookie[MANY];
	int i, j;

	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, get_mr(self->fd, self->buf, 100, 0, &cookie[i]));
		for (j = 0; j < i; j++) {
			ASSERT_NE(cookie[i], cookie[j]);
			ASSERT_NE((uint32_t)cookie[i], (uint32_t)cookie[j]);
		}
	}
	/* every second one is renewed: no new key equals a live one */
	for (i = 0; i < MANY; i += 2) {
		ASSERT_EQ(0, free_mr(self->fd, cookie[i]));
		ASSERT_EQ(0, get_mr(self->fd, self->buf, 100, 0, &cookie[i]));
		for (j = 0; j < MANY; j++) {
			ASSERT_TRUE(i == j || cookie[i] != cookie[j]);
		}
	}
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, free_mr(self->fd, cookie[i]));
	}
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(mr, abi11_free_unknown_and_twice)
{
	rds_rdma_cookie_t cookie;

	EXPECT_EQ(-EINVAL, free_mr(self->fd, 0x123456789abcdefULL));
	ASSERT_EQ(0, get_mr(self->fd, self->buf, 1, 0, &cookie));
	EXPECT_EQ(-EINVAL, free_mr(self->fd, cookie ^ 1));
	/* the offset is part of the cookie */
	EXPECT_EQ(-EINVAL, free_mr(self->fd, cookie ^ (1ULL << 40)));
	EXPECT_EQ(0, free_mr(self->fd, cookie));
	EXPECT_EQ(-EINVAL, free_mr(self->fd, cookie));
}

TEST_F(mr, abi11_free_cookie_0_is_a_probe)
{
	rds_rdma_cookie_t cookie;

	EXPECT_EQ(0, free_mr(self->fd, 0));
	ASSERT_EQ(0, get_mr(self->fd, self->buf, 1, 0, &cookie));
	EXPECT_EQ(0, free_mr(self->fd, 0));
	/* it completes revocations and revokes nothing */
	EXPECT_EQ(0, free_mr(self->fd, cookie));
}

TEST_F(mr, abi6_abi11_free_with_invalidate)
{
	struct rds_free_mr_args args = { .flags = RDS_RDMA_INVALIDATE };

	ASSERT_EQ(0, get_mr(self->fd, self->buf, 1, RDS_RDMA_INVALIDATE, &args.cookie));
	EXPECT_EQ(0, set_opt(self->fd, RDS_FREE_MR, &args, sizeof(args)));
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(mr, key_belongs_to_its_socket)
{
	union rds_addr b = addr_with_port(&self->a, 0);
	int fd = open_bound(_metadata, &b);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->fd, self->buf, 1, 0, &cookie));
	EXPECT_EQ(-EINVAL, free_mr(fd, cookie));
	close(fd);
	EXPECT_EQ(0, free_mr(self->fd, cookie));
}

struct freer {
	pthread_barrier_t	*start;
	int			fd;
	rds_rdma_cookie_t	cookie;
	int			result;
};

static void *free_at_once(void *arg)
{
	struct freer *f = arg;

	pthread_barrier_wait(f->start);
	f->result = free_mr(f->fd, f->cookie);
	return NULL;
}

TEST_F_TIMEOUT(mr, D18_two_threads_free_one_key, RDS_SLOW_TEST)
{
	struct freer f[2];
	pthread_t thread[2];
	pthread_barrier_t start;
	int i, round;

	pthread_barrier_init(&start, NULL, 2);
	for (round = 0; round < 300; round++) {
		f[0] = (struct freer){ &start, self->fd };
		ASSERT_EQ(0, get_mr(self->fd, self->buf, 9000, 0, &f[0].cookie));
		f[1] = f[0];
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, free_at_once, &f[i]));
		}
		for (i = 0; i < 2; i++) {
			pthread_join(thread[i], NULL);
		}
		ASSERT_EQ(-EINVAL, f[0].result + f[1].result);
		ASSERT_EQ(0, f[0].result * f[1].result);
	}
	EXPECT_EQ(0, pinned_bytes());
}

static void *close_at_once(void *arg)
{
	struct freer *f = arg;

	pthread_barrier_wait(f->start);
	f->result = close(f->fd);
	return NULL;
}

TEST_F_TIMEOUT(mr, D18_free_against_close, RDS_SLOW_TEST)
{
	union rds_addr a;
	struct freer f[2];
	pthread_t thread[2];
	pthread_barrier_t start;
	int round;

	pthread_barrier_init(&start, NULL, 2);
	for (round = 0; round < rds_rounds(200); round++) {
		a = addr_with_port(&self->a, 0);
		f[0] = (struct freer){ &start, open_bound(_metadata, &a) };
		ASSERT_EQ(0, get_mr(f[0].fd, self->buf, 9000, 0, &f[0].cookie));
		f[1] = f[0];
		ASSERT_EQ(0, pthread_create(&thread[0], NULL, free_at_once, &f[0]));
		ASSERT_EQ(0, pthread_create(&thread[1], NULL, close_at_once, &f[1]));
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
		ASSERT_TRUE(f[0].result == 0 || f[0].result == -EBADF);
		/* whichever call held the socket last has released the key */
		ASSERT_TRUE(pinned_settles_at(0));
	}
}

/* --- life of a region beside that of its memory and its socket --- */

TEST_F(mr, abi15_close_releases_all_keys)
{
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, get_mr(self->fd, self->buf + i, 9000, 0, NULL));
	}
	EXPECT_LT(0, pinned_bytes());
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, pinned_bytes());
	self->fd = rds_socket();
}

TEST_F(mr, unmap_while_registered)
{
	rds_rdma_cookie_t cookie;

	fill(self->buf, RDS_MAX_MSG, 6);
	ASSERT_EQ(0, get_mr(self->fd, self->buf, RDS_MAX_MSG, RDS_RDMA_READWRITE, &cookie));
	ASSERT_EQ(0, munmap(self->buf, RDS_MAX_MSG));
	EXPECT_EQ(RDS_MAX_MSG, pinned_bytes());
	EXPECT_EQ(0, free_mr(self->fd, cookie));
	EXPECT_EQ(0, pinned_bytes());
}

/* A child that registers memory with the parent's socket and is gone. */
struct heir {
	int			fd;
	rds_rdma_cookie_t	*shared;
	char			*buf;
};

static int register_and_exit(void *arg)
{
	struct heir *h = arg;

	return -get_mr(h->fd, h->buf, 9000, RDS_RDMA_READWRITE, h->shared);
}

TEST_F(mr, owner_exits_before_its_socket)
{
	struct heir h = { self->fd, NULL, self->buf };

	h.shared = mmap(NULL, self->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)h.shared);
	ASSERT_EQ(0, in_child(register_and_exit, &h));
	/* charged to the child's memory, which is gone; this process is not credited */
	EXPECT_EQ(0, pinned_bytes());
	EXPECT_EQ(0, free_mr(self->fd, *h.shared));
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(mr, owner_exits_and_socket_closes)
{
	struct heir h = { self->fd, NULL, self->buf };
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, in_child(register_and_exit, &h));
	}
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, pinned_bytes());
	self->fd = rds_socket();
}

TEST_HARNESS_MAIN
