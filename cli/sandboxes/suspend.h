/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspended sandboxes: ended, but with a session from which they can be recreated. Implements yett
 * suspend, and what resume, destroy, ps and rollback do with suspended sandboxes.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"
#include "cli/sandboxes/manage.h"
#include "libclient/yett.h"

/*
 * Suspend or resume a sandbox by its id or name. If suspend_resume() recreates the sandbox, *ret_id
 * is its new id; if it only thaws the sandbox, *ret_id is empty.
 */
_must_check_ int suspend_end(struct yett_connection *connection, const char *id_or_name,
                             struct yett_error *error);
_must_check_ int suspend_resume(struct yett_connection *connection, const char *id_or_name,
                                char ret_id[static YETT_ID_SIZE], struct yett_error *error);

/*
 * Call this when a sandbox was not found: `r` is the code and `error` the error. If the sandbox is
 * suspended, or runs where `connection` does not see it, replaces the error. Returns the code.
 */
_must_check_ int suspend_explain(struct yett_connection *connection, const char *id_or_name, int r,
                                 struct yett_error *error);

/*
 * As yett_sandbox_end_by_id(), but also removes the session. For a suspended sandbox, only removes
 * the session and prints which stores are kept.
 */
_must_check_ int suspend_destroy(struct yett_connection *connection, const char *id_or_name,
                                 struct yett_error *error);

/*
 * Checks that the sandbox has a session, so that it can be suspended, and stores its name.
 * YETT_E_NOT_FOUND, with a hint.
 */
_must_check_ int suspend_check(const char *id, char ret_name[static YETT_NAME_SIZE],
                               struct yett_error *error);

/*
 * Prints the suspended sandboxes as rows of ps, or as a member "suspended" of the document. `list`
 * has the existing sandboxes.
 */
void suspend_print(struct yett_connection *connection,
                   const struct yett_sandbox_status *const *list, size_t count,
                   const struct manage_run_options *options);
