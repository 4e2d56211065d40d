/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The asking side of the tests with two machines: a fixture that talks with vm2_peer. */
#ifndef VM2_ASKER_H
#define VM2_ASKER_H

#include "vm2.h"

/* A buffer, and what it is to look like. */
struct region {
	char			*area;		/* AREA_LEN */
	char			*want;		/* AREA_LEN */
	size_t			offset;
	size_t			len;
	rds_rdma_cookie_t	cookie;		/* once it is mapped */
};

struct asker {
	int		fd;
	union rds_addr	my, peer, echo;
};

static inline void asker_open(struct __test_metadata *_metadata, struct asker *a, enum rds_bed bed)
{
	ASSERT_TRUE(bed_addrs(bed, &a->my, &a->peer));
	a->echo = addr_with_port(&a->peer, ECHO_PORT);
	a->peer = addr_with_port(&a->peer, PEER_PORT);
	a->fd = open_bound(_metadata, &a->my);
}

static inline void region_make(struct __test_metadata *_metadata, struct region *r, size_t offset,
			       size_t len, uint32_t seed)
{
	r->area = map_guarded(_metadata, AREA_LEN);
	r->want = map_guarded(_metadata, AREA_LEN);
	r->offset = offset;
	r->len = len;
	fill(r->area, AREA_LEN, seed);
	fill(r->want, AREA_LEN, seed);
}

static inline void region_drop(struct region *r)
{
	munmap(r->area, AREA_LEN);
	munmap(r->want, AREA_LEN);
}

static inline char *region_start(const struct region *r)
{
	return r->area + r->offset;
}

/* As it is wanted, every byte, also before and behind the region? */
static inline bool region_right(const struct region *r)
{
	return !memcmp(r->area, r->want, AREA_LEN);
}

/* Have @region registered and its cookie sent along with @ask. */
static inline void ask_mapping(struct __test_metadata *_metadata, struct asker *a,
			       struct region *region, uint64_t flags, const struct ask *ask)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)region_start(region), .bytes = region->len },
		.cookie_addr = (uintptr_t)&region->cookie,
		.flags = flags,
	};
	struct rds_msg_out m;

	msg_init(&m, &a->peer, ask, sizeof(*ask));
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	ASSERT_EQ(sizeof(*ask), msg_send(a->fd, &m, 0));
}

static inline void ask_plainly(struct __test_metadata *_metadata, struct asker *a, const struct ask *ask)
{
	ASSERT_EQ(sizeof(*ask), rds_send(a->fd, &a->peer, ask, sizeof(*ask), 0));
}

static inline struct answer get_answer(struct __test_metadata *_metadata, struct asker *a,
				       struct rds_msg_in *in)
{
	struct answer answer;

	ASSERT_EQ(sizeof(answer), rds_recv_wait(a->fd, &answer, sizeof(answer), in));
	return answer;
}

/* The answers to an operation that must succeed; returns the digest. */
static inline uint64_t operation_succeeds(struct __test_metadata *_metadata, struct asker *a)
{
	struct answer answer = get_answer(_metadata, a, NULL);

	ASSERT_EQ(ARRIVED, answer.status);
	answer = get_answer(_metadata, a, NULL);
	ASSERT_EQ(RDS_RDMA_SUCCESS, answer.status);
	return answer.digest;
}

#endif
