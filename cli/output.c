/* See output.h. */
#include "cli/output.h"

#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>

#include "base/units.h"
#include "cli/run.h"

/* Reads one character of UTF-8: its length and code point; length 0 where the bytes are none (RFC 3629). */
static size_t utf8_next(const char *text, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	size_t length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
	uint32_t point = length == 1 ? *at : *at & (0x7fU >> length);

	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (length == 0 || point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	*ret_point = point;
	return length;
}

/* What a terminal would act on, or what would make text read as something else. */
static bool is_harmful(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200e && point <= 0x200f) ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

void output_text(FILE *to, const char *text, bool lines)
{
	while (text && *text) {
		uint32_t point = 0;
		size_t length = utf8_next(text, &point);

		if (length && (!is_harmful(point) || (lines && point == '\n'))) {
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

void output_error(const struct yett_error *error)
{
	(void)fputs("yett: ", stderr);
	output_text(stderr, error->message[0] ? error->message : yett_error_code_text(error->code), false);
	(void)fputc('\n', stderr);
	if (error->detail[0]) {
		(void)fputs("  ", stderr);
		output_text(stderr, error->detail, false);
		(void)fputc('\n', stderr);
	}
	if (error->mend[0]) {
		(void)fputs(error->rule[0] ? "  the smallest change of the policy: " : "  the smallest change: ", stderr);
		output_text(stderr, error->mend, false);
		(void)fputc('\n', stderr);
	}
	if (yett_error_retryable(error))
		(void)fputs("  it can work later without a change; try again\n", stderr);
}

void output_note(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)fputs("yett: ", stderr);
	output_text(stderr, text, false);
	(void)fputc('\n', stderr);
}

int output_flush(const char *what, struct yett_error *error)
{
	if (fflush(stdout) == 0)
		return 0;
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write %s: %m", what);
	__fpurge(stdout);
	clearerr(stdout);
	return YETT_E_FILE_OPERATION_FAILED;
}

int output_end(int code)
{
	bool failed = ferror(stdout);

	errno = 0;
	/* some file systems tell only at the end */
	if (fclose(stdout) != 0 || failed) {
		output_note(errno ? "cannot write to standard output: %m" : "cannot write to standard output");
		code = code ? code : RUN_FAILED;
	}
	return fflush(stderr) != 0 || ferror(stderr) ? (code ? code : RUN_FAILED) : code;
}

void output_json_string(FILE *to, const char *text)
{
	(void)fputc('"', to);
	while (*text) {
		uint32_t point = 0;
		size_t length = utf8_next(text, &point);

		if (length == 0)
			(void)fputs("\\ufffd", to);
		else if (is_harmful(point))
			(void)fprintf(to, "\\u%04x", point);
		else if (point == '"' || point == '\\')
			(void)fprintf(to, "\\%c", (int)point);
		else
			(void)fwrite(text, 1, length, to);
		text += length ? length : 1;
	}
	(void)fputc('"', to);
}

void output_json_error(FILE *to, const struct yett_error *error)
{
	if (!error->code) {
		(void)fputs("null", to);
		return;
	}
	(void)fprintf(to, "{\"code\":\"%s\",\"reason\":", yett_error_code_name(error->code));
	if (error->reason)
		output_json_string(to, yett_error_reason_name(error->reason));
	else
		(void)fputs("null", to);
	(void)fputs(",\"message\":", to);
	output_json_string(to, error->message);
	(void)fputs(",\"detail\":", to);
	output_json_string(to, error->detail);
	(void)fprintf(to, ",\"retryable\":%s}", yett_error_retryable(error) ? "true" : "false");
}

static void json_limits(FILE *to, uint32_t limits)
{
	static const struct {
		enum yett_limit bit;
		const char *name;
	} names[] = {{YETT_LIMIT_MEMORY, "memory"},
		     {YETT_LIMIT_PIDS, "pids"},
		     {YETT_LIMIT_CPU, "cpu"},
		     {YETT_LIMIT_CPU_TIME, "cpu_time"}};
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(limits & names[i].bit))
			continue;
		(void)fprintf(to, "%s\"%s\"", comma, names[i].name);
		comma = ",";
	}
}

void output_json_result(FILE *to, const struct yett_result *r)
{
	(void)fprintf(to, "\"signaled\":%s,\"status\":%d,\"timed_out\":%s,\"out_of_memory\":%s,\"limits_hit\":[",
		      r->signaled ? "true" : "false", r->status, r->timed_out ? "true" : "false", r->out_of_memory ? "true" : "false");
	json_limits(to, r->limits_hit);
	(void)fprintf(to, "],\"wall_us\":%llu,\"user_us\":%llu,\"system_us\":%llu,\"memory_peak_bytes\":%llu",
		      (unsigned long long)r->wall_us, (unsigned long long)r->user_us, (unsigned long long)r->system_us,
		      (unsigned long long)r->memory_peak_bytes);
}

void output_size(char *out, size_t size, uint64_t bytes)
{
	char text[UNITS_TEXT_SIZE];
	size_t digits;

	(void)units_format_size(bytes, text);
	digits = strspn(text, "0123456789");
	(void)snprintf(out, size, "%.*s %s%s", (int)digits, text, text + digits, text[digits] ? "iB" : "bytes");
}

void output_duration(char *out, size_t size, uint64_t ms)
{
	char text[UNITS_TEXT_SIZE];

	(void)snprintf(out, size, "%s", units_format_duration(ms, text));
}
