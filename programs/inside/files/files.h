/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-files: serves one file operation, requested in one message and answered on the same socket.
 *
 * It runs where the files are, with the rights of their user: inside a sandbox as one of its
 * commands, for requests of libyett; outside as a child of the calling process, for the outer half
 * of a copy. It has no privilege in either place. Outside, it confines itself to one directory
 * before it reads a byte that comes from a sandbox (confine.c).
 */
#pragma once

#include <sys/stat.h>

#include "base/error.h"
#include "protocol/message.h"

struct job {
	int socket;
	const struct message *request;
	const char *path, *target; /* from the request */
	int stream;                /* the pipe of the archive; -1: none */
	/* outside: the directory that `path` is relative to; inside: -1 */
	int directory;
	uint64_t sequence;
	struct message *answer; /* the message that answer.c builds */
	uint64_t entries, bytes, skipped;
};

static inline bool job_is_outside(const struct job *job)
{
	return job->directory >= 0;
}

/* Each operation sends its own answer. Returns 0, or -errno when the client is gone. */
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
 * Confines this process permanently. Where the kernel has Landlock (version 2 or later), only files
 * at or below `directory` stay accessible: read-only or, if `writable`, for everything except
 * execution and device nodes. On every kernel, a seccomp filter allows only the system calls that a
 * copy needs: no socket is made or connected, no process is started or signalled. Returns 0 or
 * -errno. landlock(7), seccomp(2)
 */
int confine(int directory, bool writable);

/* --- answers: 0, or -errno when the client is gone --- */

/* Sends "cannot WHAT 'PATH': …" with the error number as its cause. */
int answer_failure(struct job *job, const char *what, const char *path, int error_number);
int answer_error(struct job *job, const struct yett_error *error);
int answer_done(struct job *job);
int answer_opened(struct job *job, int fd, uint64_t size);
/* Reports a file of a tree that was passed over, and counts it in job->skipped. */
int answer_skipped(struct job *job, const char *path, const char *why);
/*
 * Collects an entry, and sends the collected ones when a message is full. answer_flush() sends the
 * rest.
 */
int answer_entry(struct job *job, const char *name, const struct stat *st, const char *link);
int answer_flush(struct job *job);
/* The same for a mount. No operation has both entries and mounts. */
int answer_mount(struct job *job, const struct message_file_mount *mount, const char *target,
                 const char *root, const char *type);

/* --- paths --- */

/*
 * Opens the directory that contains `path` (O_PATH), and stores the last component in `name`. For
 * "/", or a path that ends in "." or "..", opens that directory itself, and `name` is ".". Returns
 * 0 or -errno.
 */
int path_open_parent(const struct job *job, const char *path, int *ret_directory, char name[256]);

/* Our archives call the file or tree itself "root", and everything in it "root/…". */
#define ARCHIVE_ROOT       "root"
#define ARCHIVE_BLOCK_SIZE (256 * 1024)
#define STREAM_TIMEOUT_MS  60000

/*
 * Read from or write to the pipe. Outside, they fail with -ETIMEDOUT after STREAM_TIMEOUT_MS
 * without a byte. stream_read() returns the number of bytes (0: the end), stream_write() 0; both
 * -errno.
 */
ssize_t stream_read(const struct job *job, void *bytes, size_t size);
int stream_write(const struct job *job, const void *bytes, size_t size);
