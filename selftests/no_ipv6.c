// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* D04: a kernel that has IPv6 built in and was booted with ipv6.disable=1; see vm/no-ipv6.sh. */
#include "rds_test.h"

static const char *const in6_addrs[] = {
	"::1", "fd09:1::1", "fd09:1::2", "2001:db8::1", "fe80::1", "fe80::ffff",
};

TEST(D04_ipv6_is_off)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	ASSERT_EQ(-1, fd) {
		TH_LOG("boot with ipv6.disable=1");
	}
	EXPECT_EQ(EAFNOSUPPORT, errno);
}

TEST(D04_bind)
{
	unsigned int i, scope, port;
	union rds_addr a;
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	for (i = 0; i < ARRAY_SIZE(in6_addrs); i++) {
		for (scope = 1; scope <= 2; scope++) {
			for (port = 0; port <= 4000; port += 4000) {
				a = addr_make(in6_addrs[i], port);
				a.in6.sin6_scope_id = scope;
				EXPECT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &a)) {
					TH_LOG("%s%%%u port %u", in6_addrs[i], scope, port);
				}
			}
		}
	}
	/* nor does a transport that was asked for look */
	set_int(_metadata, fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB);
	for (i = 0; i < ARRAY_SIZE(in6_addrs); i++) {
		a = addr_make(in6_addrs[i], 0);
		a.in6.sin6_scope_id = 1;
		EXPECT_EQ(-ENOPROTOOPT, rds_bind(fd, &a)) {
			TH_LOG("%s", in6_addrs[i]);
		}
	}
	close(fd);
	fd = rds_socket();
	ASSERT_GE(fd, 0);
	/* refused is as it was */
	a = addr_make("127.0.0.1", 0);
	EXPECT_EQ(0, rds_bind(fd, &a));
	close(fd);
}

/* Calls that take an address without looking for its device. */
TEST(D04_other_calls)
{
	union rds_addr a = addr_make("127.0.0.1", 0), to;
	int bound = open_bound(_metadata, &a), fd = rds_socket();
	unsigned int i;

	ASSERT_GE(fd, 0);
	for (i = 0; i < ARRAY_SIZE(in6_addrs); i++) {
		to = addr_make(in6_addrs[i], 4000);
		to.in6.sin6_scope_id = 1;
		EXPECT_EQ(-ENOTCONN, rds_send(fd, &to, "x", 1, 0));
		EXPECT_EQ(-EOPNOTSUPP, rds_send(bound, &to, "x", 1, 0));
		EXPECT_EQ(0, set_opt(bound, RDS_CANCEL_SENT_TO, &to, sizeof(to.in6)));
		EXPECT_EQ(0, rds_connect(fd, &to));
		EXPECT_EQ(-ENOTCONN, rds_send(fd, NULL, "x", 1, 0));
	}
	close(fd);
	close(bound);
}

FIXTURE(v4) {
	struct rds_pair p;
};
FIXTURE_VARIANT(v4) { enum rds_bed bed; bool mapped; };
FIXTURE_VARIANT_ADD(v4, loop4) { BED_LOOP4, false };
FIXTURE_VARIANT_ADD(v4, loop4_mapped) { BED_LOOP4, true };
FIXTURE_VARIANT_ADD(v4, rxe) { BED_RXE, false };
FIXTURE_VARIANT_ADD(v4, rxe_mapped) { BED_RXE, true };

/* The IPv6 form of an IPv4 address needs no IPv6. */
static union rds_addr mapped_form(const union rds_addr *a)
{
	union rds_addr in6 = { .in6 = { .sin6_family = AF_INET6, .sin6_port = a->in.sin_port } };

	in6.in6.sin6_addr.s6_addr[10] = in6.in6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&in6.in6.sin6_addr.s6_addr[12], &a->in.sin_addr, 4);
	return in6;
}

FIXTURE_SETUP(v4)
{
	struct rds_pair *p = &self->p;

	bed_need(_metadata, variant->bed, &p->tx_addr, &p->rx_addr);
	if (variant->mapped) {
		p->tx_addr = mapped_form(&p->tx_addr);
		p->rx_addr = mapped_form(&p->rx_addr);
	}
	p->tx = open_bound(_metadata, &p->tx_addr);
	p->rx = open_bound(_metadata, &p->rx_addr);
}

FIXTURE_TEARDOWN(v4)
{
	pair_close(&self->p);
}

TEST_F_TIMEOUT(v4, D04_ipv4_goes_on, RDS_SLOW_TEST)
{
	char *remote = map_guarded(_metadata, page_size()), c = 0;
	rds_rdma_cookie_t cookie;

	ASSERT_EQ(1, rds_send(self->p.tx, &self->p.rx_addr, "m", 1, 0));
	ASSERT_EQ(1, rds_recv_wait(self->p.rx, &c, 1, NULL));
	EXPECT_EQ('m', c);
	ASSERT_EQ(0, get_mr(self->p.rx, remote, 100, RDS_RDMA_READWRITE, &cookie));
	EXPECT_EQ(RDS_RDMA_SUCCESS, rdma_run(self->p.tx, &self->p.rx_addr, cookie, 7, "w", 1,
					     RDS_RDMA_READWRITE));
	EXPECT_EQ('w', remote[7]);
}

TEST_HARNESS_MAIN
