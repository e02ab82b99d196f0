/*
 * yett-files: one operation on files, asked for in one message and answered on the same socket.
 *
 * It runs where the files are and as who may use them: inside a sandbox as one of its commands, for
 * what libyett asks there; and outside as the caller's own child, for its half of a copy. It has no
 * privilege in either place. Outside it confines itself to one directory before it reads a byte
 * that comes from a sandbox (confine.c).
 */
#pragma once

#include <sys/stat.h>

#include "base/error.h"
#include "protocol/message.h"

struct job {
	int socket;
	const struct message *request;
	const char *path, *target; /* of the request */
	int stream;                /* the archive's pipe; -1: none */
	int directory;             /* outside: what `path` is relative to; -1: inside */
	uint64_t sequence;
	struct message *answer; /* for answer.c */
	uint64_t entries, bytes, skipped;
};

static inline bool job_is_outside(const struct job *job)
{
	return job->directory >= 0;
}

/* Each answers for itself, and returns 0, or -errno when the client is gone. */
int operations_open(struct job *job);
int operations_stat(struct job *job);
int operations_list(struct job *job);
int operations_mkdir(struct job *job);
int operations_rename(struct job *job);
int operations_remove(struct job *job);
int operations_listen(struct job *job);
int operations_mounts(struct job *job);
int pack_run(struct job *job);
int unpack_run(struct job *job);

/*
 * Keeps this process to what lies at or below `directory`, for good, where the kernel has Landlock:
 * reading only, or all that can be done with files; and everywhere to the system calls that this
 * takes: no socket is made or connected, no process started or signalled. 0 or -errno. landlock(7),
 * seccomp(2)
 */
int confine(int directory, bool writable);

/* --- answers: 0, or -errno when the client is gone --- */

/* "cannot WHAT 'PATH': …" with the error's number in the detail. */
int answer_failure(struct job *job, const char *what, const char *path, int error_number);
int answer_error(struct job *job, const struct yett_error *error);
int answer_done(struct job *job);
int answer_opened(struct job *job, int fd, uint64_t size);
/* Something in a tree that is passed over; counted in job->skipped. */
int answer_skipped(struct job *job, const char *path, const char *why);
/* Collects an entry, and sends what was collected when it is much; answer_flush() sends the rest.
 */
int answer_entry(struct job *job, const char *name, const struct stat *st, const char *link);
int answer_flush(struct job *job);
/* The same of a mount; no operation has both. */
int answer_mount(struct job *job, const struct message_file_mount *mount, const char *target,
                 const char *root, const char *type);

/* --- paths --- */

/* The directory that `path` lies in, opened (O_PATH), and its last component, in `name`. 0 or
 * -errno. */
int path_open_parent(const struct job *job, const char *path, int *ret_directory, char name[256]);

/* What an archive of ours calls the file or tree itself; all that is in it is "root/…". */
#define ARCHIVE_ROOT       "root"
#define ARCHIVE_BLOCK_SIZE (256 * 1024)
#define STREAM_TIMEOUT_MS  60000

/* Reads or writes what the pipe takes; outside for no longer than STREAM_TIMEOUT_MS without a byte.
 * -errno. */
ssize_t stream_read(const struct job *job, void *bytes, size_t size);
int stream_write(const struct job *job, const void *bytes, size_t size);
