/* See diff.h. */
#include "cli/diff.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>

#include "base/spawn.h"
#include "cli/output.h"
#include "cli/store.h"
#include "libclient/yett.h"

struct diff_options {
	bool stat, names;
};

OPTION_FLAG(set_stat, struct diff_options, stat)
OPTION_FLAG(set_names, struct diff_options, names)

const struct option diff_options[] = {
	{0, "stat", NULL, "of each file how much was changed, instead of what", set_stat},
	{0, "name-only", NULL, "only what was changed, one path a line", set_names},
	{0},
};

/* What yett-diff is given, and the ends of the pipes to it. */
struct asking {
	struct store store;
	int out, notes;
	pid_t pid;
};

static void work_list_freep(struct yett_work_list **list)
{
	yett_free(*list);
}

/* Below the directory that the store is about: what names another place is refused. */
static int check_paths(int count, char **paths, struct yett_error *error)
{
	for (int i = 0; i < count; i++) {
		size_t length = strlen(paths[i]);

		while (length > 1 && paths[i][length - 1] == '/')
			paths[i][--length] = '\0';
		for (const char *at = paths[i]; *at || at == paths[i]; at += *at == '/') {
			size_t part = strcspn(at, "/");

			if (part == 0 || (at[0] == '.' && (part == 1 || (part == 2 && at[1] == '.'))))
				return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				                 "diff %.200s: expected a path below the directory that was shared, without . and ..",
				                 paths[i]);
			at += part;
		}
	}
	return 0;
}

/* As YETT_DIFF says, or beside the helper; checked as a helper is. */
static int find_program(char path[PATH_MAX], struct yett_error *error)
{
	const char *named = secure_getenv("YETT_DIFF");
	char helper[PATH_MAX], beside[PATH_MAX];
	int r = named ? 0 : yett_helper_path(NULL, helper, sizeof helper, error);

	if (r)
		return r;
	if (!named &&
	    (size_t)snprintf(beside, sizeof beside, "%.*s/yett-diff", (int)(strrchr(helper, '/') - helper), helper) >= sizeof beside)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG, "the path of yett-diff, beside the helper, is too long");
	return yett_helper_path(named ? named : beside, path, PATH_MAX, error);
}

#define ARGUMENTS   7 /* before the paths */
#define NUMBER_SIZE 12

/* The arguments of yett-diff, of which all numbers are descriptors: its main.c has what they mean. */
static int execute(const char *program, const struct asking *asking, const int ends[2], const char *form, char **paths, pid_t *ret_pid)
{
	const struct store *store = &asking->store;
	char layers[STORE_LAYERS_MAX * NUMBER_SIZE] = "0", numbers[4][NUMBER_SIZE];
	int fds[STORE_LAYERS_MAX + 3] = {store->source, ends[0], ends[1]};
	const int named[] = {store->hidden, store->source, ends[0], ends[1]};
	size_t count = 3, length = 1;
	_cleanup_free_ char **argv = NULL;

	for (size_t i = 1; i < store->count; i++) {
		length += (size_t)snprintf(layers + length, sizeof layers - length, ",%d", store->layers[i]);
		fds[count++] = store->layers[i];
	}
	if (store->hidden >= 0)
		fds[count++] = store->hidden;
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		(void)snprintf(numbers[i], NUMBER_SIZE, named[i] < 0 ? "-" : "%d", named[i]);
	const char *const first[ARGUMENTS] = {"yett-diff", layers, numbers[0], numbers[1], numbers[2], numbers[3], form};

	for (length = 0; paths[length];)
		length++;
	argv = calloc(ARGUMENTS + length + 1, sizeof *argv);
	if (!argv)
		return -ENOMEM;
	memcpy(argv, first, sizeof first);
	memcpy(argv + ARGUMENTS, paths, length * sizeof *paths);
	return spawn(program, argv, store->layers[0], fds, count, ret_pid);
}

static int start(struct asking *asking, const char *form, char **paths, struct yett_error *error)
{
	char program[PATH_MAX];
	int out[2] = {-1, -1}, notes[2] = {-1, -1};
	int r = find_program(program, error);

	if (r)
		return r;
	if (pipe2(out, O_CLOEXEC) < 0)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "cannot start yett-diff: %m");
	asking->out = out[0];
	if (pipe2(notes, O_CLOEXEC) < 0) {
		fd_close(out[1]);
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "cannot start yett-diff: %m");
	}
	asking->notes = notes[0];
	r = execute(program, asking, (const int[]){out[1], notes[1]}, form, paths, &asking->pid);
	fd_close(out[1]);
	fd_close(notes[1]);
	errno = -r;
	return r == 0 ? 0 : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot execute %s: %m", program);
}

/* Tabs stay, and the end of the line. */
static void put_escaped(char *line, size_t length)
{
	for (char *at = line, *end = line + length; at < end; at++) {
		size_t part = strcspn(at, "\t");
		char last = at[part]; /* a tab, or the NUL of the line's or at its end */

		at[part] = '\0';
		output_text(stdout, at, true);
		at += part;
		if (at < end)
			(void)fputs(last == '\t' ? "\t" : "\\x00", stdout);
	}
}

/* On a terminal nothing of it is acted on; elsewhere it is as it is, for git apply. */
static void print(FILE *from)
{
	_cleanup_free_ char *line = NULL;
	bool is_terminal = isatty(STDOUT_FILENO);
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, from)) >= 0 && !ferror(stdout)) {
		if (is_terminal)
			put_escaped(line, (size_t)n);
		else
			(void)fwrite(line, 1, (size_t)n, stdout);
	}
}

static void put_json(FILE *from)
{
	_cleanup_free_ char *text = NULL;
	size_t room = 0;

	if (getdelim(&text, &room, '\0', from) > 0)
		json_foreign(output_json(), "changes", text);
	else
		json_null(output_json(), "changes");
}

static void tell_notes(FILE *from)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, from)) > 0) {
		line[n - 1] = '\0';
		output_note("%s", line);
	}
}

/* The exit code. */
static int finish(struct asking *asking)
{
	FILE *out = fdopen(asking->out, "r"), *notes = fdopen(asking->notes, "r");
	int status = 0;

	if (out && output_json())
		put_json(out);
	else if (out)
		print(out);
	if (out)
		(void)fclose(out); /* yett-diff ends where nobody reads */
	if (notes) {
		tell_notes(notes);
		(void)fclose(notes);
	}
	while (waitpid(asking->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (output_json())
		json_bool(output_json(), "complete", out && notes && status == 0);
	if (WIFSIGNALED(status) && !ferror(stdout))
		output_note("yett-diff was ended by signal %d: the changes are not told to their end", WTERMSIG(status));
	else if (status != 0)
		output_note("not all that was changed is shown");
	return out && notes && status == 0 ? 0 : EXIT_FAILED;
}

static int diff(const struct yett_work *work, const char *form, char **paths)
{
	struct asking asking = {.out = -1, .notes = -1};
	struct yett_error error = {0};
	int r = store_open(work, &asking.store, &error);

	if (r == 0)
		r = start(&asking, form, paths, &error);
	store_close(&asking.store);
	if (r) {
		fd_close(asking.out);
		fd_close(asking.notes);
		output_error(&error);
		return EXIT_FAILED;
	}
	if (output_json()) {
		json_text(output_json(), "id", work->id);
		json_text(output_json(), "source", work->source);
		json_bool(output_json(), "used", work->is_used);
	}
	if (work->is_used)
		output_note("a sandbox works on the store %s: what it changes meanwhile may show or not", work->id);
	return finish(&asking);
}

int diff_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_(work_list_freep) struct yett_work_list *list = NULL;
	struct diff_options options = {0};
	struct yett_error error = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (check_paths(argc - first - 1, argv + first + 1, &error) || (options.stat && options.names)) {
		if (!error.code)
			(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "diff: --stat and --name-only exclude each other");
		output_error(&error);
		return EXIT_USAGE;
	}
	r = yett_works_list(&list, &error);
	for (size_t i = 0; r == 0 && i < yett_work_list_count(list); i++)
		if (strcmp(yett_work_list_get(list, i)->id, argv[first]) == 0)
			return diff(yett_work_list_get(list, i),
			            output_json()   ? "json"
			            : options.stat  ? "stat"
			            : options.names ? "names"
			                            : "patch",
			            argv + first + 1);
	if (r == 0) {
		(void)error_set(&error, YETT_E_NOT_FOUND, YETT_R_NONE, "there is no store %.40s; yett work list tells which there are",
		                argv[first]);
		error_mend(&error, "what a sandbox changed in memory is kept in none, and gone with it");
	}
	output_error(&error);
	return EXIT_FAILED;
}
