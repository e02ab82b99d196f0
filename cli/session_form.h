/*
 * What a session says, as text: "yett-session 1", lines of KEY=VALUE as base/lines.h has them, and
 * "end" as the last one, by which one is known that is torn.
 */
#pragma once

#include "cli/session.h"

#define SESSION_FILE    "session"
#define SESSION_HISTORY "history"
#define SESSION_MAX     (size_t)(4 * 1024 * 1024)

/* YETT_E_NOT_FOUND: there is no file; YETT_E_FILE_OPERATION_FAILED: it is none that we write, or
 * another version's. */
_must_check_ int session_form_read(struct session *session, struct yett_error *error);
void session_form_free(struct session *session);

/* Sixteen hexadecimal digits. */
bool session_form_is_id(const char *text);
