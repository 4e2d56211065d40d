/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Windows: registered buffers into which the server RDMA-writes pieces of the
 * file, several at a time so that the link never idles.
 */
#ifndef GET_WINDOW_H
#define GET_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define WINDOWS_MAX	16

enum window_state {
	WINDOW_IDLE,		/* nothing more to fetch */
	WINDOW_WANTED,		/* its READ has not been sent yet */
	WINDOW_ASKED,		/* its READ was sent */
	WINDOW_FILLED,		/* the server's RDMA write has landed */
};

struct window {
	void			*buf;
	uint64_t		cookie;
	uint64_t		offset;		/* in the file */
	uint32_t		length;
	uint32_t		request;	/* number of the READ */
	enum window_state	state;
};

struct windows {
	struct window	win[WINDOWS_MAX];
	unsigned int	count;
	size_t		size;		/* bytes of each */
	int		fd;
};

/*
 * Allocate and register @count windows of @size bytes on socket @fd; where
 * that is more than RLIMIT_MEMLOCK or the device allows, smaller ones and then
 * fewer: look at ->count and ->size.
 * 0, or as rds_get_mr(3), with nothing registered.
 */
int windows_open(struct windows *ws, int fd, unsigned int count, size_t size);

void windows_close(struct windows *ws);

#endif /* GET_WINDOW_H */
