// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Atomics on a peer's 8 bytes: fetch and add, compare and swap, masked or not. */
#include "rds_test.h"

#define WRITE	RDS_RDMA_READWRITE
#define WORDS	64
#define AT	5	/* the word that is worked on */

/* tx works on words that rx has registered, of which the first one is not the first of its page. */
FIXTURE(atomic) {
	struct rds_pair		p;
	uint64_t		*remote;
	uint64_t		*local;
	rds_rdma_cookie_t	cookie;		/* of all words */
	struct rds_atomic_args	args;
};
FIXTURE_VARIANT(atomic) {
	enum rds_bed	bed;
	bool		self;		/* both ends have one address */
	bool		any_mask;	/* else devices' plain operations only */
};
FIXTURE_VARIANT_ADD(atomic, loop4) { .bed = BED_LOOP4, .any_mask = true };
FIXTURE_VARIANT_ADD(atomic, loop6) { .bed = BED_LOOP6, .any_mask = true };
FIXTURE_VARIANT_ADD(atomic, rxe) { .bed = BED_RXE };
FIXTURE_VARIANT_ADD(atomic, rxe6) { .bed = BED_RXE6 };
FIXTURE_VARIANT_ADD(atomic, rxe_self) { .bed = BED_RXE, .self = true };

FIXTURE_SETUP(atomic)
{
	size_t page = page_size();

	bed_need(_metadata, variant->bed, &self->p.tx_addr, &self->p.rx_addr);
	if (variant->self)
		self->p.rx_addr = self->p.tx_addr;
	self->p.tx = open_bound(_metadata, &self->p.tx_addr);
	self->p.rx = open_bound(_metadata, &self->p.rx_addr);
	self->remote = (void *)((char *)map_guarded(_metadata, 2 * page) + page - 24);
	self->local = map_guarded(_metadata, page);
	memset(self->remote, 0x33, WORDS * 8);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, WORDS * 8, WRITE, &self->cookie));
	self->args = (struct rds_atomic_args){
		.cookie = self->cookie, .local_addr = (uintptr_t)self->local,
		.remote_addr = AT * 8, .flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
		.user_token = 1,
	};
}

FIXTURE_TEARDOWN(atomic)
{
	pair_close(&self->p);
}

static ssize_t send_atomic(FIXTURE_DATA(atomic) *self, int type)
{
	struct rds_msg_out m;

	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, type, &self->args, sizeof(self->args));
	return msg_send(self->p.tx, &m, 0);
}

/* Run to the end: its status, or -errno. */
static int run_atomic(FIXTURE_DATA(atomic) *self, int type)
{
	ssize_t n = send_atomic(self, type);

	return n < 0 ? n : rdma_status(self->p.tx, NULL);
}

static int run_fadd(FIXTURE_DATA(atomic) *self, uint64_t add)
{
	self->args.fadd.add = add;
	return run_atomic(self, RDS_CMSG_ATOMIC_FADD);
}

static int run_cswp(FIXTURE_DATA(atomic) *self, uint64_t compare, uint64_t swap)
{
	self->args.cswp.compare = compare;
	self->args.cswp.swap = swap;
	return run_atomic(self, RDS_CMSG_ATOMIC_CSWP);
}

/* No byte but the word at AT was touched. */
static bool others_untouched(FIXTURE_DATA(atomic) *self)
{
	return all_bytes(self->remote, AT * 8, 0x33) &&
	       all_bytes(self->remote + AT + 1, (WORDS - AT - 1) * 8, 0x33);
}

/* The sockets are as good as new. */
static void expect_usable(struct __test_metadata *_metadata, FIXTURE_DATA(atomic) *self)
{
	char c = 0;

	self->args.local_addr = (uintptr_t)self->local;
	self->args.remote_addr = AT * 8;
	self->args.cookie = self->cookie;
	self->remote[AT] = 40;
	EXPECT_EQ(RDS_RDMA_SUCCESS, run_fadd(self, 2));
	EXPECT_EQ(42, self->remote[AT]);
	EXPECT_TRUE(others_untouched(self));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "k", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('k', c);
}

/* --- what they do --- */

TEST_F_TIMEOUT(atomic, abi5_18_abi6_fadd, RDS_SLOW_TEST)
{
	static const struct { uint64_t old, add, now; } rows[] = {
		{ 0, 1, 1 }, { 41, 1, 42 }, { 5, -5ULL, 0 }, { -1ULL, 1, 0 },
		{ 0x00000000ffffffff, 1, 0x0000000100000000 },
		{ 0x0123456789abcdef, 0x1111111111111111, 0x123456789abcdf00 },
		{ 1ULL << 63, 1ULL << 63, 0 }, { 77, 0, 77 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		self->remote[AT] = rows[i].old;
		self->local[0] = 0x5555;
		ASSERT_EQ(RDS_RDMA_SUCCESS, run_fadd(self, rows[i].add));
		EXPECT_EQ(rows[i].old, self->local[0]);
		EXPECT_EQ(rows[i].now, self->remote[AT]);
	}
	EXPECT_EQ(0, self->local[1]);
	EXPECT_TRUE(others_untouched(self));
}

TEST_F_TIMEOUT(atomic, abi6_cswp, RDS_SLOW_TEST)
{
	self->remote[AT] = 0x1122334455667788;
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_cswp(self, 0x1122334455667788, 9));
	EXPECT_EQ(0x1122334455667788, self->local[0]);
	EXPECT_EQ(9, self->remote[AT]);
	/* one that does not match tells what is there, and changes nothing */
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_cswp(self, 8, 7));
	EXPECT_EQ(9, self->local[0]);
	EXPECT_EQ(9, self->remote[AT]);
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_cswp(self, 9, -1ULL));
	EXPECT_EQ(-1ULL, self->remote[AT]);
	EXPECT_TRUE(others_untouched(self));
}

/* Masks that change nothing are honoured everywhere. */
TEST_F_TIMEOUT(atomic, abi6_masked_as_plain, RDS_SLOW_TEST)
{
	self->remote[AT] = 10;
	self->args.m_fadd.add = 5;
	self->args.m_fadd.nocarry_mask = 0;
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_atomic(self, RDS_CMSG_MASKED_ATOMIC_FADD));
	EXPECT_EQ(10, self->local[0]);
	EXPECT_EQ(15, self->remote[AT]);
	self->args.m_cswp.compare = 15;
	self->args.m_cswp.swap = 99;
	self->args.m_cswp.compare_mask = -1ULL;
	self->args.m_cswp.swap_mask = -1ULL;
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_atomic(self, RDS_CMSG_MASKED_ATOMIC_CSWP));
	EXPECT_EQ(15, self->local[0]);
	EXPECT_EQ(99, self->remote[AT]);
}

TEST_F_TIMEOUT(atomic, abi6_masked_add, RDS_SLOW_TEST)
{
	int expected = variant->any_mask ? RDS_RDMA_SUCCESS : -EOPNOTSUPP;

	/* two fields of 32 bits: no carry between them */
	self->remote[AT] = 0x00000001ffffffff;
	self->args.m_fadd.add = 0x0000000200000003;
	self->args.m_fadd.nocarry_mask = 0x8000000080000000;
	ASSERT_EQ(expected, run_atomic(self, RDS_CMSG_MASKED_ATOMIC_FADD));
	if (variant->any_mask) {
		EXPECT_EQ(0x00000001ffffffff, self->local[0]);
		EXPECT_EQ(0x0000000300000002, self->remote[AT]);
	} else {
		EXPECT_EQ(0x00000001ffffffff, self->remote[AT]);
	}
	expect_usable(_metadata, self);
}

TEST_F_TIMEOUT(atomic, abi6_masked_swap, RDS_SLOW_TEST)
{
	int expected = variant->any_mask ? RDS_RDMA_SUCCESS : -EOPNOTSUPP;

	/* compares the low byte, replaces the high one */
	self->remote[AT] = 0xaa000000000000bb;
	self->args.m_cswp.compare = 0x77777777777777bb;
	self->args.m_cswp.swap = 0xcc99999999999999;
	self->args.m_cswp.compare_mask = 0xff;
	self->args.m_cswp.swap_mask = 0xff00000000000000;
	ASSERT_EQ(expected, run_atomic(self, RDS_CMSG_MASKED_ATOMIC_CSWP));
	if (variant->any_mask) {
		EXPECT_EQ(0xaa000000000000bb, self->local[0]);
		EXPECT_EQ(0xcc000000000000bb, self->remote[AT]);
	} else {
		EXPECT_EQ(0xaa000000000000bb, self->remote[AT]);
	}
	expect_usable(_metadata, self);
}

/* --- the shorter struct, without masks and with operands in the other order --- */

struct short_args {
	uint64_t cookie, local_addr, remote_addr, swap_add, compare, flags, user_token;
};

static int run_short(FIXTURE_DATA(atomic) *self, int type, uint64_t swap_add, uint64_t compare)
{
	struct short_args args = {
		self->args.cookie, self->args.local_addr, self->args.remote_addr,
		swap_add, compare, self->args.flags, 0x77,
	};
	struct rds_msg_out m;
	uint64_t token = 0;
	int status;
	ssize_t n;

	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, type, &args, sizeof(args));
	n = msg_send(self->p.tx, &m, 0);
	if (n < 0)
		return n;
	status = rdma_status(self->p.tx, &token);
	return token == 0x77 ? status : -EBADMSG;
}

TEST_F_TIMEOUT(atomic, uek5_shorter_struct, RDS_SLOW_TEST)
{
	self->remote[AT] = 100;
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_short(self, RDS_CMSG_ATOMIC_FADD, 11, 0));
	EXPECT_EQ(100, self->local[0]);
	EXPECT_EQ(111, self->remote[AT]);
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_short(self, RDS_CMSG_ATOMIC_CSWP, 222, 111));
	EXPECT_EQ(111, self->local[0]);
	EXPECT_EQ(222, self->remote[AT]);
	EXPECT_EQ(-EINVAL, run_short(self, RDS_CMSG_MASKED_ATOMIC_FADD, 1, 0));
	EXPECT_EQ(-EINVAL, run_short(self, RDS_CMSG_MASKED_ATOMIC_CSWP, 1, 222));
	EXPECT_EQ(222, self->remote[AT]);
	EXPECT_TRUE(others_untouched(self));
}

/* --- what they refuse --- */

TEST_F_TIMEOUT(atomic, abi6_alignment, RDS_SLOW_TEST)
{
	long pinned = pinned_bytes();
	unsigned int i;

	for (i = 1; i < 8; i++) {
		self->args.local_addr = (uintptr_t)self->local + i;
		EXPECT_EQ(-EFAULT, run_fadd(self, 1));
		self->args.local_addr = (uintptr_t)self->local;
		self->args.remote_addr = AT * 8 + i;
		EXPECT_EQ(-EINVAL, run_fadd(self, 1));
		EXPECT_EQ(-EINVAL, run_cswp(self, 0x3333333333333333, 1));
		self->args.remote_addr = AT * 8;
		/* it is the address that counts, by whichever half it comes */
		self->args.cookie = self->cookie + ((uint64_t)i << 32);
		EXPECT_EQ(-EINVAL, run_fadd(self, 1));
		self->args.cookie = self->cookie;
	}
	EXPECT_TRUE(all_bytes(self->remote, WORDS * 8, 0x33));
	EXPECT_EQ(pinned, pinned_bytes());
	expect_usable(_metadata, self);
}

/* D24: failing to pin the local word */
TEST_F_TIMEOUT(atomic, D24_local_word, RDS_SLOW_TEST)
{
	static const int types[] = { RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP };
	void *unmapped = unmapped_page(_metadata);
	void *readonly = map_guarded(_metadata, 1);
	long pinned = pinned_bytes();
	unsigned int i;

	ASSERT_EQ(0, mprotect(readonly, page_size(), PROT_READ));
	for (i = 0; i < 200; i++) {
		self->args.local_addr = (uintptr_t)(i % 2 ? unmapped : readonly);
		EXPECT_EQ(-EFAULT, run_atomic(self, types[i / 2 % 2]));
	}
	self->args.local_addr = KERNEL_ADDR;
	EXPECT_EQ(-EFAULT, run_fadd(self, 1));
	self->args.local_addr = 0;
	EXPECT_EQ(-EFAULT, run_fadd(self, 1));
	EXPECT_TRUE(all_bytes(self->remote, WORDS * 8, 0x33));
	EXPECT_EQ(pinned, pinned_bytes());
	expect_usable(_metadata, self);
}

TEST_F_TIMEOUT(atomic, abi7_key_does_not_allow_it, RDS_SLOW_TEST)
{
	rds_rdma_cookie_t readonly, freed;
	uint64_t *page = map_guarded(_metadata, 1);

	self->args.remote_addr = WORDS * 8;
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, run_fadd(self, 1));
	self->args.remote_addr = -8ULL;
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, run_fadd(self, 1));
	self->args.remote_addr = AT * 8;

	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, WORDS * 8, WRITE, &freed));
	ASSERT_EQ(0, free_mr(self->p.rx, freed));
	self->args.cookie = freed;
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, run_fadd(self, 1));

	ASSERT_EQ(0, mprotect(page, page_size(), PROT_READ));
	ASSERT_EQ(0, get_mr(self->p.rx, page, page_size(), 0, &readonly));
	self->args.cookie = readonly;
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, run_fadd(self, 1));
	EXPECT_EQ(0, page[AT]);
	EXPECT_TRUE(all_bytes(self->remote, WORDS * 8, 0x33));
	EXPECT_EQ(0, self->local[0]);
	expect_usable(_metadata, self);
}

TEST(abi5_unbound)
{
	struct rds_atomic_args args = { .cookie = 1 };
	union rds_addr to = addr_make("127.0.0.1", 7);
	int fd = rds_socket();
	struct rds_msg_out m;

	ASSERT_GE(fd, 0);
	msg_init(&m, &to, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	EXPECT_EQ(-ENOTCONN, msg_send(fd, &m, 0));
	close(fd);
}

/* --- together with messages and RDMA --- */

TEST_F_TIMEOUT(atomic, wire12_message_follows, RDS_SLOW_TEST)
{
	struct rds_msg_out m;
	char text[8] = "";

	self->remote[AT] = 1;
	self->args.fadd.add = 1;
	self->args.flags = RDS_RDMA_NOTIFY_ME;
	msg_init(&m, &self->p.rx_addr, "after", 5);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &self->args, sizeof(self->args));
	ASSERT_EQ(5, msg_send(self->p.tx, &m, 0));
	ASSERT_EQ(5, rds_recv_wait(self->p.rx, text, sizeof(text), NULL));
	/* readable means that the atomic is through */
	EXPECT_EQ(2, self->remote[AT]);
	EXPECT_STREQ("after", text);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
	EXPECT_EQ(1, self->local[0]);

	/* without payload, and not silent: an empty message */
	ASSERT_EQ(0, send_atomic(self, RDS_CMSG_ATOMIC_FADD));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, text, sizeof(text), NULL));
	EXPECT_EQ(3, self->remote[AT]);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
}

static ssize_t send_write_and_add(FIXTURE_DATA(atomic) *self, uint64_t write_at, uint64_t flags)
{
	struct rds_iovec iov = { (uintptr_t)(self->local + 1), 8 };
	struct rds_msg_out m;

	self->local[1] = 1000;
	self->args.flags = flags;
	self->args.fadd.add = 1;
	self->args.user_token = 22;
	msg_init(&m, &self->p.rx_addr, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &self->args, sizeof(self->args));
	msg_rdma(&m, self->cookie, write_at, 8, &iov, 1, WRITE | flags, 11);
	return msg_send(self->p.tx, &m, 0);
}

/* The write goes first, whatever the order of the control messages; each is notified. */
TEST_F_TIMEOUT(atomic, abi6_with_rdma, RDS_SLOW_TEST)
{
	const uint64_t silent = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT;
	uint64_t token = 0;

	ASSERT_EQ(0, send_write_and_add(self, AT * 8, silent));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(11, token);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, &token));
	EXPECT_EQ(22, token);
	EXPECT_EQ(1000, self->local[0]);
	EXPECT_EQ(1001, self->remote[AT]);
	EXPECT_TRUE(others_untouched(self));

	/* the first fails: the second is not done, and its end is told, too */
	ASSERT_EQ(0, send_write_and_add(self, WORDS * 8, silent));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, rdma_status(self->p.tx, &token));
	EXPECT_EQ(11, token);
	EXPECT_EQ(RDS_RDMA_DROPPED, rdma_status(self->p.tx, &token));
	EXPECT_EQ(22, token);
	EXPECT_EQ(1001, self->remote[AT]);
	self->args.flags = silent;
	expect_usable(_metadata, self);
}

/* Cancelled or not, each is told once, and those that were done were done once. */
TEST_F_TIMEOUT(atomic, abi11_cancel, RDS_SLOW_TEST)
{
	unsigned int i, done = 0, status;
	long pinned = pinned_bytes();

	self->remote[AT] = 0;
	self->args.fadd.add = 1;
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, send_atomic(self, RDS_CMSG_ATOMIC_FADD));
	ASSERT_EQ(0, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &self->p.rx_addr,
			     addr_len(&self->p.rx_addr)));
	for (i = 0; i < 100; i++) {
		status = rdma_status(self->p.tx, NULL);
		ASSERT_TRUE(status == RDS_RDMA_SUCCESS || status == RDS_RDMA_CANCELED ||
			    status == RDS_RDMA_DROPPED) {
			TH_LOG("status %d of %u", status, i);
		}
		done += status == RDS_RDMA_SUCCESS;
	}
	EXPECT_EQ(0, ready(self->p.tx, POLLIN, 0));
	EXPECT_LE(done, self->remote[AT]);
	EXPECT_GE(100, self->remote[AT]);
	EXPECT_TRUE(pinned_settles_at(pinned));
	expect_usable(_metadata, self);
}

/* --- many of them --- */

/* Collect all notifications at hand: how many; -1 for a bad status. */
static int collect(int fd)
{
	struct rds_msg_in in;
	unsigned int i;

	if (rds_recv(fd, NULL, 0, MSG_DONTWAIT, &in) < 0)
		return 0;
	for (i = 0; i < in.nr_status; i++)
		if (in.status[i].status != RDS_RDMA_SUCCESS)
			return -1;
	return in.nr_status;
}

/* Add 1, @total times, up to 16 at once; every third carries a message.  Returns false if one failed. */
static bool add_many(FIXTURE_DATA(atomic) *self, int fd, unsigned int total)
{
	unsigned int sent = 0, done = 0;
	int64_t end = now_ms() + 100000;
	struct rds_atomic_args args;
	struct rds_msg_out m;
	int n;

	while (done < total && now_ms() < end) {
		if (sent < total && sent - done < 16) {
			args = self->args;
			args.fadd.add = 1;
			args.local_addr += sent % 16 * 8;
			msg_init(&m, &self->p.rx_addr, "m", sent % 3 == 0);
			msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
			n = msg_send(fd, &m, 0);
			if (n != (sent % 3 == 0))
				return false;
			sent++;
			continue;
		}
		ready(fd, POLLIN, 1000);
		n = collect(fd);
		if (n < 0)
			return false;
		done += n;
	}
	return done == total;
}

static unsigned int drain_messages(int fd)
{
	unsigned int n = 0;
	char c;

	while (rds_recv(fd, &c, 1, MSG_DONTWAIT, NULL) == 1)
		n++;
	return n;
}

/* D25: one of each kind, then a run mixed with ordinary messages. */
TEST_F_TIMEOUT(atomic, D25_run_of_atomics, RDS_SLOW_TEST)
{
	const unsigned int total = 1500;
	unsigned int messages;

	ASSERT_EQ(RDS_RDMA_SUCCESS, run_fadd(self, 1));
	ASSERT_EQ(RDS_RDMA_SUCCESS, run_cswp(self, 0x3333333333333334, 0));
	EXPECT_EQ(0, self->remote[AT]);
	ASSERT_TRUE(add_many(self, self->p.tx, total));
	EXPECT_EQ(total, self->remote[AT]);
	messages = drain_messages(self->p.rx);
	EXPECT_EQ((total + 2) / 3, messages);
	EXPECT_TRUE(others_untouched(self));
}

/* The old values that all callers got are all different: each addition was one step. */
TEST_F_TIMEOUT(atomic, each_is_one_step, RDS_SLOW_TEST)
{
	const unsigned int each = 200;
	union rds_addr addr;
	int status, child;
	pid_t pid[4];

	/* the children's pages are their own, this one is everybody's */
	self->remote = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->remote);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, WORDS * 8, WRITE, &self->args.cookie));
	for (child = 0; child < 4; child++) {
		pid[child] = fork();
		ASSERT_GE(pid[child], 0);
		if (pid[child])
			continue;
		addr = addr_with_port(&self->p.tx_addr, 0);
		_exit(!add_many(self, open_bound(_metadata, &addr), each));
	}
	for (child = 0; child < 4; child++) {
		ASSERT_EQ(pid[child], waitpid(pid[child], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(4 * each, self->remote[AT]);
}

/* Atomics through a device and those of an address on itself are one step with each other. */
TEST_F_TIMEOUT(atomic, both_ways_to_one_word, RDS_SLOW_TEST)
{
	const unsigned int each = 200;
	union rds_addr addr;
	int status;
	pid_t pid;

	self->remote = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->remote);
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, WORDS * 8, WRITE, &self->args.cookie));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		addr = addr_with_port(&self->p.rx_addr, 0);
		_exit(!add_many(self, open_bound(_metadata, &addr), each));
	}
	EXPECT_TRUE(add_many(self, self->p.tx, each));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(2 * each, self->remote[AT]);
}

TEST_HARNESS_MAIN
