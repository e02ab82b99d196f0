/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work.h: reads and writes "info", the information that a store keeps about itself.
 *
 * Runs as the caller, on a text file of the caller: "yett-work 1", then lines of KEY=VALUE, with
 * %xx for '%', spaces and bytes that are not printable ASCII. A rewrite keeps lines with unknown
 * keys and the lines of hidden names.
 */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/entries.h"
#include "base/fd.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/sandbox_name.h"

#define INFO      "info"
#define INFO_NEW  "info.new"
#define INFO_HEAD "yett-work 1\n" /* the version of the format */
#define SANDBOX   "sandbox="
#define NAME      "name="
#define NOBODY    "0000000000000000" /* the sandbox of a fork that no sandbox has used yet */

/*
 * Keys that work_write_info() writes again. NAME comes last, because the function may leave it out.
 */
static const char *const keys[] = {
	"source=", "target=", SANDBOX, "created=", "boot=", "device=", "inode=", NAME};

static bool begins(const char *line, const char *key)
{
	return strncmp(line, key, strlen(key)) == 0;
}

/*
 * Returns the text after INFO_HEAD, which belongs to `owner`. The text is empty if there is no file
 * in our format. NULL: no memory.
 */
static char *work_info_read_text(int store, void *owner)
{
	_cleanup_fd_ int fd = openat(store, INFO, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	               st.st_size < (off_t)WORK_INFO_MAX;
	size_t size = is_file ? (size_t)st.st_size : 0;
	char *text = memory_add(owner, size + 1);
	ssize_t n = text && size ? read(fd, text, size) : 0;

	if (!text)
		return NULL;
	text[n < 0 ? 0 : n] = '\0';
	if (n <= 0 || memchr(text, '\0', (size_t)n) || !begins(text, INFO_HEAD))
		text[0] = '\0';
	return *text ? text + strlen(INFO_HEAD) : text;
}

static void work_info_read_line(char *line, struct work_info *info)
{
	const struct {
		const char *key;
		const char **value;
	} texts[] = {{"source=", &info->source},
	             {"target=", &info->target},
	             {SANDBOX, &info->sandbox},
	             {NAME, &info->name},
	             {"boot=", &info->boot}};
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {{"created=", &info->created_ms},
	               {"device=", &info->device},
	               {"inode=", &info->inode}};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (begins(line, texts[i].key) && lines_read_text(line + strlen(texts[i].key)))
			*texts[i].value = line + strlen(texts[i].key);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (begins(line, numbers[i].key))
			*numbers[i].value = strtoull(line + strlen(numbers[i].key), NULL, 10);
	if (begins(line, "hidden=") && lines_read_text(line + strlen("hidden=")))
		info->hidden[info->hidden_count++] = line + strlen("hidden=");
}

bool work_read_info(int store, void *owner, struct work_info *ret_info)
{
	char *rest = work_info_read_text(store, owner), *line, boot[LINES_BOOT_SIZE];
	size_t lines = 0;

	*ret_info = (struct work_info){
		.source = "", .target = "", .sandbox = "", .name = "", .boot = ""};
	for (const char *at = rest; at && *at; at++)
		lines += *at == '\n';
	ret_info->hidden = rest ? memory_add(owner, (lines + 2) * sizeof *ret_info->hidden) : NULL;
	if (!ret_info->hidden)
		return false;
	while ((line = strsep(&rest, "\n")))
		work_info_read_line(line, ret_info);
	if (!sandbox_name_is_id(ret_info->sandbox))
		ret_info->sandbox = "";
	if (*ret_info->name &&
	    (!sandbox_name_is_valid(ret_info->name) || strlen(ret_info->name) >= YETT_NAME_SIZE))
		ret_info->name = "";
	ret_info->is_complete = *ret_info->source == '/' && *ret_info->target &&
	                        *ret_info->sandbox && ret_info->created_ms;
	if (strcmp(ret_info->sandbox, NOBODY) == 0)
		ret_info->sandbox = "";
	lines_read_boot(boot);
	ret_info->is_earlier_boot = ret_info->is_complete && strcmp(ret_info->boot, boot) != 0;
	return true;
}

/* Copies the existing lines, except those with a key in `anew`. */
static void keep_lines(FILE *file, const char *text, const char *const *anew, size_t count)
{
	for (size_t length; *text; text += length) {
		bool is_kept = true;

		length = strcspn(text, "\n");
		for (size_t i = 0; i < count; i++)
			is_kept = is_kept && !begins(text, anew[i]);
		if (is_kept && length)
			(void)fprintf(file, "%.*s\n", (int)length, text);
		length += text[length] == '\n';
	}
}

/* Writes a new file, which replaces "info" by a rename when it is complete. */
int work_write_info(const struct work *work, const char *sandbox, const char *name)
{
	_cleanup_(memory_freep) void *owner = memory_new(1);
	const char *old = owner ? work_info_read_text(work->store, owner) : NULL;
	FILE *file = old ? lines_new_file(work->store, INFO_NEW) : NULL;
	char boot[LINES_BOOT_SIZE];

	if (!file)
		return -ENOMEM;
	lines_read_boot(boot);
	(void)fputs(INFO_HEAD, file);
	lines_write_text(file, "source", work->source);
	lines_write_text(file, "target", work->target);
	lines_write_text(file, "sandbox", sandbox);
	if (*name)
		lines_write_text(file, "name", name);
	(void)fprintf(file, "created=%llu\nboot=%s\ndevice=%llu\ninode=%llu\n",
	              (unsigned long long)work->created_ms, boot, (unsigned long long)work->device,
	              (unsigned long long)work->inode);
	/*
	 * yett-apply compares this time with the ctime of source files. The line is written once,
	 * and keeps the boot in which the time was read.
	 */
	if (!work->is_old)
		(void)fprintf(file, "clock=%llu %llu %s\n", (unsigned long long)work->stamp_ns,
		              (unsigned long long)work->uptime_ns, boot);
	/* If a sandbox without a name reuses the store, the old name stays. */
	keep_lines(file,
	           work->is_old   ? old
	           : work->hidden ? work->hidden
	                          : "",
	           keys, ARRAY_SIZE(keys) - !*name);
	return lines_end_file(file, work->store, INFO_NEW, INFO);
}

/* Leaves out sandbox and name: the sandbox of the store has nothing to do with the fork. */
int work_copy_info(int from, int to)
{
	static const char *const anew[] = {SANDBOX, NAME};

	_cleanup_(memory_freep) void *owner = memory_new(1);
	const char *text = owner ? work_info_read_text(from, owner) : NULL;
	FILE *file = text && *text ? lines_new_file(to, INFO_NEW) : NULL;

	if (!file)
		return text && !*text ? -ENODATA : -ENOMEM;
	(void)fputs(INFO_HEAD SANDBOX NOBODY "\n", file);
	keep_lines(file, text, anew, ARRAY_SIZE(anew));
	return lines_end_file(file, to, INFO_NEW, INFO);
}

static bool work_info_is_own(const char *name)
{
	static const char *const names[] = {INFO, INFO_NEW, "work", "hidden"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool work_is_changed(int store)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(store);
	const struct dirent *entry;
	int r = entries ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry)
		if (!work_info_is_own(entry->d_name) && !work_is_empty(store, entry->d_name))
			return true;
	return r < 0;
}
