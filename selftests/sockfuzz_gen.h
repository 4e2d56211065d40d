/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Random socket calls: their arguments. */
#ifndef SOCKFUZZ_GEN_H
#define SOCKFUZZ_GEN_H

#include <stdarg.h>
#include "sockfuzz.h"

#define FZ_PORTS	12	/* ports 4000 and up, few enough to meet */

/* Add to what the ring says about the call. */
static __attribute__((format(printf, 2, 3))) void
fz_note(struct fz_call *c, const char *format, ...)
{
	size_t room = FZ_TEXT - c->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(c->text + c->used, room, format, args);
	va_end(args);
	c->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* A socket of the table, or now and then none. */
static int fz_socket(struct fz_call *c)
{
	unsigned int slot = fz_below(c, FZ_SOCKS);
	int fd = __atomic_load_n(&c->w->fd[slot], __ATOMIC_RELAXED);

	fz_note(c, " #%u", slot);
	return fd;
}

static void fz_text_addr(struct fz_call *c, const union rds_addr *a)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(a->sa.sa_family, a->sa.sa_family == AF_INET ? (void *)&a->in.sin_addr :
		  (void *)&a->in6.sin6_addr, text, sizeof(text));
	fz_note(c, " %s:%u", text, addr_port(a));
}

static uint16_t fz_port(struct fz_call *c)
{
	static const uint16_t odd[] = { 0, 1, 2, 65535 };

	if (fz_rare(c, 12))
		return odd[fz_below(c, ARRAY_SIZE(odd))];
	return 4000 + fz_below(c, FZ_PORTS);
}

/* An address that a message may go to. */
static void fz_peer(struct fz_call *c, union rds_addr *a)
{
	*a = addr_with_port(&c->w->addr[fz_below(c, c->w->nr_addrs)], fz_port(c));
	fz_text_addr(c, a);
}

/* Addresses that are wrong in one way or another, or belong to nobody. */
static void fz_odd_addr(struct fz_call *c, union rds_addr *a)
{
	static const char *const odd[] = {
		"0.0.0.0", "255.255.255.255", "224.0.0.1", "10.9.1.77", "192.0.2.1", "127.0.0.9",
		"127.255.255.254", "::", "ff02::1", "fe80::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
		"2001:db8::1",
	};

	*a = addr_make(odd[fz_below(c, ARRAY_SIZE(odd))], fz_port(c));
	if (a->sa.sa_family == AF_INET6 && fz_rare(c, 2))
		a->in6.sin6_scope_id = fz_below(c, 4);
	fz_text_addr(c, a);
}

/* An address; its length as the call will state it. */
static socklen_t fz_addr(struct fz_call *c, union rds_addr *a)
{
	if (!fz_rare(c, 8))
		fz_peer(c, a);
	else
		fz_odd_addr(c, a);
	if (fz_rare(c, 40))
		a->sa.sa_family = fz_below(c, 46);
	return fz_rare(c, 20) ? fz_below(c, sizeof(*a) + 1) : addr_len(a);
}

/* A length of payload or memory. */
static size_t fz_length(struct fz_call *c)
{
	static const size_t edges[] = {
		0, 1, 207, 208, 209, 4095, 4096, 4097, 8192, 65535, 65536, RDS_MAX_MSG - 1,
		RDS_MAX_MSG, RDS_MAX_MSG + 1,
	};

	switch (fz_below(c, 8)) {
	case 0:
		return edges[fz_below(c, ARRAY_SIZE(edges))];
	case 1:
		return fz_below(c, 200000);
	case 2:
	case 3:
		return fz_below(c, 20000);
	default:
		return fz_below(c, 400);
	}
}

static void *fz_bad_place(struct fz_call *c, size_t len)
{
	uintptr_t odd[] = {
		0, 1, KERNEL_ADDR, 0xffffffff81000000ul, UINTPTR_MAX, 0x7ffffffff000ul,
		0x7ffffffff000ul - len / 2, 0x800000000000ul, (uintptr_t)c->w->arena + FZ_ARENA,
		(uintptr_t)c->w->arena + FZ_ARENA - len / 2, (uintptr_t)c->w->arena - len / 2,
	};

	return (void *)odd[fz_below(c, ARRAY_SIZE(odd))];
}

/* A place in the arena with @len bytes behind it, or now and then one that no one may use. */
static void *fz_place(struct fz_call *c, size_t len)
{
	size_t offset = fz_below(c, FZ_ARENA);
	void *place;

	if (fz_rare(c, 32))
		place = fz_bad_place(c, len);
	else if (offset + len <= FZ_ARENA)
		place = c->w->arena + offset;
	else
		place = c->w->arena + (len < FZ_ARENA ? FZ_ARENA - len : 0);
	fz_note(c, " @%lx+%zx", (unsigned long)place, len);
	return place;
}

/* @good, or now and then a pointer into the arena or to nowhere. */
static void *fz_pointer(struct fz_call *c, void *good)
{
	return fz_rare(c, 64) ? fz_place(c, 256) : good;
}

static rds_rdma_cookie_t fz_key(struct fz_call *c)
{
	unsigned int slot = fz_below(c, FZ_KEYS);
	rds_rdma_cookie_t key = __atomic_load_n(&c->w->key[slot], __ATOMIC_RELAXED);

	fz_note(c, " k%u", slot);
	switch (fz_below(c, 60)) {
	case 0:
		return fz_u64(c);
	case 1:
		return 0;
	case 2:
		return key ^ 1ull << fz_below(c, 64);
	default:
		return key;
	}
}

static uint64_t fz_rdma_flags(struct fz_call *c)
{
	uint64_t flags = fz_u64(c) & (RDS_RDMA_READWRITE | RDS_RDMA_FENCE | RDS_RDMA_NOTIFY_ME |
				      RDS_RDMA_SILENT | RDS_RDMA_INVALIDATE);

	if (fz_rare(c, 4))
		flags |= RDS_RDMA_USE_ONCE;
	return fz_rare(c, 64) ? fz_u64(c) : flags;
}

static int fz_msg_flags(struct fz_call *c)
{
	static const int odd[] = {
		MSG_NOSIGNAL, MSG_EOR, MSG_MORE, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_ERRQUEUE,
		MSG_WAITALL, MSG_CONFIRM, MSG_DONTROUTE, MSG_FASTOPEN, 0x4000000 /* MSG_ZEROCOPY */,
		0x40000 /* MSG_BATCH */, (int)0x80000000 /* MSG_CMSG_COMPAT */,
	};
	int flags = fz_rare(c, 24) ? 0 : MSG_DONTWAIT;

	if (fz_rare(c, 6))
		flags |= odd[fz_below(c, ARRAY_SIZE(odd))];
	if (fz_rare(c, 100))
		flags = fz_u64(c);
	fz_note(c, " f=%x", flags);
	return flags;
}

/* --- control messages --- */

static void fz_control_rdma(struct fz_call *c, struct rds_msg_out *m, struct rds_iovec *iov)
{
	unsigned int i, nr = fz_rare(c, 12) ? fz_below(c, 16) : 1;
	uint64_t total = 0;
	struct rds_rdma_args args = { .nr_local = nr };

	args.cookie = fz_key(c);
	for (i = 0; i < nr; i++) {
		iov[i].bytes = fz_length(c) / nr;
		iov[i].addr = (uintptr_t)fz_place(c, iov[i].bytes);
		total += iov[i].bytes;
	}
	args.remote_vec.addr = fz_rare(c, 16) ? fz_u64(c) : 0;
	args.remote_vec.bytes = fz_rare(c, 16) ? fz_u64(c) : total;
	args.local_vec_addr = (uintptr_t)fz_pointer(c, iov);
	if (fz_rare(c, 64))
		args.nr_local = fz_rare(c, 2) ? 1025 : fz_u64(c);
	args.flags = fz_rdma_flags(c);
	args.user_token = fz_u64(c);
	fz_note(c, " rdma n=%llu fl=%llx", (unsigned long long)args.nr_local,
		(unsigned long long)args.flags);
	msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static void fz_control_map(struct fz_call *c, struct rds_msg_out *m)
{
	size_t len = fz_length(c);
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)fz_place(c, len), len },
		.flags = fz_rdma_flags(c),
	};

	args.cookie_addr = (uintptr_t)fz_pointer(c, &c->w->key[fz_below(c, FZ_KEYS)]);
	fz_note(c, " map");
	msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
}

static void fz_control_atomic(struct fz_call *c, struct rds_msg_out *m)
{
	struct rds_atomic_args args = {
		.cookie = fz_key(c),
		.local_addr = (uintptr_t)fz_place(c, 8) & ~(fz_rare(c, 16) ? 0ull : 7ull),
		.remote_addr = fz_rare(c, 8) ? fz_below(c, 5000) : fz_below(c, 64) * 8,
		.flags = fz_rdma_flags(c),
		.user_token = fz_u64(c),
	};
	int type = RDS_CMSG_ATOMIC_FADD + fz_below(c, 4);

	args.m_cswp.compare = fz_below(c, 4);
	args.m_cswp.swap = fz_u64(c);
	args.m_cswp.compare_mask = args.m_cswp.swap_mask = fz_u64(c);
	fz_note(c, " atomic %d", type);
	msg_cmsg(m, SOL_RDS, type, &args, sizeof(args));
}

static void fz_control_dest(struct fz_call *c, struct rds_msg_out *m)
{
	rds_rdma_cookie_t key = fz_key(c);

	fz_note(c, " dest");
	msg_cmsg(m, SOL_RDS, RDS_CMSG_RDMA_DEST, &key, sizeof(key));
}

static void fz_control_any(struct fz_call *c, struct rds_msg_out *m)
{
	unsigned char data[128];
	size_t i, len = fz_rare(c, 2) ? 72 : fz_below(c, sizeof(data));
	int type = fz_below(c, 16);

	for (i = 0; i < sizeof(data); i++)
		data[i] = fz_rare(c, 3) ? fz_u64(c) : 0;
	fz_note(c, " type=%d/%zu", type, len);
	msg_cmsg(m, fz_rare(c, 8) ? SOL_SOCKET : SOL_RDS, type, data, len);
}

static void fz_control_one(struct fz_call *c, struct rds_msg_out *m, struct rds_iovec *iov)
{
	switch (fz_below(c, 8)) {
	case 0:
	case 1:
	case 2:
		fz_control_rdma(c, m, iov);
		break;
	case 3:
		fz_control_atomic(c, m);
		break;
	case 4:
	case 5:
		fz_control_map(c, m);
		break;
	case 6:
		fz_control_dest(c, m);
		break;
	default:
		fz_control_any(c, m);
		break;
	}
}

/* Control messages for sending, into @m. */
static void fz_control(struct fz_call *c, struct rds_msg_out *m, struct rds_iovec *iov)
{
	unsigned int i, nr = fz_rare(c, 10) ? 1 + fz_below(c, 3) : 1;
	struct cmsghdr *cmsg;

	for (i = 0; i < nr; i++)
		fz_control_one(c, m, iov);
	if (fz_rare(c, 24)) {
		cmsg = (struct cmsghdr *)m->control;
		cmsg->cmsg_len = fz_rare(c, 2) ? fz_below(c, 100) : fz_u64(c);
	}
	if (fz_rare(c, 24))
		m->hdr.msg_controllen = fz_below(c, sizeof(m->control) + 1);
	m->hdr.msg_control = fz_pointer(c, m->control);
}

#endif /* SOCKFUZZ_GEN_H */
