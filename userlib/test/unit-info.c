// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Snapshots and error texts, with a getsockopt of our own below the library. */
#include <librds.h>

#include "tap.h"

static struct {
	int	error;		/* always fail with this one */
	int	stride;
	size_t	size;		/* of the whole table */
	size_t	growth;		/* it has grown by this much at the next call */
	int	calls;
} k;

int getsockopt(int fd, int level, int option, void *val, socklen_t *len)
{
	size_t i;

	(void)fd;
	k.calls++;
	if (k.error || level != SOL_RDS || option != RDS_INFO_COUNTERS) {
		errno = k.error ? k.error : ENOPROTOOPT;
		return -1;
	}
	if (k.size > *len) {
		*len = k.size;
		k.size += k.growth;
		errno = ENOSPC;
		return -1;
	}
	*len = k.size;
	for (i = 0; (i + 1) * k.stride <= k.size; i++) {
		char *at = (char *)val + i * k.stride;
		uint64_t value = 100 + i;

		memset(at, 0, k.stride);
		snprintf(at, 32, "counter_%zu", i);
		if (k.stride >= 40)
			memcpy(at + 32, &value, 8);
	}
	return k.stride;
}

static void test_snapshot(void)
{
	struct rds_snapshot snap;

	k.stride = 48;
	k.size = 10 * 48;
	k.growth = 0;
	is_err(rds_snapshot(3, RDS_INFO_COUNTERS, &snap), 0, "snapshot");
	ok(snap.count == 10 && snap.stride == 48, "snapshot: the kernel's element size counts");
	ok(!strcmp((char *)snap.data + 9 * snap.stride, "counter_9"), "snapshot: the last one");
	rds_snapshot_free(&snap);
	ok(!snap.data && !snap.count, "snapshot: freed");

	k.growth = 8000 - 8000 % 48;
	is_err(rds_snapshot(3, RDS_INFO_COUNTERS, &snap), -EAGAIN,
	       "snapshot: a table that always grows is given up");
}

static void test_counter(void)
{
	uint64_t value = 0;

	k.growth = 96;
	k.size = 10 * 48;
	is_err(rds_counter(3, "counter_7", &value), 0, "counter: while the table grows");
	is(value, 107, "counter: its value");
	is_err(rds_counter(3, "counter", &value), -ENOENT, "counter: a prefix is no name");
	is_err(rds_counter(3, "", &value), -ENOENT, "counter: nor is nothing");
	k.growth = 0;
	k.size = 0;
	is_err(rds_counter(3, "counter_0", &value), -ENOENT, "counter: an empty table");
	k.stride = 32;
	k.size = 64;
	is_err(rds_counter(3, "counter_0", &value), -EPROTO, "counter: elements too small");
	k.error = ENOPROTOOPT;
	errno = 0;
	is_err(rds_counter(3, "counter_0", &value), -ENOPROTOOPT, "counter: the kernel's error");
	is(errno, 0, "counter: errno is left alone");
}

static const struct {
	enum rds_call	call;
	int		error;
	const char	*part;
} texts[] = {
	{ RDS_CALL_OPEN, -EAFNOSUPPORT, "modprobe rds_sockets" },
	{ RDS_CALL_OPEN, EAFNOSUPPORT, "modprobe rds_sockets" },
	{ RDS_CALL_OPEN, -EADDRNOTAVAIL, "rdma link" },
	{ RDS_CALL_OPEN, -EADDRINUSE, "another RDS socket" },
	{ RDS_CALL_OPEN, -ENOENT, "host name" },
	{ RDS_CALL_CONNECT, -EINVAL, "peer" },
	{ RDS_CALL_SEND, -ENOTCONN, "bind" },
	{ RDS_CALL_SEND, -EMSGSIZE, "SO_SNDBUF" },
	{ RDS_CALL_RDMA, -EMSGSIZE, "1024" },
	{ RDS_CALL_RDMA, -ENOBUFS, "does not read" },
	{ RDS_CALL_GET_MR, -EPERM, "CAP_IPC_LOCK" },
	{ RDS_CALL_GET_MR, -ENOMEM, "ulimit -l" },
	{ RDS_CALL_FREE_MR, -EINVAL, "cookie" },
	{ RDS_CALL_RECV, -ETIMEDOUT, "time-out" },
	{ RDS_CALL_INFO, -ENOPROTOOPT, "module" },
	{ RDS_CALL_SEND, -EBADF, "not an open socket" },
	{ RDS_CALL_RECV, -EXDEV, "cross-device" },
	{ RDS_CALL_RECV, -99999, "unknown" },
	{ (enum rds_call)1000, -EPERM, "not permitted" },
};

static void test_explain(void)
{
	int call, error, empty = 0;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = rds_explain(texts[i].call, texts[i].error);

		ok(strcasestr(text, texts[i].part) != NULL, "explain %d of call %d: %s",
		   texts[i].error, texts[i].call, text);
	}
	for (call = RDS_CALL_ADDR; call <= RDS_CALL_INFO; call++)
		for (error = 1; error < 134; error++)
			empty += !*rds_explain(call, error);
	is(empty, 0, "explain: no call and errno without a text");
}

static void test_version(void)
{
	char want[32];

	snprintf(want, sizeof(want), "%d.%d.%d", LIBRDS_VERSION_MAJOR,
		 LIBRDS_VERSION_MINOR, LIBRDS_VERSION_PATCH);
	is_text(rds_version(), want, "version: library and header agree");
}

int main(void)
{
	test_snapshot();
	test_counter();
	test_explain();
	test_version();
	return tap_end();
}
