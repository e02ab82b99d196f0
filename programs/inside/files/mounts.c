/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See files.h. Lists the mounts of the sandbox as its commands see them, and how full those file
 * systems are that belong to the sandbox alone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "programs/inside/files/files.h"

/*
 * A line of mountinfo: id parent major:minor root mountpoint options … - type source super-options.
 * proc_pid_mountinfo(5)
 */
struct line {
	dev_t device;
	char *root, *target, *options, *type, *source, *super_options;
};

/* Decodes escapes such as \040, which stand for characters that would end a field. */
static void mounts_read_escapes(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		unsigned byte;

		if (*at == '\\' && sscanf(at + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static bool mounts_read_line(char *text, struct line *ret_line)
{
	char *save = NULL, *fields[6];
	unsigned major, minor;

	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!(fields[i] = strtok_r(i ? NULL : text, " ", &save)))
			return false;
	if (sscanf(fields[2], "%u:%u", &major, &minor) != 2)
		return false;
	*ret_line = (struct line){.device = makedev(major, minor),
	                          .root = fields[3],
	                          .target = fields[4],
	                          .options = fields[5]};
	for (char *more; (more = strtok_r(NULL, " ", &save)) && strcmp(more, "-") != 0;)
		continue;
	ret_line->type = strtok_r(NULL, " ", &save);
	ret_line->source = strtok_r(NULL, " ", &save);
	ret_line->super_options = strtok_r(NULL, " ", &save);
	mounts_read_escapes(ret_line->root);
	mounts_read_escapes(ret_line->target);
	return ret_line->super_options != NULL;
}

/* Whether a list like "ro,upperdir=/x" has an option, with a value or without. */
static bool mounts_has_option(const char *options, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && strchr(",=", at[length]))
			return true;
	}
	return false;
}

static uint32_t mounts_mode_of(const struct line *line)
{
	if (mounts_has_option(line->options, "ro") || mounts_has_option(line->super_options, "ro"))
		return FILE_MOUNT_READ_ONLY;
	return strcmp(line->type, "overlay") == 0 &&
	                       mounts_has_option(line->super_options, "upperdir")
	               ? FILE_MOUNT_COPY_ON_WRITE
	               : FILE_MOUNT_WRITABLE;
}

/*
 * Whether the file system was made for this sandbox, in memory. init uses the source "none" for
 * such a tmpfs, and "memory" for an overlay whose upper directory is in one.
 */
static bool mounts_is_own(const struct line *line, uint32_t mode)
{
	if (mode == FILE_MOUNT_READ_ONLY || strcmp(line->root, "/") != 0)
		return false;
	return strcmp(line->type, "tmpfs") == 0
	               ? strcmp(line->source, "none") == 0
	               : mode == FILE_MOUNT_COPY_ON_WRITE && strcmp(line->source, "memory") == 0;
}

/*
 * Adds the usage. A mount that is covered by another one gets none: its path resolves to another
 * device.
 */
static void look_at_usage(const struct line *line, struct message_file_mount *mount)
{
	_cleanup_fd_ int fd = open(line->target, O_PATH | O_CLOEXEC);
	struct statvfs fs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != line->device || fstatvfs(fd, &fs) < 0)
		return;
	mount->is_own = true;
	mount->size_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	mount->used_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	mount->files_max = fs.f_files;
	mount->files_used = fs.f_files - fs.f_ffree;
}

int operations_mounts(struct job *job)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *text = NULL;
	size_t size = 0;
	int r = 0;

	if (!file)
		return answer_failure(job, "read", "/proc/self/mountinfo", errno);
	while (r == 0 && getline(&text, &size, file) >= 0) {
		struct message_file_mount mount = {0};
		struct line line;

		if (!mounts_read_line(text, &line))
			continue;
		mount.mode = mounts_mode_of(&line);
		if (mounts_is_own(&line, mount.mode))
			look_at_usage(&line, &mount);
		r = answer_mount(job, &mount, line.target, line.root, line.type);
	}
	free(text);
	(void)fclose(file);
	if (r == 0)
		r = answer_flush(job);
	return r < 0 ? r : answer_done(job);
}
