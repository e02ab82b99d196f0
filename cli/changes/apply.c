/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett apply`: takes over into the source what a copy-on-write sandbox changed. yett-apply
 * (workspace/apply/) does the work as a separate, confined process; this file starts it and prints
 * its output.
 *
 * Runs as the caller.
 */
#include "cli/changes/work.h"
#include "cli/options.h"
#include "cli/subcommands.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "cli/changes/review.h"
#include "cli/connect.h"
#include "cli/output.h"

#define EXIT_LEFT   3 /* applied, except for what the notes list */
#define EXIT_BROKEN 4 /* begun, and neither completed nor undone */

struct apply_options {
	bool resume, abort, dry, force, interactive, takes_protected;
};

OPTION_FLAG(set_resume, struct apply_options, resume)
OPTION_FLAG(set_abort, struct apply_options, abort)
OPTION_FLAG(set_dry, struct apply_options, dry)
OPTION_FLAG(set_force, struct apply_options, force)
OPTION_FLAG(set_interactive, struct apply_options, interactive)
OPTION_FLAG(set_takes_protected, struct apply_options, takes_protected)

const struct option apply_options[] = {
	{'i', "interactive", NULL, "ask about each change, and about each hunk of text files",
         set_interactive},
	{'n', "dry-run", NULL, "print what would be applied, and apply nothing", set_dry},
	{'f', "force", NULL,
         "overwrite what was changed outside since; with --continue or --abort, keep that",
         set_force},
	{0, "include-protected", NULL, "also apply protected files, which must otherwise be named",
         set_takes_protected},
	{0, "continue", NULL, "complete an interrupted apply", set_resume},
	{0, "abort", NULL, "undo an interrupted apply", set_abort},
	{0},
};

static void apply_print(FILE *from)
{
	_cleanup_free_ char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (output_json()) {
		if (getdelim(&text, &room, '\0', from) > 0)
			json_foreign(output_json(), "apply", text);
		else
			json_null(output_json(), "apply");
		return;
	}
	/* yett-apply has already quoted paths with characters that a terminal would act on. */
	while ((n = getline(&text, &room, from)) >= 0 && !ferror(stdout))
		(void)fwrite(text, 1, (size_t)n, stdout);
}

static int apply_exit_code(const struct yett_work *work, const struct apply_options *options,
                           int status)
{
	const char *by = status != -1 && WIFSIGNALED(status) ? " by a signal" : "";

	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_BROKEN)
		return WEXITSTATUS(status);
	if (options->abort)
		output_note("yett-apply was interrupted%s: yett apply --abort %s undoes it", by,
		            work->id);
	else
		output_note(
			"yett-apply was interrupted%s: yett apply --continue %s completes what it began, if anything, and yett apply --abort %s undoes it",
			by, work->id, work->id);
	return EXIT_BROKEN;
}

static int apply_apply(const struct yett_work *work, const struct apply_options *options,
                       char **paths, struct yett_error *error)
{
	const struct {
		bool is_set;
		char letter;
	} letters[] = {{options->resume, 'c'},         {options->abort, 'a'},
	               {options->force, 'f'},          {options->dry, 'n'},
	               {output_json() != NULL, 'j'},   {options->interactive, 'i'},
	               {options->takes_protected, 'p'}};
	_cleanup_fd_ int store = open(work->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int source = open(work->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int terminal =
		options->interactive ? open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
	const int fds[] = {source, terminal};
	char number[16], asked[16] = "-", what[ARRAY_SIZE(letters) + 1] = "";
	char *const first[] = {
		(char *)work->id, number, NULL, NULL, asked, what}; /* NULL: pipe numbers */
	struct review review = {.name = "yett-apply",
	                        .variable = "YETT_APPLY",
	                        .first = first,
	                        .first_count = ARRAY_SIZE(first),
	                        .paths = paths,
	                        .out = -1,
	                        .notes = -1};
	int r;

	if (store < 0 || source < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot open %s: %m", store < 0 ? work->store : work->source);
	if (options->interactive && terminal < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "apply --interactive: there is no terminal to ask on: %m");
	if (terminal >= 0)
		(void)snprintf(asked, sizeof asked, "%d", terminal);
	for (size_t i = 0, n = 0; i < ARRAY_SIZE(letters); i++)
		if (letters[i].is_set)
			what[n++] = letters[i].letter;
	(void)snprintf(number, sizeof number, "%d", source);
	r = review_start(&review, store, fds, terminal < 0 ? 1 : 2, error);
	if (r) {
		fd_close(review.out);
		fd_close(review.notes);
		return r;
	}
	if (work->is_used)
		output_note(
			"a sandbox works on the store %s: what it changes meanwhile may be applied or not",
			work->id);
	if (output_json())
		json_text(output_json(), "id", work->id);
	if (output_json())
		json_text(output_json(), "source", work->source);
	return -apply_exit_code(work, options, review_finish(&review, apply_print));
}

static int apply_check(const struct apply_options *options, int count, struct yett_error *error)
{
	bool is_resumed = options->resume || options->abort;

	if ((options->resume && options->abort) ||
	    (is_resumed && (options->dry || options->takes_protected || count > 0)))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"apply: use --continue or --abort alone, without --dry-run, --include-protected or paths: they act on the whole interrupted apply");
	if (options->interactive && (is_resumed || output_json()))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"apply: --interactive goes with neither --continue, --abort nor --json");
	return 0;
}

int apply_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work;
	struct apply_options options = {0};
	struct yett_error error = {0};
	const char *named;
	int first, count, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	named = first < argc ? argv[first++] : NULL;
	count = argc - first;
	if (apply_check(&options, count, &error) ||
	    review_check_paths("apply", count, argv + first, &error)) {
		output_error(&error);
		return EXIT_USAGE;
	}
	r = work_choose_complete(named, &list, &work, &error);
	if (r == 0)
		r = apply_apply(work, &options, argv + first, &error);
	if (r > 0)
		output_error(&error);
	return r > 0 ? EXIT_FAILED : -r;
}
