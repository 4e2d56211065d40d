/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every call with its first fault, then with its second, and so on until none is left: each slab
 * allocation, page allocation and copy from or to user space that the call makes fails once.  What
 * fails must say so with an errno that the ABI knows, and leave nothing behind; what goes on
 * regardless must do all of its work.  After that the same sockets must be as good as new.
 *
 * Needs a kernel with /proc/PID/fail-nth, and the kinds of faults set up as vm/failnth.sh does.
 */
#ifndef FAILNTH_H
#define FAILNTH_H

#include "rds_test.h"

#define SWEEP_SECONDS	900
#define PAYLOAD		5000	/* more than the least send buffer: no loss of room stays hidden */
#define MAX_FAULTS	20000

/* Errors that a call may give when memory or a copy fails */
#define F_NOMEM		1
#define F_FAULT		2
#define F_NOBUFS	4	/* the generic layer's, without memory for control messages */
#define F_NFILE		8	/* likewise, for the inode of a socket */

/* What is in use: of this process, and of its namespace. */
struct accounts {
	int64_t		pinned;
	uint64_t	keys;
	uint64_t	unread;		/* bytes */
	uint64_t	pins;		/* bytes */
};

FIXTURE(failnth) {
	struct rds_pair		p;
	int			nth;		/* /proc/thread-self/fail-nth */
	char			*out;		/* 1 MiB each */
	char			*in;
	char			*remote;
	rds_rdma_cookie_t	cookie;		/* all of remote, of p.rx */
	size_t			len;		/* of the payload */
	struct rds_msg_out	msg;
	int			fd;		/* of the call at hand */
	rds_rdma_cookie_t	key;		/* likewise */
	unsigned int		sent;
	unsigned int		seen;
	struct accounts		base;
};
FIXTURE_VARIANT(failnth) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(failnth, loop4) { .bed = BED_LOOP4 };
FIXTURE_VARIANT_ADD(failnth, rxe) { .bed = BED_RXE };

typedef FIXTURE_DATA(failnth) sweep_state;
typedef void (*sweep_fn)(struct __test_metadata *_metadata, sweep_state *self);

/* What is swept.  All but the call may be NULL, and run without faults. */
struct sweep {
	sweep_fn	prepare;
	long		(*call)(sweep_state *self);	/* -errno, or how it went */
	sweep_fn	worked;		/* check and undo what the call did */
	sweep_fn	failed;
	unsigned int	errors;
};

/* --- faults --- */

static inline void arm(struct __test_metadata *_metadata, sweep_state *self, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	ASSERT_EQ(len, pwrite(self->nth, text, len, 0));
}

/* Reading the number of faults to go ends in a copy to user space, which counts as well: if that
 * one fails, the call before it had none.
 */
static inline bool disarm(sweep_state *self)
{
	char text[16] = "";
	bool happened;

	happened = pread(self->nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	while (pwrite(self->nth, "0", 1, 0) != 1)
		;
	return happened;
}

/* --- accounts --- */

static inline uint64_t find_counter(const struct rds_info_counter *table, int n, const char *name)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strncmp((char *)table[i].name, name, sizeof(table[i].name)))
			return table[i].value;
	return UINT64_MAX / 2;
}

static inline struct accounts read_accounts(sweep_state *self)
{
	struct rds_info_counter t[RDS_MAX_COUNTERS];
	int n = counters_read(self->p.tx, t);

	return (struct accounts){
		.pinned	= pinned_bytes(),
		.keys	= find_counter(t, n, "mr_registered") - find_counter(t, n, "mr_revoked"),
		.unread	= find_counter(t, n, "recv_bytes_added_to_sock") -
			  find_counter(t, n, "recv_bytes_freed_fromsock"),
		.pins	= find_counter(t, n, "pinned_bytes") - find_counter(t, n, "unpinned_bytes"),
	};
}

/* What is in use now is what shall be in use after each call. */
static inline void take_base(sweep_state *self)
{
	self->base = read_accounts(self);
}

/* What an operation holds is given back a little after its end can be seen. */
static inline void expect_accounts(struct __test_metadata *_metadata, sweep_state *self,
				   unsigned int n)
{
	const struct accounts *base = &self->base;
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct accounts now;

	while (now = read_accounts(self), memcmp(&now, base, sizeof(now)) && now_ms() < end)
		nap();
	ASSERT_EQ(0, memcmp(&now, base, sizeof(now))) {
		TH_LOG("fault %u: pinned %+ld bytes, keys %+ld, unread %+ld, pins %+ld", n,
		       (long)(now.pinned - base->pinned), (long)(now.keys - base->keys),
		       (long)(now.unread - base->unread), (long)(now.pins - base->pins));
	}
}

/* A buffer of the least size tells of each message whose room was not given back.  Peers acknowledge when
 * they are asked to; an empty message, which needs no room, asks.
 */
static inline void expect_room(struct __test_metadata *_metadata, sweep_state *self)
{
	char c;

	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUF, 1);
	ASSERT_EQ(0, rds_send(self->p.tx, &self->p.rx_addr, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_TRUE(ready(self->p.tx, POLLOUT, RDS_WAIT_MS));
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, 1);
	/* the second would be refused if the first, with what was not given back, were too much */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "1", 1, 0));
	ASSERT_TRUE(ready(self->p.rx, POLLIN, RDS_WAIT_MS));
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "2", 1, MSG_DONTWAIT));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('1', c);
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('2', c);
	EXPECT_EQ(-EAGAIN, rds_recv(self->p.rx, &c, 1, MSG_DONTWAIT, NULL));
}

/* --- the sweep --- */

static inline bool may_fail_with(const struct sweep *s, long ret)
{
	return (ret == -ENOMEM && s->errors & F_NOMEM) || (ret == -EFAULT && s->errors & F_FAULT) ||
	       (ret == -ENOBUFS && s->errors & F_NOBUFS) || (ret == -ENFILE && s->errors & F_NFILE);
}

/* The faults of a large call are many and alike: past the first hundred only some are tried, but with
 * RDS_EVERY_FAULT=1.
 */
static inline unsigned int next_fault(unsigned int n)
{
	return n < 100 || getenv("RDS_EVERY_FAULT") ? n + 1 : n + n / 16;
}

/* One call with its @n-th fault: false if it had no more than @n - 1. */
static inline bool sweep_one(struct __test_metadata *_metadata, sweep_state *self,
			     const struct sweep *s, unsigned int n, unsigned int *failed)
{
	bool happened;
	long ret;

	if (s->prepare)
		s->prepare(_metadata, self);
	arm(_metadata, self, n);
	ret = s->call(self);
	happened = disarm(self);
	ASSERT_TRUE(ret >= 0 || (happened && may_fail_with(s, ret))) {
		TH_LOG("fault %u%s: %s", n, happened ? "" : ", which did not come", strerror(-ret));
	}
	*failed += ret < 0;
	if (ret >= 0 && s->worked)
		s->worked(_metadata, self);
	if (ret < 0 && s->failed)
		s->failed(_metadata, self);
	expect_accounts(_metadata, self, n);
	return happened;
}

static inline void sweep_faults(struct __test_metadata *_metadata, sweep_state *self,
				const struct sweep *s)
{
	unsigned int n, calls = 0, failed = 0;

	for (n = 1; sweep_one(_metadata, self, s, n, &failed); n = next_fault(n)) {
		ASSERT_LT(n, MAX_FAULTS);
		calls++;
	}
	TH_LOG("%u faults, up to the %uth: %u calls failed, %u went on", calls, n - 1, failed,
	       calls - failed);
	EXPECT_GT(failed, 0);
}

static inline void sweep(struct __test_metadata *_metadata, sweep_state *self,
			 const struct sweep *s)
{
	sweep_faults(_metadata, self, s);
	expect_room(_metadata, self);
}

/* --- what is swept over --- */

FIXTURE_SETUP(failnth)
{
	self->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->nth, 0) {
		TH_LOG("this kernel injects no faults: %s", strerror(errno));
	}
	pair_open(_metadata, &self->p, variant->bed);
	set_int(_metadata, self->p.tx, SOL_SOCKET, SO_SNDBUFFORCE, 2 * RDS_MAX_MSG);
	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUFFORCE, 4 * RDS_MAX_MSG);
	self->out = map_guarded(_metadata, RDS_MAX_MSG);
	self->in = map_guarded(_metadata, RDS_MAX_MSG);
	self->remote = map_guarded(_metadata, RDS_MAX_MSG);
	/* pages that are there need no page fault, whose faults would be none of the call's */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	fill(self->out, RDS_MAX_MSG, 1);
	memset(self->in, 0, RDS_MAX_MSG);
	memset(self->remote, 0, RDS_MAX_MSG);
	self->len = PAYLOAD;
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, RDS_MAX_MSG, RDS_RDMA_READWRITE,
			    &self->cookie));
	/* the connection is made before the faults; making one is a test of its own */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "1", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, self->in, 1, NULL));
	take_base(self);
}

FIXTURE_TEARDOWN(failnth)
{
	pair_close(&self->p);
}

static inline void message_init(sweep_state *self)
{
	msg_init(&self->msg, &self->p.rx_addr, self->out, self->len);
}

static inline long call_send(sweep_state *self)
{
	return msg_send(self->p.tx, &self->msg, 0);
}

/* A key of the sender, for messages that carry one. */
static inline void own_key(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, get_mr(self->p.tx, self->out, PAYLOAD, 0, &self->key));
	take_base(self);
}

#endif /* FAILNTH_H */
