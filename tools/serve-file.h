/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The files below the served folder. */
#ifndef SERVE_FILE_H
#define SERVE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "rds-file.h"

struct served_file {
	uint64_t	size;		/* bytes, when it was opened */
	struct timespec	mtime;		/* likewise */
	int		fd;
};

/* A piece of a file in memory. */
struct file_map {
	void		*data;		/* the byte that was asked for */
	void		*base;		/* its page */
	size_t		length;		/* from ->base */
};

/*
 * Open the regular file @name (@len bytes) below the folder @root.  Neither
 * "..", nor an absolute name, nor a symbolic link leads out of it, even if the
 * folder is being changed meanwhile.  What is no regular file is not opened.
 */
enum rds_file_status served_open(struct served_file *file, int root,
				 const char *name, size_t len);
void served_close(struct served_file *file);

/* RDS_FILE_OK while it is what it was when it was opened. */
enum rds_file_status served_check(const struct served_file *file);

/*
 * Map @length bytes at @offset for reading; nothing here ever touches them, so
 * that a file which is cut meanwhile is an error of the RDMA and no SIGBUS.
 * 0 or as mmap(2).
 */
int served_map(const struct served_file *file, uint64_t offset, size_t length,
	       struct file_map *map);
void served_unmap(struct file_map *map);

#endif /* SERVE_FILE_H */
