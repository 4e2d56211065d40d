// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * stress ADDR PORT                        says so and serves everybody who asks, until it is killed
 * stress ADDR PORT PEER PORT MODE...      asks the one that serves there, in each mode, one after the other
 *
 *   plain     the peer sends every message back
 *   map       the peer writes to and reads from memory that a control message of the request maps
 *   get-mr    the same, with memory that was registered by itself
 *   async     the peer need not answer: its kernel has the message, says ours
 *   tos=N     as plain, with a type of service
 */
#include <linux/rds_ext.h>
#include "client.h"

#define MAX_BYTES	65536
#define BUFFER_BYTES	200000	/* what the socket's two buffers are set to */
#define CONTROL_BYTES	256
#define REQUESTS	100
#define OPERATIONS	20
#define DEPTH		8	/* requests under way */

enum what { ECHO = 1, WRITE, READ, WITH_OPERATION, SENT };

struct request {
	uint32_t	what;
	uint32_t	seq;		/* also the seed of the bytes */
	uint32_t	len;		/* ECHO: of the message, else of the operation */
	uint32_t	status;		/* in an answer about an operation */
};

static int sock;
static char message[MAX_BYTES], expected[MAX_BYTES], *memory;

/* --- the socket --- */

static void set_buffer(int opt)
{
	int value = BUFFER_BYTES;
	socklen_t len = sizeof(value);

	if (setsockopt(sock, SOL_SOCKET, opt, &value, sizeof(value)) || getsockopt(sock, SOL_SOCKET, opt, &value, &len))
		give_up("buffer size: %s", strerror(errno));
	if (value != 2 * BUFFER_BYTES)
		give_up("buffer size reads back as %d", value);
}

static void open_socket(union rds_addr addr)
{
	int on = 1;

	sock = bound_socket(&addr);
	set_buffer(SO_SNDBUF);
	set_buffer(SO_RCVBUF);
	if (setsockopt(sock, SOL_RDS, RDS_CONG_MONITOR, &on, sizeof(on)) && errno != ENOPROTOOPT)
		give_up("congestion monitor: %s", strerror(errno));
	if (fcntl(sock, F_SETFL, O_NONBLOCK))
		give_up("O_NONBLOCK: %s", strerror(errno));
}

/* Whether the message is on its way; not with a full buffer (EAGAIN) or a congested port (ENOBUFS). */
static bool try_send(const struct rds_msg_out *m)
{
	ssize_t n = msg_send(sock, m, 0);

	if (n < 0 && n != -EAGAIN && n != -ENOBUFS)
		give_up("send: %s", strerror(-n));
	return n >= 0;
}

static void must_send(const struct rds_msg_out *m)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	while (!try_send(m)) {
		if (now_ms() > end)
			give_up("nothing can be sent any more");
		nap();
	}
}

/* A message, or notifications (length 0), or -EAGAIN; news of congestion are dropped, as they have woken us. */
static ssize_t receive(struct rds_msg_in *in)
{
	_Alignas(struct cmsghdr) char control[CONTROL_BYTES];
	struct iovec iov = { message, sizeof(message) };
	struct msghdr msg = { .msg_name = &in->from, .msg_namelen = sizeof(in->from), .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	ssize_t n;

	memset(in, 0, sizeof(*in));
	n = recvmsg(sock, &msg, MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN)
		give_up("receive: %s", strerror(errno));
	if (n < 0)
		return -errno;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		msg_in_cmsg(in, cmsg);
	return n;
}

static ssize_t receive_within(struct rds_msg_in *in, int ms)
{
	ssize_t n;

	while ((n = receive(in)) == -EAGAIN)
		if (!(ready(sock, POLLIN, ms) & POLLIN))
			break;
	return n;
}

static bool bytes_are(const void *data, uint32_t len, uint32_t seed)
{
	fill(expected, len, seed);
	return !memcmp(data, expected, len);
}

/* --- who serves --- */

/* One operation at a time: who asks waits for its end. */
static struct request operation;
static union rds_addr operation_for;

static void begin_operation(const struct rds_msg_in *in)
{
	struct request note = { .what = WITH_OPERATION };
	struct rds_iovec iov = { (uintptr_t)memory, 0 };
	uint64_t flags = RDS_RDMA_NOTIFY_ME;
	struct rds_msg_out m;

	memcpy(&operation, message, sizeof(operation));
	if (!in->has_dest || operation.len > MAX_BYTES)
		give_up("a request for an operation without a cookie, or too long");
	operation_for = in->from;
	iov.bytes = operation.len;
	if (operation.what == WRITE) {
		fill(memory, operation.len, operation.seq);
		flags |= RDS_RDMA_READWRITE;
	}
	note.seq = operation.seq;
	msg_init(&m, &in->from, &note, sizeof(note));
	msg_rdma(&m, in->dest, 0, operation.len, &iov, 1, flags, operation.seq);
	must_send(&m);
}

static void end_operation(const struct rds_rdma_notify *note)
{
	struct rds_msg_out m;

	operation.status = note->status;
	if (note->user_token != operation.seq)
		give_up("the notification of another operation");
	if (!note->status && operation.what == READ && !bytes_are(memory, operation.len, operation.seq))
		operation.status = UINT32_MAX;
	msg_init(&m, &operation_for, &operation, sizeof(operation));
	must_send(&m);
}

static void serve_one(ssize_t n, const struct rds_msg_in *in)
{
	struct request *req = (void *)message;
	struct rds_msg_out m;

	if (in->nr_status)
		end_operation(&in->status[0]);
	else if (n >= sizeof(*req) && req->what == ECHO) {
		msg_init(&m, &in->from, message, n);
		must_send(&m);
	} else if (n == sizeof(*req) && req->what != SENT)
		begin_operation(in);
}

static void __attribute__((noreturn)) serve(void)
{
	struct rds_msg_in in;
	ssize_t n;

	for (;;) {
		n = receive_within(&in, -1);
		if (n >= 0)
			serve_one(n, &in);
	}
}

/* --- who asks: plain messages --- */

static uint32_t length_of(uint32_t seq)
{
	return sizeof(struct request) + seq * 2654435761u % (MAX_BYTES - sizeof(struct request));
}

static bool ask_for_echo(const union rds_addr *to, uint32_t seq)
{
	struct request req = { .what = ECHO, .seq = seq, .len = length_of(seq) };
	static char out[MAX_BYTES];
	struct rds_msg_out m;

	memcpy(out, &req, sizeof(req));
	fill(out + sizeof(req), req.len - sizeof(req), seq);
	msg_init(&m, to, out, req.len);
	return try_send(&m);
}

/* Answers come in the order of requests: the number of those that came now. */
static uint32_t take_echoes(uint32_t seq)
{
	struct request *req = (void *)message;
	struct rds_msg_in in;
	uint32_t first = seq;
	ssize_t n;

	while ((n = receive(&in)) >= 0) {
		if (!n)
			continue;	/* news of congestion */
		if (req->seq != seq || n != length_of(seq) || req->len != n ||
		    !bytes_are(message + sizeof(*req), n - sizeof(*req), seq))
			give_up("answer %u of %zd bytes is wrong", seq, n);
		seq++;
	}
	return seq - first;
}

static bool plain(const union rds_addr *to)
{
	uint32_t sent = 0, answered = 0;
	bool full;

	while (answered < REQUESTS) {
		full = false;
		while (!full && sent < REQUESTS && sent - answered < DEPTH) {
			full = !ask_for_echo(to, sent);
			sent += !full;
		}
		/* what is under way will be answered; with nothing under way, there must be room again */
		if (sent > answered && !ready(sock, POLLIN, RDS_WAIT_MS))
			return false;
		if (sent == answered && !ready(sock, POLLIN | POLLOUT, RDS_WAIT_MS))
			return false;
		answered += take_echoes(answered);
	}
	return true;
}

/* --- who asks: operations on our memory --- */

/* What comes next that is no news of congestion. */
static bool answer_arrives(enum what what, uint32_t seq)
{
	struct request *answer = (void *)message;
	struct rds_msg_in in;
	ssize_t n;

	do
		n = receive_within(&in, RDS_WAIT_MS);
	while (!n);
	if (n == sizeof(*answer) && answer->status)
		give_up("operation %u ended with status %d", answer->seq, answer->status);
	return n == sizeof(*answer) && answer->what == what && answer->seq == seq;
}

static void add_map(struct rds_msg_out *m, rds_rdma_cookie_t *cookie, uint32_t len, uint64_t flags)
{
	struct rds_get_mr_args args = { .vec = { (uintptr_t)memory, len }, .cookie_addr = (uintptr_t)cookie, .flags = flags };

	msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
}

static bool ask_for_operation(const union rds_addr *to, uint32_t seq, enum what what, bool get)
{
	struct request req = { .what = what, .seq = seq, .len = length_of(seq) };
	uint64_t flags = RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE;
	rds_rdma_cookie_t cookie = 0;
	struct rds_msg_out m;

	memset(memory, 0, MAX_BYTES);
	if (what == READ)
		fill(memory, req.len, seq);
	msg_init(&m, to, &req, sizeof(req));
	if (get && get_mr(sock, memory, req.len, flags, &cookie))
		give_up("RDS_GET_MR: %s", strerror(errno));
	if (get)
		msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie));
	else
		add_map(&m, &cookie, req.len, flags);
	must_send(&m);
	/* what was written is there when the message comes that went with it */
	return cookie && answer_arrives(WITH_OPERATION, seq) && (what == READ || bytes_are(memory, req.len, seq)) &&
	       answer_arrives(what, seq);
}

static bool operations(const union rds_addr *to, bool get)
{
	int err = free_mr(sock, 0);
	uint32_t i;

	if (err)
		give_up(err == -ENOPROTOOPT ? "the kernel has no RDMA" : "RDS_FREE_MR of cookie 0: %s", strerror(-err));
	for (i = 0; i < OPERATIONS; i++)
		if (!ask_for_operation(to, i, i % 2 ? READ : WRITE, get))
			return false;
	return true;
}

/* --- who asks: the fate of messages --- */

static bool async_send(const union rds_addr *to, uint32_t seq)
{
	struct rds_asend_args args = { .user_token = seq, .flags = RDS_SEND_NOTIFY_ME };
	struct request req = { .what = SENT, .seq = seq };
	struct rds_msg_out m;
	struct rds_msg_in in;
	ssize_t n;

	msg_init(&m, to, &req, sizeof(req));
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ASYNC_SEND, &args, sizeof(args));
	must_send(&m);
	do
		n = receive_within(&in, RDS_WAIT_MS);
	while (!n && !in.nr_status);
	return !n && in.status[0].user_token == seq && in.status[0].status == RDS_RDMA_SUCCESS;
}

static bool async(const union rds_addr *to)
{
	uint32_t i;

	for (i = 0; i < OPERATIONS; i++)
		if (!async_send(to, i))
			return false;
	return true;
}

/* --- */

/* The tool shows counters at the end, and has room for records of this size. */
static bool counters_fit(void)
{
	static struct rds_info_counter table[RDS_MAX_COUNTERS];
	socklen_t len = sizeof(table);
	int size = getsockopt(sock, SOL_RDS, RDS_INFO_COUNTERS, table, &len);

	return size > 0 && size <= sizeof(table[0]);
}

static bool run(const char *mode, union rds_addr addr, const union rds_addr *to)
{
	int err;

	open_socket(addr);
	if (!strncmp(mode, "tos=", 4)) {
		err = set_tos(sock, atoi(mode + 4));
		if (err)
			give_up("tos: %s", strerror(-err));
		return plain(to);
	}
	if (!strcmp(mode, "plain"))
		return plain(to);
	if (!strcmp(mode, "async"))
		return async(to);
	if (strcmp(mode, "map") && strcmp(mode, "get-mr"))
		give_up("%s is no mode", mode);
	return operations(to, !strcmp(mode, "get-mr"));
}

int main(int argc, char **argv)
{
	union rds_addr addr, to;
	int i;

	if (argc < 3 || argc == 4)
		give_up("usage: stress ADDR PORT [PEER PORT MODE...]");
	memory = mmap(NULL, MAX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		give_up("no memory");
	addr = address_argument(argv[1], atoi(argv[2]));
	if (argc == 3) {
		open_socket(addr);
		puts("serving");
		fflush(stdout);
		serve();
	}
	to = address_argument(argv[3], atoi(argv[4]));
	ksft_print_header();
	ksft_set_plan(argc - 5);
	for (i = 5; i < argc; i++) {
		ksft_test_result(run(argv[i], addr, &to) && counters_fit(), "abi18_stress_%s_%s\n", argv[i], argv[3]);
		close(sock);
	}
	ksft_finished();
}
