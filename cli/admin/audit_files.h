/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the audit, for programs that read them: a directory with segments and state, or a
 * file that `yett audit export` wrote.
 *
 * Runs as the caller, who must be root to read what yett-audit writes.
 */
#pragma once

#include "base/error.h"
#include "programs/audit/slots.h"

#define AUDIT_DIR "/var/log/yett" /* the default of the policy */

struct audit_files {
	int directory;
	uint32_t *numbers; /* of the segments, ascending */
	uint64_t *sizes;   /* as they were when the state was read */
	size_t count;
	struct slots_state state;
	bool has_state;
};

/* Opens the directory, lists the segments and reads the state. Close with audit_files_close(). */
_must_check_ int audit_files_open(const char *path, struct audit_files *ret_files,
                                  struct yett_error *error);
void audit_files_close(struct audit_files *files);

/*
 * Reads segment i, up to the size in files->sizes[i]. If the file is shorter by now, that size is
 * reduced. Writes the name of the segment, for messages, to `name`. The caller frees *ret_bytes.
 */
_must_check_ int audit_files_read(const struct audit_files *files, size_t i, char name[32],
                                  char **ret_bytes, struct yett_error *error);

/*
 * Opens the state for writing, and creates it if it is missing; needs root. Waits for a lock on the
 * directory, which keeps other yett processes from writing the state until audit_files_close().
 * Returns a descriptor for the caller to close, or -1 with an error.
 */
_must_check_ int audit_files_open_state(const struct audit_files *files, struct yett_error *error);

/* Removes segment i. */
_must_check_ int audit_files_remove(const struct audit_files *files, size_t i,
                                    struct yett_error *error);

/* Reads the whole file, or stdin for "-", and appends a NUL. The caller frees *ret_bytes. */
_must_check_ int audit_files_read_file(const char *path, char **ret_bytes, size_t *ret_size,
                                       struct yett_error *error);
