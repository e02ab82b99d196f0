/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. */
#include "cli/output.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>

#include "base/error.h"
#include "base/error_text.h"
#include "base/units_format.h"
#include "cli/exit_code.h"

void output_text(FILE *to, const char *text, bool lines)
{
	while (text && *text) {
		uint32_t point = 0;
		/* A UTF-8 character has at most 4 bytes. */
		size_t length = json_utf8_next(text, strnlen(text, 4), &point);

		if (length && (!json_is_harmful(point) || (lines && point == '\n'))) {
			(void)fwrite(text, 1, length, to);
			text += length;
			continue;
		}
		if (length == 0)
			length = 1;
		for (; length > 0; length--)
			(void)fprintf(to, "\\x%02x", (unsigned char)*text++);
	}
}

/* The JSON document of this process. `result` and `notes` collect its members and items. */
static struct {
	FILE *to; /* NULL: print text instead */
	struct json result, notes;
	char *result_bytes, *notes_bytes;
	size_t result_length, notes_length;
	struct yett_error error; /* the first error */
	bool is_quiet, is_stdout;
} document;

int output_to_json(int fd, struct yett_error *error)
{
	int flags = fcntl(fd, F_GETFL),
	    copy = flags < 0 || (flags & O_ACCMODE) == O_RDONLY
	                   ? -1
	                   : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

	if (!to) {
		fd_close(copy);
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--json%s: descriptor %d is not open for writing",
		                 fd == STDOUT_FILENO ? "" : "-fd", fd);
	}
	if (fd > STDERR_FILENO)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* the command must not inherit it */
	if (document.to)
		(void)fclose(document.to); /* the last option wins */
	document.to = to;
	document.is_stdout = fd == STDOUT_FILENO;
	if (document.result.to)
		return 0;
	document.result.to = open_memstream(&document.result_bytes, &document.result_length);
	document.notes.to = open_memstream(&document.notes_bytes, &document.notes_length);
	return document.result.to && document.notes.to
	               ? 0
	               : error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                           "there is not enough memory for the JSON document");
}

struct json *output_json(void)
{
	return document.to && document.result.to ? &document.result : NULL;
}

bool output_json_has_stdout(void)
{
	return document.to && document.is_stdout;
}

void output_be_quiet(void)
{
	document.is_quiet = true;
}

/*
 * Writes the members collected so far as an object. First closes objects and arrays that an error
 * left open.
 */
static void output_put_result(struct json *json)
{
	while (document.result.depth > 0)
		json_close(&document.result);
	(void)fflush(document.result.to);
	json_open(json, "result", '{');
	if (document.result_length)
		json_raw(json, NULL, document.result_bytes, document.result_length);
	json_close(json);
	(void)fseeko(document.result.to, 0, SEEK_SET);
	document.result.has_member = false;
}

static void begin_document(struct json *json)
{
	*json = (struct json){.to = document.to};
	json_open(json, NULL, '{');
	json_number(json, "schema", OUTPUT_SCHEMA);
}

static bool end_document(struct json *json)
{
	json_close(json);
	(void)fputc('\n', document.to);
	return fflush(document.to) == 0 && !ferror(document.to);
}

void output_json_line(void)
{
	struct json json;

	begin_document(&json);
	output_put_result(&json);
	(void)end_document(&json);
}

static bool write_document(int code)
{
	struct json json;

	begin_document(&json);
	json_signed(&json, "exit_code", code);
	output_put_result(&json);
	output_json_error(&json, "error", &document.error);
	(void)fflush(document.notes.to);
	json_open(&json, "notes", '[');
	if (document.notes_length)
		json_raw(&json, NULL, document.notes_bytes, document.notes_length);
	json_close(&json);
	return end_document(&json);
}

int output_end_json(int code)
{
	bool is_written, is_stdout = document.is_stdout;

	if (!document.to || !document.result.to || !document.notes.to)
		return code;
	is_written = write_document(code);
	is_written = fclose(document.to) == 0 && is_written;
	(void)fclose(document.result.to);
	(void)fclose(document.notes.to);
	free(document.result_bytes);
	free(document.notes_bytes);
	memset(&document, 0, sizeof document);
	if (is_written)
		return code;
	output_note(is_stdout ? "cannot write to standard output: %m"
	                      : "cannot write the JSON document: %m");
	return code ? code : RUN_FAILED;
}

const char *output_mend_is(const struct yett_error *error)
{
	return error->rule[0] || strncmp(error->mend, "grant ", 6) == 0
	               ? "the smallest change of the policy"
	               : "hint";
}

void output_error(const struct yett_error *error)
{
	if (!document.error.code)
		document.error = *error;
	if (document.is_quiet && document.to)
		return;
	(void)fputs("yett: ", stderr);
	output_text(stderr, error->message[0] ? error->message : yett_error_code_text(error->code),
	            false);
	(void)fputc('\n', stderr);
	if (error->detail[0]) {
		(void)fputs("  ", stderr);
		output_text(stderr, error->detail, false);
		(void)fputc('\n', stderr);
	}
	if (error->mend[0]) {
		(void)fprintf(stderr, "  %s: ", output_mend_is(error));
		output_text(stderr, error->mend, false);
		(void)fputc('\n', stderr);
	}
	if (yett_error_retryable(error))
		(void)fputs("  the same request can succeed later; try again\n", stderr);
}

void output_note(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (document.notes.to)
		json_text(&document.notes, NULL, text);
	if (document.is_quiet)
		return;
	(void)fputs("yett: ", stderr);
	output_text(stderr, text, false);
	(void)fputc('\n', stderr);
}

int output_flush(const char *what, struct yett_error *error)
{
	if (fflush(stdout) == 0 && !(document.to && ferror(document.to)))
		return 0;
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write %s: %m",
	                what);
	__fpurge(stdout);
	clearerr(stdout);
	return YETT_E_FILE_OPERATION_FAILED;
}

int output_end(int code)
{
	bool failed = ferror(stdout);

	code = output_end_json(code);
	errno = 0;
	/* Some file systems, such as NFS, report a write error only at close(2). */
	if (fclose(stdout) != 0 || failed) {
		output_note(errno ? "cannot write to standard output: %m"
		                  : "cannot write to standard output");
		code = code ? code : RUN_FAILED;
	}
	return fflush(stderr) != 0 || ferror(stderr) ? (code ? code : RUN_FAILED) : code;
}

void output_json_error(struct json *json, const char *name, const struct yett_error *error)
{
	if (!error->code) {
		json_null(json, name);
		return;
	}
	json_open(json, name, '{');
	json_text(json, "code", yett_error_code_name(error->code));
	json_text(json, "reason", error->reason ? yett_error_reason_name(error->reason) : NULL);
	json_text(json, "message",
	          error->message[0] ? error->message : yett_error_code_text(error->code));
	json_text_or_null(json, "detail", error->detail);
	json_bool(json, "retryable", yett_error_retryable(error));
	json_number_or_null(json, "errno", (uint64_t)error->os_error);
	json_text_or_null(json, "step", error->step);
	json_text_or_null(json, "rule", error->rule);
	json_text_or_null(json, "file", error->file);
	json_number_or_null(json, "line", error->line);
	json_text_or_null(json, "asked", error->asked);
	json_text_or_null(json, "allowed", error->allowed);
	json_text_or_null(json, "mend", error->mend);
	json_close(json);
}

static void json_limits(struct json *json, uint32_t limits)
{
	static const struct {
		enum yett_limit bit;
		const char *name;
	} names[] = {{YETT_LIMIT_MEMORY, "memory"},
	             {YETT_LIMIT_PIDS, "pids"},
	             {YETT_LIMIT_CPU, "cpu"},
	             {YETT_LIMIT_CPU_TIME, "cpu_time"}};

	json_open(json, "limits_hit", '[');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (limits & names[i].bit)
			json_text(json, NULL, names[i].name);
	json_close(json);
}

void output_json_result(struct json *json, const char *name, const struct yett_result *r)
{
	json_open(json, name, '{');
	json_bool(json, "signaled", r->signaled);
	json_signed(json, "status", r->status);
	json_bool(json, "timed_out", r->timed_out);
	json_bool(json, "out_of_memory", r->out_of_memory);
	json_limits(json, r->limits_hit);
	json_number(json, "wall_us", r->wall_us);
	json_number(json, "user_us", r->user_us);
	json_number(json, "system_us", r->system_us);
	json_number(json, "memory_peak_bytes", r->memory_peak_bytes);
	json_number_or_null(json, "started_ms", r->started_ms);
	json_number_or_null(json, "ended_ms", r->ended_ms);
	json_text_or_null(json, "signal_name", r->signal_name);
	json_number(json, "read_bytes", r->read_bytes);
	json_number(json, "written_bytes", r->written_bytes);
	json_close(json);
}

void output_json_pairs(struct json *json, const char *name, const char *const *pairs)
{
	json_open(json, name, '{');
	for (; *pairs; pairs++) {
		char key[1025];
		const char *equals = strchr(*pairs, '=');

		if (!equals)
			continue;
		(void)snprintf(key, sizeof key, "%.*s", (int)(equals - *pairs), *pairs);
		json_text(json, key, equals + 1);
	}
	json_close(json);
}

void output_json_sandbox(struct json *json, const char *name, const struct yett_sandbox_info *info)
{
	json_open(json, name, '{');
	json_text(json, "id", info->id);
	json_text(json, "profile", info->profile);
	json_text_or_null(json, "label", info->label);
	json_text_or_null(json, "weaker", info->weaker);
	json_number(json, "private_uid", info->private_uid);
	json_number(json, "landlock_abi", info->landlock_abi);
	output_json_network(json, info);
	output_json_limits(json, info);
	output_json_kind(json, info);
	json_close(json);
}

void output_json_kind(struct json *json, const struct yett_sandbox_info *info)
{
	json_text_or_null(json, "hostname", info->hostname);
	json_text(json, "platform", info->platform);
	json_text_or_null(json, "architecture", info->architecture);
	json_text(json, "type", info->type);
	json_text(json, "backend", info->backend);
}

const char *output_network_name(enum yett_network network)
{
	static const char *const names[] = {[YETT_NETWORK_NONE] = "none",
	                                    [YETT_NETWORK_LIMITED] = "limited",
	                                    [YETT_NETWORK_OPEN] = "open",
	                                    [YETT_NETWORK_HOST] = "host"};

	return network >= YETT_NETWORK_NONE && network <= YETT_NETWORK_HOST ? names[network]
	                                                                    : "none";
}

void output_json_network(struct json *json, const struct yett_sandbox_info *info)
{
	json_text(json, "network", output_network_name(info->network));
	json_open(json, "addresses", '[');
	if (*info->address4)
		json_text(json, NULL, info->address4);
	if (*info->address6)
		json_text(json, NULL, info->address6);
	json_close(json);
}

void output_json_limits(struct json *json, const struct yett_sandbox_info *info)
{
	json_open(json, "limits", '{');
	json_number(json, "memory_bytes", info->memory_bytes);
	json_number(json, "cpu_millis", info->cpu_millis);
	json_number(json, "pids", info->pids);
	json_number(json, "files", info->open_files);
	json_number(json, "file_bytes", info->file_bytes);
	json_number(json, "core_bytes", info->core_bytes);
	json_close(json);
	json_number_or_null(json, "command_timeout_ms", info->command_timeout_ms);
	json_number_or_null(json, "max_command_timeout_ms", info->max_command_timeout_ms);
}

void output_size(char *out, size_t size, uint64_t bytes)
{
	char text[UNITS_TEXT_SIZE];
	size_t digits;

	(void)units_format_size(bytes, text);
	digits = strspn(text, "0123456789");
	(void)snprintf(out, size, "%.*s %s%s", (int)digits, text, text + digits,
	               text[digits] ? "iB" : "bytes");
}

void output_duration(char *out, size_t size, uint64_t ms)
{
	char text[UNITS_TEXT_SIZE];

	(void)snprintf(out, size, "%s", units_format_duration(ms, text));
}
