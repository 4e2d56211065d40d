// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* abi section 1 and 10: creating a socket, calls that RDS does not have, calls
 * that mainline refuses for flags of the generic layer, buffer sizes.
 */
#include <sys/uio.h>
#include "rds_test.h"

/* --- creation: one row of abi section 1 each --- */

FIXTURE(create) {};
FIXTURE_VARIANT(create) {
	int	type;
	int	protocol;
	int	error;
};

FIXTURE_VARIANT_ADD(create, seqpacket) { SOCK_SEQPACKET, 0, 0 };
FIXTURE_VARIANT_ADD(create, seqpacket_flags) { SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0 };
FIXTURE_VARIANT_ADD(create, protocol_1) { SOCK_SEQPACKET, 1, ESOCKTNOSUPPORT };
FIXTURE_VARIANT_ADD(create, protocol_max) { SOCK_SEQPACKET, 0x7fffffff, ESOCKTNOSUPPORT };
FIXTURE_VARIANT_ADD(create, stream) { SOCK_STREAM, 0, ESOCKTNOSUPPORT };
FIXTURE_VARIANT_ADD(create, dgram) { SOCK_DGRAM, 0, ESOCKTNOSUPPORT };
FIXTURE_VARIANT_ADD(create, raw) { SOCK_RAW, 0, ESOCKTNOSUPPORT };
FIXTURE_VARIANT_ADD(create, rdm) { SOCK_RDM, 0, ESOCKTNOSUPPORT };

FIXTURE_SETUP(create) {}
FIXTURE_TEARDOWN(create) {}

TEST_F(create, abi1_socket)
{
	int fd = socket(AF_RDS, variant->type, variant->protocol);

	if (variant->error) {
		ASSERT_EQ(-1, fd);
		EXPECT_EQ(variant->error, errno);
		return;
	}
	ASSERT_GE(fd, 0);
	EXPECT_EQ(!!(variant->type & SOCK_NONBLOCK), !!(fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT_EQ(!!(variant->type & SOCK_CLOEXEC), !!(fcntl(fd, F_GETFD) & FD_CLOEXEC));
	EXPECT_EQ(0, close(fd));
}

static int create_as_nobody(void *arg)
{
	bool own_ns = *(bool *)arg;

	if (become_nobody(64 * 1024))
		return 254;
	if (own_ns && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 253;
	return rds_socket() < 0 ? errno : 0;
}

TEST(abi1_abi16_no_capability_needed)
{
	bool own_ns = false;

	EXPECT_EQ(0, in_child(create_as_nobody, &own_ns));
}

TEST(abi1_any_namespace)
{
	bool own_ns = true;

	EXPECT_EQ(0, in_child(create_as_nobody, &own_ns));
}

TEST(abi1_socket_options_name_the_family)
{
	int domain = 0, type = 0, protocol = -1, fd = rds_socket();
	socklen_t len = sizeof(int);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len));
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len));
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len));
	EXPECT_EQ(AF_RDS, domain);
	EXPECT_EQ(SOCK_SEQPACKET, type);
	EXPECT_EQ(0, protocol);
}

/* --- calls that do not exist for RDS --- */

TEST(abi1_unsupported_calls)
{
	int sv[2], fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-1, socketpair(AF_RDS, SOCK_SEQPACKET, 0, sv));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(-1, listen(fd, 1));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(-1, accept(fd, NULL, NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(-1, shutdown(fd, SHUT_RDWR));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(ENODEV, errno);
}

TEST(abi13_ioctl_unknown)
{
	int value = 0, fd = rds_socket();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-1, ioctl(fd, FIONREAD, &value));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(fd, SIOCOUTQ, &value));
	EXPECT_EQ(ENOTTY, errno);
}

TEST(abi11_unknown_options)
{
	int value = 1, fd = rds_socket();
	socklen_t len = sizeof(value);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-ENOPROTOOPT, set_opt(fd, 4, &value, len));
	EXPECT_EQ(-ENOPROTOOPT, set_opt(fd, 9999, &value, len));
	EXPECT_EQ(-ENOPROTOOPT, set_opt(fd, RDS_INFO_COUNTERS, &value, len));
	EXPECT_EQ(-1, setsockopt(fd, IPPROTO_TCP, 1, &value, len));
	EXPECT_EQ(ENOPROTOOPT, errno);
	EXPECT_EQ(-1, getsockopt(fd, SOL_RDS, 4, &value, &len));
	EXPECT_EQ(ENOPROTOOPT, errno);
	EXPECT_EQ(-1, getsockopt(fd, SOL_RDS, RDS_INFO_LAST + 1, &value, &len));
	EXPECT_EQ(ENOPROTOOPT, errno);
	EXPECT_EQ(-1, getsockopt(fd, IPPROTO_TCP, 1, &value, &len));
	EXPECT_EQ(ENOPROTOOPT, errno);
}

TEST(abi11_recverr)
{
	int value = 7, fd = rds_socket();
	socklen_t len = sizeof(value);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, getsockopt(fd, SOL_RDS, RDS_RECVERR, &value, &len));
	EXPECT_EQ(0, value);
	value = 7;
	EXPECT_EQ(0, set_opt(fd, RDS_RECVERR, &value, sizeof(value)));
	EXPECT_EQ(0, getsockopt(fd, SOL_RDS, RDS_RECVERR, &value, &len));
	EXPECT_EQ(1, value);
	EXPECT_EQ(4, len);
	EXPECT_EQ(-EINVAL, set_opt(fd, RDS_RECVERR, &value, 3));
	EXPECT_EQ(-EFAULT, set_opt(fd, RDS_RECVERR, unmapped_page(_metadata), 4));
	len = 3;
	EXPECT_EQ(-1, getsockopt(fd, SOL_RDS, RDS_RECVERR, &value, &len));
	EXPECT_EQ(EINVAL, errno);
}

/* --- buffer sizes, abi section 10 --- */

static int get_int(int fd, int opt)
{
	socklen_t len = sizeof(int);
	int value = -1;

	getsockopt(fd, SOL_SOCKET, opt, &value, &len);
	return value;
}

TEST(abi10_buffer_sizes_read_back_doubled)
{
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	set_int(_metadata, fd, SOL_SOCKET, SO_SNDBUF, 50000);
	set_int(_metadata, fd, SOL_SOCKET, SO_RCVBUF, 60000);
	EXPECT_EQ(100000, get_int(fd, SO_SNDBUF));
	EXPECT_EQ(120000, get_int(fd, SO_RCVBUF));
}

TEST(abi10_options_without_effect_are_accepted)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 5 };
	int fd = rds_socket();

	ASSERT_GE(fd, 0);
	set_int(_metadata, fd, SOL_SOCKET, SO_REUSEADDR, 1);
	EXPECT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

/* --- what mainline refuses and we accept: each delivers one message --- */

FIXTURE(plain) {
	struct rds_pair p;
};
RDS_BED_VARIANTS(plain);

FIXTURE_SETUP(plain)
{
	pair_open(_metadata, &self->p, variant->bed);
	ASSERT_EQ(0, rds_connect(self->p.tx, &self->p.rx_addr));
}

FIXTURE_TEARDOWN(plain)
{
	pair_close(&self->p);
}

static void expect_text(struct __test_metadata *_metadata, int fd, const char *text)
{
	char buf[64];

	ASSERT_EQ((ssize_t)strlen(text), rds_recv_wait(fd, buf, sizeof(buf), NULL));
	EXPECT_EQ(0, memcmp(buf, text, strlen(text)));
}

TEST_F(plain, abi1_better_write)
{
	EXPECT_EQ(5, write(self->p.tx, "hello", 5));
	expect_text(_metadata, self->p.rx, "hello");
}

TEST_F(plain, abi1_better_writev)
{
	struct iovec iov[2] = { { "hel", 3 }, { "lo", 2 } };

	EXPECT_EQ(5, writev(self->p.tx, iov, 2));
	expect_text(_metadata, self->p.rx, "hello");
}

TEST_F(plain, abi1_better_nosignal_and_eor)
{
	EXPECT_EQ(3, rds_send(self->p.tx, NULL, "one", 3, MSG_NOSIGNAL));
	EXPECT_EQ(3, rds_send(self->p.tx, NULL, "two", 3, MSG_EOR));
	expect_text(_metadata, self->p.rx, "one");
	expect_text(_metadata, self->p.rx, "two");
}

TEST_F(plain, abi1_better_sendmmsg)
{
	struct mmsghdr msgs[3];
	struct rds_msg_out m[3];
	int i;

	memset(msgs, 0, sizeof(msgs));
	for (i = 0; i < 3; i++) {
		msg_init(&m[i], &self->p.rx_addr, "abc" + i, 1);
		msgs[i].msg_hdr = m[i].hdr;
	}
	ASSERT_EQ(3, sendmmsg(self->p.tx, msgs, 3, 0));
	EXPECT_EQ(1, msgs[2].msg_len);
	expect_text(_metadata, self->p.rx, "a");
	expect_text(_metadata, self->p.rx, "b");
	expect_text(_metadata, self->p.rx, "c");
}

TEST_F(plain, abi1_read_and_recvmmsg)
{
	struct mmsghdr msgs[2];
	struct iovec iov[2] = {};
	char buf[2][8];
	int i, got;

	ASSERT_EQ(3, rds_send(self->p.tx, NULL, "one", 3, 0));
	ASSERT_EQ(3, rds_send(self->p.tx, NULL, "two", 3, 0));
	ASSERT_EQ(3, rds_send(self->p.tx, NULL, "tri", 3, 0));
	EXPECT_EQ(0, read(self->p.rx, buf[0], 0));
	EXPECT_EQ(3, read(self->p.rx, buf[0], sizeof(buf[0])));
	EXPECT_EQ(0, memcmp(buf[0], "one", 3));
	ASSERT_EQ(3, rds_send(self->p.tx, NULL, "abc", 3, 0));
	iov[0] = (struct iovec){ buf[0], 1 };
	iov[1] = (struct iovec){ buf[1], sizeof(buf[1]) };
	EXPECT_EQ(3, readv(self->p.rx, iov, 2));
	EXPECT_EQ('t', buf[0][0]);
	EXPECT_EQ(0, memcmp(buf[1], "wo", 2));

	memset(msgs, 0, sizeof(msgs));
	for (i = 0; i < 2; i++) {
		iov[i] = (struct iovec){ buf[i], sizeof(buf[i]) };
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	for (got = 0; got < 2; got += i) {
		i = recvmmsg(self->p.rx, msgs + got, 2 - got, MSG_WAITFORONE, NULL);
		ASSERT_GT(i, 0);
	}
	EXPECT_EQ(0, memcmp(buf[0], "tri", 3));
	EXPECT_EQ(0, memcmp(buf[1], "abc", 3));
}

TEST_HARNESS_MAIN
