// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The client's side of a transfer.
 *
 * OPENING, READING, FINISHING, COMPLETE: each phase owes the server some
 * requests and waits for the answers.  While reading, the windows form a ring:
 * each holds the next piece of the file after its predecessor's, is written
 * out in that order from ->head on, and is then asked to hold a new piece.
 *
 * Functions return 0 to go on, or the code to exit with after having said why.
 */
#include "get-fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "get-progress.h"
#include "get-window.h"
#include "tool.h"

#define OPEN_INTERVAL_MS	1000	/* the server may be about to start */
#define BLOCKED_INTERVAL_MS	20	/* congestion ends without POLLOUT */

enum phase { OPENING, READING, FINISHING, COMPLETE };

struct fetch {
	const struct fetch_options *opt;
	struct fetch_result	*res;
	struct output		*out;
	struct windows		ws;
	struct progress		progress;
	struct sha256_ctx	sha;
	char			server[LIBRDS_ADDR_STRLEN];
	char			name[256];	/* fit to be shown */
	uint64_t		session;
	uint64_t		size;		/* of the file */
	uint64_t		next;		/* first byte not assigned to a window */
	uint64_t		done;		/* bytes written out */
	int64_t			heard;		/* when the server was last heard */
	int64_t			resend;		/* when to repeat OPEN */
	enum phase		phase;
	unsigned int		head;		/* window that holds byte ->done */
	uint32_t		requests;	/* READs sent */
	uint32_t		read_size;	/* bytes per READ */
	int			fd;
	bool			owed;		/* the phase's message is to be sent */
	bool			blocked;	/* a send found no room ... */
	bool			full;		/* ... here, not at the server */
};

/* Why the server does not give the file, or stopped to. */
static const struct {
	int		code;
	const char	*text;
} refusals[RDS_FILE_NR_STATUS] = {
	[RDS_FILE_NOT_FOUND]	= { GET_REFUSED,
		"there is no such file in the folder it serves" },
	[RDS_FILE_NO_PERMISSION] = { GET_REFUSED,
		"the server has no permission to read it" },
	[RDS_FILE_OUTSIDE]	= { GET_REFUSED,
		"the name leads out of the folder it serves" },
	[RDS_FILE_BAD_LINK]	= { GET_REFUSED,
		"the name goes through symbolic links that cannot be followed" },
	[RDS_FILE_DIRECTORY]	= { GET_REFUSED,
		"this is a directory; name a file in it" },
	[RDS_FILE_NOT_REGULAR]	= { GET_REFUSED,
		"this is a device, pipe or socket, not a regular file" },
	[RDS_FILE_BAD_NAME]	= { GET_REFUSED,
		"no file can have this name" },
	[RDS_FILE_BUSY]		= { GET_REFUSED,
		"the server has no room for another client now; try later" },
	[RDS_FILE_SHRUNK]	= { GET_CHANGED,
		"the file became shorter during the transfer; fetch it again" },
	[RDS_FILE_CHANGED]	= { GET_CHANGED,
		"the file was changed during the transfer; fetch it again" },
	[RDS_FILE_READ_ERROR]	= { GET_REFUSED,
		"the server cannot read the file, see its messages" },
	[RDS_FILE_FORGOTTEN]	= { GET_NO_ANSWER,
		"the server was restarted or gave up on us; fetch it again" },
	[RDS_FILE_BAD_REQUEST]	= { GET_REFUSED,
		"the server does not understand what we ask" },
	[RDS_FILE_BAD_KEY]	= { GET_SYSTEM,
		"RDMA into our memory was refused by the network adapter" },
	[RDS_FILE_BAD_VERSION]	= { GET_REFUSED,
		"the server speaks another version of the protocol" },
	[RDS_FILE_STOPPING]	= { GET_NO_ANSWER,
		"the server was ended during the transfer" },
};

static int refused(struct fetch *f, uint32_t status)
{
	progress_clear(&f->progress);
	if (status >= RDS_FILE_NR_STATUS || !refusals[status].text) {
		say("%s answered with a status unknown here (%" PRIu32 "): are both of the same version?",
		    f->server, status);
		return GET_REFUSED;
	}
	say("'%s' from %s: %s", f->name, f->server, refusals[status].text);
	return refusals[status].code;
}

static int nonsense(struct fetch *f, const char *what)
{
	progress_clear(&f->progress);
	say("%s answered with %s: is that rds-serve?", f->server, what);
	return GET_REFUSED;
}

int output_failed(const struct output *out, const char *doing, int err)
{
	switch (-err) {
	case EEXIST:
		say("'%s' exists already: remove it, or give --force to replace it",
		    out->path);
		break;
	case EISDIR:
		say("'%s' is a directory: name a file in it with -o", out->path);
		break;
	case ENOSPC:
	case EDQUOT:
		say("cannot %s '%s': no room left there (%s); nothing was kept",
		    doing, out->path, strerror(-err));
		break;
	case EFBIG:
		say("cannot %s '%s': it is too large for that file system, or for 'ulimit -f'",
		    doing, out->path);
		break;
	default:
		say("cannot %s '%s': %s", doing, out->path, strerror(-err));
	}
	return GET_OUTPUT;
}

/* --- sending ------------------------------------------------------------- */

static int send_msg(struct fetch *f, struct rds_file_msg *msg)
{
	uint8_t buf[RDS_FILE_MSG_MAX];
	ssize_t n;
	int len;

	msg->session = f->session;
	len = rds_file_encode(msg, buf);
	if (len < 0)
		return refused(f, RDS_FILE_BAD_NAME);
	n = rds_send(f->fd, &f->opt->server, buf, len, MSG_DONTWAIT);
	if (n == -EAGAIN || n == -ENOBUFS) {
		f->blocked = true;
		f->full = n == -EAGAIN;
		return 0;
	}
	if (n < 0) {
		progress_clear(&f->progress);
		say("cannot send to %s: %s", f->server,
		    rds_explain(RDS_CALL_SEND, n));
		return GET_SYSTEM;
	}
	f->res->message_bytes += n;
	return 0;
}

static int send_open(struct fetch *f)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_OPEN,
		.name = f->opt->name,
		.name_len = strlen(f->opt->name),
	};

	f->resend = now_ms() + OPEN_INTERVAL_MS;
	return send_msg(f, &msg);
}

static int send_read(struct fetch *f, struct window *w)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_READ,
		.request = f->requests + 1,
		.length = w->length,
		.offset = w->offset,
		.cookie = w->cookie,
	};
	int err = send_msg(f, &msg);

	if (err || f->blocked)
		return err;
	w->request = ++f->requests;
	w->state = WINDOW_ASKED;
	note("request %" PRIu32 ": bytes %" PRIu64 "-%" PRIu64 " into window %u, cookie 0x%016" PRIx64,
	     w->request, w->offset, w->offset + w->length - 1,
	     (unsigned int)(w - f->ws.win), w->cookie);
	return 0;
}

static int send_reads(struct fetch *f)
{
	int err = 0;

	for (unsigned int i = 0; i < f->ws.count && !err && !f->blocked; i++) {
		struct window *w = &f->ws.win[(f->head + i) % f->ws.count];

		if (w->state == WINDOW_WANTED)
			err = send_read(f, w);
	}
	return err;
}

static int send_finish(struct fetch *f)
{
	struct rds_file_msg msg = { .type = RDS_FILE_FINISH };
	int err = send_msg(f, &msg);

	f->owed = f->blocked;
	return err;
}

static int send_owed(struct fetch *f)
{
	f->blocked = false;
	f->full = false;
	switch (f->phase) {
	case OPENING:
		return now_ms() >= f->resend ? send_open(f) : 0;
	case READING:
		return send_reads(f);
	case FINISHING:
		return f->owed ? send_finish(f) : 0;
	default:
		return 0;
	}
}

/* --- the windows' way through the file ------------------------------------ */

static void assign(struct fetch *f, struct window *w)
{
	uint64_t left = f->size - f->next;

	w->state = left ? WINDOW_WANTED : WINDOW_IDLE;
	w->offset = f->next;
	w->length = left < f->read_size ? left : f->read_size;
	f->next += w->length;
}

static void finish_if_done(struct fetch *f)
{
	if (f->phase != READING || f->done < f->size)
		return;
	f->phase = FINISHING;
	f->owed = true;
	note("all %" PRIu64 " bytes are here: asking for the digest", f->size);
}

/* Write out what has arrived, in the order of the file. */
static int write_windows(struct fetch *f)
{
	while (f->phase == READING && !stop_signal) {
		struct window *w = &f->ws.win[f->head];
		int err;

		if (w->state != WINDOW_FILLED)
			break;
		sha256_update(&f->sha, w->length, w->buf);
		err = output_write(f->out, w->buf, w->length, w->offset);
		if (err) {
			progress_clear(&f->progress);
			return output_failed(f->out, "write", err);
		}
		f->done += w->length;
		f->head = (f->head + 1) % f->ws.count;
		assign(f, w);
		progress_show(&f->progress, f->done, f->size);
		f->heard = now_ms();	/* a slow disk is not a silent server */
		finish_if_done(f);
	}
	return 0;
}

/* --- answers -------------------------------------------------------------- */

static void tell_windows(struct fetch *f, size_t wanted)
{
	char size[SIZE_STRLEN], want[SIZE_STRLEN];

	size_text(size, f->ws.size);
	if (f->ws.size < wanted)
		say("memory to register is limited: using %u windows of %s instead of %s ('ulimit -l' tells the limit)",
		    f->ws.count, size, size_text(want, wanted));
	for (unsigned int i = 0; i < f->ws.count; i++)
		note("window %u: %s registered for the server to write into, cookie 0x%016" PRIx64,
		     i, size, f->ws.win[i].cookie);
}

static int open_windows(struct fetch *f, const struct rds_file_msg *msg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = f->opt->window_size;
	uint64_t count = f->opt->windows;
	int err;

	if (size > msg->max_read)
		size = msg->max_read;
	if (size > f->size)
		size = (f->size + page - 1) / page * page;
	if (count > msg->max_requests)
		count = msg->max_requests;
	if (count > (f->size + size - 1) / size)
		count = (f->size + size - 1) / size;

	err = windows_open(&f->ws, f->fd, count, size);
	if (err) {
		say("cannot register memory for RDMA: %s",
		    rds_explain(RDS_CALL_GET_MR, err));
		return GET_SYSTEM;
	}
	f->read_size = f->ws.size < msg->max_read ? f->ws.size : msg->max_read;
	tell_windows(f, size);
	for (unsigned int i = 0; i < f->ws.count; i++)
		assign(f, &f->ws.win[i]);
	return 0;
}

static int on_opened(struct fetch *f, const struct rds_file_msg *msg)
{
	char text[SIZE_STRLEN];

	if (f->phase != OPENING)
		return 0;	/* the answer to a repeated OPEN */
	if (msg->status != RDS_FILE_OK)
		return refused(f, msg->status);
	if (!msg->max_read || !msg->max_requests || msg->size > INT64_MAX)
		return nonsense(f, "limits that make no sense");
	note("%s has '%s': %" PRIu64 " bytes (%s)", f->server, f->name,
	     msg->size, size_text(text, msg->size));
	f->size = msg->size;
	f->phase = READING;
	progress_start(&f->progress, !f->opt->quiet && !verbose_on);
	finish_if_done(f);
	return f->size ? open_windows(f, msg) : 0;
}

static struct window *find_request(struct fetch *f, uint32_t request)
{
	for (unsigned int i = 0; i < f->ws.count; i++) {
		struct window *w = &f->ws.win[i];

		if (w->state == WINDOW_ASKED && w->request == request)
			return w;
	}
	return NULL;
}

static int on_data(struct fetch *f, const struct rds_file_msg *msg)
{
	struct window *w = find_request(f, msg->request);

	if (msg->status != RDS_FILE_OK && msg->status != RDS_FILE_RETRY)
		return refused(f, msg->status);
	/* The notice of a broken connection may follow the data. */
	if (!w)
		return 0;
	if (msg->status == RDS_FILE_RETRY) {
		note("request %" PRIu32 ": the connection broke, asking again",
		     msg->request);
		w->state = WINDOW_WANTED;
		f->res->retries++;
		return 0;
	}
	note("request %" PRIu32 ": %" PRIu32 " bytes were RDMA-written into window %u",
	     msg->request, w->length, (unsigned int)(w - f->ws.win));
	w->state = WINDOW_FILLED;
	f->res->writes++;
	return write_windows(f);
}

static int on_digest(struct fetch *f, const struct rds_file_msg *msg)
{
	if (msg->status != RDS_FILE_OK)
		return refused(f, msg->status);
	if (f->phase != FINISHING)
		return nonsense(f, "a digest too early");
	sha256_digest(&f->sha, SHA256_DIGEST_SIZE, f->res->digest);
	if (memcmp(f->res->digest, msg->digest, RDS_FILE_DIGEST_SIZE)) {
		progress_clear(&f->progress);
		say("'%s' from %s: the digests differ, what arrived is not what the file holds; fetch it again",
		    f->name, f->server);
		return GET_CHANGED;
	}
	f->phase = COMPLETE;
	return 0;
}

static int on_message(struct fetch *f, const uint8_t *buf, size_t len)
{
	struct rds_file_msg msg;
	int err = rds_file_decode(&msg, buf, len);

	if (err == -EPROTONOSUPPORT && msg.session == f->session)
		return refused(f, RDS_FILE_BAD_VERSION);
	if (err)
		return nonsense(f, "something else than the protocol");
	if (msg.session != f->session)
		return 0;	/* meant for who had our port before us */
	f->heard = now_ms();
	switch (msg.type) {
	case RDS_FILE_OPENED:	return on_opened(f, &msg);
	case RDS_FILE_DATA:	return on_data(f, &msg);
	case RDS_FILE_DIGEST:	return on_digest(f, &msg);
	default:		return nonsense(f, "a request");
	}
}

static int receive(struct fetch *f)
{
	uint8_t buf[RDS_FILE_MSG_MAX];
	struct rds_incoming in;
	int err = 0;

	while (!err && f->phase != COMPLETE && !stop_signal) {
		ssize_t n = rds_recv(f->fd, buf, sizeof(buf), &in, MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			say("cannot receive: %s", rds_explain(RDS_CALL_RECV, n));
			return GET_SYSTEM;
		}
		f->res->message_bytes += n;
		if ((in.what & LIBRDS_IN_MESSAGE) &&
		    rds_addr_equal(&in.from, &f->opt->server))
			err = on_message(f, buf, n);
	}
	return err;
}

/* --- the loop ------------------------------------------------------------- */

static int no_answer(struct fetch *f)
{
	double s = f->opt->timeout / 1000.0;

	progress_clear(&f->progress);
	if (f->phase == OPENING)
		say("no answer from %s for %g s: is rds-serve running there, on that address and port?",
		    f->server, s);
	else
		say("%s fell silent in the middle of the transfer (no answer for %g s): the server, its host or the link is down; nothing was kept",
		    f->server, s);
	return GET_NO_ANSWER;
}

static int64_t wait_time(const struct fetch *f)
{
	int64_t now = now_ms();
	int64_t wait = f->heard + f->opt->timeout - now;

	if (f->phase == OPENING && f->resend - now < wait)
		wait = f->resend - now;
	if (f->blocked && wait > BLOCKED_INTERVAL_MS)
		wait = BLOCKED_INTERVAL_MS;
	return wait > 0 ? wait : 0;
}

static int interrupted(struct fetch *f)
{
	progress_clear(&f->progress);
	say("interrupted (%s); nothing was kept", strsignal(stop_signal));
	return 128 + stop_signal;
}

static int run(struct fetch *f)
{
	while (f->phase != COMPLETE) {
		struct pollfd pfd = { .fd = f->fd, .events = POLLIN };
		int err = send_owed(f);

		if (err)
			return err;
		if (f->full)
			pfd.events |= POLLOUT;
		err = wait_events(&pfd, 1, wait_time(f));
		if (err && err != -EINTR) {
			say("cannot wait: %s", strerror(-err));
			return GET_SYSTEM;
		}
		if (!stop_signal)
			err = receive(f);
		if (stop_signal)
			return interrupted(f);
		if (err)
			return err;
		if (now_ms() - f->heard >= f->opt->timeout)
			return no_answer(f);
	}
	return 0;
}

static int open_socket(struct fetch *f)
{
	char text[LIBRDS_ADDR_STRLEN];
	struct rds_addr local;
	int err;

	f->fd = rds_open(NULL, 0);
	if (f->fd < 0) {
		say("cannot open an RDS socket: %s",
		    rds_explain(RDS_CALL_OPEN, f->fd));
		return GET_SYSTEM;
	}
	err = rds_bind(f->fd, &f->opt->local);
	if (err) {
		rds_addr_format(&f->opt->local, text, sizeof(text));
		say("cannot speak RDS from %s, %s: %s", text,
		    f->opt->source ? "given with -I" : "the way to the server",
		    rds_explain(RDS_CALL_OPEN, err));
		return GET_SYSTEM;
	}
	err = rds_local_addr(f->fd, &local);
	if (!err)
		note("%s asks %s for '%s'",
		     rds_addr_format(&local, text, sizeof(text)), f->server,
		     f->name);
	return 0;
}

/* Its answers have told that the server received all of our messages. */
static void count_copies(struct fetch *f, const struct copies *before)
{
	uint64_t own = f->res->message_bytes;
	struct copies after;

	f->res->same_host = is_local(&f->opt->server);
	if (f->res->same_host)
		own *= 2;	/* the server's end is counted here, too */
	f->res->copies_known = !copies_read(f->fd, &after);
	if (!f->res->copies_known)
		return;
	f->res->copied = copies_of_payload(before, &after, own);
	f->res->copied_rdma = after.rdma - before->rdma;
}

/* In any case, so that the server need not wait for us in vain. */
static void send_close(struct fetch *f)
{
	struct rds_file_msg msg = {
		.type = RDS_FILE_CLOSE,
		.session = f->session,
	};
	uint8_t buf[RDS_FILE_MSG_MAX];
	int len = rds_file_encode(&msg, buf);

	rds_send(f->fd, &f->opt->server, buf, len, MSG_DONTWAIT);
}

static int transfer(struct fetch *f)
{
	int64_t start = now_ms();
	struct copies before;
	bool counted;
	int err;

	counted = !copies_read(f->fd, &before);
	f->heard = start;
	err = run(f);
	f->res->elapsed = now_ms() - start;
	f->res->size = f->size;
	progress_clear(&f->progress);
	if (!err && counted)
		count_copies(f, &before);
	send_close(f);
	windows_close(&f->ws);
	return err;
}

int fetch(const struct fetch_options *opt, struct output *out,
	  struct fetch_result *res)
{
	struct fetch f = {
		.opt = opt, .res = res, .out = out, .fd = -1,
	};
	int err;

	memset(res, 0, sizeof(*res));
	rds_addr_format(&opt->server, f.server, sizeof(f.server));
	name_text(f.name, sizeof(f.name), opt->name, strlen(opt->name));
	sha256_init(&f.sha);
	if (getrandom(&f.session, sizeof(f.session), 0) < 0) {
		say("no random number: %s", strerror(errno));
		return GET_SYSTEM;
	}
	err = open_socket(&f);
	if (!err)
		err = transfer(&f);
	if (f.fd >= 0)
		close(f.fd);
	return err;
}
