/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: the data needed to recreate a sandbox, kept in $XDG_STATE_HOME/yett/sessions/NAME in
 * the files "session" and "history".
 *
 * Runs as the caller, on the caller's files. Never trust them unchecked: they may have been edited
 * or truncated. To change a session, hold its lock, which is on the directory NAME. A changed file
 * is written as a new file and renamed once it is complete.
 */
#pragma once

#include "base/error.h"
#include "cli/sandboxes/session_form.h"
#include "libclient/yett.h"

/*
 * Opens the session of a name, takes its lock and reads it. YETT_E_NOT_FOUND.
 * YETT_E_RESOURCE_LIMIT: another process has the lock. YETT_E_SECURITY_VIOLATION: another user owns
 * the directory, or can use it. YETT_E_FILE_OPERATION_FAILED. Call session_close() in every case.
 *
 * SESSION_MAKE: makes the directory if there is no session. SESSION_EVEN_BROKEN: returns 0 even if
 * the session file cannot be read; `is_read` is false then. SESSION_UNLOCKED: does not take the
 * lock. SESSION_AT_ONCE: does not wait for the lock.
 */
enum session_flag {
	SESSION_MAKE = 1,
	SESSION_EVEN_BROKEN = 2,
	SESSION_UNLOCKED = 4,
	SESSION_AT_ONCE = 8
};
_must_check_ int session_open(const char *name, unsigned flags, struct session *ret_session,
                              struct yett_error *error);

/* Returns whether a session has this name, or is for the sandbox of this id. Stores its name. */
bool session_find(const char *id_or_name, char ret_name[static YETT_NAME_SIZE]);

/*
 * Returns whether there is a session of the sandbox `id`, which the caller called `id_or_name`.
 * Stores its name.
 */
bool session_find_of(const char *id_or_name, const char *id, char ret_name[static YETT_NAME_SIZE]);

/*
 * Closes the session and releases the lock. If the lock was held and there is no session file,
 * removes the directory.
 */
void session_close(struct session *session);

/*
 * Removes the history file. Call it for a new sandbox: an earlier sandbox with the same name may
 * have left its history. The caller holds the lock.
 */
void session_forget_history(const struct session *session);

/* Removes the session and its history. Returns 0 or a code. */
_must_check_ int session_remove(struct session *session, struct yett_error *error);

/*
 * Calls `each` with every session that can be read, without taking locks. Returns how many cannot
 * be read.
 */
size_t session_each(void (*each)(const struct session *session, void *data), void *data);

/* Whether the session is suspended, provided that its sandbox is gone. */
bool session_is_suspended(const struct session *session);

/* Whether the session belongs to this existing sandbox. */
bool session_is_of(const struct session *session, const struct yett_sandbox_status *status);

/*
 * Finds out whether the session's sandbox is running or paused. `connection` may not see a sandbox
 * that was made with another key or through another socket: if the session's options name a key
 * or a socket, connects with these. SESSION_UNKNOWN: the helper could not be asked, for example
 * because that key or socket is gone; `why` has the error. Never treat an unknown sandbox as gone.
 */
enum session_there { SESSION_GONE, SESSION_THERE, SESSION_UNKNOWN };
enum session_there session_look(const struct session *session, struct yett_connection *connection,
                                struct yett_error *why);

/*
 * Returns 0 if the sandbox is gone. Otherwise, or if that is unknown, returns YETT_E_ALREADY_EXISTS
 * with a hint.
 */
_must_check_ int session_check_gone(const struct session *session,
                                    struct yett_connection *connection, struct yett_error *error);

/*
 * Adds a hint to the error: the --socket and --key with which the sandbox was created, if it has
 * any.
 */
void session_mend_options(const struct session *session, struct yett_error *error);

/*
 * Removes sessions that are not suspended, whose sandboxes are gone, and whose files have not
 * changed for seven days.
 */
void session_prune(struct yett_connection *connection);
