/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. */
#include "helper/monitor/keys.h"
#include "base/log.h"

static bool is_administrators(int fd, mode_t type, struct stat *st)
{
	return fstat(fd, st) == 0 && (st->st_uid == 0 || st->st_uid == geteuid()) &&
	       !(st->st_mode & 022) && (st->st_mode & S_IFMT) == type;
}

static bool monitor_keys_is_in_file(int directory, const char *file, const char *line)
{
	_cleanup_fd_ int fd =
		openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[KEY_FILE_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || !is_administrators(fd, S_IFREG, &st)) {
		log_line(LOG_LEVEL_WARNING,
		         "key %s ignored: not a regular file that only the administrator can write",
		         file);
		return false;
	}
	n = read(fd, text, sizeof text);
	return n > 0 && key_line_is_in(text, (size_t)n, line);
}

static int compare_line(const void *line, const void *entry)
{
	return memcmp(line, ((const struct policy_enrolled *)entry)->line, KEY_LINE_LENGTH);
}

int keys_find(const struct policy *policy, const char *line,
              char ret_principal[MESSAGE_NAME_MAX + 1], struct yett_error *error)
{
	_cleanup_(fd_entries_close) DIR *entries = NULL;
	_cleanup_fd_ int fd =
		open(policy->keys_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	const struct policy_enrolled *found;
	char principal[MESSAGE_NAME_MAX + 1];
	struct stat st;
	int r = -ENOENT;

	if (fd < 0)
		return -errno;
	if (!is_administrators(fd, S_IFDIR, &st)) {
		log_line(LOG_LEVEL_WARNING,
		         "keys in %s do not count: others can write the directory",
		         policy->keys_dir);
		return -ENOENT;
	}
	/*
	 * The directory is unchanged since yett-policy read it, so no other file has the line. That
	 * file is read again here: yett-policy is not trusted to say that the file has the line.
	 */
	if (st.st_ino == policy->keys_inode &&
	    memcmp(&st.st_ctim, &policy->keys_changed, sizeof st.st_ctim) == 0) {
		found = bsearch(line, policy->enrolled, policy->enrolled_count, sizeof *found,
		                compare_line);
		if (!found || !key_line_principal(found->file, principal) ||
		    !monitor_keys_is_in_file(fd, found->file, line))
			return -ENOENT;
		memcpy(ret_principal, principal, sizeof principal);
		return 0;
	}
	entries = fd_entries(fd);
	if (!entries)
		return -ENOMEM;
	for (struct dirent *entry; r <= 0 && (entry = readdir(entries));) {
		if (!key_line_principal(entry->d_name, principal) ||
		    !monitor_keys_is_in_file(fd, entry->d_name, line))
			continue;
		r = r ? 0
		      : error_set(
				error, YETT_E_BAD_SIGNATURE, 0,
				"the key is enrolled under two names, '%s' and '%s': one has to go",
				ret_principal, principal);
		memcpy(ret_principal, principal, sizeof principal);
	}
	return r;
}
