/*
 * Suspended sandboxes: ended, with what it takes to make them again kept. yett suspend, and what
 * resume, destroy, ps and a rollback do of them.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/manage.h"
#include "cli/options.h"
#include "libclient/yett.h"

/* Each by an id or a name. Resume gives the id of the sandbox that was made again, or the empty
 * text where one went on. */
_must_check_ int suspend_end(struct yett_connection *connection, const char *id_or_name,
                             struct yett_error *error);
_must_check_ int suspend_resume(struct yett_connection *connection, const char *id_or_name,
                                char ret_id[static YETT_ID_SIZE], struct yett_error *error);

/* Of a sandbox that was not found, with `error` saying so: where that is because it is suspended,
 * that is said. The code. */
_must_check_ int suspend_explain(struct yett_connection *connection, const char *id_or_name, int r,
                                 struct yett_error *error);

/* As yett_sandbox_end_by_id(), and the session goes, too. Of a suspended one that is all, and which
 * stores are kept is told. */
_must_check_ int suspend_destroy(struct yett_connection *connection, const char *id_or_name,
                                 struct yett_error *error);

/* Whether it could be suspended: YETT_E_NOT_FOUND, with what helps. Its name. */
_must_check_ int suspend_check(const char *id, char ret_name[static YETT_NAME_SIZE],
                               struct yett_error *error);

/* Prints those that are suspended, as ps does; in JSON as a member "suspended". `list` is of what
 * is there. */
void suspend_print(struct yett_connection *connection,
                   const struct yett_sandbox_status *const *list, size_t count,
                   const struct manage_run_options *options);
