// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Atomics on the memory of vm2_peer, on the other machine, while the network repeats and reorders packets.
 *
 * Each atomic goes right behind a message, whose repeats then reach the peer after the atomic: soft-RoCE answers
 * them with an acknowledgement of all it has done, the atomic included, and that may overtake the answer with
 * the old value.
 */
#include "vm2_asker.h"

#define MOST	1000	/* rounds */
#define ENOUGH	3	/* lost values; about every fourth to eighth is */
#define SEED	3

FIXTURE(atomic) {
	struct asker		a;
	rds_rdma_cookie_t	cookie;		/* of the peer's area */
	uint64_t		*local;
	uint64_t		next;		/* what the word must be, */
	bool			known;		/* if so */
	unsigned int		lost;		/* old values */
};
FIXTURE_VARIANT(atomic) {
	enum rds_bed bed;
};
FIXTURE_VARIANT_ADD(atomic, v4) { .bed = BED_RXE };
FIXTURE_VARIANT_ADD(atomic, v6) { .bed = BED_RXE6 };

FIXTURE_SETUP(atomic)
{
	const struct ask ask = { .what = ASK_MAP, .len = page_size(), .seed = SEED };
	struct rds_msg_in in;
	uint64_t *area;

	asker_open(_metadata, &self->a, variant->bed);
	self->local = map_guarded(_metadata, page_size());
	area = map_guarded(_metadata, page_size());
	fill(area, page_size(), SEED);
	self->next = *area;
	self->known = true;
	ask_plainly(_metadata, &self->a, &ask);
	get_answer(_metadata, &self->a, &in);
	ASSERT_TRUE(in.has_dest);
	self->cookie = in.dest;
}

FIXTURE_TEARDOWN(atomic)
{
	close(self->a.fd);
}

static void send_atomic(struct __test_metadata *_metadata, FIXTURE_DATA(atomic) *self, unsigned int round)
{
	struct rds_atomic_args args = {
		.cookie = self->cookie, .local_addr = (uintptr_t)self->local,
		.fadd.add = 1, .flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, .user_token = round,
	};
	struct rds_msg_out m;

	msg_init(&m, &self->a.peer, NULL, 0);
	msg_cmsg(&m, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	ASSERT_EQ(0, msg_send(self->a.fd, &m, 0));
}

/* The peer's word counts the atomics, also those whose old value is lost. */
static void expect_old_value(struct __test_metadata *_metadata, FIXTURE_DATA(atomic) *self, unsigned int round)
{
	uint64_t token = 0;
	int status = rdma_status(self->a.fd, &token);

	ASSERT_EQ(round, token);
	if (status == RDS_RDMA_SUCCESS && self->known) {
		ASSERT_EQ(self->next, *self->local) {
			TH_LOG("round %u", round);
		}
	} else if (status == RDS_RDMA_SUCCESS) {
		self->next = *self->local;
	} else if (status == RDS_RDMA_OTHER_ERROR) {
		self->lost++;
	} else {
		ASSERT_EQ(RDS_RDMA_DROPPED, status);
	}
	/* of an atomic on a connection that broke nobody knows whether it ran */
	self->known = status == RDS_RDMA_SUCCESS || (self->known && status == RDS_RDMA_OTHER_ERROR);
	self->next++;
}

TEST_F_TIMEOUT(atomic, lost_value_is_an_error, 600)
{
	uint64_t before = counter(self->a.fd, "ib_atomic_lost");
	unsigned int i;

	for (i = 0; i < MOST && self->lost < ENOUGH; i++) {
		ASSERT_EQ(1, rds_send(self->a.fd, &self->a.echo, "m", 1, 0));
		send_atomic(_metadata, self, i);
		expect_old_value(_metadata, self, i);
	}
	TH_LOG("%u of %u old values were lost", self->lost, i);
	EXPECT_EQ(self->lost, counter(self->a.fd, "ib_atomic_lost") - before);
	/* without, nothing would have been shown */
	EXPECT_LT(0, self->lost);
}

TEST_HARNESS_MAIN
