/* SPDX-License-Identifier: Apache-2.0 */
/* See mount.h. */
#include "cli/files/mount.h"

#include <string.h>

#include "base/units.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/run/run_shares.h"
#include "cli/sandboxes/manage.h"

/* Reports in JSON the targets that were mounted or unmounted. A missing or empty target is null. */
static void cli_mount_report(const char *sandbox, const char *const *targets, size_t count)
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

/* Applies --hide and the hide list for the sandbox's profile to the copy-on-write shares. */
static int hide(struct yett_connection *connection, struct run_options *options,
                const char *sandbox, struct yett_error *error)
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

static int cli_mount_mount_shares(struct run_options *options, const char *sandbox,
                                  struct yett_error *error)
{
	struct yett_connection *connection = NULL;
	const char *targets[RUN_SHARES_MAX];
	int r = connect_for(&options->connect, true, sandbox, &connection, error);

	if (r)
		return r;
	r = hide(connection, options, sandbox, error);
	if (r == 0)
		r = yett_sandbox_mount(connection, sandbox, options->shares, options->shares_count,
		                       error);
	yett_connection_close(connection);
	for (size_t i = 0; r == 0 && i < options->shares_count; i++)
		targets[i] = options->shares[i].target ? options->shares[i].target
		                                       : options->shares[i].path;
	if (r == 0)
		cli_mount_report(sandbox, targets, options->shares_count);
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
		(void)error_set(
			&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"mount: expected what to mount: --ro PATH, --rw PATH, --cow PATH, --store ID or --share-socket PATH");
		output_error(&error);
		r = EXIT_USAGE;
	}
	if (r < 0 && cli_mount_mount_shares(&options, argv[first], &error) != 0) {
		output_error(&error);
		r = EXIT_FAILED;
	}
	run_options_free(&options);
	return r < 0 ? 0 : r;
}

typedef int (*change_call)(struct yett_connection *connection, const char *sandbox,
                           const char *const *targets, size_t count, struct yett_error *error);

static int change_main(const struct subcommand *self, int argc, char **argv, change_call change)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	r = change(connection, argv[first], (const char *const *)argv + first + 1,
	           (size_t)(argc - first - 1), &error);
	if (r == 0)
		cli_mount_report(argv[first], (const char *const *)argv + first + 1,
		                 (size_t)(argc - first - 1));
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

static const char *const modes[] = {[YETT_MOUNT_READ_ONLY] = "read-only",
                                    [YETT_MOUNT_WRITABLE] = "writable",
                                    [YETT_MOUNT_COPY_ON_WRITE] = "copy-on-write"};

static void json_mount(const struct yett_mount *m)
{
	struct json *json = output_json();

	json_open(json, NULL, '{');
	json_text(json, "target", m->target);
	json_text(json, "root", m->root);
	json_text(json, "type", m->type);
	json_text(json, "mode", modes[m->mode]);
	if (m->is_own) {
		json_open(json, "disk", '{');
		json_number(json, "size_bytes", m->size_bytes);
		json_number(json, "used_bytes", m->used_bytes);
		json_number(json, "files_max", m->files_max);
		json_number(json, "files_used", m->files_used);
		json_close(json);
	} else {
		json_null(json, "disk");
	}
	json_close(json);
}

static void print_mount(const struct yett_mount *m)
{
	char size[UNITS_TEXT_SIZE] = "-", used[UNITS_TEXT_SIZE] = "-", files[24] = "-";

	if (m->is_own && m->size_bytes)
		(void)units_format_size(m->size_bytes, size);
	if (m->is_own) {
		(void)units_format_size(m->used_bytes, used);
		(void)snprintf(files, sizeof files, "%llu", (unsigned long long)m->files_used);
	}
	(void)printf("%-13s  %-10s  %7s  %7s  %7s  ", modes[m->mode], m->type, size, used, files);
	output_text(stdout, m->target, false);
	(void)putchar('\n');
}

int mount_print_all(struct yett_connection *connection, const char *id_or_name,
                    struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_mount_list *list = NULL;
	struct yett_sandbox *sandbox = NULL;
	int r = yett_sandbox_attach(connection, id_or_name, &sandbox, error);

	if (r == 0)
		r = yett_sandbox_mounts(sandbox, &list, error);
	yett_sandbox_close(sandbox);
	if (r)
		return r;
	if (output_json())
		json_open(output_json(), "mounts", '[');
	else
		(void)printf("%-13s  %-10s  %7s  %7s  %7s  %s\n", "MODE", "TYPE", "SIZE", "USED",
		             "FILES", "TARGET");
	for (size_t i = 0; i < yett_mount_list_count(list); i++)
		(output_json() ? json_mount : print_mount)(yett_mount_list_get(list, i));
	if (output_json())
		json_close(output_json());
	return 0;
}
