/* SPDX-License-Identifier: Apache-2.0 */
/* See suspend.h. */
#include "cli/sandboxes/suspend.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "cli/changes/work.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sandboxes/again.h"
#include "cli/sandboxes/sandbox_status.h"
#include "cli/sandboxes/session.h"

static int no_session(const char *id_or_name, struct yett_error *error)
{
	(void)error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
	                "there is no session of the sandbox %.80s, by which it could be made again",
	                ESCAPE(id_or_name));
	error_mend(error,
	           "yett create --name NAME makes a sandbox with one; yett destroy ends this one");
	return YETT_E_NOT_FOUND;
}

/*
 * Opens and locks the session of an existing sandbox. YETT_E_NOT_FOUND, with a hint: the sandbox
 * has no session.
 */
static int open_of(const struct yett_sandbox_status *status, struct session *session,
                   struct yett_error *error)
{
	int r = *status->name ? session_open(status->name, 0, session, error) : YETT_E_NOT_FOUND;

	if (r == 0 && session_is_of(session, status))
		return 0;
	return r == 0 || r == YETT_E_NOT_FOUND
	               ? no_session(*status->name ? status->name : status->info->id, error)
	               : r;
}

/*
 * Reads the sandbox's current directory and variables for commands. If the sandbox cannot be asked,
 * for example because it is paused, the session keeps its values.
 */
static void ask_environment(struct yett_connection *connection,
                            const struct yett_sandbox_status *status, struct session *session,
                            struct yett_session **ret_now)
{
	struct yett_sandbox *sandbox = NULL;
	struct yett_error why = {0};
	int r;

	if (status->state != YETT_STATE_RUNNING)
		return;
	r = yett_sandbox_attach(connection, status->info->id, &sandbox, &why);
	if (r == 0)
		r = yett_session_get(sandbox, ret_now, &why);
	yett_sandbox_close(sandbox);
	if (r || !again_is_sound(*ret_now)) {
		output_note(
			"cannot read the sandbox's directory and variables: those that yett env set are kept%s%s",
			r ? ": " : "", why.message);
		return;
	}
	if (session->making_ms && !*(*ret_now)->directory && !(*ret_now)->env[0])
		return; /* the process that recreated the sandbox was killed before it set them */
	session->cwd = (*ret_now)->directory;
	session->env = (const char **)(uintptr_t)(*ret_now)->env;
}

/*
 * Write the session before ending the sandbox: session_prune() removes a session that is not
 * suspended and whose sandbox is gone.
 */
static int write_and_end(struct yett_connection *connection, struct session *session,
                         const char *id, struct yett_error *error)
{
	uint64_t before_ms = session->suspended_ms;
	int r;

	session->sandbox = id;
	session->making_ms = 0;
	session->suspended_ms = clock_wall_ms();
	r = session_form_write(session, true, error);
	if (r)
		return r;
	r = yett_sandbox_end_by_id(connection, id, error);
	if (r == 0 || r == YETT_E_NOT_FOUND) /* the sandbox ended by itself meanwhile */
		return 0;
	session->suspended_ms = before_ms;
	(void)!session_form_write(session, true, NULL);
	return r;
}

static int is_suspended(const char *name, const char *already, struct yett_error *error)
{
	(void)error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the sandbox %s is suspended%s",
	                name, already);
	error_mend(error, "yett resume %s makes it again", name);
	return YETT_E_NOT_RUNNING;
}

/* Reports a sandbox that `connection` does not see. */
static int runs_elsewhere(const struct session *session, struct yett_error *error)
{
	(void)error_set(
		error, YETT_E_NOT_FOUND, YETT_R_NONE,
		"there is no sandbox %s here: the sandbox of that name belongs to another helper",
		session->name);
	session_mend_options(session, error);
	return YETT_E_NOT_FOUND;
}

static int cli_suspend_explain(struct yett_connection *connection, const struct session *session,
                               int r, struct yett_error *error)
{
	switch (session_look(session, connection, NULL)) {
	case SESSION_THERE:
		return runs_elsewhere(session, error);
	case SESSION_GONE:
		return session_is_suspended(session) ? is_suspended(session->name, "", error) : r;
	case SESSION_UNKNOWN:
	default:
		return r;
	}
}

int suspend_explain(struct yett_connection *connection, const char *id_or_name, int r,
                    struct yett_error *error)
{
	struct session session = {.directory = -1};
	char name[YETT_NAME_SIZE];

	if (r == YETT_E_NOT_FOUND && session_find(id_or_name, name) &&
	    session_open(name, SESSION_UNLOCKED, &session, NULL) == 0)
		r = cli_suspend_explain(connection, &session, r, error);
	session_close(&session);
	return r;
}

int suspend_end(struct yett_connection *connection, const char *id_or_name,
                struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	struct session session = {.directory = -1};
	struct yett_session *now = NULL;
	int r = yett_sandbox_inspect(connection, id_or_name, &status, error);

	if (r)
		return suspend_explain(connection, id_or_name, r, error);
	r = open_of(status, &session, error);
	if (r == 0 && status->state >= YETT_STATE_STOPPING && session_is_suspended(&session))
		r = is_suspended(session.name, " already", error);
	if (r == 0)
		ask_environment(connection, status, &session, &now);
	if (r == 0)
		r = write_and_end(connection, &session, status->info->id, error);
	yett_free(now);
	session_close(&session);
	return r;
}

/*
 * Checks that the session is suspended, and that no sandbox uses its name. Ends a sandbox that has
 * stopped but is still listed, so that the name becomes free. `missed` is the error of the attempt
 * to thaw the sandbox, before the session was read.
 */
static int check_waits(struct yett_connection *connection, const struct session *session,
                       const struct yett_error *missed, struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	int r = yett_sandbox_inspect(connection, session->name, &status, error);

	if (r && r != YETT_E_NOT_FOUND)
		return r;
	/* For example, another process has just recreated the sandbox. */
	if (r == 0 && status->state < YETT_STATE_STOPPING)
		return error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                 "a sandbox %s is there already: %s", session->name,
		                 status->info->id);
	if (missed->code != YETT_E_NOT_FOUND &&
	    !session_is_suspended(session)) { /* the user may want to see how the sandbox ended */
		*error = *missed;
		return (int)missed->code;
	}
	r = session_check_gone(session, connection, error);
	if (r || !status)
		return r;
	r = yett_sandbox_end_by_id(connection, status->info->id, error);
	return r == YETT_E_NOT_FOUND ? 0 : r;
}

int suspend_resume(struct yett_connection *connection, const char *id_or_name,
                   char ret_id[static YETT_ID_SIZE], struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	struct session session = {.directory = -1};
	struct yett_error why = {0};
	char name[YETT_NAME_SIZE];
	int r = yett_sandbox_resume(connection, id_or_name, error);

	ret_id[0] = '\0';
	if (r != YETT_E_NOT_FOUND && r != YETT_E_NOT_RUNNING)
		return r;
	if (r == YETT_E_NOT_RUNNING &&
	    yett_sandbox_inspect(connection, id_or_name, &status, NULL) == 0 &&
	    status->state < YETT_STATE_STOPPING)
		return r; /* the sandbox is running */
	if (!session_find(id_or_name, name))
		return r;
	why = *error;
	r = session_open(name, 0, &session, error);
	if (r == YETT_E_NOT_FOUND) { /* another process is just making a session */
		*error = why;
		r = (int)why.code;
	}
	if (r == 0)
		r = check_waits(connection, &session, &why, error);
	if (r == 0)
		r = again_make(&session, connection, ret_id, error);
	session_close(&session);
	return r;
}

static void note_stores(const struct session *session)
{
	for (size_t i = 0; i < session->shares_count; i++)
		if (session->shares[i].store)
			work_leave_one(session->shares[i].store);
}

/*
 * Removes only the session, if the sandbox does not exist. Removes a session that cannot be read,
 * too.
 */
static int suspend_forget(struct yett_connection *connection, const char *id_or_name,
                          struct yett_error *why)
{
	struct session session = {.directory = -1};
	struct yett_error error = {0}, unknown = {0};
	enum session_there there = SESSION_GONE;
	char name[YETT_NAME_SIZE];
	int r;

	if (!session_find(id_or_name, name))
		return (int)why->code;
	r = session_open(name, SESSION_EVEN_BROKEN, &session, &error);
	if (r == 0 && session.is_read)
		there = session_look(&session, connection, &unknown);
	if (there == SESSION_THERE)
		(void)runs_elsewhere(&session, why);
	if (r == YETT_E_NOT_FOUND || there == SESSION_THERE ||
	    (r == 0 && session.is_read && there == SESSION_GONE &&
	     !session_is_suspended(&session))) {
		session_close(&session);
		return (int)why->code;
	}
	if (r == 0)
		r = session_remove(&session, &error);
	if (r == 0 && there == SESSION_UNKNOWN)
		output_note("the session was removed, but the sandbox %s (%s) may still exist: %s",
		            name, session.sandbox, unknown.message);
	if (r == 0 && session.is_read)
		note_stores(&session);
	else if (r == 0)
		output_note(
			"which stores the session %s had is not known: yett work list tells which there are",
			name);
	session_close(&session);
	if (r)
		*why = error;
	return r;
}

int suspend_destroy(struct yett_connection *connection, const char *id_or_name,
                    struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	struct session session = {.directory = -1};
	struct yett_error why = {0};
	char name[YETT_NAME_SIZE];
	bool is_its = false;
	int r = 0;

	if (yett_sandbox_inspect(connection, id_or_name, &status, NULL) == 0 &&
	    session_find(id_or_name, name)) {
		r = open_of(status, &session, &why);
		is_its = r == 0;
		/* For example, the sandbox is just being recreated. */
		if (r == YETT_E_RESOURCE_LIMIT) {
			*error = why;
			session_close(&session);
			return r;
		}
	}
	r = yett_sandbox_end_by_id(connection, id_or_name, error);
	if (r == 0 && is_its)
		r = session_remove(&session, error);
	session_close(&session);
	if (r == 0 && status)
		work_leave(status->info->id, NULL, false);
	return r == YETT_E_NOT_FOUND ? suspend_forget(connection, id_or_name, error) : r;
}

int suspend_check(const char *id, char ret_name[static YETT_NAME_SIZE], struct yett_error *error)
{
	return session_find_of(id, id, ret_name) ? 0 : no_session(id, error);
}

struct listing {
	struct yett_connection *connection;
	const struct yett_sandbox_status *const *list;
	size_t count;
	const struct manage_run_options *options;
};

static bool suspend_fits(const struct session *session, const char *state, const char *filter)
{
	const char *value = strchr(filter, '=') + 1;
	size_t length = strlen(value);

	switch (*filter) {
	case 's':
		return strcmp(value, state) == 0;
	case 'n':
		return strcmp(session->name, value) == 0;
	case 'p':
		return strcmp(session->profile, value) == 0;
	default:
		for (const char **label = session->labels; *label; label++)
			if (strcmp(*label, value) == 0 ||
			    (!strchr(value, '=') && strncmp(*label, value, length) == 0 &&
			     (*label)[length] == '='))
				return true;
		return false;
	}
}

static void suspend_print_json(struct json *json, const struct session *session, const char *state)
{
	json_open(json, NULL, '{');
	json_text(json, "name", session->name);
	json_text(json, "state", state);
	json_text(json, "profile", session->profile);
	json_text(json, "last_id", session->sandbox);
	json_number(json, "created_ms", session->created_ms);
	json_number_or_null(json, "suspended_ms", session->suspended_ms);
	json_text(json, "directory", session->directory_path);
	json_open(json, "labels", '[');
	for (const char **label = session->labels; *label; label++)
		json_text(json, NULL, *label);
	json_close(json);
	json_open(json, "stores", '[');
	for (size_t i = 0; i < session->shares_count; i++)
		if (session->shares[i].store)
			json_text(json, NULL, session->shares[i].store);
	json_close(json);
	json_close(json);
}

static void print_one(const struct session *session, void *data)
{
	const struct listing *listing = data;
	const struct manage_run_options *options = listing->options;
	enum session_there there;
	const char *state;

	if (!session_is_suspended(session))
		return;
	for (size_t i = 0; i < listing->count; i++)
		if (session_is_of(session, listing->list[i]) &&
		    listing->list[i]->state < YETT_STATE_STOPPING)
			return;
	there = session_look(session, listing->connection, NULL);
	if (there == SESSION_THERE)
		return;
	state = there == SESSION_GONE ? "suspended" : "unknown";
	for (size_t i = 0; i < options->filters_count; i++)
		if (!suspend_fits(session, state, options->filters[i]))
			return;
	if (output_json())
		suspend_print_json(output_json(), session, state);
	else
		sandbox_status_print_suspended(session, state, options->works, options->all);
}

void suspend_print(struct yett_connection *connection,
                   const struct yett_sandbox_status *const *list, size_t count,
                   const struct manage_run_options *options)
{
	struct listing listing = {connection, list, count, options};
	size_t broken;

	if (options->quiet && !output_json())
		return; /* a suspended sandbox has no id */
	if (output_json())
		json_open(output_json(), "suspended", '[');
	broken = session_each(print_one, &listing);
	if (output_json())
		json_close(output_json());
	if (broken)
		output_note("%zu sessions cannot be read: yett resume NAME says why", broken);
}
