/* SPDX-License-Identifier: Apache-2.0 */
/* See checkpoint.h. */
#include "cli/agents/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units_parse.h"
#include "cli/agents/checkpoint_library.h"
#include "cli/changes/snapshot.h"
#include "cli/output.h"

#define READ_MAX ((size_t)512 << 20) /* the most that a store takes */

struct checkpoint_choice {
	const char *store, *parent, *node, *custom, *sandbox, *snapshot, *before, *after;
	const char *tags[YETT_CHECKPOINT_TAGS_MAX + 1];
	size_t tags_count;
	int64_t step;
	uint64_t limit;
	bool has_step, workspace, kill, yes;
};

OPTION_TEXT(set_store, struct checkpoint_choice, store)
OPTION_TEXT(set_parent, struct checkpoint_choice, parent)
OPTION_TEXT(set_node, struct checkpoint_choice, node)
OPTION_TEXT(set_custom, struct checkpoint_choice, custom)
OPTION_TEXT(checkpoint_set_sandbox, struct checkpoint_choice, sandbox)
OPTION_TEXT(set_snapshot, struct checkpoint_choice, snapshot)
OPTION_FLAG(set_workspace, struct checkpoint_choice, workspace)
OPTION_FLAG(checkpoint_set_kill, struct checkpoint_choice, kill)
OPTION_FLAG(checkpoint_set_yes, struct checkpoint_choice, yes)

static int set_step(void *into, const char *value, struct yett_error *error)
{
	struct checkpoint_choice *choice = into;
	bool is_negative = value[0] == '-';
	uint64_t number;

	if (units_parse_number(value + is_negative, &number) < 0 || number > INT64_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--step %s: expected a whole number", value);
	choice->step = is_negative ? -(int64_t)number : (int64_t)number;
	choice->has_step = true;
	return 0;
}

static int set_tag(void *into, const char *value, struct yett_error *error)
{
	struct checkpoint_choice *choice = into;

	if (choice->tags_count == YETT_CHECKPOINT_TAGS_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--tag: more than %d of them", YETT_CHECKPOINT_TAGS_MAX);
	choice->tags[choice->tags_count++] = value;
	return 0;
}

static int set_limit(void *into, const char *value, struct yett_error *error)
{
	if (units_parse_number(value, &((struct checkpoint_choice *)into)->limit) == 0 &&
	    ((struct checkpoint_choice *)into)->limit > 0)
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--limit %s: expected a number from 1 on", value);
}

bool checkpoint_parse_time(const char *text, uint64_t *ret_ms)
{
	struct tm parts = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
	int day = parts.tm_mday;
	/* timegm() normalizes an invalid day: 30 February becomes a day of March. */
	time_t seconds = rest ? timegm(&parts) : -1;
	uint64_t ms = 0;

	if (seconds < 0 || parts.tm_mday != day)
		return false;
	if (rest[0] == '.' && strspn(rest + 1, "0123456789") == 3) {
		ms = (uint64_t)((rest[1] - '0') * 100 + (rest[2] - '0') * 10 + rest[3] - '0');
		rest += 4;
	}
	if (strcmp(rest, "Z") != 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000 + ms;
	return true;
}

/* Checks only the length; the library checks the rest. */
static bool checkpoint_is_id(const char *text)
{
	return strlen(text) == YETT_CHECKPOINT_ID_SIZE - 1;
}

static int set_bound(const char *name, const char *value, const char **bound,
                     struct yett_error *error)
{
	uint64_t ms;

	*bound = value;
	if (checkpoint_is_id(value) || checkpoint_parse_time(value, &ms))
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"--%s %s: expected the id of a checkpoint, or a time like 2026-03-01T12:00:00Z",
		name, value);
}

static int checkpoint_set_before(void *into, const char *value, struct yett_error *error)
{
	return set_bound("before", value, &((struct checkpoint_choice *)into)->before, error);
}

static int set_after(void *into, const char *value, struct yett_error *error)
{
	return set_bound("after", value, &((struct checkpoint_choice *)into)->after, error);
}

const struct option checkpoint_options[] = {
	{0, "parent", "ID", "put: the checkpoint that this one follows (the thread's last)",
         set_parent},
	{0, "step", "STEP", "put: a step number of your choice (0)", set_step},
	{0, "node", "NODE", "put: the part of the program that made the checkpoint", set_node},
	{0, "tag", "TAG", "put: add this tag; list: list only those with it; repeatable", set_tag},
	{0, "custom", "JSON", "put: add further metadata, a JSON object", set_custom},
	{0, "sandbox", "SANDBOX|STORE",
         "put: record the sandbox or store that belongs to the checkpoint", checkpoint_set_sandbox},
	{0, "snapshot", "SNAPSHOT", "put: record the snapshot of that store", set_snapshot},
	{0, "workspace", NULL, "rollback: roll the recorded store back to its snapshot, too",
         set_workspace},
	{0, "kill", NULL, "rollback: see yett snapshot rollback", checkpoint_set_kill},
	{'y', "yes", NULL, "rollback: do not ask for confirmation", checkpoint_set_yes},
	{'n', "limit", "N", "list: list at most N of the last ones (100)", set_limit},
	{0, "before", "ID|TIME", "list: list only those put before this one",
         checkpoint_set_before},
	{0, "after", "ID|TIME", "list: list only those put after this one", set_after},
	{0, "store", "FILE", "use this database (~/.local/state/yett/checkpoints.db)", set_store},
	{0},
};

/* The arguments of an action, and the store that it works on. */
struct checkpoint_run {
	const struct checkpoint_choice *choice;
	char **operands;
	size_t count;
	struct checkpoint_library library;
	struct yett_checkpoint_store *store;
};

/* Formats a time in UTC, in the form that --before takes. */
static void format_time(uint64_t ms, char out[static 32])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;
	size_t length;

	(void)strcpy(out, "-");
	if (!gmtime_r(&seconds, &parts))
		return;
	length = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(out + length, 32 - length, ".%03dZ", (int)(ms % 1000));
}

static void json_checkpoint(struct json *json, const char *name,
                            const struct yett_checkpoint *checkpoint)
{
	json_open(json, name, '{');
	json_text(json, "id", checkpoint->id);
	json_text(json, "thread", checkpoint->thread);
	json_text(json, "parent", checkpoint->parent);
	json_number(json, "created_ms", checkpoint->created_ms);
	json_signed(json, "step", checkpoint->step);
	json_text(json, "node", checkpoint->node);
	json_open(json, "tags", '[');
	for (const char *const *tag = checkpoint->tags; *tag; tag++)
		json_text(json, NULL, *tag);
	json_close(json);
	if (checkpoint->custom)
		json_foreign(json, "custom", checkpoint->custom);
	else
		json_null(json, "custom");
	json_text(json, "sandbox", checkpoint->sandbox);
	json_text(json, "snapshot", checkpoint->snapshot);
	json_number(json, "state_bytes", checkpoint->state_size);
	if (checkpoint->state && output_json_has_stdout())
		json_bytes(json, "state", checkpoint->state, checkpoint->state_size);
	json_close(json);
}

static void checkpoint_print_text(const char *text)
{
	(void)fputs("  ", stdout);
	output_text(stdout, text ? text : "-", false);
}

static void checkpoint_print_row(const struct yett_checkpoint *checkpoint)
{
	char created[32], size[32];

	format_time(checkpoint->created_ms, created);
	output_size(size, sizeof size, checkpoint->state_size);
	(void)printf("%-36s  %-24s  %9s  %6lld", checkpoint->id, created, size,
	             (long long)checkpoint->step);
	checkpoint_print_text(checkpoint->thread);
	checkpoint_print_text(checkpoint->node);
	checkpoint_print_text(checkpoint->sandbox);
	if (checkpoint->snapshot) {
		(void)putchar(':');
		output_text(stdout, checkpoint->snapshot, false);
	}
	for (const char *const *tag = checkpoint->tags; *tag; tag++) {
		(void)fputs(tag == checkpoint->tags ? "  " : ", ", stdout);
		output_text(stdout, *tag, false);
	}
	(void)putchar('\n');
}

static void report_list(const struct checkpoint_run *run, struct yett_checkpoint_list *list)
{
	struct json *json = output_json();

	if (json)
		json_open(json, "checkpoints", '[');
	else
		(void)printf("%-36s  %-24s  %9s  %6s  THREAD  NODE  SNAPSHOT  TAGS\n", "ID",
		             "CREATED", "SIZE", "STEP");
	for (size_t i = 0; i < run->library.yett_checkpoint_list_count(list); i++) {
		if (json)
			json_checkpoint(json, NULL, run->library.yett_checkpoint_list_get(list, i));
		else
			checkpoint_print_row(run->library.yett_checkpoint_list_get(list, i));
	}
	if (json)
		json_close(json);
	run->library.yett_checkpoint_list_free(list);
}

static void report_removed(uint64_t count)
{
	if (output_json())
		json_number(output_json(), "removed", count);
	else
		(void)printf("removed %llu checkpoint%s\n", (unsigned long long)count,
		             count == 1 ? "" : "s");
}

/*
 * Writes the state unchanged to stdout, or into the JSON document if that goes to stdout. Frees
 * `checkpoint`.
 */
static int checkpoint_report_state(const struct checkpoint_run *run,
                                   struct yett_checkpoint *checkpoint, struct yett_error *error)
{
	int r = 0;

	if (output_json())
		json_checkpoint(output_json(), "checkpoint", checkpoint);
	if (!output_json_has_stdout()) {
		(void)fwrite(checkpoint->state, 1, checkpoint->state_size, stdout);
		r = output_flush("the state", error);
	}
	run->library.yett_checkpoint_free(checkpoint);
	return r;
}

/* Reads the whole file, or stdin for NULL or "-". The caller frees *ret_bytes. */
static int checkpoint_read_state(const char *file, char **ret_bytes, size_t *ret_size,
                                 struct yett_error *error)
{
	bool is_stdin = !file || strcmp(file, "-") == 0;
	_cleanup_fd_ int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
	                               : open(file, O_RDONLY | O_CLOEXEC);
	const char *name = is_stdin ? "the standard input" : file;
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, room = 0;
	ssize_t n = 1;

	if (fd < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot read %s: %m", name);
	while (n > 0 && size <= READ_MAX) {
		if (size == room) {
			char *grown = realloc(bytes, room = room ? room * 2 : 65536);

			if (!grown)
				return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
				                 "there is not enough memory for the state");
			bytes = grown;
		}
		do
			n = read(fd, bytes + size, room - size);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
			                 "cannot read %s: %m", name);
		size += (size_t)n;
	}
	if (size > READ_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the state in %s is larger than %zu bytes", name, READ_MAX);
	*ret_bytes = steal_ptr(&bytes);
	*ret_size = size;
	return 0;
}

/* Opens the store. Only put creates one that is missing (`is_made`). */
static int checkpoint_open_store(struct checkpoint_run *run, bool is_made, struct yett_error *error)
{
	const struct yett_checkpoint_store_options options = {
		.size = sizeof options,
		.path = run->choice->store,
		.flags = is_made ? 0 : YETT_CHECKPOINT_EXISTING};

	return run->library.yett_checkpoint_store_open(&options, &run->store, error);
}

static int checkpoint_put(struct checkpoint_run *run, struct yett_error *error)
{
	const struct checkpoint_choice *choice = run->choice;
	struct yett_checkpoint_put_options options = {
		.size = sizeof options,
		.thread = run->operands[0],
		.parent = choice->parent,
		.step = choice->step,
		.node = choice->node,
		.tags = choice->tags,
		.custom = choice->custom,
		.sandbox = choice->sandbox,
		.snapshot = choice->snapshot,
	};
	struct yett_checkpoint *checkpoint;
	_cleanup_free_ char *bytes = NULL;
	uint64_t pruned;
	int r = checkpoint_read_state(run->count > 1 ? run->operands[1] : NULL, &bytes,
	                              &options.state_size, error);

	options.state = bytes;
	if (r == 0)
		r = checkpoint_open_store(run, true, error);
	if (r == 0)
		r = run->library.yett_checkpoint_put(run->store, &options, &checkpoint, &pruned,
		                                     error);
	if (r)
		return r;
	if (output_json()) {
		json_checkpoint(output_json(), "checkpoint", checkpoint);
		json_number(output_json(), "removed", pruned);
	} else {
		(void)puts(checkpoint->id);
	}
	if (pruned)
		output_note(
			"removed %llu older checkpoint%s, since a store keeps only so many: libyett-checkpoint(3)",
			(unsigned long long)pruned, pruned == 1 ? "" : "s");
	run->library.yett_checkpoint_free(checkpoint);
	return 0;
}

static int checkpoint_get(struct checkpoint_run *run, struct yett_error *error)
{
	struct yett_checkpoint *checkpoint;
	int r = run->library.yett_checkpoint_get(run->store, run->operands[0], &checkpoint, error);

	return r ? r : checkpoint_report_state(run, checkpoint, error);
}

static int checkpoint_latest(struct checkpoint_run *run, struct yett_error *error)
{
	struct yett_checkpoint *checkpoint;
	int r = run->library.yett_checkpoint_latest(run->store, run->operands[0], &checkpoint,
	                                            error);

	return r ? r : checkpoint_report_state(run, checkpoint, error);
}

/*
 * Converts a bound to an id. A time becomes its least id: no checkpoint of that time is before that
 * id, and all are after it.
 */
static const char *bound(const struct checkpoint_run *run, const char *text,
                         char id[static YETT_CHECKPOINT_ID_SIZE])
{
	uint64_t ms;

	if (!text || !checkpoint_parse_time(text, &ms))
		return text;
	run->library.yett_checkpoint_time_id(ms, id);
	return id;
}

static int checkpoint_list(struct checkpoint_run *run, struct yett_error *error)
{
	char before[YETT_CHECKPOINT_ID_SIZE], after[YETT_CHECKPOINT_ID_SIZE];
	const struct checkpoint_choice *choice = run->choice;
	const struct yett_checkpoint_list_options options = {
		.size = sizeof options,
		.thread = run->count ? run->operands[0] : NULL,
		.tag = choice->tags[0],
		.before = bound(run, choice->before, before),
		.after = bound(run, choice->after, after),
		.limit = choice->limit,
	};
	struct yett_checkpoint_list *found;
	int r;

	if (choice->tags_count > 1)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a list is of one --tag");
	r = run->library.yett_checkpoints_list(run->store, &options, &found, error);
	if (r == 0)
		report_list(run, found);
	return r;
}

static int history(struct checkpoint_run *run, struct yett_error *error)
{
	struct yett_checkpoint_list *found;
	int r = run->library.yett_checkpoint_history(run->store, run->operands[0], &found, error);

	if (r == 0)
		report_list(run, found);
	return r;
}

/*
 * Rolls the store back to the snapshot of the checkpoint. Do this before rolling the thread back:
 * if it fails, the thread stays as it was.
 */
static int checkpoint_go_back(struct checkpoint_run *run, struct yett_error *error)
{
	const unsigned flags =
		(run->choice->kill ? SNAPSHOT_KILL : 0u) | (run->choice->yes ? SNAPSHOT_YES : 0u);
	struct yett_checkpoint *checkpoint;
	int r = run->library.yett_checkpoint_get(run->store, run->operands[1], &checkpoint, error);

	if (r)
		return r;
	if (strcmp(checkpoint->thread, run->operands[0]) != 0)
		r = error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		              "the checkpoint %s is not of the thread %s", run->operands[1],
		              run->operands[0]);
	else if (!checkpoint->snapshot)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "the checkpoint %s has no snapshot to roll a store back to",
		              run->operands[1]);
	else
		r = snapshot_go_back(checkpoint->sandbox, checkpoint->snapshot, flags, error);
	run->library.yett_checkpoint_free(checkpoint);
	return r;
}

static int rollback(struct checkpoint_run *run, struct yett_error *error)
{
	struct yett_checkpoint *checkpoint;
	uint64_t removed;
	int r = run->choice->workspace ? checkpoint_go_back(run, error) : 0;

	if (r)
		return r;
	r = run->library.yett_checkpoint_rollback(run->store, run->operands[0], run->operands[1],
	                                          &checkpoint, &removed, error);
	if (r)
		return r;
	if (output_json())
		json_checkpoint(output_json(), "checkpoint", checkpoint);
	report_removed(removed);
	if (!output_json() && checkpoint->snapshot && !run->choice->workspace) {
		(void)fputs("its sandbox ", stdout);
		output_text(stdout, checkpoint->sandbox, false);
		(void)fputs(" was at the snapshot ", stdout);
		output_text(stdout, checkpoint->snapshot, false);
		(void)putchar('\n');
	}
	run->library.yett_checkpoint_free(checkpoint);
	return 0;
}

static int delete_one(struct checkpoint_run *run, struct yett_error *error)
{
	int r = run->library.yett_checkpoint_delete(run->store, run->operands[0], error);

	if (r == 0)
		report_removed(1);
	return r;
}

static int delete_thread(struct checkpoint_run *run, struct yett_error *error)
{
	uint64_t removed;
	int r = run->library.yett_checkpoint_delete_thread(run->store, run->operands[0], &removed,
	                                                   error);

	if (r == 0)
		report_removed(removed);
	return r;
}

/* The groups of options that an action takes besides --store. */
enum { OF_PUT = 1, OF_LIST = 2, OF_TAG = 4, OF_BACK = 8 };

static const struct checkpoint_action {
	const char *name, *operands;
	size_t count_min, count_max;
	unsigned takes;
	int (*run)(struct checkpoint_run *run, struct yett_error *error);
} actions[] = {
	{"put", "THREAD [FILE|-]", 1, 2, OF_PUT | OF_TAG, checkpoint_put},
	{"get", "ID", 1, 1, 0, checkpoint_get},
	{"latest", "THREAD", 1, 1, 0, checkpoint_latest},
	{"list", "[THREAD]", 0, 1, OF_LIST | OF_TAG, checkpoint_list},
	{"history", "ID", 1, 1, 0, history},
	{"rollback", "THREAD ID", 2, 2, OF_BACK, rollback},
	{"delete", "ID", 1, 1, 0, delete_one},
	{"delete-thread", "THREAD", 1, 1, 0, delete_thread},
};

static const struct checkpoint_action *checkpoint_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

/* Returns the name of an option that is set but not taken by the action, or NULL. */
static const char *find_idle(const struct checkpoint_choice *choice,
                             const struct checkpoint_action *action)
{
	const struct {
		const char *name;
		bool is_set;
		unsigned of;
	} options[] = {
		{"parent", choice->parent, OF_PUT},
		{"step", choice->has_step, OF_PUT},
		{"node", choice->node, OF_PUT},
		{"custom", choice->custom, OF_PUT},
		{"sandbox", choice->sandbox, OF_PUT},
		{"snapshot", choice->snapshot, OF_PUT},
		{"tag", choice->tags_count, OF_TAG},
		{"limit", choice->limit, OF_LIST},
		{"before", choice->before, OF_LIST},
		{"after", choice->after, OF_LIST},
		{"workspace", choice->workspace, OF_BACK},
		{"kill", choice->kill, OF_BACK},
		{"yes", choice->yes, OF_BACK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].is_set && !(options[i].of & action->takes))
			return options[i].name;
	return NULL;
}

/*
 * Checks the action, its operands and its options. Returns 0, or an error that says what is valid.
 */
static int checkpoint_check(const char *name, const struct checkpoint_action *action, size_t count,
                            const struct checkpoint_choice *choice, struct yett_error *error)
{
	char names[128] = "";

	if (action && (count < action->count_min || count > action->count_max))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "yett checkpoint %s takes other operands: yett checkpoint %s %s",
		                 name, name, action->operands);
	if (action && find_idle(choice, action))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "yett checkpoint %s takes no --%s", name,
		                 find_idle(choice, action));
	if (action && (choice->kill || choice->yes) && !choice->workspace)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--%s needs --workspace", choice->kill ? "kill" : "yes");
	if (action)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		(void)strcat(names, i ? ", " : "");
		(void)strcat(names, actions[i].name);
	}
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "yett checkpoint has no '%.80s': it has %s", name, names);
}

int checkpoint_main(const struct subcommand *self, int argc, char **argv)
{
	struct checkpoint_choice choice = {0};
	struct yett_error error = {0};
	const struct checkpoint_action *action;
	struct checkpoint_run run;
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	action = checkpoint_find(argv[first]);
	run = (struct checkpoint_run){.choice = &choice,
	                              .operands = argv + first + 1,
	                              .count = (size_t)(argc - first - 1)};
	if (checkpoint_check(argv[first], action, run.count, &choice, &error)) {
		output_error(&error);
		return EXIT_USAGE;
	}
	r = checkpoint_library_load(&run.library, &error);
	if (r == 0 &&
	    action->run != checkpoint_put) /* put reads the state before it opens the store */
		r = checkpoint_open_store(&run, false, &error);
	if (r == 0)
		r = action->run(&run, &error);
	if (run.store)
		run.library.yett_checkpoint_store_close(run.store);
	if (r == 0)
		return 0;
	output_error(&error);
	return EXIT_FAILED;
}
