// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Write the first 8 KiB of a file into the memory of every client that asks.
 *
 *	fetch-server MY_ADDR:PORT FILE
 *	cc fetch-server.c -o fetch-server $(pkg-config --cflags --libs librds)
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <librds.h>

static ssize_t must(enum rds_call call, ssize_t ret)
{
	if (ret < 0)
		errx(1, "%s", rds_explain(call, ret));
	return ret;
}

int main(int argc, char **argv)
{
	struct iovec data = { .iov_len = 8192 };
	struct rds_rdma op = { .iov = &data, .iovcnt = 1, .flags = RDS_RDMA_NOTIFY_ME };
	struct rds_incoming in;
	char text[64];
	int fd;

	if (argc != 3)
		errx(2, "usage: fetch-server MY_ADDR:PORT FILE");
	fd = must(RDS_CALL_OPEN, rds_open(argv[1], 0));
	data.iov_base = mmap(NULL, data.iov_len, PROT_READ, MAP_SHARED, open(argv[2], O_RDONLY), 0);
	if (data.iov_base == MAP_FAILED)
		err(1, "%s", argv[2]);
	for (;;) {
		text[must(RDS_CALL_RECV, rds_recv(fd, text, sizeof(text) - 1, &in, 0))] = '\0';
		if (in.what & LIBRDS_IN_NOTIFY)
			fprintf(stderr, "transfer ended: %s\n", rds_status_name(in.notify[0].status));
		else if (sscanf(text, "get data, my cookie is %" SCNu64, &op.cookie) == 1)
			must(RDS_CALL_RDMA, rds_rdma_write(fd, &in.from, &op, "OK", 2));
	}
}
