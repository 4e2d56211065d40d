// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * AF_RDS for processes of one host without a kernel module, to be preloaded:
 * enough of it to drive rds-get and rds-serve through paths that take a lot of
 * time, or luck, in a virtual machine.
 *
 * Messages are Unix datagrams, keys stand in a table that the processes share
 * (the file FAKE_RDS), RDMA is process_vm_writev(2).
 *
 *   FAKE_RDS_DROP=N   every Nth RDMA write is reported as dropped; of these,
 *                     every other one did take place, its message included
 *   FAKE_RDS_FULL=N   every Nth send finds no room
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <librds.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_FDS		1024
#define MAX_MRS		4096
#define MAX_NOTIFY	512

struct key {
	_Atomic pid_t	pid;		/* 0: free */
	uint64_t	addr;
	uint64_t	len;
	uint32_t	generation;
};

/* The file FAKE_RDS, shared by all processes. */
struct shared {
	_Atomic uint64_t	to_user;
	_Atomic uint64_t	from_user;
	_Atomic uint64_t	rdma_copied;
	struct key		keys[MAX_MRS];
};

struct sock {
	int			used;
	struct rds_addr		local;
	unsigned int		nr_notify;
	struct rds_rdma_notify	notify[MAX_NOTIFY];
};

static struct sock socks[MAX_FDS];
static struct shared *shared;
static size_t pinned;
static unsigned long drop_every, full_every;

#define REAL(name) static __typeof__(name) *real_##name
REAL(socket);
REAL(bind);
REAL(getsockname);
REAL(setsockopt);
REAL(getsockopt);
REAL(sendmsg);
REAL(recvmsg);
REAL(ppoll);
REAL(close);
#define LOOK_UP(name) (real_##name = dlsym(RTLD_NEXT, #name))

static unsigned long number_from_env(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

/* Other libraries' constructors may make calls before ours has run. */
__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("FAKE_RDS");
	int fd;

	if (real_socket)
		return;
	LOOK_UP(socket);
	LOOK_UP(bind);
	LOOK_UP(getsockname);
	LOOK_UP(setsockopt);
	LOOK_UP(getsockopt);
	LOOK_UP(sendmsg);
	LOOK_UP(recvmsg);
	LOOK_UP(ppoll);
	LOOK_UP(close);
	drop_every = number_from_env("FAKE_RDS_DROP");
	full_every = number_from_env("FAKE_RDS_FULL");
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (!path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		abort();
	fchmod(fd, 0666);	/* refused to those who did not make it */
	if (ftruncate(fd, sizeof(*shared)) < 0)
		abort();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (shared == MAP_FAILED)
		abort();
	real_close(fd);
}

/* Is it one of ours? */
static struct sock *find(int fd)
{
	start();
	return fd >= 0 && fd < MAX_FDS && socks[fd].used ? &socks[fd] : NULL;
}

static int fail(int err)
{
	errno = err;
	return -1;
}

/* --- sockets --------------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
	int fd;

	start();
	if (domain != AF_RDS)
		return real_socket(domain, type, protocol);
	if (!shared)
		return fail(EAFNOSUPPORT);
	type = SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK));
	fd = real_socket(AF_UNIX, type, 0);
	if (fd >= 0)
		socks[fd] = (struct sock){ .used = 1 };
	return fd;
}

int close(int fd)
{
	struct sock *s = find(fd);

	if (s) {
		s->used = 0;
		for (int i = 0; i < MAX_MRS; i++)
			if (shared->keys[i].pid == getpid())
				shared->keys[i].pid = 0;
	}
	return real_close(fd);
}

static socklen_t unix_name(const struct rds_addr *addr, struct sockaddr_un *un)
{
	char text[LIBRDS_ADDR_STRLEN];

	if (addr->sa.sa_family == AF_INET)
		snprintf(text, sizeof(text), "%08x:%u", addr->in.sin_addr.s_addr,
			 ntohs(addr->in.sin_port));
	else
		snprintf(text, sizeof(text), "6:%02x:%u",
			 addr->in6.sin6_addr.s6_addr[15],
			 ntohs(addr->in6.sin6_port));
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return offsetof(struct sockaddr_un, sun_path) + 1 +
		snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "%s/%s",
			 getenv("FAKE_RDS"), text);
}

static int is_loopback(const struct rds_addr *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return ntohl(addr->in.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
}

int bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct sock *s = find(fd);
	struct rds_addr addr = { 0 };
	struct sockaddr_un un;
	int err, pick;

	if (!s)
		return real_bind(fd, sa, len);
	memcpy(&addr, sa, len < sizeof(addr) ? len : sizeof(addr));
	if (!is_loopback(&addr))
		return fail(EADDRNOTAVAIL);
	pick = !rds_addr_port(&addr);
	do {
		if (pick)	/* the same place in both kinds of address */
			addr.in.sin_port = htons(2 + random() % 65534);
		len = unix_name(&addr, &un);
		err = real_bind(fd, (struct sockaddr *)&un, len);
	} while (err && errno == EADDRINUSE && pick);
	if (!err)
		s->local = addr;
	return err;
}

int getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	struct sock *s = find(fd);

	if (!s)
		return real_getsockname(fd, sa, len);
	memcpy(sa, &s->local, *len < sizeof(s->local) ? *len : sizeof(s->local));
	*len = rds_addr_len(&s->local);
	return 0;
}

/* --- keys ------------------------------------------------------------------ */

static int get_mr(const struct rds_get_mr_args *args)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (pinned + args->vec.bytes > limit.rlim_cur)
		return fail(limit.rlim_cur ? ENOMEM : EPERM);
	for (int i = 0; i < MAX_MRS; i++) {
		struct key *key = &shared->keys[i];
		pid_t free_key = 0;
		uint64_t cookie;

		if (!atomic_compare_exchange_strong(&key->pid, &free_key, getpid()))
			continue;
		key->addr = args->vec.addr;
		key->len = args->vec.bytes;
		cookie = (uint64_t)++key->generation << 16 | i;
		*(uint64_t *)(uintptr_t)args->cookie_addr = cookie;
		pinned += args->vec.bytes;
		return 0;
	}
	return fail(ENOMEM);
}

static struct key *find_key(uint64_t cookie)
{
	struct key *key = &shared->keys[cookie & 0xffff];

	if ((cookie & 0xffff) >= MAX_MRS || cookie >> 16 != key->generation)
		return NULL;
	return key->pid ? key : NULL;
}

static int free_mr(const struct rds_free_mr_args *args)
{
	struct key *key = find_key(args->cookie);

	if (!key || key->pid != getpid())
		return fail(EINVAL);
	pinned -= key->len;
	key->pid = 0;
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (!find(fd) || level != SOL_RDS)
		return real_setsockopt(fd, level, name, value, len);
	switch (name) {
	case RDS_GET_MR:	return get_mr(value);
	case RDS_FREE_MR:	return free_mr(value);
	case RDS_CANCEL_SENT_TO: return 0;
	default:		return fail(ENOPROTOOPT);
	}
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct rds_info_counter counters[3] = {
		{ .name = "copy_to_user" },
		{ .name = "copy_from_user" },
		{ .name = "rdma_copied_bytes" },
	};

	if (!find(fd) || level != SOL_RDS)
		return real_getsockopt(fd, level, name, value, len);
	if (name != RDS_INFO_COUNTERS)
		return fail(ENOPROTOOPT);
	counters[0].value = shared->to_user;
	counters[1].value = shared->from_user;
	counters[2].value = shared->rdma_copied;
	if (*len < sizeof(counters)) {
		*len = sizeof(counters);
		return fail(ENOSPC);
	}
	memcpy(value, counters, sizeof(counters));
	*len = sizeof(counters);
	return sizeof(*counters);
}

/* --- sending --------------------------------------------------------------- */

static const struct rds_rdma_args *find_rdma(const struct msghdr *msg)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c))
		if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RDMA_ARGS)
			return (void *)CMSG_DATA(c);
	return NULL;
}

static void add_notify(struct sock *s, uint64_t token, int status)
{
	if (s->nr_notify == MAX_NOTIFY)
		abort();
	s->notify[s->nr_notify++] = (struct rds_rdma_notify){
		.user_token = token, .status = status,
	};
}

/* RDS_RDMA_*, or -1 and errno: nothing happened. */
static int write_to_peer(const struct rds_rdma_args *args)
{
	const struct rds_iovec *vec = (void *)(uintptr_t)args->local_vec_addr;
	struct key *key = find_key(args->cookie);
	struct iovec local = {
		.iov_base = (void *)(uintptr_t)vec->addr, .iov_len = vec->bytes,
	};
	struct iovec remote = { .iov_len = vec->bytes };
	char *copy = malloc(vec->bytes);
	struct iovec to = { .iov_base = copy, .iov_len = vec->bytes };
	ssize_t n;

	/* read first: the kernel pins the source before anything is sent */
	n = process_vm_readv(getpid(), &to, 1, &local, 1, 0);
	if (n != (ssize_t)vec->bytes) {
		free(copy);
		return fail(EFAULT);
	}
	if (!key || args->remote_vec.addr + vec->bytes > key->len) {
		free(copy);
		return RDS_RDMA_REMOTE_ERROR;
	}
	remote.iov_base = (void *)(uintptr_t)(key->addr + args->remote_vec.addr);
	n = process_vm_writev(key->pid, &to, 1, &remote, 1, 0);
	free(copy);
	return n == (ssize_t)vec->bytes ? RDS_RDMA_SUCCESS : RDS_RDMA_REMOTE_ERROR;
}

static ssize_t deliver(int fd, const struct msghdr *msg, int flags)
{
	struct rds_addr to = { 0 };
	struct sockaddr_un un;
	struct iovec iov[8];
	struct msghdr out = { .msg_name = &un, .msg_iov = iov };
	ssize_t n;

	memcpy(&to, msg->msg_name, msg->msg_namelen);
	out.msg_namelen = unix_name(&to, &un);
	iov[0].iov_base = &find(fd)->local;
	iov[0].iov_len = sizeof(struct rds_addr);
	out.msg_iovlen = 1 + msg->msg_iovlen;
	memcpy(iov + 1, msg->msg_iov, msg->msg_iovlen * sizeof(*iov));
	n = real_sendmsg(fd, &out, flags);
	if (n < 0 && (errno == ECONNREFUSED || errno == ENOENT))
		n = sizeof(struct rds_addr);
	if (n < 0)
		return n;
	n = 0;
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		n += msg->msg_iov[i].iov_len;
	shared->from_user += n;
	return n;
}

static ssize_t send_rdma(int fd, const struct msghdr *msg,
			 const struct rds_rdma_args *args, int flags)
{
	static unsigned long count;
	int drop = drop_every && ++count % drop_every == 0;
	int lost = drop && count / drop_every % 2;
	struct sock *s = find(fd);
	ssize_t n = msg->msg_iov[0].iov_len;
	int status = RDS_RDMA_SUCCESS;

	if (!lost) {
		status = write_to_peer(args);
		if (status < 0)
			return -1;
		if (status == RDS_RDMA_SUCCESS)
			n = deliver(fd, msg, flags);
		if (n < 0)
			return n;
		if (status == RDS_RDMA_SUCCESS)
			shared->rdma_copied += args->remote_vec.bytes;
	}
	add_notify(s, args->user_token, drop ? RDS_RDMA_DROPPED : status);
	return n;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static unsigned long count;
	const struct rds_rdma_args *args;

	if (!find(fd))
		return real_sendmsg(fd, msg, flags);
	if (full_every && ++count % full_every == 0)
		return fail(count / full_every % 2 ? EAGAIN : ENOBUFS);
	args = find_rdma(msg);
	return args ? send_rdma(fd, msg, args, flags) : deliver(fd, msg, flags);
}

/* --- receiving ------------------------------------------------------------- */

static ssize_t take_notifications(struct sock *s, struct msghdr *msg)
{
	size_t room = msg->msg_controllen / CMSG_SPACE(sizeof(*s->notify));
	unsigned int n = s->nr_notify < room ? s->nr_notify : room;
	struct cmsghdr *c = (void *)msg->msg_control;

	memset(msg->msg_control, 0, msg->msg_controllen);
	for (unsigned int i = 0; i < n; i++) {
		c->cmsg_level = SOL_RDS;
		c->cmsg_type = RDS_CMSG_RDMA_STATUS;
		c->cmsg_len = CMSG_LEN(sizeof(*s->notify));
		memcpy(CMSG_DATA(c), &s->notify[i], sizeof(*s->notify));
		c = (void *)((char *)c + CMSG_SPACE(sizeof(*s->notify)));
	}
	msg->msg_controllen = n * CMSG_SPACE(sizeof(*s->notify));
	msg->msg_namelen = 0;
	msg->msg_flags = 0;
	s->nr_notify -= n;
	memmove(s->notify, s->notify + n, s->nr_notify * sizeof(*s->notify));
	return 0;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sock *s = find(fd);
	struct rds_addr from;
	struct iovec iov[8] = { { &from, sizeof(from) } };
	struct msghdr in = { .msg_iov = iov, .msg_iovlen = 1 + msg->msg_iovlen };
	ssize_t n;

	if (!s)
		return real_recvmsg(fd, msg, flags);
	if (s->nr_notify)
		return take_notifications(s, msg);
	memcpy(iov + 1, msg->msg_iov, msg->msg_iovlen * sizeof(*iov));
	n = real_recvmsg(fd, &in, flags);
	if (n < 0)
		return n;
	if (msg->msg_name)
		memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = rds_addr_len(&from);
	msg->msg_controllen = 0;
	msg->msg_flags = in.msg_flags & MSG_TRUNC;
	shared->to_user += n - sizeof(from);
	return n - sizeof(from);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	  const sigset_t *mask)
{
	static const struct timespec now;

	for (nfds_t i = 0; i < count; i++) {
		struct sock *s = find(fds[i].fd);

		if (s && s->nr_notify)
			timeout = &now;
	}
	return real_ppoll(fds, count, timeout, mask);
}
