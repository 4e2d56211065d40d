/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many bytes of a file the CPU copied inside RDS.
 *
 * The kernel counts every payload byte that send and receive calls copy, for
 * the network namespace as a whole.  Messages of this protocol are such bytes,
 * so what is left after taking off our own messages is the file's share: 0, as
 * long as nobody else uses RDS in the namespace meanwhile.
 */
#ifndef COPIES_H
#define COPIES_H

#include <stdint.h>

struct copies {
	uint64_t	messages;	/* copied by send and receive calls */
	uint64_t	rdma;		/* copied to carry out RDMA: loopback only */
};

/* Read the counters.  0, or as rds_counter(3). */
int copies_read(int fd, struct copies *copies);

/*
 * Bytes copied between @from and @to other than @own bytes of messages that
 * are known to have been sent and received here.
 */
uint64_t copies_of_payload(const struct copies *from, const struct copies *to,
			   uint64_t own);

#endif /* COPIES_H */
