/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format of a session: "yett-session 1", then lines of KEY=VALUE as base/lines.h
 * describes, and "end" as the last line. A file without that line is truncated.
 */
#pragma once

#include "cli/session.h"

#define SESSION_FILE    "session"
#define SESSION_HISTORY "history"
#define SESSION_MAX     (size_t)(4 * 1024 * 1024)

/*
 * YETT_E_NOT_FOUND: there is no file. YETT_E_FILE_OPERATION_FAILED: the file cannot be read, is
 * invalid, or has another version.
 */
_must_check_ int session_form_read(struct session *session, struct yett_error *error);
void session_form_free(struct session *session);

/* Whether the text is an id: sixteen lower-case hexadecimal digits. */
bool session_form_is_id(const char *text);
