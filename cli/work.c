/* See work.h. */
#include "cli/work.h"

#include <string.h>
#include <time.h>

#include "base/escape_list.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "libclient/yett.h"

#define HIDDEN_TOLD 5 /* names in the line that tells what is hidden */

struct discard_run_options {
	bool yes;
};

OPTION_FLAG(set_yes, struct discard_run_options, yes)

const struct option work_options[] = {{0}};
const struct option discard_options[] = {
	{'y', "yes", NULL, "do not ask back", set_yes},
	{0},
};

static int older(const void *a, const void *b)
{
	const struct yett_work *x = *(const struct yett_work *const *)a, *y = *(const struct yett_work *const *)b;

	return x->created_ms != y->created_ms ? (x->created_ms < y->created_ms ? -1 : 1) : strcmp(x->id, y->id);
}

static void print_work(const struct yett_work *work)
{
	char when[32] = "-";
	time_t seconds = (time_t)(work->created_ms / 1000);
	struct tm local;

	if (work->is_complete && localtime_r(&seconds, &local))
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
	(void)printf("%-16s  %-16s  %-4s  %-19s  ", work->id, *work->sandbox ? work->sandbox : "-", work->is_used ? "yes" : "no", when);
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
	json_text(json, "sandbox", work->sandbox);
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
	_cleanup_(connect_freep) struct yett_work_list *list = NULL;
	_cleanup_free_ const struct yett_work **rows = NULL;
	size_t count;
	int r = yett_works_list(&list, error);

	if (r)
		return r;
	count = yett_work_list_count(list);
	rows = calloc(count + 1, sizeof *rows);
	if (!rows)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "there is not enough memory for the list");
	for (size_t i = 0; i < count; i++)
		rows[i] = yett_work_list_get(list, i);
	qsort(rows, count, sizeof *rows, older);
	if (output_json())
		json_open(output_json(), "works", '[');
	else
		(void)printf("%-16s  %-16s  %-4s  %-19s  %s\n", "ID", "SANDBOX", "USED", "CREATED", "SOURCE");
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

int work_main(const struct subcommand *self, int argc, char **argv)
{
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, NULL, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (strcmp(argv[first], "list") != 0) {
		(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "work %.80s: expected list", argv[first]);
		output_error(&error);
		return EXIT_USAGE;
	}
	r = list_works(&error);
	if (r)
		output_error(&error);
	return r ? EXIT_FAILED : 0;
}

/* Where there is somebody to ask. */
static bool is_agreed(int count, char **ids)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || output_json())
		return true;
	(void)fputs("yett: what was changed in", stderr);
	for (int i = 0; i < count; i++) {
		(void)fputc(' ', stderr);
		output_text(stderr, ids[i], false);
	}
	(void)fputs(" is gone then. Discard it? [y/N] ", stderr);
	(void)fflush(stderr);
	return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

int discard_main(const struct subcommand *self, int argc, char **argv)
{
	struct discard_run_options options = {0};
	struct yett_error error = {0};
	int first, failed = 0, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (!options.yes && !is_agreed(argc - first, argv + first)) {
		output_note("nothing was discarded");
		return EXIT_FAILED;
	}
	if (output_json())
		json_open(output_json(), "discarded", '[');
	for (; first < argc; first++) {
		r = yett_work_discard(argv[first], &error);
		failed += r != 0;
		if (r)
			output_error(&error);
		else if (output_json())
			json_text(output_json(), NULL, argv[first]);
		else
			(void)printf("discarded %s\n", argv[first]);
	}
	if (output_json())
		json_close(output_json());
	return failed ? EXIT_FAILED : 0;
}

int work_find_places(const char *id, char **ret_source, char **ret_target, struct yett_error *error)
{
	_cleanup_(connect_freep) struct yett_work_list *list = NULL;
	const struct yett_work *work = NULL;
	_cleanup_free_ char *source = NULL, *target = NULL;
	int r = yett_works_list(&list, error);

	for (size_t i = 0; r == 0 && !work && i < yett_work_list_count(list); i++)
		if (strcmp(yett_work_list_get(list, i)->id, id) == 0)
			work = yett_work_list_get(list, i);
	if (r)
		return r;
	if (!work)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE, "there is no store %.40s; yett work list tells which there are", id);
	if (!work->is_complete)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the store %s does not tell which directory it is about: its request is under way, or came to nothing",
		                 id);
	if (work->is_earlier_boot)
		output_note("the machine was started anew since the store %s was used: if it had crashed, files in it may be torn", id);
	source = strdup(work->source);
	target = strdup(work->target);
	if (!source || !target)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "there is not enough memory for the share");
	*ret_source = steal_ptr(&source);
	*ret_target = steal_ptr(&target);
	return 0;
}

void work_note_hidden(const char *sandbox)
{
	_cleanup_(connect_freep) struct yett_work_list *list = NULL;

	if (yett_works_list(&list, NULL) != 0)
		return;
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);
		size_t told = work->hidden_count < HIDDEN_TOLD ? work->hidden_count : HIDDEN_TOLD;
		char more[32] = "";

		if (strcmp(work->sandbox, sandbox) != 0 || !told)
			continue;
		if (work->hidden_count > told)
			(void)snprintf(more, sizeof more, " and %zu more", work->hidden_count - told);
		output_note("hidden in %s: %s%s", ESCAPE(work->target),
		            escape_list((char *const *)work->hidden, told, (char[ESCAPE_SIZE]){0}, ESCAPE_SIZE), more);
	}
}

void work_note_kept(const char *target, const char *store)
{
	output_note("what was changed in %s is kept: yett discard %s throws it away", ESCAPE(target), store);
}

void work_note(const char *sandbox)
{
	_cleanup_(connect_freep) struct yett_work_list *list = NULL;

	if (yett_works_list(&list, NULL) != 0)
		return;
	for (size_t i = 0; i < yett_work_list_count(list); i++) {
		const struct yett_work *work = yett_work_list_get(list, i);

		if (strcmp(work->sandbox, sandbox) == 0)
			work_note_kept(work->target, work->id);
	}
}
