// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions, RDMA and notifications: socket-rdma [ADDR PEER], both
 * addresses of this machine.  Needs rds_sockets.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sockets.h"

#define SIZE	16384

/* The buffer that is written to and read from, with space on both sides. */
static unsigned char arena[SIZE + 8192];
static unsigned char *const remote = arena + 4096;
static unsigned char local[SIZE];

static void fill(unsigned char *p, size_t len, unsigned int seed)
{
	while (len--)
		*p++ = seed = seed * 1103515245 + 12345;
}

/* Everything in the arena but [from, from + len) is still zero. */
static int zero_around(size_t from, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(arena); i++)
		if (arena[i] && (arena + i < remote + from || arena + i >= remote + from + len))
			return 0;
	return 1;
}

/* The next notification is for this token and ended like this. */
static int ended(const struct end *end, uint64_t token, int status)
{
	struct rds_rdma_notify notify;
	int ret;

	ret = rds_wait_notify(end->fd, &notify, PATIENCE);
	if (ret) {
		printf("# waiting: %s\n", rds_explain(RDS_CALL_RECV, ret));
		return 0;
	}
	if (notify.user_token != token || notify.status != status)
		printf("# token %llu ended with %s\n", (unsigned long long)notify.user_token,
		       rds_status_name(notify.status));
	return notify.user_token == token && notify.status == status;
}

static uint64_t get_mr(const struct end *end, void *buf, size_t len, uint64_t flags)
{
	uint64_t cookie = 0;

	need(rds_get_mr(end->fd, buf, len, flags, &cookie), "rds_get_mr");
	return cookie;
}

/* One buffer's operation with a notification. */
static ssize_t rdma(const struct end *a, const struct end *b, int write,
		    uint64_t cookie, uint64_t offset, size_t len, uint64_t token)
{
	struct iovec iov = { local, len };
	struct rds_rdma op = { .cookie = cookie, .offset = offset, .iov = &iov, .iovcnt = 1,
			       .flags = RDS_RDMA_NOTIFY_ME, .token = token };

	return write ? rds_rdma_write(a->fd, &b->addr, &op, "OK", 2) :
		       rds_rdma_read(a->fd, &b->addr, &op, "OK", 2);
}

/* Runs first: nothing has been sent, so that there is no connection yet. */
static void test_first_write(const struct end *a, const struct end *b)
{
	uint64_t cookie = 0;
	struct rds_incoming in;

	fill(local, SIZE, 1);
	is_err(rds_get_mr(b->fd, remote, SIZE, RDS_RDMA_READWRITE, &cookie), 0,
	       "get_mr before any connection");
	ok(cookie != 0, "the cookie is not 0");
	is_err(rdma(a, b, 1, cookie, 0, SIZE, 11), 2, "write");
	ok(got_text(b, "OK", &in), "the message behind it");
	ok(!memcmp(remote, local, SIZE), "the bytes were there before the message");
	ok(zero_around(0, SIZE), "and none beside them");
	ok(ended(a, 11, RDS_RDMA_SUCCESS), "notification");
	is_err(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), 0, "free_mr");
	is_err(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), -EINVAL, "free_mr twice");
	is_err(rds_free_mr(a->fd, 12345, 0), -EINVAL, "free_mr of what never was");
}

static void test_unaligned(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote + 13, 5000, RDS_RDMA_READWRITE);
	struct rds_incoming in;

	memset(arena, 0, sizeof(arena));
	fill(local, SIZE, 2);
	is_err(rdma(a, b, 1, cookie, 1001, 3333, 12), 2, "write at odd offsets");
	ok(got_text(b, "OK", &in) && !memcmp(remote + 13 + 1001, local, 3333), "the bytes");
	ok(zero_around(13 + 1001, 3333), "none beside them");
	ok(ended(a, 12, RDS_RDMA_SUCCESS), "notification");
	is_err(rdma(a, b, 0, cookie, 1000, 3335, 13), 2, "read at odd offsets");
	ok(ended(a, 13, RDS_RDMA_SUCCESS) && !memcmp(local, remote + 13 + 1000, 3335), "the bytes");
	ok(got_text(b, "OK", &in), "the message behind the read");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
}

/* The initiator learns of it, nothing changes, and the socket goes on working. */
static void refused(const struct end *a, const struct end *b, int write, uint64_t cookie,
		    uint64_t offset, size_t len, const char *name)
{
	struct rds_incoming in;

	memset(arena, 0, sizeof(arena));
	fill(local, SIZE, 3);
	ok(rdma(a, b, write, cookie, offset, len, 14) == 2 &&
	   ended(a, 14, RDS_RDMA_REMOTE_ERROR), "%s: REMOTE_ERROR", name);
	ok(zero_around(0, 0), "%s: nothing changed", name);
	need(rds_send(a->fd, &b->addr, "still here", 10, 0), "send");
	while (got_text(b, "OK", &in))	/* whether it comes is not what this is about */
		;
	ok(in.what & LIBRDS_IN_MESSAGE && in.len == 10, "%s: messages still arrive", name);
}

static void test_refused(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote, 4096, RDS_RDMA_READWRITE);
	struct rds_incoming in;
	void *constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t readable = get_mr(b, constant, 4096, 0);

	refused(a, b, 1, cookie, 4090, 7, "write beyond the end");
	refused(a, b, 0, cookie, 4090, 7, "read beyond the end");
	refused(a, b, 1, readable, 0, 16, "write to read-only memory");
	is(*(unsigned char *)constant, 0, "write to read-only memory: it is as it was");
	is_err(rdma(a, b, 0, readable, 0, 4096, 18), 2, "read from read-only memory");
	ok(ended(a, 18, RDS_RDMA_SUCCESS) && !local[0] && !local[4095], "the bytes");
	ok(got_text(b, "OK", &in), "the message behind it");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
	need(rds_free_mr(b->fd, readable, RDS_RDMA_INVALIDATE), "rds_free_mr");
	munmap(constant, 4096);
	refused(a, b, 1, cookie, 0, 16, "write with a freed cookie");
}

static void test_pieces(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote, SIZE, RDS_RDMA_READWRITE);
	struct iovec iov[LIBRDS_IOV_MAX];
	struct rds_rdma op = { .cookie = cookie, .iov = iov, .iovcnt = LIBRDS_IOV_MAX,
			       .flags = RDS_RDMA_NOTIFY_ME, .token = 15 };
	struct rds_incoming in;
	int i, wrong = 0;

	memset(arena, 0, sizeof(arena));
	fill(local, SIZE, 4);
	for (i = 0; i < LIBRDS_IOV_MAX; i++)	/* backwards, so that order matters */
		iov[i] = (struct iovec){ local + (LIBRDS_IOV_MAX - 1 - i) * 16 + 3, 9 };
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "OK", 2), 2, "write of 1024 pieces");
	ok(got_text(b, "OK", &in) && ended(a, 15, RDS_RDMA_SUCCESS), "it ends well");
	for (i = 0; i < LIBRDS_IOV_MAX; i++)
		wrong += memcmp(remote + i * 9, iov[i].iov_base, 9) != 0;
	is(wrong, 0, "all pieces, in order");

	memset(local, 0, SIZE);
	is_err(rds_rdma_read(a->fd, &b->addr, &op, "OK", 2), 2, "read into 1024 pieces");
	ok(ended(a, 15, RDS_RDMA_SUCCESS) && got_text(b, "OK", &in), "it ends well");
	for (wrong = 0, i = 0; i < LIBRDS_IOV_MAX; i++)
		wrong += memcmp(remote + i * 9, iov[i].iov_base, 9) != 0;
	is(wrong, 0, "all pieces, in order");
	is(local[0] | local[2] | local[12] | local[SIZE - 1], 0, "nothing between them");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
}

static void test_bad_operations(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote, SIZE, RDS_RDMA_READWRITE);
	struct iovec iov = { local, 16 };
	struct rds_rdma op = { .cookie = cookie, .iov = &iov };

	is_err(rds_rdma_write(a->fd, &b->addr, &op, "", 0), -EINVAL, "no local piece");
	op.iovcnt = 1;
	op.length = 15;
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "", 0), -EINVAL, "more local than remote bytes");
	op.length = LIBRDS_RDMA_MAX + 1;
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "", 0), -EMSGSIZE, "more than 1 MiB");
	op.length = 0;
	iov.iov_base = NULL;
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "", 0), -EFAULT, "local memory that is not there");
	iov.iov_len = 0;
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "", 0), -EINVAL, "an empty piece");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
}

/* A file mapped read-only can be the source of a write, and not the target of a read. */
static void test_read_only(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote, SIZE, RDS_RDMA_READWRITE);
	char path[] = "/tmp/librds-XXXXXX";
	int file = need(mkstemp(path), "mkstemp");
	struct iovec iov = { .iov_len = SIZE };
	struct rds_rdma op = { .cookie = cookie, .iov = &iov, .iovcnt = 1,
			       .flags = RDS_RDMA_NOTIFY_ME, .token = 16 };
	struct rds_incoming in;

	fill(local, SIZE, 5);
	need(write(file, local, SIZE) == SIZE ? 0 : -EIO, "write");
	close(file);
	file = need(open(path, O_RDONLY), "open");
	iov.iov_base = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	need(iov.iov_base == MAP_FAILED ? -ENOMEM : 0, "mmap");
	memset(arena, 0, sizeof(arena));
	is_err(rds_rdma_write(a->fd, &b->addr, &op, "OK", 2), 2, "write from a read-only file mapping");
	ok(got_text(b, "OK", &in) && !memcmp(remote, local, SIZE), "the bytes");
	ok(ended(a, 16, RDS_RDMA_SUCCESS), "notification");
	is_err(rds_rdma_read(a->fd, &b->addr, &op, "OK", 2), -EFAULT, "read into a read-only file mapping");
	is_err(rds_get_mr(b->fd, iov.iov_base, SIZE, RDS_RDMA_READWRITE, &cookie), -EFAULT,
	       "get_mr for writing of a read-only file mapping");
	need(rds_free_mr(b->fd, op.cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
	munmap(iov.iov_base, SIZE);
	close(file);
	unlink(path);
}

static void test_cookies_on_the_way(const struct end *a, const struct end *b)
{
	uint64_t mapped = 0, cookie = get_mr(b, remote, SIZE, RDS_RDMA_READWRITE);
	struct rds_map map = { .buf = remote, .len = SIZE, .cookie = &mapped,
			       .flags = RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE };
	struct iovec iov = { "take", 4 };
	struct rds_outgoing out = { .to = &a->addr, .iov = &iov, .iovcnt = 1, .dest = cookie };
	struct rds_incoming in;

	is_err(rds_sendmsg(b->fd, &out, 0), 4, "send with a cookie");
	ok(got_text(a, "take", &in) && in.what & LIBRDS_IN_COOKIE && in.cookie == cookie,
	   "it arrives with the cookie");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
	is_err(rds_sendmsg(b->fd, &out, 0), -EINVAL, "send with a freed cookie");

	out.dest = 0;
	out.map = &map;
	is_err(rds_sendmsg(b->fd, &out, 0), 4, "send and map");
	ok(mapped != 0, "the cookie is known at once");
	ok(got_text(a, "take", &in) && in.what & LIBRDS_IN_COOKIE && in.cookie == mapped,
	   "and arrives");
	fill(local, SIZE, 6);
	is_err(rdma(a, b, 1, in.cookie, 0, SIZE, 17), 2, "write with it");
	ok(got_text(b, "OK", &in) && !memcmp(remote, local, SIZE), "the bytes");
	ok(ended(a, 17, RDS_RDMA_SUCCESS), "notification");
	refused(a, b, 1, mapped, 0, 16, "a use-once cookie twice");
}

/* Notifications come alone, in order, and leave messages where they are. */
static void test_notifications(const struct end *a, const struct end *b)
{
	uint64_t cookie = get_mr(b, remote, SIZE, RDS_RDMA_READWRITE);
	uint64_t token, next = 0;
	struct rds_incoming in;
	char buf[16];
	ssize_t len;
	int fine = 1;

	need(rds_send(b->fd, &a->addr, "unread", 6, 0), "send");
	for (token = 0; token < 40; token++) {
		need(rdma(a, b, 1, cookie, token * 16, 16, token), "write");
		fine &= got_text(b, "OK", &in);
	}
	ok(fine, "40 writes arrived");
	ok(ended(a, next++, RDS_RDMA_SUCCESS), "waiting finds the first, past an unread message");
	while (next < 40) {
		len = rds_recv_timeout(a->fd, buf, sizeof(buf), &in, PATIENCE);
		if (len < 0)
			break;
		if (in.what & LIBRDS_IN_MESSAGE)	/* the last are not due yet */
			continue;
		for (len = 0; (uint32_t)len < in.nr_notify; len++)
			fine &= in.notify[len].user_token == next++ && !in.notify[len].status;
	}
	is(next, 40, "one notification for each write");
	ok(fine, "in order, all successful");
	need(rds_free_mr(b->fd, cookie, RDS_RDMA_INVALIDATE), "rds_free_mr");
}

/* In a child: what an unprivileged user gets for @len bytes under this limit. */
static int get_mr_limited(const char *addr, rlim_t limit, size_t len)
{
	struct rlimit memlock = { limit, limit };
	uint64_t cookie;
	int status, fd;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &memlock) || setuid(65534))
			_exit(255);
		fd = rds_open(addr, 0);
		_exit(fd < 0 ? 254 : -rds_get_mr(fd, arena, len, RDS_RDMA_READWRITE, &cookie));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return -WEXITSTATUS(status);
}

static void test_limits(const char *addr)
{
	struct end end = open_end(addr);
	static unsigned char big[LIBRDS_RDMA_MAX];
	uint64_t cookie;

	is_err(get_mr_limited(addr, 0, 4096), -EPERM, "get_mr: limit on locked memory 0");
	is_err(get_mr_limited(addr, 8192, 16384), -ENOMEM, "get_mr: limit reached");
	is_err(get_mr_limited(addr, 65536, 4096), 0, "get_mr: within the limit");
	is_err(rds_get_mr(end.fd, arena, 0, 0, &cookie), -EINVAL, "get_mr: nothing");
	is_err(rds_get_mr(end.fd, NULL, 4096, 0, &cookie), -EFAULT, "get_mr: what is not there");
	is_err(rds_get_mr(end.fd, arena, SIZE_MAX, 0, &cookie), -EINVAL, "get_mr: a range that wraps");
	is_err(rds_get_mr(end.fd, big, 1ULL << 33, RDS_RDMA_READWRITE, &cookie), -EMSGSIZE,
	       "get_mr: more than any device registers");
	is_err(rds_get_mr(end.fd, big, LIBRDS_RDMA_MAX, RDS_RDMA_READWRITE, &cookie), 0, "get_mr: 1 MiB");
	is_err(rds_get_mr_for_dest(end.fd, &end.addr, arena, 4096, RDS_RDMA_READWRITE, &cookie), 0,
	       "get_mr_for_dest");
	close(end.fd);
	end.fd = need(rds_open(NULL, 0), "unbound socket");
	is_err(rds_get_mr(end.fd, arena, 4096, 0, &cookie), -ENOTCONN, "get_mr: unbound");
	close(end.fd);
}

int main(int argc, char **argv)
{
	struct end a = open_end(addr_of(argc, argv, 1));
	struct end b = open_end(addr_of(argc, argv, 2));

	prefix_names(argc, argv);
	test_first_write(&a, &b);
	test_unaligned(&a, &b);
	test_refused(&a, &b);
	test_pieces(&a, &b);
	test_bad_operations(&a, &b);
	test_read_only(&a, &b);
	test_cookies_on_the_way(&a, &b);
	test_notifications(&a, &b);
	test_limits(addr_of(argc, argv, 1));
	return tap_end();
}
