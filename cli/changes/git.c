/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett git`: fetches commits that were made in a sandbox. git inside reads the repository there;
 * git outside gets a pack and checks every object in it.
 *
 * Runs as the caller.
 */
#include "cli/options.h"
#include "cli/subcommands.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/units_parse.h"
#include "cli/changes/git_origin.h"
#include "cli/output.h"

#define REFSPECS_MAX 1000

OPTION_TEXT(set_socket, struct git_choice, connect.socket_path)
OPTION_TEXT(set_key, struct git_choice, connect.key_path)

static int git_set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--directory %s: expected an absolute path inside", value);
	((struct git_choice *)into)->directory = value;
	return 0;
}

static int set_max(void *into, const char *value, struct yett_error *error)
{
	if (units_parse_size(value, &((struct git_choice *)into)->max_bytes) < 0 ||
	    ((struct git_choice *)into)->max_bytes == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--max-size %s: expected a size like 64M or 2G", value);
	return 0;
}

const struct option git_options[] = {
	{'C', "directory", "DIR", "the repository inside (the copy-on-write share)",
         git_set_directory},
	{0, "max-size", "SIZE", "refuse packs larger than this (2G)", set_max},
	CONNECT_OPTIONS,
	{0},
};

/*
 * Fetches the requested refs, without tags. Submodules are not fetched: the fetched commits name
 * their repositories, so the sandbox would choose where git connects to.
 */
static int git_fetch(const struct git_choice *choice, const struct git_origin *origin, int count,
                     char **refspecs, struct yett_error *error)
{
	_cleanup_free_ char *url = git_origin_url(origin, choice);
	const char *const words[] = {"fetch", "--no-tags", "--no-recurse-submodules", "--", url};

	if (!url)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "not enough memory to fetch with git");
	if (git_run(choice, words, ARRAY_SIZE(words), refspecs, (size_t)count, -1, error))
		return 0;
	return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                 "git could not fetch from %s in the sandbox %s", ESCAPE(origin->directory),
	                 origin->id);
}

int git_main(const struct subcommand *self, int argc, char **argv)
{
	struct git_choice choice = {.max_bytes = GIT_PACK_BYTES};
	_cleanup_(git_origin_close) struct git_origin origin = {0};
	struct yett_error error = {0};
	const char *named;
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (strcmp(argv[first], "fetch") != 0 || argc - first - 2 > REFSPECS_MAX) {
		(void)error_set(
			&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"git %.80s: expected fetch, then a sandbox or store or none, and at most %d refs",
			ESCAPE(argv[first]), REFSPECS_MAX);
		output_error(&error);
		return EXIT_USAGE;
	}
	first++;
	named = first < argc ? argv[first++] : NULL;
	r = git_origin_open(&origin, &choice, named, &error);
	if (r == 0)
		r = git_fetch(&choice, &origin, argc - first, argv + first, &error);
	if (output_json() && origin.id[0])
		json_text(output_json(), "sandbox", origin.id);
	if (r)
		output_error(&error);
	return r ? EXIT_FAILED : 0;
}
