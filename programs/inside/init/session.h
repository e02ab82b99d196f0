/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: the working directory and the environment variables, besides the profile's, that a
 * command gets unless its request says otherwise.
 *
 * init keeps the session for the life of the sandbox. Clients can read and change it on any
 * channel. Unprivileged; uses only memory.
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

#define SESSION_ENV_MAX 1024
/*
 * Size of all variables, each with its NUL. One SURROUNDINGS message must have room for all of
 * them.
 */
#define SESSION_BYTES_MAX 32768

struct session {
	char cwd[MESSAGE_PATH_MAX + 1]; /* empty: "/" */
	uint32_t env_count;
	size_t env_used;
	char env[SESSION_BYTES_MAX]; /* NAME=VALUE and NUL, one after the other */
};

/*
 * Applies a SESSION completely or not at all. Returns 0, YETT_E_INVALID_REQUEST, or
 * YETT_E_RESOURCE_LIMIT when there would be too many variables or too many bytes.
 */
_must_check_ int session_change(struct session *session, const struct message *message,
                                struct yett_error *error);

/* Whether a SESSION changes anything, rather than only asking for the session. */
bool session_asks_for_change(const struct message *message);

/* Makes `message` a SURROUNDINGS that describes the session. */
void session_report(const struct session *session, struct message *message);
