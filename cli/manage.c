/* SPDX-License-Identifier: Apache-2.0 */
/* See manage.h. */
#include "cli/manage.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/mount.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/suspend.h"
#include "cli/work.h"

static const struct {
	enum yett_recorded what;
	const char *name;
} recorded[] = {{YETT_RECORDED_COMMANDS, "commands"},
                {YETT_RECORDED_CONNECTIONS, "connections"},
                {YETT_RECORDED_DENIALS, "denials"}};

static int set_filter(void *into, const char *value, struct yett_error *error)
{
	struct manage_run_options *options = into;

	if (!manage_is_filter(value))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"--filter %s: expected label=KEY[=VALUE], state=STATE, name=NAME or profile=PROFILE",
			value);
	if (options->filters_count == MANAGE_FILTERS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--filter: more than %d of them", MANAGE_FILTERS_MAX);
	options->filters[options->filters_count++] = value;
	return 0;
}

OPTION_FLAG(cli_manage_set_all, struct manage_run_options, all)
OPTION_FLAG(cli_manage_set_quiet, struct manage_run_options, quiet)
OPTION_FLAG(set_watch, struct manage_run_options, watch)
OPTION_FLAG(set_helper, struct manage_run_options, helper)
OPTION_FLAG(set_mounts, struct manage_run_options, mounts)
OPTION_TEXT(set_socket, struct manage_run_options, connect.socket_path)
OPTION_TEXT(set_key, struct manage_run_options, connect.key_path)

const struct option ps_options[] = {
	{'a', "all", NULL, "list the sandboxes of all users (root)", cli_manage_set_all},
	{'f', "filter", "WHAT=VALUE",
         "list only those with label=KEY[=VALUE], state=, name= or profile=", set_filter},
	{'q', "quiet", NULL, "print ids only", cli_manage_set_quiet},
	CONNECT_OPTIONS,
	{0},
};

const struct option inspect_options[] = {
	{0, "mounts", NULL, "show instead what is mounted now, and how full its file systems are",
         set_mounts},
	CONNECT_OPTIONS,
	{0},
};

const struct option stats_options[] = {
	{'a', "all", NULL, "list the sandboxes of all users (root)", cli_manage_set_all},
	{0, "helper", NULL, "show what the helper has done for all users (root)", set_helper},
	{'w', "watch", NULL, "repeat every second until interrupted", set_watch},
	CONNECT_OPTIONS,
	{0},
};

const struct option events_options[] = {
	{'a', "all", NULL, "list the sandboxes of all users (root)", cli_manage_set_all},
	CONNECT_OPTIONS,
	{0},
};

const struct option manage_options[] = {
	CONNECT_OPTIONS,
	{0},
};

static const char *const filters[] = {"label=", "state=", "name=", "profile="};

bool manage_is_filter(const char *filter)
{
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		if (strncmp(filter, filters[i], strlen(filters[i])) == 0 &&
		    filter[strlen(filters[i])])
			return true;
	return false;
}

static bool has_label(const struct yett_sandbox_status *status, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *const *at = status->labels; *at; at++) {
		const char *label = *at;

		if (strcmp(label, wanted) == 0 ||
		    (!strchr(wanted, '=') && strncmp(label, wanted, length) == 0 &&
		     label[length] == '='))
			return true;
	}
	return false;
}

bool manage_fits(const struct yett_sandbox_status *status, const char *filter)
{
	const char *value = strchr(filter, '=') + 1;

	switch (*filter) {
	case 'l':
		return has_label(status, value);
	case 's':
		return strcmp(yett_state_name(status->state), value) == 0;
	case 'n':
		return strcmp(status->name, value) == 0;
	default:
		return strcmp(status->info->profile, value) == 0;
	}
}

static bool fits_all(const struct yett_sandbox_status *status,
                     const struct manage_run_options *options)
{
	for (size_t i = 0; i < options->filters_count; i++)
		if (!manage_fits(status, options->filters[i]))
			return false;
	return true;
}

static const char *ended_of(const struct yett_sandbox_status *status)
{
	return status->ended == YETT_ENDED_NOT ? "" : yett_ended_name(status->ended);
}

/*
 * Empty strings become null. Times that were not reached and limits that are not set are 0, except
 * the time limits of commands, which become null.
 */
static void json_status(struct json *json, const char *name, const struct yett_sandbox_status *s,
                        const struct yett_work_list *works, const char *plan)
{
	json_open(json, name, '{');
	json_text(json, "id", s->info->id);
	json_text_or_null(json, "name", s->name);
	json_text(json, "profile", s->info->profile);
	json_text(json, "state", yett_state_name(s->state));
	json_text_or_null(json, "ended", ended_of(s));
	json_number(json, "uid", s->uid);
	json_text_or_null(json, "principal", s->principal);
	json_number(json, "private_uid", s->info->private_uid);
	json_text_or_null(json, "label", s->info->label);
	json_number(json, "landlock_abi", s->info->landlock_abi);
	output_json_network(json, s->info);
	output_json_limits(json, s->info);
	output_json_kind(json, s->info);
	json_bool(json, "linger", (s->flags & YETT_SANDBOX_LINGER));
	json_number(json, "linger_ms", s->linger_ms);
	json_number(json, "wall_ms", s->wall_time_ms);
	json_number(json, "cpu_ms", s->cpu_time_ms);
	json_number(json, "idle_ms", s->idle_time_ms);
	json_text(json, "idle_action", s->idle_action == YETT_IDLE_PAUSE ? "pause" : "end");
	json_number(json, "cleanup_ms", s->cleanup_ms);
	json_number(json, "created_ms", s->created_ms);
	json_number(json, "started_ms", s->started_ms);
	json_number(json, "ended_ms", s->ended_ms);
	json_number(json, "attached", s->attached);
	json_open(json, "recorded", '[');
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (s->recorded & recorded[i].what)
			json_text(json, NULL, recorded[i].name);
	json_close(json);
	output_json_pairs(json, "labels", s->labels);
	output_json_pairs(json, "annotations", s->annotations);
	work_report_stores(json, works, s->info->id);
	if (plan)
		json_raw(json, "plan", plan, strlen(plan));
	json_close(json);
}

static void age_of(uint64_t since_ms, char *out, size_t size)
{
	uint64_t now_ms = (uint64_t)time(NULL) * 1000,
		 seconds = now_ms > since_ms ? (now_ms - since_ms) / 1000 : 0;

	if (seconds < 120)
		(void)snprintf(out, size, "%us", (unsigned)seconds);
	else if (seconds < 7200)
		(void)snprintf(out, size, "%um", (unsigned)(seconds / 60));
	else
		(void)snprintf(out, size, "%lluh", (unsigned long long)(seconds / 3600));
}

static void print_labels(const char *const *labels)
{
	for (const char *const *label = labels; *label; label++) {
		(void)fputs(label > labels ? " " : "", stdout);
		output_text(stdout, *label, false);
	}
}

static void cli_manage_print_row(const struct yett_sandbox_status *status,
                                 const struct manage_run_options *options)
{
	char age[24], state[32], store[WORK_CELL_SIZE];

	age_of(status->created_ms, age, sizeof age);
	(void)snprintf(state, sizeof state, "%s%s%s", yett_state_name(status->state),
	               *ended_of(status) ? " " : "", ended_of(status));
	(void)printf("%s  %-16s  %-20s  %-10s  %6s  %8u  %-16s  ", status->info->id,
	             *status->name ? status->name : "-", state, status->info->profile, age,
	             status->attached, work_cell(options->works, status->info->id, store));
	if (options->all)
		(void)printf("%10u  ", status->uid);
	print_labels(status->labels);
	(void)putchar('\n');
}

void manage_print_suspended(const struct session *session, const char *state,
                            const struct manage_run_options *options)
{
	char age[24], store[WORK_CELL_SIZE];
	size_t length = strlen(session->profile);

	age_of(session->created_ms, age, sizeof age);
	(void)printf("%-16s  %-16s  %-20s  ", "-", session->name, state);
	output_text(stdout, session->profile, false);
	(void)printf("%*s  %6s  %8s  %-16s  ", length < 10 ? (int)(10 - length) : 0, "", age, "-",
	             work_cell(options->works, session->sandbox, store));
	if (options->all)
		(void)printf("%10u  ", geteuid());
	print_labels(session->labels);
	(void)putchar('\n');
}

static int cli_manage_older(const void *a, const void *b)
{
	const struct yett_sandbox_status *x = *(const struct yett_sandbox_status *const *)a,
					 *y = *(const struct yett_sandbox_status *const *)b;

	return x->created_ms != y->created_ms ? (x->created_ms < y->created_ms ? -1 : 1)
	                                      : strcmp(x->info->id, y->info->id);
}

static void cli_manage_print_list(const struct yett_sandbox_status *const *list, size_t count,
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
			json_status(json, NULL, list[i], options->works, NULL);
		else if (options->quiet)
			(void)puts(list[i]->info->id);
		else
			cli_manage_print_row(list[i], options);
	}
	if (json)
		json_close(json);
}

static void cli_manage_print_time(const char *name, uint64_t ms)
{
	char text[64] = "";
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;

	if (ms && localtime_r(&seconds, &parts))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts);
	if (ms)
		(void)printf("%-12s %s\n", name, text);
}

static void print_duration(const char *name, uint64_t ms, const char *more)
{
	char text[64];

	output_duration(text, sizeof text, ms);
	if (ms)
		(void)printf("%-12s %s%s\n", name, text, more);
}

static void cli_manage_print_text(const char *name, const char *text)
{
	if (!*text)
		return;
	(void)printf("%-12s ", name);
	output_text(stdout, text, false);
	(void)putchar('\n');
}

static void print_recorded(unsigned what)
{
	const char *separator = "";

	if (!what)
		return;
	(void)printf("%-12s ", "recorded");
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (what & recorded[i].what) {
			(void)printf("%s%s", separator, recorded[i].name);
			separator = ", ";
		}
	(void)fputs(", for the administrator\n", stdout);
}

static void print_status(const struct yett_sandbox_status *s, const struct yett_work_list *works)
{
	const struct yett_sandbox_info *limits = s->info;
	char size[64] = "unlimited";

	cli_manage_print_text("id", s->info->id);
	cli_manage_print_text("name", s->name);
	cli_manage_print_text("state", yett_state_name(s->state));
	cli_manage_print_text("ended", ended_of(s));
	cli_manage_print_text("profile", s->info->profile);
	cli_manage_print_text("host name", s->info->hostname);
	(void)printf("%-12s %s, %s %s by %s\n", "kind", s->info->type, s->info->platform,
	             s->info->architecture, s->info->backend);
	(void)printf("%-12s %u\n", "user", s->uid);
	cli_manage_print_text("key", *s->principal ? s->principal : "one of the user's own");
	(void)printf("%-12s %u\n", "private uid", s->info->private_uid);
	cli_manage_print_text("label", s->info->label);
	(void)printf("%-12s %u\n", "landlock", s->info->landlock_abi);
	(void)printf("%-12s %s%s%s%s%s\n", "network", output_network_name(s->info->network),
	             *s->info->address4 ? ", " : "", s->info->address4,
	             *s->info->address6 ? ", " : "", s->info->address6);
	if (limits->memory_bytes)
		output_size(size, sizeof size, limits->memory_bytes);
	(void)printf("%-12s %s\n", "memory", size);
	if (limits->cpu_millis)
		(void)printf("%-12s %g\n", "cpus", (double)limits->cpu_millis / 1000);
	if (limits->pids)
		(void)printf("%-12s %llu\n", "pids", (unsigned long long)limits->pids);
	if (limits->open_files)
		(void)printf("%-12s %llu\n", "files", (unsigned long long)limits->open_files);
	if (limits->core_bytes > YETT_CORE_NONE) {
		output_size(size, sizeof size, limits->core_bytes);
		(void)printf("%-12s %s\n", "core files", size);
	}
	print_duration("command", limits->command_timeout_ms, " by default");
	print_duration("command max", limits->max_command_timeout_ms, "");
	cli_manage_print_time("created", s->created_ms);
	cli_manage_print_time("started", s->started_ms);
	cli_manage_print_time("ended at", s->ended_ms);
	(void)printf("%-12s %s\n", "lingers", (s->flags & YETT_SANDBOX_LINGER) ? "yes" : "no");
	print_duration("unattended", s->linger_ms, " at rest at most");
	print_duration("wall time", s->wall_time_ms, "");
	print_duration("cpu time", s->cpu_time_ms, "");
	print_duration("idle", s->idle_time_ms,
	               s->idle_action == YETT_IDLE_PAUSE ? ", then paused" : ", then ended");
	print_duration("listed", s->cleanup_ms, " after its end");
	(void)printf("%-12s %u\n", "attached", s->attached);
	print_recorded(s->recorded);
	for (const char *const *label = s->labels; *label; label++)
		cli_manage_print_text("has", *label);
	for (const char *const *annotation = s->annotations; *annotation; annotation++)
		cli_manage_print_text("note", *annotation);
	work_print_stores("store", works, s->info->id);
}

int manage_begin(const struct subcommand *self, int argc, char **argv,
                 struct manage_run_options *options, int *ret_first,
                 struct yett_connection **ret_connection)
{
	struct yett_error error = {0};
	int r = options_begin(self, argc, argv, options, EXIT_USAGE, ret_first);

	if (r >= 0)
		return r;
	if (connect_for(&options->connect, false, *ret_first < argc ? argv[*ret_first] : NULL,
	                ret_connection, &error) == 0)
		return -1;
	output_error(&error);
	return EXIT_FAILED;
}

int manage_finish(struct yett_connection *connection, int r, const struct yett_error *error)
{
	if (r)
		output_error(error);
	yett_connection_close(connection);
	return r == YETT_E_FILE_OPERATION_FAILED ? RUN_FAILED : r ? EXIT_FAILED : 0;
}

/*
 * Lists the oldest sandbox first. Includes the caller's sandboxes of a helper without root that was
 * started before the service: only that helper knows them.
 */
static int list_sandboxes(struct yett_connection *connection, struct manage_run_options *options,
                          struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_work_list *works = NULL;
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
		qsort(rows, count, sizeof *rows, cli_manage_older);
	if (yett_works_list(&works, NULL) == 0)
		options->works = works;
	cli_manage_print_list(rows, count, options);
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
	_cleanup_(connect_freep) struct yett_work_list *works = NULL;
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
		json_status(output_json(), "sandbox", status, works, plan);
	} else {
		print_status(status, works);
		(void)putchar('\n');
		output_text(stdout, plan, true);
	}
	yett_free(plan);
	yett_free(status);
	return manage_finish(connection, r, &error);
}

static void cli_manage_report_state(struct yett_sandbox *sandbox, const char *state,
                                    const char *why)
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
			cli_manage_report_state(sandbox, yett_state_name(state), NULL);
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
		cli_manage_report_state(sandbox, "ended",
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

/* `id` is the id of the sandbox that was recreated, or empty if none was. NULL: omit the member. */
static bool report_made(const char *operand, const char *id, int r, struct yett_error *error)
{
	struct json *json = output_json();

	if (r == 0)
		error->code = YETT_OK;
	else
		output_error(error);
	if (!json)
		return r != 0;
	json_open(json, NULL, '{');
	json_text(json, "operand", operand);
	if (id)
		json_text_or_null(json, "id", id);
	output_json_error(json, "error", error);
	json_close(json);
	return r != 0;
}

bool manage_report(const char *operand, int r, struct yett_error *error)
{
	return report_made(operand, NULL, r, error);
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
	return report_made(operand, id, r, &error);
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

int manage_main(const struct subcommand *self, int argc, char **argv)
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
