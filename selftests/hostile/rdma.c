// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Access to memory that the peer was not given, and lies about operations. */
#include "hostile.h"

#define TIMEOUT	120
#define REGION	8192

static long long map_region(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, bool once)
{
	long long cookie = ask_for(self, "map %lld %d 1 %d", self->sock, REGION, once);

	EXPECT_GT(cookie, 0);
	return cookie;
}

/* Neither read nor written: the device refuses it, which is the end of the connection, and our memory is as it was. */
static void is_refused(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, enum ibv_wr_opcode opcode,
		       long long cookie, uint64_t raddr, uint32_t rkey, size_t len)
{
	long long before = count_of(self, "conn_reset");

	ASSERT_EQ(0, hello(self, &self->peer));
	pattern(self->peer.area, 0, len, 2);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, peer_rdma(&self->peer, opcode, 0, raddr, rkey, len));
	EXPECT_TRUE(is_pattern(self->peer.area, 0, len, 2));
	EXPECT_EQ(1, ask_for(self, "look %lld 0 %d 1", cookie, REGION));
	peer_close(&self->peer);
	EXPECT_COUNTED("conn_reset", before);
}

static void keys_are_refused(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, enum ibv_wr_opcode opcode)
{
	long long cookie = map_region(_metadata, self, false);
	uint32_t rkey = cookie;
	const uint32_t guesses[] = { 0, 1, rkey + 1, rkey - 1, rkey ^ 0x100, UINT32_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(guesses); i++)
		is_refused(_metadata, self, opcode, cookie, cookie >> 32, guesses[i], REGION);
}

TEST_F_TIMEOUT(hostile, guessed_keys_for_writing, TIMEOUT)
{
	keys_are_refused(_metadata, self, IBV_WR_RDMA_WRITE);
}

TEST_F_TIMEOUT(hostile, guessed_keys_for_reading, TIMEOUT)
{
	keys_are_refused(_metadata, self, IBV_WR_RDMA_READ);
}

static void ranges_are_refused(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self,
			       enum ibv_wr_opcode opcode)
{
	long long cookie = map_region(_metadata, self, false);
	uint64_t start = cookie >> 32;

	is_refused(_metadata, self, opcode, cookie, start + 1, cookie, REGION);
	is_refused(_metadata, self, opcode, cookie, start, cookie, REGION + 1);
	is_refused(_metadata, self, opcode, cookie, start + REGION, cookie, 1);
	is_refused(_metadata, self, opcode, cookie, start - 1, cookie, 2);
	is_refused(_metadata, self, opcode, cookie, 0xffff888000000000ull, cookie, REGION);
	is_refused(_metadata, self, opcode, cookie, 1ull << 32, cookie, 1);
}

TEST_F_TIMEOUT(hostile, D46_range_for_writing, TIMEOUT)
{
	ranges_are_refused(_metadata, self, IBV_WR_RDMA_WRITE);
}

TEST_F_TIMEOUT(hostile, D46_range_for_reading, TIMEOUT)
{
	ranges_are_refused(_metadata, self, IBV_WR_RDMA_READ);
}

TEST_F_TIMEOUT(hostile, D21_key_that_was_revoked, TIMEOUT)
{
	long long cookie = map_region(_metadata, self, false), other;

	ASSERT_EQ(0, ask_for(self, "unmap %lld", cookie));
	/* its memory belongs to nobody's key now, and one that is made later is another one */
	other = map_region(_metadata, self, false);
	EXPECT_NE((uint32_t)cookie, (uint32_t)other);
	is_refused(_metadata, self, IBV_WR_RDMA_WRITE, cookie, cookie >> 32, cookie, REGION);
	is_refused(_metadata, self, IBV_WR_RDMA_READ, cookie, cookie >> 32, cookie, REGION);
}

TEST_F_TIMEOUT(hostile, key_of_a_socket_that_was_closed, TIMEOUT)
{
	long long cookie = map_region(_metadata, self, false);

	close_target(self);
	is_refused(_metadata, self, IBV_WR_RDMA_WRITE, cookie, cookie >> 32, cookie, REGION);
}

/* --- lies --------------------------------------------------------------- */

/* That a key was used up: of nobody's, and of a socket that the message is not for. */
TEST_F_TIMEOUT(hostile, tells_of_keys_that_are_not_the_receivers, TIMEOUT)
{
	long long other = open_socket(self, TARGET_PORT + 7, 0);
	long long cookie = map_region(_metadata, self, true);
	struct head head = message_to(TARGET_PORT + 7, 10);

	ASSERT_GT(other, 0);
	ASSERT_EQ(0, hello(self, &self->peer));
	head_add_rdma(&head, cookie);
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 1));
	head_add_rdma(&head, 0xdeadbeef);
	ASSERT_EQ(0, peer_push_message(&self->peer, head, 2));
	EXPECT_EQ(10, received(self, other, 1));
	EXPECT_EQ(10, received(self, other, 2));
	/* it is still good */
	pattern(self->peer.area, 0, REGION, 5);
	EXPECT_EQ(0, peer_rdma(&self->peer, IBV_WR_RDMA_WRITE, 0, cookie >> 32, cookie, REGION));
	EXPECT_EQ(1, ask_for(self, "look %lld 0 %d 5", cookie, REGION));
}

/* A cookie that opens nothing: the operation fails, its sender is told, and the connection comes back. */
static void operation_fails(struct __test_metadata *_metadata, FIXTURE_DATA(hostile) *self, const char *what)
{
	long long before = count_of(self, "drop_remote_access"), answer[2];

	ASSERT_EQ(0, hello(self, &self->peer));
	ASSERT_EQ(0, ask_for(self, "%s %lld %s %d 3735928559 0 5000 1", what, self->sock, self->me, MY_PORT));
	ASSERT_EQ(2, observer_ask(self->observer, answer, 2, "status %lld 1", self->sock));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, answer[0]);
	EXPECT_COUNTED("drop_remote_access", before);
	peer_close(&self->peer);
}

TEST_F_TIMEOUT(hostile, gives_a_cookie_that_opens_nothing, TIMEOUT)
{
	operation_fails(_metadata, self, "write");
	operation_fails(_metadata, self, "read");
}

/* It asks for an operation and is gone: nobody knows whether it was done. */
TEST_F_TIMEOUT(hostile, vanishes_before_an_operation, TIMEOUT)
{
	long long answer[2];
	uint32_t rkey;

	ASSERT_EQ(0, hello(self, &self->peer));
	rkey = self->peer.mr->rkey;
	peer_fall_silent(&self->peer);
	ASSERT_EQ(0, ask_for(self, "read %lld %s %d %u 0 5000 1", self->sock, self->me, MY_PORT, rkey));
	ASSERT_EQ(2, observer_ask(self->observer, answer, 2, "status %lld 1", self->sock));
	EXPECT_TRUE(answer[0] == RDS_RDMA_OTHER_ERROR || answer[0] == RDS_RDMA_DROPPED);
}

TEST_HARNESS_MAIN
