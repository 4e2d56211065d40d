// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 3: bind(), row by row. */
#include <sys/un.h>
#include "rds_test.h"

#define TEST_PORT	40404

/* --- one bind() of a fresh socket per row --- */

FIXTURE(row) {
	int fd;
};
FIXTURE_VARIANT(row) {
	const char	*addr;
	int		port;
	int		len;		/* 0: the natural one */
	int		family;		/* 0: that of @addr */
	int		error;
};

FIXTURE_VARIANT_ADD(row, loop4) { "127.0.0.1", TEST_PORT };
FIXTURE_VARIANT_ADD(row, loop4_not_configured) { "127.200.3.4", TEST_PORT };
FIXTURE_VARIANT_ADD(row, loop4_last) { "127.255.255.254", TEST_PORT };
FIXTURE_VARIANT_ADD(row, loop6) { "::1", TEST_PORT };
FIXTURE_VARIANT_ADD(row, loop4_mapped) { "::ffff:127.0.0.1", TEST_PORT };
FIXTURE_VARIANT_ADD(row, long_in) { "127.0.0.1", TEST_PORT, .len = 128 };
FIXTURE_VARIANT_ADD(row, long_in6) { "::1", TEST_PORT, .len = 128 };
FIXTURE_VARIANT_ADD(row, port_2) { "127.0.0.1", 2 };
FIXTURE_VARIANT_ADD(row, port_65535) { "127.0.0.1", 65535 };
FIXTURE_VARIANT_ADD(row, port_1) { "127.0.0.1", 1, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, port_1_in6) { "::1", 1, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_1) { "127.0.0.1", TEST_PORT, .len = 1, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_2) { "127.0.0.1", TEST_PORT, .len = 2, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_15) { "127.0.0.1", TEST_PORT, .len = 15, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_16_in6) { "::1", TEST_PORT, .len = 16, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, len_27_in6) { "::1", TEST_PORT, .len = 27, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, af_unspec) { "127.0.0.1", TEST_PORT, .family = -1, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, af_unix) { "127.0.0.1", TEST_PORT, .family = AF_UNIX, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, af_rds) { "127.0.0.1", TEST_PORT, .family = AF_RDS, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, any) { "0.0.0.0", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, broadcast) { "255.255.255.255", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, multicast) { "224.0.0.1", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, multicast_last) { "239.255.255.255", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, any6) { "::", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, multicast6) { "ff02::1", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, mapped_any) { "::ffff:0.0.0.0", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, mapped_broadcast) { "::ffff:255.255.255.255", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, mapped_multicast) { "::ffff:224.0.0.1", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, link_local_no_scope) { "fe80::1", TEST_PORT, .error = EINVAL };
FIXTURE_VARIANT_ADD(row, foreign) { "192.0.2.1", TEST_PORT, .error = EADDRNOTAVAIL };
FIXTURE_VARIANT_ADD(row, foreign_mapped) { "::ffff:192.0.2.1", TEST_PORT, .error = EADDRNOTAVAIL };
FIXTURE_VARIANT_ADD(row, foreign6) { "2001:db8::1", TEST_PORT, .error = EADDRNOTAVAIL };
/* the transport is chosen before the port is looked at */
FIXTURE_VARIANT_ADD(row, foreign_port_1) { "192.0.2.1", 1, .error = EADDRNOTAVAIL };

FIXTURE_SETUP(row)
{
	self->fd = rds_socket();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(row)
{
	close(self->fd);
}

TEST_F(row, abi2_abi3_bind)
{
	union rds_addr a = addr_make(variant->addr, variant->port), want, got;
	socklen_t len = sizeof(got);
	int err;

	want = a;
	if (!strncmp(variant->addr, "::ffff:", 7))
		want = addr_make(variant->addr + 7, variant->port);
	len = variant->len ?: addr_len(&a);
	if (variant->family)
		a.sa.sa_family = variant->family < 0 ? AF_UNSPEC : variant->family;
	err = bind(self->fd, &a.sa, len) ? errno : 0;
	EXPECT_EQ(variant->error, err);

	len = sizeof(got);
	ASSERT_EQ(0, getsockname(self->fd, &got.sa, &len));
	if (variant->error) {
		EXPECT_EQ(AF_UNSPEC, got.sa.sa_family);
		/* a refused bind leaves the socket as it was: it can still be bound */
		a = addr_make("127.0.0.1", 0);
		EXPECT_EQ(0, rds_bind(self->fd, &a));
	} else {
		EXPECT_TRUE(addr_equal(&want, &got));
		EXPECT_EQ(addr_len(&want), len);
	}
}

TEST(abi3_bind_bad_pointer)
{
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-1, bind(fd, unmapped_page(_metadata), sizeof(struct sockaddr_in)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, bind(fd, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
}

/* --- what depends on other sockets, per address family --- */

FIXTURE(table) {
	union rds_addr	a;
	int		fd;
};
RDS_BED_VARIANTS(table);

FIXTURE_SETUP(table)
{
	union rds_addr other;

	bed_need(_metadata, variant->bed, &self->a, &other);
	self->fd = open_bound(_metadata, &self->a);
}

FIXTURE_TEARDOWN(table)
{
	close(self->fd);
}

TEST_F(table, abi3_port_0_is_replaced)
{
	union rds_addr b = addr_with_port(&self->a, 0);
	int fd = open_bound(_metadata, &b);

	EXPECT_GE(addr_port(&self->a), 2);
	EXPECT_GE(addr_port(&b), 2);
	EXPECT_NE(addr_port(&self->a), addr_port(&b));
	close(fd);
}

static int bind_as_nobody(void *arg)
{
	int fd = rds_socket();

	if (fd < 0 || become_nobody(0))
		return 254;
	return -rds_bind(fd, arg);
}

TEST_F(table, abi3_no_privileged_ports)
{
	union rds_addr a = addr_with_port(&self->a, 80);

	EXPECT_EQ(0, in_child(bind_as_nobody, &a));
}

TEST_F(table, abi3_no_rebinding)
{
	union rds_addr b = addr_with_port(&self->a, 0);

	EXPECT_EQ(-EINVAL, rds_bind(self->fd, &self->a));
	EXPECT_EQ(-EINVAL, rds_bind(self->fd, &b));
}

TEST_F(table, abi3_abi15_address_in_use)
{
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	set_int(_metadata, fd, SOL_SOCKET, SO_REUSEADDR, 1);
	EXPECT_EQ(-EADDRINUSE, rds_bind(fd, &self->a));
	close(self->fd);
	/* free again as soon as close() returns */
	EXPECT_EQ(0, rds_bind(fd, &self->a));
	self->fd = fd;
}

TEST_F(table, abi3_same_port_other_address)
{
	union rds_addr b = addr_make(variant->bed == BED_LOOP4 ? "127.0.0.2" : "127.0.0.1",
				     addr_port(&self->a));
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, rds_bind(fd, &b));
	close(fd);
}

TEST_F(table, abi2_abi3_mapped_is_the_same_address)
{
	char text[64], mapped[80];
	union rds_addr b;
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	if (self->a.sa.sa_family != AF_INET) {
		/* nothing maps to an IPv6 address: its IPv4 namesake stays free */
		b = addr_make("::ffff:127.0.0.1", addr_port(&self->a));
		EXPECT_EQ(0, rds_bind(fd, &b));
		return;
	}
	inet_ntop(AF_INET, &self->a.in.sin_addr, text, sizeof(text));
	snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	b = addr_make(mapped, addr_port(&self->a));
	ASSERT_EQ(AF_INET6, b.sa.sa_family);
	EXPECT_EQ(-EADDRINUSE, rds_bind(fd, &b));
	close(fd);
}

#define RACERS	4
#define ROUNDS	60

struct racer {
	pthread_barrier_t	*start;
	union rds_addr		addr;
	int			fd;
	int			result;
};

static void *race_bind(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->start);
	r->result = rds_bind(r->fd, &r->addr);
	return NULL;
}

TEST_F_TIMEOUT(table, abi3_one_of_many_gets_the_port, RDS_SLOW_TEST)
{
	pthread_t thread[RACERS];
	struct racer r[RACERS];
	pthread_barrier_t start;
	int round, i, won;

	close(self->fd);
	pthread_barrier_init(&start, NULL, RACERS);
	for (round = 0; round < rds_rounds(ROUNDS); round++) {
		for (won = i = 0; i < RACERS; i++) {
			r[i] = (struct racer){ &start, self->a, rds_socket(), 1 };
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, race_bind, &r[i]));
		}
		for (i = 0; i < RACERS; i++) {
			pthread_join(thread[i], NULL);
		}
		/* no socket is closed before all have tried */
		for (i = 0; i < RACERS; i++) {
			won += r[i].result == 0;
			if (r[i].result) {
				EXPECT_EQ(-EADDRINUSE, r[i].result);
			}
			close(r[i].fd);
		}
		ASSERT_EQ(1, won);
	}
	self->fd = -1;
}

/* --- D03: a bind that fails holds nothing --- */

static int module_users(void)
{
	FILE *f = fopen("/sys/module/rds_sockets/refcnt", "r");
	int users = -1;

	if (f) {
		if (fscanf(f, "%d", &users) != 1)
			users = -1;
		fclose(f);
	}
	return users;
}

TEST_F(table, D03_failed_binds_hold_nothing)
{
	union rds_addr reserved = addr_with_port(&self->a, 1), foreign = addr_make("192.0.2.1", 0);
	int i, fd = rds_socket(), users = module_users();

	ASSERT_GE(fd, 0);
	ASSERT_GT(users, 0);
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(-EINVAL, rds_bind(fd, &reserved));
		ASSERT_EQ(-EADDRINUSE, rds_bind(fd, &self->a));
		ASSERT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &foreign));
	}
	close(fd);
	/* sockets of earlier tests may have gone meanwhile */
	EXPECT_LE(module_users(), users);
}

/* --- namespaces: better than mainline, whose table is one for all --- */

static int bind_in_new_netns(void *arg)
{
	int fd;

	if (unshare(CLONE_NEWNET))
		return 254;
	fd = rds_socket();
	return fd < 0 ? 253 : -rds_bind(fd, arg);
}

TEST_F(table, abi3_abi16_better_table_per_namespace)
{
	if (bed_is_rxe(variant->bed)) {
		/* not configured there: D61, never half-working */
		EXPECT_EQ(EADDRNOTAVAIL, in_child(bind_in_new_netns, &self->a));
		return;
	}
	EXPECT_EQ(0, in_child(bind_in_new_netns, &self->a));
}

/* --- rxe --- */

FIXTURE(device) {
	union rds_addr	a;
	union rds_addr	b;
};
FIXTURE_VARIANT(device) { enum rds_bed bed; };
FIXTURE_VARIANT_ADD(device, rxe) { BED_RXE };

FIXTURE_SETUP(device)
{
	bed_need(_metadata, variant->bed, &self->a, &self->b);
}

FIXTURE_TEARDOWN(device) {}

TEST_F(device, abi3_D44_last_four_bytes_are_not_the_address)
{
	union rds_addr a = addr_make("2001:db8::", TEST_PORT);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	memcpy(&a.in6.sin6_addr.s6_addr[12], &self->a.in.sin_addr, 4);
	EXPECT_EQ(-EADDRNOTAVAIL, rds_bind(fd, &a));
	memset(&a.in6.sin6_addr.s6_addr[0], 0, 10);
	memset(&a.in6.sin6_addr.s6_addr[10], 0xff, 2);
	EXPECT_EQ(0, rds_bind(fd, &a));
}

TEST_F(device, abi3_port_1)
{
	union rds_addr a = addr_with_port(&self->a, 1);
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EINVAL, rds_bind(fd, &a));
}

TEST_HARNESS_MAIN
