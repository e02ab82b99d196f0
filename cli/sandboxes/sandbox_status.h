/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the status of a sandbox: as JSON, as text, or as a row of `yett ps`.
 *
 * Runs as the caller. Text from the helper is printed escaped, as output.h describes.
 */
#pragma once

#include "base/json.h"
#include "cli/sandboxes/session.h"
#include "libclient/yett.h"
#include "workspace/yett-workspace.h"

/*
 * Adds the status as a member. Empty strings become null. Times that were not reached and limits
 * that are not set are 0, except the time limits of commands, which become null. `works` has the
 * stores (NULL: unknown). `plan`: the set-up steps as JSON (NULL: omit the member).
 */
void sandbox_status_json(struct json *json, const char *name, const struct yett_sandbox_status *s,
                         const struct yett_work_list *works, const char *plan);

/* Prints a line for each value that is known. */
void sandbox_status_print(const struct yett_sandbox_status *s, const struct yett_work_list *works);

/* Print the row of a sandbox, or of a session whose sandbox is not running. */
void sandbox_status_print_row(const struct yett_sandbox_status *status,
                              const struct yett_work_list *works, bool with_uid);
void sandbox_status_print_suspended(const struct session *session, const char *state,
                                    const struct yett_work_list *works, bool with_uid);
