/* SPDX-License-Identifier: Apache-2.0 */
/* See sandboxes.h. */
#include "cli/sandboxes/sandboxes.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/files/mount.h"
#include "cli/output.h"
#include "cli/run/commands.h"
#include "cli/sandboxes/manage.h"
#include "cli/sandboxes/sandbox_status.h"
#include "cli/sandboxes/suspend.h"

static bool fits_all(const struct yett_sandbox_status *status,
                     const struct manage_run_options *options)
{
	for (size_t i = 0; i < options->filters_count; i++)
		if (!manage_fits(status, options->filters[i]))
			return false;
	return true;
}

static int sandboxes_older(const void *a, const void *b)
{
	const struct yett_sandbox_status *x = *(const struct yett_sandbox_status *const *)a,
					 *y = *(const struct yett_sandbox_status *const *)b;

	return x->created_ms != y->created_ms ? (x->created_ms < y->created_ms ? -1 : 1)
	                                      : strcmp(x->info->id, y->info->id);
}

static void sandboxes_print_list(const struct yett_sandbox_status *const *list, size_t count,
                                 const struct manage_run_options *options)
{
	struct json *json = output_json();

	if (json)
		json_open(json, "sandboxes", '[');
	else if (!options->quiet)
		(void)printf("%-16s  %-16s  %-20s  %-10s  %6s  %8s  %-16s  %sLABELS\n", "ID",
		             "NAME", "STATE", "PROFILE", "AGE", "ATTACHED", "STORE",
		             options->all ? "       UID  " : "");
	for (size_t i = 0; i < count; i++) {
		if (!fits_all(list[i], options))
			continue;
		if (json)
			sandbox_status_json(json, NULL, list[i], options->works, NULL);
		else if (options->quiet)
			(void)puts(list[i]->info->id);
		else
			sandbox_status_print_row(list[i], options->works, options->all);
	}
	if (json)
		json_close(json);
}

/*
 * Lists the oldest sandbox first. Includes the caller's sandboxes of a helper without root that was
 * started before the service: only that helper knows them.
 */
static int list_sandboxes(struct yett_connection *connection, struct manage_run_options *options,
                          struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *works = NULL;
	_cleanup_(connect_freep) struct yett_sandbox_list *list = NULL, *own_list = NULL;
	_cleanup_free_ const struct yett_sandbox_status **rows = NULL;
	struct yett_connection *own = NULL;
	size_t count = 0, own_count = 0;
	int r = yett_sandboxes_list(connection, options->all ? YETT_LIST_ALL : 0, &list, error);

	if (r)
		return r;
	if (connect_own(&options->connect, connection, &own) == 0 && own &&
	    yett_sandboxes_list(own, 0, &own_list, NULL) == 0)
		own_count = yett_sandbox_list_count(own_list);
	yett_connection_close(own);
	rows = calloc(yett_sandbox_list_count(list) + own_count + 1, sizeof *rows);
	if (!rows)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the list");
	for (size_t i = 0; i < yett_sandbox_list_count(list); i++)
		rows[count++] = yett_sandbox_list_get(list, i);
	for (size_t i = 0; i < own_count; i++)
		rows[count++] = yett_sandbox_list_get(own_list, i);
	if (count)
		qsort(rows, count, sizeof *rows, sandboxes_older);
	if (yett_works_list(&works, NULL) == 0)
		options->works = works;
	sandboxes_print_list(rows, count, options);
	suspend_print(connection, rows, count, options);
	return 0;
}

int ps_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	if (first < argc && (options.all || options.filters_count > 0))
		return manage_finish(
			connection,
			error_set(
				&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"--filter and --all are for the list of sandboxes: leave them out, or the sandbox"),
			&error);
	if (first < argc)
		return manage_finish(connection,
		                     commands_print(connection, argv[first], options.quiet, &error),
		                     &error);
	return manage_finish(connection, list_sandboxes(connection, &options, &error), &error);
}

int inspect_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *works = NULL;
	struct manage_run_options options = {0};
	struct yett_sandbox_status *status;
	struct yett_connection *connection;
	char *plan = NULL;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	if (options.mounts)
		return manage_finish(connection, mount_print_all(connection, argv[first], &error),
		                     &error);
	r = yett_sandbox_inspect(connection, argv[first], &status, &error);
	if (r != 0)
		return manage_finish(connection, r, &error);
	if ((output_json() ? yett_sandbox_inspect_plan_json : yett_sandbox_inspect_plan)(
		    connection, status->info->id, &plan, &error) != 0)
		output_note("the set-up steps of the sandbox cannot be shown: %s",
		            error.message); /* for example, the sandbox has just ended */
	(void)!yett_works_list(&works, NULL);
	if (output_json()) {
		sandbox_status_json(output_json(), "sandbox", status, works, plan);
	} else {
		sandbox_status_print(status, works);
		(void)putchar('\n');
		output_text(stdout, plan, true);
	}
	yett_free(plan);
	yett_free(status);
	return manage_finish(connection, r, &error);
}

static void sandboxes_report_state(struct yett_sandbox *sandbox, const char *state, const char *why)
{
	const char *id = yett_sandbox_get_info(sandbox)->id;
	struct json *json = output_json();

	if (!json) {
		(void)printf(why ? "%s %s %s\n" : "%s %s\n", id, state, why);
		return;
	}
	json_text(json, "id", id);
	json_text(json, "state", state);
	json_text(json, "ended", why);
	output_json_line();
}

/* Prints each state change until the sandbox has ended. */
static int watch(struct yett_connection *connection, struct yett_sandbox *sandbox,
                 struct yett_error *error)
{
	enum yett_state last = YETT_STATE_DESTROYED;
	struct pollfd wait = {.fd = yett_connection_fd(connection), .events = POLLIN};
	int r = 0;

	while (r == 0 && yett_sandbox_ended(sandbox) == YETT_ENDED_NOT) {
		enum yett_state state = yett_sandbox_state(sandbox);

		if (state != last)
			sandboxes_report_state(sandbox, yett_state_name(state), NULL);
		r = output_flush("to standard output", error);
		last = state;
		/*
		 * The end of the sandbox was read together with this state. Do not wait: no further
		 * message may follow.
		 */
		if (r || state == YETT_STATE_DESTROYED)
			break;
		(void)poll(&wait, 1, -1);
		r = yett_connection_dispatch(connection, error);
	}
	if (yett_sandbox_ended(sandbox) != YETT_ENDED_NOT)
		sandboxes_report_state(sandbox, "ended",
		                       yett_ended_name(yett_sandbox_ended(sandbox)));
	return r;
}

int attach_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0)
		r = watch(connection, sandbox, &error);
	yett_sandbox_close(sandbox);
	return manage_finish(connection, r, &error);
}

static int pause_one(struct yett_connection *connection, const char *operand)
{
	struct yett_error error = {0};

	return manage_report(operand, yett_sandbox_pause(connection, operand, &error), &error);
}

static int resume_one(struct yett_connection *connection, const char *operand)
{
	struct yett_error error = {0};
	char id[YETT_ID_SIZE] = "";
	int r = suspend_resume(connection, operand, id, &error);

	if (*id && !output_json())
		(void)puts(id);
	return manage_report_made(operand, id, r, &error);
}

static int destroy_one(struct yett_connection *connection, const char *operand)
{
	struct yett_error error = {0};

	return manage_report(operand, suspend_destroy(connection, operand, &error), &error);
}

static int suspend_one(struct yett_connection *connection, const char *operand)
{
	struct yett_error error = {0};
	int r = suspend_end(connection, operand, &error);

	if (r == 0 && !output_json()) {
		(void)fputs("suspended ", stdout);
		output_text(stdout, operand, false);
		(void)putchar('\n');
	}
	return manage_report(operand, r, &error);
}

int sandboxes_main(const struct subcommand *self, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*act)(struct yett_connection *connection,
		           const char *id_or_name); /* returns whether it failed */
	} actions[] = {{"pause", pause_one},
	               {"suspend", suspend_one},
	               {"resume", resume_one},
	               {"destroy", destroy_one}};
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct json *json;
	int first, failed = 0, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	json = output_json();
	if (json)
		json_open(json, "sandboxes", '[');
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, self->name) != 0)
			continue;
		for (int at = first; at < argc; at++)
			failed |= actions[i].act(connection, argv[at]);
	}
	if (json)
		json_close(json);
	if (strcmp(self->name, "suspend") == 0 && !failed)
		output_note(
			"the sandbox lost its processes, /tmp, the home directory and all else that was not shared, and what yett mount "
			"and yett net added; yett resume recreates the sandbox");
	yett_connection_close(connection);
	return failed ? EXIT_FAILED : 0;
}
