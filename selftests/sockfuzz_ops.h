/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Random socket calls: the calls. */
#ifndef SOCKFUZZ_OPS_H
#define SOCKFUZZ_OPS_H

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "sockfuzz_gen.h"

#define FZ_CHILD_CALLS	4
#define FZ_BUF		256	/* bytes on the stack that the kernel may write to */

static long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* --- the table of sockets --- */

/* Put @fd into slot @slot; what was there is closed, maybe in the midst of another thread's call. */
static long put_socket(struct fz_call *c, unsigned int slot, int fd)
{
	int old = __atomic_exchange_n(&c->w->fd[slot], fd, __ATOMIC_ACQ_REL);

	fz_note(c, " into #%u", slot);
	return old >= 0 ? result(close(old)) : 0;
}

/* So that most calls which may wait do not wait for long. */
static void set_patience(struct fz_call *c, int fd)
{
	struct timeval tv = { .tv_usec = 20000 };
	int size = 1 << fz_below(c, 20);

	if (!fz_rare(c, 4)) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	}
	if (fz_rare(c, 3))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (fz_rare(c, 3))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static long op_socket(struct fz_call *c)
{
	int type = fz_rare(c, 20) ? fz_below(c, 11) : SOCK_SEQPACKET;
	int protocol = fz_rare(c, 20) ? fz_u64(c) : 0;
	int fd;

	if (fz_rare(c, 3))
		type |= SOCK_NONBLOCK;
	fd = socket(AF_RDS, type, protocol);
	if (fd < 0)
		return -errno;
	set_patience(c, fd);
	return put_socket(c, fz_below(c, FZ_SOCKS), fd);
}

static long op_bind(struct fz_call *c)
{
	int fd = fz_socket(c);
	union rds_addr a;
	socklen_t len = fz_addr(c, &a);

	return result(bind(fd, fz_pointer(c, &a), len));
}

/* What most programs do first. */
static long op_open(struct fz_call *c)
{
	union rds_addr a;
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0)
		return -errno;
	set_patience(c, fd);
	fz_peer(c, &a);
	if (bind(fd, &a.sa, addr_len(&a))) {
		close(fd);
		return -errno;
	}
	return put_socket(c, fz_below(c, FZ_SOCKS), fd);
}

static long op_connect(struct fz_call *c)
{
	int fd = fz_socket(c);
	union rds_addr a;
	socklen_t len = fz_addr(c, &a);

	return result(connect(fd, fz_pointer(c, &a), len));
}

static long op_names(struct fz_call *c)
{
	char buf[FZ_BUF];
	socklen_t len = fz_rare(c, 4) ? fz_u64(c) : sizeof(union rds_addr);
	int fd = fz_socket(c);

	/* the kernel never writes more than an address, whatever length it is told */
	if (fz_rare(c, 2))
		return result(getsockname(fd, fz_pointer(c, buf), fz_pointer(c, &len)));
	return result(getpeername(fd, fz_pointer(c, buf), fz_pointer(c, &len)));
}

static long op_close(struct fz_call *c)
{
	unsigned int slot = fz_below(c, FZ_SOCKS);

	return put_socket(c, slot, -1);
}

static long op_dup(struct fz_call *c)
{
	int fd = dup(fz_socket(c));

	return fd < 0 ? -errno : put_socket(c, fz_below(c, FZ_SOCKS), fd);
}

static long op_unsupported(struct fz_call *c)
{
	int fd = fz_socket(c), two[2];
	void *p;

	switch (fz_below(c, 6)) {
	case 0:
		return result(listen(fd, fz_below(c, 9)));
	case 1:
		return result(accept4(fd, NULL, NULL, SOCK_NONBLOCK));
	case 2:
		return result(shutdown(fd, fz_below(c, 4)));
	case 3:
		return result(socketpair(AF_RDS, SOCK_SEQPACKET, 0, two));
	case 4:
		return result(lseek(fd, 1, SEEK_SET));
	default:
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		return p == MAP_FAILED ? -errno : munmap(p, 4096);
	}
}

static long op_ioctl(struct fz_call *c)
{
	static const unsigned long cmd[] = {
		SIOCRDSSETTOS, SIOCRDSGETTOS, FIONREAD, SIOCOUTQ, FIONBIO, FIOASYNC, SIOCGSTAMP,
		SIOCPROTOPRIVATE + 2, 0x8910 /* SIOCGIFNAME */, 0x8912 /* SIOCGIFCONF */,
	};
	int fd = fz_socket(c);
	char buf[FZ_BUF] = "";

	buf[0] = fz_below(c, 3);	/* of each type of service there is another connection */
	return result(ioctl(fd, cmd[fz_below(c, ARRAY_SIZE(cmd))], fz_pointer(c, buf)));
}

static long op_fcntl(struct fz_call *c)
{
	int fd = fz_socket(c);

	/* most sockets shall not wait */
	return result(fcntl(fd, F_SETFL, fz_rare(c, 4) ? 0 : O_NONBLOCK));
}

/* --- sending --- */

static void make_message(struct fz_call *c, struct rds_msg_out *m, struct rds_iovec *local,
			 struct iovec *iov)
{
	size_t len = fz_length(c);
	unsigned int i, nr;

	msg_init(m, NULL, fz_place(c, len), len);
	if (!fz_rare(c, 10)) {
		m->hdr.msg_namelen = fz_addr(c, &m->to);
		m->hdr.msg_name = fz_pointer(c, &m->to);
	}
	if (fz_rare(c, 3))
		fz_control(c, m, local);
	if (!fz_rare(c, 16))
		return;
	nr = fz_below(c, 9);
	for (i = 0; i < nr; i++) {
		iov[i].iov_len = fz_length(c) / nr;
		iov[i].iov_base = fz_place(c, iov[i].iov_len);
	}
	m->hdr.msg_iov = fz_pointer(c, iov);
	m->hdr.msg_iovlen = fz_rare(c, 32) ? fz_u64(c) : nr;
}

static long op_sendmsg(struct fz_call *c)
{
	struct rds_iovec local[16] = {};
	struct rds_msg_out m;
	struct iovec iov[8] = {};
	int fd = fz_socket(c);

	make_message(c, &m, local, iov);
	return result(sendmsg(fd, fz_pointer(c, &m.hdr), fz_msg_flags(c)));
}

static long op_sendmmsg(struct fz_call *c)
{
	struct rds_iovec local[16] = {};
	struct mmsghdr two[2] = {};
	struct rds_msg_out m;
	struct iovec iov[8] = {};
	int fd = fz_socket(c);

	make_message(c, &m, local, iov);
	two[0].msg_hdr = two[1].msg_hdr = m.hdr;
	return result(sendmmsg(fd, two, 2, fz_msg_flags(c)));
}

static long op_write(struct fz_call *c)
{
	int fd = fz_socket(c);
	size_t len = fz_length(c);
	void *place = fz_place(c, len);
	struct iovec iov[2] = { { place, len / 2 }, { place, len - len / 2 } };

	if (fz_rare(c, 2))
		return result(writev(fd, iov, 2));
	return result(write(fd, place, len));
}

/* From a pipe to a socket, or back: pages that are not the caller's. */
static long op_splice(struct fz_call *c)
{
	int fd = fz_socket(c), two[2];
	size_t len = fz_below(c, 20000);
	bool in = fz_rare(c, 2);
	long ret;

	if (pipe2(two, O_NONBLOCK))
		return -errno;
	ret = write(two[1], "splice", fz_below(c, 7));
	if (in)
		ret = splice(fd, NULL, two[1], NULL, len, SPLICE_F_NONBLOCK);
	else
		ret = splice(two[0], NULL, fd, NULL, len, SPLICE_F_NONBLOCK);
	ret = result(ret);
	close(two[0]);
	close(two[1]);
	return ret;
}

/* --- receiving --- */

static long op_recvmsg(struct fz_call *c)
{
	_Alignas(struct cmsghdr) char control[1024];
	int fd = fz_socket(c);
	size_t len = fz_length(c);
	struct iovec iov = { fz_place(c, len), len };
	union rds_addr from;
	struct msghdr msg = {
		.msg_name = fz_pointer(c, &from), .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = fz_pointer(c, control),
		.msg_controllen = fz_rare(c, 3) ? fz_below(c, 64) : sizeof(control),
	};

	return result(recvmsg(fd, fz_pointer(c, &msg), fz_msg_flags(c)));
}

static long op_read(struct fz_call *c)
{
	int fd = fz_socket(c);
	size_t len = fz_length(c);

	if (fz_rare(c, 2))
		return result(recv(fd, fz_place(c, len), len, fz_msg_flags(c) | MSG_DONTWAIT));
	return result(read(fd, fz_place(c, len), len));
}

/* Everything that one socket has: without it all of them would soon be congested. */
static long op_drain(struct fz_call *c)
{
	_Alignas(struct cmsghdr) char control[256];
	struct iovec iov = { c->w->arena, 1 };
	int fd = fz_socket(c);
	long n = 0;

	for (;;) {
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};

		if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0 || ++n == 1000)
			return n;
	}
}

static long op_poll(struct fz_call *c)
{
	struct pollfd pfd[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pfd); i++)
		pfd[i] = (struct pollfd){ .fd = fz_socket(c), .events = fz_u64(c) };
	return result(poll(pfd, ARRAY_SIZE(pfd), fz_below(c, 5)));
}

static long op_epoll(struct fz_call *c)
{
	struct epoll_event ev = { .events = fz_u64(c) & ~EPOLLWAKEUP }, out[4];
	int ep = epoll_create1(0);
	long ret;

	if (ep < 0)
		return -errno;
	epoll_ctl(ep, EPOLL_CTL_ADD, fz_socket(c), &ev);
	epoll_ctl(ep, EPOLL_CTL_ADD, fz_socket(c), &ev);
	ret = result(epoll_wait(ep, out, ARRAY_SIZE(out), fz_below(c, 5)));
	close(ep);
	return ret;
}

/* --- options --- */

static long op_get_mr(struct fz_call *c)
{
	int fd = fz_socket(c);
	size_t len = fz_length(c);
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)fz_place(c, len), len },
		.flags = fz_rdma_flags(c),
	};

	args.cookie_addr = (uintptr_t)fz_pointer(c, &c->w->key[fz_below(c, FZ_KEYS)]);
	return result(setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)));
}

static long op_free_mr(struct fz_call *c)
{
	int fd = fz_socket(c);
	struct rds_free_mr_args args = { .cookie = fz_key(c), .flags = fz_rdma_flags(c) };

	return result(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)));
}

static long op_cancel(struct fz_call *c)
{
	int fd = fz_socket(c);
	union rds_addr a;
	socklen_t len = fz_addr(c, &a);

	return result(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, fz_pointer(c, &a), len));
}

/* Those of SOL_SOCKET that the generic layer keeps for us; not SO_LINGER, which may make close() wait. */
static long op_setsockopt(struct fz_call *c)
{
	static const int generic[] = {
		SO_SNDBUF, SO_RCVBUF, SO_TIMESTAMP, SO_TIMESTAMPNS, 63 /* SO_TIMESTAMP_NEW */,
		SO_REUSEADDR, SO_ZEROCOPY, SO_PRIORITY, SO_MARK, SO_BUSY_POLL, SO_PASSCRED,
		SO_RXQ_OVFL, SO_INCOMING_CPU, SO_TIMESTAMPING,
	};
	int fd = fz_socket(c), level = fz_rare(c, 3) ? SOL_SOCKET : SOL_RDS;
	int opt = level == SOL_RDS ? (int)fz_below(c, 70) : generic[fz_below(c, ARRAY_SIZE(generic))];
	uint64_t value[21];
	socklen_t len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(value); i++)
		value[i] = fz_rare(c, 4) ? fz_u64(c) : fz_below(c, 2);
	len = fz_rare(c, 3) ? fz_below(c, sizeof(value) + 1) : sizeof(int);
	if (fz_rare(c, 64))
		level = fz_u64(c);
	fz_note(c, " %d/%d len=%u", level, opt, len);
	return result(setsockopt(fd, level, opt, fz_pointer(c, value), len));
}

static long op_getsockopt(struct fz_call *c)
{
	int fd = fz_socket(c), level = fz_rare(c, 4) ? SOL_SOCKET : SOL_RDS;
	int opt = fz_rare(c, 2) ? fz_below(c, 80) : RDS_INFO_FIRST + fz_below(c, 20);
	socklen_t len = fz_length(c);
	void *place = fz_place(c, len);

	if (fz_rare(c, 16))
		len = fz_u64(c);
	fz_note(c, " %d/%d len=%u", level, opt, len);
	return result(getsockopt(fd, level, opt, place, fz_pointer(c, &len)));
}

/* --- memory --- */

static void *arena_pages(struct fz_call *c, size_t *len)
{
	unsigned int pages = FZ_ARENA / 4096, first = fz_below(c, pages);
	unsigned int nr = 1 + fz_below(c, fz_rare(c, 8) ? 256 : 8);

	if (nr > pages - first)
		nr = pages - first;
	*len = nr * 4096ul;
	fz_note(c, " page %u+%u", first, nr);
	return c->w->arena + first * 4096ul;
}

/* New pages, or none, in place of what was there: registered memory loses its mapping. */
static long op_remap(struct fz_call *c)
{
	size_t len;
	char *p = arena_pages(c, &len);
	int prot = fz_rare(c, 8) ? PROT_NONE : fz_rare(c, 4) ? PROT_READ : PROT_READ | PROT_WRITE;
	bool file = p >= c->w->arena + FZ_HALF;
	void *got;

	got = mmap(p, len, prot, MAP_FIXED | (file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
		   file ? c->w->arena_fd : -1, file ? p - c->w->arena - FZ_HALF : 0);
	return got == MAP_FAILED ? -errno : 0;
}

/* The pages go elsewhere, and none are left where they were. */
static long op_move(struct fz_call *c)
{
	size_t len, other;
	char *from = arena_pages(c, &len), *to = arena_pages(c, &other);

	if (other < len)
		len = other;
	from = mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED | 4 /* MREMAP_DONTUNMAP */, to);
	return from == MAP_FAILED ? -errno : 0;
}

static long op_protect(struct fz_call *c)
{
	size_t len;
	void *p = arena_pages(c, &len);

	return result(mprotect(p, len, fz_rare(c, 4) ? PROT_NONE : fz_rare(c, 4) ? PROT_READ :
			       PROT_READ | PROT_WRITE));
}

static long op_advise(struct fz_call *c)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_WILLNEED, MADV_DONTFORK, MADV_DOFORK,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_WIPEONFORK, MADV_KEEPONFORK,
		20 /* MADV_COLD */, 21 /* MADV_PAGEOUT */, 25 /* MADV_COLLAPSE */,
	};
	size_t len;
	void *p = arena_pages(c, &len);

	return result(madvise(p, len, advice[fz_below(c, ARRAY_SIZE(advice))]));
}

static long op_truncate(struct fz_call *c)
{
	off_t size = fz_below(c, FZ_HALF);

	if (fz_rare(c, 2))
		return result(fallocate(c->w->arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					size, fz_below(c, 100000) + 1));
	if (ftruncate(c->w->arena_fd, size))
		return -errno;
	return result(ftruncate(c->w->arena_fd, FZ_HALF));
}

static long op_fill(struct fz_call *c)
{
	size_t len = fz_below(c, 8192);

	return result(getrandom(fz_place(c, len), len, 0));
}

static long op_lock(struct fz_call *c)
{
	size_t len;
	void *p = arena_pages(c, &len);

	return result(fz_rare(c, 2) ? mlock(p, len) : munlock(p, len));
}

/* --- processes --- */

static long fz_call(struct fz_call *c);

/* A child has our sockets, and copies of our memory; it may end in the midst of a call. */
static void in_fork(struct fz_call *c)
{
	unsigned int i;

	signal(SIGALRM, SIG_DFL);
	alarm(1);
	c->in_child = true;
	if (fz_rare(c, 4))
		munmap(c->w->arena, FZ_ARENA);
	if (fz_rare(c, 8))
		unshare(CLONE_NEWUSER | CLONE_NEWNET);
	for (i = 0; i < FZ_CHILD_CALLS; i++)
		fz_call(c);
}

static long op_fork(struct fz_call *c)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return -errno;
	if (!pid) {
		in_fork(c);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* --- one call --- */

static const struct fz_op {
	const char	*name;
	unsigned int	weight;
	long		(*run)(struct fz_call *c);
} ops[] = {
	{ "open", 30, op_open }, { "socket", 6, op_socket }, { "bind", 8, op_bind },
	{ "connect", 10, op_connect }, { "names", 4, op_names }, { "close", 14, op_close },
	{ "dup", 6, op_dup }, { "unsupported", 3, op_unsupported }, { "ioctl", 4, op_ioctl },
	{ "fcntl", 3, op_fcntl }, { "sendmsg", 160, op_sendmsg }, { "sendmmsg", 10, op_sendmmsg },
	{ "write", 16, op_write }, { "splice", 6, op_splice }, { "recvmsg", 60, op_recvmsg },
	{ "read", 30, op_read }, { "drain", 40, op_drain }, { "poll", 10, op_poll },
	{ "epoll", 8, op_epoll }, { "get_mr", 60, op_get_mr }, { "free_mr", 20, op_free_mr },
	{ "cancel", 8, op_cancel }, { "setsockopt", 20, op_setsockopt },
	{ "getsockopt", 14, op_getsockopt }, { "remap", 16, op_remap }, { "move", 10, op_move },
	{ "protect", 10, op_protect }, { "advise", 16, op_advise }, { "truncate", 6, op_truncate },
	{ "fill", 14, op_fill }, { "lock", 3, op_lock }, { "fork", 3, op_fork },
};

static const struct fz_op *choose(struct fz_call *c)
{
	static unsigned int total;
	unsigned int i, n, sum = 0;

	if (!total) {
		for (i = 0; i < ARRAY_SIZE(ops); i++)
			sum += ops[i].weight;
		__atomic_store_n(&total, sum, __ATOMIC_RELAXED);
	}
	n = fz_below(c, total);
	for (i = 0; n >= ops[i].weight; i++)
		n -= ops[i].weight;
	return &ops[i];
}

static long fz_call(struct fz_call *c)
{
	const struct fz_op *op = choose(c);

	/* a tree of processes would help nobody */
	if (c->in_child && op->run == op_fork)
		op = &ops[0];
	fz_note(c, "%s", op->name);
	return op->run(c);
}

/* Call number @n of @thread. */
static void fz_run(struct fz_world *w, unsigned int thread, uint64_t n)
{
	struct fz_thread *t = &w->shared->thread[thread];
	struct fz_call c = {
		.w = w, .t = t,
		.rng = fz_mix(w->seed ^ fz_mix((uint64_t)thread << 56 ^ (n + 1))),
		.text = t->ring[n % FZ_RING],
	};
	long ret;

	fz_note(&c, "%u.%llu: ", thread, (unsigned long long)n);
	__atomic_store_n(&t->since, now_ms(), __ATOMIC_RELAXED);
	ret = fz_call(&c);
	__atomic_store_n(&t->since, 0, __ATOMIC_RELAXED);
	fz_note(&c, " = %ld", ret);
	__atomic_store_n(&t->calls, n + 1, __ATOMIC_RELAXED);
	if (w->verbose)
		printf("# %s\n", c.text);
}

#endif /* SOCKFUZZ_OPS_H */
