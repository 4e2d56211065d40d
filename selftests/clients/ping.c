// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ping FROM TO [TOS]: from each of eight sockets, an empty message to port 0 of TO, which its kernel answers with an empty
 * message from port 0, several times.
 */
#include "client.h"

#define SOCKETS	8
#define ROUNDS	5

static void send_all(const struct pollfd *socks, const union rds_addr *to)
{
	ssize_t n;
	int i;

	for (i = 0; i < SOCKETS; i++) {
		n = rds_send(socks[i].fd, to, NULL, 0, 0);
		if (n == -EINVAL)
			give_up("the kernel does not support ping");
		if (n)
			give_up("send: %s", strerror(-n));
	}
}

/* Read one answer: 1, or 0 when there is none yet. */
static int take_answer(int fd, const union rds_addr *to)
{
	union rds_addr from = {};
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, NULL, 0, MSG_DONTWAIT, &from.sa, &len);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n)
		give_up("receive: %zd, %s", n, strerror(errno));
	if (!addr_equal(&from, to))
		give_up("an answer from somebody else");
	return 1;
}

/* The number of sockets that were answered. */
static int answers(struct pollfd *socks, const union rds_addr *to)
{
	int64_t end = now_ms() + RDS_WAIT_MS;
	bool answered[SOCKETS] = {};
	int i, nr = 0;

	while (nr < SOCKETS && poll(socks, SOCKETS, (int)(end - now_ms())) > 0) {
		for (i = 0; i < SOCKETS; i++) {
			if (!(socks[i].revents & POLLIN) || !take_answer(socks[i].fd, to))
				continue;
			if (answered[i])
				give_up("a socket was answered twice");
			answered[i] = true;
			nr++;
		}
		if (now_ms() > end)
			break;
	}
	return nr;
}

int main(int argc, char **argv)
{
	struct pollfd socks[SOCKETS];
	union rds_addr from, to;
	int i, err, nr = 0;

	if (argc != 3 && argc != 4)
		give_up("usage: ping FROM TO [TOS]");
	ksft_print_header();
	ksft_set_plan(argc - 2);
	to = address_argument(argv[2], 0);
	for (i = 0, err = 0; i < SOCKETS; i++) {
		from = address_argument(argv[1], 0);
		socks[i] = (struct pollfd){ .fd = bound_socket(&from), .events = POLLIN };
		if (argc == 4 && !err)
			err = set_tos(socks[i].fd, atoi(argv[3]));
	}
	if (argc == 4)
		ksft_test_result(!err, "abi18_ping_tos_%s\n", argv[3]);
	for (i = 0; i < ROUNDS; i++) {
		send_all(socks, &to);
		nr += answers(socks, &to);
	}
	ksft_test_result(nr == ROUNDS * SOCKETS, "abi18_ping_%s\n", argv[2]);
	if (err)
		ksft_print_msg("tos: %s\n", strerror(-err));
	ksft_finished();
}
