// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "copies.h"

#include <errno.h>
#include <librds.h>

int copies_read(int fd, struct copies *copies)
{
	uint64_t to_user, from_user;
	int err;

	err = rds_counter(fd, "copy_to_user", &to_user);
	if (!err)
		err = rds_counter(fd, "copy_from_user", &from_user);
	if (err)
		return err;
	copies->messages = to_user + from_user;

	/* A stack without RDMA on loopback has no need to count its copies. */
	err = rds_counter(fd, "rdma_copied_bytes", &copies->rdma);
	if (err == -ENOENT)
		copies->rdma = 0;
	return err == -ENOENT ? 0 : err;
}

uint64_t copies_of_payload(const struct copies *from, const struct copies *to,
			   uint64_t own)
{
	uint64_t messages = to->messages - from->messages;

	/* A message to a port that nobody holds is copied once only. */
	messages = messages > own ? messages - own : 0;
	return messages + to->rdma - from->rdma;
}
