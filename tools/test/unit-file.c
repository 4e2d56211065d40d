// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rds-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define HEAD(type)	"RDSF" "\x00\x01" "\x00" type \
			"\x11\x22\x33\x44\x55\x66\x77\x88"
#define BYTES(text)	(const uint8_t *)(text), sizeof(text) - 1

#define SESSION		0x1122334455667788ULL

/* What is sent is exactly what PROTOCOL.md says. */
static const struct {
	const char		*what;
	const uint8_t		*bytes;
	size_t			len;
	struct rds_file_msg	msg;
} rows[] = {
	{ "OPEN", BYTES(HEAD("\x01") "\x00\x03" "a/b"),
	  { .type = RDS_FILE_OPEN, .name = "a/b", .name_len = 3 } },
	{ "OPENED", BYTES(HEAD("\x02") "\x00\x00\x00\x02"
			  "\x00\x00\x00\x01\x00\x00\x00\x05"
			  "\x00\x10\x00\x00" "\x00\x00\x00\x10"),
	  { .type = RDS_FILE_OPENED, .status = 2, .size = 0x100000005ULL,
	    .max_read = 0x100000, .max_requests = 16 } },
	{ "READ", BYTES(HEAD("\x03") "\x00\x00\x00\x07" "\x00\x00\x10\x00"
			"\xfe\xdc\xba\x98\x76\x54\x32\x10"
			"\x01\x02\x03\x04\x05\x06\x07\x08"),
	  { .type = RDS_FILE_READ, .request = 7, .length = 4096,
	    .offset = 0xfedcba9876543210ULL, .cookie = 0x0102030405060708ULL } },
	{ "DATA", BYTES(HEAD("\x04") "\x00\x00\x00\x01" "\xff\xff\xff\xff"),
	  { .type = RDS_FILE_DATA, .status = RDS_FILE_RETRY,
	    .request = 0xffffffff } },
	{ "FINISH", BYTES(HEAD("\x05")), { .type = RDS_FILE_FINISH } },
	{ "DIGEST", BYTES(HEAD("\x06") "\x00\x00\x00\x00"
			  "0123456789abcdef0123456789abcdef"),
	  { .type = RDS_FILE_DIGEST,
	    .digest = { '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a',
			'b', 'c', 'd', 'e', 'f', '0', '1', '2', '3', '4', '5',
			'6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' } } },
	{ "CLOSE", BYTES(HEAD("\x07")), { .type = RDS_FILE_CLOSE } },
};

static const struct {
	const char	*what;
	const uint8_t	*bytes;
	size_t		len;
	int		err;
} bad[] = {
	{ "nothing", BYTES(""), -EBADMSG },
	{ "15 bytes", (const uint8_t *)HEAD("\x05"), 15, -EBADMSG },
	{ "another magic", BYTES("RDSG" "\x00\x01" "\x00\x05" "12345678"),
	  -EBADMSG },
	{ "version 0", BYTES("RDSF" "\x00\x00" "\x00\x05" "12345678"),
	  -EPROTONOSUPPORT },
	{ "version 2", BYTES("RDSF" "\x00\x02" "\x00\x05" "12345678"),
	  -EPROTONOSUPPORT },
	{ "version 256", BYTES("RDSF" "\x01\x00" "\x00\x05" "12345678"),
	  -EPROTONOSUPPORT },
	{ "type 0", BYTES(HEAD("\x00")), -EBADMSG },
	{ "type 8", BYTES(HEAD("\x08")), -EBADMSG },
	{ "OPEN without length", BYTES(HEAD("\x01") "\x00"), -EBADMSG },
	{ "OPEN with an empty name", BYTES(HEAD("\x01") "\x00\x00"), -EBADMSG },
	{ "OPEN with a short name", BYTES(HEAD("\x01") "\x00\x03" "ab"),
	  -EBADMSG },
	{ "OPEN with a long name", BYTES(HEAD("\x01") "\x00\x03" "abcd"),
	  -EBADMSG },
	{ "OPEN with a NUL in its name", BYTES(HEAD("\x01") "\x00\x03" "a\0b"),
	  -EBADMSG },
	{ "FINISH with more", BYTES(HEAD("\x05") "x"), -EBADMSG },
};

static void test_rows(void)
{
	uint8_t buf[RDS_FILE_MSG_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rds_file_msg msg = rows[i].msg, back;
		int len, err;

		msg.session = SESSION;
		len = rds_file_encode(&msg, buf);
		ok(len == (int)rows[i].len && !memcmp(buf, rows[i].bytes, len),
		   "rds_file_encode %s", rows[i].what);

		/* Encoding is right, so what was read is if it gives the same. */
		err = rds_file_decode(&back, rows[i].bytes, rows[i].len);
		len = err ? err : rds_file_encode(&back, buf);
		ok(len == (int)rows[i].len && !memcmp(buf, rows[i].bytes, len) &&
		   back.session == SESSION && back.version == RDS_FILE_VERSION,
		   "rds_file_decode %s", rows[i].what);
	}
}

/* Every length but the right one; from the heap, for the sanitizer's sake. */
static void test_lengths(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int good = 1;

		for (size_t len = 0; len < rows[i].len + 4; len++) {
			uint8_t *buf = calloc(1, len ? len : 1);
			struct rds_file_msg msg;

			memcpy(buf, rows[i].bytes,
			       len < rows[i].len ? len : rows[i].len);
			if (len != rows[i].len &&
			    rds_file_decode(&msg, buf, len) != -EBADMSG)
				good = 0;
			free(buf);
		}
		ok(good, "rds_file_decode %s of wrong lengths", rows[i].what);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct rds_file_msg msg;
		int err = rds_file_decode(&msg, bad[i].bytes, bad[i].len);

		ok(err == bad[i].err, "rds_file_decode %s", bad[i].what);
	}
}

static void test_names(void)
{
	static const struct { size_t len; int err; } lens[] = {
		{ 0, -EINVAL }, { 1, 0 }, { RDS_FILE_NAME_MAX, 0 },
		{ RDS_FILE_NAME_MAX + 1, -EINVAL },
	};
	static char name[RDS_FILE_NAME_MAX + 1];
	uint8_t buf[RDS_FILE_MSG_MAX];

	memset(name, 'n', sizeof(name));
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct rds_file_msg back, msg = {
			.type = RDS_FILE_OPEN, .name = name,
			.name_len = lens[i].len,
		};
		int len = rds_file_encode(&msg, buf);

		ok(lens[i].err ? len == lens[i].err :
		   len == RDS_FILE_HEADER + 2 + (int)lens[i].len &&
		   !rds_file_decode(&back, buf, len) &&
		   back.name_len == lens[i].len, "name of %zu bytes", lens[i].len);
	}
	ok(rds_file_encode(&(struct rds_file_msg){ .type = 8 }, buf) == -EINVAL,
	   "rds_file_encode type 8");
}

int main(void)
{
	test_rows();
	test_lengths();
	test_bad();
	test_names();
	return tap_end();
}
