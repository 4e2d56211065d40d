// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the library hands to the kernel, byte for byte, and what it makes of
 * the kernel's answers: the system calls below the static library are ours.
 */
#include <librds.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

/* --- the fake kernel ---------------------------------------------------- */

static struct {
	/* the last sendmsg */
	char			control[512];
	size_t			controllen;
	struct rds_addr		to;
	socklen_t		namelen;
	struct rds_iovec	local[LIBRDS_IOV_MAX];
	char			payload[64];
	size_t			len;
	int			flags;
	int			calls;
	int			error;		/* fail with this one */
	/* the last setsockopt */
	int			option;
	char			optval[256];
	socklen_t		optlen;
} k;

/* What recvmsg gives, one after the other; the end of them is EAGAIN. */
static struct answer {
	const char	*data;
	int		namelen;
	int		msg_flags;
	int		error;
	int		nr_cmsg;
	struct { int level, type, size; const void *data; } cmsg[LIBRDS_NOTIFY_MAX + 1];
} *answers;

static int fail(int error)
{
	errno = error;
	return -1;
}

static void save_local(const struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct rds_rdma_args args;

	if (!cmsg || cmsg->cmsg_type != RDS_CMSG_RDMA_ARGS)
		return;
	memcpy(&args, CMSG_DATA(cmsg), sizeof(args));
	memcpy(k.local, (void *)(uintptr_t)args.local_vec_addr,
	       args.nr_local * sizeof(k.local[0]));
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	size_t i;

	(void)fd;
	k.calls++;
	if (k.error)
		return fail(k.error);
	k.controllen = msg->msg_controllen;
	memcpy(k.control, msg->msg_control, msg->msg_controllen);
	k.namelen = msg->msg_namelen;
	if (msg->msg_name)
		memcpy(&k.to, msg->msg_name, msg->msg_namelen);
	k.flags = flags;
	k.len = 0;
	for (i = 0; i < msg->msg_iovlen; i++) {
		memcpy(k.payload + k.len, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		k.len += msg->msg_iov[i].iov_len;
	}
	save_local(msg);
	return k.len;
}

static void put_cmsgs(struct msghdr *msg, const struct answer *a)
{
	size_t room = msg->msg_controllen, used = 0;
	struct cmsghdr *cmsg;
	int i;

	for (i = 0; i < a->nr_cmsg; i++) {
		if (used + CMSG_SPACE(a->cmsg[i].size) > room) {
			msg->msg_flags |= MSG_CTRUNC;
			break;
		}
		cmsg = (struct cmsghdr *)((char *)msg->msg_control + used);
		cmsg->cmsg_level = a->cmsg[i].level;
		cmsg->cmsg_type = a->cmsg[i].type;
		cmsg->cmsg_len = CMSG_LEN(a->cmsg[i].size);
		memcpy(CMSG_DATA(cmsg), a->cmsg[i].data, a->cmsg[i].size);
		used += CMSG_SPACE(a->cmsg[i].size);
	}
	msg->msg_controllen = used;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_port = htons(4000) };
	struct answer *a = answers;
	size_t len;

	(void)fd;
	k.flags = flags;
	k.calls++;
	if (!a->data)
		return fail(a->error ? a->error : EAGAIN);
	if (a->namelen == sizeof(struct sockaddr_in))
		from.sin6_family = AF_INET;
	memcpy(msg->msg_name, &from, a->namelen);
	msg->msg_namelen = a->namelen;
	msg->msg_flags = a->msg_flags;
	put_cmsgs(msg, a);
	len = strlen(a->data);
	if (len > msg->msg_iov[0].iov_len) {
		len = msg->msg_iov[0].iov_len;
		msg->msg_flags |= MSG_TRUNC;
	}
	if (len)
		memcpy(msg->msg_iov[0].iov_base, a->data, len);
	/* what the real one does: a peek leaves messages and takes the rest */
	if (!(flags & MSG_PEEK) || !a->namelen)
		answers++;
	return flags & MSG_TRUNC ? strlen(a->data) : len;
}

int setsockopt(int fd, int level, int option, const void *val, socklen_t len)
{
	(void)fd;
	if (k.error)
		return fail(k.error);
	k.option = level == SOL_RDS ? option : -1;
	k.optlen = len;
	memcpy(k.optval, val, len);
	return 0;
}

/* --- sending ------------------------------------------------------------ */

static struct cmsghdr *sent_cmsg(int type, size_t size)
{
	struct msghdr msg = { .msg_control = k.control, .msg_controllen = k.controllen };
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		if (cmsg->cmsg_level == SOL_RDS && cmsg->cmsg_type == type &&
		    cmsg->cmsg_len == CMSG_LEN(size))
			return cmsg;
	return NULL;
}

static void test_plain(const struct rds_addr *to)
{
	struct rds_addr none = { 0 };
	struct rds_outgoing out = { .reserved = { 0, 0, 0, 1 } };

	memset(&k, 0, sizeof(k));
	is(rds_send(3, to, "hello", 5, MSG_DONTWAIT), 5, "send: returns the length");
	ok(k.len == 5 && !memcmp(k.payload, "hello", 5), "send: the payload");
	is(k.controllen, 0, "send: no control messages");
	is(k.flags, MSG_DONTWAIT, "send: the flags");
	is(k.namelen, 16, "send: 16 bytes of address");
	rds_send(3, NULL, "", 0, 0);
	is(k.namelen, 0, "send: no address, no name");

	k.calls = 0;
	is_err(rds_send(3, &none, "x", 1, 0), -EINVAL, "send: an address of no family");
	is_err(rds_sendmsg(3, &out, 0), -EINVAL, "send: a reserved field");
	is(k.calls, 0, "send: refused without a system call");

	k.error = ENOBUFS;
	errno = 0;
	is_err(rds_send(3, to, "x", 1, 0), -ENOBUFS, "send: the kernel's error is returned");
	is(errno, 0, "send: errno is left alone");
}

static void test_rdma(const struct rds_addr *to)
{
	struct iovec iov[LIBRDS_IOV_MAX + 1];
	struct rds_rdma op = { .cookie = 0x1122334455667788, .offset = 5, .iov = iov,
		.iovcnt = 2, .flags = RDS_RDMA_NOTIFY_ME, .token = 99 };
	struct rds_outgoing both = { .read = &op, .write = &op };
	struct rds_rdma_args args;
	struct cmsghdr *cmsg;
	int i;

	memset(&k, 0, sizeof(k));
	for (i = 0; i <= LIBRDS_IOV_MAX; i++)
		iov[i] = (struct iovec){ .iov_base = (char *)0x1000 + i, .iov_len = 100 + i };
	is(rds_rdma_write(3, to, &op, "OK", 2), 2, "write: returns the length of the message");
	cmsg = sent_cmsg(RDS_CMSG_RDMA_ARGS, sizeof(args));
	if (!ok(cmsg && k.controllen == CMSG_SPACE(sizeof(args)), "write: one RDMA_ARGS"))
		return;
	memcpy(&args, CMSG_DATA(cmsg), sizeof(args));
	ok(args.cookie == op.cookie && args.user_token == 99, "write: cookie and token");
	is(args.remote_vec.addr, 5, "write: offset");
	is(args.remote_vec.bytes, 201, "write: as many remote bytes as local ones");
	is(args.flags, RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, "write: flags");
	ok(args.nr_local == 2 && k.local[1].addr == 0x1001 && k.local[1].bytes == 101,
	   "write: local pieces");
	ok(k.len == 2 && !memcmp(k.payload, "OK", 2), "write: the message behind it");

	op.length = 4096;
	op.flags = RDS_RDMA_READWRITE | RDS_RDMA_FENCE;
	rds_rdma_read(3, to, &op, "", 0);
	memcpy(&args, CMSG_DATA(sent_cmsg(RDS_CMSG_RDMA_ARGS, sizeof(args))), sizeof(args));
	is(args.flags, RDS_RDMA_FENCE, "read: no READWRITE, even when asked for");
	is(args.remote_vec.bytes, 4096, "read: a length of its own");

	op.iovcnt = LIBRDS_IOV_MAX;
	is(rds_rdma_write(3, to, &op, "OK", 2), 2, "write: 1024 local pieces");
	ok(k.local[1023].addr == 0x1000 + 1023 && k.local[1023].bytes == 1123,
	   "write: the last of 1024");
	k.calls = 0;
	op.iovcnt++;
	is_err(rds_rdma_write(3, to, &op, "OK", 2), -EMSGSIZE, "write: 1025 local pieces");
	op.iovcnt = 2;
	iov[0].iov_len = SIZE_MAX;
	is_err(rds_rdma_write(3, to, &op, "OK", 2), -EINVAL, "write: a sum that overflows");
	is_err(rds_sendmsg(3, &both, 0), -EINVAL, "a read and a write at once");
	is(k.calls, 0, "refused without a system call");
}

static void test_map(const struct rds_addr *to)
{
	uint64_t cookie, dest;
	struct rds_map map = { .buf = &cookie, .len = 8, .flags = RDS_RDMA_USE_ONCE,
			       .cookie = &cookie };
	struct rds_outgoing out = { .to = to, .map = &map };
	struct rds_get_mr_args args;
	struct cmsghdr *cmsg;

	memset(&k, 0, sizeof(k));
	is(rds_sendmsg(3, &out, 0), 0, "map: an empty message");
	cmsg = sent_cmsg(RDS_CMSG_RDMA_MAP, sizeof(args));
	if (!ok(cmsg && k.controllen == CMSG_SPACE(sizeof(args)), "map: one RDMA_MAP"))
		return;
	memcpy(&args, CMSG_DATA(cmsg), sizeof(args));
	ok(args.vec.addr == (uintptr_t)&cookie && args.vec.bytes == 8, "map: the range");
	ok(args.cookie_addr == (uintptr_t)&cookie && args.flags == RDS_RDMA_USE_ONCE,
	   "map: where the cookie goes, and flags");

	out.map = NULL;
	out.dest = 0xabcdef;
	rds_sendmsg(3, &out, 0);
	cmsg = sent_cmsg(RDS_CMSG_RDMA_DEST, sizeof(dest));
	if (!ok(cmsg && k.controllen == CMSG_SPACE(sizeof(dest)), "dest: one RDMA_DEST"))
		return;
	memcpy(&dest, CMSG_DATA(cmsg), sizeof(dest));
	is(dest, 0xabcdef, "dest: the cookie");
}

static void test_get_mr(const struct rds_addr *to)
{
	struct rds_get_mr_for_dest_args dest;
	struct rds_get_mr_args get;
	struct rds_free_mr_args put;
	uint64_t cookie;

	memset(&k, 0, sizeof(k));
	is(rds_get_mr(3, &cookie, 8, RDS_RDMA_READWRITE, &cookie), 0, "get_mr");
	memcpy(&get, k.optval, sizeof(get));
	ok(k.option == RDS_GET_MR && k.optlen == sizeof(get), "get_mr: option and size");
	ok(get.vec.addr == (uintptr_t)&cookie && get.vec.bytes == 8 &&
	   get.cookie_addr == (uintptr_t)&cookie && get.flags == RDS_RDMA_READWRITE,
	   "get_mr: fields");

	is(rds_get_mr_for_dest(3, to, &cookie, 8, 0, &cookie), 0, "get_mr_for_dest");
	memcpy(&dest, k.optval, sizeof(dest));
	ok(k.option == RDS_GET_MR_FOR_DEST && k.optlen == sizeof(dest),
	   "get_mr_for_dest: option and size");
	ok(!memcmp(&dest.dest_addr, to, 16) && dest.vec.bytes == 8, "get_mr_for_dest: fields");

	is(rds_free_mr(3, 77, RDS_RDMA_INVALIDATE), 0, "free_mr");
	memcpy(&put, k.optval, sizeof(put));
	ok(k.option == RDS_FREE_MR && k.optlen == sizeof(put) && put.cookie == 77 &&
	   put.flags == RDS_RDMA_INVALIDATE, "free_mr: option, size and fields");
	k.error = EPERM;
	is_err(rds_get_mr(3, &cookie, 8, 0, &cookie), -EPERM, "get_mr: the kernel's error");
}

/* --- receiving ---------------------------------------------------------- */

static void test_message(void)
{
	uint64_t cookie = 0x1234, stamp[2] = { 1, 2 };
	struct answer list[] = {
		{ .data = "hello", .namelen = 16 },
		{ .data = "hello", .namelen = 28, .nr_cmsg = 2, .cmsg = {
			{ SOL_SOCKET, 29, sizeof(stamp), stamp },
			{ SOL_RDS, RDS_CMSG_RDMA_DEST, 8, &cookie } } },
		{ .data = "", .namelen = 16 },
		{ .data = "hello", .namelen = 16 },
		{ .data = "hello", .namelen = 16 },
		{ .data = NULL },
	};
	struct rds_incoming in;
	char buf[8];

	answers = list;
	is(rds_recv(3, buf, sizeof(buf), &in, MSG_DONTWAIT), 5, "message: length");
	is(k.flags, MSG_DONTWAIT, "message: flags go to the kernel");
	is(in.what, LIBRDS_IN_MESSAGE, "message: that is all it is");
	ok(in.len == 5 && in.from.sa.sa_family == AF_INET && rds_addr_port(&in.from) == 4000,
	   "message: length and sender");
	is(rds_recv(3, buf, sizeof(buf), &in, 0), 5, "message with cookie");
	is(in.what, LIBRDS_IN_MESSAGE | LIBRDS_IN_COOKIE, "message with cookie: what");
	ok(in.cookie == 0x1234 && in.from.sa.sa_family == AF_INET6, "cookie, IPv6 sender");
	is(rds_recv(3, buf, sizeof(buf), &in, 0), 0, "empty message");
	is(in.what, LIBRDS_IN_MESSAGE, "empty message is a message");
	is(rds_recv(3, buf, 3, &in, 0), 3, "truncated message");
	is(in.what, LIBRDS_IN_MESSAGE | LIBRDS_IN_TRUNC, "truncated message: what");
	is(rds_recv(3, buf, 3, &in, MSG_TRUNC), 5, "MSG_TRUNC: returns the full length");
	is(in.len, 3, "MSG_TRUNC: len is what was stored");
	is_err(rds_recv(3, buf, 3, &in, 0), -EAGAIN, "nothing more");
}

static void test_notifications(void)
{
	struct rds_rdma_notify notify[LIBRDS_NOTIFY_MAX + 1] = { 0 };
	uint64_t cong = 0x8000000000000001;
	struct answer list[] = {
		{ .data = "", .nr_cmsg = LIBRDS_NOTIFY_MAX },
		{ .data = "", .nr_cmsg = LIBRDS_NOTIFY_MAX + 1 },
		{ .data = "", .nr_cmsg = 1, .cmsg = { { SOL_RDS, RDS_CMSG_CONG_UPDATE, 8, &cong } } },
		{ .data = "", .nr_cmsg = 1, .cmsg = { { SOL_RDS, RDS_CMSG_RDMA_STATUS, 12, notify } } },
		{ .data = "", .nr_cmsg = 1, .cmsg = { { SOL_RDS, 99, 3, notify } } },
		{ .data = NULL },
	};
	struct rds_incoming in;
	char buf[8];
	int i;

	for (i = 0; i <= LIBRDS_NOTIFY_MAX; i++) {
		notify[i].user_token = 1000 + i;
		notify[i].status = i % 5;
		list[0].cmsg[i].level = list[1].cmsg[i].level = SOL_RDS;
		list[0].cmsg[i].type = list[1].cmsg[i].type = RDS_CMSG_RDMA_STATUS;
		list[0].cmsg[i].size = list[1].cmsg[i].size = 16;
		list[0].cmsg[i].data = list[1].cmsg[i].data = &notify[i];
	}
	answers = list;
	is(rds_recv(3, buf, sizeof(buf), &in, 0), 0, "32 notifications");
	is(in.what, LIBRDS_IN_NOTIFY, "notifications are no message");
	is(in.nr_notify, LIBRDS_NOTIFY_MAX, "all 32 fit");
	ok(in.notify[0].user_token == 1000 && in.notify[31].user_token == 1031 &&
	   in.notify[31].status == 1, "tokens and status, in order");
	is(in.from.sa.sa_family, AF_UNSPEC, "a notification has no sender");
	rds_recv(3, buf, sizeof(buf), &in, 0);
	is(in.what, LIBRDS_IN_NOTIFY | LIBRDS_IN_CTRUNC, "one too many is said");
	rds_recv(3, buf, sizeof(buf), &in, 0);
	is(in.what, LIBRDS_IN_CONG, "congestion update");
	ok(in.cong == cong, "congestion mask");
	is_err(rds_recv(3, buf, sizeof(buf), &in, 0), -EINVAL, "a notification of wrong size");
	is(rds_recv(3, buf, sizeof(buf), &in, 0), 0, "an unknown control message is skipped");
	is(in.what, 0, "and means nothing");
}

/* A caller's own buffer may hold more notifications than the struct. */
static void test_parse_overflow(void)
{
	static char control[(LIBRDS_NOTIFY_MAX + 8) * CMSG_SPACE(16)];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct rds_incoming in;
	struct cmsghdr *cmsg;
	size_t i;

	for (i = 0; i < LIBRDS_NOTIFY_MAX + 8; i++) {
		cmsg = (struct cmsghdr *)(control + i * CMSG_SPACE(16));
		cmsg->cmsg_len = CMSG_LEN(16);
		cmsg->cmsg_level = SOL_RDS;
		cmsg->cmsg_type = RDS_CMSG_RDMA_STATUS;
	}
	is(rds_parse_msghdr(&msg, &in), 0, "parse: 40 notifications");
	ok(in.nr_notify == LIBRDS_NOTIFY_MAX && in.what & LIBRDS_IN_CTRUNC,
	   "parse: 32 kept, the rest reported as cut");
}

static void test_wait_notify(void)
{
	struct rds_rdma_notify one = { .user_token = 5, .status = RDS_RDMA_DROPPED }, got;
	struct answer due[] = {
		{ .data = "", .nr_cmsg = 1, .cmsg = { { SOL_RDS, RDS_CMSG_RDMA_STATUS, 16, &one } } },
		{ .data = NULL },
	};
	struct answer message[] = { { .data = "hello", .namelen = 16 }, { .data = NULL } };
	struct answer broken[] = { { .data = NULL, .error = ENOTSOCK } };
	int fd = need(memfd_create("not a socket", 0), "memfd_create");

	answers = due;
	is(rds_wait_notify(fd, &got, 0), 0, "wait: one is due");
	ok(got.user_token == 5 && got.status == RDS_RDMA_DROPPED, "wait: which one");
	ok(k.flags == (MSG_PEEK | MSG_DONTWAIT), "wait: peeks");
	answers = broken;
	is_err(rds_wait_notify(fd, &got, 0), -ENOTSOCK, "wait: an error of recvmsg");
	answers = message;
	is_err(rds_wait_notify(fd, &got, 0), -EPERM, "wait: what epoll says of a file");
	ok(answers == message, "wait: a message stays queued");
	is_err(rds_wait_notify(-1, &got, 0), -EBADF, "wait: what epoll says of nothing");
}

/* A socket that is readable all the time must not keep the waiter busy. */
static void test_wait_is_idle(void)
{
	struct answer message[] = { { .data = "hello", .namelen = 16 }, { .data = NULL } };
	struct rds_rdma_notify got;
	int pair[2];

	need(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "socketpair");
	need(write(pair[1], "x", 1), "write");
	answers = message;
	k.calls = 0;
	is_err(rds_wait_notify(pair[0], &got, 200), -ETIMEDOUT, "wait: a readable socket");
	ok(k.calls <= 3, "wait: asked %d times, at most 3", k.calls);
}

static void test_status_names(void)
{
	is_text(rds_status_name(RDS_RDMA_SUCCESS), "SUCCESS", "status 0");
	is_text(rds_status_name(RDS_RDMA_REMOTE_ERROR), "REMOTE_ERROR", "status 1");
	is_text(rds_status_name(RDS_RDMA_CANCELED), "CANCELED", "status 2");
	is_text(rds_status_name(RDS_RDMA_DROPPED), "DROPPED", "status 3");
	is_text(rds_status_name(RDS_RDMA_OTHER_ERROR), "OTHER_ERROR", "status 4");
	is_text(rds_status_name(5), "UNKNOWN", "status 5");
	is_text(rds_status_name(-1), "UNKNOWN", "status -1");
}

int main(void)
{
	struct rds_addr to;

	need(rds_addr_parse(&to, "10.9.1.2:4000", 0), "address");
	test_plain(&to);
	test_rdma(&to);
	test_map(&to);
	test_get_mr(&to);
	test_message();
	test_notifications();
	test_parse_overflow();
	test_wait_notify();
	test_wait_is_idle();
	test_status_names();
	return tap_end();
}
