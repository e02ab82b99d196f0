/* SPDX-License-Identifier: Apache-2.0 */
/* See bundle.h. */
#include <stdio.h>
#include <string.h>

#include "agent/runner/bundle.h"
#include "agent/runner/scan.h"

#define PIECE_MAX (100 << 10) /* bytes of one argument: execve(2) accepts 128 KiB */
/* Bytes of all arguments: execve(2) accepts a quarter of the stack limit. */
#define COMMAND_MAX (1 << 20)

/*
 * Arguments: pairs of a file name and text to append to the file, or of a directory name with a
 * trailing slash and ""; an empty name; the directory to start in; the program with its arguments.
 */
static const char writer[] =
	"while [ \"$1\" ]; do case $1 in */) mkdir -p \"$1\";; *) printf %s \"$2\" >>\"$1\";; esac || exit 126; "
	"shift 2; done; shift; [ $# = 0 ] || { cd \"$1\" && shift && exec \"$@\"; }";

/* --- lists ------------------------------------------------------------------------------------ */

/* A growing, NULL-terminated list of allocated items. */
struct words {
	void **list;
	size_t count, room;
	bool has_failed;
};

/* Takes ownership of `item`; NULL counts as a failure. */
static void bundle_take(struct words *words, void *item)
{
	if (words->count + 2 > words->room) {
		size_t room = words->room ? words->room * 2 : 16;
		void **list = reallocarray(words->list, room, sizeof *list);

		if (list) {
			words->list = list;
			words->room = room;
		}
	}
	if (!item || words->count + 2 > words->room) {
		words->has_failed = true;
		free(item);
		return;
	}
	words->list[words->count++] = item;
	words->list[words->count] = NULL;
}

static void bundle_add(struct words *words, const char *text)
{
	bundle_take(words, strdup(text));
}

static char **bundle_finish(struct words *words)
{
	if (!words->has_failed && words->list)
		return (char **)words->list;
	bundle_free_list((char **)words->list);
	return NULL;
}

void bundle_free_list(char **list)
{
	for (char **at = list; at && *at; at++)
		free(*at);
	free(list);
}

void bundle_free_lists(char ***lists)
{
	for (char ***at = lists; at && *at; at++)
		bundle_free_list(*at);
	free(lists);
}

/* --- names ------------------------------------------------------------------------------------ */

static int bundle_check_name(const char *name, struct yett_error *error)
{
	for (const char *part = name;; part++) {
		size_t length = strcspn(part, "/");

		if (length == 0 || length > 255 || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.')) {
			return error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"files: '%.80s' is no name for a file: expected one like data/table.csv, below the directory of the code",
				name);
		}
		part += length;
		if (!*part)
			return 0;
	}
}

/* Whether `name` is `other`, or a directory above it. */
static bool meets(const char *name, const char *other)
{
	size_t length = strlen(name);

	return strncmp(name, other, length) == 0 && (other[length] == '\0' || other[length] == '/');
}

static int check_against_others(const struct bundle *bundle, const char *name,
                                struct yett_error *error)
{
	json_t *files = (json_t *)bundle->files, *value;
	const char *other;

	if (bundle->code && (meets(name, bundle->file) || meets(bundle->file, name)))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "files: '%.80s' is the file name of the code itself", name);
	json_object_foreach(files, other, value)
	{
		if (strcmp(name, other) != 0 && meets(name, other))
			return error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"files: '%.80s' cannot be a file, and a directory for '%.80s'",
				name, other);
	}
	return 0;
}

int bundle_check(const struct bundle *bundle, struct yett_error *error)
{
	size_t bytes = 0;
	const char *name;
	json_t *value;
	int r;

	if (bundle->code && !*bundle->code)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "code: the text is empty");
	if (bundle->code && strlen(bundle->code) > BUNDLE_CODE_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "code: it is longer than %d bytes", BUNDLE_CODE_MAX);
	if (json_object_size(bundle->files) > BUNDLE_FILES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "files: there are more than %d", BUNDLE_FILES_MAX);
	json_object_foreach((json_t *)bundle->files, name, value)
	{
		bytes += json_string_length(value);
		if ((r = bundle_check_name(name, error)) != 0 ||
		    (r = check_against_others(bundle, name, error)) != 0)
			return r;
	}
	if (bytes > BUNDLE_BYTES_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "files: more than %d bytes together: use write_file for more",
		                 BUNDLE_BYTES_MAX);
	return 0;
}

/* --- inspecting the code ---------------------------------------------------------------------- */

/* Whether JavaScript code is a module: a statement begins with import or export. */
static bool is_module(const char *code)
{
	struct scan_token token, next;
	struct scan scan;

	scan_begin(&scan, "javascript", code, strlen(code));
	for (bool has_one = scan_next(&scan, &token); has_one; token = next) {
		has_one = scan_next(&scan, &next);
		if (token.begins_line && scan_is(&token, "export"))
			return true;
		if (token.begins_line && scan_is(&token, "import") && !scan_is(&next, "(") &&
		    !scan_is(&next, "."))
			return true;
	}
	return false;
}

static void bundle_copy(char *text, size_t size, const struct scan_token *token)
{
	(void)snprintf(text, size, "%.*s", (int)(token->length < size ? token->length : size - 1),
	               token->text);
}

struct java {
	char package[120], public_type[120], main_type[120], type[120];
	unsigned depth;
	bool is_public;
};

static bool is_type(const struct scan_token *token)
{
	return scan_is(token, "class") || scan_is(token, "enum") || scan_is(token, "record") ||
	       scan_is(token, "interface");
}

/* Reads the name in "package a.b.c;". */
static void read_package(struct scan *scan, struct java *java)
{
	size_t length = 0;
	struct scan_token token;

	while (scan_next(scan, &token) && !scan_is(&token, ";") &&
	       length + token.length < sizeof java->package - 1) {
		memcpy(java->package + length, token.text, token.length);
		length += token.length;
		java->package[length] = '\0';
	}
}

/*
 * Finds the public type, after which Java requires the file to be named, and the type that has
 * main().
 */
static void read_java(const char *code, struct java *java)
{
	struct scan_token token, last = {0};
	struct scan scan;

	*java = (struct java){0};
	scan_begin(&scan, "java", code, strlen(code));
	for (; scan_next(&scan, &token); last = token) {
		if (scan_is(&token, "{"))
			java->depth++;
		else if (scan_is(&token, "}") && java->depth > 0)
			java->depth--;
		else if (scan_is(&last, "void") && scan_is(&token, "main") && java->depth == 1 &&
		         !java->main_type[0])
			memcpy(java->main_type, java->type, sizeof java->type);
		if (java->depth > 0)
			continue;
		if (scan_is(&token, "package"))
			read_package(&scan, java);
		if (scan_is(&token, "public") || scan_is(&token, ";") || scan_is(&token, "}"))
			java->is_public = scan_is(&token, "public");
		if (!is_type(&last) || token.kind != SCAN_WORD)
			continue;
		bundle_copy(java->type, sizeof java->type, &token);
		if (java->is_public)
			memcpy(java->public_type, java->type, sizeof java->type);
	}
}

static void look_at_java(struct bundle *bundle)
{
	struct java java;
	const char *type;

	read_java(bundle->code, &java);
	if (java.public_type[0] && !strchr(java.public_type, '/'))
		(void)snprintf(bundle->file, sizeof bundle->file, "%s.java", java.public_type);
	type = java.main_type[0] ? java.main_type : java.public_type[0] ? java.public_type : "Main";
	(void)snprintf(bundle->main_class, sizeof bundle->main_class, "%s%s%s", java.package,
	               java.package[0] ? "." : "", type);
}

void bundle_look(struct bundle *bundle)
{
	const char *name = bundle->language->name;

	bundle->prefix = "";
	bundle->main_class[0] = '\0';
	(void)snprintf(bundle->file, sizeof bundle->file, "%s", bundle->language->file);
	if (!bundle->code)
		return;
	if (strcmp(name, "java") == 0)
		look_at_java(bundle);
	else if (strcmp(name, "javascript") == 0 && is_module(bundle->code))
		(void)snprintf(bundle->file, sizeof bundle->file, "main.mjs");
	else if (strcmp(name, "php") == 0 && !strstr(bundle->code, "<?"))
		bundle->prefix = "<?php ";
}

/* --- arguments -------------------------------------------------------------------------------- */

static bool ends_as(const char *name, const char *file)
{
	const char *dot = strrchr(file, '.');
	size_t length = strlen(name), ending = strlen(dot);

	return length > ending && strcmp(name + length - ending, dot) == 0;
}

static void bundle_add_sources(struct words *words, const struct bundle *bundle)
{
	const char *name;
	json_t *value;

	bundle_add(words, bundle->file);
	json_object_foreach((json_t *)bundle->files, name, value)
	{
		if (ends_as(name, bundle->file))
			bundle_add(words, name);
	}
}

/*
 * Adds an argument of the table with its placeholder replaced. `directory` "": file names are
 * relative to the working directory.
 */
static void add_argument(struct words *words, const struct bundle *bundle, const char *argument,
                         const char *directory)
{
	const char *slash = directory[0] ? "/" : "", *percent = strchr(argument, '%');
	char *text = NULL;
	int r;

	if (!percent) {
		bundle_add(words, argument);
	} else if (percent[1] == 's') {
		bundle_add_sources(words, bundle);
	} else {
		int before = (int)(percent - argument);
		const char *rest = percent + 2;

		if (percent[1] == 'f')
			r = asprintf(&text, "%.*s%s%s%s%s", before, argument, directory, slash,
			             bundle->file, rest);
		else if (percent[1] == 'p')
			r = asprintf(&text, "%.*s%s/main%s", before, argument,
			             directory[0] ? directory : ".", rest);
		else if (percent[1] == 'd')
			r = asprintf(&text, "%.*s%s%s", before, argument,
			             directory[0] ? directory : ".", rest);
		else
			r = asprintf(&text, "%.*s%s%s", before, argument, bundle->main_class, rest);
		bundle_take(words, r < 0 ? NULL : text);
	}
}

static char **expand(const struct bundle *bundle, const char *const *arguments, bool is_compile)
{
	const char *directory = !is_compile && bundle->cwd ? bundle->directory : "";
	bool is_replaced = bundle->interpreter && is_compile == (bundle->language->compile != NULL);
	struct words words = {0};
	json_t *argument;
	size_t i;

	for (const char *const *at = arguments; *at; at++)
		add_argument(&words, bundle,
		             is_replaced && at == arguments ? bundle->interpreter : *at, directory);
	if (!is_compile) {
		json_array_foreach(bundle->args, i, argument)
			bundle_add(&words, json_string_value(argument));
	}
	return bundle_finish(&words);
}

char **bundle_compile(const struct bundle *bundle)
{
	return expand(bundle, bundle->language->compile, true);
}

char **bundle_run(const struct bundle *bundle)
{
	return expand(bundle, bundle->language->run, false);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Commands under construction; `bytes` is the size of the last one's arguments so far. */
struct writing {
	const struct bundle *bundle;
	struct words commands, words;
	size_t bytes;
};

static void begin_command(struct writing *writing)
{
	writing->words = (struct words){0};
	writing->bytes = 0;
	bundle_add(&writing->words, "sh");
	bundle_add(&writing->words, "-c");
	bundle_add(&writing->words, writer);
	bundle_add(&writing->words, "sh");
}

static void bundle_end_command(struct writing *writing)
{
	bundle_take(&writing->commands, bundle_finish(&writing->words));
}

/*
 * Adds a pair for a name below the directory; `name` NULL: for the directory itself. `end` is "/"
 * for a directory, else "".
 */
static void add_pair(struct writing *writing, const char *name, size_t length, const char *end,
                     const char *text, size_t text_length)
{
	const char *directory = writing->bundle->directory;
	char *path = NULL;
	int r = name ? asprintf(&path, "%s/%.*s%s", directory, (int)length, name, end)
	             : asprintf(&path, "%s/", directory);

	if (writing->bytes + text_length > COMMAND_MAX) {
		bundle_add(&writing->words, "");
		bundle_end_command(writing);
		begin_command(writing);
	}
	writing->bytes += text_length + (size_t)(r < 0 ? 0 : r);
	bundle_take(&writing->words, r < 0 ? NULL : path);
	bundle_take(&writing->words, strndup(text, text_length));
}

static void bundle_add_file(struct writing *writing, const char *name, const char *prefix,
                            const char *text, size_t length)
{
	const char *slash = strrchr(name, '/');
	size_t size;

	if (slash)
		add_pair(writing, name, (size_t)(slash - name), "/", "", 0);
	/* Also creates empty files. */
	add_pair(writing, name, strlen(name), "", prefix, strlen(prefix));
	for (; length > 0; text += size, length -= size) {
		size = length < PIECE_MAX ? length : PIECE_MAX;
		add_pair(writing, name, strlen(name), "", text, size);
	}
}

char ***bundle_commands(const struct bundle *bundle, char *const *program)
{
	struct writing writing = {.bundle = bundle};
	const char *name;
	json_t *value;

	begin_command(&writing);
	if (bundle->makes_directory)
		add_pair(&writing, NULL, 0, "", "", 0);
	if (bundle->code)
		bundle_add_file(&writing, bundle->file, bundle->prefix, bundle->code,
		                strlen(bundle->code));
	json_object_foreach((json_t *)bundle->files, name, value) bundle_add_file(
		&writing, name, "", json_string_value(value), json_string_length(value));
	bundle_add(&writing.words, "");
	if (program)
		bundle_add(&writing.words, bundle->cwd ? bundle->cwd : bundle->directory);
	for (; program && *program; program++)
		bundle_add(&writing.words, *program);
	bundle_end_command(&writing);
	if (!writing.commands.has_failed && writing.commands.list)
		return (char ***)writing.commands.list;
	bundle_free_lists((char ***)writing.commands.list);
	return NULL;
}
