// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDS_INFO_COUNTERS: the info protocol (abi section 12, D28) and the counters (D29, D72). */
#include <limits.h>
#include "rds_test.h"

#define ITEM	sizeof(struct rds_info_counter)

static int info(int fd, void *buf, int *len)
{
	int n = getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, buf, (socklen_t *)len);

	return n < 0 ? -errno : n;
}

FIXTURE(info) {
	int	fd;
	int	total;	/* bytes of the whole list */
	char	*buf;	/* the list fits exactly before an unmapped page */
};

FIXTURE_SETUP(info)
{
	size_t room;

	self->fd = rds_socket();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(-ENOSPC, info(self->fd, NULL, &self->total));
	ASSERT_GT(self->total, 0);
	room = (self->total + page_size() - 1) / page_size() * page_size();
	self->buf = (char *)map_guarded(_metadata, self->total) + room - self->total;
}

FIXTURE_TEARDOWN(info)
{
	close(self->fd);
}

TEST_F(info, abi12_protocol)
{
	int len = self->total;

	EXPECT_EQ(0, self->total % ITEM);
	EXPECT_EQ(ITEM, info(self->fd, self->buf, &len));
	EXPECT_EQ(self->total, len);
	len = self->total - 1;
	EXPECT_EQ(-ENOSPC, info(self->fd, self->buf, &len));
	EXPECT_EQ(self->total, len);
	len = ITEM - 1;
	EXPECT_EQ(-ENOSPC, info(self->fd, self->buf, &len));
	EXPECT_EQ(self->total, len);
	len = 1;
	EXPECT_EQ(-ENOSPC, info(self->fd, self->buf, &len));
	EXPECT_EQ(self->total, len);
}

TEST_F(info, abi12_longer_buffer)
{
	char *buf = map_guarded(_metadata, self->total + 10000);
	int len = self->total + 10000;

	memset(buf, 0x5a, self->total + 10000);
	EXPECT_EQ(ITEM, info(self->fd, buf, &len));
	EXPECT_EQ(self->total, len);
	EXPECT_TRUE(all_bytes(buf + self->total, 10000, 0x5a));
}

TEST_F(info, D28_lengths)
{
	int len = -1;

	EXPECT_EQ(-EINVAL, info(self->fd, self->buf, &len));
	len = INT_MIN;
	EXPECT_EQ(-EINVAL, info(self->fd, self->buf, &len));
	len = INT_MAX;
	EXPECT_EQ(-EINVAL, info(self->fd, self->buf, &len));
}

TEST_F(info, D28_pointers)
{
	char *ro = map_guarded(_metadata, self->total);
	int len = self->total;

	EXPECT_EQ(-EFAULT, info(self->fd, unmapped_page(_metadata), &len));
	len = self->total;
	EXPECT_EQ(-EFAULT, info(self->fd, self->buf + 1, &len));
	len = self->total;
	ASSERT_EQ(0, mprotect(ro, self->total, PROT_READ));
	EXPECT_EQ(-EFAULT, info(self->fd, ro, &len));
	EXPECT_TRUE(all_bytes(ro, self->total, 0));
	len = self->total;
	EXPECT_EQ(-EFAULT, info(self->fd, (void *)KERNEL_ADDR, &len));
	len = self->total;
	/* wraps around the end of the address space */
	EXPECT_EQ(-EINVAL, info(self->fd, (void *)(UINTPTR_MAX - 100), &len));
	EXPECT_EQ(-EFAULT, info(self->fd, self->buf, unmapped_page(_metadata)));
}

TEST_F(info, D29_into_a_shared_file)
{
	char *map, *back = map_guarded(_metadata, self->total);
	int len = self->total, fd = memfd_create("info", 0);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, len));
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)map);
	ASSERT_EQ(ITEM, info(self->fd, map, &len));
	ASSERT_EQ(len, pread(fd, back, len, 0));
	EXPECT_EQ(0, memcmp(map, back, len));
}

TEST_F(info, D70_absent_lists)
{
	static const int absent[] = { 10002, 10009, 10010, RDS_INFO_LAST + 1 };
	socklen_t len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(absent); i++) {
		len = self->total;
		EXPECT_EQ(-1, getsockopt(self->fd, SOL_RDS, absent[i], self->buf, &len));
		EXPECT_EQ(ENOPROTOOPT, errno);
	}
}

/* --- names --- */

/* Mainline's */
static const char *const known_names[] = {
	"conn_reset", "recv_drop_bad_checksum", "recv_drop_old_seq", "recv_drop_no_sock",
	"recv_drop_dead_sock", "recv_deliver_raced", "recv_delivered", "recv_queued",
	"recv_immediate_retry", "recv_delayed_retry", "recv_ack_required", "recv_rdma_bytes",
	"recv_ping", "send_queue_empty", "send_queue_full", "send_lock_contention",
	"send_lock_queue_raced", "send_immediate_retry", "send_delayed_retry", "send_drop_acked",
	"send_ack_required", "send_queued", "send_rdma", "send_rdma_bytes", "send_pong",
	"page_remainder_hit", "page_remainder_miss", "copy_to_user", "copy_from_user",
	"cong_update_queued", "cong_update_received", "cong_send_error", "cong_send_blocked",
	"recv_bytes_added_to_sock", "recv_bytes_freed_fromsock", "send_stuck_rm",
	/* and those of its RDMA module */
	"ib_connect_raced", "ib_listen_closed_stale", "ib_evt_handler_call", "ib_tasklet_call",
	"ib_tx_cq_event", "ib_tx_ring_full", "ib_tx_throttle", "ib_tx_sg_mapping_failure",
	"ib_tx_stalled", "ib_tx_credit_updates", "ib_rx_cq_event", "ib_rx_ring_empty",
	"ib_rx_refill_from_cq", "ib_rx_refill_from_thread", "ib_rx_alloc_limit",
	"ib_rx_total_frags", "ib_rx_total_incs", "ib_rx_credit_updates", "ib_ack_sent",
	"ib_ack_send_failure", "ib_ack_send_delayed", "ib_ack_send_piggybacked",
	"ib_ack_received", "ib_rdma_mr_8k_alloc", "ib_rdma_mr_8k_free", "ib_rdma_mr_8k_used",
	"ib_rdma_mr_8k_pool_flush", "ib_rdma_mr_8k_pool_wait", "ib_rdma_mr_8k_pool_depleted",
	"ib_rdma_mr_1m_alloc", "ib_rdma_mr_1m_free", "ib_rdma_mr_1m_used",
	"ib_rdma_mr_1m_pool_flush", "ib_rdma_mr_1m_pool_wait", "ib_rdma_mr_1m_pool_depleted",
	"ib_rdma_mr_8k_reused", "ib_rdma_mr_1m_reused", "ib_atomic_cswp", "ib_atomic_fadd",
};

TEST_F(info, abi12_D72_known_names_in_order)
{
	struct rds_info_counter table[RDS_MAX_COUNTERS];
	unsigned int i, n = counters_read(self->fd, table);

	ASSERT_GE(n, ARRAY_SIZE(known_names));
	for (i = 0; i < ARRAY_SIZE(known_names); i++) {
		EXPECT_STREQ(known_names[i], (char *)table[i].name);
	}
}

TEST_F(info, D72_names_are_unique_and_terminated)
{
	struct rds_info_counter table[RDS_MAX_COUNTERS];
	int i, j, n = counters_read(self->fd, table);
	size_t len;

	ASSERT_GT(n, 0);
	for (i = 0; i < n; i++) {
		len = strnlen((char *)table[i].name, sizeof(table[i].name));
		ASSERT_GT(len, 0);
		ASSERT_LT(len, sizeof(table[i].name));
		/* no stale bytes behind the name */
		EXPECT_TRUE(all_bytes(table[i].name + len, sizeof(table[i].name) - len, 0));
		EXPECT_EQ(0, strncmp((char *)table[i].name, "s_", 2) == 0);
		for (j = 0; j < i; j++) {
			EXPECT_STRNE((char *)table[i].name, (char *)table[j].name);
		}
	}
}

TEST_F(info, rdma_copied_bytes_exists)
{
	EXPECT_NE(UINT64_MAX, counter(self->fd, "rdma_copied_bytes"));
}

/* --- D72: the counter that moved is the one that is named --- */

/* All tables are read in a namespace where nobody else works: see the setup. */
FIXTURE(events) {
	struct rds_pair		p;
	struct rds_info_counter	before[RDS_MAX_COUNTERS];
	int			nr;
	char			*remote;
	rds_rdma_cookie_t	cookie;
};
RDS_BED_VARIANTS(events);

FIXTURE_SETUP(events)
{
	char c;

	/* the device belongs to the first namespace */
	if (!bed_is_rxe(variant->bed)) {
		ASSERT_EQ(0, unshare(CLONE_NEWNET));
	}
	pair_open(_metadata, &self->p, variant->bed);
	self->remote = map_guarded(_metadata, page_size());
	ASSERT_EQ(0, get_mr(self->p.rx, self->remote, page_size(), RDS_RDMA_READWRITE,
			    &self->cookie));
	/* the connection is up, both ways */
	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	ASSERT_EQ(1, rds_send(self->p.rx, &self->p.tx_addr, "x", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.tx, &c, 1, NULL));
	self->nr = counters_read(self->p.tx, self->before);
	ASSERT_GT(self->nr, 0);
}

FIXTURE_TEARDOWN(events)
{
	pair_close(&self->p);
}

static int64_t moved(FIXTURE_DATA(events) *self, const char *name)
{
	uint64_t now = counter(self->p.tx, name);
	int i;

	for (i = 0; i < self->nr; i++)
		if (!strcmp((char *)self->before[i].name, name))
			return now - self->before[i].value;
	return INT64_MIN;
}

TEST_F(events, D72_message)
{
	char buf[5000];

	ASSERT_EQ(5000, rds_send(self->p.tx, &self->p.rx_addr, buf, 5000, 0));
	ASSERT_EQ(5000, rds_recv_wait(self->p.rx, buf, 5000, NULL));
	EXPECT_EQ(1, moved(self, "send_queued"));
	EXPECT_EQ(1, moved(self, "recv_queued"));
	EXPECT_EQ(1, moved(self, "recv_delivered"));
	EXPECT_EQ(5000, moved(self, "copy_from_user"));
	EXPECT_EQ(5000, moved(self, "copy_to_user"));
	EXPECT_EQ(5000, moved(self, "recv_bytes_added_to_sock"));
	EXPECT_EQ(5000, moved(self, "recv_bytes_freed_fromsock"));
	EXPECT_EQ(0, moved(self, "send_rdma"));
	EXPECT_EQ(0, moved(self, "recv_drop_no_sock"));
}

TEST_F(events, D72_no_socket)
{
	union rds_addr nobody = addr_with_port(&self->p.rx_addr, 1);
	int64_t end = now_ms() + RDS_WAIT_MS;

	ASSERT_EQ(1, rds_send(self->p.tx, &nobody, "x", 1, 0));
	while (moved(self, "recv_drop_no_sock") == 0 && now_ms() < end)
		nap();
	EXPECT_EQ(1, moved(self, "recv_drop_no_sock"));
	EXPECT_EQ(0, moved(self, "recv_queued"));
}

TEST_F(events, D72_ping)
{
	union rds_addr ping = addr_with_port(&self->p.rx_addr, 0);
	char c;

	ASSERT_EQ(0, rds_send(self->p.tx, &ping, NULL, 0, 0));
	ASSERT_EQ(0, rds_recv_wait(self->p.tx, &c, 1, NULL));
	EXPECT_EQ(1, moved(self, "recv_ping"));
	EXPECT_EQ(1, moved(self, "send_pong"));
}

TEST_F(events, rdma_bytes_copied_only_without_device)
{
	char local[3000] = "";

	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0, local,
					     3000, RDS_RDMA_READWRITE));
	EXPECT_EQ(1, moved(self, "send_rdma"));
	EXPECT_EQ(3000, moved(self, "send_rdma_bytes"));
	EXPECT_EQ(bed_is_rxe(variant->bed) ? 0 : 3000, moved(self, "rdma_copied_bytes"));
	/* payload of the operation is never copied to or from user memory */
	EXPECT_EQ(0, moved(self, "copy_from_user"));
	EXPECT_EQ(0, moved(self, "copy_to_user"));
}

/* Those that count what there is not here, as Documentation/socket-api.md says. */
static const char *const no_counterpart[] = {
	"recv_deliver_raced", "recv_immediate_retry", "recv_delayed_retry", "send_stuck_rm",
	"recv_rdma_bytes", "page_remainder_hit", "page_remainder_miss", "ib_evt_handler_call",
	"ib_tasklet_call", "ib_tx_throttle", "ib_tx_credit_updates", "ib_rx_credit_updates",
	"ib_rx_ring_empty", "ib_rdma_mr_8k_pool_flush", "ib_rdma_mr_8k_pool_wait",
	"ib_rdma_mr_8k_pool_depleted", "ib_rdma_mr_8k_reused", "ib_rdma_mr_1m_pool_flush",
	"ib_rdma_mr_1m_pool_wait", "ib_rdma_mr_1m_pool_depleted", "ib_rdma_mr_1m_reused",
};

/* Many messages that fill pages, one each way at a time. */
static void to_and_fro(struct __test_metadata *_metadata, FIXTURE_DATA(events) *self, int rounds)
{
	static char buf[5000];

	while (rounds--) {
		ASSERT_EQ(5000, rds_send(self->p.tx, &self->p.rx_addr, buf, 5000, 0));
		ASSERT_EQ(5000, rds_recv_wait(self->p.rx, buf, 5000, NULL));
		ASSERT_EQ(5000, rds_send(self->p.rx, &self->p.tx_addr, buf, 5000, 0));
		ASSERT_EQ(5000, rds_recv_wait(self->p.tx, buf, 5000, NULL));
	}
}

/* What is counted behind a message's back comes a little later. */
static int64_t moved_so_far(FIXTURE_DATA(events) *self, const char *name, int64_t least)
{
	int64_t end = now_ms() + RDS_WAIT_MS;

	while (moved(self, name) < least && now_ms() < end)
		nap();
	return moved(self, name);
}

TEST_F(events, abi12_without_counterpart_stay_0)
{
	char local[3000] = "";
	unsigned int i;

	to_and_fro(_metadata, self, 3);
	ASSERT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, self->cookie, 0, local,
					     3000, RDS_RDMA_READWRITE));
	ASSERT_EQ(0, free_mr(self->p.rx, self->cookie));
	for (i = 0; i < ARRAY_SIZE(no_counterpart); i++) {
		EXPECT_EQ(0, counter(self->p.tx, no_counterpart[i])) {
			TH_LOG("%s", no_counterpart[i]);
		}
	}
}

TEST_F(events, abi12_completions_and_buffers)
{
	static const struct {
		const char	*name;
		int		least;	/* on a device */
	} rows[] = {
		{ "ib_tx_cq_event", 20 }, { "ib_rx_cq_event", 40 }, { "ib_rx_total_incs", 20 },
		{ "ib_rx_total_frags", 40 }, { "ib_rx_refill_from_cq", 1 },
	};
	unsigned int i;

	to_and_fro(_metadata, self, 10);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (bed_is_rxe(variant->bed)) {
			EXPECT_LE(rows[i].least, moved_so_far(self, rows[i].name, rows[i].least)) {
				TH_LOG("%s", rows[i].name);
			}
		} else {
			EXPECT_EQ(0, moved(self, rows[i].name));
		}
	}
	EXPECT_LE(20, moved_so_far(self, "send_queue_empty", 20));
}

TEST_F(events, abi12_regions)
{
	bool rxe = bed_is_rxe(variant->bed);
	char *large = map_guarded(_metadata, 100 * page_size());
	rds_rdma_cookie_t cookie[3];
	int i;

	ASSERT_EQ(0, get_mr(self->p.tx, large, 10, 0, &cookie[0]));
	ASSERT_EQ(0, get_mr(self->p.tx, large, 100 * page_size(), 0, &cookie[1]));
	ASSERT_EQ(0, get_mr(self->p.tx, large, 50 * page_size(), 0, &cookie[2]));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, free_mr(self->p.tx, cookie[i]));
	EXPECT_EQ(rxe ? 1 : 0, moved(self, "ib_rdma_mr_8k_alloc"));
	EXPECT_EQ(rxe ? 1 : 0, moved(self, "ib_rdma_mr_8k_used"));
	EXPECT_EQ(rxe ? 1 : 0, moved(self, "ib_rdma_mr_8k_free"));
	EXPECT_EQ(rxe ? 2 : 0, moved(self, "ib_rdma_mr_1m_alloc"));
	EXPECT_EQ(rxe ? 2 : 0, moved(self, "ib_rdma_mr_1m_used"));
	EXPECT_EQ(rxe ? 2 : 0, moved(self, "ib_rdma_mr_1m_free"));
}

TEST_F_TIMEOUT(events, D72_congestion, RDS_SLOW_TEST)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	char buf[512] = "";
	ssize_t n;
	int i = 0;

	set_int(_metadata, self->p.rx, SOL_SOCKET, SO_RCVBUF, 4096);
	do {
		n = rds_send(self->p.tx, &self->p.rx_addr, buf, sizeof(buf), MSG_DONTWAIT);
		if (n == -EAGAIN)
			ready(self->p.tx, POLLOUT, 1000);
	} while ((n > 0 || n == -EAGAIN) && now_ms() < end && i++ < 20000);
	ASSERT_EQ(-ENOBUFS, n);
	EXPECT_EQ(1, moved(self, "cong_send_error"));
	EXPECT_EQ(0, moved(self, "cong_send_blocked"));
}

TEST_HARNESS_MAIN
