// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "serve-session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define MAX_IN_FLIGHT	256		/* RDMA writes of all clients: pinned pages */
#define MAX_FAILURES	64		/* RDMA writes of one client in a row */
#define HASH_STEP	(256 * 1024)	/* bytes */

/* --- sending -------------------------------------------------------------- */

static ssize_t send_plain(struct server *srv, struct endpoint *ep,
			  const struct rds_addr *to, struct rds_file_msg *msg)
{
	uint8_t buf[RDS_FILE_MSG_MAX];
	int len = rds_file_encode(msg, buf);
	ssize_t n = rds_send(ep->fd, to, buf, len, MSG_DONTWAIT);

	if (n > 0)
		srv->message_bytes += n;
	if (n == -EAGAIN)
		ep->full = true;
	return n;
}

/* To who has no session; where there is no room, the client asks again. */
static void send_status(struct server *srv, struct endpoint *ep,
			const struct rds_addr *to, uint64_t session,
			uint16_t type, uint32_t request, uint32_t status)
{
	struct rds_file_msg msg = {
		.type = type,
		.session = session,
		.request = request,
		.status = status,
	};

	send_plain(srv, ep, to, &msg);
}

static bool has_room(const struct session *s)
{
	return s->count + s->in_flight < 2 * MAX_REQUESTS;
}

static void queue_reply(struct session *s, const struct reply *reply)
{
	if (s->count == MAX_REPLIES)
		return;		/* only a client that breaks the rules gets here */
	s->replies[(s->first + s->count++) % MAX_REPLIES] = *reply;
}

static void queue_status(struct session *s, uint16_t type, uint32_t request,
			 uint32_t status)
{
	queue_reply(s, &(struct reply){
		.type = type, .request = request, .status = status,
	});
}

/* What keeps a piece from being sent: more than can be waited for. */
static uint32_t write_failure(struct session *s, int err)
{
	uint32_t status = served_check(&s->file);

	if (status != RDS_FILE_OK)
		return status;
	switch (-err) {
	case ENOMEM:
		return RDS_FILE_BUSY;
	case EFAULT:	/* the disk, not the size, as was checked above */
		return RDS_FILE_READ_ERROR;
	default:
		say("%s, '%s': RDMA write: %s", s->text, s->name,
		    rds_explain(RDS_CALL_RDMA, err));
		return RDS_FILE_BAD_KEY;
	}
}

/*
 * The RDMA write and, behind it, the message that tells of it: RDS delivers
 * that one after the bytes.  Returns as rds_rdma_write(3).
 */
static ssize_t send_piece(struct session *s, const struct reply *reply)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_DATA,
		.session = s->id,
		.request = reply->request,
		.status = RDS_FILE_OK,
	};
	struct iovec iov = { .iov_len = reply->length };
	struct rds_rdma op = {
		.cookie = reply->cookie,
		.iov = &iov,
		.iovcnt = 1,
		.flags = RDS_RDMA_NOTIFY_ME,
		.token = (uint64_t)s->serial << 32 | reply->request,
	};
	uint8_t buf[RDS_FILE_MSG_MAX];
	struct file_map map;
	ssize_t n;
	int err;

	err = served_map(&s->file, reply->offset, reply->length, &map);
	if (err)
		return err;
	iov.iov_base = map.data;
	n = rds_rdma_write(s->ep->fd, &s->peer, &op, buf,
			   rds_file_encode(&msg, buf));
	served_unmap(&map);	/* the kernel holds the pages itself */
	return n;
}

static int send_status_reply(struct server *srv, struct session *s,
			     const struct reply *reply)
{
	struct rds_file_msg msg = {
		.type = reply->type,
		.session = s->id,
		.request = reply->request,
		.status = reply->status,
		.size = s->file.size,
		.max_read = RDS_FILE_READ_MAX,
		.max_requests = MAX_REQUESTS,
	};
	ssize_t n;

	if (reply->type == RDS_FILE_DIGEST)
		memcpy(msg.digest, s->digest, sizeof(msg.digest));
	n = send_plain(srv, s->ep, &s->peer, &msg);
	return n == -EAGAIN || n == -ENOBUFS ? -EAGAIN : 0;
}

static void piece_sent(struct server *srv, struct session *s,
		       const struct reply *reply, size_t message)
{
	uint64_t end = reply->offset + reply->length;

	note("%s: RDMA write of bytes %" PRIu64 "-%" PRIu64 " of '%s' under cookie 0x%016" PRIx64,
	     s->text, reply->offset, end - 1, s->name, reply->cookie);
	srv->message_bytes += message;
	s->rdma_bytes += reply->length;
	s->in_flight++;
	srv->in_flight++;
	if (s->goal < end)
		s->goal = end;
}

/* 0: sent, or answered with why not; -EAGAIN: later. */
static int send_data(struct server *srv, struct session *s, struct reply *reply)
{
	ssize_t n;

	if (s->in_flight >= MAX_REQUESTS || srv->in_flight >= MAX_IN_FLIGHT)
		return -EAGAIN;
	reply->status = served_check(&s->file);
	if (reply->status == RDS_FILE_OK) {
		n = send_piece(s, reply);
		if (n > 0) {
			piece_sent(srv, s, reply, n);
			return 0;
		}
		if (n == -EAGAIN)
			s->ep->full = true;
		if (n == -EAGAIN || n == -ENOBUFS ||
		    (n == -ENOMEM && srv->in_flight > 0))
			return -EAGAIN;
		reply->status = write_failure(s, n);
	}
	s->failed = true;
	return send_status_reply(srv, s, reply);
}

static int send_reply(struct server *srv, struct session *s)
{
	struct reply *reply = &s->replies[s->first];
	int err;

	if (reply->type == RDS_FILE_DATA && reply->status == RDS_FILE_OK)
		err = send_data(srv, s, reply);
	else
		err = send_status_reply(srv, s, reply);
	if (err)
		return err;
	s->first = (s->first + 1) % MAX_REPLIES;
	s->count--;
	return 0;
}

bool serve_send(struct server *srv)
{
	bool more = false;

	srv->turn++;
	for (unsigned int i = 0; i < srv->count; i++) {
		struct session *s = srv->sessions[(srv->turn + i) % srv->count];

		if (!s->count)
			continue;
		if (send_reply(srv, s))
			srv->blocked = true;
		else if (s->count)
			more = true;
	}
	return more;
}

/* --- sessions ------------------------------------------------------------- */

static struct session *find_session(struct server *srv,
				    struct endpoint *ep,
				    const struct rds_addr *peer)
{
	for (unsigned int i = 0; i < srv->count; i++) {
		struct session *s = srv->sessions[i];

		if (s->ep == ep && rds_addr_equal(&s->peer, peer))
			return s;
	}
	return NULL;
}

static void forget(struct server *srv, struct session *s)
{
	unsigned int i = 0;

	while (srv->sessions[i] != s)
		i++;
	srv->sessions[i] = srv->sessions[--srv->count];
	served_close(&s->file);
	free(s);
}

static struct session *create_session(struct server *srv,
				      struct endpoint *ep,
				      const struct rds_addr *peer,
				      const struct rds_file_msg *msg,
				      enum rds_file_status *status)
{
	struct session *s;

	*status = RDS_FILE_BUSY;
	if (srv->count == srv->max)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*status = served_open(&s->file, srv->root, msg->name, msg->name_len);
	if (*status != RDS_FILE_OK) {
		free(s);
		return NULL;
	}
	s->ep = ep;
	s->peer = *peer;
	s->id = msg->session;
	s->serial = ++srv->serial;
	sha256_init(&s->sha);
	rds_addr_format(peer, s->text, sizeof(s->text));
	name_text(s->name, sizeof(s->name), msg->name, msg->name_len);
	srv->sessions[srv->count++] = s;
	return s;
}

/* --- requests ------------------------------------------------------------- */

static void on_open(struct server *srv, struct endpoint *ep,
		    const struct rds_addr *from, const struct rds_file_msg *msg)
{
	struct session *s = find_session(srv, ep, from);
	char name[256], text[LIBRDS_ADDR_STRLEN];
	enum rds_file_status status;

	/* An OPEN is repeated until it is answered: not a new client. */
	if (s && s->id == msg->session) {
		s->heard = now_ms();
		if (has_room(s))
			queue_status(s, RDS_FILE_OPENED, 0, RDS_FILE_OK);
		return;
	}
	if (s)
		forget(srv, s);
	s = create_session(srv, ep, from, msg, &status);
	if (!s) {
		note("%s asked for '%s': %s",
		     rds_addr_format(from, text, sizeof(text)),
		     name_text(name, sizeof(name), msg->name, msg->name_len),
		     rds_file_status_name(status));
		send_status(srv, ep, from, msg->session, RDS_FILE_OPENED, 0,
			    status);
		return;
	}
	s->heard = now_ms();
	queue_status(s, RDS_FILE_OPENED, 0, RDS_FILE_OK);
	note("%s fetches '%s' (%" PRIu64 " bytes) from %s", s->text, s->name,
	     s->file.size, ep->text);
}

static void on_read(struct session *s, const struct rds_file_msg *msg)
{
	struct reply reply = {
		.type = RDS_FILE_DATA,
		.request = msg->request,
		.offset = msg->offset,
		.length = msg->length,
		.cookie = msg->cookie,
	};

	if (!msg->length || msg->length > RDS_FILE_READ_MAX ||
	    msg->offset > s->file.size ||
	    msg->length > s->file.size - msg->offset)
		reply.status = RDS_FILE_BAD_REQUEST;
	if (has_room(s))
		queue_reply(s, &reply);
	else
		note("%s asks for more at once than it may", s->text);
}

/* The digest is made once; a client that asks again gets nothing. */
static void on_finish(struct session *s)
{
	if (s->finished)
		return;
	s->finished = true;
	s->finishing = true;
	s->goal = s->file.size;
}

static void on_request(struct server *srv, struct session *s,
		       const struct rds_file_msg *msg)
{
	s->heard = now_ms();
	switch (msg->type) {
	case RDS_FILE_READ:
		on_read(s, msg);
		break;
	case RDS_FILE_FINISH:
		on_finish(s);
		break;
	case RDS_FILE_CLOSE:
		forget(srv, s);
		break;
	}
}

static void answer_stranger(struct server *srv, struct endpoint *ep,
			    const struct rds_addr *from,
			    const struct rds_file_msg *msg)
{
	if (msg->type == RDS_FILE_READ)
		send_status(srv, ep, from, msg->session, RDS_FILE_DATA,
			    msg->request, RDS_FILE_FORGOTTEN);
	else if (msg->type == RDS_FILE_FINISH)
		send_status(srv, ep, from, msg->session, RDS_FILE_DIGEST, 0,
			    RDS_FILE_FORGOTTEN);
}

void serve_message(struct server *srv, struct endpoint *ep,
		   const struct rds_addr *from, const uint8_t *buf, size_t len)
{
	char text[LIBRDS_ADDR_STRLEN];
	struct rds_file_msg msg;
	struct session *s;
	int err;

	srv->message_bytes += len;
	err = rds_file_decode(&msg, buf, len);
	if (err == -EPROTONOSUPPORT) {
		send_status(srv, ep, from, msg.session, RDS_FILE_OPENED, 0,
			    RDS_FILE_BAD_VERSION);
		return;
	}
	if (err) {
		note("%s sent %zu bytes that are no request",
		     rds_addr_format(from, text, sizeof(text)), len);
		return;
	}
	if (msg.type == RDS_FILE_OPEN) {
		on_open(srv, ep, from, &msg);
		return;
	}
	s = find_session(srv, ep, from);
	if (s && s->id == msg.session)
		on_request(srv, s, &msg);
	else
		answer_stranger(srv, ep, from, &msg);
}

/* --- what became of RDMA writes ------------------------------------------- */

static void write_refused(struct server *srv, struct session *s,
			  uint32_t request)
{
	note("%s: its memory took no RDMA write; it is gone or misbehaves",
	     s->text);
	send_status(srv, s->ep, &s->peer, s->id, RDS_FILE_DATA, request,
		    RDS_FILE_BAD_KEY);
	forget(srv, s);
}

void serve_notification(struct server *srv, const struct rds_rdma_notify *n)
{
	uint32_t serial = n->user_token >> 32, request = n->user_token;
	struct session *s = NULL;

	if (srv->in_flight)
		srv->in_flight--;
	for (unsigned int i = 0; i < srv->count && !s; i++)
		if (srv->sessions[i]->serial == serial)
			s = srv->sessions[i];
	if (!s)
		return;

	s->in_flight--;
	s->failures = n->status == RDS_RDMA_SUCCESS ? 0 : s->failures + 1;
	if (n->status == RDS_RDMA_SUCCESS)
		return;
	note("%s: RDMA write for request %" PRIu32 ": %s", s->text, request,
	     rds_status_name(n->status));
	/*
	 * Whether a dropped write took place is not known, and its message may
	 * have arrived, too: the client must say whether it still wants it.
	 */
	if (n->status == RDS_RDMA_REMOTE_ERROR || s->failures > MAX_FAILURES)
		write_refused(srv, s, request);
	else
		queue_status(s, RDS_FILE_DATA, request, RDS_FILE_RETRY);
}

/* --- digests -------------------------------------------------------------- */

static void tell_copies(struct server *srv, struct session *s)
{
	struct copies now;

	/* The counters of one host cannot tell its client's copies from ours. */
	if (!verbose_on || !srv->copies_known || is_local(&s->peer) ||
	    copies_read(s->ep->fd, &now))
		return;
	note("copied by the CPU in RDS since the start: %" PRIu64 " bytes of files",
	     copies_of_payload(&srv->copies, &now, srv->message_bytes));
}

static void finish(struct server *srv, struct session *s)
{
	uint32_t status = served_check(&s->file);

	s->finishing = false;
	sha256_digest(&s->sha, sizeof(s->digest), s->digest);
	queue_status(s, RDS_FILE_DIGEST, 0, status);
	note("%s has all of '%s': %" PRIu64 " bytes by RDMA", s->text, s->name,
	     s->rdma_bytes);
	tell_copies(srv, s);
}

static void hash_piece(struct session *s)
{
	static uint8_t buf[HASH_STEP];
	uint64_t left = s->goal - s->hashed;
	size_t want = left < HASH_STEP ? left : HASH_STEP;
	ssize_t n;

	/* From a copy, not from the mapping: the file may be cut meanwhile. */
	n = pread(s->file.fd, buf, want, s->hashed);
	if (n > 0) {
		sha256_update(&s->sha, n, buf);
		s->hashed += n;
		return;
	}
	if (n < 0 && errno == EINTR)
		return;
	s->failed = true;
	queue_status(s, RDS_FILE_DIGEST, 0,
		     n < 0 ? RDS_FILE_READ_ERROR : RDS_FILE_SHRUNK);
}

bool serve_hash(struct server *srv)
{
	bool more = false;

	for (unsigned int i = 0; i < srv->count; i++) {
		struct session *s = srv->sessions[i];

		if (!s->failed && s->hashed < s->goal)
			hash_piece(s);
		if (s->failed)
			continue;
		if (s->hashed < s->goal)
			more = true;
		else if (s->finishing)
			finish(srv, s);
	}
	return more;
}

/* --- the end of sessions -------------------------------------------------- */

/*
 * What a host that is gone never acknowledges would fill the send buffer of the
 * socket that all clients share.
 */
static void cancel_messages(struct session *s)
{
	setsockopt(s->ep->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &s->peer.sa,
		   rds_addr_len(&s->peer));
}

void serve_expire(struct server *srv)
{
	int64_t now = now_ms();

	for (unsigned int i = srv->count; i-- > 0;) {
		struct session *s = srv->sessions[i];

		/* A client waits in silence for the digest. */
		if (s->finishing && !s->failed)
			continue;
		if (now - s->heard < srv->idle)
			continue;
		note("%s is silent for %" PRId64 " s: forgotten", s->text,
		     (now - s->heard) / 1000);
		cancel_messages(s);
		forget(srv, s);
	}
}

void serve_stop(struct server *srv)
{
	while (srv->count > 0) {
		struct session *s = srv->sessions[0];

		send_status(srv, s->ep, &s->peer, s->id, RDS_FILE_DIGEST, 0,
			    RDS_FILE_STOPPING);
		forget(srv, s);
	}
}
