/*
 * The files of the audit, for who reads them: a directory with its segments and state, or what yett
 * audit export wrote.
 *
 * Runs as the caller, who has to be root to read what yett-audit writes.
 */
#pragma once

#include "base/error.h"
#include "programs/audit/slots.h"

#define AUDIT_DIR "/var/log/yett" /* as the policy has it, unless it says otherwise */

struct audit_files {
	int directory;
	uint32_t *numbers; /* of the segments, from the first on */
	uint64_t *sizes;   /* as they were when the state was read */
	size_t count;
	struct slots_state state;
	bool has_state;
};

/* Looks into it. */
_must_check_ int audit_files_open(const char *path, struct audit_files *ret_files,
                                  struct yett_error *error);
void audit_files_close(struct audit_files *files);

/* A segment, to be freed, of its size, which is less where it was cut meanwhile. The name that it
 * is told by is in `name`. */
_must_check_ int audit_files_read(const struct audit_files *files, size_t i, char name[32],
                                  char **ret_bytes, struct yett_error *error);

/* The state, to be written by root, made where there is none; no other yett writes it until it is
 * closed. A descriptor, or -1. */
_must_check_ int audit_files_open_state(const struct audit_files *files, struct yett_error *error);

/* Removes a segment. */
_must_check_ int audit_files_remove(const struct audit_files *files, size_t i,
                                    struct yett_error *error);

/* All of a file, or of the standard input ("-"), to be freed, with a NUL behind. */
_must_check_ int audit_files_read_file(const char *path, char **ret_bytes, size_t *ret_size,
                                       struct yett_error *error);
