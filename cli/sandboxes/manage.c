/* SPDX-License-Identifier: Apache-2.0 */
/* See manage.h. */
#include "cli/sandboxes/manage.h"

#include <string.h>

#include "cli/output.h"

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

bool manage_report_made(const char *operand, const char *id, int r, struct yett_error *error)
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
	return manage_report_made(operand, NULL, r, error);
}
