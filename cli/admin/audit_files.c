/* SPDX-License-Identifier: Apache-2.0 */
/* See audit_files.h. */
#include "cli/admin/audit_files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>

#include "base/entries.h"
#include "base/failure.h"

#define FILE_MAX (size_t)(8ULL << 30) /* of an export */
#define PIECE    (1 << 20)

static int audit_files_failed(const char *what, const char *name, struct yett_error *error)
{
	if (errno == EACCES || errno == EPERM)
		return failure_set(
			error, YETT_E_PERMISSION_DENIED, NULL,
			"%s %s: the records of the audit belong to root, who alone can do this",
			what, name);
	if (errno == ENOENT)
		return failure_set(
			error, YETT_E_NOT_FOUND, NULL,
			"%s %s: does not exist; the policy sets whether and where records are written",
			what, name);
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "%s %s: %m", what, name);
}

static int audit_files_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int audit_files_list(struct audit_files *files, struct yett_error *error)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(files->directory);
	const struct dirent *entry;
	int r;

	if (!entries)
		return audit_files_failed("reading", "the directory", error);
	while ((r = entries_next(entries, &entry)) == 0 && entry) {
		uint32_t number = slots_segment_number(entry->d_name), *more;

		if (number == 0)
			continue;
		more = reallocarray(files->numbers, files->count + 1, sizeof *more);
		if (!more)
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "there is not enough memory for the names of segments");
		files->numbers = more;
		more[files->count++] = number;
	}
	errno = -r;
	if (r < 0)
		return audit_files_failed("reading", "the directory", error);
	if (files->count > 0)
		qsort(files->numbers, files->count, sizeof *files->numbers, audit_files_compare);
	files->sizes = calloc(files->count + 1, sizeof *files->sizes);
	return files->sizes ? 0
	                    : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                                "there is not enough memory for the sizes of segments");
}

static void audit_files_name_of(uint32_t number, char name[32])
{
	(void)snprintf(name, 32, SLOTS_SEGMENT_NAME, number);
}

/*
 * Reads the state and the sizes of the segments as they are at that state. If yett-audit writes
 * meanwhile, tries again, at most 10 times in all.
 */
static void audit_files_measure(struct audit_files *files)
{
	_cleanup_fd_ int fd = openat(files->directory, SLOTS_STATE_NAME,
	                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct slots_state again = {0};
	bool is_same = false;

	for (int tries = 0; tries < 10 && !is_same; tries++) {
		files->has_state = fd >= 0 && slots_peek(fd, &files->state) == 0;
		for (size_t i = 0; i < files->count; i++) {
			char name[32];
			struct stat st;

			audit_files_name_of(files->numbers[i], name);
			files->sizes[i] =
				fstatat(files->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
						S_ISREG(st.st_mode)
					? (uint64_t)st.st_size
					: 0;
		}
		is_same = !files->has_state || (slots_peek(fd, &again) == 0 &&
		                                again.generation == files->state.generation);
	}
	sodium_memzero(&again, sizeof again);
}

int audit_files_open(const char *path, struct audit_files *ret_files, struct yett_error *error)
{
	struct audit_files files = {.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int r;

	if (files.directory < 0)
		return audit_files_failed("opening", path, error);
	r = audit_files_list(&files, error);
	if (r) {
		audit_files_close(&files);
		return r;
	}
	audit_files_measure(&files);
	*ret_files = files;
	return 0;
}

void audit_files_close(struct audit_files *files)
{
	files->directory = fd_close(files->directory);
	free(files->numbers);
	free(files->sizes);
	sodium_memzero(&files->state, sizeof files->state);
	files->numbers = NULL;
	files->sizes = NULL;
}

int audit_files_read(const struct audit_files *files, size_t i, char name[32], char **ret_bytes,
                     struct yett_error *error)
{
	_cleanup_free_ char *bytes = NULL;
	_cleanup_fd_ int fd = -1;
	size_t length = 0;

	audit_files_name_of(files->numbers[i], name);
	if (files->sizes[i] > CHAIN_SEGMENT_MAX + PIECE)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "%s is longer than any segment", name);
	fd = openat(files->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return audit_files_failed("opening", name, error);
	bytes = malloc(files->sizes[i] + 1);
	if (!bytes)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for a segment");
	while (length < files->sizes[i]) {
		ssize_t n = read(fd, bytes + length, files->sizes[i] - length);

		if (n < 0)
			return audit_files_failed("reading", name, error);
		if (n == 0)
			break;
		length += (size_t)n;
	}
	files->sizes[i] = length;
	*ret_bytes = steal_ptr(&bytes);
	return 0;
}

int audit_files_open_state(const struct audit_files *files, struct yett_error *error)
{
	_cleanup_fd_ int fd = -1;

	/* This lock excludes other yett processes only: yett-audit locks the state file itself. */
	if (flock(files->directory, LOCK_EX) < 0) {
		(void)audit_files_failed("locking", "the directory", error);
		return -1;
	}
	fd = openat(files->directory, SLOTS_STATE_NAME,
	            O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		(void)audit_files_failed("opening", SLOTS_STATE_NAME, error);
	return steal_fd(&fd);
}

int audit_files_remove(const struct audit_files *files, size_t i, struct yett_error *error)
{
	char name[32];
	int flags;
	_cleanup_fd_ int fd = -1;

	audit_files_name_of(files->numbers[i], name);
	fd = openat(files->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/*
	 * A file with FS_APPEND_FL cannot be removed either: clear the flag first. ioctl_iflags(2)
	 */
	if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_APPEND_FL)) {
		flags &= ~FS_APPEND_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
	return unlinkat(files->directory, name, 0) < 0 ? audit_files_failed("removing", name, error)
	                                               : 0;
}

int audit_files_read_file(const char *path, char **ret_bytes, size_t *ret_size,
                          struct yett_error *error)
{
	_cleanup_fd_ int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
	                                             : open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *bytes = NULL;
	size_t length = 0, room = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && length < FILE_MAX) {
		if (room - length < PIECE) {
			char *more = realloc(bytes, room = room * 2 + 2 * PIECE);

			if (!more)
				return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
				                 "there is not enough memory for %s", path);
			bytes = more;
		}
		n = read(fd, bytes + length, PIECE - 1);
		length += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		return audit_files_failed("reading", path, error);
	bytes[length] = '\0';
	*ret_bytes = steal_ptr(&bytes);
	*ret_size = length;
	return 0;
}
