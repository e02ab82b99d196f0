/* SPDX-License-Identifier: Apache-2.0 */
/* See test_file.h. */
#include "cli/admin/test_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/fd.h"

#define FILE_SIZE_MAX (1u << 20)

struct reading {
	const char *path;
	char *at;
	unsigned line;
	struct yett_error *error;
};

/* A token of the file. `mark` is one of = { } , or 0 at the end. */
struct token {
	char mark;
	char *text; /* NULL: the token is a mark; otherwise owned by the caller */
};

_printf_(2, 3) static int test_file_refuse(const struct reading *reading, const char *format, ...)
{
	char what[ESCAPE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return error_set(reading->error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s:%u: %s",
	                 reading->path, reading->line, what);
}

static void test_file_skip_blanks(struct reading *reading)
{
	for (; *reading->at && strchr(" \t\r\n#", *reading->at); reading->at++) {
		if (*reading->at == '#')
			reading->at += strcspn(reading->at, "\n");
		if (!*reading->at)
			return;
		reading->line += *reading->at == '\n';
	}
}

static int next_token(struct reading *reading, struct token *ret_token)
{
	struct token token = {0};
	bool is_quoted;
	size_t length;

	test_file_skip_blanks(reading);
	if (!*reading->at || strchr("={},", *reading->at)) {
		token.mark = *reading->at;
		reading->at += token.mark != '\0';
		*ret_token = token;
		return 0;
	}
	is_quoted = *reading->at == '"';
	reading->at += is_quoted;
	length = strcspn(reading->at, is_quoted ? "\"\n" : " \t\r\n#={},\"");
	if (is_quoted && reading->at[length] != '"')
		return test_file_refuse(reading, "the text does not end on its line");
	token.text = strndup(reading->at, length);
	reading->at += length + is_quoted;
	*ret_token = token;
	return token.text ? 0 : -ENOMEM;
}

static int next_text(struct reading *reading, const char *wanted, char **ret_text)
{
	struct token token;
	int r = next_token(reading, &token);

	if (r)
		return r;
	if (!token.text)
		return test_file_refuse(reading, "%s is wanted here", wanted);
	*ret_text = token.text;
	return 0;
}

static int next_mark(struct reading *reading, char mark)
{
	struct token token;
	int r = next_token(reading, &token);
	bool is_it = r == 0 && !token.text && token.mark == mark;

	if (r == 0)
		free(token.text);
	return r || is_it ? r : test_file_refuse(reading, "'%c' is wanted here", mark);
}

static int test_file_append(char **list, const char *item)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", item) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

/* Reads a text, or a list of texts in braces, and joins the list with commas. */
static int test_file_read_list(struct reading *reading, char **ret_list)
{
	struct token token = {0};
	bool is_list = false;
	int r;

	do {
		_cleanup_free_ char *item = NULL;

		r = next_token(reading, &token);
		item = r == 0 ? token.text : NULL;
		if (r == 0 && item)
			r = test_file_append(ret_list, item);
		else if (r == 0 && token.mark == '{' && !is_list)
			is_list = true;
		else if (r == 0 && (!is_list || (token.mark != ',' && token.mark != '}')))
			r = test_file_refuse(
				reading, "a name, or a list of names in braces, is wanted here");
	} while (r == 0 && is_list && token.mark != '}');
	return r || *ret_list ? r : test_file_refuse(reading, "a list needs a name in it");
}

/* Splits the request into words at blanks, except within '…'. */
static int split_request(struct reading *reading, struct test_case *test)
{
	static const char *const before[] = {"yett", "run"};
	int count = 0;

	for (char *at = test->request + strspn(test->request, " \t"); *at;
	     at += strspn(at, " \t")) {
		char *word = at, *end = at;
		bool is_quoted = false;

		for (; *at && (is_quoted || !strchr(" \t", *at)); at++) {
			if (*at == '\'')
				is_quoted = !is_quoted;
			else
				*end++ = *at;
		}
		if (is_quoted)
			return test_file_refuse(reading, "a ' is not closed by another '");
		at += *at != '\0';
		*end = '\0';
		if (count < 2 && strcmp(word, before[count]) != 0)
			return test_file_refuse(reading,
			                        "a request is a text that begins with yett run");
		if (count >= 2 + TEST_FILE_WORDS_MAX)
			return test_file_refuse(reading, "a request has at most %d words",
			                        TEST_FILE_WORDS_MAX);
		if (count++ >= 2)
			test->words[test->words_count++] = word;
	}
	return count < 2
	               ? test_file_refuse(reading, "a request is a text that begins with yett run")
	               : 0;
}

static const struct {
	const char *name;
	size_t at;
	bool is_list;
} keys[] = {
	{"user", offsetof(struct test_case, user), false},
	{"groups", offsetof(struct test_case, groups), true},
	{"at", offsetof(struct test_case, at), false},
	{"key", offsetof(struct test_case, key), false},
	{"request", offsetof(struct test_case, request), false},
	{"expect", offsetof(struct test_case, expect), false},
	{"by", offsetof(struct test_case, by), false},
	{"agent", offsetof(struct test_case, agent), false},
};

static int test_file_read_key(struct reading *reading, const char *name, struct test_case *test)
{
	char **field = NULL;
	size_t key = 0;
	int r;

	while (key < ARRAY_SIZE(keys) && strcmp(keys[key].name, name) != 0)
		key++;
	if (key == ARRAY_SIZE(keys))
		return test_file_refuse(
			reading,
			"a test has no %s, but user, groups, key, agent, at, request, expect and by",
			name);
	field = (char **)((char *)test + keys[key].at);
	if (*field)
		return test_file_refuse(reading, "%s is set twice", name);
	r = next_mark(reading, '=');
	if (r == 0)
		r = keys[key].is_list ? test_file_read_list(reading, field)
		                      : next_text(reading, "a value", field);
	if (r == 0 && field == &test->request)
		r = split_request(reading, test);
	if (r == 0 && field == &test->agent && strcmp(test->agent, "true") != 0 &&
	    strcmp(test->agent, "false") != 0)
		r = test_file_refuse(reading, "agent must be true or false");
	if (r == 0 && field == &test->expect && strcmp(test->expect, "allowed") != 0 &&
	    strcmp(test->expect, "refused") != 0)
		r = test_file_refuse(reading, "expect must be allowed or refused");
	return r;
}

/* Reads the rest of a test, after the word "test". */
static int read_case(struct reading *reading, struct test_case *test)
{
	struct token token;
	int r;

	test->line = reading->line;
	r = next_text(reading, "the name of a test", &test->name);
	if (r == 0)
		r = next_mark(reading, '{');
	while (r == 0) {
		r = next_token(reading, &token);
		if (r == 0 && token.text) {
			_cleanup_free_ char *name = token.text;

			r = test_file_read_key(reading, name, test);
		} else if (r == 0 && token.mark == '}') {
			break;
		} else if (r == 0) {
			r = test_file_refuse(reading, "a key or '}' is wanted here");
		}
	}
	if (r == 0 && (!test->request || !test->expect))
		r = test_file_refuse(reading, "the test '%s' needs a request, and what is expected",
		                     test->name);
	return r;
}

static int read_cases(struct reading *reading, struct test_file *file)
{
	int r = 0;

	for (test_file_skip_blanks(reading); r == 0 && *reading->at;
	     test_file_skip_blanks(reading)) {
		_cleanup_free_ char *word = NULL;
		struct test_case *cases;

		r = next_text(reading, "test \"NAME\" { … }", &word);
		if (r == 0 && strcmp(word, "test") != 0)
			r = test_file_refuse(reading, "test \"NAME\" { … } is wanted here");
		if (r)
			break;
		cases = reallocarray(file->cases, file->count + 1, sizeof *cases);
		if (!cases)
			return -ENOMEM;
		file->cases = cases;
		cases[file->count] = (struct test_case){0};
		r = read_case(reading, &cases[file->count++]);
	}
	return r == 0 && file->count == 0 ? test_file_refuse(reading, "there is no test in it") : r;
}

static int test_file_read_text(const char *path, char **ret_text, struct yett_error *error)
{
	_cleanup_free_ char *text = malloc(FILE_SIZE_MAX + 2);
	_cleanup_fd_ int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	size_t length = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && length <= FILE_SIZE_MAX) {
		n = read(fd, text + length, FILE_SIZE_MAX + 1 - length);
		length += n > 0 ? (size_t)n : 0;
	}
	if (!text)
		return -ENOMEM;
	if (n < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "%s cannot be read: %s", path, strerror(errno));
	if (length > FILE_SIZE_MAX || memchr(text, '\0', length))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is no text, or larger than 1 MiB", path);
	text[length] = '\0';
	*ret_text = steal_ptr(&text);
	return 0;
}

int test_file_read(const char *path, struct test_file *ret_file, struct yett_error *error)
{
	_cleanup_free_ char *text = NULL;
	struct reading reading = {.path = path, .line = 1, .error = error};
	struct test_file file = {0};
	int r = test_file_read_text(path, &text, error);

	reading.at = text;
	if (r == 0)
		r = read_cases(&reading, &file);
	if (r < 0)
		r = error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		              "%s cannot be read: %s", path, strerror(-r));
	if (r)
		test_file_clear(&file);
	else
		*ret_file = file;
	return r;
}

void test_file_clear(struct test_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		free(file->cases[i].name);
		for (size_t key = 0; key < ARRAY_SIZE(keys); key++)
			free(*(char **)((char *)&file->cases[i] + keys[key].at));
	}
	free(file->cases);
	*file = (struct test_file){0};
}
