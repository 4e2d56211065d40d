/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The file that is being fetched.  It has a name of its own, ".rds-get.part-*"
 * in the folder of the final one, until all of it is there and on disk.
 */
#ifndef GET_OUTPUT_H
#define GET_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	const char	*path;	/* the final name */
	char		*part;	/* NULL: nothing to remove */
	uint64_t	size;	/* end of what was written */
	int		fd;
	bool		replace;
};

/* -EEXIST (and not @replace), -EISDIR, or as open(2). */
int output_open(struct output *out, const char *path, bool replace);

/*
 * Bytes that are all zero become a hole.
 * 0 or as pwrite(2): -ENOSPC, -EDQUOT, -EFBIG, -EIO.
 */
int output_write(struct output *out, const void *buf, size_t len, uint64_t off);

/* Onto the disk, then to the final name.  0 or -errno; output_abort() is due. */
int output_commit(struct output *out);

/* Remove what is there unless it was committed; release everything. */
void output_abort(struct output *out);

#endif /* GET_OUTPUT_H */
