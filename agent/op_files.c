/* SPDX-License-Identifier: Apache-2.0 */
/* The operations read_file, write_file and list_files. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "agent/op.h"

#define READ_MAX   4194304
#define READ_USUAL 262144
#define WRITE_MAX  4194304
#define LIST_MAX   10000
#define RUN_PREFIX "run:"
#define BASE64     sodium_base64_VARIANT_ORIGINAL

static const char *const encodings[] = {"auto", "text", "base64", NULL};
static const char *const given_encodings[] = {"text", "base64", NULL};
static const char *const kinds[] = {"other", "file",   "directory",        "symlink",
                                    "fifo",  "socket", "character-device", "block-device",
                                    NULL};

const struct field op_read_asked[] = {
	{"sandbox", FIELD_TEXT, FIELD_NULLABLE, 1, 64,
         "The id or name of a sandbox; not for outputs of executions"},
	{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 4095,
         "Absolute, inside; or run:ID/stdout, run:ID/stderr, run:ID/output"},
	{"offset", FIELD_NUMBER, FIELD_NULLABLE, 0, INT64_MAX, "The first byte", .fallback = "0"},
	{"length", FIELD_NUMBER, FIELD_NULLABLE, 1, READ_MAX, "How many bytes at most",
         .fallback = "262144"},
	{"encoding", FIELD_CHOICE, FIELD_NULLABLE, .choices = encodings, .fallback = "\"auto\"",
         .description =
                 "auto: text if the bytes are UTF-8, else base64; text: bytes that are not UTF-8 become U+FFFD"},
	{0},
};

const struct field op_read_answered[] = {
	{"content", FIELD_TEXT, 0, .description = "What was read"},
	{"encoding", FIELD_CHOICE, 0, .choices = given_encodings,
         .description = "How the content is written here"},
	{"offset", FIELD_NUMBER, 0, .description = "The first byte that is here"},
	{"length", FIELD_NUMBER, 0, .description = "Bytes of the file that are here"},
	{"size", FIELD_NUMBER, 0, .description = "Bytes of the whole file"},
	PROBLEM_FIELD,
	{0},
};

const struct field op_write_asked[] = {
	{"sandbox", FIELD_TEXT, FIELD_REQUIRED, 1, 64, "The id or name of a sandbox"},
	{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 4095, "Absolute, inside"},
	{"content", FIELD_TEXT, FIELD_REQUIRED, 0, WRITE_MAX * 4 / 3 + 4, "The content to write"},
	{"encoding", FIELD_CHOICE, FIELD_NULLABLE, .choices = given_encodings,
         .description = "How the content is written here", .fallback = "\"text\""},
	{"mode", FIELD_TEXT, FIELD_NULLABLE, 3, 4, "Mode of a new file: 0644, 0755",
         .fallback = "\"0644\""},
	{"append", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Append to the file instead of replacing it", .fallback = "false"},
	{0},
};

const struct field op_write_answered[] = {
	{"written", FIELD_NUMBER, 0, .description = "Bytes"},
	PROBLEM_FIELD,
	{0},
};

const struct field op_list_asked[] = {
	{"sandbox", FIELD_TEXT, FIELD_REQUIRED, 1, 64, "The id or name of a sandbox"},
	{"path", FIELD_TEXT, FIELD_REQUIRED, 1, 4095, "A directory: absolute, inside"},
	{"max", FIELD_NUMBER, FIELD_NULLABLE, 1, LIST_MAX, "The most that are listed",
         .fallback = "1000"},
	{0},
};

static const struct field entry_fields[] = {
	{"name", FIELD_TEXT, FIELD_REQUIRED},
	{"kind", FIELD_CHOICE, FIELD_REQUIRED, .choices = kinds},
	{"size", FIELD_NUMBER, FIELD_REQUIRED},
	{"permissions", FIELD_TEXT, FIELD_REQUIRED},
	{"owner", FIELD_TEXT, FIELD_REQUIRED},
	{"mtime", FIELD_NUMBER, FIELD_REQUIRED, .description = "Seconds since 1970"},
	{"link", FIELD_TEXT, 0, .description = "Where a symbolic link points"},
	{0},
};

const struct field op_list_answered[] = {
	{"entries", FIELD_OBJECTS, 0, .description = "By their names", .fields = entry_fields},
	{"truncated", FIELD_BOOL, 0, .description = "There are more"},
	PROBLEM_FIELD,
	{0},
};

/* A file operation of a call. */
struct filing {
	struct call *call;
	struct handle *handle;
	struct handle_operation *operation;
	char *bytes; /* to write */
	size_t length;
	json_t *entries;
};

static void free_filing(struct filing *filing)
{
	(void)handle_unref(filing->handle);
	json_decref(filing->entries);
	free(filing->bytes);
	free(filing);
}

static void op_files_cancel(void *work)
{
	struct filing *filing = work;

	handle_operation_free(filing->operation);
	free_filing(filing);
}

static void op_files_fail(struct filing *filing, const struct yett_error *error)
{
	call_fail(filing->call, error);
	free_filing(filing);
}

static struct filing *new_filing(struct call *call, struct yett_error *error)
{
	struct filing *filing = calloc(1, sizeof *filing);
	const char *sandbox = field_text(call_asked(call), "sandbox");
	int r;

	if (!filing) {
		(void)error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
		return NULL;
	}
	filing->call = call;
	r = sandbox ? handle_find(call_agent(call), sandbox, &filing->handle, error)
	            : error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
	                        "sandbox: missing; name the sandbox that has the file");
	if (r == 0)
		r = execution_check_handle(filing->handle, error);
	if (r == 0)
		r = handle_check_operations(filing->handle, error);
	if (r == 0)
		return filing;
	(void)handle_unref(filing->handle);
	free(filing);
	return NULL;
}

/*
 * Takes ownership of the operation. NULL: the operation could not begin, for the reason in `error`.
 */
static void op_files_go_on(struct filing *filing, struct yett_operation *operation,
                           handle_over_fn over, struct yett_error *error)
{
	if (operation) {
		filing->operation = handle_operate(filing->handle, operation, over, filing);
		if (filing->operation) {
			call_set_work(filing->call, filing, op_files_cancel);
			return;
		}
		(void)error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
	}
	op_files_fail(filing, error);
}

static struct yett_operation *begin_open(struct filing *filing, unsigned flags, unsigned mode,
                                         struct yett_error *error)
{
	struct yett_operation *operation;

	return yett_file_open_begin(filing->handle->sandbox,
	                            field_text(call_asked(filing->call), "path"), flags, mode,
	                            &operation, error) == 0
	               ? operation
	               : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void answer_bytes(struct call *call, const char *bytes, size_t length, uint64_t offset,
                         uint64_t size)
{
	const char *wanted = field_text(call_asked(call), "encoding");
	bool is_text = wanted && strcmp(wanted, "auto") != 0 ? strcmp(wanted, "text") == 0
	                                                     : field_is_text(bytes, length);
	_cleanup_free_ char *text =
		is_text ? NULL : malloc(sodium_base64_encoded_len(length, BASE64));
	json_t *content;

	if (text)
		(void)sodium_bin2base64(text, sodium_base64_encoded_len(length, BASE64),
		                        (const unsigned char *)bytes, length, BASE64);
	content = is_text ? field_make_text(bytes, length) : text ? json_string(text) : NULL;
	call_succeed(call, json_pack("{s:o, s:s, s:I, s:I, s:I}", "content", content, "encoding",
	                             is_text ? "text" : "base64", "offset", (json_int_t)offset,
	                             "length", (json_int_t)length, "size", (json_int_t)size));
}

static void read_opened(struct yett_operation *operation, void *data)
{
	struct filing *filing = data;
	const json_t *asked = call_asked(filing->call);
	uint64_t offset = (uint64_t)field_number(asked, "offset", 0);
	size_t length = (size_t)field_number(asked, "length", READ_USUAL);
	_cleanup_free_ char *bytes = NULL;
	_cleanup_fd_ int fd = -1;
	struct yett_error error;
	struct stat file;
	ssize_t n = -1;

	if (yett_operation_finish(operation, 0, &error) != 0) {
		op_files_fail(filing, &error);
		return;
	}
	fd = yett_operation_take_fd(operation);
	bytes = malloc(length);
	if (bytes && fstat(fd, &file) == 0)
		n = pread(fd, bytes, length, (off_t)offset);
	if (n < 0) {
		(void)error_set(&error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "the file cannot be read: %m");
		op_files_fail(filing, &error);
		return;
	}
	answer_bytes(filing->call, bytes, (size_t)n, offset, (uint64_t)file.st_size);
	free_filing(filing);
}

/* Reads the output of an execution. */
static int read_output(struct call *call, const char *path, struct yett_error *error)
{
	const json_t *asked = call_asked(call);
	uint64_t offset = (uint64_t)field_number(asked, "offset", 0);
	size_t length = (size_t)field_number(asked, "length", READ_USUAL);
	_cleanup_free_ char *id = strdup(path + strlen(RUN_PREFIX)), *bytes = NULL;
	const struct execution *execution;
	const struct output_buffer *buffer;
	char *name = id ? strchr(id, '/') : NULL;
	int r;

	if (name)
		*name++ = '\0';
	execution = name ? execution_find(call_agent(call), id) : NULL;
	buffer = execution ? execution_output(execution, name) : NULL;
	if (!buffer)
		return error_set(
			error, YETT_E_NOT_FOUND, YETT_R_NONE,
			"%.60s is not there: outputs are run:ID/stdout, run:ID/stderr and run:ID/output, of executions that are not forgotten",
			path);
	r = output_buffer_read(buffer, offset, length, &bytes, &length);
	if (r == -ENODATA)
		return error_set(
			error, YETT_E_NOT_FOUND, YETT_R_NONE,
			"byte %llu is not kept: only the first %zu and the last %zu bytes of this output are",
			(unsigned long long)offset, buffer->head_length, buffer->tail_length);
	if (r < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for an output");
	answer_bytes(call, bytes, length, offset, buffer->total);
	return 0;
}

void op_read_file(struct call *call)
{
	const char *path = field_text(call_asked(call), "path");
	struct yett_error error;
	struct filing *filing;

	if (strncmp(path, RUN_PREFIX, strlen(RUN_PREFIX)) == 0) {
		if (read_output(call, path, &error) != 0)
			call_fail(call, &error);
		return;
	}
	filing = new_filing(call, &error);
	if (filing)
		op_files_go_on(filing, begin_open(filing, YETT_OPEN_READ, 0, &error), read_opened,
		               &error);
	else
		call_fail(call, &error);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_opened(struct yett_operation *operation, void *data)
{
	struct filing *filing = data;
	_cleanup_fd_ int fd = -1;
	struct yett_error error;
	size_t done = 0;
	ssize_t n = 0;

	if (yett_operation_finish(operation, 0, &error) != 0) {
		op_files_fail(filing, &error);
		return;
	}
	fd = yett_operation_take_fd(operation);
	while (done < filing->length && n >= 0) {
		n = write(fd, filing->bytes + done, filing->length - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		(void)error_set(&error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "the file cannot be written: %m");
		error_detail(&error, "%zu of %zu bytes are in it", done, filing->length);
		op_files_fail(filing, &error);
		return;
	}
	call_succeed(filing->call, json_pack("{s:I}", "written", (json_int_t)done));
	free_filing(filing);
}

/* Decodes the content to write; the caller frees it. */
static int op_files_decode(const json_t *asked, char **ret_bytes, size_t *ret_length,
                           struct yett_error *error)
{
	const char *content = field_text(asked, "content"),
		   *encoding = field_text(asked, "encoding");
	size_t length = strlen(content);
	char *bytes = malloc(length + 1);

	if (!bytes)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a file");
	if (!encoding || strcmp(encoding, "text") == 0) {
		memcpy(bytes, content, length);
	} else if (sodium_base642bin((unsigned char *)bytes, length + 1, content, length, " \r\n",
	                             &length, NULL, BASE64) != 0) {
		free(bytes);
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "content: expected base64");
	}
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

static int parse_mode(const char *text, unsigned *ret_mode, struct yett_error *error)
{
	char *end;
	unsigned long mode = text ? strtoul(text, &end, 8) : 0644;

	if (text && (*end || strspn(text, "01234567") != strlen(text) || mode > 0777))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "mode: expected three octal digits, like 644 or 0755");
	*ret_mode = (unsigned)mode;
	return 0;
}

void op_write_file(struct call *call)
{
	const json_t *asked = call_asked(call);
	unsigned mode = 0, flags = YETT_OPEN_WRITE | YETT_OPEN_CREATE;
	struct yett_error error;
	struct filing *filing = NULL;
	size_t length;
	char *bytes = NULL;

	flags |= field_bool(asked, "append") ? YETT_OPEN_APPEND : YETT_OPEN_TRUNCATE;
	if (parse_mode(field_text(asked, "mode"), &mode, &error) == 0 &&
	    op_files_decode(asked, &bytes, &length, &error) == 0)
		filing = new_filing(call, &error);
	if (!filing) {
		free(bytes);
		call_fail(call, &error);
		return;
	}
	filing->bytes = bytes;
	filing->length = length;
	op_files_go_on(filing, begin_open(filing, flags, mode, &error), write_opened, &error);
}

/* --- listing ---------------------------------------------------------------------------------- */

static int take_entry(const struct yett_file_info *info, void *data)
{
	struct filing *filing = data;
	json_t *entry =
		json_pack("{s:o, s:s, s:I, s:s, s:o, s:I}", "name",
	                  field_make_text(info->name, strlen(info->name)), "kind",
	                  info->kind < ARRAY_SIZE(kinds) - 1 ? kinds[info->kind] : kinds[0], "size",
	                  (json_int_t)info->size_bytes, "permissions", info->permissions, "owner",
	                  field_make_text(info->owner, strlen(info->owner)), "mtime",
	                  (json_int_t)info->mtime_s);

	if (entry && info->link[0])
		(void)json_object_set_new(entry, "link",
		                          field_make_text(info->link, strlen(info->link)));
	return json_array_append_new(filing->entries, entry);
}

static int op_files_by_name(const void *a, const void *b)
{
	return strcmp(field_text(*(json_t *const *)a, "name"),
	              field_text(*(json_t *const *)b, "name"));
}

/* Returns a new list, sorted by name. */
static json_t *op_files_sort(const json_t *list)
{
	size_t count = json_array_size(list);
	_cleanup_free_ json_t **entries = malloc((count + 1) * sizeof(json_t *));
	json_t *sorted = json_array();

	for (size_t i = 0; entries && i < count; i++)
		entries[i] = json_array_get(list, i);
	if (entries)
		qsort(entries, count, sizeof *entries, op_files_by_name);
	for (size_t i = 0; entries && i < count; i++)
		(void)json_array_append(sorted, entries[i]);
	return sorted;
}

static void op_files_listed(struct yett_operation *operation, void *data)
{
	struct filing *filing = data;
	size_t max = (size_t)field_number(call_asked(filing->call), "max", 1000);
	struct yett_error error;
	int r = yett_operation_finish(operation, 0, &error);

	/* After `max` entries, the operation ends with this error: return these entries. */
	if (r != 0 && !(r == YETT_E_RESOURCE_LIMIT && json_array_size(filing->entries) == max)) {
		op_files_fail(filing, &error);
		return;
	}
	call_succeed(filing->call, json_pack("{s:o, s:b}", "entries",
	                                     op_files_sort(filing->entries), "truncated", r != 0));
	free_filing(filing);
}

void op_list_files(struct call *call)
{
	const json_t *asked = call_asked(call);
	struct yett_operation *operation = NULL;
	struct yett_error error;
	struct filing *filing = new_filing(call, &error);

	if (!filing) {
		call_fail(call, &error);
		return;
	}
	filing->entries = json_array();
	if (yett_file_list_begin(filing->handle->sandbox, field_text(asked, "path"),
	                         (size_t)field_number(asked, "max", 1000), take_entry, filing,
	                         &operation, &error) != 0)
		operation = NULL;
	op_files_go_on(filing, operation, op_files_listed, &error);
}
