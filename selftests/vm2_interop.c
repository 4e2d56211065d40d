// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What our module and a stock one have in common, either of them on either machine: messages, pings, RDMA
 * with keys made by RDS_CMSG_RDMA_MAP on either side, congestion.  vm2_peer runs on the other machine.
 */
#include "vm2_asker.h"

FIXTURE(peer) {
	struct asker a;
};
FIXTURE_VARIANT(peer) {
	enum rds_bed bed;
};
FIXTURE_VARIANT_ADD(peer, v4) { .bed = BED_RXE };
FIXTURE_VARIANT_ADD(peer, v6) { .bed = BED_RXE6 };

FIXTURE_SETUP(peer)
{
	int sndbuf = RDS_MAX_MSG;

	asker_open(_metadata, &self->a, variant->bed);
	setsockopt(self->a.fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
}

FIXTURE_TEARDOWN(peer)
{
	close(self->a.fd);
}

/* --- messages ----------------------------------------------------------- */

TEST_F_TIMEOUT(peer, echoes_datagrams_of_every_kind_of_size, RDS_SLOW_TEST)
{
	static const size_t lens[] = { 0, 1, 4095, 4096, 4097, 8192, 65536 };
	static unsigned char out[65536], in[65536];
	struct asker *a = &self->a;
	struct rds_msg_in from;
	unsigned int i;
	size_t j;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fill(out, lens[i], i);
		ASSERT_EQ(lens[i], rds_send(a->fd, &a->echo, out, lens[i], 0));
		ASSERT_EQ(lens[i], rds_recv_wait(a->fd, in, sizeof(in), &from));
		EXPECT_TRUE(addr_equal(&from.from, &a->echo));
		for (j = 0; j < lens[i]; j++)
			out[j] = ~out[j];
		ASSERT_EQ(0, memcmp(in, out, lens[i]));
	}
}

/* Several are under way at a time, their fragments back to back. */
TEST_F_TIMEOUT(peer, echoes_a_burst_in_order, RDS_SLOW_TEST)
{
	static unsigned char out[20000], in[20000];
	struct asker *a = &self->a;
	size_t len, j;
	int round;

	for (round = 0; round < 5; round++) {
		for (len = 0; len < 20000; len += 4001) {
			fill(out, len, len + round);
			ASSERT_EQ(len, rds_send(a->fd, &a->echo, out, len, 0));
		}
		for (len = 0; len < 20000; len += 4001) {
			fill(out, len, len + round);
			for (j = 0; j < len; j++)
				out[j] = ~out[j];
			ASSERT_EQ(len, rds_recv_wait(a->fd, in, sizeof(in), NULL));
			ASSERT_EQ(0, memcmp(in, out, len));
		}
	}
}

TEST_F_TIMEOUT(peer, answers_a_ping, RDS_SLOW_TEST)
{
	union rds_addr to = addr_with_port(&self->a.peer, 0);
	struct rds_msg_in from;
	char byte;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, rds_send(self->a.fd, &to, NULL, 0, 0));
		ASSERT_EQ(0, rds_recv_wait(self->a.fd, &byte, 1, &from));
		EXPECT_TRUE(addr_equal(&from.from, &to));
	}
}

/* --- types of service ---------------------------------------------------- */

#define SERVICES	2	/* beside none */

static const rds_tos_t services[SERVICES] = { 5, 200 };	/* as in vm2/frames.py */

/* What is up between two addresses, by type of service; the peer's module tells by RDS_INFO_CONNECTIONS alone. */
static unsigned int connected_with(int fd, const struct asker *a, rds_tos_t tos)
{
	static struct rds_info_connection list[500];
	socklen_t len = sizeof(list);
	int stride = getsockopt(fd, SOL_RDS, RDS_INFO_CONNECTIONS, list, &len);
	unsigned int n = 0;
	char *place;

	if (stride < (int)sizeof(list[0]))
		return 0;
	for (place = (char *)list; place < (char *)list + len; place += stride) {
		struct rds_info_connection *c = (void *)place;

		n += c->laddr == a->my.in.sin_addr.s_addr && c->faddr == a->peer.in.sin_addr.s_addr &&
		     c->tos == tos && c->flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;
	}
	return n;
}

/* Each has a connection of its own, also at the peer, who answers over the one without. */
TEST_F_TIMEOUT(peer, keeps_types_of_service_apart, RDS_SLOW_TEST)
{
	struct asker others[SERVICES], *a = &self->a;
	unsigned int i, round;
	uint32_t in;

	for (i = 0; i < SERVICES; i++) {
		asker_open(_metadata, &others[i], variant->bed);
		ASSERT_EQ(0, ioctl(others[i].fd, SIOCRDSSETTOS, &services[i]));
	}
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(4, rds_send(a->fd, &a->echo, &round, 4, 0));
		for (i = 0; i < SERVICES; i++)
			ASSERT_EQ(4, rds_send(others[i].fd, &a->echo, &round, 4, 0));
	}
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(4, rds_recv_wait(a->fd, &in, 4, NULL));
		ASSERT_EQ(~round, in);
		for (i = 0; i < SERVICES; i++) {
			ASSERT_EQ(4, rds_recv_wait(others[i].fd, &in, 4, NULL));
			ASSERT_EQ(~round, in);
		}
	}
	for (i = 0; i < SERVICES; i++) {
		if (variant->bed == BED_RXE)
			EXPECT_EQ(1, connected_with(a->fd, a, services[i]));
		close(others[i].fd);
	}
}

/* --- RDMA on a buffer of ours ------------------------------------------- */

static const struct {
	size_t offset, len;
} shapes[] = {
	{ 0, 1 }, { 7, 100 }, { 0, 4096 }, { 4095, 2 }, { 100, 8192 }, { 4000, 65536 }, { 1, RDS_MAX_MSG },
};

TEST_F_TIMEOUT(peer, writes_to_what_we_map, RDS_SLOW_TEST)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct ask ask = { .what = ASK_WRITE, .len = shapes[i].len, .seed = 50 + i };
		struct region r;

		region_make(_metadata, &r, shapes[i].offset, shapes[i].len, i);
		ask_mapping(_metadata, &self->a, &r, RDS_RDMA_READWRITE, &ask);
		operation_succeeds(_metadata, &self->a);
		fill(r.want + r.offset, r.len, ask.seed);
		ASSERT_TRUE(region_right(&r));
		ASSERT_EQ(0, free_mr(self->a.fd, r.cookie));
		region_drop(&r);
	}
}

TEST_F_TIMEOUT(peer, reads_what_we_map, RDS_SLOW_TEST)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct ask ask = { .what = ASK_READ, .len = shapes[i].len };
		struct region r;

		region_make(_metadata, &r, shapes[i].offset, shapes[i].len, i);
		ask_mapping(_metadata, &self->a, &r, 0, &ask);
		ASSERT_EQ(digest(region_start(&r), r.len), operation_succeeds(_metadata, &self->a));
		ASSERT_TRUE(region_right(&r));
		ASSERT_EQ(0, free_mr(self->a.fd, r.cookie));
		region_drop(&r);
	}
}

TEST_F_TIMEOUT(peer, uses_what_we_map_for_one_use, RDS_SLOW_TEST)
{
	struct ask ask = { .what = ASK_WRITE, .len = 8192, .seed = 60 };
	struct region r;

	region_make(_metadata, &r, 100, 8192, 1);
	ask_mapping(_metadata, &self->a, &r, RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE, &ask);
	operation_succeeds(_metadata, &self->a);
	fill(r.want + r.offset, r.len, ask.seed);
	ASSERT_TRUE(region_right(&r));
	/* the peer's message told that its operation was the one use */
	ASSERT_EQ(-EINVAL, free_mr(self->a.fd, r.cookie));
}

/* --- RDMA on a buffer of the peer's ------------------------------------- */

static rds_rdma_cookie_t peer_maps(struct __test_metadata *_metadata, struct asker *a,
				   size_t offset, size_t len, uint32_t seed)
{
	struct ask ask = { .what = ASK_MAP, .offset = offset, .len = len, .seed = seed };
	struct rds_msg_in in;

	ask_plainly(_metadata, a, &ask);
	ASSERT_EQ(0, get_answer(_metadata, a, &in).status);
	ASSERT_TRUE(in.has_dest);
	return in.dest;
}

/* Our operation, on an empty message, which the peer takes for nothing: its status, or -errno. */
static int operate(struct asker *a, rds_rdma_cookie_t cookie, const void *local, size_t len,
		   uint64_t flags)
{
	static uint64_t sent = 0x9000;
	uint64_t token = 0;
	ssize_t n = rdma_op(a->fd, &a->peer, cookie, 0, local, len, flags | RDS_RDMA_NOTIFY_ME,
			    ++sent);
	int status;

	if (n < 0)
		return n;
	status = rdma_status(a->fd, &token);
	return status >= 0 && token != sent ? -EBADMSG : status;
}

TEST_F_TIMEOUT(peer, maps_what_we_write_to, RDS_SLOW_TEST)
{
	struct ask look = { .what = ASK_LOOK };
	struct asker *a = &self->a;
	struct region r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		rds_rdma_cookie_t cookie = peer_maps(_metadata, a, shapes[i].offset, shapes[i].len, i);

		region_make(_metadata, &r, 3, shapes[i].len, 70 + i);
		ASSERT_EQ(RDS_RDMA_SUCCESS,
			  operate(a, cookie, region_start(&r), r.len, RDS_RDMA_READWRITE));
		/* the peer's area, as it must be now */
		fill(r.want, AREA_LEN, i);
		memcpy(r.want + shapes[i].offset, region_start(&r), r.len);
		ask_plainly(_metadata, a, &look);
		ASSERT_EQ(digest(r.want, AREA_LEN), get_answer(_metadata, a, NULL).digest);
		region_drop(&r);
	}
}

TEST_F_TIMEOUT(peer, maps_what_we_read, RDS_SLOW_TEST)
{
	struct ask look = { .what = ASK_LOOK };
	struct asker *a = &self->a;
	struct region r;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		rds_rdma_cookie_t cookie = peer_maps(_metadata, a, shapes[i].offset, shapes[i].len, i);
		char *theirs = map_guarded(_metadata, AREA_LEN);

		region_make(_metadata, &r, 3, shapes[i].len, 80 + i);
		fill(theirs, AREA_LEN, i);
		ASSERT_EQ(RDS_RDMA_SUCCESS, operate(a, cookie, region_start(&r), r.len, 0));
		memcpy(r.want + r.offset, theirs + shapes[i].offset, r.len);
		ASSERT_TRUE(region_right(&r));
		ask_plainly(_metadata, a, &look);
		ASSERT_EQ(digest(theirs, AREA_LEN), get_answer(_metadata, a, NULL).digest);
		munmap(theirs, AREA_LEN);
		region_drop(&r);
	}
}

/* --- congestion --------------------------------------------------------- */

#define HELD_LEN	4096
#define HELD_RCVBUF	16384
#define HELD_MAX	5000

/* Send to the socket that nobody reads until it is refused; returns how many were sent. */
static unsigned int send_until_refused(struct __test_metadata *_metadata, struct asker *a,
				       const union rds_addr *to)
{
	static char out[HELD_LEN];
	unsigned int sent = 0;
	ssize_t n;

	while (sent < HELD_MAX) {
		fill(out, sizeof(out), 90 + sent);
		n = rds_send(a->fd, to, out, sizeof(out), MSG_DONTWAIT);
		if (n == -ENOBUFS)
			return sent;
		if (n == -EAGAIN) {
			ASSERT_TRUE(ready(a->fd, POLLOUT, RDS_WAIT_MS));
			continue;
		}
		ASSERT_EQ(HELD_LEN, n);
		sent++;
	}
	return 0;
}

TEST_F_TIMEOUT(peer, congests_and_recovers, RDS_SLOW_TEST)
{
	struct ask hold = { .what = ASK_HOLD, .len = HELD_RCVBUF };
	struct ask take = { .what = ASK_TAKE, .seed = 90 };
	struct asker *a = &self->a, other = *a;
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct answer taken;
	union rds_addr to;
	unsigned int sent;
	ssize_t n;

	ask_plainly(_metadata, a, &hold);
	to = addr_with_port(&a->peer, get_answer(_metadata, a, NULL).value);
	/* a socket for nothing but this, so that its news are its own */
	other.my = addr_with_port(&a->my, 0);
	other.fd = open_bound(_metadata, &other.my);

	sent = send_until_refused(_metadata, &other, &to);
	ASSERT_GT(sent, HELD_RCVBUF / HELD_LEN);

	take.len = sent;
	ask_plainly(_metadata, a, &take);
	taken = get_answer(_metadata, a, NULL);
	ASSERT_EQ(0, taken.status);
	ASSERT_EQ(sent, taken.value);

	/* the peer tells when it has room again */
	while ((n = rds_send(other.fd, &to, "x", 1, MSG_DONTWAIT)) == -ENOBUFS && now_ms() < end)
		ready(other.fd, POLLIN, 100);
	ASSERT_EQ(1, n);
	close(other.fd);
}

TEST_HARNESS_MAIN
