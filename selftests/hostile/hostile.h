/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What every test of a hostile peer stands on: a socket of ours on the other machine, the observer there,
 * one peer here, and what must hold afterwards, whatever the peer did:
 *
 *   - the observer answers, and the bystanders' messages arrive, each once and in order;
 *   - a peer that means well connects from the same address, and both sides receive what the other sends;
 *   - memory is back where it was, and no received message is left.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "../rds_test.h"
#include "observer.h"
#include "peer.h"

#define TARGET_PORT	5000	/* of the socket that is attacked */
#define GOOD_PORT	5001	/* of the one that a peer that means well talks to */
#define MY_PORT		6000	/* that our peers say they send from */
#define SLACK_KIB	(96 * 1024)	/* what a test may seem to keep: page tables, caches, a sanitizer's quarantine */
#define SLACK_OBJECTS	500	/* the bystanders' messages, and all objects of a slab that some are in */
#define GOOD_LEN	5000
#define NAP_MS		20

FIXTURE(hostile) {
	const char	*me;
	const char	*them;
	int		observer;
	long long	sock;		/* the observer's name for the socket at TARGET_PORT; 0: closed */
	long long	memory;		/* KiB in use at the beginning */
	struct peer	peer;
};

/* --- the observer ------------------------------------------------------- */

#define ask_for(self, ...)	observer_get((self)->observer, __VA_ARGS__)

static inline long long count_of(FIXTURE_DATA(hostile) *self, const char *name)
{
	return ask_for(self, "counter %s", name);
}

/* Wait until a counter is at least @value; what it is then. */
static inline long long count_reaches(FIXTURE_DATA(hostile) *self, const char *name, long long value)
{
	int64_t end = now_ms() + PEER_WAIT_MS;
	long long count;

	do {
		count = count_of(self, name);
		if (count < 0 || count >= value)
			break;
		usleep(NAP_MS * 1000);
	} while (now_ms() < end);
	return count;
}

#define EXPECT_COUNTED(name, before)	\
	EXPECT_GT(count_reaches(self, name, (before) + 1), before) { TH_LOG("counter %s did not rise", name); }

static inline long long open_socket(FIXTURE_DATA(hostile) *self, int port, int rcvbuf)
{
	return ask_for(self, "open %s %d %d", self->them, port, rcvbuf);
}

/* What the observer's socket receives next: its length if it is pattern(@seed), else -EBADMSG or -errno. */
static inline long long received(FIXTURE_DATA(hostile) *self, long long sock, unsigned int seed)
{
	long long answer[4];
	int n = observer_ask(self->observer, answer, 4, "recv %lld %u", sock, seed);

	if (n < 0)
		return n;
	return n == 4 && answer[2] ? answer[1] : -EBADMSG;
}

/* Have the observer send to @port of ours. */
static inline long long have_sent(FIXTURE_DATA(hostile) *self, long long sock, int port, size_t len, unsigned int seed)
{
	return ask_for(self, "send %lld %s %d %zu %u 0", sock, self->me, port, len, seed);
}

/* --- the peer ----------------------------------------------------------- */

static inline struct head message_to(int port, uint32_t len)
{
	return (struct head){ .sport = MY_PORT, .dport = port, .len = len };
}

/* A peer that means well is refused while the last connection is being closed; it tries again. */
static inline int insist(FIXTURE_DATA(hostile) *self, struct peer *p,
			 int (*call)(struct peer *p, const char *from, const char *to))
{
	int64_t end = now_ms() + PEER_WAIT_MS;
	int err;

	for (;;) {
		err = call(p, self->me, self->them);
		if (!err || now_ms() > end)
			return err;
		peer_close(p);
		usleep(NAP_MS * 1000);
	}
}

static inline int hello(FIXTURE_DATA(hostile) *self, struct peer *p)
{
	return insist(self, p, peer_hello);
}

/* What a peer that means well says of itself in its private data, with the addresses in @from and @to. */
static inline struct priv good_priv(FIXTURE_DATA(hostile) *self, union rds_addr *from, union rds_addr *to)
{
	*from = addr_make(self->me, 0);
	*to = addr_make(self->them, 0);
	return (struct priv){ .from = &from->sa, .to = &to->sa, .major = 3, .minor = 1, .mask = 3 };
}

/* Ask with this private data until there is a reply, which is not confirmed. */
static inline int ask_with(FIXTURE_DATA(hostile) *self, const void *priv, size_t len)
{
	struct peer *p = &self->peer;
	int64_t end = now_ms() + PEER_WAIT_MS;
	int err;

	for (;;) {
		peer_close(p);
		err = peer_prepare(p, self->me, self->them) ?: peer_request(p, priv, len);
		err = err ?: peer_wait(p, RDMA_CM_EVENT_CONNECT_RESPONSE);
		if (err != -ECONNREFUSED || now_ms() > end)
			return err;
		usleep(NAP_MS * 1000);
	}
}

/* Both directions over a connection that is up: 0 or -errno. */
static inline int exchange(FIXTURE_DATA(hostile) *self, struct peer *p, long long sock, int port)
{
	static unsigned int seed = 100;
	struct frame f;
	int err;

	err = peer_push_message(p, message_to(port, GOOD_LEN), ++seed) ?: peer_settle(p);
	if (err)
		return err;
	if (received(self, sock, seed) != GOOD_LEN)
		return -EBADMSG;
	if (have_sent(self, sock, MY_PORT + 1, 100, ++seed) < 0)
		return -EBADE;
	/* what was sent to other ports before may come first */
	do {
		err = peer_take_data(p, &f);
	} while (!err && f.head.dport != MY_PORT + 1);
	if (!err && !(f.len == 100 && is_pattern(f.payload, 0, 100, seed)))
		err = -EBADMSG;
	return err ?: peer_send_ack(p, p->got);
}

static inline int good_peer_works(FIXTURE_DATA(hostile) *self)
{
	struct peer good = { 0 };
	long long sock;
	int err;

	sock = open_socket(self, GOOD_PORT, 0);
	if (sock < 0)
		return sock;
	err = hello(self, &good);
	if (!err)
		err = exchange(self, &good, sock, GOOD_PORT);
	if (!err)
		peer_disconnect(&good);
	peer_close(&good);
	ask_for(self, "close %lld", sock);
	return err;
}

/* --- before and after --------------------------------------------------- */

FIXTURE_SETUP(hostile)
{
	memset(self, 0, sizeof(*self));
	self->me = getenv("MY_ADDR");
	self->them = getenv("PEER_ADDR");
	ASSERT_TRUE(self->me && self->them);
	self->observer = observer_open();
	ASSERT_GE(self->observer, 0);
	self->memory = ask_for(self, "memory");
	ASSERT_GT(self->memory, 0);
	self->sock = open_socket(self, TARGET_PORT, 0);
	ASSERT_GT(self->sock, 0);
}

static inline void close_target(FIXTURE_DATA(hostile) *self)
{
	if (self->sock > 0)
		ask_for(self, "close %lld", self->sock);
	self->sock = 0;
}

FIXTURE_TEARDOWN(hostile)
{
	peer_close(&self->peer);
	close_target(self);
	EXPECT_EQ(0, good_peer_works(self)) { TH_LOG("no good peer can connect any more"); }
	EXPECT_EQ(0, ask_for(self, "bystanders 2")) { TH_LOG("the bystanders lost something"); }
	EXPECT_LE(ask_for(self, "objects rds_sockets_inc"), SLACK_OBJECTS);
	EXPECT_LE(ask_for(self, "memory"), self->memory + SLACK_KIB);
	observer_close(self->observer);
}

#endif
