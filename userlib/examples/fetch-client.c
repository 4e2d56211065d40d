// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fetch 8 KiB from fetch-server straight into our own memory, write them to
 * standard output.
 *
 *	fetch-client MY_ADDR SERVER_ADDR:PORT >FILE
 *	cc fetch-client.c -o fetch-client $(pkg-config --cflags --libs librds)
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <librds.h>

static ssize_t must(enum rds_call call, ssize_t ret)
{
	if (ret < 0)
		errx(1, "%s", rds_explain(call, ret));
	return ret;
}

int main(int argc, char **argv)
{
	struct rds_incoming in;
	static char data[8192];
	char text[64] = "";
	uint64_t cookie;
	int fd;

	if (argc != 3)
		errx(2, "usage: fetch-client MY_ADDR SERVER_ADDR:PORT");
	fd = must(RDS_CALL_OPEN, rds_open(argv[1], 0));
	must(RDS_CALL_CONNECT, rds_connect(fd, argv[2]));
	must(RDS_CALL_GET_MR, rds_get_mr(fd, data, sizeof(data), RDS_RDMA_READWRITE, &cookie));
	snprintf(text, sizeof(text), "get data, my cookie is %" PRIu64, cookie);
	must(RDS_CALL_SEND, rds_send(fd, NULL, text, strlen(text), 0));
	if (must(RDS_CALL_RECV, rds_recv(fd, text, sizeof(text), &in, 0)) != 2 || memcmp(text, "OK", 2))
		errx(1, "the server did not say OK");
	return fwrite(data, sizeof(data), 1, stdout) != 1 || fflush(stdout);
}
