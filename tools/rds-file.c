// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rds-file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static uint8_t *put16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static const uint8_t *get16(const uint8_t *p, uint16_t *v)
{
	memcpy(v, p, sizeof(*v));
	*v = be16toh(*v);
	return p + sizeof(*v);
}

static const uint8_t *get32(const uint8_t *p, uint32_t *v)
{
	memcpy(v, p, sizeof(*v));
	*v = be32toh(*v);
	return p + sizeof(*v);
}

static const uint8_t *get64(const uint8_t *p, uint64_t *v)
{
	memcpy(v, p, sizeof(*v));
	*v = be64toh(*v);
	return p + sizeof(*v);
}

/* Bytes after the header, those of the name not counted; -1: no such type. */
static int body_size(uint16_t type)
{
	switch (type) {
	case RDS_FILE_OPEN:	return 2;
	case RDS_FILE_OPENED:	return 4 + 8 + 4 + 4;
	case RDS_FILE_READ:	return 4 + 4 + 8 + 8;
	case RDS_FILE_DATA:	return 4 + 4;
	case RDS_FILE_FINISH:	return 0;
	case RDS_FILE_DIGEST:	return 4 + RDS_FILE_DIGEST_SIZE;
	case RDS_FILE_CLOSE:	return 0;
	default:		return -1;
	}
}

static int name_fits(const char *name, size_t len)
{
	return len > 0 && len <= RDS_FILE_NAME_MAX && !memchr(name, 0, len);
}

static uint8_t *put_body(uint8_t *p, const struct rds_file_msg *msg)
{
	switch (msg->type) {
	case RDS_FILE_OPEN:
		p = put16(p, msg->name_len);
		memcpy(p, msg->name, msg->name_len);
		return p + msg->name_len;
	case RDS_FILE_OPENED:
		p = put32(p, msg->status);
		p = put64(p, msg->size);
		p = put32(p, msg->max_read);
		return put32(p, msg->max_requests);
	case RDS_FILE_READ:
		p = put32(p, msg->request);
		p = put32(p, msg->length);
		p = put64(p, msg->offset);
		return put64(p, msg->cookie);
	case RDS_FILE_DATA:
		p = put32(p, msg->status);
		return put32(p, msg->request);
	case RDS_FILE_DIGEST:
		p = put32(p, msg->status);
		memcpy(p, msg->digest, RDS_FILE_DIGEST_SIZE);
		return p + RDS_FILE_DIGEST_SIZE;
	default:
		return p;
	}
}

int rds_file_encode(const struct rds_file_msg *msg, uint8_t *buf)
{
	uint8_t *p = buf;

	if (body_size(msg->type) < 0)
		return -EINVAL;
	if (msg->type == RDS_FILE_OPEN && !name_fits(msg->name, msg->name_len))
		return -EINVAL;

	p = put32(p, RDS_FILE_MAGIC);
	p = put16(p, RDS_FILE_VERSION);
	p = put16(p, msg->type);
	p = put64(p, msg->session);
	return put_body(p, msg) - buf;
}

static int get_body(struct rds_file_msg *msg, const uint8_t *p, size_t extra)
{
	switch (msg->type) {
	case RDS_FILE_OPEN:
		msg->name = (const char *)get16(p, &msg->name_len);
		if (msg->name_len != extra ||
		    !name_fits(msg->name, msg->name_len))
			return -EBADMSG;
		return 0;
	case RDS_FILE_OPENED:
		p = get32(p, &msg->status);
		p = get64(p, &msg->size);
		p = get32(p, &msg->max_read);
		get32(p, &msg->max_requests);
		break;
	case RDS_FILE_READ:
		p = get32(p, &msg->request);
		p = get32(p, &msg->length);
		p = get64(p, &msg->offset);
		get64(p, &msg->cookie);
		break;
	case RDS_FILE_DATA:
		p = get32(p, &msg->status);
		get32(p, &msg->request);
		break;
	case RDS_FILE_DIGEST:
		p = get32(p, &msg->status);
		memcpy(msg->digest, p, RDS_FILE_DIGEST_SIZE);
		break;
	}
	return extra ? -EBADMSG : 0;
}

int rds_file_decode(struct rds_file_msg *msg, const uint8_t *buf, size_t len)
{
	uint32_t magic;
	int body;

	memset(msg, 0, sizeof(*msg));
	if (len < RDS_FILE_HEADER)
		return -EBADMSG;
	get32(buf, &magic);
	get16(buf + 4, &msg->version);
	get16(buf + 6, &msg->type);
	get64(buf + 8, &msg->session);
	if (magic != RDS_FILE_MAGIC)
		return -EBADMSG;
	if (msg->version != RDS_FILE_VERSION)
		return -EPROTONOSUPPORT;

	body = body_size(msg->type);
	len -= RDS_FILE_HEADER;
	if (body < 0 || len < (size_t)body)
		return -EBADMSG;
	return get_body(msg, buf + RDS_FILE_HEADER, len - body);
}

const char *rds_file_status_name(uint32_t status)
{
	static const char *const names[RDS_FILE_NR_STATUS] = {
		[RDS_FILE_OK]		= "served",
		[RDS_FILE_RETRY]	= "to be asked for again",
		[RDS_FILE_NOT_FOUND]	= "not found",
		[RDS_FILE_NO_PERMISSION] = "no permission",
		[RDS_FILE_OUTSIDE]	= "outside of the folder",
		[RDS_FILE_BAD_LINK]	= "behind links that cannot be followed",
		[RDS_FILE_DIRECTORY]	= "a directory",
		[RDS_FILE_NOT_REGULAR]	= "not a regular file",
		[RDS_FILE_BAD_NAME]	= "not a name",
		[RDS_FILE_BUSY]		= "no room now",
		[RDS_FILE_SHRUNK]	= "became shorter",
		[RDS_FILE_CHANGED]	= "changed meanwhile",
		[RDS_FILE_READ_ERROR]	= "cannot be read",
		[RDS_FILE_FORGOTTEN]	= "no such client",
		[RDS_FILE_BAD_REQUEST]	= "not within the file or the limits",
		[RDS_FILE_BAD_KEY]	= "no RDMA into the client's memory",
		[RDS_FILE_BAD_VERSION]	= "another version",
		[RDS_FILE_STOPPING]	= "the server ends",
	};

	return status < RDS_FILE_NR_STATUS ? names[status] : "unknown status";
}
