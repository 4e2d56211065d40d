// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "get-window.h"

#include <errno.h>
#include <librds.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int window_open(struct window *w, int fd, size_t size)
{
	int err;

	w->buf = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->buf == MAP_FAILED)
		return -errno;
	err = rds_get_mr(fd, w->buf, size, RDS_RDMA_READWRITE, &w->cookie);
	if (err)
		munmap(w->buf, size);
	return err;
}

/* The key goes first: the memory must not serve others while a peer has it. */
static void window_close(struct window *w, int fd, size_t size)
{
	rds_free_mr(fd, w->cookie, RDS_RDMA_INVALIDATE);
	munmap(w->buf, size);
}

static int try_open(struct windows *ws, unsigned int count, size_t size)
{
	ws->size = size;
	for (ws->count = 0; ws->count < count; ws->count++) {
		int err = window_open(&ws->win[ws->count], ws->fd, size);

		if (err) {
			windows_close(ws);
			return err;
		}
	}
	return 0;
}

int windows_open(struct windows *ws, int fd, unsigned int count, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int err;

	memset(ws, 0, sizeof(*ws));
	ws->fd = fd;
	size = (size + page - 1) / page * page;
	for (;;) {
		err = try_open(ws, count, size);
		if (err != -ENOMEM && err != -EMSGSIZE)
			return err;
		if (size > page)
			size = size / 2 / page * page;
		else if (count > 1)
			count /= 2;
		else
			return err;
	}
}

void windows_close(struct windows *ws)
{
	while (ws->count > 0)
		window_close(&ws->win[--ws->count], ws->fd, ws->size);
}
