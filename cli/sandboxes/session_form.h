/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session says, and its text format: "yett-session 1", then lines of KEY=VALUE as
 * base/lines.h describes, and "end" as the last line. A file without that line is truncated.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "libclient/yett.h"

#define SESSION_FILE    "session"
#define SESSION_HISTORY "history"
#define SESSION_MAX     (size_t)(4 * 1024 * 1024)

/* A share as it was when the sandbox was created. */
struct session_share {
	uint64_t device, inode;
	uint32_t flags;     /* enum yett_share_flag */
	const char *store;  /* id of the store; NULL: none */
	const char *path;   /* without symbolic links */
	const char *target; /* inside */
};

struct session {
	int directory; /* the session's directory; -1: not open */
	bool is_locked;
	bool is_removed; /* by session_remove(); another session may have the name now */
	char name[YETT_NAME_SIZE];
	char path[4096];            /* path of the directory */
	bool is_read;               /* the file was read, and the members below are valid */
	char *text, **lists;        /* memory of the strings and lists; owned */
	const char *directory_path; /* where `yett create` was called; empty: unknown */
	uint64_t device, inode;     /* of that directory */
	const char *sandbox, *profile, *boot;
	/*
	 * The options of `yett create`, as --NAME or --NAME=VALUE. This list and those below end
	 * with NULL.
	 */
	const char **words;
	const char **labels;
	/* The initial directory and variables of commands: yett_session_get(). */
	const char *cwd, **env;
	struct session_share *shares;
	size_t shares_count;
	uint64_t created_ms, suspended_ms; /* milliseconds since 1970; 0: not suspended */
	uint64_t making_ms;                /* when recreating the sandbox began; 0: not under way */
	bool is_idle_suspended; /* if the sandbox ends because it is idle, it is suspended */
};

/*
 * YETT_E_NOT_FOUND: there is no file. YETT_E_FILE_OPERATION_FAILED: the file cannot be read, is
 * invalid, or has another version.
 */
_must_check_ int session_form_read(struct session *session, struct yett_error *error);
void session_form_free(struct session *session);

/*
 * Writes the session file. `is_lasting`: syncs it, so that after a power failure either the new or
 * the old file exists.
 */
_must_check_ int session_form_write(const struct session *session, bool is_lasting,
                                    struct yett_error *error);

/* Whether the text is an id: sixteen lower-case hexadecimal digits. */
bool session_form_is_id(const char *text);
