/* See mount.h. */
#include "cli/mount.h"

#include <string.h>

#include "cli/connect.h"
#include "cli/manage.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/run_shares.h"

/* What is there now, or not any more; of a store that names its own place null. */
static void tell(const char *sandbox, const char *const *targets, size_t count)
{
	struct json *json = output_json();

	if (!json)
		return;
	json_text(json, "sandbox", sandbox);
	json_open(json, "targets", '[');
	for (size_t i = 0; i < count; i++)
		json_text_or_null(json, NULL, targets[i] ? targets[i] : "");
	json_close(json);
}

/* What is listed for the profile of that sandbox. */
static int hide(struct yett_connection *connection, struct run_options *options, const char *sandbox, struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_sandbox_status *status = NULL;
	bool is_asked_for = options->hide_count > 0;
	int r;

	for (size_t i = 0; i < options->shares_count; i++)
		is_asked_for = is_asked_for || (options->shares[i].flags & YETT_SHARE_COW);
	r = is_asked_for ? yett_sandbox_inspect(connection, sandbox, &status, error) : 0;
	if (status)
		options->profile = status->info->profile;
	if (r == 0)
		r = run_shares_hide(options, error);
	options->profile = NULL;
	return r;
}

static int mount_shares(struct run_options *options, const char *sandbox, struct yett_error *error)
{
	struct yett_connection *connection = NULL;
	const char *targets[RUN_SHARES_MAX];
	int r = connect_with_key(&options->connect, true, &connection, error);

	if (r)
		return r;
	r = hide(connection, options, sandbox, error);
	if (r == 0)
		r = yett_sandbox_mount(connection, sandbox, options->shares, options->shares_count, error);
	yett_connection_close(connection);
	for (size_t i = 0; r == 0 && i < options->shares_count; i++)
		targets[i] = options->shares[i].target ? options->shares[i].target : options->shares[i].path;
	if (r == 0)
		tell(sandbox, targets, options->shares_count);
	return r;
}

int mount_main(const struct subcommand *self, int argc, char **argv)
{
	struct run_options options;
	struct yett_error error = {0};
	int first, r;

	run_options_init(&options);
	r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);
	if (r < 0 && options.shares_count == 0) {
		(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "mount: expected what to mount: --ro PATH, --rw PATH, --cow PATH, --store ID or --share-socket PATH");
		output_error(&error);
		r = EXIT_USAGE;
	}
	if (r < 0 && mount_shares(&options, argv[first], &error) != 0) {
		output_error(&error);
		r = EXIT_FAILED;
	}
	run_options_free(&options);
	return r < 0 ? 0 : r;
}

typedef int (*change_call)(struct yett_connection *connection, const char *sandbox, const char *const *targets, size_t count,
                           struct yett_error *error);

static int change_main(const struct subcommand *self, int argc, char **argv, change_call change)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	r = change(connection, argv[first], (const char *const *)argv + first + 1, (size_t)(argc - first - 1), &error);
	if (r == 0)
		tell(argv[first], (const char *const *)argv + first + 1, (size_t)(argc - first - 1));
	return manage_finish(connection, r, &error);
}

int unmount_main(const struct subcommand *self, int argc, char **argv)
{
	return change_main(self, argc, argv, yett_sandbox_unmount);
}

int refresh_main(const struct subcommand *self, int argc, char **argv)
{
	return change_main(self, argc, argv, yett_sandbox_refresh);
}
