/* SPDX-License-Identifier: Apache-2.0 */
/* See enrolled.h. */
#include "programs/decide/policy/enrolled.h"
#include "base/clock.h"
#include "helper/policy/key_line.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#define ENTRIES_MAX 16384
#define DEADLINE_MS 2000 /* time limit, since the helper waits for the policy */
#define TICKS_MAX   10
/*
 * Pause before enrolled_look_at() tries again. The kernel stamps changes with its coarse clock,
 * which advances every 1 to 10 ms.
 */
#define TICK_MS 4

/*
 * Records inode and change time. Waits until the coarse clock has passed that time, since a second
 * change within the same tick would not alter it. Returns whether any later change will show.
 */
static bool enrolled_look_at(int directory, struct policy *policy)
{
	struct timespec now;
	struct stat st;

	for (int i = 0; i < TICKS_MAX; i++) {
		if (fstat(directory, &st) < 0 || clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
			return false;
		policy->keys_inode = st.st_ino;
		policy->keys_changed = st.st_ctim;
		if (now.tv_sec > st.st_ctim.tv_sec ||
		    (now.tv_sec == st.st_ctim.tv_sec && now.tv_nsec > st.st_ctim.tv_nsec))
			return true;
		(void)poll(NULL, 0, TICK_MS);
	}
	return false;
}

static bool enrolled_add_line(struct policy *policy, const char *line, const char *file)
{
	struct policy_enrolled *entry;

	if (policy->enrolled_count == ENTRIES_MAX)
		return false;
	entry = &policy->enrolled[policy->enrolled_count];
	memcpy(entry->line, line, sizeof entry->line);
	entry->file = strdup(file);
	policy->enrolled_count += entry->file != NULL;
	return entry->file;
}

static bool enrolled_add_text(struct policy *policy, const char *text, size_t length,
                              const char *file)
{
	const size_t prefix = sizeof KEY_LINE_PREFIX - 1;

	for (const char *at = text, *next; at < text + length; at = next) {
		size_t rest = (size_t)(text + length - at);
		const char *end = memchr(at, '\n', rest) ?: at + rest;

		next = end + (end < text + length);
		/*
		 * Compares the line with itself, since key_line_is_in() also checks that the key
		 * ends where a line or a comment may begin.
		 */
		if (key_line_is_in(at, (size_t)(end - at), at) &&
		    memcmp(at, KEY_LINE_PREFIX, prefix) == 0 &&
		    !enrolled_add_line(policy, at, file))
			return false;
	}
	return true;
}

/*
 * Adds the file even if its owner or mode is wrong: the monitor checks these when it uses the file.
 */
static bool enrolled_add_file(struct policy *policy, int directory, const char *file)
{
	_cleanup_fd_ int fd =
		openat(directory, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char text[KEY_FILE_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		/* a symbolic link never counts, whatever its target */
		return fd < 0 && errno == ELOOP;
	if (!S_ISREG(st.st_mode))
		return true;
	n = read(fd, text, sizeof text);
	return n >= 0 && enrolled_add_text(policy, text, (size_t)n, file);
}

static bool enrolled_add_files(struct policy *policy, int directory)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(directory);
	const uint64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
	char principal[KEY_PRINCIPAL_MAX + 1];
	bool is_read = entries != NULL;

	for (struct dirent *entry; is_read && (errno = 0, entry = readdir(entries));)
		is_read = !key_line_principal(entry->d_name, principal) ||
		          (clock_now_ms() < deadline_ms &&
		           enrolled_add_file(policy, directory, entry->d_name));
	return is_read && errno == 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct policy_enrolled *one = a, *other = b;

	return memcmp(one->line, other->line, sizeof one->line) ?: strcmp(one->file, other->file);
}

/*
 * Sorts the table and drops lines that occur twice in a file. Returns false if a line is in two
 * files, since the monitor would then have to check both.
 */
static bool enrolled_sort(struct policy *policy)
{
	struct policy_enrolled *entries = policy->enrolled;
	size_t kept = 0;
	bool is_single = true;

	if (policy->enrolled_count == 0)
		return true;
	qsort(entries, policy->enrolled_count, sizeof *entries, compare_lines);
	for (size_t i = 1; i < policy->enrolled_count; i++) {
		is_single = is_single && (memcmp(entries[kept].line, entries[i].line,
		                                 sizeof entries->line) != 0 ||
		                          strcmp(entries[kept].file, entries[i].file) == 0);
		if (compare_lines(&entries[kept], &entries[i]) == 0)
			free(entries[i].file);
		else
			entries[++kept] = entries[i];
	}
	policy->enrolled_count = kept + 1;
	return is_single;
}

void enrolled_read(struct policy *policy)
{
	_cleanup_fd_ int fd =
		open(policy->keys_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	policy->enrolled = fd < 0 ? NULL : calloc(ENTRIES_MAX, sizeof *policy->enrolled);
	if (!policy->enrolled || !enrolled_look_at(fd, policy) || !enrolled_add_files(policy, fd) ||
	    !enrolled_sort(policy))
		enrolled_free(policy);
}

void enrolled_free(struct policy *policy)
{
	for (size_t i = 0; i < policy->enrolled_count; i++)
		free(policy->enrolled[i].file);
	free(policy->enrolled);
	policy->enrolled = NULL;
	policy->enrolled_count = 0;
	policy->keys_inode = 0;
}
