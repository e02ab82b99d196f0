/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work.h: removes stores and parts of stores.
 *
 * Runs as the caller, on trees that a sandbox made, with any depth, names and modes. Nothing is
 * removed by a path: each directory is moved to the top of the store, made readable for the caller,
 * and emptied there. So the depth does not matter, and a swapped name cannot lead elsewhere.
 */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/entries.h"
#include "base/fd.h"

#define NAME_SIZE 48
#define GONE      ".gone-" /* prefix of the names of directories that are being removed */

/* Directories that were moved to the top of the store: numbers `first` to `next` - 1 exist. */
struct moved {
	int store;
	char mark[24]; /* prefix of their names, which no older entry has */
	uint64_t first, next;
};

static void work_remove_name_of(const struct moved *moved, uint64_t i, char name[static NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%s%llu", moved->mark, (unsigned long long)i);
}

int work_open_own(int parent, const char *name, int flags)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	                                  RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
	_cleanup_fd_ int found = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
	char path[32];
	struct stat st;
	int fd;

	if (found < 0 || fstat(found, &st) < 0)
		return -errno;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	if ((st.st_mode & 0700) != 0700 && chmod(path, 0700) < 0)
		return -errno;
	fd = flags & O_PATH ? steal_fd(&found) : open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int move_up(struct moved *moved, int directory, const char *name)
{
	/*
	 * Moving a directory changes its "..", so it must be writable: work_open_own() makes it so.
	 * rename(2)
	 */
	_cleanup_fd_ int own = work_open_own(directory, name, O_PATH);
	char to[NAME_SIZE];

	if (own < 0)
		return own;
	work_remove_name_of(moved, moved->next, to);
	if (renameat(directory, name, moved->store, to) < 0)
		return -errno;
	moved->next++;
	return 0;
}

/* Removes a file; moves a directory to the top of the store. */
static int remove_entry(struct moved *moved, int directory, const struct dirent *entry)
{
	int failed = EISDIR, r;

	if (entry->d_type != DT_DIR) {
		if (unlinkat(directory, entry->d_name, 0) == 0 || errno == ENOENT)
			return 0;
		failed = errno;
	}
	r = failed == EISDIR || failed == EPERM ? move_up(moved, directory, entry->d_name)
	                                        : -failed;
	if (r < 0 && unlinkat(directory, entry->d_name, AT_REMOVEDIR) == 0)
		r = 0; /* an empty directory of another user, who alone could move it */
	return r == -ENOTDIR ? -failed : r;
}

static int empty(struct moved *moved, int directory)
{
	DIR *opened = fd_entries(directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry) {
		if (strncmp(entry->d_name, moved->mark, strlen(moved->mark)) == 0)
			continue;
		r = remove_entry(moved, directory, entry);
	}
	return r;
}

/* Removes the moved directories, and those that this moves to the top in turn. */
static int empty_moved(struct moved *moved)
{
	char name[NAME_SIZE];
	int r = 0;

	for (; r == 0 && moved->first < moved->next; moved->first++) {
		_cleanup_fd_ int directory = -1;

		work_remove_name_of(moved, moved->first, name);
		r = directory = work_open_own(moved->store, name, O_RDONLY | O_DIRECTORY);
		if (r >= 0)
			r = empty(moved, directory);
		if (r == 0 && unlinkat(moved->store, name, AT_REMOVEDIR) < 0)
			r = -errno;
	}
	return r;
}

static void moved_begin(struct moved *moved, int store)
{
	*moved = (struct moved){.store = store};
	(void)snprintf(moved->mark, sizeof moved->mark, GONE "%08x-", randombytes_random());
}

int work_remove(int works, const char *id, int store)
{
	struct moved moved;
	int r;

	moved_begin(&moved, store);
	r = empty(&moved, store);
	if (r == 0)
		r = empty_moved(&moved);
	return r == 0 && unlinkat(works, id, AT_REMOVEDIR) < 0 ? -errno : r;
}

/* Removes the directories that a killed process had moved to the top of the store. */
static int remove_gone(struct moved *moved)
{
	DIR *opened = fd_entries(moved->store);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry)
		if (strncmp(entry->d_name, GONE, strlen(GONE)) == 0 &&
		    strncmp(entry->d_name, moved->mark, strlen(moved->mark)) != 0)
			r = remove_entry(moved, moved->store, entry);
	return r;
}

int work_remove_part(int store, const char *name)
{
	struct moved moved;
	struct stat st;
	int r = 0;

	moved_begin(&moved, store);
	if (fstatat(store, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		r = S_ISDIR(st.st_mode)            ? move_up(&moved, store, name)
		    : unlinkat(store, name, 0) < 0 ? -errno
		                                   : 0;
	else if (errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = remove_gone(&moved);
	return r == 0 ? empty_moved(&moved) : r;
}
