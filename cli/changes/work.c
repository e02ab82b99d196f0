/* SPDX-License-Identifier: Apache-2.0 */
/* See work.h. */
#include "cli/changes/work.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape_list.h"
#include "base/units_parse.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/sandboxes/session.h"
#include "libclient/yett.h"

#define HIDDEN_REPORTED 5 /* names to print in the note about hidden files */

struct work_run_options {
	bool yes;
	uint64_t older_ms; /* 0: not given */
};

OPTION_FLAG(cli_work_set_yes, struct work_run_options, yes)

static int set_older(void *into, const char *value, struct yett_error *error)
{
	uint64_t *older_ms = &((struct work_run_options *)into)->older_ms;

	if (units_parse_duration(value, older_ms) == 0 && *older_ms > 0)
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--older %s: expected a time like 12h or 7d", value);
}

const struct option work_options[] = {
	{0, "older", "TIME", "prune: also remove stores with changes that are older than this",
         set_older},
	{'y', "yes", NULL, "prune: do not ask for confirmation", cli_work_set_yes},
	{0},
};
const struct option discard_options[] = {
	{'y', "yes", NULL, "do not ask for confirmation", cli_work_set_yes},
	{0},
};

static int cli_work_older(const void *a, const void *b)
{
	const struct yett_work *x = *(const struct yett_work *const *)a,
			       *y = *(const struct yett_work *const *)b;

	return x->created_ms != y->created_ms ? (x->created_ms < y->created_ms ? -1 : 1)
	                                      : strcmp(x->id, y->id);
}

/* Returns the name of the store's sandbox, its id if it has no name, or "-". */
static const char *cli_work_name_of(const struct yett_work *work)
{
	return *work->name ? work->name : *work->sandbox ? work->sandbox : "-";
}

static void print_work(const struct yett_work *work)
{
	char when[32] = "-";
	time_t seconds = (time_t)(work->created_ms / 1000);
	struct tm local;

	if (work->is_complete && localtime_r(&seconds, &local))
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
	(void)printf("%-16s  %-16s  %-4s  %-7s  %-19s  ", work->id, cli_work_name_of(work),
	             work->is_used ? "yes" : "no", work->is_changed ? "yes" : "no", when);
	output_text(stdout, *work->source ? work->source : "-", false);
	if (strcmp(work->source, work->target) != 0) {
		(void)fputs(" at ", stdout);
		output_text(stdout, work->target, false);
	}
	(void)fputc('\n', stdout);
}

static void json_work(struct json *json, const struct yett_work *work)
{
	json_open(json, NULL, '{');
	json_text(json, "id", work->id);
	json_bool(json, "complete", work->is_complete);
	json_bool(json, "used", work->is_used);
	json_bool(json, "changed", work->is_changed);
	json_text(json, "sandbox", work->sandbox);
	json_text(json, "name", work->name);
	json_number(json, "created_ms", work->created_ms);
	json_bool(json, "earlier_boot", work->is_earlier_boot);
	json_text(json, "source", work->source);
	json_text(json, "target", work->target);
	json_open(json, "hidden", '[');
	for (size_t i = 0; i < work->hidden_count; i++)
		json_text(json, NULL, work->hidden[i]);
	json_close(json);
	json_close(json);
}

static int list_works(struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	_cleanup_free_ const struct yett_work **rows = NULL;
	size_t count;
	int r = yett_works_list(&list, error);

	if (r)
		return r;
	count = yett_work_list_count(list);
	rows = calloc(count + 1, sizeof *rows);
	if (!rows)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the list");
	for (size_t i = 0; i < count; i++)
		rows[i] = yett_work_list_get(list, i);
	qsort(rows, count, sizeof *rows, cli_work_older);
	if (output_json())
		json_open(output_json(), "works", '[');
	else
		(void)printf("%-16s  %-16s  %-4s  %-7s  %-19s  %s\n", "ID", "SANDBOX", "USED",
		             "CHANGED", "CREATED", "SOURCE");
	for (size_t i = 0; i < count; i++) {
		if (output_json())
			json_work(output_json(), rows[i]);
		else
			print_work(rows[i]);
	}
	if (output_json())
		json_close(output_json());
	return 0;
}

/* Whether there is a user at a terminal to ask. */
static bool has_somebody(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !output_json();
}

static bool is_agreed(int count, char **ids)
{
	char answer[16] = "";

	if (!has_somebody())
		return true;
	(void)fputs("yett: the changes in", stderr);
	for (int i = 0; i < count; i++) {
		(void)fputc(' ', stderr);
		output_text(stderr, ids[i], false);
	}
	(void)fputs(" will be lost. Discard them? [y/N] ", stderr);
	(void)fflush(stderr);
	return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/*
 * Discards the stores and reports each. Returns -1 if some could not be discarded, after printing
 * the errors.
 */
static int discard_all(int count, char **ids, bool even_changed, struct yett_error *error)
{
	int failed = 0;

	if (output_json())
		json_open(output_json(), "discarded", '[');
	for (int i = 0; i < count; i++) {
		int r = (even_changed ? yett_work_discard : yett_work_discard_unchanged)(ids[i],
		                                                                         error);

		failed += r != 0;
		if (r)
			output_error(error);
		else if (output_json())
			json_text(output_json(), NULL, ids[i]);
		else
			(void)printf("discarded %s\n", ids[i]);
	}
	if (output_json())
		json_close(output_json());
	return failed ? -1 : 0;
}

/* A search for a session that needs a store: a suspended sandbox continues with its contents. */
struct searching {
	const char *id;
	bool is_found;
};

static void look_in_session(const struct session *session, void *data)
{
	struct searching *searching = data;

	for (size_t i = 0; i < session->shares_count; i++)
		if (session->shares[i].store &&
		    strcmp(session->shares[i].store, searching->id) == 0)
			searching->is_found = true;
}

static bool is_of_session(const char *id)
{
	struct searching searching = {.id = id};

	/* A session that cannot be read may need any store. */
	return session_each(look_in_session, &searching) > 0 || searching.is_found;
}

/*
 * Whether prune removes the store. An incomplete store is kept: its request may still be under way,
 * and a store whose request failed has no time of creation.
 */
static bool cli_work_is_to_go(const struct yett_work *work, uint64_t older_ms)
{
	uint64_t now_ms = clock_wall_ms();

	if (!work->is_complete || work->is_used ||
	    !(older_ms ? now_ms > work->created_ms && now_ms - work->created_ms > older_ms
	               : !work->is_changed))
		return false;
	return !is_of_session(work->id); /* last, because this reads every session */
}

static int cli_work_prune(const struct work_run_options *options, struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	_cleanup_free_ char **ids = NULL;
	int count = 0, r = yett_works_list(&list, error);

	if (r)
		return r;
	ids = calloc(yett_work_list_count(list) + 1, sizeof *ids);
	if (!ids)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the list");
	for (size_t i = 0; i < yett_work_list_count(list); i++)
		if (cli_work_is_to_go(yett_work_list_get(list, i), options->older_ms))
			ids[count++] = (char *)yett_work_list_get(list, i)->id;
	if (count > 0 && options->older_ms && !options->yes && !is_agreed(count, ids))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "nothing was discarded");
	return discard_all(count, ids, options->older_ms != 0, error);
}

int work_main(const struct subcommand *self, int argc, char **argv)
{
	struct work_run_options options = {0};
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (strcmp(argv[first], "list") == 0 && (options.older_ms || options.yes))
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "work list: --older and --yes are of work prune");
	else if (strcmp(argv[first], "list") != 0 && strcmp(argv[first], "prune") != 0)
		r = error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "work %.80s: expected list or prune", ESCAPE(argv[first]));
	if (r > 0) {
		output_error(&error);
		return EXIT_USAGE;
	}
	r = *argv[first] == 'l' ? list_works(&error) : cli_work_prune(&options, &error);
	if (r > 0)
		output_error(&error);
	return r ? EXIT_FAILED : 0;
}

int discard_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct yett_work_list **lists = calloc((size_t)argc + 1, sizeof *lists);
	_cleanup_free_ char **ids = calloc((size_t)argc + 1, sizeof *ids);
	struct work_run_options options = {0};
	struct yett_error error = {0};
	int first, count = 0, failed = 0,
		   r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (!lists || !ids)
		return EXIT_FAILED;
	if (first == argc && !options.yes && !has_somebody()) {
		(void)error_set(
			&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"discard: name a sandbox or store; without a name, and without a terminal to ask on, --yes is needed");
		output_error(&error);
		return EXIT_USAGE;
	}
	for (int i = 0; i < (argc > first ? argc - first : 1); i++) {
		const struct yett_work *work;

		r = work_choose(first < argc ? argv[first + i] : NULL, &lists[i], &work, &error);
		if (r)
			output_error(&error);
		else
			ids[count++] = (char *)work->id;
		failed += r != 0;
	}
	if (count > 0 && !options.yes && !is_agreed(count, ids)) {
		output_note("nothing was discarded");
		failed = 1;
	} else {
		failed += discard_all(count, ids, true, &error) != 0;
	}
	for (int i = 0; i < argc; i++)
		yett_workspace_free(lists[i]);
	return failed ? EXIT_FAILED : 0;
}

void work_note_chosen(const struct yett_work *work, const char *named)
{
	if (!named)
		output_note("using the store %s: the newest changes of %s, by the sandbox %s",
		            work->id, ESCAPE(work->source), cli_work_name_of(work));
	else if (strcmp(named, work->id) != 0)
		output_note("using the store %s, of %s", work->id, ESCAPE(work->source));
}

int work_choose(const char *named, struct yett_work_list **ret_list,
                const struct yett_work **ret_work, struct yett_error *error)
{
	int r = yett_works_list(ret_list, error);

	if (r == 0)
		r = yett_work_find(*ret_list, named, ret_work, error);
	if (r == 0)
		work_note_chosen(*ret_work, named);
	return r;
}

int work_check_complete(const struct yett_work *work, struct yett_error *error)
{
	if (work->is_complete)
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"the store %s does not say yet which directory it is for: its sandbox is still being made, or could not be made",
		work->id);
}

int work_choose_complete(const char *named, struct yett_work_list **ret_list,
                         const struct yett_work **ret_work, struct yett_error *error)
{
	int r = work_choose(named, ret_list, ret_work, error);

	return r ? r : work_check_complete(*ret_work, error);
}

int work_find_places(const char *named, char ret_id[YETT_ID_SIZE], char **ret_source,
                     char **ret_target, struct yett_error *error)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	_cleanup_free_ char *source = NULL, *target = NULL;
	const struct yett_work *work;
	int r = work_choose_complete(named, &list, &work, error);

	if (r)
		return r;
	if (work->is_earlier_boot)
		output_note(
			"the machine was rebooted after the store %s was used: after a crash, files in the store may be incomplete",
			work->id);
	source = strdup(work->source);
	target = strdup(work->target);
	if (!source || !target)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the share");
	memcpy(ret_id, work->id, YETT_ID_SIZE);
	*ret_source = steal_ptr(&source);
	*ret_target = steal_ptr(&target);
	return 0;
}

static const struct yett_work *cli_work_next_of(const struct yett_work_list *list,
                                                const char *sandbox, size_t *at)
{
	/* A new fork, and a store whose request is under way, have an empty `sandbox`. */
	while (list && *sandbox && *at < yett_work_list_count(list)) {
		const struct yett_work *work = yett_work_list_get(list, (*at)++);

		if (strcmp(work->sandbox, sandbox) == 0)
			return work;
	}
	return NULL;
}

void work_report_stores(struct json *json, const struct yett_work_list *list, const char *sandbox)
{
	const struct yett_work *work;
	size_t at = 0;

	json_open(json, "stores", '[');
	while ((work = cli_work_next_of(list, sandbox, &at)))
		json_text(json, NULL, work->id);
	json_close(json);
}

void work_print_stores(const char *name, const struct yett_work_list *list, const char *sandbox)
{
	const struct yett_work *work;
	size_t at = 0;

	while ((work = cli_work_next_of(list, sandbox, &at))) {
		(void)printf("%-12s %s of ", name, work->id);
		output_text(stdout, work->target, false);
		(void)putchar('\n');
	}
}

const char *work_cell(const struct yett_work_list *list, const char *sandbox,
                      char out[static WORK_CELL_SIZE])
{
	size_t at = 0, others = 0;
	const struct yett_work *first = cli_work_next_of(list, sandbox, &at);

	while (first && cli_work_next_of(list, sandbox, &at))
		others++;
	(void)snprintf(out, WORK_CELL_SIZE, "%s", first ? first->id : "-");
	if (others)
		(void)snprintf(out + strlen(out), WORK_CELL_SIZE - strlen(out), "+%zu", others);
	return out;
}

void work_note_hidden(const char *sandbox)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;

	if (yett_works_list(&list, NULL) != 0)
		return;
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);
		size_t reported =
			work->hidden_count < HIDDEN_REPORTED ? work->hidden_count : HIDDEN_REPORTED;
		char more[32] = "";

		if (strcmp(work->sandbox, sandbox) != 0 || !reported)
			continue;
		if (work->hidden_count > reported)
			(void)snprintf(more, sizeof more, " and %zu more",
			               work->hidden_count - reported);
		output_note("hidden in %s: %s%s", ESCAPE(work->target),
		            escape_list((char *const *)work->hidden, reported,
		                        (char[ESCAPE_SIZE]){0}, ESCAPE_SIZE),
		            more);
	}
}

static bool cli_work_is_among(const char *const *ids, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] && strcmp(ids[i], id) == 0)
			return true;
	return false;
}

void work_find_own(const char *sandbox, const char *const *named, size_t count,
                   struct work_own *ret_own)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work;
	size_t at = 0;

	ret_own->count = 0;
	if (yett_works_list(&list, NULL) != 0)
		return;
	while (ret_own->count < WORK_OWN_MAX && (work = cli_work_next_of(list, sandbox, &at)))
		if (!cli_work_is_among(named, count, work->id))
			memcpy(ret_own->ids[ret_own->count++], work->id, YETT_ID_SIZE);
}

static bool cli_work_is_own(const struct work_own *own, const char *id)
{
	for (size_t i = 0; own && i < own->count; i++)
		if (strcmp(own->ids[i], id) == 0)
			return true;
	return !own;
}

/* Removes the store if `is_removed`. If the store is kept and has changes, prints where. */
static void cli_work_leave(const struct yett_work *work, bool is_removed, bool is_discarded)
{
	if (is_removed && !work->is_used &&
	    (is_discarded ? yett_work_discard : yett_work_discard_unchanged)(work->id, NULL) == 0)
		return;
	if (work->is_changed)
		output_note("the changes in %s are kept: yett discard %s throws them away",
		            ESCAPE(work->target), work->id);
}

void work_leave(const char *sandbox, const struct work_own *own, bool is_discarded)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work;
	size_t at = 0;

	if (yett_works_list(&list, NULL) != 0)
		return;
	while ((work = cli_work_next_of(list, sandbox, &at)))
		cli_work_leave(work, cli_work_is_own(own, work->id), is_discarded);
}

void work_leave_one(const char *id)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work;

	if (yett_works_list(&list, NULL) == 0 && yett_work_find(list, id, &work, NULL) == 0)
		cli_work_leave(work, true, false);
}
