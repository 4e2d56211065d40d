// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 6: control messages that a program sends; what they refuse. */
#include "rds_test.h"

#define PIECE	16

/* A connected pair, a registered page at the receiver, and one local range. */
FIXTURE(cmsg) {
	struct rds_pair		p;
	char			*remote;
	rds_rdma_cookie_t	cookie;
	char			*local;
	struct rds_iovec	iov;
	struct rds_msg_out	m;
	long			pinned;
};
RDS_BED_VARIANTS(cmsg);

FIXTURE_SETUP(cmsg)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->remote = map_guarded(_metadata, page_size());
	self->local = map_guarded(_metadata, page_size());
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, page_size(), RDS_RDMA_READWRITE,
			    &self->cookie));
	self->iov = (struct rds_iovec){ (uintptr_t)self->local, PIECE };
	self->pinned = pinned_bytes();
	msg_init(&self->m, &self->p.rx_addr, "x", 1);
}

FIXTURE_TEARDOWN(cmsg)
{
	pair_close(&self->p);
}

/* Nothing was sent, nothing is left pinned, and the socket works. */
static void expect_no_effect(struct __test_metadata *_metadata, FIXTURE_DATA(cmsg) *self)
{
	char c = 0;

	EXPECT_EQ(self->pinned, pinned_bytes());
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
	EXPECT_TRUE(all_bytes(self->remote, page_size(), 0));
}

static const struct {
	int	type;
	size_t	size;
} sendable[] = {
	{ RDS_CMSG_RDMA_ARGS, sizeof(struct rds_rdma_args) },
	{ RDS_CMSG_RDMA_DEST, sizeof(rds_rdma_cookie_t) },
	{ RDS_CMSG_RDMA_MAP, sizeof(struct rds_get_mr_args) },
	{ RDS_CMSG_ATOMIC_FADD, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_ATOMIC_CSWP, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_MASKED_ATOMIC_FADD, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_MASKED_ATOMIC_CSWP, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_ZCOPY_COOKIE, sizeof(__u32) },
};

/* --- D08: every type, every wrong length, each alone and behind a good one --- */

static const size_t CUT = 1000;		/* struct size - 1 */
static const size_t HUGE_LEN = 2000;	/* reaches past the control buffer */

static ssize_t send_wrong_length(FIXTURE_DATA(cmsg) *self, unsigned int i, size_t len, bool behind)
{
	char data[128] = "";
	struct cmsghdr *cmsg;
	int value = 0;

	msg_init(&self->m, &self->p.rx_addr, "x", 1);
	if (behind)
		msg_cmsg(&self->m, SOL_SOCKET, 77, &value, sizeof(value));
	cmsg = msg_cmsg(&self->m, SOL_RDS, sendable[i].type, data, sendable[i].size);
	if (len == CUT)
		cmsg->cmsg_len = CMSG_LEN(sendable[i].size - 1);
	else if (len == HUGE_LEN)
		cmsg->cmsg_len = 1 << 20;
	else
		cmsg->cmsg_len = len;
	return msg_send(self->p.tx, &self->m, 0);
}

TEST_F(cmsg, D08_wrong_lengths)
{
	const size_t lengths[] = { 0, 1, sizeof(struct cmsghdr) - 1, CMSG_LEN(0), CMSG_LEN(1),
				   CUT, HUGE_LEN };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sendable); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			EXPECT_EQ(-EINVAL, send_wrong_length(self, i, lengths[j], false)) {
				TH_LOG("type %d, length %zu", sendable[i].type, lengths[j]);
			}
			EXPECT_EQ(-EINVAL, send_wrong_length(self, i, lengths[j], true)) {
				TH_LOG("type %d, length %zu", sendable[i].type, lengths[j]);
			}
		}
	}
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, D08_buffer_ends_at_unmapped_page)
{
	size_t page = page_size(), len;
	char *end = (char *)map_guarded(_metadata, page) + page;
	struct cmsghdr *cmsg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sendable); i++) {
		/* the header is readable and promises more than there is */
		len = CMSG_SPACE(sendable[i].size);
		cmsg = (void *)(end - sizeof(*cmsg));
		*cmsg = (struct cmsghdr){ .cmsg_len = len, .cmsg_level = SOL_RDS,
					  .cmsg_type = sendable[i].type };
		msg_init(&self->m, &self->p.rx_addr, "x", 1);
		self->m.hdr.msg_control = cmsg;
		self->m.hdr.msg_controllen = len;
		EXPECT_EQ(-EFAULT, msg_send(self->p.tx, &self->m, 0));
		self->m.hdr.msg_controllen = sizeof(*cmsg);
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &self->m, 0));
	}
	expect_no_effect(_metadata, self);
}

/* What stands before a bad one has had no effect, either. */
TEST_F(cmsg, D08_wrong_length_behind_a_map)
{
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)self->local, PIECE }, .flags = RDS_RDMA_READWRITE,
	};
	rds_rdma_cookie_t cookie = 0;
	unsigned int i;

	map.cookie_addr = (uintptr_t)&cookie;
	for (i = 0; i < ARRAY_SIZE(sendable); i++) {
		msg_init(&self->m, &self->p.rx_addr, "x", 1);
		msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
		msg_cmsg(&self->m, SOL_RDS, sendable[i].type, &map, sendable[i].size - 1);
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &self->m, 0)) {
			TH_LOG("type %d", sendable[i].type);
		}
	}
	EXPECT_EQ(0, cookie);
	expect_no_effect(_metadata, self);
}

/* A message with one control message that is @more bytes longer than its struct. */
static ssize_t send_longer(FIXTURE_DATA(cmsg) *self, int type, const void *data, size_t len, size_t more)
{
	char padded[128];

	memset(padded, 0x5a, sizeof(padded));
	memcpy(padded, data, len);
	msg_init(&self->m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&self->m, SOL_RDS, type, padded, len + more);
	return msg_send(self->p.tx, &self->m, 0);
}

/* The cookie that came with the next message. */
static rds_rdma_cookie_t next_dest(struct __test_metadata *_metadata, FIXTURE_DATA(cmsg) *self)
{
	struct rds_msg_in in;
	char c;

	EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	EXPECT_TRUE(in.has_dest);
	return in.dest;
}

static const size_t longer_by[] = { 1, 8, 24 };

TEST_F(cmsg, abi6_longer_than_needed_is_accepted)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local, PIECE } };
	rds_rdma_cookie_t own, sent;
	unsigned int i;

	ASSERT_EQ(0, get_mr(self->p.tx, self->local, PIECE, 0, &own));
	map.cookie_addr = (uintptr_t)&sent;
	for (i = 0; i < ARRAY_SIZE(longer_by); i++) {
		ASSERT_EQ(1, send_longer(self, RDS_CMSG_RDMA_DEST, &own, sizeof(own), longer_by[i]));
		EXPECT_EQ(own, next_dest(_metadata, self));
		sent = 0;
		ASSERT_EQ(1, send_longer(self, RDS_CMSG_RDMA_MAP, &map, sizeof(map), longer_by[i]));
		EXPECT_EQ(sent, next_dest(_metadata, self));
		EXPECT_EQ(0, free_mr(self->p.tx, sent));
	}
	EXPECT_EQ(0, free_mr(self->p.tx, own));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi6_longer_operations_are_accepted)
{
	struct rds_rdma_args rdma = {
		.cookie = self->cookie, .remote_vec = { 0, PIECE },
		.local_vec_addr = (uintptr_t)&self->iov, .nr_local = 1,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME,
	};
	struct rds_atomic_args atomic = {
		.cookie = self->cookie, .remote_addr = 64, .flags = RDS_RDMA_NOTIFY_ME,
	};
	uint64_t *old = map_guarded(_metadata, 8);
	uint64_t *word = (uint64_t *)(self->remote + 64);
	unsigned int i;
	char c;

	atomic.local_addr = (uintptr_t)old;
	for (i = 0; i < ARRAY_SIZE(longer_by); i++) {
		memset(self->local, 0x21 + i, PIECE);
		ASSERT_EQ(1, send_longer(self, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma), longer_by[i]));
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
		EXPECT_TRUE(all_bytes(self->remote, PIECE, 0x21 + i));

		*word = 40;
		atomic.fadd.add = 2;
		ASSERT_EQ(1, send_longer(self, RDS_CMSG_ATOMIC_FADD, &atomic, sizeof(atomic), longer_by[i]));
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
		EXPECT_EQ(40, *old);
		atomic.cswp.compare = 42;
		atomic.cswp.swap = 7;
		ASSERT_EQ(1, send_longer(self, RDS_CMSG_ATOMIC_CSWP, &atomic, sizeof(atomic), longer_by[i]));
		EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
		EXPECT_EQ(42, *old);
		EXPECT_EQ(7, *word);
	}
	for (i = 0; i < 3 * ARRAY_SIZE(longer_by); i++)
		EXPECT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_TRUE(pinned_settles_at(self->pinned));
}

/* --- types --- */

TEST_F(cmsg, abi6_types_nobody_sends)
{
	static const int types[] = { 0, RDS_CMSG_RDMA_STATUS, RDS_CMSG_CONG_UPDATE,
				     RDS_CMSG_RXPATH_LATENCY, RDS_CMSG_ZCOPY_COMPLETION,
				     14, 99, -1 };
	char data[64] = "";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		msg_init(&self->m, &self->p.rx_addr, "x", 1);
		msg_cmsg(&self->m, SOL_RDS, types[i], data, sizeof(data));
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &self->m, 0)) {
			TH_LOG("type %d", types[i]);
		}
	}
	expect_no_effect(_metadata, self);
}

static void add_args(FIXTURE_DATA(cmsg) *self)
{
	msg_rdma(&self->m, self->cookie, 0, PIECE, &self->iov, 1, RDS_RDMA_READWRITE, 0);
}

static void add_dest(FIXTURE_DATA(cmsg) *self)
{
	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_DEST, &self->cookie, sizeof(self->cookie));
}

static void add_map(FIXTURE_DATA(cmsg) *self)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local, PIECE } };

	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
}

static void add_atomic(FIXTURE_DATA(cmsg) *self)
{
	struct rds_atomic_args args = { .cookie = self->cookie, .local_addr = (uintptr_t)self->local };

	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
}

static void add_zcopy(FIXTURE_DATA(cmsg) *self)
{
	uint32_t cookie = 7;

	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
}

TEST_F(cmsg, abi5_13_abi6_one_of_each_at_most)
{
	void (*const bad[][2])(FIXTURE_DATA(cmsg) *) = {
		{ add_args, add_args }, { add_dest, add_dest }, { add_map, add_map },
		{ add_dest, add_map }, { add_map, add_dest },
		/* row 13: one says where the peer may work, the other works itself */
		{ add_args, add_dest }, { add_dest, add_args },
		{ add_args, add_map }, { add_map, add_args },
		{ add_atomic, add_dest }, { add_dest, add_atomic },
		{ add_atomic, add_map }, { add_map, add_atomic },
		{ add_args, add_zcopy }, { add_zcopy, add_args },
		{ add_atomic, add_zcopy }, { add_zcopy, add_atomic },
	};
	unsigned int i;

	memset(self->local, 0x11, PIECE);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		msg_init(&self->m, &self->p.tx_addr, "x", 1);
		bad[i][0](self);
		bad[i][1](self);
		EXPECT_EQ(-EINVAL, msg_send(self->p.rx, &self->m, 0)) {
			TH_LOG("combination %u", i);
		}
	}
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi6_dest_must_be_own_key)
{
	rds_rdma_cookie_t none = self->cookie ^ 0xff00;

	/* the key belongs to the other socket */
	add_dest(self);
	EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &self->m, 0));
	msg_init(&self->m, &self->p.tx_addr, "x", 1);
	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_DEST, &none, sizeof(none));
	EXPECT_EQ(-EINVAL, msg_send(self->p.rx, &self->m, 0));
	expect_no_effect(_metadata, self);
}

/* The key must be one's own; the offset is what the sender says, and its peer's to go by. */
TEST_F(cmsg, abi6_dest_offset_is_the_senders)
{
	rds_rdma_cookie_t further = self->cookie + (8ULL << 32);
	struct rds_msg_in in;
	char c;

	msg_init(&self->m, &self->p.tx_addr, "x", 1);
	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_DEST, &further, sizeof(further));
	ASSERT_EQ(1, msg_send(self->p.rx, &self->m, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, &in));
	ASSERT_TRUE(in.has_dest);
	EXPECT_EQ(further, in.dest);
	memset(self->local, 0x22, PIECE);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, in.dest, 0, self->local,
					     PIECE, RDS_RDMA_READWRITE));
	EXPECT_TRUE(all_bytes(self->remote, 8, 0));
	EXPECT_TRUE(all_bytes(self->remote + 8, PIECE, 0x22));
}

/* --- D09: arithmetic of local ranges --- */

static ssize_t send_ranges(FIXTURE_DATA(cmsg) *self, const struct rds_iovec *iov, uint64_t nr,
			   uint64_t remote)
{
	msg_init(&self->m, &self->p.rx_addr, "x", 1);
	msg_rdma(&self->m, self->cookie, 0, remote, iov, nr, RDS_RDMA_READWRITE, 0);
	return msg_send(self->p.tx, &self->m, 0);
}

TEST_F(cmsg, abi5_10_D09_range_wraps)
{
	struct rds_iovec iov = { -(uint64_t)page_size(), 2 * page_size() };

	EXPECT_EQ(-EINVAL, send_ranges(self, &iov, 1, 2 * page_size()));
	iov = (struct rds_iovec){ UINT64_MAX, 2 };
	EXPECT_EQ(-EINVAL, send_ranges(self, &iov, 1, 2));
	iov = (struct rds_iovec){ (uintptr_t)self->local, UINT64_MAX };
	EXPECT_EQ(-EINVAL, send_ranges(self, &iov, 1, PIECE));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi5_10_D09_range_empty)
{
	struct rds_iovec iov[2] = { self->iov, self->iov };

	iov[1].bytes = 0;
	EXPECT_EQ(-EINVAL, send_ranges(self, iov, 2, PIECE));
	EXPECT_EQ(-EINVAL, send_ranges(self, iov + 1, 1, PIECE));
	EXPECT_EQ(-EINVAL, send_ranges(self, iov + 1, 1, 0));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi5_10_D09_ranges_of_4G)
{
	static struct rds_iovec iov[1024];
	unsigned int i;
	ssize_t n;

	iov[0] = (struct rds_iovec){ (uintptr_t)self->local, 0xffffffff };
	n = send_ranges(self, iov, 1, PIECE);
	EXPECT_TRUE(n == -EINVAL || n == -EMSGSIZE);
	iov[0].bytes = 1ULL << 32;
	EXPECT_EQ(-EINVAL, send_ranges(self, iov, 1, PIECE));
	/* page counts that add up to more than an int holds */
	for (i = 0; i < 1024; i++)
		iov[i] = (struct rds_iovec){ 0x10000, 0xfffff000 };
	n = send_ranges(self, iov, 1024, RDS_MAX_MSG);
	EXPECT_TRUE(n == -EINVAL || n == -EMSGSIZE);
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi5_10_abi16_D09_number_of_ranges)
{
	EXPECT_EQ(-EINVAL, send_ranges(self, &self->iov, 0, PIECE));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1025, PIECE));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1ULL << 32, PIECE));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1ULL << 63, PIECE));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, (1ULL << 32) + 1, PIECE));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi6_local_more_than_remote)
{
	struct rds_iovec iov[2] = { self->iov, self->iov };

	EXPECT_EQ(-EINVAL, send_ranges(self, &self->iov, 1, PIECE - 1));
	EXPECT_EQ(-EINVAL, send_ranges(self, iov, 2, 2 * PIECE - 1));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, abi5_7_remote_more_than_1M)
{
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1, RDS_MAX_MSG + 1));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1, UINT64_MAX));
	EXPECT_EQ(-EMSGSIZE, send_ranges(self, &self->iov, 1, 1ULL << 32));
	expect_no_effect(_metadata, self);
}

/* --- D11, D24: faults of what a control message points to --- */

TEST_F(cmsg, abi5_10_D24_vector_or_range_not_mapped)
{
	size_t page = page_size();
	char *hole = unmapped_page(_metadata), *two = map_guarded(_metadata, 2 * page);
	struct rds_iovec iov[2] = { self->iov, self->iov }, *cut;

	EXPECT_EQ(-EFAULT, send_ranges(self, (void *)hole, 1, PIECE));
	EXPECT_EQ(-EFAULT, send_ranges(self, NULL, 1, PIECE));
	EXPECT_EQ(-EFAULT, send_ranges(self, (void *)KERNEL_ADDR, 1, PIECE));
	/* a vector of two that is cut by the end of a mapping */
	cut = (struct rds_iovec *)(two + 2 * page) - 1;
	*cut = self->iov;
	EXPECT_EQ(-EFAULT, send_ranges(self, cut, 2, 2 * PIECE));

	iov[1].addr = (uintptr_t)hole;
	EXPECT_EQ(-EFAULT, send_ranges(self, iov, 2, 2 * PIECE));
	iov[1].addr = KERNEL_ADDR;
	EXPECT_EQ(-EFAULT, send_ranges(self, iov, 2, 2 * PIECE));
	/* the second page of a range is missing */
	ASSERT_EQ(0, mprotect(two + page, page, PROT_NONE));
	iov[1] = (struct rds_iovec){ (uintptr_t)two + page - 1, 2 };
	EXPECT_EQ(-EFAULT, send_ranges(self, iov, 2, 2 * PIECE));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, D24_read_into_read_only_memory)
{
	size_t page = page_size();
	char *ro = map_guarded(_metadata, page);

	ASSERT_EQ(0, mprotect(ro, page, PROT_READ));
	EXPECT_EQ(-EFAULT, rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, ro, PIECE, 0, 0));
	EXPECT_TRUE(all_bytes(ro, page, 0));
	expect_no_effect(_metadata, self);
}

/* Faults that come and go while the call is at it. */
TEST_F_TIMEOUT(cmsg, D24_range_unmapped_meanwhile, RDS_SLOW_TEST)
{
	char *page = map_guarded(_metadata, page_size());
	struct rds_flicker f;
	int i, err;

	flicker_start(_metadata, &f, page);
	for (i = 0; i < 500; i++) {
		err = rdma_op(self->p.tx, &self->p.rx_addr, self->cookie, 0, page, PIECE,
			      (i % 2 ? RDS_RDMA_READWRITE : 0) | RDS_RDMA_SILENT, 0);
		ASSERT_TRUE(err == 0 || err == -EFAULT) {
			TH_LOG("sendmsg: %s", strerror(-err));
		}
	}
	flicker_stop(&f);
	EXPECT_TRUE(pinned_settles_at(self->pinned));
	expect_no_effect(_metadata, self);
}

/* --- D57: what was pinned for a message that is then not sent --- */

/* @name: what goes wrong.  An operation and its key must be as if they had never been. */
static void expect_op_fails(struct __test_metadata *_metadata, FIXTURE_DATA(cmsg) *self, int err,
			    const char *name)
{
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)self->local, PIECE }, .flags = RDS_RDMA_READWRITE,
	};
	struct rds_msg_out m;
	int i;

	for (i = 0; i < 20; i++) {
		msg_init(&m, &self->p.rx_addr, "x", 1);
		msg_rdma(&m, self->cookie, 0, PIECE, &self->iov, 1,
			 RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 5);
		ASSERT_EQ(err, msg_send(self->p.tx, &m, MSG_DONTWAIT)) {
			TH_LOG("operation: %s", name);
		}
		msg_init(&m, &self->p.rx_addr, "x", 1);
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
		ASSERT_EQ(err, msg_send(self->p.tx, &m, MSG_DONTWAIT)) {
			TH_LOG("map: %s", name);
		}
	}
	EXPECT_EQ(self->pinned, pinned_bytes());
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, NULL, 0, MSG_DONTWAIT, NULL));
	EXPECT_TRUE(all_bytes(self->remote, page_size(), 0));
}

TEST_F_TIMEOUT(cmsg, D57_to_a_congested_port, RDS_SLOW_TEST)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char chunk[512] = "";
	ssize_t n;

	memset(self->local, 0x44, PIECE);
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, 4096);
	do {
		n = rds_send(self->p.tx, &self->p.rx_addr, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n == -EAGAIN)
			ready(self->p.tx, POLLOUT, 1000);
	} while (n != -ENOBUFS && now_ms() < end);
	ASSERT_EQ(-ENOBUFS, n);
	expect_op_fails(_metadata, self, -ENOBUFS, "congested");
}

TEST_F(cmsg, D57_with_bad_company)
{
	rds_rdma_cookie_t foreign = self->cookie ^ 0xff00;
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local, PIECE } };
	rds_rdma_cookie_t cookie = 0;
	int i;

	map.cookie_addr = (uintptr_t)&cookie;
	for (i = 0; i < 3; i++) {
		/* a good one, and then a bad one, of a kind that is looked at last */
		msg_init(&self->m, &self->p.rx_addr, "x", 1);
		if (i == 0) {
			add_args(self);
			msg_cmsg(&self->m, SOL_RDS, 99, &foreign, sizeof(foreign));
		} else if (i == 1) {
			msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
			msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_DEST, &foreign, sizeof(foreign));
		} else {
			msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
			msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &foreign, 4);
		}
		EXPECT_EQ(-EINVAL, msg_send(self->p.tx, &self->m, 0)) {
			TH_LOG("combination %d", i);
		}
	}
	EXPECT_EQ(0, cookie);
	expect_no_effect(_metadata, self);
}

/* Unreclaimable kernel memory of the whole VM, in KiB. */
static long slab_kib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SUnreclaim: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Enough that one vector of 64 entries lost per call is told from noise; the debug kernel has kmemleak. */
#define LEAK_ROUNDS	10000
#define LEAK_SLACK_KIB	8192

TEST_F_TIMEOUT(cmsg, D11_failed_sends_leak_nothing, RDS_SLOW_TEST)
{
	struct rds_iovec iov[64];
	long before;
	int i;

	for (i = 0; i < 64; i++)
		iov[i] = self->iov;
	before = slab_kib();
	for (i = 0; i < rds_rounds(LEAK_ROUNDS); i++) {
		ASSERT_EQ(-EFAULT, send_ranges(self, NULL, 64, 64 * PIECE));
		iov[63] = (struct rds_iovec){ (uintptr_t)self->local, 0 };
		ASSERT_EQ(-EINVAL, send_ranges(self, iov, 64, 64 * PIECE));
		iov[63] = (struct rds_iovec){ KERNEL_ADDR, PIECE };
		ASSERT_EQ(-EFAULT, send_ranges(self, iov, 64, 64 * PIECE));
	}
	EXPECT_LT(slab_kib() - before, LEAK_SLACK_KIB);
	expect_no_effect(_metadata, self);
}

/* --- D10: the vector changes while it is read --- */

#define DOUBLE_FETCHES	1000
#define FETCH_MAX	(256 * 1024)

struct changer {
	volatile struct rds_iovec	*iov;
	volatile bool			stop;
};

static void *change_vector(void *arg)
{
	struct changer *c = arg;
	uint64_t bytes = 1;

	while (!c->stop) {
		c->iov->bytes = bytes;
		bytes = bytes == 1 ? FETCH_MAX : 1;
	}
	return NULL;
}

TEST_F_TIMEOUT(cmsg, D10_double_fetch, RDS_SLOW_TEST)
{
	char *local = map_guarded(_metadata, FETCH_MAX);
	char *remote = map_guarded(_metadata, FETCH_MAX);
	struct rds_iovec iov = { (uintptr_t)local, 1 };
	struct changer c = { .iov = &iov };
	rds_rdma_cookie_t cookie;
	pthread_t thread;
	ssize_t n;
	char x;
	int i;

	memset(local, 0x77, FETCH_MAX);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, FETCH_MAX, RDS_RDMA_READWRITE, &cookie));
	self->pinned = pinned_bytes();
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_vector, &c));
	for (i = 0; i < rds_rounds(DOUBLE_FETCHES); i++) {
		msg_init(&self->m, &self->p.rx_addr, "x", 1);
		/* one of the two sizes is too much half of the time */
		msg_rdma(&self->m, cookie, 0, i % 2 ? 1 : FETCH_MAX, &iov, 1,
			 RDS_RDMA_READWRITE, 0);
		n = msg_send(self->p.tx, &self->m, 0);
		if (n == 1) {
			ASSERT_EQ(1, rds_recv_wait(self->p.rx, &x, 1, NULL));
			ASSERT_EQ(0x77, remote[0]);
			/* an operation of one byte never writes a second one */
			ASSERT_EQ(0, i % 2 ? remote[1] : 0);
		} else {
			ASSERT_TRUE(n == -EINVAL || n == -EMSGSIZE) {
				TH_LOG("sendmsg: %s", strerror(-n));
			}
		}
		memset(remote, 0, 2);
	}
	c.stop = true;
	pthread_join(thread, NULL);
	EXPECT_TRUE(pinned_settles_at(self->pinned));
	expect_no_effect(_metadata, self);
}

/* --- RDMA_MAP --- */

static ssize_t send_map(FIXTURE_DATA(cmsg) *self, uint64_t addr, uint64_t bytes, void *cookie_addr)
{
	struct rds_get_mr_args map = {
		.vec = { addr, bytes }, .cookie_addr = (uintptr_t)cookie_addr,
		.flags = RDS_RDMA_READWRITE,
	};

	msg_init(&self->m, &self->p.rx_addr, "x", 1);
	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	return msg_send(self->p.tx, &self->m, 0);
}

TEST_F(cmsg, D09_abi6_map_errors)
{
	uint64_t a = (uintptr_t)self->local;

	EXPECT_EQ(-EINVAL, send_map(self, UINT64_MAX, 2, NULL));
	EXPECT_EQ(-EINVAL, send_map(self, a, 0, NULL));
	EXPECT_EQ(-EMSGSIZE, send_map(self, a, 1ULL << 32, NULL));
	EXPECT_EQ(-EFAULT, send_map(self, (uintptr_t)unmapped_page(_metadata), 1, NULL));
	EXPECT_EQ(-EFAULT, send_map(self, KERNEL_ADDR, 1, NULL));
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, D16_map_cookie_fault)
{
	size_t page = page_size();
	char *ro = map_guarded(_metadata, page);
	void *hole = unmapped_page(_metadata);
	int i;

	ASSERT_EQ(0, mprotect(ro, page, PROT_READ));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(-EFAULT, send_map(self, (uintptr_t)self->local, PIECE, hole));
		ASSERT_EQ(-EFAULT, send_map(self, (uintptr_t)self->local, PIECE, ro));
		ASSERT_EQ(-EFAULT, send_map(self, (uintptr_t)self->local, PIECE,
					    (void *)KERNEL_ADDR));
	}
	expect_no_effect(_metadata, self);
}

TEST_F(cmsg, D16_map_cookie_inside_the_region)
{
	struct rds_msg_in in;
	char c;

	ASSERT_EQ(1, send_map(self, (uintptr_t)self->local, page_size(), self->local + 64));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
	ASSERT_TRUE(in.has_dest);
	EXPECT_EQ(0, memcmp(self->local + 64, &in.dest, sizeof(in.dest)));
	EXPECT_EQ(0, free_mr(self->p.tx, in.dest));
	expect_no_effect(_metadata, self);
}

/* Whether the cookie could be stored decides whether there is a message, and a key. */
TEST_F_TIMEOUT(cmsg, D16_map_cookie_unmapped_meanwhile, RDS_SLOW_TEST)
{
	void *page = map_guarded(_metadata, page_size());
	long regions = device_regions();
	struct rds_flicker f;
	struct rds_msg_in in;
	ssize_t n;
	char c;
	int i;

	flicker_start(_metadata, &f, page);
	for (i = 0; i < 300; i++) {
		n = send_map(self, (uintptr_t)self->local, PIECE, page);
		ASSERT_TRUE(n == 1 || n == -EFAULT) {
			TH_LOG("sendmsg: %s", strerror(-n));
		}
		if (n != 1)
			continue;
		ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, &in));
		ASSERT_TRUE(in.has_dest);
		ASSERT_EQ(0, free_mr(self->p.tx, in.dest));
	}
	flicker_stop(&f);
	EXPECT_EQ(regions, device_regions());
	expect_no_effect(_metadata, self);
}

/* Keys of this namespace that were made and are not revoked. */
static uint64_t live_keys(FIXTURE_DATA(cmsg) *self)
{
	return counter(self->p.tx, "mr_registered") - counter(self->p.tx, "mr_revoked");
}

TEST_F(cmsg, abi5_no_key_is_left_of_a_failed_send)
{
	struct rds_get_mr_args map = { .vec = { (uintptr_t)self->local, PIECE } };
	uint64_t registered = counter(self->p.tx, "mr_registered"), live = live_keys(self);
	rds_rdma_cookie_t cookie = 0;

	/* none is made for a payload that cannot be read */
	map.cookie_addr = (uintptr_t)&cookie;
	msg_init(&self->m, &self->p.rx_addr, unmapped_page(_metadata), 1);
	msg_cmsg(&self->m, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EFAULT, msg_send(self->p.tx, &self->m, 0));
	EXPECT_EQ(0, cookie);
	EXPECT_EQ(registered, counter(self->p.tx, "mr_registered"));
	/* one that was made, and cannot be told to its owner, is revoked */
	EXPECT_EQ(-EFAULT, send_map(self, (uintptr_t)self->local, PIECE, unmapped_page(_metadata)));
	EXPECT_EQ(registered + 1, counter(self->p.tx, "mr_registered"));
	EXPECT_EQ(live, live_keys(self));
	expect_no_effect(_metadata, self);
}

TEST_HARNESS_MAIN
