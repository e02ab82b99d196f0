/* SPDX-License-Identifier: Apache-2.0 */
/* See session.h. */
#include "programs/inside/init/session.h"

#include <string.h>

/* Whether `variable` has this name. */
static bool session_is_named(const char *variable, const char *name, size_t length)
{
	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/*
 * Whether the request sets a variable of the same name in item `from` or later, or (if `from` is 0)
 * unsets it.
 */
static bool session_is_replaced(const struct message *message, const char *variable, uint32_t from)
{
	const struct message_session *change = &message->body.session;
	size_t length = strcspn(variable, "=");

	for (uint32_t i = from; i < change->set_count; i++)
		if (session_is_named(message_text(message, change->set[i]), variable, length))
			return true;
	for (uint32_t i = 0; from == 0 && i < change->unset_count; i++)
		if (change->unset[i].length == length &&
		    strncmp(message_text(message, change->unset[i]), variable, length) == 0)
			return true;
	return false;
}

static bool session_add(struct session *session, const char *variable)
{
	size_t size = strlen(variable) + 1;

	if (session->env_count == SESSION_ENV_MAX || size > sizeof session->env - session->env_used)
		return false;
	memcpy(session->env + session->env_used, variable, size);
	session->env_used += size;
	session->env_count++;
	return true;
}

int session_change(struct session *session, const struct message *message, struct yett_error *error)
{
	/* Static because it is large. Only one change is made at a time. */
	static struct session changed;
	const struct message_session *change = &message->body.session;
	const char *cwd = message_text(message, change->cwd), *at = session->env;
	bool has_room = true;

	if (!cwd || (*cwd && *cwd != '/'))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the directory of a session is an absolute path");
	for (uint32_t i = 0; i < change->unset_count; i++)
		if (strchr(message_text(message, change->unset[i]), '='))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                 "the name of a variable has no '='");
	changed = (struct session){0};
	memcpy(changed.cwd, *cwd ? cwd : session->cwd, strlen(*cwd ? cwd : session->cwd));
	for (uint32_t i = 0; has_room && i < session->env_count; i++, at += strlen(at) + 1)
		if (!session_is_replaced(message, at, 0))
			has_room = session_add(&changed, at);
	/* If the request sets a name more than once, the last value counts. */
	for (uint32_t i = 0; has_room && i < change->set_count; i++)
		if (!session_is_replaced(message, message_text(message, change->set[i]), i + 1))
			has_room = session_add(&changed, message_text(message, change->set[i]));
	if (!has_room)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "a session has at most %d variables, of %d bytes together",
		                 SESSION_ENV_MAX, SESSION_BYTES_MAX);
	*session = changed;
	return 0;
}

bool session_asks_for_change(const struct message *message)
{
	const struct message_session *change = &message->body.session;

	return change->cwd.length > 0 || change->set_count > 0 || change->unset_count > 0;
}

void session_report(const struct session *session, struct message *message)
{
	struct message_surroundings *reported =
		&message_begin(message, MESSAGE_SURROUNDINGS)->surroundings;
	const char *at = session->env;

	/* The message has room for a complete session. */
	(void)!message_add_text(message, session->cwd, &reported->cwd);
	for (reported->env_count = 0; reported->env_count < session->env_count;
	     at += strlen(at) + 1)
		(void)!message_add_text(message, at, &reported->env[reported->env_count++]);
}
