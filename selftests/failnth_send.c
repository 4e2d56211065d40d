// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Faults while sending: payload of each size, each control message, the first message to a peer. */
#include "failnth.h"

#define FIRST_SENDS	100

/* The message of the call, whole and once. */
static void expect_message(struct __test_metadata *_metadata, sweep_state *self)
{
	memset(self->in, 0, self->len);
	ASSERT_EQ(self->len, rds_recv_wait(self->p.rx, self->in, self->len, NULL));
	ASSERT_EQ(0, memcmp(self->out, self->in, self->len));
	ASSERT_EQ(-EAGAIN, rds_recv(self->p.rx, self->in, 1, MSG_DONTWAIT, NULL));
}

static void sweep_send(struct __test_metadata *_metadata, sweep_state *self, size_t len)
{
	self->len = len;
	message_init(self);
	sweep(_metadata, self, &(struct sweep){ .call = call_send, .worked = expect_message,
						.errors = F_NOMEM | F_FAULT });
}

TEST_F_TIMEOUT(failnth, nothing, SWEEP_SECONDS)
{
	sweep_send(_metadata, self, 0);
}

TEST_F_TIMEOUT(failnth, inline_payload, SWEEP_SECONDS)
{
	sweep_send(_metadata, self, 100);
}

TEST_F_TIMEOUT(failnth, abi5_14_pages, SWEEP_SECONDS)
{
	sweep_send(_metadata, self, PAYLOAD);
}

TEST_F_TIMEOUT(failnth, one_mebibyte, SWEEP_SECONDS)
{
	sweep_send(_metadata, self, RDS_MAX_MSG);
}

static long call_write(sweep_state *self)
{
	ssize_t n = write(self->p.tx, self->out, self->len);

	return n < 0 ? -errno : n;
}

TEST_F_TIMEOUT(failnth, write_to_connected, SWEEP_SECONDS)
{
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	sweep(_metadata, self, &(struct sweep){ .call = call_write, .worked = expect_message,
						.errors = F_NOMEM | F_FAULT });
}

/* --- control messages --- */

static void sweep_control(struct __test_metadata *_metadata, sweep_state *self, sweep_fn worked)
{
	sweep(_metadata, self, &(struct sweep){ .call = call_send, .worked = worked,
						.errors = F_NOMEM | F_FAULT | F_NOBUFS });
}

TEST_F_TIMEOUT(failnth, cmsg_dest, SWEEP_SECONDS)
{
	own_key(_metadata, self);
	message_init(self);
	msg_cmsg(&self->msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &self->key, sizeof(self->key));
	sweep_control(_metadata, self, expect_message);
}

static void mapped(struct __test_metadata *_metadata, sweep_state *self)
{
	ASSERT_EQ(0, free_mr(self->p.tx, self->key));
	expect_message(_metadata, self);
}

static void sweep_map(struct __test_metadata *_metadata, sweep_state *self, size_t bytes)
{
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)self->out, bytes },
		.cookie_addr = (uintptr_t)&self->key,
	};

	message_init(self);
	msg_cmsg(&self->msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	sweep_control(_metadata, self, mapped);
}

TEST_F_TIMEOUT(failnth, cmsg_map_page, SWEEP_SECONDS)
{
	sweep_map(_metadata, self, page_size());
}

TEST_F_TIMEOUT(failnth, cmsg_map_one_mebibyte, SWEEP_SECONDS)
{
	sweep_map(_metadata, self, RDS_MAX_MSG);
}

/* An operation ends well, or takes its message with it when its connection had to go. */
static void operation_ended(struct __test_metadata *_metadata, sweep_state *self)
{
	int status = rdma_status(self->p.tx, NULL);

	if (status == RDS_RDMA_SUCCESS) {
		expect_message(_metadata, self);
		return;
	}
	ASSERT_TRUE(status == RDS_RDMA_DROPPED || status == RDS_RDMA_OTHER_ERROR) {
		TH_LOG("status %d", status);
	}
	ASSERT_EQ(-EAGAIN, rds_recv(self->p.rx, self->in, 1, MSG_DONTWAIT, NULL));
}

static void sweep_operation(struct __test_metadata *_metadata, sweep_state *self,
			    unsigned int ranges, uint64_t flags)
{
	char *local = flags & RDS_RDMA_READWRITE ? self->out : self->in;
	size_t stride = RDS_MAX_MSG / ranges;
	struct rds_iovec iov[1024];
	unsigned int i;

	for (i = 0; i < ranges; i++)
		iov[i] = (struct rds_iovec){ (uintptr_t)local + i * stride, 100 };
	message_init(self);
	msg_rdma(&self->msg, self->cookie, 0, 100 * ranges, iov, ranges, flags | RDS_RDMA_NOTIFY_ME,
		 1);
	sweep_control(_metadata, self, operation_ended);
}

TEST_F_TIMEOUT(failnth, cmsg_write, SWEEP_SECONDS)
{
	sweep_operation(_metadata, self, 1, RDS_RDMA_READWRITE);
}

TEST_F_TIMEOUT(failnth, cmsg_read, SWEEP_SECONDS)
{
	sweep_operation(_metadata, self, 1, 0);
}

TEST_F_TIMEOUT(failnth, cmsg_write_of_many_ranges, SWEEP_SECONDS)
{
	sweep_operation(_metadata, self, 200, RDS_RDMA_READWRITE);
}

TEST_F_TIMEOUT(failnth, cmsg_read_of_most_ranges, SWEEP_SECONDS)
{
	sweep_operation(_metadata, self, 1024, 0);
}

TEST_F_TIMEOUT(failnth, cmsg_atomic, SWEEP_SECONDS)
{
	struct rds_atomic_args args = {
		.cookie = self->cookie,
		.local_addr = (uintptr_t)self->in,
		.fadd.add = 1,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = 1,
	};

	message_init(self);
	msg_cmsg(&self->msg, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	sweep_control(_metadata, self, operation_ended);
}

/* --- the first message to a peer --- */

/* Each round has a peer of its own.  On loopback it is there; over rxe nobody answers at its address, and
 * the message is called back.
 */
static void new_peer(struct __test_metadata *_metadata, sweep_state *self)
{
	bool loopback = self->p.tx_addr.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
	union rds_addr to = addr_with_port(&self->p.tx_addr, loopback ? 0 : 4000);
	uint32_t net = ntohl(to.in.sin_addr.s_addr) & ~255u;

	ASSERT_LT(self->sent, FIRST_SENDS);
	to.in.sin_addr.s_addr = htonl(net + 100 + self->sent++);
	self->fd = loopback ? open_bound(_metadata, &to) : -1;
	msg_init(&self->msg, &to, self->out, self->len);
}

static void close_peer(struct __test_metadata *_metadata, sweep_state *self)
{
	if (self->fd >= 0) {
		ASSERT_EQ(0, close(self->fd));
	}
}

static void first_sent(struct __test_metadata *_metadata, sweep_state *self)
{
	if (self->fd < 0) {
		ASSERT_EQ(0, set_opt(self->p.tx, RDS_CANCEL_SENT_TO, &self->msg.to,
				     addr_len(&self->msg.to)));
		return;
	}
	ASSERT_EQ(self->len, rds_recv_wait(self->fd, self->in, self->len, NULL));
	ASSERT_EQ(0, memcmp(self->out, self->in, self->len));
	close_peer(_metadata, self);
}

TEST_F_TIMEOUT(failnth, abi5_15_first_message, SWEEP_SECONDS)
{
	self->sent = 0;
	sweep(_metadata, self, &(struct sweep){ new_peer, call_send, first_sent, close_peer,
						F_NOMEM | F_FAULT });
}

TEST_HARNESS_MAIN
