/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See history.h. A line is "MILLISECONDS STATUS COUNT WORD…", with words in the encoding of
 * base/lines.h. COUNT is that of all words; of a long command only the first words are kept.
 */
#include "cli/run/history.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/clock.h"
#include "base/lines.h"
#include "base/units_parse.h"
#include "cli/output.h"
#include "cli/sandboxes/session.h"

#define ENTRIES_MAX    1000
#define SLACK          200 /* further lines that may accumulate before the oldest are removed */
#define LINE_BYTES_MAX 4096
#define FILE_MAX       (size_t)(16 * 1024 * 1024)
#define LOCK_TRIES     1000 /* a millisecond each */

const struct option history_options[] = {{0}};

/* Reads the whole file. NULL if it is missing, too large or cannot be read. */
static char *history_read_file(int directory)
{
	_cleanup_fd_ int fd =
		openat(directory, SESSION_HISTORY, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t used = 0, size;
	struct stat st;
	ssize_t n = 1;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
		return NULL;
	size = (size_t)st.st_size;
	text = malloc(size + 1);
	while (text && used < size && (n = read(fd, text + used, size - used)) > 0)
		used += (size_t)n;
	if (text)
		text[used] = '\0';
	return text;
}

/* Returns where the last `count` lines begin. *ret_lines becomes the number of all lines. */
static const char *last_lines(const char *text, size_t count, size_t *ret_lines)
{
	const char *at = text;
	size_t lines = 0, before;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	for (before = lines > count ? lines - count : 0; before > 0; before--)
		at = strchr(at, '\n') + 1;
	*ret_lines = lines;
	return at;
}

static char *make_line(const struct history_entry *entry)
{
	_cleanup_free_ char *words = NULL;
	char status[32] = "failed", *line = NULL;
	size_t length = 0, count = 0, reported = 0, kept = 0;
	FILE *file = open_memstream(&words, &length);

	if (!file)
		return NULL;
	for (; entry->argv[count]; count++) {
		if (reported != count)
			continue;
		(void)fputc(' ', file);
		lines_write_word(file, entry->argv[count]);
		(void)fflush(file);
		if (length > LINE_BYTES_MAX)
			continue;
		reported++;
		kept = length;
	}
	if (fclose(file) != 0)
		return NULL;
	words[kept] = '\0';
	if (entry->is_started)
		(void)snprintf(status, sizeof status, "started");
	else if (entry->result)
		(void)snprintf(status, sizeof status, "%s:%d",
		               entry->result->signaled ? "signal" : "exit", entry->result->status);
	return asprintf(&line, "%" PRIu64 " %s %zu%s\n", clock_wall_ms(), status, count, words) < 0
	               ? NULL
	               : line;
}

static int history_lock(int directory)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	int fd = openat(directory, SESSION_HISTORY ".lock",
	                O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	for (unsigned i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		(void)nanosleep(&moment, NULL);
	}
	return fd_close(fd);
}

/* Appends the line. If a crash left the last line without its end, ends that line first. */
static bool history_append(int directory, const char *line, bool is_torn)
{
	_cleanup_fd_ int fd =
		openat(directory, SESSION_HISTORY,
	               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	return fd >= 0 && (!is_torn || write(fd, "\n", 1) == 1) &&
	       write(fd, line, strlen(line)) == (ssize_t)strlen(line);
}

static bool history_add_line(int directory, const char *line)
{
	_cleanup_fd_ int held = history_lock(directory);
	_cleanup_free_ char *text = held < 0 ? NULL : history_read_file(directory);
	size_t lines = 0, length = text ? strlen(text) : 0;
	const char *last = text ? last_lines(text, ENTRIES_MAX - 1, &lines) : NULL;
	bool is_torn = length && text[length - 1] != '\n';
	FILE *file;

	if (held < 0)
		return false;
	if (lines < ENTRIES_MAX + SLACK)
		return history_append(directory, line, is_torn);
	file = lines_new_file(directory, SESSION_HISTORY ".new");
	if (!file)
		return false;
	(void)fprintf(file, "%s%s%s", last, is_torn ? "\n" : "", line);
	return lines_end_file(file, directory, SESSION_HISTORY ".new", SESSION_HISTORY) == 0;
}

void history_add(const struct history_entry *entry)
{
	_cleanup_free_ char *line = NULL;
	struct session session = {.directory = -1};
	char name[YETT_NAME_SIZE];

	if (!session_find_of(entry->sandbox, entry->id, name))
		return;
	line = make_line(entry);
	if (!line || session_open(name, SESSION_UNLOCKED, &session, NULL) != 0 ||
	    !history_add_line(session.directory, line))
		output_note("the command is not in the history of %s", name);
	session_close(&session);
}

/* Prints the word quoted for a shell. */
static void print_word(char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
	bool is_plain = *word && word[strspn(word, plain)] == '\0';
	const char *part;

	(void)fputs(is_plain ? " " : " '", stdout);
	while ((part = strsep(&word, "'"))) {
		output_text(stdout, part, false);
		(void)fputs(word ? "'\\''" : "", stdout);
	}
	(void)fputs(is_plain ? "" : "'", stdout);
}

static void print_words(char *rest, uint64_t count)
{
	uint64_t reported = 0;
	char *word;

	while (reported < count && (word = strsep(&rest, " ")) && lines_read_text(word)) {
		reported++;
		if (output_json())
			json_text(output_json(), NULL, word);
		else
			print_word(word);
	}
	if (!output_json())
		(void)puts(reported < count ? " …" : "");
}

/* Prints an entry. Skips a line that is not in our format. */
static void history_print_line(char *line)
{
	char *at = strsep(&line, " "), *status = strsep(&line, " "), *words = strsep(&line, " "),
	     when[32] = "-";
	struct json *json = output_json();
	uint64_t ms, count, number = 0;
	const char *colon;
	struct tm local;
	bool is_exit, is_signal;

	if (!words || units_parse_number(at, &ms) < 0 || units_parse_number(words, &count) < 0)
		return;
	is_exit = strncmp(status, "exit:", 5) == 0;
	is_signal = strncmp(status, "signal:", 7) == 0;
	colon = strchr(status, ':');
	if (is_exit || is_signal ? units_parse_number(colon + 1, &number) < 0
	                         : strcmp(status, "started") != 0 && strcmp(status, "failed") != 0)
		return;
	if (json) {
		json_open(json, NULL, '{');
		json_number(json, "time_ms", ms);
		json_text(json, "status", is_exit ? "exited" : is_signal ? "signaled" : status);
		if (is_exit || is_signal)
			json_number(json, "number", number);
		else
			json_null(json, "number");
		json_number(json, "words", count);
		json_open(json, "argv", '[');
	} else {
		time_t seconds = (time_t)(ms / 1000);
		char reported[40];

		if (localtime_r(&seconds, &local))
			(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
		(void)snprintf(reported, sizeof reported,
		               is_exit     ? "%.0s%" PRIu64
		               : is_signal ? "%.0ssignal %" PRIu64
		                           : "%s",
		               status, number);
		(void)printf("%-19s  %9s ", when, reported);
	}
	print_words(line, count);
	if (json) {
		json_close(json);
		json_close(json);
	}
}

int history_main(const struct subcommand *self, int argc, char **argv)
{
	struct session session = {.directory = -1};
	struct yett_error error = {0};
	_cleanup_free_ char *text = NULL;
	char name[YETT_NAME_SIZE], *rest, *line;
	size_t lines;
	int first, r = options_begin(self, argc, argv, NULL, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	(void)snprintf(name, sizeof name, "%s", argv[first]);
	(void)session_find(argv[first], name);
	r = session_open(strlen(argv[first]) < sizeof name ? name : "",
	                 SESSION_UNLOCKED | SESSION_EVEN_BROKEN, &session, &error);
	if (r) {
		output_error(&error);
		session_close(&session);
		return EXIT_FAILED;
	}
	text = history_read_file(session.directory);
	if (output_json())
		json_open(output_json(), "commands", '[');
	else
		(void)printf("%-19s  %9s  %s\n", "TIME", "STATUS", "COMMAND");
	rest = text ? text + (last_lines(text, ENTRIES_MAX, &lines) - text) : NULL;
	while ((line = strsep(&rest, "\n")))
		history_print_line(line);
	if (output_json())
		json_close(output_json());
	session_close(&session);
	return 0;
}
