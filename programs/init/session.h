/*
 * What commands begin with when their requests do not say otherwise: a directory, and variables
 * besides the profile's.
 *
 * Kept by init for the life of the sandbox, set and told through any channel. Unprivileged; only
 * memory.
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

#define SESSION_ENV_MAX 1024
/* of all variables, each with its NUL: what one message can tell of */
#define SESSION_BYTES_MAX 32768

struct session {
	char cwd[MESSAGE_PATH_MAX + 1]; /* empty: / */
	uint32_t env_count;
	size_t env_used;
	char env[SESSION_BYTES_MAX]; /* NAME=VALUE and NUL, one after the other */
};

/*
 * Does what a SESSION asks for, wholly or not at all. 0, YETT_E_INVALID_REQUEST, or
 * YETT_E_RESOURCE_LIMIT when the variables would be too many or too long.
 */
_must_check_ int session_change(struct session *session, const struct message *message,
                                struct yett_error *error);

/* Whether a SESSION is more than a question. */
bool session_asks_for_change(const struct message *message);

/* Makes `message` a SURROUNDINGS that tells of it. */
void session_tell(const struct session *session, struct message *message);
