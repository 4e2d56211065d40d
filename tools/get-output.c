// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "get-output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of @path up to and with its last slash. */
static int folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 - path : 0;
}

static int check_path(const char *path, bool replace)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return replace ? 0 : -EEXIST;
}

int output_open(struct output *out, const char *path, bool replace)
{
	int err = check_path(path, replace);
	mode_t mask;

	*out = (struct output){ .path = path, .fd = -1, .replace = replace };
	if (err)
		return err;
	if (asprintf(&out->part, "%.*s.rds-get.part-XXXXXX", folder_len(path),
		     path) < 0) {
		out->part = NULL;
		return -ENOMEM;
	}
	out->fd = mkostemp(out->part, O_CLOEXEC);
	if (out->fd < 0) {
		err = -errno;
		free(out->part);
		out->part = NULL;
		return err;
	}
	mask = umask(0);
	umask(mask);
	return fchmod(out->fd, 0666 & ~mask) < 0 ? -errno : 0;
}

static bool all_zero(const char *buf, size_t len)
{
	return !*buf && !memcmp(buf, buf + 1, len - 1);
}

int output_write(struct output *out, const void *buf, size_t len, uint64_t off)
{
	const char *p = buf;

	if (out->size < off + len)
		out->size = off + len;
	if (all_zero(buf, len))
		return 0;
	while (len > 0) {
		ssize_t n = pwrite(out->fd, p, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

/* Not every file system knows RENAME_NOREPLACE; a hard link does the same. */
static int give_name(const char *part, const char *path, bool replace)
{
	if (replace)
		return rename(part, path) < 0 ? -errno : 0;
	if (!renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(part, path) < 0)
		return -errno;
	unlink(part);
	return 0;
}

static void sync_folder(const char *path)
{
	char *folder;
	int fd;

	if (asprintf(&folder, "%.*s", folder_len(path), path) < 0)
		return;
	fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int output_commit(struct output *out)
{
	int err;

	/* the file may end in a hole */
	if (ftruncate(out->fd, out->size) < 0)
		return -errno;
	/* some file systems tell of a full disk only now */
	if (fsync(out->fd) < 0)
		return -errno;
	err = close(out->fd) < 0 ? -errno : 0;
	out->fd = -1;
	if (!err)
		err = give_name(out->part, out->path, out->replace);
	if (err)
		return err;
	free(out->part);
	out->part = NULL;
	sync_folder(out->path);
	return 0;
}

void output_abort(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->part)
		unlink(out->part);
	free(out->part);
	out->part = NULL;
	out->fd = -1;
}
