/* SPDX-License-Identifier: Apache-2.0 */
/* See run_shares.h. */
#include "cli/run/run_shares.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/changes/work.h"
#include "cli/output.h"
#include "cli/parse.h"

int run_shares_add(struct run_options *options, char *path, char *target, uint32_t flags,
                   struct yett_error *error)
{
	if (options->shares_count == ARRAY_SIZE(options->shares)) {
		free(path);
		free(target);
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d shares",
		                 RUN_SHARES_MAX);
	}
	options->shares[options->shares_count++] = (struct yett_share){
		.size = sizeof(struct yett_share), .path = path, .target = target, .flags = flags};
	return 0;
}

static int run_shares_invalid(struct yett_error *error, const char *option, const char *value,
                              const char *expected)
{
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s %s: expected %s", option,
	                 value, expected);
}

/*
 * Resolves symbolic links, so that the path can be compared with the current directory. Takes
 * ownership of the target.
 */
static int add_real(struct run_options *options, const char *name, const char *value,
                    const char *path, char *target, uint32_t flags, struct yett_error *error)
{
	char *real = realpath(path, NULL);

	if (real)
		return run_shares_add(options, real, target, flags, error);
	free(target);
	return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                 "--%s %s: cannot share %s: %m%s", name, value, path,
	                 strchr(path, ':') ? "; TARGET is an absolute path" : "");
}

static int run_shares_add_share(struct run_options *options, const char *name, const char *value,
                                uint32_t flags, struct yett_error *error)
{
	_cleanup_free_ char *path = NULL, *target = NULL;
	const char *directory = options->current_directory ? options->current_directory : "/";

	if (parse_share(directory, value, &path, &target) < 0)
		return run_shares_invalid(error, name, value, "PATH or PATH:TARGET");
	return add_real(options, name, value, path, steal_ptr(&target), flags, error);
}

int run_shares_set_ro(void *into, const char *value, struct yett_error *error)
{
	return run_shares_add_share(into, "ro", value, 0, error);
}

int run_shares_set_rw(void *into, const char *value, struct yett_error *error)
{
	return run_shares_add_share(into, "rw", value, YETT_SHARE_WRITABLE, error);
}

int run_shares_set_cow(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;
	const char *directory = options->current_directory ? options->current_directory : "/";
	_cleanup_free_ char *path = NULL, *target = NULL;
	uint64_t bytes;
	int r = parse_cow(directory, value, &path, &target, &bytes);

	if (r < 0)
		return run_shares_invalid(
			error, "cow", value,
			"PATH, PATH:TARGET, PATH:memory=SIZE or PATH:TARGET:memory=SIZE");
	r = add_real(options, "cow", value, path, steal_ptr(&target), YETT_SHARE_COW, error);
	if (r == 0)
		options->shares[options->shares_count - 1].memory_bytes = bytes;
	return r;
}

/*
 * ID or ID:TARGET: shares a directory with the changes of an earlier sandbox. work.h finds the
 * store.
 */
int run_shares_set_store(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;
	const char *target = strchr(value, ':');
	char named[YETT_NAME_SIZE], id[YETT_ID_SIZE], *path = NULL, *inside = NULL, *own;
	size_t length = target ? (size_t)(target - value) : strlen(value);
	int r;

	if (length == 0 || length >= sizeof named || (target && target[1] != '/'))
		return run_shares_invalid(
			error, "store", value,
			"a sandbox or store, as yett work list tells them, or that and :TARGET");
	(void)snprintf(named, sizeof named, "%.*s", (int)length, value);
	r = work_find_places(named, id, &path, &inside, error);
	if (r)
		return r;
	if (target) {
		free(inside);
		inside = strdup(target + 1);
	}
	own = strdup(id);
	r = run_shares_add(options, path, inside, YETT_SHARE_COW, error);
	if (r) {
		free(own);
		return r;
	}
	options->shares[options->shares_count - 1].store = own;
	return own && inside ? 0
	                     : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                                 "there is not enough memory for the share");
}

static int add_hide(const char **names, size_t *count, const char *option, const char *value,
                    struct yett_error *error)
{
	if (*count == RUN_HIDE_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d of --%s",
		                 RUN_HIDE_MAX, option);
	names[(*count)++] = value;
	return 0;
}

int run_shares_set_hide(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_hide(options->hide, &options->hide_count, "hide", value, error);
}

int run_shares_set_no_hide(void *into, const char *value, struct yett_error *error)
{
	struct run_options *options = into;

	return add_hide(options->no_hide, &options->no_hide_count, "no-hide", value, error);
}

/* Adds the names of the profile's hide list to those of --hide. */
static int hide_listed(struct run_options *options, struct yett_error *error)
{
	int r = yett_hide_list(options->profile, &options->hide_listed, error);

	for (size_t i = 0; r == 0 && options->hide_listed[i]; i++)
		r = add_hide(options->hide, &options->hide_count, "hide", options->hide_listed[i],
		             error);
	return r;
}

int run_shares_hide(struct run_options *options, struct yett_error *error)
{
	bool is_asked = options->hide_count > 0, is_hidden = false;

	for (size_t i = 0; i < options->shares_count; i++) {
		struct yett_share *share = &options->shares[i];

		if (!(share->flags & YETT_SHARE_COW) || share->store)
			continue;
		if (!options->hide_listed) {
			int r = hide_listed(options, error);

			if (r)
				return r;
		}
		if (share->memory_bytes) {
			if (options->hide_listed[0])
				output_note(
					"names listed as hidden are visible in %s, since its changes are in memory",
					ESCAPE(share->path));
			continue;
		}
		share->hide = options->hide_count ? options->hide : NULL;
		share->no_hide = options->hide_count ? options->no_hide : NULL;
		is_hidden = true;
	}
	if (is_hidden || !is_asked)
		return 0;
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"--hide %s: names can be hidden only in a copy-on-write share with a new store, and there is none",
		options->hide[0]);
	error_mend(
		error,
		"--cow PATH --hide NAME; --tmpfs PATH covers a directory of any share; an existing store hides the same names as before");
	return YETT_E_INVALID_REQUEST;
}

int run_shares_set_socket(void *into, const char *value, struct yett_error *error)
{
	return run_shares_add_share(into, "share-socket", value, YETT_SHARE_SOCKET, error);
}
