/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The protocol between rds-get and rds-serve; PROTOCOL.md describes it.
 *
 * Messages are what RDS delivers: whole, once and in order.  The content of
 * the file is never in them: the server RDMA-writes it into the buffer whose
 * cookie a READ names, and the DATA that arrives after it says so.
 *
 * Encoding and decoding are pure: no system call, no allocation.
 */
#ifndef RDS_FILE_H
#define RDS_FILE_H

#include <stddef.h>
#include <stdint.h>

#define RDS_FILE_PORT		4460		/* unless told otherwise */
#define RDS_FILE_VERSION	1
#define RDS_FILE_MAGIC		0x52445346	/* "RDSF" */
#define RDS_FILE_HEADER		16		/* bytes, the same in every version */
#define RDS_FILE_NAME_MAX	4096		/* bytes, no NUL among them */
#define RDS_FILE_READ_MAX	(1024 * 1024)	/* bytes of one READ */
#define RDS_FILE_DIGEST_SIZE	32		/* SHA-256 */
#define RDS_FILE_MSG_MAX	(RDS_FILE_HEADER + 2 + RDS_FILE_NAME_MAX)

enum rds_file_type {
	RDS_FILE_OPEN = 1,	/* client: name */
	RDS_FILE_OPENED,	/* server: status, size, max_read, max_requests */
	RDS_FILE_READ,		/* client: request, length, offset, cookie */
	RDS_FILE_DATA,		/* server: status, request */
	RDS_FILE_FINISH,	/* client: all received, what is the digest? */
	RDS_FILE_DIGEST,	/* server: status, digest */
	RDS_FILE_CLOSE,		/* client: forget me */
};

enum rds_file_status {
	RDS_FILE_OK,
	RDS_FILE_RETRY,		/* the connection broke: ask again */
	RDS_FILE_NOT_FOUND,
	RDS_FILE_NO_PERMISSION,
	RDS_FILE_OUTSIDE,	/* the name leaves the served folder */
	RDS_FILE_BAD_LINK,	/* symbolic links that loop, or magic ones */
	RDS_FILE_DIRECTORY,
	RDS_FILE_NOT_REGULAR,	/* device, pipe, socket */
	RDS_FILE_BAD_NAME,	/* empty, too long */
	RDS_FILE_BUSY,		/* no room for another client, or no memory */
	RDS_FILE_SHRUNK,	/* the file is shorter than it was at OPEN */
	RDS_FILE_CHANGED,	/* the file was written to since OPEN */
	RDS_FILE_READ_ERROR,
	RDS_FILE_FORGOTTEN,	/* no such session: silent for too long */
	RDS_FILE_BAD_REQUEST,	/* outside the file, too long, too many */
	RDS_FILE_BAD_KEY,	/* the buffer does not take the RDMA write */
	RDS_FILE_BAD_VERSION,
	RDS_FILE_STOPPING,	/* the server is being ended */
	RDS_FILE_NR_STATUS
};

/* One message, decoded.  Which fields count depends on the type, see there. */
struct rds_file_msg {
	uint64_t	session;	/* chosen by the client at random */
	uint64_t	offset;		/* bytes from the start of the file */
	uint64_t	cookie;		/* buffer to RDMA-write into, from its start */
	uint64_t	size;		/* of the file, bytes */
	const char	*name;		/* below the served folder, no NUL at its end */
	uint32_t	request;	/* number of a READ; comes back in its DATA */
	uint32_t	length;		/* bytes, 1 to max_read */
	uint32_t	status;		/* enum rds_file_status */
	uint32_t	max_read;	/* bytes that one READ may ask for */
	uint32_t	max_requests;	/* READs that may be unanswered at once */
	uint16_t	version;	/* decoding only */
	uint16_t	type;		/* enum rds_file_type */
	uint16_t	name_len;	/* bytes, 1 to RDS_FILE_NAME_MAX */
	uint8_t		digest[RDS_FILE_DIGEST_SIZE];
};

/*
 * Write @msg into @buf, which has room for RDS_FILE_MSG_MAX bytes.
 * Returns the length, or -EINVAL: unknown type, or a name of a wrong length.
 */
int rds_file_encode(const struct rds_file_msg *msg, uint8_t *buf);

/*
 * Read @len bytes at @buf; @msg->name then points into them.
 * 0, -EBADMSG (not of this protocol, or malformed), or -EPROTONOSUPPORT
 * (another version: only version, type and session are filled in).
 */
int rds_file_decode(struct rds_file_msg *msg, const uint8_t *buf, size_t len);

/* A few words for the server's log; never NULL. */
const char *rds_file_status_name(uint32_t status);

#endif /* RDS_FILE_H */
