// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 1: io_uring's send and receive, by the bare system calls. */
#include <linux/io_uring.h>
#include "info_list.h"

#define ENTRIES	8

/* A submission and a completion ring. */
struct uring {
	int			fd;
	struct io_uring_params	p;
	char			*rings;
	struct io_uring_sqe	*sqes;
};

static unsigned int *ring_word(struct uring *r, uint32_t offset)
{
	return (unsigned int *)(r->rings + offset);
}

static void uring_open(struct __test_metadata *_metadata, struct uring *r)
{
	size_t len;

	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, ENTRIES, &r->p);
	ASSERT_GE(r->fd, 0) {
		TH_LOG("io_uring_setup: %s", strerror(errno));
	}
	ASSERT_TRUE(r->p.features & IORING_FEAT_SINGLE_MMAP);
	len = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
	if (len < r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned int))
		len = r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned int);
	r->rings = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			IORING_OFF_SQ_RING);
	ASSERT_NE(MAP_FAILED, (void *)r->rings);
	r->sqes = mmap(NULL, r->p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	ASSERT_NE(MAP_FAILED, (void *)r->sqes);
}

/* Submit one entry; it is known by @id. */
static int uring_submit(struct uring *r, const struct io_uring_sqe *sqe, uint64_t id)
{
	unsigned int *tail = ring_word(r, r->p.sq_off.tail);
	unsigned int index = *tail & *ring_word(r, r->p.sq_off.ring_mask);

	r->sqes[index] = *sqe;
	r->sqes[index].user_data = id;
	ring_word(r, r->p.sq_off.array)[index] = index;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0);
}

/* Wait for one completion and return its result. */
static int uring_wait(struct uring *r, uint64_t *id)
{
	unsigned int *head = ring_word(r, r->p.cq_off.head);
	unsigned int *tail = ring_word(r, r->p.cq_off.tail);
	struct io_uring_cqe *cqe;
	int res;

	while (__atomic_load_n(tail, __ATOMIC_ACQUIRE) == *head)
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			return -errno;
	cqe = (struct io_uring_cqe *)(r->rings + r->p.cq_off.cqes);
	cqe += *head & *ring_word(r, r->p.cq_off.ring_mask);
	*id = cqe->user_data;
	res = cqe->res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

static int uring_run(struct uring *r, int op, int fd, const void *addr, uint32_t len, int flags)
{
	struct io_uring_sqe sqe = {
		.opcode = op, .fd = fd, .addr = (uintptr_t)addr, .len = len, .msg_flags = flags,
	};
	uint64_t id;

	if (uring_submit(r, &sqe, 1) != 1)
		return -EBADE;
	return uring_wait(r, &id);
}

FIXTURE(uring) {
	struct rds_pair	p;
	struct uring	r;
};
RDS_BED_VARIANTS(uring);

FIXTURE_SETUP(uring)
{
	pair_open(_metadata, &self->p, variant->bed);
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
	uring_open(_metadata, &self->r);
}

FIXTURE_TEARDOWN(uring)
{
	close(self->r.fd);
	pair_close(&self->p);
}

/* A socket whose send buffer is full of messages to nobody. */
FIXTURE(waiting) {
	union rds_addr	a;
	union rds_addr	to;
	int		fd;
	struct uring	r;
	char		chunk[5000];
	struct list	l;
};
FIXTURE_VARIANT(waiting) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(waiting, rxe) { BED_RXE };

FIXTURE_SETUP(waiting)
{
	bed_need(_metadata, variant->bed, &self->a, &self->to);
	((unsigned char *)&self->to.in.sin_addr)[3] = 250;
	self->to = addr_with_port(&self->to, 7000);
	self->fd = open_bound(_metadata, &self->a);
	set_int(_metadata, self->fd, SOL_SOCKET, SO_SNDBUF, sizeof(self->chunk));
	ASSERT_EQ(sizeof(self->chunk), rds_send(self->fd, &self->to, self->chunk, sizeof(self->chunk),
						MSG_DONTWAIT));
	ASSERT_EQ(-EAGAIN, rds_send(self->fd, &self->to, "x", 1, MSG_DONTWAIT));
	uring_open(_metadata, &self->r);
}

FIXTURE_TEARDOWN(waiting)
{
	close(self->r.fd);
	close(self->fd);
}

TEST_F_TIMEOUT(uring, abi1_better_send, RDS_SLOW_TEST)
{
	char buf[64] = "";

	ASSERT_EQ(5, uring_run(&self->r, IORING_OP_SEND, self->p.tx, "hello", 5, 0));
	ASSERT_EQ(5, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	EXPECT_STREQ("hello", buf);
	/* an error is the call's error */
	EXPECT_EQ(-EOPNOTSUPP, uring_run(&self->r, IORING_OP_SEND, self->p.tx, "x", 1, MSG_OOB));
	EXPECT_EQ(-ENOTCONN, uring_run(&self->r, IORING_OP_SEND, self->p.rx, "x", 1, 0));
}

TEST_F_TIMEOUT(uring, abi1_better_sendmsg_with_control, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, 100);
	struct rds_iovec iov = { (uintptr_t)"by rdma", 7 };
	rds_rdma_cookie_t cookie;
	struct rds_msg_out m;
	char buf[64] = "";

	ASSERT_EQ(0, get_mr(self->p.rx, remote, 100, RDS_RDMA_READWRITE, &cookie));
	msg_init(&m, &self->p.rx_addr, "with", 4);
	msg_rdma(&m, cookie, 0, 7, &iov, 1, RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, 3);
	ASSERT_EQ(4, uring_run(&self->r, IORING_OP_SENDMSG, self->p.tx, &m.hdr, 1, 0));
	ASSERT_EQ(4, rds_recv_wait(self->p.rx, buf, sizeof(buf), NULL));
	EXPECT_STREQ("by rdma", remote);
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_status(self->p.tx, NULL));
}

/* There is no room, and the call is made again when there is: with all of its payload. */
TEST_F_TIMEOUT(waiting, abi1_better_send_waits, RDS_SLOW_TEST)
{
	struct iovec iov = { self->chunk, 64 };
	struct msghdr hdr = {
		.msg_name = &self->to, .msg_namelen = addr_len(&self->to), .msg_iov = &iov, .msg_iovlen = 1,
	};
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_SENDMSG, .fd = self->fd, .addr = (uintptr_t)&hdr, .len = 1,
	};
	struct rds6_info_message *m;
	unsigned int queued = 0;
	uint64_t id = 0;

	ASSERT_EQ(1, uring_submit(&self->r, &sqe, 5));
	ASSERT_EQ(0, set_opt(self->fd, RDS_CANCEL_SENT_TO, &self->to, addr_len(&self->to)));
	EXPECT_EQ(64, uring_wait(&self->r, &id));
	EXPECT_EQ(5, id);
	ASSERT_LE(0, list_read(self->fd, RDS6_INFO_SEND_MESSAGES, &self->l));
	for_each_record(m, self->l) {
		if (m->lport != self->a.in.sin_port || !is_addr(m->laddr, &self->a))
			continue;
		EXPECT_EQ(64, m->len);
		queued++;
	}
	EXPECT_EQ(1, queued);
}

/* The receive comes first, and waits. */
TEST_F_TIMEOUT(uring, abi1_better_receive_waits, RDS_SLOW_TEST)
{
	char buf[64] = "";
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_RECV, .fd = self->p.rx, .addr = (uintptr_t)buf,
		.len = sizeof(buf),
	};
	uint64_t id = 0;

	ASSERT_EQ(1, uring_submit(&self->r, &sqe, 7));
	ASSERT_EQ(4, rds_send(self->p.tx, NULL, "late", 4, 0));
	EXPECT_EQ(4, uring_wait(&self->r, &id));
	EXPECT_EQ(7, id);
	EXPECT_STREQ("late", buf);
}

TEST_F_TIMEOUT(uring, abi1_better_recvmsg_names_the_sender, RDS_SLOW_TEST)
{
	union rds_addr from;
	char buf[64] = "";
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov,
			      .msg_iovlen = 1 };

	ASSERT_EQ(3, rds_send(self->p.tx, NULL, "who", 3, 0));
	ASSERT_EQ(3, uring_run(&self->r, IORING_OP_RECVMSG, self->p.rx, &msg, 1, 0));
	EXPECT_TRUE(addr_equal(&self->p.tx_addr, &from));
	EXPECT_STREQ("who", buf);
}

TEST_HARNESS_MAIN
