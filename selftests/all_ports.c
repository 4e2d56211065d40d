// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi sections 3 and 16: as many sockets as may be bound, and all ports of an address; see vm/all-ports.sh. */
#include "sysctl.h"

#define BOUND_BY_DEFAULT	32768
#define FIRST_PORT		2
#define PORTS			(65536 - FIRST_PORT)
#define SPARSE			1024	/* every so many ports one is left for the kernel to find */

static int fds[PORTS];
static int nr_bound;
static bool used[65536];

/* Bind one more socket; port 0 is for the kernel to choose. */
static int bind_one(struct __test_metadata *_metadata, unsigned int port)
{
	union rds_addr a = addr_make("127.0.0.1", port);
	socklen_t len = sizeof(a);
	int err, fd = rds_socket();

	ASSERT_GE(fd, 0);
	err = rds_bind(fd, &a);
	if (err) {
		close(fd);
		return err;
	}
	ASSERT_EQ(0, getsockname(fd, &a.sa, &len));
	ASSERT_GE(addr_port(&a), FIRST_PORT);
	ASSERT_FALSE(used[addr_port(&a)]);
	used[addr_port(&a)] = true;
	fds[nr_bound++] = fd;
	return 0;
}

/* The kernel's search gets long when few ports are left: most of them are asked for by number. */
static void bind_the_rest(struct __test_metadata *_metadata)
{
	unsigned int port;

	for (port = FIRST_PORT; port < 65536; port++)
		if (!used[port] && port % SPARSE)
			ASSERT_EQ(0, bind_one(_metadata, port));
	ASSERT_LT(nr_bound, PORTS - 1);
	while (nr_bound < PORTS)
		ASSERT_EQ(0, bind_one(_metadata, 0));
}

TEST(abi3_abi16_all_ports_taken)
{
	union rds_addr any = addr_make("127.0.0.1", 0), other = addr_make("127.0.0.2", 0), a, got;
	struct rlimit files = { PORTS + 100, PORTS + 100 };
	socklen_t len = sizeof(a);
	int fd, err;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	while (nr_bound < PORTS && !(err = bind_one(_metadata, 0)))
		;
	EXPECT_EQ(-ENOMEM, err);
	ASSERT_EQ(BOUND_BY_DEFAULT, nr_bound);
	ASSERT_EQ(0, sysctl_set("max_sockets", PORTS + 10));
	bind_the_rest(_metadata);

	fd = rds_socket();
	EXPECT_EQ(-EADDRINUSE, rds_bind(fd, &any));
	/* the one that becomes free is found */
	ASSERT_EQ(0, getsockname(fds[PORTS / 3], &a.sa, &len));
	close(fds[PORTS / 3]);
	EXPECT_EQ(0, rds_bind(fd, &any));
	len = sizeof(got);
	ASSERT_EQ(0, getsockname(fd, &got.sa, &len));
	EXPECT_TRUE(addr_equal(&a, &got));
	/* ports are an address's own */
	close(fds[PORTS / 2]);
	fds[PORTS / 2] = rds_socket();
	EXPECT_EQ(0, rds_bind(fds[PORTS / 2], &other));
}

TEST_HARNESS_MAIN
