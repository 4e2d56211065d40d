// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../cmsg.h"

#define MIB	(1024u * 1024)
#define HEAD	CMSG_LEN(0)

/* Where not said otherwise, lengths are the right ones. */
#define LEN_RIGHT	0

/* One control message of a row. */
struct item {
	int	type;
	int	level;		/* 0: SOL_RDS */
	size_t	data_len;	/* bytes of data that are there */
	size_t	cmsg_len;	/* what the header says, or LEN_RIGHT */
};

static const struct rds_rdma_args good_rdma = {
	.cookie = 0x1000000300, .remote_vec = { 8, MIB }, .local_vec_addr = 0x7000, .nr_local = 1,
	.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, .user_token = 77,
};

static const struct rds_get_mr_args good_map = {
	.vec = { 0x10001, 4097 }, .cookie_addr = 0x2000, .flags = RDS_RDMA_USE_ONCE,
};

static const struct rds_atomic_args good_atomic = {
	.cookie = 0x300, .local_addr = 0x8000, .remote_addr = 16,
	.m_cswp = { 1, 2, 3, 4 }, .flags = RDS_RDMA_NOTIFY_ME, .user_token = 78,
};

static const u64 good_dest = 0x55500000666;
static const u32 good_zcopy = 99;

/* The struct that belongs to a type and its size; 64 bytes of nothing for other types. */
static const void *good_data(int type, size_t *size)
{
	static const u8 nothing[64];

	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		*size = sizeof(good_rdma);
		return &good_rdma;
	case RDS_CMSG_RDMA_DEST:
		*size = sizeof(good_dest);
		return &good_dest;
	case RDS_CMSG_RDMA_MAP:
		*size = sizeof(good_map);
		return &good_map;
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		*size = sizeof(good_atomic);
		return &good_atomic;
	case RDS_CMSG_ZCOPY_COOKIE:
		*size = sizeof(good_zcopy);
		return &good_zcopy;
	default:
		*size = sizeof(nothing);
		return nothing;
	}
}

/* Write header and data, cut off at @room bytes. */
static void put_item(u8 *to, size_t room, int level, int type, size_t cmsg_len, const void *data,
		     size_t data_len)
{
	struct cmsghdr h = { 0 };

	h.cmsg_len = cmsg_len;
	h.cmsg_level = level;
	h.cmsg_type = type;
	memcpy(to, &h, min_t(size_t, room, sizeof(h)));
	if (room > HEAD)
		memcpy(to + HEAD, data, min_t(size_t, room - HEAD, data_len));
}

/* All steps, in their order, for a namespace that allows @max bytes of RDMA. */
static int parse(struct rds_send_req *req, const void *buf, size_t len, u64 max)
{
	struct rds_rdma_args args;
	long offset = 0;
	u64 bytes = 0;
	int err;

	err = rds_cmsg_check_form(buf, len, &bytes);
	if (err)
		return err;
	if (bytes > max)
		return -EMSGSIZE;
	while ((offset = rds_cmsg_next_rdma(buf, len, offset, &args)) > 0)
		;
	if (offset < 0)
		return offset;
	err = rds_cmsg_types(buf, len);
	return err < 0 ? err : rds_cmsg_parse(req, buf, len);
}

static int parse_one(struct kunit *test, struct rds_send_req *req, int type, const void *data,
		     size_t data_len)
{
	size_t len = HEAD + data_len;
	u8 *buf = kunit_kzalloc(test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	put_item(buf, len, SOL_RDS, type, len, data, data_len);
	memset(req, 0x5a, sizeof(*req));
	return parse(req, buf, len, MIB);
}

/* Every type that may be sent, and its size by the ABI. */
struct type_row {
	int	type;
	u32	size;
};

static const struct type_row type_rows[] = {
	{ RDS_CMSG_RDMA_ARGS, 56 },
	{ RDS_CMSG_RDMA_DEST, 8 },
	{ RDS_CMSG_RDMA_MAP, 32 },
	{ RDS_CMSG_ATOMIC_FADD, 72 },
	{ RDS_CMSG_ATOMIC_CSWP, 72 },
	{ RDS_CMSG_MASKED_ATOMIC_FADD, 72 },
	{ RDS_CMSG_MASKED_ATOMIC_CSWP, 72 },
	{ RDS_CMSG_ZCOPY_COOKIE, 4 },
};

static void type_desc(const struct type_row *row, char *desc)
{
	sprintf(desc, "type %d", row->type);
}

KUNIT_ARRAY_PARAM(type, type_rows, type_desc);

/* The unmasked atomics have a second, shorter struct. */
static bool has_short_struct(int type, size_t len)
{
	return len == 56 && (type == RDS_CMSG_ATOMIC_FADD || type == RDS_CMSG_ATOMIC_CSWP);
}

/* D08: any length below the struct's, down to the header alone, in a buffer that ends there. */
static void cmsg_d08_short_data(struct kunit *test)
{
	const struct type_row *row = test->param_value;
	struct rds_send_req req;
	const void *data;
	size_t size, len;

	data = good_data(row->type, &size);
	KUNIT_EXPECT_EQ(test, size, row->size);
	for (len = 0; len < size; len++)
		KUNIT_EXPECT_EQ_MSG(test, parse_one(test, &req, row->type, data, len),
				    has_short_struct(row->type, len) ? 0 : -EINVAL, "%zu bytes", len);
}

/* As parse_one(), with @more bytes behind the struct, all of them set. */
static int parse_longer(struct kunit *test, struct rds_send_req *req, int type, size_t more)
{
	const void *data;
	size_t size;
	u8 *longer;

	data = good_data(type, &size);
	longer = kunit_kzalloc(test, size + more, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, longer);
	memset(longer, 0xff, size + more);
	memcpy(longer, data, size);
	return parse_one(test, req, type, longer, size + more);
}

/* Exactly the struct, and longer: both say the same. */
static void cmsg_exact_and_longer(struct kunit *test)
{
	static const size_t more[] = { 0, 1, 7, 8, 9, 4096 };
	const struct type_row *row = test->param_value;
	struct rds_send_req req;
	bool atomic;
	u32 i;

	atomic = row->type >= RDS_CMSG_ATOMIC_FADD && row->type <= RDS_CMSG_MASKED_ATOMIC_CSWP;
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		KUNIT_EXPECT_EQ(test, parse_longer(test, &req, row->type, more[i]), 0);
		KUNIT_EXPECT_EQ(test, req.has_rdma, row->type == RDS_CMSG_RDMA_ARGS);
		KUNIT_EXPECT_EQ(test, req.has_dest, row->type == RDS_CMSG_RDMA_DEST);
		KUNIT_EXPECT_EQ(test, req.has_map, row->type == RDS_CMSG_RDMA_MAP);
		KUNIT_EXPECT_EQ(test, req.has_zcopy, row->type == RDS_CMSG_ZCOPY_COOKIE);
		KUNIT_EXPECT_EQ(test, req.has_atomic, atomic);
		KUNIT_EXPECT_EQ(test, req.atomic_type, atomic ? row->type : 0);
		if (req.has_rdma)
			KUNIT_EXPECT_EQ(test, memcmp(&req.rdma, &good_rdma, sizeof(good_rdma)), 0);
		if (req.has_map)
			KUNIT_EXPECT_EQ(test, memcmp(&req.map, &good_map, sizeof(good_map)), 0);
		if (req.has_atomic)
			KUNIT_EXPECT_EQ(test, 0, memcmp(&req.atomic, &good_atomic,
							 sizeof(good_atomic)));
		KUNIT_EXPECT_EQ(test, req.dest_cookie, req.has_dest ? good_dest : 0);
		KUNIT_EXPECT_EQ(test, req.zcopy_cookie, req.has_zcopy ? good_zcopy : 0);
	}
}

/* D08: lengths that cannot be true, with the whole struct there. */
static void cmsg_d08_false_length(struct kunit *test)
{
	const struct type_row *row = test->param_value;
	size_t full = HEAD + row->size;
	const size_t lens[] = {
		0, 1, sizeof(struct cmsghdr) - 1, HEAD - 1, HEAD, HEAD + row->size - 1,
		full + 1, full + 8, 0x7fffffff, 0x80000000u, U32_MAX,
		(size_t)-1, (size_t)-7, (size_t)-8, (size_t)-15, (size_t)-16, ~(size_t)0 >> 1,
	};
	u8 *buf = kunit_kzalloc(test, full, GFP_KERNEL);
	struct rds_send_req req;
	const void *data;
	size_t size, i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	data = good_data(row->type, &size);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		put_item(buf, full, SOL_RDS, row->type, lens[i], data, size);
		KUNIT_EXPECT_EQ_MSG(test, parse(&req, buf, full, MIB), -EINVAL,
				    "cmsg_len %zu", lens[i]);
	}
}

/* A buffer cut off anywhere: no message if not even a header is left, else malformed. */
static void cmsg_truncated_buffer(struct kunit *test)
{
	const struct type_row *row = test->param_value;
	struct rds_send_req req;
	const void *data;
	size_t size, room;
	bool ok;
	u8 *buf;

	data = good_data(row->type, &size);
	for (room = 0; room <= HEAD + size; room++) {
		buf = kunit_kzalloc(test, room, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		put_item(buf, room, SOL_RDS, row->type, HEAD + size, data, size);
		ok = room < sizeof(struct cmsghdr) || room == HEAD + size;
		KUNIT_EXPECT_EQ_MSG(test, parse(&req, buf, room, MIB), ok ? 0 : -EINVAL,
				    "%zu bytes of %zu", room, HEAD + size);
	}
}

/* Several messages in one buffer. */
struct list_row {
	const char	*name;
	struct item	items[4];
	u32		nr;
	size_t		slack;		/* zero bytes behind the last one */
	int		err;
};

#define RDMA	{ RDS_CMSG_RDMA_ARGS, 0, 56, LEN_RIGHT }
#define DEST	{ RDS_CMSG_RDMA_DEST, 0, 8, LEN_RIGHT }
#define MAP	{ RDS_CMSG_RDMA_MAP, 0, 32, LEN_RIGHT }
#define FADD	{ RDS_CMSG_ATOMIC_FADD, 0, 72, LEN_RIGHT }
#define CSWP	{ RDS_CMSG_ATOMIC_CSWP, 0, 72, LEN_RIGHT }
#define MFADD	{ RDS_CMSG_MASKED_ATOMIC_FADD, 0, 72, LEN_RIGHT }
#define MCSWP	{ RDS_CMSG_MASKED_ATOMIC_CSWP, 0, 72, LEN_RIGHT }
#define ZCOPY	{ RDS_CMSG_ZCOPY_COOKIE, 0, 4, LEN_RIGHT }
#define ASYNC	{ RDS_CMSG_ASYNC_SEND, 0, 16, LEN_RIGHT }
#define TYPE(t)	{ t, 0, 64, LEN_RIGHT }
#define OTHER(t, level, len)	{ t, level, len, LEN_RIGHT }
#define SAYS(t, len, cmsg_len)	{ t, 0, len, cmsg_len }

static const struct list_row list_rows[] = {
	{ "nothing", { { 0 } }, 0, 0, 0 },
	{ "an end of 15 bytes is no message", { DEST }, 1, 15, 0 },
	{ "15 bytes are no message", { { 0 } }, 0, 15, 0 },
	{ "a header of zeros at the end", { DEST }, 1, 16, -EINVAL },
	{ "a header of zeros", { { 0 } }, 0, 16, -EINVAL },

	{ "type 0", { TYPE(0) }, 1, 0, -EINVAL },
	{ "type 4, received only", { TYPE(RDS_CMSG_RDMA_STATUS) }, 1, 0, -EINVAL },
	{ "type 5, received only", { TYPE(RDS_CMSG_CONG_UPDATE) }, 1, 0, -EINVAL },
	{ "async send", { TYPE(RDS_CMSG_ASYNC_SEND) }, 1, 0, 0 },
	{ "async send, too short", { SAYS(RDS_CMSG_ASYNC_SEND, 15, LEN_RIGHT) }, 1, 0, -EINVAL },
	{ "async send twice", { ASYNC, ASYNC }, 2, 0, -EINVAL },
	{ "async send with all that goes together", { ASYNC, RDMA, FADD }, 3, 0, 0 },
	{ "async send and map", { MAP, ASYNC }, 2, 0, 0 },
	{ "type 11, received only", { TYPE(RDS_CMSG_RXPATH_LATENCY) }, 1, 0, -EINVAL },
	{ "type 13, received only", { TYPE(RDS_CMSG_ZCOPY_COMPLETION) }, 1, 0, -EINVAL },
	{ "type 14", { TYPE(14) }, 1, 0, -EINVAL },
	{ "type -1", { TYPE(-1) }, 1, 0, -EINVAL },
	{ "type 257", { TYPE(257) }, 1, 0, -EINVAL },
	{ "unknown type behind good ones", { MAP, ZCOPY, TYPE(99) }, 3, 0, -EINVAL },

	{ "SOL_SOCKET is stepped over", { OTHER(1, SOL_SOCKET, 4) }, 1, 0, 0 },
	{ "level 275 is stepped over", { OTHER(1, 275, 0) }, 1, 0, 0 },
	{ "level -276 is stepped over", { OTHER(99, -276, 3) }, 1, 0, 0 },
	{ "others between ours", { OTHER(1, 1, 4), RDMA, OTHER(2, 41, 20), FADD }, 4, 0, 0 },
	{ "others of odd length", { OTHER(1, 1, 1), DEST, OTHER(1, 1, 13), ZCOPY }, 4, 0, 0 },
	{ "malformed behind good ones", { DEST, ZCOPY, SAYS(1, 8, 15) }, 3, 0, -EINVAL },
	{ "other level, too long", { DEST, { 1, 1, 8, HEAD + 9 } }, 2, 0, -EINVAL },
	{ "other level, too short", { DEST, { 1, 1, 8, HEAD - 1 } }, 2, 0, -EINVAL },

	{ "RDMA twice", { RDMA, RDMA }, 2, 0, -EINVAL },
	{ "dest twice", { DEST, DEST }, 2, 0, -EINVAL },
	{ "map twice", { MAP, MAP }, 2, 0, -EINVAL },
	{ "dest and map", { DEST, MAP }, 2, 0, -EINVAL },
	{ "map and dest", { MAP, DEST }, 2, 0, -EINVAL },
	{ "an atomic twice", { FADD, FADD }, 2, 0, -EINVAL },
	{ "two kinds of atomic", { FADD, CSWP }, 2, 0, -EINVAL },
	{ "masked and plain atomic", { MCSWP, CSWP }, 2, 0, -EINVAL },
	{ "two masked atomics", { MFADD, MCSWP }, 2, 0, -EINVAL },
	{ "zcopy twice", { ZCOPY, ZCOPY }, 2, 0, 0 },

	{ "RDMA and atomic", { RDMA, MCSWP }, 2, 0, 0 },
	{ "atomic and RDMA", { CSWP, RDMA }, 2, 0, 0 },
	{ "dest and zcopy", { DEST, ZCOPY }, 2, 0, 0 },
	{ "zcopy and map", { ZCOPY, MAP }, 2, 0, 0 },
	{ "dest and RDMA", { DEST, RDMA }, 2, 0, -EINVAL },
	{ "RDMA and dest", { RDMA, DEST }, 2, 0, -EINVAL },
	{ "map and RDMA", { MAP, RDMA }, 2, 0, -EINVAL },
	{ "RDMA and map", { RDMA, MAP }, 2, 0, -EINVAL },
	{ "zcopy and RDMA", { ZCOPY, RDMA }, 2, 0, -EINVAL },
	{ "RDMA and zcopy", { RDMA, ZCOPY }, 2, 0, -EINVAL },
	{ "dest and atomic", { DEST, FADD }, 2, 0, -EINVAL },
	{ "atomic and dest", { FADD, DEST }, 2, 0, -EINVAL },
	{ "map and atomic", { MAP, CSWP }, 2, 0, -EINVAL },
	{ "masked atomic and map", { MFADD, MAP }, 2, 0, -EINVAL },
	{ "zcopy and atomic", { ZCOPY, MCSWP }, 2, 0, -EINVAL },
	{ "atomic and zcopy", { MCSWP, ZCOPY }, 2, 0, -EINVAL },
	{ "mixed across another level", { MAP, OTHER(1, 1, 4), FADD }, 3, 0, -EINVAL },

	{ "add of 56 bytes", { SAYS(RDS_CMSG_ATOMIC_FADD, 56, LEN_RIGHT) }, 1, 0, 0 },
	{ "swap of 56 bytes", { SAYS(RDS_CMSG_ATOMIC_CSWP, 56, LEN_RIGHT) }, 1, 0, 0 },
	{ "masked add of 56 bytes", { SAYS(RDS_CMSG_MASKED_ATOMIC_FADD, 56, LEN_RIGHT) }, 1, 0, -EINVAL },
	{ "masked swap of 56 bytes", { SAYS(RDS_CMSG_MASKED_ATOMIC_CSWP, 56, LEN_RIGHT) }, 1, 0, -EINVAL },
	{ "add of 55 bytes", { SAYS(RDS_CMSG_ATOMIC_FADD, 55, LEN_RIGHT) }, 1, 0, -EINVAL },
	{ "add of 64 bytes", { SAYS(RDS_CMSG_ATOMIC_FADD, 64, LEN_RIGHT) }, 1, 0, -EINVAL },
};

static void list_desc(const struct list_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(list, list_rows, list_desc);

/* Lay out the row's messages in a buffer of just the size that they take. */
static u8 *lay_out(struct kunit *test, const struct list_row *row, size_t *len)
{
	size_t size, offset = 0;
	const void *data;
	u8 *buf;
	u32 i;

	*len = row->slack;
	for (i = 0; i < row->nr; i++)
		*len += HEAD + (i < row->nr - 1 || row->slack ? CMSG_ALIGN(row->items[i].data_len)
							      : row->items[i].data_len);
	buf = kunit_kzalloc(test, *len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);

	for (i = 0; i < row->nr; i++) {
		const struct item *item = &row->items[i];

		data = good_data(item->type, &size);
		put_item(buf + offset, HEAD + item->data_len, item->level ? item->level : SOL_RDS,
			 item->type, item->cmsg_len ? item->cmsg_len : HEAD + item->data_len,
			 data, min_t(size_t, size, item->data_len));
		offset += HEAD + CMSG_ALIGN(item->data_len);
	}
	return buf;
}

static bool row_has(const struct list_row *row, int type)
{
	u32 i;

	for (i = 0; i < row->nr; i++)
		if (!row->items[i].level && row->items[i].type == type)
			return true;
	return false;
}

static void cmsg_list(struct kunit *test)
{
	const struct list_row *row = test->param_value;
	struct rds_send_req req;
	size_t len;
	u8 *buf;

	buf = lay_out(test, row, &len);
	memset(&req, 0x5a, sizeof(req));
	/* twice is too much only in number */
	KUNIT_EXPECT_EQ(test, parse(&req, buf, len, 2 * MIB), row->err);
	if (row->err)
		return;
	KUNIT_EXPECT_EQ(test, req.has_dest, row_has(row, RDS_CMSG_RDMA_DEST));
	KUNIT_EXPECT_EQ(test, req.has_map, row_has(row, RDS_CMSG_RDMA_MAP));
	KUNIT_EXPECT_EQ(test, req.has_rdma, row_has(row, RDS_CMSG_RDMA_ARGS));
	KUNIT_EXPECT_EQ(test, req.has_zcopy, row_has(row, RDS_CMSG_ZCOPY_COOKIE));
	KUNIT_EXPECT_EQ(test, req.has_async, row_has(row, RDS_CMSG_ASYNC_SEND));
	KUNIT_EXPECT_EQ(test, req.has_atomic, row_has(row, RDS_CMSG_ATOMIC_FADD) ||
					      row_has(row, RDS_CMSG_ATOMIC_CSWP) ||
					      row_has(row, RDS_CMSG_MASKED_ATOMIC_FADD) ||
					      row_has(row, RDS_CMSG_MASKED_ATOMIC_CSWP));
}

/* A malformed message anywhere is found before an earlier one is looked into. */
static void cmsg_form_before_meaning(struct kunit *test)
{
	struct rds_rdma_args too_big = good_rdma;
	size_t len = 2 * HEAD + sizeof(too_big);
	u8 *buf = kunit_kzalloc(test, len, GFP_KERNEL);
	struct rds_send_req req;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	too_big.remote_vec.bytes = MIB + 1;
	put_item(buf, len, SOL_RDS, RDS_CMSG_RDMA_ARGS, HEAD + sizeof(too_big), &too_big,
		 sizeof(too_big));
	put_item(buf + HEAD + sizeof(too_big), HEAD, SOL_SOCKET, 1, HEAD, NULL, 0);
	KUNIT_EXPECT_EQ(test, parse(&req, buf, len, MIB), -EMSGSIZE);
	put_item(buf + HEAD + sizeof(too_big), HEAD, SOL_SOCKET, 1, HEAD + 1, NULL, 0);
	KUNIT_EXPECT_EQ(test, parse(&req, buf, len, MIB), -EINVAL);
}

/* What each step finds, and leaves to the later ones, of two RDMA_ARGS and a type that nobody sends. */
static void cmsg_steps(struct kunit *test)
{
	size_t one = HEAD + sizeof(struct rds_rdma_args), len = 2 * one + HEAD;
	u8 *buf = kunit_kzalloc(test, len, GFP_KERNEL);
	struct rds_rdma_args args = good_rdma, got;
	u64 bytes;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	put_item(buf, HEAD, SOL_RDS, 99, HEAD, NULL, 0);
	put_item(buf + HEAD, one, SOL_RDS, RDS_CMSG_RDMA_ARGS, one, &args, sizeof(args));
	args.remote_vec.bytes = U64_MAX;
	args.nr_local = RDS_MAX_LOCAL_IOVECS + 1;
	put_item(buf + HEAD + one, one, SOL_RDS, RDS_CMSG_RDMA_ARGS, one, &args, sizeof(args));

	KUNIT_EXPECT_EQ(test, rds_cmsg_check_form(buf, HEAD + one, &bytes), 0);
	KUNIT_EXPECT_EQ(test, bytes, MIB);
	KUNIT_EXPECT_EQ(test, rds_cmsg_check_form(buf, len, &bytes), 0);
	KUNIT_EXPECT_EQ(test, bytes, U64_MAX);
	KUNIT_EXPECT_EQ(test, rds_cmsg_next_rdma(buf, len, 0, &got), (long)(HEAD + one));
	KUNIT_EXPECT_EQ(test, memcmp(&got, &good_rdma, sizeof(got)), 0);
	KUNIT_EXPECT_EQ(test, rds_cmsg_next_rdma(buf, len, HEAD + one, &got), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, rds_cmsg_next_rdma(buf, len, len, &got), 0);
	KUNIT_EXPECT_EQ(test, rds_cmsg_types(buf, len), -EINVAL);
	KUNIT_EXPECT_EQ(test, rds_cmsg_types(buf + HEAD, len - HEAD), (int)BIT(RDS_CMSG_RDMA_ARGS));
}

/* Sizes in RDMA_ARGS. */
struct args_row {
	u64	bytes;
	u64	nr_local;
	int	err;
};

static const struct args_row args_rows[] = {
	{ 0, 1, 0 },
	{ 1, 1, 0 },
	{ MIB, 1, 0 },
	{ MIB + 1, 1, -EMSGSIZE },
	{ 1ull << 32, 1, -EMSGSIZE },
	{ 1ull << 63, 1, -EMSGSIZE },
	{ U64_MAX, 1, -EMSGSIZE },
	{ MIB, 0, -EINVAL },
	{ MIB, 1023, 0 },
	{ MIB, 1024, 0 },
	{ MIB, 1025, -EMSGSIZE },
	{ MIB, 1ull << 32, -EMSGSIZE },
	{ MIB, (1ull << 32) + 1, -EMSGSIZE },
	{ MIB, 1ull << 63, -EMSGSIZE },	/* D09 (e) */
	{ MIB, U64_MAX, -EMSGSIZE },
	{ MIB + 1, 0, -EMSGSIZE },
};

static void args_desc(const struct args_row *row, char *desc)
{
	sprintf(desc, "%#llx bytes, %#llx ranges", (unsigned long long)row->bytes,
		(unsigned long long)row->nr_local);
}

KUNIT_ARRAY_PARAM(args, args_rows, args_desc);

static void cmsg_d09_rdma_sizes(struct kunit *test)
{
	const struct args_row *row = test->param_value;
	struct rds_rdma_args args = good_rdma;
	struct rds_send_req req;

	args.remote_vec.bytes = row->bytes;
	args.nr_local = row->nr_local;
	KUNIT_EXPECT_EQ(test, parse_one(test, &req, RDS_CMSG_RDMA_ARGS, &args, sizeof(args)),
			row->err);
}

/* @nr local ranges: the first as given, the others equal to the second. */
struct local_row {
	const char		*name;
	struct rds_iovec	first;
	struct rds_iovec	others;
	u32			nr;
	u32			page_size;
	int			err;
	u64			bytes;
	u64			pages;
};

#define TOP	0xfffffffffffff000ull

static const struct local_row local_rows[] = {
	{ "a byte", { 0x1000, 1 }, { 0 }, 1, 4096, 0, 1, 1 },
	{ "a page", { 0x1000, 4096 }, { 0 }, 1, 4096, 0, 4096, 1 },
	{ "a page and a byte", { 0x1000, 4097 }, { 0 }, 1, 4096, 0, 4097, 2 },
	{ "two bytes across two pages", { 0x1fff, 2 }, { 0 }, 1, 4096, 0, 2, 2 },
	{ "last byte of a page", { 0x1fff, 1 }, { 0 }, 1, 4096, 0, 1, 1 },
	{ "from address 0", { 0, 4096 }, { 0 }, 1, 4096, 0, 4096, 1 },
	{ "larger pages", { 0xffff, 65538 }, { 0 }, 1, 65536, 0, 65538, 3 },
	{ "1 MiB", { 0x1000, MIB }, { 0 }, 1, 4096, 0, MIB, 256 },
	{ "1 MiB unaligned", { 0x1001, MIB }, { 0 }, 1, 4096, 0, MIB, 257 },
	{ "above 1 MiB", { 0x1000, MIB + 1 }, { 0 }, 1, 4096, 0, MIB + 1, 257 },
	{ "sum of 1 MiB", { 0x1000, 1 }, { 0x1fff, MIB - 1 }, 2, 4096, 0, MIB, 258 },
	{ "1024 single bytes", { 0x1fff, 1 }, { 0x1fff, 1 }, 1024, 4096, 0, 1024, 1024 },
	{ "1024 times 1 KiB", { 0xfff, 1024 }, { 0xfff, 1024 }, 1024, 4096, 0, MIB, 2048 },

	{ "D10 (a): empty", { 0x1000, 0 }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "D09 (b): empty behind a good one", { 0x1000, 1 }, { 0x2000, 0 }, 2, 4096, -EINVAL, 0, 0 },
	{ "D09 (a): wraps", { TOP, 8192 }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "D09 (a): ends at 2^64", { TOP, 4096 }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "ends just below 2^64", { TOP, 4095 }, { 0 }, 1, 4096, 0, 4095, 1 },
	{ "D09 (a): longest", { 1, U64_MAX }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "D09 (a): longest from 0", { 0, U64_MAX }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "D09 (d): 4 GiB", { 0x1000, 1ull << 32 }, { 0 }, 1, 4096, -EINVAL, 0, 0 },
	{ "D09 (d): below 4 GiB", { 0x1000, U32_MAX }, { 0 }, 1, 4096, 0, U32_MAX, 1 << 20 },
	{
		"sum above 32 bits",
		{ 0x1000, U32_MAX }, { 0, 2 }, 2, 4096, 0, (1ull << 32) + 1, (1 << 20) + 1,
	},
	{
		"D09 (c): pages above 2^32",
		{ 1, U32_MAX }, { 1, U32_MAX }, 1024, 512, 0, (1ull << 42) - 1024, 1ull << 33,
	},
};

static void local_desc(const struct local_row *row, char *desc)
{
	strcpy(desc, row->name);
}

KUNIT_ARRAY_PARAM(local, local_rows, local_desc);

static void cmsg_check_local(struct kunit *test)
{
	const struct local_row *row = test->param_value;
	u64 bytes = 0x5a5a, pages = 0x5a5a;
	struct rds_iovec *iov;
	u32 i;

	iov = kunit_kzalloc(test, row->nr * sizeof(*iov), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iov);
	for (i = 0; i < row->nr; i++)
		iov[i] = i ? row->others : row->first;
	KUNIT_EXPECT_EQ(test, rds_rdma_check_local(iov, row->nr, row->page_size, &bytes, &pages),
			row->err);
	if (row->err)
		return;
	KUNIT_EXPECT_EQ(test, bytes, row->bytes);
	KUNIT_EXPECT_EQ(test, pages, row->pages);
}

/* A buffer to be registered. */
struct range_row {
	u64	addr;
	u64	bytes;
	u32	page_size;
	u32	max_pages;
	int	err;
	u32	pages;
};

static const struct range_row range_rows[] = {
	{ 0x1000, 0, 4096, 257, -EINVAL, 0 },
	{ 0, 0, 4096, 257, -EINVAL, 0 },
	{ 0x1000, 1, 4096, 257, 0, 1 },
	{ 0, 1, 4096, 257, 0, 1 },
	{ 0x1fff, 2, 4096, 257, 0, 2 },
	{ 0x1000, 4096, 4096, 1, 0, 1 },
	{ 0x1000, 4097, 4096, 1, -EMSGSIZE, 0 },
	{ 0x1001, 4096, 4096, 1, -EMSGSIZE, 0 },
	{ 0x1000, 1, 4096, 0, -EMSGSIZE, 0 },
	{ 0x1000, MIB, 4096, 256, 0, 256 },
	{ 0x1001, MIB, 4096, 257, 0, 257 },
	{ 0x1001, MIB, 4096, 256, -EMSGSIZE, 0 },
	{ 0x1000, 257 * 4096, 4096, 257, 0, 257 },
	{ 0x1000, 257 * 4096 + 1, 4096, 257, -EMSGSIZE, 0 },
	{ 0xffff, 65538, 65536, 3, 0, 3 },
	{ 0, 1ull << 32, 4096, U32_MAX, 0, 1 << 20 },
	{ 0, (1ull << 44) - 4096, 4096, U32_MAX, 0, U32_MAX },
	{ 0, 1ull << 44, 4096, U32_MAX, -EMSGSIZE, 0 },		/* 2^32 pages */
	{ 0, (1ull << 44) + 4096, 4096, 257, -EMSGSIZE, 0 },
	{ 0, U64_MAX, 4096, U32_MAX, -EMSGSIZE, 0 },
	{ 1, U64_MAX, 4096, U32_MAX, -EINVAL, 0 },
	{ TOP, 4095, 4096, 257, 0, 1 },
	{ TOP, 4096, 4096, 257, -EINVAL, 0 },
	{ TOP, 8192, 4096, 257, -EINVAL, 0 },
	{ U64_MAX, 1, 4096, 257, -EINVAL, 0 },
	{ U64_MAX, U64_MAX, 4096, 257, -EINVAL, 0 },
};

static void range_desc(const struct range_row *row, char *desc)
{
	sprintf(desc, "%#llx+%#llx, pages of %u, at most %u", (unsigned long long)row->addr,
		(unsigned long long)row->bytes, row->page_size, row->max_pages);
}

KUNIT_ARRAY_PARAM(range, range_rows, range_desc);

static void cmsg_check_mr_range(struct kunit *test)
{
	const struct range_row *row = test->param_value;
	const struct rds_iovec vec = { row->addr, row->bytes };
	u32 pages = 0x5a5a;

	KUNIT_EXPECT_EQ(test, rds_mr_check_range(&vec, row->page_size, row->max_pages, &pages),
			row->err);
	if (!row->err)
		KUNIT_EXPECT_EQ(test, pages, row->pages);
}

static struct kunit_case cmsg_cases[] = {
	KUNIT_CASE_PARAM(cmsg_d08_short_data, type_gen_params),
	KUNIT_CASE_PARAM(cmsg_exact_and_longer, type_gen_params),
	KUNIT_CASE_PARAM(cmsg_d08_false_length, type_gen_params),
	KUNIT_CASE_PARAM(cmsg_truncated_buffer, type_gen_params),
	KUNIT_CASE_PARAM(cmsg_list, list_gen_params),
	KUNIT_CASE(cmsg_form_before_meaning),
	KUNIT_CASE(cmsg_steps),
	KUNIT_CASE_PARAM(cmsg_d09_rdma_sizes, args_gen_params),
	KUNIT_CASE_PARAM(cmsg_check_local, local_gen_params),
	KUNIT_CASE_PARAM(cmsg_check_mr_range, range_gen_params),
	{}
};

static struct kunit_suite cmsg_suite = {
	.name = "rds_cmsg",
	.test_cases = cmsg_cases,
};

kunit_test_suite(cmsg_suite);
