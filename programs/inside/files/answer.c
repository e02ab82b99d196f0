/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. Builds and sends the answers to the client. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "programs/inside/files/files.h"
#include "protocol/frame_message.h"

/*
 * answer_entry() sends the message before it adds an entry if the message has more bytes of text
 * than this. The last entry, all numbers and all field names then still fit in the packet.
 */
#define BATCH_BYTES 40000

static int files_answer_send_answer(struct job *job, const int *fd)
{
	return frame_send_message(job->socket, job->answer, job->sequence, fd, fd ? 1 : 0, 0);
}

int answer_error(struct job *job, const struct yett_error *error)
{
	return frame_send_error(job->socket, error, job->sequence, 0);
}

int answer_failure(struct job *job, const char *what, const char *path, int error_number)
{
	struct yett_error error;
	char name[128];

	(void)error_set(&error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot %s '%s': %s",
	                what, escape_text(path, name, sizeof name), strerror(error_number));
	if (job->entries > 0)
		error_detail(&error, "after %llu entries with %llu bytes",
		             (unsigned long long)job->entries, (unsigned long long)job->bytes);
	(void)error_cause(&error, NULL, error_number);
	return answer_error(job, &error);
}

int answer_done(struct job *job)
{
	message_begin(job->answer, MESSAGE_FILE_DONE)->file_done = (struct message_file_done){
		.entries = job->entries, .bytes = job->bytes, .skipped = job->skipped};
	return files_answer_send_answer(job, NULL);
}

int answer_opened(struct job *job, int fd, uint64_t size)
{
	message_begin(job->answer, MESSAGE_FILE_OPENED)->file_opened.size_bytes = size;
	return files_answer_send_answer(job, &fd);
}

int answer_skipped(struct job *job, const char *path, const char *why)
{
	struct message_file_skipped *skipped =
		&message_begin(job->answer, MESSAGE_FILE_SKIPPED)->file_skipped;
	char cut[MESSAGE_PATH_MAX + 1];
	int r;

	job->skipped++;
	(void)snprintf(cut, sizeof cut, "%s", *path ? path : "?");
	r = message_add_text(job->answer, cut, &skipped->path);
	if (r == 0)
		r = message_add_text(job->answer, why, &skipped->why);
	return r < 0 ? r : files_answer_send_answer(job, NULL);
}

/*
 * Reads the sandbox's passwd and group files directly: the C library's NSS modules may be missing
 * there.
 */
static const char *owner_name(uid_t uid, char *name, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");

	name[0] = '\0';
	for (struct passwd *entry; file && (entry = fgetpwent(file)) != NULL;)
		if (entry->pw_uid == uid) {
			(void)snprintf(name, size, "%s", entry->pw_name);
			break;
		}
	if (file)
		(void)fclose(file);
	return name;
}

static const char *group_name(gid_t gid, char *name, size_t size)
{
	FILE *file = fopen("/etc/group", "re");

	name[0] = '\0';
	for (struct group *entry; file && (entry = fgetgrent(file)) != NULL;)
		if (entry->gr_gid == gid) {
			(void)snprintf(name, size, "%s", entry->gr_name);
			break;
		}
	if (file)
		(void)fclose(file);
	return name;
}

static uint32_t kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILE_REGULAR;
	case S_IFDIR:
		return FILE_DIRECTORY;
	case S_IFLNK:
		return FILE_SYMLINK;
	case S_IFIFO:
		return FILE_FIFO;
	case S_IFSOCK:
		return FILE_SOCKET;
	case S_IFCHR:
		return FILE_CHARACTER_DEVICE;
	case S_IFBLK:
		return FILE_BLOCK_DEVICE;
	default:
		return FILE_OTHER;
	}
}

int answer_flush(struct job *job)
{
	int r = 0;

	if ((job->answer->kind == MESSAGE_FILE_ENTRIES &&
	     job->answer->body.file_entries.entries_count > 0) ||
	    (job->answer->kind == MESSAGE_FILE_MOUNTS &&
	     job->answer->body.file_mounts.mounts_count > 0))
		r = files_answer_send_answer(job, NULL);
	job->answer->kind = 0;
	return r;
}

/*
 * Takes the names from the preceding entry if the ids are the same: in most directories all entries
 * have one owner.
 */
static int files_answer_add_names(struct message *message, const struct message_file_entry *before,
                                  struct message_file_entry *entry)
{
	char name[MESSAGE_FILE_OWNER_MAX + 1];
	int r = 0;

	if (before && before->uid == entry->uid)
		r = message_add_text(message, message_text(message, before->owner), &entry->owner);
	else
		r = message_add_text(message, owner_name(entry->uid, name, sizeof name),
		                     &entry->owner);
	if (r < 0)
		return r;
	if (before && before->gid == entry->gid)
		return message_add_text(message, message_text(message, before->group),
		                        &entry->group);
	return message_add_text(message, group_name(entry->gid, name, sizeof name), &entry->group);
}

int answer_entry(struct job *job, const char *name, const struct stat *st, const char *link)
{
	struct message_file_entries *body = &job->answer->body.file_entries;
	struct message_file_entry *entry;
	int r;

	if (job->answer->kind == MESSAGE_FILE_ENTRIES &&
	    (body->entries_count == MESSAGE_FILE_ENTRIES_MAX ||
	     job->answer->arena_used > BATCH_BYTES)) {
		r = answer_flush(job);
		if (r < 0)
			return r;
	}
	if (job->answer->kind != MESSAGE_FILE_ENTRIES)
		(void)message_begin(job->answer, MESSAGE_FILE_ENTRIES);
	entry = &body->entries[body->entries_count++];
	*entry = (struct message_file_entry){
		.kind = kind_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size_bytes = st->st_size > 0 ? (uint64_t)st->st_size : 0,
		.mtime_s = st->st_mtim.tv_sec > 0 ? (uint64_t)st->st_mtim.tv_sec : 0,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
	};
	r = message_add_text(job->answer, name, &entry->name);
	if (r == 0)
		r = message_add_text(job->answer, link, &entry->link);
	return r == 0 ? files_answer_add_names(job->answer,
	                                       entry > body->entries ? entry - 1 : NULL, entry)
	              : r;
}

int answer_mount(struct job *job, const struct message_file_mount *mount, const char *target,
                 const char *root, const char *type)
{
	struct message_file_mounts *body = &job->answer->body.file_mounts;
	struct message_file_mount *reported;
	int r = 0;

	if (job->answer->kind == MESSAGE_FILE_MOUNTS &&
	    body->mounts_count == MESSAGE_FILE_MOUNTS_MAX)
		r = answer_flush(job);
	if (r < 0)
		return r;
	if (job->answer->kind != MESSAGE_FILE_MOUNTS)
		(void)message_begin(job->answer, MESSAGE_FILE_MOUNTS);
	reported = &body->mounts[body->mounts_count++];
	*reported = *mount;
	r = message_add_text(job->answer, target, &reported->target);
	if (r == 0)
		r = message_add_text(job->answer, root, &reported->root);
	return r == 0 ? message_add_text(job->answer, type, &reported->type) : r;
}
