/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett diff`: shows what a copy-on-write sandbox changed. yett-diff (workspace/diff/) finds that
 * out as a separate, confined process; this file starts it and prints its output.
 *
 * Runs as the caller.
 */
#include "cli/changes/work.h"
#include "cli/options.h"
#include "cli/subcommands.h"

#include <string.h>
#include <sys/wait.h>

#include "cli/changes/pager.h"
#include "cli/changes/patch.h"
#include "cli/changes/review.h"
#include "cli/changes/store.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libclient/yett.h"

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct diff_options {
	bool stat, names, no_pager;
	enum color color;
};

OPTION_FLAG(set_stat, struct diff_options, stat)
OPTION_FLAG(set_names, struct diff_options, names)
OPTION_FLAG(set_no_pager, struct diff_options, no_pager)

static int set_color(void *into, const char *value, struct yett_error *error)
{
	static const char *const names[] = {
		[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		((struct diff_options *)into)->color = (enum color)i;
		return 0;
	}
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--color %.40s: expected auto, always or never", value);
}

const struct option diff_options[] = {
	{0, "stat", NULL, "show how much of each file changed, not what", set_stat},
	{0, "name-only", NULL, "print the changed paths only, one on each line", set_names},
	{0, "color", "WHEN",
         "use colours: auto (on a terminal, unless NO_COLOR is set), always or never", set_color},
	{0, "no-pager", NULL, "do not use $PAGER or less on a terminal", set_no_pager},
	{0},
};

/* The store that yett-diff reads, its process, and how its output is printed. */
struct asking {
	struct store store;
	struct review review;
	struct patch_style style;
	bool is_paged, is_snapshot;
};

#define NUMBER_SIZE 12

/*
 * Starts yett-diff. All numbers in its arguments are descriptors; workspace/diff/main.c describes
 * the arguments.
 */
static int diff_start(struct asking *asking, const char *form, char **paths,
                      struct yett_error *error)
{
	const struct store *store = &asking->store;
	char layers[STORE_LAYERS_MAX * NUMBER_SIZE] = "0", hidden[NUMBER_SIZE] = "-",
				       source[NUMBER_SIZE];
	int fds[STORE_LAYERS_MAX + 1] = {store->source};
	size_t count = 1, length = 1;
	int r;

	for (size_t i = 1; i < store->count; i++) {
		length += (size_t)snprintf(layers + length, sizeof layers - length, ",%d",
		                           store->layers[i]);
		fds[count++] = store->layers[i];
	}
	if (store->hidden >= 0) {
		(void)snprintf(hidden, sizeof hidden, "%d", store->hidden);
		fds[count++] = store->hidden;
	}
	(void)snprintf(source, sizeof source, "%d", store->source);
	char *const first[] = {layers, hidden, source,
	                       NULL,   NULL,   (char *)form}; /* NULL: pipe numbers */

	asking->review.first = first;
	asking->review.first_count = ARRAY_SIZE(first);
	asking->review.paths = paths;
	r = review_start(&asking->review, store->layers[0], fds, count, error);
	asking->review.first = NULL;
	return r;
}

/*
 * Chooses the form of yett-diff's output. Names and JSON have no colours. Escapes everything that a
 * terminal would act on if stdout is a terminal, or if the output has colours, since it then
 * probably ends up on one.
 */
static const char *choose_form(const struct diff_options *options, struct patch_style *ret_style)
{
	const char *none = getenv("NO_COLOR");
	bool is_auto = pager_is_terminal() && !(none && *none),
	     has_lines = !output_json() && !options->names;

	ret_style->is_coloured =
		has_lines &&
		(options->color == COLOR_AUTO ? is_auto : options->color == COLOR_ALWAYS);
	ret_style->is_escaped = ret_style->is_coloured || isatty(STDOUT_FILENO);
	if (output_json())
		return "json";
	if (options->names)
		return "names";
	if (options->stat)
		return ret_style->is_coloured ? "stat-marked" : "stat";
	return ret_style->is_coloured ? "patch-marked" : "patch";
}

static void diff_put_json(FILE *from)
{
	_cleanup_free_ char *text = NULL;
	size_t room = 0;

	if (getdelim(&text, &room, '\0', from) > 0)
		json_foreign(output_json(), "changes", text);
	else
		json_null(output_json(), "changes");
}

/*
 * Prints the output, if need be through a pager. Returns whether the user left the pager before the
 * end. Closes `from`.
 */
static bool diff_show(const struct asking *asking, FILE *from)
{
	struct pager pager;

	if (output_json()) {
		diff_put_json(from);
		(void)fclose(from);
		return false;
	}
	pager_start(&pager, asking->is_paged);
	patch_print(from, pager.to, &asking->style);
	(void)fclose(from); /* yett-diff ends if nobody reads its output */
	return !pager_end(&pager);
}

/* Prints the output and the notes, and waits for yett-diff. Returns the exit code. */
static int diff_finish(const struct yett_work *work, const struct asking *asking)
{
	FILE *out = fdopen(asking->review.out, "r"), *notes = fdopen(asking->review.notes, "r");
	bool is_left = out && diff_show(asking, out);
	int status = 0;

	if (work->is_used && !asking->is_snapshot)
		output_note(
			"a sandbox works on the store %s: what it changes meanwhile may show or not",
			work->id);
	if (asking->store.is_replaced)
		output_note(
			"%s is no longer the directory that the store was made for: the changes are shown against what is there now",
			work->source);
	if (notes) {
		review_report(notes);
		(void)fclose(notes);
	}
	while (waitpid(asking->review.pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (is_left)
		return 0;
	if (output_json())
		json_bool(output_json(), "complete", out && notes && status == 0);
	if (WIFSIGNALED(status) && !ferror(stdout))
		output_note("signal %d ended yett-diff: the changes shown are incomplete",
		            WTERMSIG(status));
	else if (status != 0)
		output_note("not all that was changed is shown");
	return out && notes && status == 0 ? 0 : EXIT_FAILED;
}

/* Opens the store as it was at the snapshot; NULL: as it is now. */
static int open_state(const struct yett_work *work, const char *snapshot, struct store *store,
                      struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_snapshot_list *list = NULL;
	int r = store_open(work, store, error);

	if (r || !snapshot)
		return r;
	r = yett_snapshots_list(work->id, &list, error);
	for (size_t i = 0; r == 0 && i < yett_snapshot_list_count(list); i++) {
		const struct yett_snapshot *found = yett_snapshot_list_get(list, i);

		if (strcmp(found->name, snapshot) == 0)
			return store_go_back(work, store, found->layers, error);
	}
	return r ? r
	         : error_set(
			   error, YETT_E_NOT_FOUND, YETT_R_NONE,
			   "the store %s has no snapshot %.80s; yett snapshot list %s tells which it has",
			   work->id, snapshot, work->id);
}

static int diff(const struct yett_work *work, const char *snapshot,
                const struct diff_options *options, char **paths)
{
	struct asking asking = {
		.review = {.name = "yett-diff", .variable = "YETT_DIFF", .out = -1, .notes = -1},
		.is_paged = !options->no_pager,
		.is_snapshot = snapshot};
	struct yett_error error = {0};
	const char *form = choose_form(options, &asking.style);
	int r = open_state(work, snapshot, &asking.store, &error);

	if (r == 0 && asking.store.count == 0) { /* a snapshot of the unchanged source */
		store_close(&asking.store);
		return EXIT_SUCCESS;
	}
	if (r == 0)
		r = diff_start(&asking, form, paths, &error);
	store_close(&asking.store);
	if (r) {
		fd_close(asking.review.out);
		fd_close(asking.review.notes);
		output_error(&error);
		return EXIT_FAILED;
	}
	if (output_json()) {
		json_text(output_json(), "id", work->id);
		json_text(output_json(), "source", work->source);
		json_bool(output_json(), "used", work->is_used);
	}
	return diff_finish(work, &asking);
}

int diff_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	struct diff_options options = {0};
	struct yett_error error = {0};
	const struct yett_work *work;
	char *named, *snapshot;
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	named = first < argc ? argv[first++] : NULL;
	snapshot = named ? strchr(named, '@') : NULL;
	if (snapshot)
		*snapshot++ = '\0';
	if (snapshot && !*named) /* "@NAME": no store is named */
		named = NULL;
	if (review_check_paths("diff", argc - first, argv + first, &error) ||
	    (options.stat && options.names)) {
		if (!error.code)
			(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			                "diff: --stat and --name-only exclude each other");
		output_error(&error);
		return EXIT_USAGE;
	}
	r = work_choose_complete(named, &list, &work, &error);
	if (r == 0)
		return diff(work, snapshot, &options, argv + first);
	output_error(&error);
	return EXIT_FAILED;
}
