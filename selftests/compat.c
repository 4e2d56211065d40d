// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* D71: 32-bit programs on a 64-bit kernel.
 *
 * The gate of 32-bit system calls, int 0x80, is open to this 64-bit program, too: so no second tool chain is needed,
 * and both kinds of call can be compared in one test.  Everything that a call is told about lies below 4 GiB.
 */
#ifndef __x86_64__
#error "the 32-bit system calls of x86 are meant"
#endif
#include "rds_test.h"

#define NR32_IOCTL	54
#define NR32_SOCKET	359
#define NR32_BIND	361
#define NR32_GETSOCKOPT	365
#define NR32_SETSOCKOPT	366
#define NR32_SENDMSG	370
#define NR32_RECVMSG	372

/* What a 32-bit compiler makes of the structs: pointers and longs are 4 bytes, and 64-bit members start at
 * multiples of 4.
 */
struct iovec32 {
	uint32_t	base;
	uint32_t	len;
};

struct msghdr32 {
	uint32_t	name;
	int32_t		namelen;
	uint32_t	iov;
	uint32_t	iovlen;
	uint32_t	control;
	uint32_t	controllen;
	uint32_t	flags;
};

struct cmsghdr32 {
	uint32_t	len;
	int32_t		level;
	int32_t		type;
};

struct notify32 {
	uint64_t	token;
	int32_t		status;
} __attribute__((packed, aligned(4)));

struct trace32 {
	uint8_t		rx_traces;
	uint8_t		rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	uint64_t	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct notify32) == 12 && sizeof(struct trace32) == 28, "as on i386");

#define STEP32(len)	(((len) + 3) & ~3U)
#define LEN32(len)	(sizeof(struct cmsghdr32) + (len))
#define SPACE32(len)	STEP32(LEN32(len))

static long call32(long nr, long a, long b, long c, long d, long e)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a" (ret)
		     : "a" (nr), "b" (a), "c" (b), "d" (c), "S" (d), "D" (e)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

static uint32_t low(const void *p)
{
	return (uintptr_t)p;
}

/* What one 32-bit sendmsg() or recvmsg() is about. */
struct msg32 {
	struct msghdr32	hdr;
	struct iovec32	iov;
	union rds_addr	name;
	char		control[512];
	char		payload[512];
};

/* All that calls are told about. */
struct low_memory {
	struct msg32			out;
	struct msg32			in;
	struct rds_iovec		vec;
	rds_rdma_cookie_t		cookie;
	union rds_addr			addr;
	union {
		struct rds_get_mr_args		get;
		struct rds_get_mr_for_dest_args	dest;
		struct rds_free_mr_args		free;
		int				value;
	} arg;
	int				len;
	struct rds_info_counter		table[RDS_MAX_COUNTERS];
	char				local[64];
	char				remote[4096] __attribute__((aligned(4096)));
};

FIXTURE(compat) {
	struct rds_pair		p;
	struct low_memory	*m;
};
RDS_BED_VARIANTS(compat);

FIXTURE_SETUP(compat)
{
	pair_open(_metadata, &self->p, variant->bed);
	self->m = mmap(NULL, sizeof(*self->m), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->m);
}

FIXTURE_TEARDOWN(compat)
{
	pair_close(&self->p);
}

static void msg32_init(struct msg32 *m, size_t len, size_t controllen)
{
	m->iov = (struct iovec32){ low(m->payload), len };
	m->hdr = (struct msghdr32){
		.name = low(&m->name), .namelen = sizeof(m->name),
		.iov = low(&m->iov), .iovlen = 1,
		.control = low(m->control), .controllen = controllen,
	};
}

/* A message of @text to @to; control messages can be appended. */
static struct msg32 *out32(FIXTURE_DATA(compat) *self, const union rds_addr *to, const char *text)
{
	struct msg32 *m = &self->m->out;

	msg32_init(m, strlen(text), 0);
	strcpy(m->payload, text);
	m->name = *to;
	m->hdr.namelen = addr_len(to);
	return m;
}

static struct cmsghdr32 *cmsg32(struct msg32 *m, int type, const void *data, size_t len)
{
	struct cmsghdr32 *cmsg = (void *)(m->control + m->hdr.controllen);

	*cmsg = (struct cmsghdr32){ LEN32(len), SOL_RDS, type };
	memcpy(cmsg + 1, data, len);
	m->hdr.controllen += SPACE32(len);
	return cmsg;
}

static long send32(int fd, struct msg32 *m, int flags)
{
	return call32(NR32_SENDMSG, fd, low(&m->hdr), flags, 0, 0);
}

/* One 32-bit recvmsg() with room for @room bytes of control messages, when there is something. */
static long recv32(FIXTURE_DATA(compat) *self, int fd, size_t room)
{
	struct msg32 *m = &self->m->in;
	int64_t end = now_ms() + RDS_WAIT_MS;
	long n;

	for (;;) {
		memset(m, 0x5a, sizeof(*m));
		msg32_init(m, sizeof(m->payload), room);
		n = call32(NR32_RECVMSG, fd, low(&m->hdr), MSG_DONTWAIT, 0, 0);
		if (n != -EAGAIN || now_ms() > end)
			return n;
		ready(fd, POLLIN, 1000);
	}
}

static long set32(FIXTURE_DATA(compat) *self, int fd, int opt, size_t len)
{
	return call32(NR32_SETSOCKOPT, fd, SOL_RDS, opt, low(&self->m->arg), len);
}

static long get32(FIXTURE_DATA(compat) *self, int fd, int opt, void *buf, int len)
{
	self->m->len = len;
	return call32(NR32_GETSOCKOPT, fd, SOL_RDS, opt, low(buf), low(&self->m->len));
}

static struct rds_rdma_args write_args(FIXTURE_DATA(compat) *self, uint64_t token)
{
	self->m->vec = (struct rds_iovec){ low(self->m->local), 8 };
	return (struct rds_rdma_args){
		.cookie = self->m->cookie, .remote_vec = { 0, 8 },
		.local_vec_addr = low(&self->m->vec), .nr_local = 1, .user_token = token,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
	};
}

static void register_remote(struct __test_metadata *_metadata, FIXTURE_DATA(compat) *self)
{
	self->m->arg.get = (struct rds_get_mr_args){
		.vec = { low(self->m->remote), sizeof(self->m->remote) },
		.cookie_addr = low(&self->m->cookie), .flags = RDS_RDMA_READWRITE,
	};
	ASSERT_EQ(0, set32(self, self->p.rx, RDS_GET_MR, sizeof(self->m->arg.get)));
	ASSERT_NE(0, self->m->cookie);
}

/* --- messages --- */

TEST_F(compat, D71_socket_and_bind)
{
	int fd = call32(NR32_SOCKET, AF_RDS, SOCK_SEQPACKET, 0, 0, 0);

	ASSERT_GE(fd, 0);
	self->m->addr = addr_with_port(&self->p.tx_addr, 0);
	EXPECT_EQ(0, call32(NR32_BIND, fd, low(&self->m->addr), addr_len(&self->m->addr), 0, 0));
	EXPECT_EQ(-EINVAL, call32(NR32_BIND, fd, low(&self->m->addr), addr_len(&self->m->addr), 0, 0));
	close(fd);
}

TEST_F(compat, D71_message)
{
	ASSERT_EQ(5, send32(self->p.tx, out32(self, &self->p.rx_addr, "hello"), 0));
	ASSERT_EQ(5, recv32(self, self->p.rx, 0));
	EXPECT_EQ(0, memcmp(self->m->in.payload, "hello", 5));
	EXPECT_EQ(addr_len(&self->p.tx_addr), self->m->in.hdr.namelen);
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &self->m->in.name));
	EXPECT_EQ(0, self->m->in.hdr.flags & (MSG_TRUNC | MSG_CTRUNC));
	/* and with every flag that is accepted */
	ASSERT_EQ(2, send32(self->p.tx, out32(self, &self->p.rx_addr, "hi"),
			    MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR));
	ASSERT_EQ(2, recv32(self, self->p.rx, 0));
	EXPECT_EQ(-EOPNOTSUPP, send32(self->p.tx, out32(self, &self->p.rx_addr, "x"), MSG_OOB));
}

TEST_F(compat, D71_timestamp)
{
	struct cmsghdr32 *cmsg = (void *)self->m->in.control;
	struct { int32_t sec, usec; } stamp;
	struct timeval before, after;

	gettimeofday(&before, NULL);
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_TIMESTAMP, 1);
	ASSERT_EQ(1, send32(self->p.tx, out32(self, &self->p.rx_addr, "t"), 0));
	ASSERT_EQ(1, recv32(self, self->p.rx, SPACE32(sizeof(stamp))));
	EXPECT_EQ(0, self->m->in.hdr.flags & MSG_CTRUNC);
	ASSERT_EQ(SPACE32(sizeof(stamp)), self->m->in.hdr.controllen);
	EXPECT_EQ(LEN32(sizeof(stamp)), cmsg->len);
	EXPECT_EQ(SOL_SOCKET, cmsg->level);
	EXPECT_EQ(SCM_TIMESTAMP, cmsg->type);
	memcpy(&stamp, cmsg + 1, sizeof(stamp));
	gettimeofday(&after, NULL);
	EXPECT_GE(stamp.usec, 0);
	EXPECT_LT(stamp.usec, 1000000);
	EXPECT_GE(stamp.sec, before.tv_sec);
	EXPECT_LE(stamp.sec, after.tv_sec);
}

TEST_F(compat, D71_latency)
{
	struct rds_rx_trace_so so = { 3, { 2, 0, 1 } };
	struct cmsghdr32 *cmsg = (void *)self->m->in.control;
	int64_t began = now_ms();
	struct trace32 trace;
	unsigned int i;

	ASSERT_EQ(0, set_opt(self->p.rx, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(1, send32(self->p.tx, out32(self, &self->p.rx_addr, "l"), 0));
	ASSERT_EQ(1, recv32(self, self->p.rx, SPACE32(sizeof(trace))));
	EXPECT_EQ(0, self->m->in.hdr.flags & MSG_CTRUNC);
	ASSERT_EQ(SPACE32(sizeof(trace)), self->m->in.hdr.controllen);
	EXPECT_EQ(LEN32(sizeof(trace)), cmsg->len);
	EXPECT_EQ(RDS_CMSG_RXPATH_LATENCY, cmsg->type);
	memcpy(&trace, cmsg + 1, sizeof(trace));
	EXPECT_EQ(3, trace.rx_traces);
	EXPECT_EQ(0, memcmp(so.rx_trace_pos, trace.rx_trace_pos, sizeof(so.rx_trace_pos)));
	/* times, not halves of two of them */
	for (i = 0; i < 3; i++)
		EXPECT_LE(trace.rx_trace[i], (now_ms() - began + 1) * 1000000);
	EXPECT_LT(0, trace.rx_trace[0]);
}

/* --- control messages --- */

TEST_F(compat, D71_map_sends_the_cookie)
{
	struct rds_get_mr_args map = {
		.vec = { low(self->m->local), sizeof(self->m->local) },
		.cookie_addr = low(&self->m->cookie), .flags = RDS_RDMA_READWRITE,
	};
	struct cmsghdr32 *cmsg = (void *)self->m->in.control;
	struct msg32 *m = out32(self, &self->p.rx_addr, "map");

	cmsg32(m, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	ASSERT_EQ(3, send32(self->p.tx, m, 0));
	ASSERT_NE(0, self->m->cookie);
	/* exactly the room that is needed */
	ASSERT_EQ(3, recv32(self, self->p.rx, SPACE32(8)));
	EXPECT_EQ(0, self->m->in.hdr.flags & MSG_CTRUNC);
	ASSERT_EQ(SPACE32(8), self->m->in.hdr.controllen);
	EXPECT_EQ(LEN32(8), cmsg->len);
	EXPECT_EQ(RDS_CMSG_RDMA_DEST, cmsg->type);
	EXPECT_EQ(0, memcmp(&self->m->cookie, cmsg + 1, 8));
	/* and the same by hand */
	m = out32(self, &self->p.rx_addr, "dest");
	cmsg32(m, RDS_CMSG_RDMA_DEST, &self->m->cookie, 8);
	ASSERT_EQ(4, send32(self->p.tx, m, 0));
	ASSERT_EQ(4, recv32(self, self->p.rx, SPACE32(8)));
	EXPECT_EQ(0, memcmp(&self->m->cookie, cmsg + 1, 8));
}

/* Run @nr writes with tokens from @token on. */
static void write32(struct __test_metadata *_metadata, FIXTURE_DATA(compat) *self, uint64_t token,
		    unsigned int nr)
{
	struct rds_rdma_args args;
	struct msg32 *m;

	while (nr--) {
		args = write_args(self, token++);
		m = out32(self, &self->p.rx_addr, "");
		cmsg32(m, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
		ASSERT_EQ(0, send32(self->p.tx, m, 0));
	}
}

static void expect_status32(struct __test_metadata *_metadata, FIXTURE_DATA(compat) *self,
			    unsigned int nr, uint64_t token)
{
	struct cmsghdr32 *cmsg = (void *)(self->m->in.control + nr * SPACE32(sizeof(struct notify32)));
	struct notify32 note;

	EXPECT_EQ(LEN32(sizeof(note)), cmsg->len);
	EXPECT_EQ(SOL_RDS, cmsg->level);
	EXPECT_EQ(RDS_CMSG_RDMA_STATUS, cmsg->type);
	memcpy(&note, cmsg + 1, sizeof(note));
	EXPECT_EQ(token, note.token);
	EXPECT_EQ(RDS_RDMA_SUCCESS, note.status);
}

TEST_F_TIMEOUT(compat, D71_write_and_status, RDS_SLOW_TEST)
{
	const size_t room = SPACE32(sizeof(struct notify32));
	char status_room;
	unsigned int i;

	register_remote(_metadata, self);
	strcpy(self->m->local, "32 bits");
	for (i = 0; i < 3; i++) {
		write32(_metadata, self, 0xfedcba9800000000ULL + i, 1);
		/* as much room as a 32-bit program takes, a little more, and a lot */
		ASSERT_EQ(0, recv32(self, self->p.tx, room + (i == 2 ? 200 : 4 * i)));
		EXPECT_EQ(0, self->m->in.hdr.flags & MSG_CTRUNC);
		ASSERT_EQ(room, self->m->in.hdr.controllen);
		expect_status32(_metadata, self, 0, 0xfedcba9800000000ULL + i);
	}
	EXPECT_STREQ("32 bits", self->m->remote);

	/* too little keeps it, as for 64-bit programs */
	write32(_metadata, self, 77, 1);
	ASSERT_EQ(0, recv32(self, self->p.tx, LEN32(sizeof(struct notify32)) - 1));
	EXPECT_EQ(MSG_CTRUNC, self->m->in.hdr.flags & MSG_CTRUNC);
	ASSERT_EQ(0, recv32(self, self->p.tx, room));
	expect_status32(_metadata, self, 0, 77);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.tx, &status_room, 1, MSG_DONTWAIT, NULL));
}

TEST_F_TIMEOUT(compat, D71_two_at_a_time, RDS_SLOW_TEST)
{
	const size_t room = SPACE32(sizeof(struct notify32));
	union rds_addr a = addr_with_port(&self->p.tx_addr, 0);
	int fd = open_bound(_metadata, &a);

	register_remote(_metadata, self);
	write32(_metadata, self, 10, 3);
	/* operations of one connection end in order: behind this one, all have */
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(fd, &self->p.rx_addr, self->m->cookie, 0, self->m->local,
					     1, RDS_RDMA_READWRITE));
	ASSERT_EQ(0, recv32(self, self->p.tx, 2 * room));
	ASSERT_EQ(2 * room, self->m->in.hdr.controllen);
	expect_status32(_metadata, self, 0, 10);
	expect_status32(_metadata, self, 1, 11);
	ASSERT_EQ(0, recv32(self, self->p.tx, 2 * room));
	ASSERT_EQ(room, self->m->in.hdr.controllen);
	expect_status32(_metadata, self, 0, 12);
	close(fd);
}

/* D08 once more: the kernel rewrites the control messages of such a caller. */
TEST_F(compat, D08_wrong_lengths)
{
	static const int types[] = {
		RDS_CMSG_RDMA_ARGS, RDS_CMSG_RDMA_DEST, RDS_CMSG_RDMA_MAP, RDS_CMSG_ATOMIC_FADD,
		RDS_CMSG_ATOMIC_CSWP, RDS_CMSG_MASKED_ATOMIC_FADD, RDS_CMSG_MASKED_ATOMIC_CSWP,
		RDS_CMSG_ZCOPY_COOKIE,
	};
	static const uint32_t lengths[] = { 0, 1, LEN32(0) - 1, LEN32(0), LEN32(1), LEN32(3), 1 << 20,
					    0xffffffff, 0x80000000 };
	struct msg32 *m;
	unsigned int i, j;
	char data[64] = "";

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			m = out32(self, &self->p.rx_addr, "x");
			cmsg32(m, types[i], data, sizeof(data))->len = lengths[j];
			EXPECT_EQ(-EINVAL, send32(self->p.tx, m, 0)) {
				TH_LOG("type %d, length %u", types[i], lengths[j]);
			}
		}
	}
	EXPECT_EQ(0, pinned_bytes());
}

/* --- options --- */

TEST_F(compat, D71_keys)
{
	struct rds_get_mr_for_dest_args *dest = &self->m->arg.dest;
	struct rds_free_mr_args args;

	register_remote(_metadata, self);
	args = (struct rds_free_mr_args){ .cookie = self->m->cookie };
	self->m->arg.free = args;
	EXPECT_EQ(0, set32(self, self->p.rx, RDS_FREE_MR, sizeof(args)));
	EXPECT_EQ(-EINVAL, set32(self, self->p.rx, RDS_FREE_MR, sizeof(args)));

	memset(dest, 0, sizeof(*dest));
	dest->vec = (struct rds_iovec){ low(self->m->remote), 100 };
	dest->cookie_addr = low(&self->m->cookie);
	EXPECT_EQ(0, set32(self, self->p.rx, RDS_GET_MR_FOR_DEST, sizeof(*dest)));
	EXPECT_EQ(0, free_mr(self->p.rx, self->m->cookie));
	EXPECT_EQ(-EINVAL, set32(self, self->p.rx, RDS_GET_MR_FOR_DEST, sizeof(*dest) - 1));
	EXPECT_EQ(0, pinned_bytes());
}

TEST_F(compat, D71_integer_options)
{
	self->m->arg.value = 1;
	EXPECT_EQ(0, set32(self, self->p.tx, RDS_RECVERR, sizeof(int)));
	EXPECT_EQ(0, get32(self, self->p.tx, RDS_RECVERR, &self->m->addr, sizeof(int)));
	EXPECT_EQ(4, self->m->len);
	EXPECT_EQ(1, *(int *)&self->m->addr);
	EXPECT_EQ(0, get32(self, self->p.tx, SO_RDS_TRANSPORT, &self->m->addr, sizeof(int)));
	EXPECT_EQ(bed_is_rxe(variant->bed) ? RDS_TRANS_IB : 3, *(int *)&self->m->addr);
	*(union rds_addr *)&self->m->arg = self->p.rx_addr;
	EXPECT_EQ(0, set32(self, self->p.tx, RDS_CANCEL_SENT_TO, addr_len(&self->p.rx_addr)));
	EXPECT_EQ(-ENOPROTOOPT, set32(self, self->p.tx, 4711, sizeof(int)));
	EXPECT_EQ(-ENOPROTOOPT, get32(self, self->p.tx, 4711, &self->m->addr, sizeof(int)));
}

TEST_F(compat, D71_counters)
{
	struct rds_info_counter table[RDS_MAX_COUNTERS];
	int i, nr = counters_read(self->p.tx, table);

	ASSERT_GT(nr, 0);
	EXPECT_EQ(-ENOSPC, get32(self, self->p.tx, RDS_INFO_COUNTERS, self->m->table, 0));
	EXPECT_EQ(nr * sizeof(table[0]), self->m->len);
	EXPECT_EQ(sizeof(table[0]), get32(self, self->p.tx, RDS_INFO_COUNTERS, self->m->table,
					  sizeof(self->m->table)));
	EXPECT_EQ(nr * sizeof(table[0]), self->m->len);
	for (i = 0; i < nr; i++) {
		EXPECT_STREQ((char *)table[i].name, (char *)self->m->table[i].name);
	}
}

TEST_F(compat, abi13_D71_ioctl)
{
	/* one of nobody, one of a family that sockets have, one of the generic layer */
	EXPECT_EQ(-ENOTTY, call32(NR32_IOCTL, self->p.tx, 0x12345678, low(self->m->local), 0, 0));
	EXPECT_EQ(-1, ioctl(self->p.tx, 0x12345678, self->m->local));
	EXPECT_EQ(ENOTTY, errno);
}

/* Nobody translates the calls for types of service, as in mainline. */
TEST_F(compat, abi13_D71_types_of_service)
{
	self->m->local[0] = 3;
	EXPECT_EQ(-ENOTTY, call32(NR32_IOCTL, self->p.tx, SIOCRDSSETTOS, low(self->m->local), 0, 0));
	EXPECT_EQ(-ENOTTY, call32(NR32_IOCTL, self->p.tx, SIOCRDSGETTOS, low(self->m->local), 0, 0));
	EXPECT_EQ(3, self->m->local[0]);
	EXPECT_EQ(0, ioctl(self->p.tx, SIOCRDSGETTOS, self->m->local));
	EXPECT_EQ(0, self->m->local[0]);
}

TEST_HARNESS_MAIN
