// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "serve-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool.h"

#define RACE_RETRIES	16
#define READ_AHEAD	(4 * 1024 * 1024)	/* bytes */

static enum rds_file_status status_of(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		return RDS_FILE_NOT_FOUND;
	case EACCES:
	case EPERM:
		return RDS_FILE_NO_PERMISSION;
	case EXDEV:
		return RDS_FILE_OUTSIDE;
	case ELOOP:
		return RDS_FILE_BAD_LINK;
	case ENAMETOOLONG:
		return RDS_FILE_BAD_NAME;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		return RDS_FILE_BUSY;
	default:
		return RDS_FILE_READ_ERROR;
	}
}

/* EAGAIN: something was renamed while ".." was being looked up. */
static int open_beneath(int root, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd, tries = 0;

	do {
		fd = syscall(SYS_openat2, root, name, &how, sizeof(how));
	} while (fd < 0 && errno == EAGAIN && ++tries < RACE_RETRIES);
	return fd;
}

/*
 * The O_PATH descriptor is opened again for reading only now that it is known
 * to be a regular file: opening a device may have an effect by itself.
 */
static enum rds_file_status reopen(struct served_file *file, int path_fd)
{
	char proc[sizeof("/proc/self/fd/") + 11];

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd);
	file->fd = open(proc, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd >= 0)
		return RDS_FILE_OK;
	if (errno == ENOENT)
		say("cannot open files without /proc: mount it");
	return errno == ENOENT ? RDS_FILE_READ_ERROR : status_of(errno);
}

static enum rds_file_status examine(struct served_file *file, int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return status_of(errno);
	if (S_ISDIR(st.st_mode))
		return RDS_FILE_DIRECTORY;
	if (!S_ISREG(st.st_mode))
		return RDS_FILE_NOT_REGULAR;
	file->size = st.st_size;
	file->mtime = st.st_mtim;
	return reopen(file, path_fd);
}

enum rds_file_status served_open(struct served_file *file, int root,
				 const char *name, size_t len)
{
	char path[RDS_FILE_NAME_MAX + 1];
	enum rds_file_status status;
	int fd;

	memcpy(path, name, len);
	path[len] = 0;
	fd = open_beneath(root, path);
	if (fd < 0)
		return status_of(errno);
	status = examine(file, fd);
	close(fd);
	return status;
}

void served_close(struct served_file *file)
{
	close(file->fd);
	file->fd = -1;
}

static int same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

enum rds_file_status served_check(const struct served_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return RDS_FILE_READ_ERROR;
	if ((uint64_t)st.st_size < file->size)
		return RDS_FILE_SHRUNK;
	if ((uint64_t)st.st_size > file->size ||
	    !same_time(&st.st_mtim, &file->mtime))
		return RDS_FILE_CHANGED;
	return RDS_FILE_OK;
}

int served_map(const struct served_file *file, uint64_t offset, size_t length,
	       struct file_map *map)
{
	size_t skip = offset % sysconf(_SC_PAGESIZE);

	map->length = length + skip;
	map->base = mmap(NULL, map->length, PROT_READ, MAP_SHARED, file->fd,
			 offset - skip);
	if (map->base == MAP_FAILED)
		return -errno;
	map->data = (char *)map->base + skip;
	posix_fadvise(file->fd, offset + length, READ_AHEAD,
		      POSIX_FADV_WILLNEED);
	return 0;
}

void served_unmap(struct file_map *map)
{
	munmap(map->base, map->length);
}
