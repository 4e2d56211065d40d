// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMA that succeeds: placement, local vectors, cookies on the way, notifications. */
#include "sysctl.h"

#define WRITE	RDS_RDMA_READWRITE
#define READ	0

/* tx works on a buffer of 1 MiB and a page that rx has registered. */
FIXTURE(rdma) {
	struct rds_pair		p;
	size_t			page;
	size_t			size;
	char			*remote;
	char			*local;
	rds_rdma_cookie_t	cookie;	/* all of remote */
};
RDS_BED_VARIANTS(rdma);
RDS_BED_VARIANT_RXE6(rdma);

FIXTURE_SETUP(rdma)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->page = page_size();
	self->size = RDS_MAX_MSG;
	self->remote = map_guarded(_metadata, self->size);
	self->local = map_guarded(_metadata, self->size);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, self->size, WRITE, &self->cookie));
}

FIXTURE_TEARDOWN(rdma)
{
	pair_close(&self->p);
}

/* --- placement: every byte where it belongs, and no other touched --- */

struct placement {
	size_t	len;
	size_t	remote_off;
	size_t	local_off;
};

static const struct placement placements[] = {
	{ 1, 0, 0 }, { 1, 4095, 1 }, { 1, 4096, 4095 },
	{ 2, 4095, 4095 }, { 3, 1, 2 }, { 7, 4093, 8189 },
	{ 64, 100, 3 }, { 4095, 0, 1 }, { 4095, 1, 0 },
	{ 4096, 0, 0 }, { 4096, 1, 1 }, { 4096, 4095, 2048 },
	{ 4097, 0, 0 }, { 4097, 4095, 4095 }, { 8192, 8, 16 },
	{ 12289, 4001, 7 }, { 65536, 0, 1 }, { 65539, 511, 4095 },
};

#define GUARD	16384	/* what is compared around the bytes moved */

static void expect_placed(struct __test_metadata *_metadata, const struct placement *p,
			  const char *to, size_t to_off, const char *from, size_t from_off)
{
	size_t before = to_off < GUARD ? to_off : GUARD;

	EXPECT_TRUE(all_bytes(to + to_off - before, before, 0x33)) {
		TH_LOG("bytes before: %zu at %zu from %zu", p->len, to_off, from_off);
	}
	EXPECT_EQ(0, memcmp(to + to_off, from + from_off, p->len)) {
		TH_LOG("bytes moved: %zu at %zu from %zu", p->len, to_off, from_off);
	}
	EXPECT_TRUE(all_bytes(to + to_off + p->len, GUARD, 0x33)) {
		TH_LOG("bytes behind: %zu at %zu from %zu", p->len, to_off, from_off);
	}
}

TEST_F_TIMEOUT(rdma, abi5_18_write_is_byte_exact, RDS_SLOW_TEST)
{
	const struct placement *p;

	fill(self->local, self->size, 1);
	for (p = placements; p < placements + ARRAY_SIZE(placements); p++) {
		memset(self->remote, 0x33, 128 * 1024);
		ASSERT_EQ(RDS_RDMA_SUCCESS,
			  rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, p->remote_off,
				   self->local + p->local_off, p->len, WRITE));
		expect_placed(_metadata, p, self->remote, p->remote_off, self->local, p->local_off);
	}
}

TEST_F_TIMEOUT(rdma, abi6_read_is_byte_exact, RDS_SLOW_TEST)
{
	const struct placement *p;

	fill(self->remote, self->size, 2);
	for (p = placements; p < placements + ARRAY_SIZE(placements); p++) {
		memset(self->local, 0x33, 128 * 1024);
		ASSERT_EQ(RDS_RDMA_SUCCESS,
			  rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, p->remote_off,
				   self->local + p->local_off, p->len, READ));
		expect_placed(_metadata, p, self->local, p->local_off, self->remote, p->remote_off);
	}
}

/* The cookie names the first registered byte, wherever in its page that is. */
TEST_F_TIMEOUT(rdma, key_starts_anywhere, RDS_SLOW_TEST)
{
	static const size_t starts[] = { 1, 8, 511, 2048, 4095, 4097 };
	rds_rdma_cookie_t cookie;
	unsigned int i;

	fill(self->local, 10000, 3);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		memset(self->remote, 0x33, 32768);
		ASSERT_EQ(0, get_mr(self->p.rx, self->remote + starts[i], 10000, WRITE, &cookie));
		ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0,
						     self->local, 10000, WRITE));
		EXPECT_TRUE(all_bytes(self->remote, starts[i], 0x33));
		EXPECT_EQ(0, memcmp(self->remote + starts[i], self->local, 10000));
		EXPECT_TRUE(all_bytes(self->remote + starts[i] + 10000, 4096, 0x33));
		/* the last byte, by its offset */
		ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 9999,
						     "L", 1, WRITE));
		EXPECT_EQ('L', self->remote[starts[i] + 9999]);
		ASSERT_EQ(0, free_mr(self->p.rx, cookie));
	}
}

TEST_F_TIMEOUT(rdma, abi16_one_mebibyte_each_way, RDS_SLOW_TEST)
{
	fill(self->local, self->size, 4);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
					     self->local, self->size, WRITE));
	EXPECT_EQ(0, memcmp(self->remote, self->local, self->size));
	fill(self->remote, self->size, 5);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
					     self->local, self->size, READ));
	EXPECT_EQ(0, memcmp(self->remote, self->local, self->size));
}

#define TWO_MEBIBYTES	(511 * 4096)	/* nearly: what soft-RoCE registers at once */

/* A read and a write of all of @remote, which is as long as @local. */
static void run_both_ways(struct __test_metadata *_metadata, FIXTURE_DATA(rdma) *self, char *remote, char *local,
			  rds_rdma_cookie_t cookie)
{
	fill(local, TWO_MEBIBYTES, 6);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, TWO_MEBIBYTES, WRITE));
	EXPECT_EQ(0, memcmp(remote, local, TWO_MEBIBYTES));
	fill(remote, TWO_MEBIBYTES, 7);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, TWO_MEBIBYTES, READ));
	EXPECT_EQ(0, memcmp(remote, local, TWO_MEBIBYTES));
}

TEST_F_TIMEOUT(rdma, abi16_better_two_mebibytes, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, TWO_MEBIBYTES), *local = map_guarded(_metadata, TWO_MEBIBYTES);
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->p.rx, remote, TWO_MEBIBYTES, WRITE, &cookie));
	EXPECT_EQ(-EMSGSIZE, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, TWO_MEBIBYTES, WRITE));
	ASSERT_EQ(0, sysctl_set("max_rdma_bytes", TWO_MEBIBYTES));
	run_both_ways(_metadata, self, remote, local, cookie);
	ASSERT_EQ(0, sysctl_set("max_rdma_bytes", TWO_MEBIBYTES - 1));
	EXPECT_EQ(-EMSGSIZE, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, local, TWO_MEBIBYTES, WRITE));
	ASSERT_EQ(0, sysctl_set("max_rdma_bytes", RDS_MAX_MSG));
}

/* --- local vectors --- */

static int run_vector(FIXTURE_DATA(rdma) *self, const struct rds_iovec *iov, unsigned int nr,
		      uint64_t remote_bytes, uint64_t flags)
{
	struct rds_msg_out m;
	ssize_t n;

	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_rdma(&m, self->cookie, 0, remote_bytes, iov, nr,
		 flags | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 1);
	n = msg_send(self->p.tx, &m, 0);
	return n < 0 ? n : rdma_status(self->p.tx, NULL);
}

/* Odd pieces, scattered over the local buffer in falling order. */
static size_t scatter(FIXTURE_DATA(rdma) *self, struct rds_iovec *iov, unsigned int nr,
		      size_t piece)
{
	size_t stride = self->size / nr, total = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		iov[i].bytes = piece + i % 3;
		iov[i].addr = (uintptr_t)self->local + (nr - 1 - i) * stride + i % 7;
		total += iov[i].bytes;
	}
	return total;
}

static bool vector_equals_remote(FIXTURE_DATA(rdma) *self, const struct rds_iovec *iov,
				 unsigned int nr)
{
	const char *p = self->remote;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (memcmp(p, (void *)(uintptr_t)iov[i].addr, iov[i].bytes))
			return false;
		p += iov[i].bytes;
	}
	return true;
}

TEST_F_TIMEOUT(rdma, abi16_scatter_gather, RDS_SLOW_TEST)
{
	static const struct { unsigned int nr; size_t piece; } shapes[] = {
		{ 2, 1 }, { 3, 5000 }, { 31, 100 }, { 32, 100 }, { 33, 100 }, { 65, 4096 },
		{ 200, 333 }, { 1024, 1 }, { 1024, 900 },
	};
	static struct rds_iovec iov[1024];
	unsigned int i;
	size_t total;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		total = scatter(self, iov, shapes[i].nr, shapes[i].piece);
		fill(self->local, self->size, 10 + i);
		memset(self->remote, 0x33, self->size);
		ASSERT_EQ(RDS_RDMA_SUCCESS, run_vector(self, iov, shapes[i].nr, total, WRITE)) {
			TH_LOG("write, %u pieces", shapes[i].nr);
		}
		EXPECT_TRUE(vector_equals_remote(self, iov, shapes[i].nr));
		EXPECT_TRUE(all_bytes(self->remote + total, 4096, 0x33));

		fill(self->remote, total, 30 + i);
		ASSERT_EQ(RDS_RDMA_SUCCESS, run_vector(self, iov, shapes[i].nr, total, READ)) {
			TH_LOG("read, %u pieces", shapes[i].nr);
		}
		EXPECT_TRUE(vector_equals_remote(self, iov, shapes[i].nr));
	}
}

TEST_F(rdma, abi6_local_less_than_remote)
{
	struct rds_iovec iov = { (uintptr_t)self->local, 100 };

	fill(self->local, 100, 6);
	memset(self->remote, 0x33, 400);
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_vector(self, &iov, 1, 200, WRITE));
	EXPECT_EQ(0, memcmp(self->remote, self->local, 100));
	EXPECT_TRUE(all_bytes(self->remote + 100, 300, 0x33));
}

/* The same page many times, as two ranges that touch: no page is released twice. */
TEST_F(rdma, ranges_share_a_page)
{
	struct rds_iovec iov[64];
	long pinned = pinned_bytes();
	int i;

	for (i = 0; i < 64; i++)
		iov[i] = (struct rds_iovec){ (uintptr_t)self->local + i * 8, 8 };
	fill(self->local, 512, 7);
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_vector(self, iov, 64, 512, WRITE));
	EXPECT_EQ(0, memcmp(self->remote, self->local, 512));
	EXPECT_TRUE(pinned_settles_at(pinned));
}

/* --- memory of other kinds --- */

static int tmpfs_file(struct __test_metadata *_metadata, size_t len)
{
	int fd = memfd_create("rds", 0);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, len));
	return fd;
}

TEST_F(rdma, abi6_write_from_read_only_file_mapping)
{
	static const int kinds[] = { MAP_SHARED, MAP_PRIVATE };
	int fd = tmpfs_file(_metadata, 20000);
	unsigned int i;
	char *map;

	fill(self->local, 20000, 8);
	ASSERT_EQ(20000, pwrite(fd, self->local, 20000, 0));
	for (i = 0; i < 2; i++) {
		map = mmap(NULL, 20000, PROT_READ, kinds[i], fd, 0);
		ASSERT_NE(MAP_FAILED, (void *)map);
		memset(self->remote, 0x33, 32768);
		ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
						     map + 1, 19999, WRITE));
		EXPECT_EQ(0, memcmp(self->remote, self->local + 1, 19999));
		munmap(map, 20000);
	}
	close(fd);
}

/* A key for reading alone needs no memory that can be written. */
TEST_F_TIMEOUT(rdma, abi6_better_peer_reads_read_only_memory, RDS_SLOW_TEST)
{
	static const int kinds[] = { MAP_SHARED, MAP_PRIVATE };
	int fd = tmpfs_file(_metadata, 20000);
	rds_rdma_cookie_t cookie;
	unsigned int i;
	char *map;

	fill(self->remote, 20000, 12);
	ASSERT_EQ(20000, pwrite(fd, self->remote, 20000, 0));
	for (i = 0; i < 2; i++) {
		map = mmap(NULL, 20000, PROT_READ, kinds[i], fd, 0);
		ASSERT_NE(MAP_FAILED, (void *)map);
		ASSERT_EQ(0, get_mr(self->p.rx, map, 20000, READ, &cookie));
		memset(self->local, 0, 20000);
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, 20000, READ));
		EXPECT_EQ(0, memcmp(self->local, self->remote, 20000));
		memset(self->local, 0x55, 20000);
		EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local, 1, WRITE));
		EXPECT_EQ(0, memcmp(map, self->remote, 20000));
		EXPECT_EQ(0, free_mr(self->p.rx, cookie));
		munmap(map, 20000);
	}
	close(fd);
}

TEST_F(rdma, into_a_shared_file_mapping)
{
	int fd = tmpfs_file(_metadata, 20000);
	rds_rdma_cookie_t cookie;
	char *map, *back = self->local + 65536;

	map = mmap(NULL, 20000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	ASSERT_EQ(0, get_mr(self->p.rx, map, 20000, WRITE, &cookie));
	fill(self->local, 20000, 9);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, self->local,
					     20000, WRITE));
	ASSERT_EQ(0, free_mr(self->p.rx, cookie));
	ASSERT_EQ(20000, pread(fd, back, 20000, 0));
	EXPECT_EQ(0, memcmp(back, self->local, 20000));
	munmap(map, 20000);
	close(fd);
}

/* --- the address space changes under a registered buffer --- */

static int wait_for_byte(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1) == 1 ? 0 : 1;
}

TEST_F(rdma, fork_while_registered)
{
	int status, pipefd[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(pipefd));
	memset(self->remote, 0x33, self->page);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		/* the child's copy is its own: neither side's later bytes cross over */
		memset(self->remote, 0x44, 8);
		_exit(wait_for_byte(&pipefd[0]) || !all_bytes(self->remote, 8, 0x44) ||
		      !all_bytes(self->remote + 8, 8, 0x33));
	}
	memset(self->local, 0x55, 16);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
					     self->local, 16, WRITE));
	EXPECT_TRUE(all_bytes(self->remote, 16, 0x55));
	ASSERT_EQ(1, write(pipefd[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

#define LAST_WRITES	8

/* Ask for writes, and be gone. */
static int write_and_leave(void *arg)
{
	FIXTURE_DATA(rdma) *self = arg;
	struct rds_iovec iov = { (uintptr_t)self->local, 4 * self->page };
	struct rds_msg_out m;
	int i;

	memset(self->local, 0x66, iov.bytes);
	for (i = 0; i < LAST_WRITES; i++) {
		msg_init(&m, &self->p.rx_addr, "", 0);
		msg_rdma(&m, self->cookie, 0, iov.bytes, &iov, 1, WRITE | RDS_RDMA_NOTIFY_ME, i);
		if (msg_send(self->p.tx, &m, 0))
			return 1;
	}
	return 0;
}

/* The last to know the process is the end of an operation, in an interrupt: where its memory's end is not allowed. */
TEST_F(rdma, process_is_gone_before_its_writes)
{
	uint64_t token;
	int i;

	ASSERT_EQ(0, in_child(write_and_leave, self));
	for (i = 0; i < LAST_WRITES; i++) {
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
		EXPECT_EQ(i, token);
	}
	EXPECT_TRUE(all_bytes(self->remote, 4 * self->page, 0x66));
}

TEST_F(rdma, unmapped_while_registered)
{
	size_t len = 4 * self->page;

	ASSERT_EQ(0, munmap(self->remote, len));
	ASSERT_EQ(self->remote, mmap(self->remote, len, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	/* the key goes on to mean the old pages */
	memset(self->local, 0x55, len);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
					     self->local, len, WRITE));
	EXPECT_TRUE(all_bytes(self->remote, len, 0));
	memset(self->local, 0, len);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
					     self->local, len, READ));
	EXPECT_TRUE(all_bytes(self->local, len, 0x55));
}

/* --- two processes: the talk's example --- */

/* A server that writes a text into what the request's cookie names, and says OK. */
static int serve_one(void *arg)
{
	const struct rds_pair *p = arg;
	struct rds_iovec iov = { (uintptr_t)"hello by rdma", 13 };
	struct rds_msg_out m;
	struct rds_msg_in in;
	char request[64];

	if (rds_recv_wait(p->tx, request, sizeof(request), &in) != 3 || !in.has_dest)
		return 1;
	msg_init(&m, &in.from, "OK", 2);
	msg_rdma(&m, in.dest, 0, 13, &iov, 1, WRITE | RDS_RDMA_NOTIFY_ME, 9);
	if (msg_send(p->tx, &m, 0) != 2)
		return 2;
	return rdma_status(p->tx, NULL) == RDS_RDMA_SUCCESS ? 0 : 3;
}

TEST_F(rdma, request_maps_and_server_writes)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local + 3, 100 } };
	rds_rdma_cookie_t cookie = 0;
	struct rds_msg_out m;
	int status;
	char ok[8];
	pid_t pid;

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(serve_one(&self->p));
	map.cookie_addr = (uintptr_t)&cookie;
	map.flags = WRITE | RDS_RDMA_USE_ONCE;
	msg_init(&m, &self->p.tx_addr, "GET", 3);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	ASSERT_EQ(3, msg_send(self->p.rx, &m, 0));
	EXPECT_NE(0, cookie);
	ASSERT_EQ(2, rds_recv_wait(self->p.rx, ok, sizeof(ok), NULL));
	/* the message is readable only after the bytes are in place */
	EXPECT_EQ(0, memcmp(self->local, "\0\0\0hello by rdma\0", 17));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* used once, it is gone */
	EXPECT_EQ(-EINVAL, free_mr(self->p.rx, cookie));
}

TEST_F(rdma, abi6_abi7_dest_brings_the_cookie)
{
	struct rds_msg_out m;
	struct rds_msg_in in;
	char c;

	msg_init(&m, &self->p.tx_addr, "d", 1);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &self->cookie, sizeof(self->cookie));
	ASSERT_EQ(1, msg_send(self->p.rx, &m, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, &in));
	ASSERT_TRUE(in.has_dest);
	EXPECT_EQ(self->cookie, in.dest);
	/* a message without one has none */
	ASSERT_EQ(1, rds_send(self->p.rx, &self->p.tx_addr, "n", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, &in));
	EXPECT_FALSE(in.has_dest);
}

TEST_F(rdma, abi6_map_cookie_is_stored_and_sent)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local, 10 }, .flags = WRITE };
	rds_rdma_cookie_t cookie = 0;
	struct rds_msg_out m;
	struct rds_msg_in in;

	map.cookie_addr = (uintptr_t)&cookie;
	msg_init(&m, &self->p.tx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	ASSERT_EQ(0, msg_send(self->p.rx, &m, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.tx, NULL, 0, &in));
	ASSERT_TRUE(in.has_dest);
	EXPECT_EQ(cookie, in.dest);
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
}

/* A cookie is a number: it may travel as payload, and through another socket. */
TEST_F(rdma, cookie_as_payload)
{
	rds_rdma_cookie_t got;

	ASSERT_EQ(sizeof(got), rds_send(self->p.rx, &self->p.tx_addr, &self->cookie, sizeof(got), 0));
	ASSERT_EQ(sizeof(got), rds_recv_wait(self->p.tx, &got, sizeof(got), NULL));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, got, 5, "five", 4, WRITE));
	EXPECT_EQ(0, memcmp(self->remote + 5, "five", 4));
}

/* --- messages and notifications --- */

static ssize_t write_with_payload(FIXTURE_DATA(rdma) *self, const char *local, size_t len,
				  uint64_t flags, uint64_t token, const char *payload)
{
	struct rds_iovec iov = { (uintptr_t)local, len };
	struct rds_msg_out m;

	msg_init(&m, &self->p.rx_addr, payload, strlen(payload));
	msg_rdma(&m, self->cookie, 0, len, &iov, 1, WRITE | flags, token);
	return msg_send(self->p.tx, &m, 0);
}

TEST_F_TIMEOUT(rdma, message_follows_its_write, RDS_SLOW_TEST)
{
	unsigned int i;
	char c;

	for (i = 1; i < 100; i++) {
		memset(self->local, i, 30000);
		ASSERT_EQ(1, write_with_payload(self, self->local, 30000, 0, 0, "m"));
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
		ASSERT_TRUE(all_bytes(self->remote, 30000, i));
		/* wait until the source may be reused: nothing but the reply tells */
		ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie,
						     self->page * 10, "s", 1, WRITE));
	}
}

TEST_F_TIMEOUT(rdma, abi7_notifications_once_each_in_order, RDS_SLOW_TEST)
{
	uint64_t token = 0;
	int i, next = 0;
	char c;

	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, write_with_payload(self, self->local, 100 + i, RDS_RDMA_NOTIFY_ME,
						1000 + i, "n"));
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
		if (i % 10 != 9)
			continue;
		while (next <= i) {
			ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
			ASSERT_EQ(1000 + next++, token);
		}
	}
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

/* The notification stands for the operation and its message: the peer has both. */
TEST_F_TIMEOUT(rdma, D23_notified_behind_the_message, RDS_SLOW_TEST)
{
	uint64_t token = 0;
	int i;
	char c;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, write_with_payload(self, self->local, 5000, RDS_RDMA_NOTIFY_ME, i, "n"));
		ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
		ASSERT_EQ(i, token);
		ASSERT_EQ(1, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
		ASSERT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
	}
}

TEST_F(rdma, token_is_64_bits)
{
	uint64_t token = 0;

	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "t", 1,
			     WRITE | RDS_RDMA_NOTIFY_ME, 0xfedcba9876543210ULL));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(0xfedcba9876543210ULL, token);
}

TEST_F(rdma, abi6_no_notification_unless_asked)
{
	uint64_t token = 0;

	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "a", 1, WRITE, 1));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "b", 1,
			     WRITE | RDS_RDMA_NOTIFY_ME, 2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(2, token);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

TEST_F(rdma, abi15_notifications_go_with_their_socket)
{
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, self->local, 1,
			     WRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 9));
	ASSERT_EQ(POLLIN, ready(self->p.tx, POLLIN, RDS_WAIT_MS));
	close(self->p.tx);
	self->p.tx = open_bound(_metadata, &self->p.tx_addr);
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
}

TEST_F(rdma, recverr_is_silent_about_success)
{
	uint64_t token = 0;
	int on = 1;

	ASSERT_EQ(0, set_opt(self->p.tx, RDS_RECVERR, &on, sizeof(on)));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "a", 1, WRITE, 1));
	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "b", 1,
			     WRITE | RDS_RDMA_NOTIFY_ME, 2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(2, token);
}

TEST_F(rdma, abi6_silent_sends_no_message)
{
	char c = 0;

	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0, "s", 1,
					     WRITE));
	EXPECT_EQ('s', self->remote[0]);
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('x', c);
}

TEST_F(rdma, abi6_silent_with_payload_is_a_message)
{
	char c = 0;

	ASSERT_EQ(1, write_with_payload(self, "w", 1, RDS_RDMA_SILENT, 0, "p"));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('p', c);
	EXPECT_EQ('w', self->remote[0]);
}

TEST_F(rdma, abi6_without_payload_an_empty_message)
{
	struct rds_msg_in in;
	char c = 0;

	ASSERT_EQ(0, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, "e", 1, WRITE, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &in.from));
	EXPECT_EQ('e', self->remote[0]);
}

TEST_F(rdma, abi6_fence_orders_a_write_behind_a_read)
{
	struct rds_iovec iov;
	struct rds_msg_out m;
	int i;

	for (i = 0; i < 20; i++) {
		memset(self->remote, i, 50000);
		memset(self->local, 0xee, 100000);
		/* the write destroys what the read is to fetch */
		iov = (struct rds_iovec){ (uintptr_t)self->local, 50000 };
		msg_init(&m, &self->p.rx_addr, NULL, 0);
		msg_rdma(&m, self->cookie, 0, 50000, &iov, 1, READ | RDS_RDMA_SILENT, 0);
		ASSERT_EQ(0, msg_send(self->p.tx, &m, 0));
		ASSERT_EQ(RDS_RDMA_SUCCESS,
			  rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0,
				   self->local + 50000, 50000, WRITE | RDS_RDMA_FENCE));
		EXPECT_TRUE(all_bytes(self->local, 50000, i));
		EXPECT_TRUE(all_bytes(self->remote, 50000, 0xee));
	}
}

/* --- use-once --- */

TEST_F(rdma, abi6_use_once_is_good_for_one_operation)
{
	long pinned = pinned_bytes();
	rds_rdma_cookie_t cookie;
	char c;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, 100, WRITE | RDS_RDMA_USE_ONCE, &cookie));
	self->cookie = cookie;
	ASSERT_EQ(1, write_with_payload(self, "1", 1, 0, 0, "m"));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('1', self->remote[0]);
	EXPECT_EQ(-EINVAL, free_mr(self->p.rx, cookie));
	EXPECT_TRUE(pinned_settles_at(pinned));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  rdma_run(self->p.tx, &self->p.rx_addr, cookie, 0, "2", 1, WRITE));
	EXPECT_EQ('1', self->remote[0]);
}

TEST_F(rdma, abi6_use_once_unused_can_be_freed)
{
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, 100, WRITE | RDS_RDMA_USE_ONCE, &cookie));
	EXPECT_EQ(0, free_mr(self->p.rx, cookie));
}

/* --- D18: a key that is freed while something else uses it up --- */

struct freer {
	int			fd;
	rds_rdma_cookie_t	cookie;
	pthread_barrier_t	start;
	int			result;
	pthread_t		thread;
};

static void *free_it(void *arg)
{
	struct freer *f = arg;

	pthread_barrier_wait(&f->start);
	f->result = free_mr(f->fd, f->cookie);
	return NULL;
}

static void freer_start(struct __test_metadata *_metadata, struct freer *f, int fd,
			rds_rdma_cookie_t cookie)
{
	*f = (struct freer){ .fd = fd, .cookie = cookie };
	pthread_barrier_init(&f->start, NULL, 2);
	ASSERT_EQ(0, pthread_create(&f->thread, NULL, free_it, f));
	pthread_barrier_wait(&f->start);
}

TEST_F_TIMEOUT(rdma, D18_free_against_use_once, RDS_SLOW_TEST)
{
	long pinned = pinned_bytes();
	rds_rdma_cookie_t cookie;
	struct freer f;
	int i, status;
	char c;

	for (i = 0; i < 60; i++) {
		self->remote[0] = 0;
		ASSERT_EQ(0, get_mr(self->p.rx, self->remote, 100, WRITE | RDS_RDMA_USE_ONCE,
				    &cookie));
		self->cookie = cookie;
		freer_start(_metadata, &f, self->p.rx, cookie);
		ASSERT_EQ(1, write_with_payload(self, "1", 1, RDS_RDMA_NOTIFY_ME, i, "m"));
		status = rdma_status(self->p.tx, NULL);
		pthread_join(f.thread, NULL);
		ASSERT_TRUE(f.result == 0 || f.result == -EINVAL);
		ASSERT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_REMOTE_ERROR) {
			TH_LOG("round %d: status %d", i, status);
		}
		/* both may have been in time; if neither was, somebody lied */
		ASSERT_FALSE(f.result == -EINVAL && status != RDS_RDMA_SUCCESS);
		ASSERT_EQ(status == RDS_RDMA_SUCCESS ? '1' : 0, self->remote[0]);
		ASSERT_EQ(-EINVAL, free_mr(self->p.rx, cookie));
		ASSERT_TRUE(pinned_settles_at(pinned));
	}
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	do {
		ASSERT_LE(0, rds_recv_wait(self->p.rx, &c, 1, NULL));
	} while (c != 'k');
}

TEST_F_TIMEOUT(rdma, D18_free_against_sending_it, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t cookie;
	struct rds_msg_out m;
	struct rds_msg_in in;
	struct freer f;
	ssize_t n;
	char c;
	int i;

	for (i = 0; i < rds_rounds(200); i++) {
		ASSERT_EQ(0, get_mr(self->p.rx, self->remote, 100, WRITE, &cookie));
		freer_start(_metadata, &f, self->p.rx, cookie);
		msg_init(&m, &self->p.tx_addr, "d", 1);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
		n = msg_send(self->p.rx, &m, 0);
		pthread_join(f.thread, NULL);
		ASSERT_EQ(0, f.result);
		ASSERT_TRUE(n == 1 || n == -EINVAL);
		if (n == 1) {
			ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, &in));
			ASSERT_EQ(cookie, in.dest);
		}
	}
}

/* --- D35: to one's own address --- */

TEST_F(rdma, D35_own_address)
{
	union rds_addr peer = addr_with_port(&self->p.rx_addr, 0);
	union rds_addr ping = addr_with_port(&self->p.rx_addr, 0);
	int status, fd = open_bound(_metadata, &peer);
	struct rds_msg_in in;
	char c = 0;

	/* data and ping, to another socket on the address and to the very same socket */
	ASSERT_EQ(1, rds_send(fd, &self->p.rx_addr, "d", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&peer, &in.from));
	ASSERT_EQ(1, rds_send(fd, &peer, "s", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(fd, &c, 1, &in));
	EXPECT_EQ('s', c);
	ASSERT_EQ(0, rds_send(fd, &ping, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(fd, &c, 1, &in));
	EXPECT_TRUE(addr_equal(&ping, &in.from));

	/* operations work or are refused, in the call */
	status = rdma_run(fd, &self->p.rx_addr, self->cookie, 0, "w", 1, WRITE);
	EXPECT_TRUE(status == RDS_RDMA_SUCCESS || status == -EOPNOTSUPP) {
		TH_LOG("status %d", status);
	}
	if (status == RDS_RDMA_SUCCESS) {
		EXPECT_EQ('w', self->remote[0]);
		EXPECT_EQ(RDS_RDMA_SUCCESS,
			  rdma_run(fd, &self->p.rx_addr, self->cookie, 0, &c, 1, READ));
		EXPECT_EQ('w', c);
	}
	close(fd);
}

TEST_HARNESS_MAIN
