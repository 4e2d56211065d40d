/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the RDS selftests share: addresses to test over, sockets, messages with
 * control data, RDMA, and waiting for conditions.
 *
 * Convention: calls that may fail return -errno, so that a test states what it
 * expects in one place: EXPECT_EQ(-EINVAL, msg_send(fd, &m, 0)).  Helpers that
 * take _metadata end the test when they fail.
 */
#ifndef RDS_TEST_H
#define RDS_TEST_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <linux/sockios.h>
#include <linux/rds.h>

#include "kselftest_harness.h"

/*
 * Long enough for a first connection over rxe on an emulated CPU, with all of a debug kernel's checks. Nothing waits for so
 * long unless a test fails.
 */
#define RDS_WAIT_MS	60000
#define RDS_SLOW_TEST	450	/* seconds, for TEST_F_TIMEOUT */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120
#define RDS_MAX_MSG	(1024 * 1024)
#define RDS_MAX_STATUS	32
#define NOBODY		65534

/* Above the user limit on every 64-bit architecture that Linux knows. */
#define KERNEL_ADDR	0xffff888000000000ULL

/* How often to do what takes long only by being done often.  The debug kernel is many times slower,
 * and finds at the first time what others show by chance.
 */
static inline int rds_rounds(int stock)
{
	const char *kernel = getenv("KERNEL");

	return kernel && !strcmp(kernel, "debug") ? stock / 8 : stock;
}

/* --- addresses ---------------------------------------------------------- */

union rds_addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
	struct sockaddr_storage	ss;
};

static inline socklen_t addr_len(const union rds_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

/* Text to address; an unparsable text gives family 0. */
static inline union rds_addr addr_make(const char *text, uint16_t port)
{
	union rds_addr a;

	memset(&a, 0, sizeof(a));
	if (inet_pton(AF_INET, text, &a.in.sin_addr) == 1) {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &a.in6.sin6_addr) == 1) {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_port = htons(port);
	}
	return a;
}

static inline uint16_t addr_port(const union rds_addr *a)
{
	/* sin_port and sin6_port share their place */
	return ntohs(a->in.sin_port);
}

static inline union rds_addr addr_with_port(const union rds_addr *a, uint16_t port)
{
	union rds_addr copy = *a;

	copy.in.sin_port = htons(port);
	return copy;
}

static inline bool addr_equal(const union rds_addr *a, const union rds_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || a->in.sin_port != b->in.sin_port)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}

/* --- test beds ---------------------------------------------------------- */

enum rds_bed {
	BED_LOOP4,	/* loopback transport, 127.0.0.1 */
	BED_LOOP6,	/* loopback transport, ::1 */
	BED_RXE,	/* RDMA transport, two IPv4 addresses of one rxe device */
	BED_RXE6,	/* the same with IPv6 */
};

static inline bool bed_is_rxe(enum rds_bed bed)
{
	return bed == BED_RXE || bed == BED_RXE6;
}

static inline const char *env_addr(const char *name, const char *rig_name)
{
	return getenv(name) ?: getenv(rig_name) ?: "";
}

/* The rig names the two addresses of its rxe device MY_ADDR and PEER_ADDR;
 * RDS_ADDR_A and RDS_ADDR_B name others.
 */
static inline bool bed_addrs(enum rds_bed bed, union rds_addr *a, union rds_addr *b)
{
	switch (bed) {
	case BED_LOOP4:
		*a = *b = addr_make("127.0.0.1", 0);
		break;
	case BED_LOOP6:
		*a = *b = addr_make("::1", 0);
		break;
	case BED_RXE:
		*a = addr_make(env_addr("RDS_ADDR_A", "MY_ADDR"), 0);
		*b = addr_make(env_addr("RDS_ADDR_B", "PEER_ADDR"), 0);
		break;
	case BED_RXE6:
		*a = addr_make(env_addr("RDS_ADDR_A6", "MY_ADDR6"), 0);
		*b = addr_make(env_addr("RDS_ADDR_B6", "PEER_ADDR6"), 0);
		break;
	}
	return a->sa.sa_family && b->sa.sa_family;
}

/* Get the addresses of @bed.  Without an rxe device the test is skipped, or
 * fails where RDS_REQUIRE_RXE=1 says that there must be one.
 */
static inline void bed_need(struct __test_metadata *_metadata, enum rds_bed bed,
			    union rds_addr *a, union rds_addr *b)
{
	const char *require = getenv("RDS_REQUIRE_RXE");

	if (bed_addrs(bed, a, b))
		return;
	ASSERT_FALSE(require && !strcmp(require, "1")) {
		TH_LOG("RDS_REQUIRE_RXE=1, but RDS_ADDR_A and RDS_ADDR_B are not set");
	}
	/* This harness would run the test body after SKIP() in a setup. */
	SKIP(_exit(255), "no rxe addresses: set RDS_ADDR_A and RDS_ADDR_B");
}

/* A member "enum rds_bed bed" in every variant; the standard three of them. */
#define RDS_BED_VARIANTS(fixture)						\
	FIXTURE_VARIANT(fixture) { enum rds_bed bed; };				\
	FIXTURE_VARIANT_ADD(fixture, loop4) { .bed = BED_LOOP4 };		\
	FIXTURE_VARIANT_ADD(fixture, loop6) { .bed = BED_LOOP6 };		\
	FIXTURE_VARIANT_ADD(fixture, rxe) { .bed = BED_RXE }
#define RDS_BED_VARIANT_RXE6(fixture)						\
	FIXTURE_VARIANT_ADD(fixture, rxe6) { .bed = BED_RXE6 }

/* For what loopback has no counterpart of: the two that have a device. */
#define RDS_RXE_VARIANTS(fixture)						\
	FIXTURE_VARIANT(fixture) { enum rds_bed bed; };				\
	FIXTURE_VARIANT_ADD(fixture, rxe) { .bed = BED_RXE };			\
	RDS_BED_VARIANT_RXE6(fixture)

/* --- sockets ------------------------------------------------------------ */

static inline int rds_socket(void)
{
	return socket(AF_RDS, SOCK_SEQPACKET, 0);
}

static inline int rds_bind(int fd, const union rds_addr *a)
{
	return bind(fd, &a->sa, addr_len(a)) ? -errno : 0;
}

static inline int rds_connect(int fd, const union rds_addr *a)
{
	return connect(fd, &a->sa, addr_len(a)) ? -errno : 0;
}

/* A new socket bound to @a; a port of 0 is replaced by the one that was given. */
static inline int open_bound(struct __test_metadata *_metadata, union rds_addr *a)
{
	socklen_t len = sizeof(*a);
	int fd = rds_socket();

	ASSERT_GE(fd, 0) {
		TH_LOG("socket(AF_RDS): %s", strerror(errno));
	}
	ASSERT_EQ(0, rds_bind(fd, a));
	ASSERT_EQ(0, getsockname(fd, &a->sa, &len));
	return fd;
}

/* The same for an address that was added just now: a device gets to know of it a little later. */
static inline int open_bound_soon(struct __test_metadata *_metadata, union rds_addr *a)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	socklen_t len = sizeof(*a);
	int fd = rds_socket(), err, tries = 2000;

	ASSERT_GE(fd, 0);
	while ((err = rds_bind(fd, a)) == -EADDRNOTAVAIL && tries--)
		nanosleep(&pause, NULL);
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, getsockname(fd, &a->sa, &len));
	return fd;
}

/* Two bound sockets, one of them called the sender. */
struct rds_pair {
	int		tx;
	int		rx;
	union rds_addr	tx_addr;
	union rds_addr	rx_addr;
};

static inline void pair_open(struct __test_metadata *_metadata, struct rds_pair *p,
			     enum rds_bed bed)
{
	bed_need(_metadata, bed, &p->tx_addr, &p->rx_addr);
	p->tx = open_bound(_metadata, &p->tx_addr);
	p->rx = open_bound(_metadata, &p->rx_addr);
}

static inline void pair_close(struct rds_pair *p)
{
	close(p->tx);
	close(p->rx);
}

static inline void set_int(struct __test_metadata *_metadata, int fd, int level, int opt, int value)
{
	ASSERT_EQ(0, setsockopt(fd, level, opt, &value, sizeof(value)));
}

static inline void set_timeo(struct __test_metadata *_metadata, int fd, int opt, int ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)));
}

/* setsockopt with -errno */
static inline int set_opt(int fd, int opt, const void *arg, socklen_t len)
{
	return setsockopt(fd, SOL_RDS, opt, arg, len) ? -errno : 0;
}

/* The events of @events that hold within @ms milliseconds. */
static inline short ready(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return poll(&pfd, 1, ms) == 1 ? pfd.revents : 0;
}

static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Let something else run, while a condition is polled that nothing announces. */
static inline void nap(void)
{
	usleep(2000);
}

/* --- messages out ------------------------------------------------------- */

struct rds_msg_out {
	struct msghdr	hdr;
	struct iovec	iov;
	union rds_addr	to;
	_Alignas(struct cmsghdr) char control[1024];
};

/* @to may be NULL for a connected socket. */
static inline void msg_init(struct rds_msg_out *m, const union rds_addr *to,
			    const void *payload, size_t len)
{
	memset(m, 0, sizeof(*m));
	m->iov.iov_base = (void *)payload;
	m->iov.iov_len = len;
	m->hdr.msg_iov = &m->iov;
	m->hdr.msg_iovlen = 1;
	if (to) {
		m->to = *to;
		m->hdr.msg_name = &m->to;
		m->hdr.msg_namelen = addr_len(to);
	}
}

/* Append a control message; @len is that of the data. */
static inline struct cmsghdr *msg_cmsg(struct rds_msg_out *m, int level, int type,
				       const void *data, size_t len)
{
	struct cmsghdr *cmsg = (void *)(m->control + m->hdr.msg_controllen);

	m->hdr.msg_control = m->control;
	m->hdr.msg_controllen += CMSG_SPACE(len);
	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), data, len);
	return cmsg;
}

static inline ssize_t msg_send(int fd, const struct rds_msg_out *m, int flags)
{
	ssize_t n = sendmsg(fd, &m->hdr, flags);

	return n < 0 ? -errno : n;
}

static inline ssize_t rds_send(int fd, const union rds_addr *to, const void *payload,
			       size_t len, int flags)
{
	ssize_t n = sendto(fd, payload, len, flags, to ? &to->sa : NULL, to ? addr_len(to) : 0);

	return n < 0 ? -errno : n;
}

/* --- messages in -------------------------------------------------------- */

struct rds_msg_in {
	union rds_addr		from;
	socklen_t		from_len;
	int			flags;
	bool			has_dest;
	rds_rdma_cookie_t	dest;
	unsigned int		nr_status;
	struct rds_rdma_notify	status[RDS_MAX_STATUS];
	bool			padding_clean;	/* holes of the status structs are zero */
	unsigned int		nr_timestamps;
	struct timeval		timestamp;
	unsigned int		nr_cmsgs;	/* of any kind */
	struct cmsghdr		cmsgs[RDS_MAX_STATUS];
};

static inline void msg_in_cmsg(struct rds_msg_in *in, struct cmsghdr *cmsg)
{
	static const char zero[sizeof(struct rds_rdma_notify)];
	const size_t hole = offsetof(struct rds_rdma_notify, status) + sizeof(__s32);
	void *data = CMSG_DATA(cmsg);

	if (in->nr_cmsgs < RDS_MAX_STATUS)
		in->cmsgs[in->nr_cmsgs++] = *cmsg;
	if (cmsg->cmsg_level == SOL_RDS && cmsg->cmsg_type == RDS_CMSG_RDMA_DEST) {
		in->has_dest = true;
		memcpy(&in->dest, data, sizeof(in->dest));
	} else if (cmsg->cmsg_level == SOL_RDS && cmsg->cmsg_type == RDS_CMSG_RDMA_STATUS &&
		   in->nr_status < RDS_MAX_STATUS) {
		memcpy(&in->status[in->nr_status++], data, sizeof(in->status[0]));
		if (memcmp((char *)data + hole, zero, sizeof(struct rds_rdma_notify) - hole))
			in->padding_clean = false;
	} else if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_len == CMSG_LEN(sizeof(in->timestamp)) &&
		   (cmsg->cmsg_type == SO_TIMESTAMP_OLD || cmsg->cmsg_type == SO_TIMESTAMP_NEW)) {
		/* both are as long where time has 64 bits */
		in->nr_timestamps++;
		memcpy(&in->timestamp, data, sizeof(in->timestamp));
	}
}

/* One recvmsg(); @in may be NULL. */
static inline ssize_t rds_recv(int fd, void *buf, size_t len, int flags, struct rds_msg_in *in)
{
	_Alignas(struct cmsghdr) char control[RDS_MAX_STATUS * CMSG_SPACE(16)];
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct rds_msg_in unused, *out = in ?: &unused;
	struct msghdr msg = {
		.msg_name = &out->from, .msg_namelen = sizeof(out->from),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t n;

	memset(out, 0, sizeof(*out));
	out->padding_clean = true;
	n = recvmsg(fd, &msg, flags);
	if (n < 0)
		return -errno;
	out->from_len = msg.msg_namelen;
	out->flags = msg.msg_flags;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		msg_in_cmsg(out, cmsg);
	return n;
}

/* Wait until there is something to receive.  A readable socket may turn out
 * empty (a congestion map came in, abi section 9), hence the loop.
 */
static inline ssize_t rds_recv_wait(int fd, void *buf, size_t len, struct rds_msg_in *in)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	ssize_t n;

	for (;;) {
		n = rds_recv(fd, buf, len, MSG_DONTWAIT, in);
		if (n != -EAGAIN || now_ms() > end)
			return n;
		ready(fd, POLLIN, (int)(end - now_ms()) + 1);
	}
}

/* --- RDMA --------------------------------------------------------------- */

static inline int get_mr(int fd, const void *addr, size_t len, uint64_t flags,
			 rds_rdma_cookie_t *cookie)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)addr, .bytes = len },
		.cookie_addr = (uintptr_t)cookie,
		.flags = flags,
	};

	return set_opt(fd, RDS_GET_MR, &args, sizeof(args));
}

static inline int get_mr_for_dest(int fd, const void *addr, size_t len, uint64_t flags,
			   rds_rdma_cookie_t *cookie)
{
	struct rds_get_mr_for_dest_args args;

	memset(&args, 0, sizeof(args));
	args.vec = (struct rds_iovec){ (uintptr_t)addr, len };
	args.cookie_addr = (uintptr_t)cookie;
	args.flags = flags;
	return set_opt(fd, RDS_GET_MR_FOR_DEST, &args, sizeof(args));
}

static inline int free_mr(int fd, rds_rdma_cookie_t cookie)
{
	struct rds_free_mr_args args = { .cookie = cookie };

	return set_opt(fd, RDS_FREE_MR, &args, sizeof(args));
}

/* Append the control message of an operation on @cookie whose local side is @iov. */
static inline void msg_rdma(struct rds_msg_out *m, rds_rdma_cookie_t cookie, uint64_t offset,
			    uint64_t bytes, const struct rds_iovec *iov, uint64_t nr,
			    uint64_t flags, uint64_t token)
{
	struct rds_rdma_args args = {
		.cookie = cookie,
		.remote_vec = { .addr = offset, .bytes = bytes },
		.local_vec_addr = (uintptr_t)iov,
		.nr_local = nr,
		.flags = flags,
		.user_token = token,
	};

	msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

/* A message without payload that carries one operation of one local range. */
static inline ssize_t rdma_op(int fd, const union rds_addr *to, rds_rdma_cookie_t cookie,
			      uint64_t offset, const void *local, size_t len,
			      uint64_t flags, uint64_t token)
{
	struct rds_iovec iov = { .addr = (uintptr_t)local, .bytes = len };
	struct rds_msg_out m;

	msg_init(&m, to, NULL, 0);
	msg_rdma(&m, cookie, offset, len, &iov, 1, flags, token);
	return msg_send(fd, &m, 0);
}

/* Wait for one notification and return its status, or -errno.  Messages that
 * arrive before it are read and dropped.
 */
static inline int rdma_status(int fd, uint64_t *token)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char control[CMSG_SPACE(16)];
	struct rds_rdma_notify note;
	struct cmsghdr *cmsg;

	while (now_ms() < end) {
		struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };

		if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0) {
			if (errno != EAGAIN)
				return -errno;
			ready(fd, POLLIN, (int)(end - now_ms()) + 1);
			continue;
		}
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg || cmsg->cmsg_level != SOL_RDS || cmsg->cmsg_type != RDS_CMSG_RDMA_STATUS)
			continue;
		memcpy(&note, CMSG_DATA(cmsg), sizeof(note));
		if (token)
			*token = note.user_token;
		return note.status;
	}
	return -ETIMEDOUT;
}

/* Operation with notification, run to its end: its status, or -errno. */
static inline int rdma_run(int fd, const union rds_addr *to, rds_rdma_cookie_t cookie,
			   uint64_t offset, const void *local, size_t len, uint64_t flags)
{
	static uint64_t next_token = 0x1000;
	uint64_t token = 0, sent = next_token++;
	ssize_t n = rdma_op(fd, to, cookie, offset, local, len,
			    flags | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, sent);
	int status;

	if (n < 0)
		return n;
	status = rdma_status(fd, &token);
	if (status >= 0 && token != sent)
		return -EBADMSG;
	return status;
}

/* Pages of this process that are charged as pinned, in bytes. */
static inline long pinned_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld kB", &kib) == 1)
			break;
	fclose(f);
	return kib < 0 ? -1 : kib * 1024;
}

/* What an operation pinned is released when it has completed, a little after
 * its notification may have been read.
 */
static inline bool pinned_settles_at(long bytes)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	while (pinned_bytes() != bytes) {
		if (now_ms() > end)
			return false;
		nap();
	}
	return true;
}

/* Regions that all RDMA devices of this machine hold, 0 if there is no device. */
static inline long device_regions(void)
{
	FILE *f = popen("rdma resource show", "r");
	char line[512], *mr;
	long sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		mr = strstr(line, " mr ");
		sum += mr ? atol(mr + 4) : 0;
	}
	if (f)
		pclose(f);
	return sum;
}

/* --- memory ------------------------------------------------------------- */

static inline size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Zeroed pages with an inaccessible page before and after. */
static inline void *map_guarded(struct __test_metadata *_metadata, size_t len)
{
	size_t page = page_size(), body = (len + page - 1) / page * page;
	char *base = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)base);
	ASSERT_EQ(0, mprotect(base + page, body, PROT_READ | PROT_WRITE));
	return base + page;
}

/* An address that is mapped by nobody. */
static inline void *unmapped_page(struct __test_metadata *_metadata)
{
	return (char *)map_guarded(_metadata, 1) - page_size();
}

/* A thread that takes a page's permissions away and gives them back, again and again. */
struct rds_flicker {
	void		*page;
	volatile bool	stop;
	pthread_t	thread;
};

static inline void *flicker(void *arg)
{
	struct rds_flicker *f = arg;

	while (!f->stop) {
		mprotect(f->page, page_size(), PROT_NONE);
		mprotect(f->page, page_size(), PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static inline void flicker_start(struct __test_metadata *_metadata, struct rds_flicker *f,
				 void *page)
{
	f->page = page;
	f->stop = false;
	ASSERT_EQ(0, pthread_create(&f->thread, NULL, flicker, f));
}

/* The page is accessible afterwards. */
static inline void flicker_stop(struct rds_flicker *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
}

/* Bytes that differ from place to place and from seed to seed. */
static inline void fill(void *buf, size_t len, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = x >> 24;
	}
}

static inline bool all_bytes(const void *buf, size_t len, unsigned char value)
{
	const unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != value)
			return false;
	return true;
}

/* --- processes and threads ---------------------------------------------- */

/* Run @fn in a child process and return what it returns (0..254), 255 if it died. */
static inline int in_child(int (*fn)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return 255;
	if (!pid)
		_exit(fn(arg));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

/* Become an unprivileged user who may lock @memlock bytes.  0 or -errno. */
static inline int become_nobody(rlim_t memlock)
{
	struct rlimit lim = { .rlim_cur = memlock, .rlim_max = memlock };

	if (setrlimit(RLIMIT_MEMLOCK, &lim) || setgid(NOBODY) || setuid(NOBODY))
		return -errno;
	return 0;
}

static volatile unsigned int rds_signals;

static inline void count_signal(int sig)
{
	rds_signals++;
}

/* Count signals @sig.  With SA_RESTART in @flags, calls that it interrupts go on if they may. */
static inline void catch_signal(struct __test_metadata *_metadata, int sig, int flags)
{
	struct sigaction act = { .sa_handler = count_signal, .sa_flags = flags };

	ASSERT_EQ(0, sigaction(sig, &act, NULL));
}

static inline pid_t my_tid(void)
{
	return syscall(SYS_gettid);
}

/* Wait until thread @tid of process @pid sleeps in a system call. */
static inline bool thread_of_sleeps(pid_t pid, pid_t tid)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	while (state != 'S' && now_ms() < end) {
		nap();
		f = fopen(path, "r");
		if (!f)
			return false;
		if (fscanf(f, "%*d %*s %c", &state) != 1)
			state = 0;
		fclose(f);
	}
	return state == 'S';
}

static inline bool thread_sleeps(pid_t tid)
{
	return thread_of_sleeps(getpid(), tid);
}

/* A thread that stores its my_tid() in @tid, and sleeps by now. */
static inline pthread_t start_asleep(struct __test_metadata *_metadata, void *(*run)(void *), void *arg,
				     volatile pid_t *tid)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, run, arg));
	while (!*tid)
		nap();
	ASSERT_TRUE(thread_sleeps(*tid));
	return thread;
}

/* Have @thread handle a signal that catch_signal() was called for. */
static inline void interrupt(struct __test_metadata *_metadata, pthread_t thread, int sig)
{
	unsigned int before = rds_signals;
	int64_t end = now_ms() + RDS_WAIT_MS;

	ASSERT_EQ(0, pthread_kill(thread, sig));
	while (rds_signals == before) {
		ASSERT_LT(now_ms(), end);
		nap();
	}
}

/* --- counters ----------------------------------------------------------- */

#define RDS_MAX_COUNTERS	256

/* Read all counters: their number, or -errno. */
static inline int counters_read(int fd, struct rds_info_counter *table)
{
	socklen_t len = sizeof(*table) * RDS_MAX_COUNTERS;
	int stride = getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, table, &len);

	if (stride < 0)
		return -errno;
	return stride == sizeof(*table) ? (int)(len / stride) : -EPROTO;
}

/* One counter of this namespace, UINT64_MAX if there is none of that name. */
static inline uint64_t counter(int fd, const char *name)
{
	struct rds_info_counter table[RDS_MAX_COUNTERS];
	int i, n = counters_read(fd, table);

	for (i = 0; i < n; i++)
		if (!strncmp((char *)table[i].name, name, sizeof(table[i].name)))
			return table[i].value;
	return UINT64_MAX;
}

#endif /* RDS_TEST_H */
