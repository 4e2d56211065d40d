// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A client that does not keep to the rules.
 *
 *   poke LOCAL SERVER FILE OFFSET TEXT
 *
 * FILE, which the server serves, holds TEXT at OFFSET.  The server must answer
 * each wrong request with the right status, or not at all, and still serve.
 */
#include "rds-file.h"

#include <errno.h>
#include <librds.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define ANSWER_MS	20000
#define BUF_SIZE	(1024 * 1024)

static struct rds_addr server;
static const char *file, *text;
static uint64_t offset, session = 1;
static char *buf;

static int open_socket(const char *local)
{
	int fd = rds_open(local, 0);

	if (fd < 0) {
		printf("Bail out! rds_open %s: %s\n", local,
		       rds_explain(RDS_CALL_OPEN, fd));
		exit(1);
	}
	return fd;
}

static void tell(int fd, struct rds_file_msg *msg)
{
	uint8_t data[RDS_FILE_MSG_MAX];
	int len;

	msg->session = session;
	len = rds_file_encode(msg, data);
	rds_send(fd, &server, data, len, 0);
}

/* The next answer of @type to this session: its status, or -errno. */
static int answer(int fd, uint16_t type, struct rds_file_msg *msg)
{
	static uint8_t data[RDS_FILE_MSG_MAX];
	struct rds_incoming in;
	ssize_t n;

	do {
		n = rds_recv_timeout(fd, data, sizeof(data), &in, ANSWER_MS);
		if (n < 0)
			return n;
	} while (rds_file_decode(msg, data, n) || msg->type != type ||
		 msg->session != session);
	return msg->status;
}

static int ask(int fd, struct rds_file_msg *msg, uint16_t type)
{
	tell(fd, msg);
	return answer(fd, type, msg);
}

static int open_name(int fd, const char *name, size_t len)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_OPEN, .name = name, .name_len = len,
	};

	session++;	/* with the old one it would be a repeated OPEN */
	return ask(fd, &msg, RDS_FILE_OPENED);
}

static int open_file(int fd)
{
	return open_name(fd, file, strlen(file));
}

static int read_piece(int fd, uint64_t off, uint32_t len, uint64_t cookie)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_READ, .request = 1, .length = len,
		.offset = off, .cookie = cookie,
	};

	return ask(fd, &msg, RDS_FILE_DATA);
}

static int close_session(int fd)
{
	struct rds_file_msg msg = { .type = RDS_FILE_CLOSE };

	tell(fd, &msg);
	return 0;
}

static void test_garbage(int fd)
{
	static uint8_t junk[RDS_FILE_MSG_MAX + 100];
	uint32_t seed = 12345;

	for (size_t len = 0; len < 64; len++) {
		for (size_t i = 0; i < len; i++)
			junk[i] = (seed = seed * 1103515245 + 12345) >> 16;
		/* every other one has a right start */
		if (len % 2)
			memcpy(junk, "RDSF\0\1\0", len < 7 ? len : 7);
		rds_send(fd, &server, junk, len, 0);
	}
	rds_send(fd, &server, junk, sizeof(junk), 0);
	ok(open_file(fd) == RDS_FILE_OK, "serves after garbage");
}

static void test_version(int fd)
{
	uint8_t data[] = "RDSF\0\2\0\1\0\0\0\0\0\0\0\1\0\1x";
	struct rds_file_msg msg;

	rds_send(fd, &server, data, sizeof(data) - 1, 0);
	ok(answer(fd, RDS_FILE_OPENED, &msg) == RDS_FILE_BAD_VERSION,
	   "another version is answered");
}

static void test_names(int fd)
{
	static char name[RDS_FILE_NAME_MAX];

	memset(name, 'n', sizeof(name));
	ok(open_name(fd, name, sizeof(name)) == RDS_FILE_BAD_NAME,
	   "a name of 4096 bytes");
	ok(open_name(fd, name, 256) == RDS_FILE_BAD_NAME,
	   "a name of 256 bytes without slash");
	memset(name, '/', sizeof(name));
	ok(open_name(fd, name, 100) == RDS_FILE_OUTSIDE, "slashes");
}

static void test_stranger(int fd)
{
	struct rds_file_msg msg = { .type = RDS_FILE_FINISH };

	session++;
	ok(read_piece(fd, 0, 1, 1) == RDS_FILE_FORGOTTEN, "READ without OPEN");
	ok(ask(fd, &msg, RDS_FILE_DIGEST) == RDS_FILE_FORGOTTEN,
	   "FINISH without OPEN");
	open_file(fd);
	close_session(fd);
	ok(read_piece(fd, 0, 1, 1) == RDS_FILE_FORGOTTEN, "READ after CLOSE");
}

static void test_ranges(int fd, uint64_t cookie)
{
	static const struct {
		uint64_t	offset;
		uint32_t	length;
	} rows[] = {
		{ 0, 0 }, { 0, RDS_FILE_READ_MAX + 1 }, { 0, UINT32_MAX },
		{ UINT64_MAX, 1 }, { UINT64_MAX - 4095, 4096 },
		{ 1ULL << 62, 4096 },
	};

	open_file(fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok(read_piece(fd, rows[i].offset, rows[i].length, cookie) ==
		   RDS_FILE_BAD_REQUEST, "READ of a wrong range, row %zu", i);
	close_session(fd);
}

static void test_offset(int fd, uint64_t cookie)
{
	size_t len = strlen(text);

	open_file(fd);
	memset(buf, 0x55, BUF_SIZE);
	ok(read_piece(fd, offset, len, cookie) == RDS_FILE_OK &&
	   !memcmp(buf, text, len) && buf[len] == 0x55,
	   "READ at offset %llu", (unsigned long long)offset);
	close_session(fd);
}

/* A client that asks for more at once than it may: some answers, no harm. */
static void test_flood(int fd, uint64_t cookie)
{
	struct rds_file_msg msg;
	int good = 0;

	open_file(fd);
	for (uint32_t i = 0; i < 100; i++) {
		msg = (struct rds_file_msg){
			.type = RDS_FILE_READ, .request = i, .length = 1,
			.offset = offset, .cookie = cookie,
		};
		tell(fd, &msg);
	}
	while (good < 16 && answer(fd, RDS_FILE_DATA, &msg) == RDS_FILE_OK)
		good++;
	ok(good == 16, "a flood of READs is answered up to the limit at least");
	close_session(fd);
	ok(open_file(fd) == RDS_FILE_OK, "serves after a flood");
	close_session(fd);
}

static void test_keys(int fd, uint64_t cookie)
{
	uint64_t small;
	int good = 1;

	open_file(fd);
	ok(read_piece(fd, 0, 4096, cookie ^ 0x5a5a5a00) == RDS_FILE_BAD_KEY,
	   "READ with a cookie of nobody");
	ok(read_piece(fd, 0, 4096, cookie) == RDS_FILE_FORGOTTEN,
	   "a client without memory is forgotten");

	if (rds_get_mr(fd, buf + 4096, 4096, RDS_RDMA_READWRITE, &small)) {
		ok(0, "rds_get_mr");
		return;
	}
	open_file(fd);
	memset(buf, 0x55, BUF_SIZE);
	ok(read_piece(fd, 0, 4097, small) == RDS_FILE_BAD_KEY,
	   "READ of one byte more than the buffer takes");
	for (size_t i = 0; i < 3 * 4096; i++)
		good &= buf[i] == 0x55;
	ok(good, "and nothing is written");
	open_file(fd);
	ok(read_piece(fd, 0, 4096, small) == RDS_FILE_OK,
	   "READ of what it takes");
	close_session(fd);
	rds_free_mr(fd, small, 0);
}

static void test_finish(int fd)
{
	struct rds_file_msg msg = { .type = RDS_FILE_FINISH };

	ok(open_name(fd, "small", 5) == RDS_FILE_OK, "OPEN small");
	ok(ask(fd, &msg, RDS_FILE_DIGEST) == RDS_FILE_OK,
	   "FINISH without a READ");
	close_session(fd);
}

int main(int argc, char **argv)
{
	uint64_t cookie;
	int fd, err;

	if (argc != 6 || rds_addr_parse(&server, argv[2], RDS_FILE_PORT)) {
		fprintf(stderr, "Usage: poke LOCAL SERVER FILE OFFSET TEXT\n");
		return 2;
	}
	file = argv[3];
	offset = strtoull(argv[4], NULL, 10);
	text = argv[5];
	fd = open_socket(argv[1]);
	buf = aligned_alloc(4096, BUF_SIZE);
	if (!buf)
		return 1;
	memset(buf, 0, BUF_SIZE);
	err = rds_get_mr(fd, buf, BUF_SIZE, RDS_RDMA_READWRITE, &cookie);
	if (err) {
		printf("Bail out! rds_get_mr: %s\n",
		       rds_explain(RDS_CALL_GET_MR, err));
		return 1;
	}

	test_version(fd);
	test_garbage(fd);
	test_names(fd);
	test_stranger(fd);
	test_ranges(fd, cookie);
	test_offset(fd, cookie);
	test_flood(fd, cookie);
	test_keys(fd, cookie);
	test_finish(fd);

	close(fd);
	free(buf);
	return tap_end();
}
