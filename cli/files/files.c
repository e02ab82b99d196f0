/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. */
#include "cli/files/files.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/connect.h"
#include "cli/files/copy.h"
#include "cli/output.h"
#include "cli/sandboxes/manage.h"

#define LIST_ENTRIES_MAX 1000000
#define COPY_CHUNK       (1 << 20)
#define CAT_JSON_MAX     (16 << 20)

char *files_split(char *operand)
{
	char *colon = strchr(operand, ':');

	if (!colon || colon == operand || colon[1] != '/' ||
	    memchr(operand, '/', (size_t)(colon - operand)))
		return NULL;
	*colon = '\0';
	return colon + 1;
}

/* The connection, and the sandbox of the present operand. */
struct files_run {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_error error;
};

static int open_sandbox(struct files_run *run, const struct connect_choice *choice,
                        const char *id_or_name)
{
	int r = run->connection
	                ? 0
	                : connect_for(choice, false, id_or_name, &run->connection, &run->error);

	return r ? r : yett_sandbox_attach(run->connection, id_or_name, &run->sandbox, &run->error);
}

/*
 * Reports the error, if any, and closes the sandbox. Returns the exit code. The connection stays
 * open for another sandbox.
 */
static int cli_files_leave(struct files_run *run, int r)
{
	if (r)
		output_error(&run->error);
	yett_sandbox_close(run->sandbox);
	run->sandbox = NULL;
	return r == YETT_E_INVALID_REQUEST ? EXIT_USAGE : r ? EXIT_FAILED : 0;
}

static int cli_files_finish(struct files_run *run, int r)
{
	int code = cli_files_leave(run, r);

	yett_connection_close(run->connection);
	return code;
}

static int not_a_path(struct files_run *run, const char *operand)
{
	(void)error_set(&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "%.200s: expected SANDBOX:/PATH, like web:/tmp", operand);
	return YETT_E_INVALID_REQUEST;
}

/* Adds the copy to the JSON document. One of the two paths is inside the sandbox. */
static void report_copied(const struct copied *copied, const struct run_copy *copy, bool is_out)
{
	struct json *json = output_json();

	if (!json || !copied->target[0])
		return;
	json_open(json, "copied", '{');
	json_text(json, "from", copy->from);
	json_text(json, "to", copied->target);
	json_text(json, "direction", is_out ? "out" : "in");
	json_number(json, "entries", copied->result.entries);
	json_number(json, "bytes", copied->result.bytes);
	json_number(json, "skipped", copied->result.skipped);
	json_close(json);
}

int cp_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct files_run run = {0};
	char *from, *to, *from_inside, *to_inside;
	struct copied copied = {0};
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	from = argv[first];
	to = argv[first + 1];
	from_inside = files_split(from);
	to_inside = files_split(to);
	if (!from_inside == !to_inside)
		r = error_set(
			&run.error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"cp copies into a sandbox or out of one: either %.100s or %.100s must be SANDBOX:/PATH",
			from, to);
	else
		r = open_sandbox(&run, &options.connect, from_inside ? from : to);
	if (r == 0) {
		const struct run_copy copy = {from_inside ? from_inside : from,
		                              from_inside ? to : to_inside};

		r = copy_one(run.sandbox, from_inside != NULL, &copy, &copied, &run.error);
		report_copied(&copied, &copy, from_inside != NULL);
	}
	return cli_files_finish(&run, r);
}

/*
 * The part of a struct yett_file_info that is printed: the struct itself has some kilobytes, too
 * much for each entry of a large directory.
 */
struct entry {
	char *name, *link;
	enum yett_file_kind kind;
	uint64_t size_bytes;
	unsigned mode;
	uint32_t uid, gid, mtime_ns;
	int64_t mtime_s;
	char permissions[sizeof((struct yett_file_info *)NULL)->permissions];
	char owner[sizeof((struct yett_file_info *)NULL)->owner],
		group[sizeof((struct yett_file_info *)NULL)->group];
};

struct list {
	struct entry *entries;
	size_t count, room;
	bool is_cut; /* memory ran out */
};

static int keep_entry(const struct yett_file_info *info, void *data)
{
	struct list *list = data;
	struct entry *entry;

	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct entry *entries = reallocarray(list->entries, room, sizeof *entries);

		if (!entries)
			return list->is_cut = true;
		list->entries = entries;
		list->room = room;
	}
	entry = &list->entries[list->count++];
	*entry = (struct entry){.name = strdup(info->name),
	                        .link = strdup(info->link),
	                        .kind = info->kind,
	                        .size_bytes = info->size_bytes,
	                        .mode = info->mode,
	                        .uid = info->uid,
	                        .gid = info->gid,
	                        .mtime_ns = info->mtime_ns,
	                        .mtime_s = info->mtime_s};
	memcpy(entry->permissions, info->permissions, sizeof entry->permissions);
	memcpy(entry->owner, info->owner, sizeof entry->owner);
	memcpy(entry->group, info->group, sizeof entry->group);
	return list->is_cut = !entry->name || !entry->link;
}

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entries[i].name);
		free(list->entries[i].link);
	}
	free(list->entries);
}

static int cli_files_by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void print_entry(const struct entry *info)
{
	char when[32] = "", owner[40], group[40];
	time_t seconds = (time_t)info->mtime_s;
	struct tm parts;

	if (localtime_r(&seconds, &parts))
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &parts);
	(void)snprintf(owner, sizeof owner, *info->owner ? "%s" : "%.0s%u", info->owner, info->uid);
	(void)snprintf(group, sizeof group, *info->group ? "%s" : "%.0s%u", info->group, info->gid);
	(void)fputs(info->permissions, stdout);
	(void)putchar(' ');
	output_text(stdout, owner, false);
	(void)putchar(' ');
	output_text(stdout, group, false);
	(void)printf(" %12llu %s ", (unsigned long long)info->size_bytes, when);
	output_text(stdout, info->name, false);
	if (info->kind == YETT_FILE_SYMLINK) {
		(void)fputs(" -> ", stdout);
		output_text(stdout, info->link, false);
	}
	(void)putchar('\n');
}

static void json_entry(struct json *json, const struct entry *info)
{
	static const char *const kinds[] = {"other", "regular", "directory",        "symlink",
	                                    "fifo",  "socket",  "character-device", "block-device"};

	json_open(json, NULL, '{');
	json_text(json, "name", info->name);
	json_text(json, "permissions", info->permissions);
	json_text_or_null(json, "owner", info->owner);
	json_text_or_null(json, "group", info->group);
	json_text_or_null(json, "link", info->link);
	json_text(json, "kind", info->kind < ARRAY_SIZE(kinds) ? kinds[info->kind] : kinds[0]);
	json_number(json, "size_bytes", info->size_bytes);
	json_number(json, "mode", info->mode);
	json_number(json, "uid", info->uid);
	json_number(json, "gid", info->gid);
	json_signed(json, "mtime_s", info->mtime_s);
	json_number(json, "mtime_ns", info->mtime_ns);
	json_close(json);
}

static void cli_files_print_list(const struct list *list)
{
	struct json *json = output_json();

	if (json)
		json_open(json, "entries", '[');
	for (size_t i = 0; i < list->count; i++) {
		if (json)
			json_entry(json, &list->entries[i]);
		else
			print_entry(&list->entries[i]);
	}
	if (json)
		json_close(json);
}

/* Lists the entries of a directory; for any other file, the file itself. */
static int cli_files_read_list(struct files_run *run, const char *path, struct list *list)
{
	struct yett_file_info *info = NULL;
	int r = yett_file_stat(run->sandbox, path, YETT_FILE_FOLLOW, &info, NULL);
	bool is_directory = r == 0 && info->kind == YETT_FILE_DIRECTORY;

	yett_free(info);
	if (is_directory) {
		r = yett_file_list(run->sandbox, path, LIST_ENTRIES_MAX, keep_entry, list,
		                   &run->error);
	} else {
		r = yett_file_stat(run->sandbox, path, 0, &info, &run->error);
		if (r == 0) {
			(void)keep_entry(info, list);
			yett_free(info);
		}
	}
	if (r == 0 && list->is_cut)
		r = error_set(&run->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		              "there is not enough memory for the list");
	return r;
}

int ls_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct files_run run = {0};
	struct list list = {0};
	char *path;
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	path = files_split(argv[first]);
	r = path ? open_sandbox(&run, &options.connect, argv[first])
	         : not_a_path(&run, argv[first]);
	if (r == 0)
		r = cli_files_read_list(&run, path, &list);
	if (r == 0 && list.count)
		qsort(list.entries, list.count, sizeof list.entries[0], cli_files_by_name);
	if (r == 0)
		cli_files_print_list(&list);
	list_free(&list);
	return cli_files_finish(&run, r);
}

/*
 * Prints the file with pread(2): processes inside may share the file description and move its
 * offset.
 */
static int cli_files_print_file(struct files_run *run, const char *path)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_free_ char *chunk = malloc(COPY_CHUNK);
	off_t at = 0;
	ssize_t n = 1;
	int r = yett_file_open(run->sandbox, path, YETT_OPEN_READ, 0, &fd, &run->error);

	/* output_end() reports a failed write */
	while (r == 0 && chunk && !ferror(stdout) && (n = pread(fd, chunk, COPY_CHUNK, at)) > 0) {
		(void)fwrite(chunk, 1, (size_t)n, stdout);
		at += n;
	}
	if (r == 0 && (!chunk || n < 0))
		r = error_set(&run->error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              "%s cannot be read: %m", path);
	return r;
}

/*
 * Puts the content into the JSON document: stdout has the document, so the content cannot go there.
 */
static int json_file(struct files_run *run, const char *path)
{
	char *bytes = NULL;
	size_t length = 0;
	int r = yett_file_read(run->sandbox, path, CAT_JSON_MAX, &bytes, &length, &run->error);

	if (r == YETT_E_RESOURCE_LIMIT)
		error_detail(&run->error,
		             "with --json-fd the content goes to stdout, whatever its size");
	if (r == 0)
		json_bytes(output_json(), "content", bytes, length);
	yett_free(bytes);
	return r;
}

static int cat_one(struct files_run *run, const struct connect_choice *choice, char *operand)
{
	struct json *json = output_json();
	char *path = files_split(operand);
	int r = path ? open_sandbox(run, choice, operand) : not_a_path(run, operand);

	if (json) {
		json_open(json, NULL, '{');
		json_text(json, "path", path);
	}
	if (r == 0)
		r = output_json_has_stdout() ? json_file(run, path)
		                             : cli_files_print_file(run, path);
	if (r == 0)
		run->error.code = YETT_OK;
	if (json) {
		output_json_error(json, "error", &run->error);
		json_close(json);
	}
	return cli_files_leave(run, r);
}

int cat_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct files_run run = {0};
	int first, code = 0, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	if (output_json())
		json_open(output_json(), "files", '[');
	for (int i = first; i < argc; i++) {
		r = cat_one(&run, &options.connect, argv[i]);
		code = code ? code : r;
	}
	if (output_json())
		json_close(output_json());
	yett_connection_close(run.connection);
	return code;
}
