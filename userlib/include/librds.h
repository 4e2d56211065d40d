/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * librds: reliable datagram sockets (AF_RDS) with RDMA, for programs.
 *
 * One error convention: every function that returns int or ssize_t returns 0
 * or more, or a negative errno (-EADDRNOTAVAIL, ...).  None touches errno.
 * rds_explain() turns such a value into a sentence for people.
 *
 * A socket is a plain file descriptor: close(), poll(), fcntl() and
 * setsockopt() work as for any other.  The library keeps no state of its own,
 * so that every function may be called from any thread and for descriptors
 * that it did not open.
 *
 * Flags and struct rds_rdma_notify come from <linux/rds.h>; the header of the
 * distribution serves as well as the one next to this library's source.
 */
#ifndef LIBRDS_H
#define LIBRDS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <linux/rds.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one place where the version is written. */
#define LIBRDS_VERSION_MAJOR	0
#define LIBRDS_VERSION_MINOR	1
#define LIBRDS_VERSION_PATCH	0

#ifndef AF_RDS
#define AF_RDS			21
#endif

#define LIBRDS_MSG_MAX		(1024 * 1024)	/* payload bytes of one message */
#define LIBRDS_RDMA_MAX		(1024 * 1024)	/* RDMA bytes of one message, by default */
#define LIBRDS_IOV_MAX		1024		/* local pieces of one RDMA operation */
#define LIBRDS_NOTIFY_MAX	32		/* notifications of one receive call */
#define LIBRDS_ADDR_STRLEN	80		/* "[v6%scope]:port" and its NUL */

/* --- addresses: rds_addr_parse(3) ---------------------------------------- */

/* An address with a port: IPv4 or IPv6, told apart by sa.sa_family. */
struct rds_addr {
	union {
		struct sockaddr		sa;
		struct sockaddr_in	in;
		struct sockaddr_in6	in6;
	};
};

/*
 * Read "ADDR", "ADDR:PORT", "[ADDR6]:PORT" or "ADDR6".  ADDR may be a host
 * name, ADDR6 may end in %INTERFACE.  Without PORT, @port (CPU order) is used.
 * May block for as long as the resolver does.
 * 0, -EINVAL (not an address), -ENOENT (unknown host), -EAGAIN (resolver
 * unavailable now), -ENOMEM.
 */
int rds_addr_parse(struct rds_addr *addr, const char *text, uint16_t port);

/*
 * Write @addr as rds_addr_parse() reads it, port included, into @buf, cut to
 * @size bytes; LIBRDS_ADDR_STRLEN always suffices.  Returns @buf.
 */
char *rds_addr_format(const struct rds_addr *addr, char *buf, size_t size);

uint16_t rds_addr_port(const struct rds_addr *addr);	/* in CPU order */
socklen_t rds_addr_len(const struct rds_addr *addr);	/* 0: neither v4 nor v6 */
int rds_addr_equal(const struct rds_addr *a, const struct rds_addr *b);

/* --- sockets: rds_open(3) ----------------------------------------------- */

/*
 * A new socket, bound to @local as read by rds_addr_parse(); without a port it
 * gets a free one.  NULL leaves it unbound.  @flags: SOCK_NONBLOCK; the socket
 * is always close-on-exec.
 * Returns the descriptor, or the errors of rds_addr_parse(), -EAFNOSUPPORT
 * (module not loaded), -EADDRNOTAVAIL, -EADDRINUSE, -EMFILE, ...
 */
int rds_open(const char *local, int flags);

int rds_bind(int fd, const struct rds_addr *local);

/* Set the peer of messages sent without an address; no traffic, never waits. */
int rds_connect(int fd, const char *peer);

int rds_local_addr(int fd, struct rds_addr *addr);	/* -ENOTCONN: not bound */
int rds_peer_addr(int fd, struct rds_addr *addr);	/* -ENOTCONN: not connected */

/* --- sending: rds_send(3) ----------------------------------------------- */

/*
 * An RDMA operation between local memory and the peer's registered buffer.
 * The local memory must stay as it is until the notification comes.
 */
struct rds_rdma {
	uint64_t		cookie;	/* the peer's */
	uint64_t		offset;	/* bytes from the start of its buffer */
	uint64_t		length;	/* bytes there; 0: as many as @iov holds */
	const struct iovec	*iov;	/* local memory */
	size_t			iovcnt;	/* 1 to LIBRDS_IOV_MAX */
	uint64_t		flags;	/* RDS_RDMA_NOTIFY_ME, _FENCE, _SILENT */
	uint64_t		token;	/* comes back in the notification */
};

/* Register a buffer on the way and send its cookie along. */
struct rds_map {
	void			*buf;
	size_t			len;	/* bytes */
	uint64_t		flags;	/* as for rds_get_mr() */
	uint64_t		*cookie; /* filled in before the send returns; or NULL */
};

/* All that one message may carry; leave out what is not wanted as 0. */
struct rds_outgoing {
	const struct rds_addr	*to;	/* NULL: the connected peer */
	const struct iovec	*iov;	/* payload, up to LIBRDS_MSG_MAX bytes */
	size_t			iovcnt;
	const struct rds_rdma	*write;	/* RDMA to the peer ... */
	const struct rds_rdma	*read;	/* ... or from it, not both */
	const struct rds_map	*map;	/* register and send the cookie, ... */
	uint64_t		dest;	/* ... or send this cookie of ours */
	uint64_t		reserved[4];
};

/*
 * Send one message; all of it or nothing.  @flags: MSG_DONTWAIT.
 * Returns the bytes of payload, or -ENOTCONN (not bound, or no destination),
 * -EMSGSIZE, -EAGAIN (send buffer full), -ENOBUFS (peer congested), -EINVAL,
 * -EOPNOTSUPP, -EFAULT, -ENOMEM, -EPERM, -ETIMEDOUT (SO_SNDTIMEO), -EINTR.
 */
ssize_t rds_sendmsg(int fd, const struct rds_outgoing *out, int flags);

/* Plain payload. */
ssize_t rds_send(int fd, const struct rds_addr *to, const void *buf, size_t len,
		 int flags);

/* --- RDMA: rds_rdma_write(3) -------------------------------------------- */

/*
 * Move bytes to or from the peer's buffer, then deliver @msg to it.  The
 * message arrives after written bytes have.  Returns as rds_sendmsg().  The
 * call only queues: with RDS_RDMA_NOTIFY_ME in @op->flags one notification
 * tells how it ended.
 */
ssize_t rds_rdma_write(int fd, const struct rds_addr *to,
		       const struct rds_rdma *op, const void *msg, size_t len);
ssize_t rds_rdma_read(int fd, const struct rds_addr *to,
		      const struct rds_rdma *op, const void *msg, size_t len);

/* --- memory regions: rds_get_mr(3) -------------------------------------- */

/*
 * Register @len bytes at @buf and store the cookie that opens exactly them to
 * whoever holds it.  @flags: RDS_RDMA_READWRITE (fail if peers could not
 * write; without it they may if this process may), RDS_RDMA_USE_ONCE,
 * RDS_RDMA_INVALIDATE.  The pages are pinned and count against RLIMIT_MEMLOCK.
 * 0, or -ENOTCONN (not bound), -EPERM (limit is 0), -ENOMEM (limit reached),
 * -EMSGSIZE (longer than the device registers at once: 1 MiB, often more), -EINVAL, -EFAULT, -EOPNOTSUPP, -EAGAIN, -ENODEV.
 */
int rds_get_mr(int fd, void *buf, size_t len, uint64_t flags, uint64_t *cookie);
int rds_get_mr_for_dest(int fd, const struct rds_addr *dest, void *buf,
			size_t len, uint64_t flags, uint64_t *cookie);

/* Revoke a cookie.  0, or -EINVAL (not a cookie of this socket). */
int rds_free_mr(int fd, uint64_t cookie, uint64_t flags);

/* --- receiving: rds_recv(3) --------------------------------------------- */

#define LIBRDS_IN_MESSAGE	0x01	/* a message: from, len (0 is legal) */
#define LIBRDS_IN_NOTIFY	0x02	/* nr_notify, notify; never with a message */
#define LIBRDS_IN_CONG		0x04	/* cong: ports that may be sent to again */
#define LIBRDS_IN_COOKIE	0x08	/* cookie: sent along by the peer */
#define LIBRDS_IN_TRUNC		0x10	/* payload was longer than the buffer */
#define LIBRDS_IN_CTRUNC	0x20	/* control data did not fit */

struct rds_incoming {
	uint32_t		what;	/* LIBRDS_IN_* */
	uint32_t		nr_notify;
	size_t			len;	/* payload bytes stored */
	uint64_t		cookie;
	uint64_t		cong;	/* bit = port % 64 */
	struct rds_addr		from;	/* sender; family 0 without a message */
	uint32_t		pad;
	struct rds_rdma_notify	notify[LIBRDS_NOTIFY_MAX];
	uint64_t		reserved[8];
};

/*
 * Receive one thing: a message, or the notifications that are due, or a
 * congestion update; @in tells which.  @flags: MSG_DONTWAIT, MSG_PEEK.
 * Returns the bytes of payload stored, or -EAGAIN, -ETIMEDOUT (SO_RCVTIMEO),
 * -EINTR, -EFAULT.
 */
ssize_t rds_recv(int fd, void *buf, size_t len, struct rds_incoming *in,
		 int flags);

/* The same with a limit of @timeout milliseconds, -1 for none: -ETIMEDOUT. */
ssize_t rds_recv_timeout(int fd, void *buf, size_t len,
			 struct rds_incoming *in, int timeout);

/*
 * Wait up to @timeout milliseconds (-1: for ever) for the next notification
 * of any operation of this socket.  Messages that arrive meanwhile stay queued.
 * A congestion update that is due is dropped.
 * 0, or -ETIMEDOUT, -EINTR, or what epoll_create(2) may give.
 */
int rds_wait_notify(int fd, struct rds_rdma_notify *notify, int timeout);

/* Parse what recvmsg(2) filled in; rds_recv() is made of it.  0 or -EINVAL. */
int rds_parse_msghdr(const struct msghdr *msg, struct rds_incoming *in);

const char *rds_status_name(int32_t status);	/* "SUCCESS", "REMOTE_ERROR", ... */

/* --- counters and other snapshots: rds_snapshot(3) --------------------- */

struct rds_snapshot {
	void	*data;		/* @count elements, @stride bytes apart */
	size_t	stride;
	size_t	count;
};

/*
 * Take the snapshot RDS_INFO_* @what; any RDS socket serves as @fd.
 * 0, or -ENOPROTOOPT (this kernel has no such snapshot), -ENOMEM, -EAGAIN (the
 * table keeps growing), -EPROTO (an answer that cannot be).
 */
int rds_snapshot(int fd, int what, struct rds_snapshot *snap);
void rds_snapshot_free(struct rds_snapshot *snap);

/* The counter @name of the kernel's.  0, or -ENOENT (no such counter). */
int rds_counter(int fd, const char *name, uint64_t *value);

/* --- errors and version: rds_explain(3) --------------------------------- */

enum rds_call {
	RDS_CALL_ADDR,		/* rds_addr_parse */
	RDS_CALL_OPEN,		/* rds_open, rds_bind */
	RDS_CALL_CONNECT,	/* rds_connect */
	RDS_CALL_SEND,		/* rds_send, rds_sendmsg */
	RDS_CALL_RDMA,		/* rds_rdma_write, rds_rdma_read */
	RDS_CALL_GET_MR,	/* rds_get_mr, rds_get_mr_for_dest */
	RDS_CALL_FREE_MR,	/* rds_free_mr */
	RDS_CALL_RECV,		/* rds_recv, rds_wait_notify */
	RDS_CALL_INFO,		/* rds_snapshot, rds_counter */
};

/*
 * A sentence that says what @error, as returned by @call (the sign does not
 * matter), means there and what to do.  Never NULL; static storage.
 */
const char *rds_explain(enum rds_call call, int error);

const char *rds_version(void);		/* of the library that runs: "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif /* LIBRDS_H */
