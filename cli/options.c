/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "cli/options.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/units_parse.h"
#include "cli/output.h"
#include "cli/suggest.h"

static int set_help(void *into, const char *value, struct yett_error *error)
{
	/* options_parse() handles the option before any setter runs. */
	(void)into, (void)value, (void)error;
	return 0;
}

static int set_json(void *into, const char *value, struct yett_error *error)
{
	(void)into, (void)value;
	return output_to_json(STDOUT_FILENO, error);
}

static int set_json_fd(void *into, const char *value, struct yett_error *error)
{
	uint64_t fd;

	(void)into;
	if (units_parse_number(value, &fd) < 0 || fd > INT_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--json-fd %s: expected the number of a descriptor", value);
	return output_to_json((int)fd, error);
}

static int cli_options_set_quiet(void *into, const char *value, struct yett_error *error)
{
	(void)into, (void)value, (void)error;
	output_be_quiet();
	return 0;
}

#define NAMES_MAX 64 /* options of a subcommand that are suggested */
#define HELP_LONG 24 /* a subcommand with more options hides the rare ones in its help */

/* Every subcommand has these, unless it has an option of the same name. */
static const struct option common_options[] = {
	{0, "json", NULL, "print results and errors as one JSON document on stdout", set_json},
	OPTION_RARE(0, "json-fd", "N", "write the JSON document to descriptor N", set_json_fd),
	{'q', "quiet", NULL, "print no notes on stderr; with JSON, no errors there either",
         cli_options_set_quiet},
	{'h', "help", NULL, "show this help", set_help},
	{0},
};

static const struct option *cli_options_find_in(const struct option *table, char letter,
                                                const char *name, size_t length)
{
	for (const struct option *option = table; option && option->name; option++)
		if (name ? strlen(option->name) == length && memcmp(option->name, name, length) == 0
		         : option->letter && option->letter == letter)
			return option;
	return NULL;
}

static const struct option *cli_options_find(const struct subcommand *subcommand, char letter,
                                             const char *name, size_t length)
{
	const struct option *own = cli_options_find_in(subcommand->options, letter, name, length);

	return own ? own : cli_options_find_in(common_options, letter, name, length);
}

const struct option *options_at(const struct subcommand *subcommand, size_t i)
{
	for (const struct option *option = subcommand->options; option && option->name; option++)
		if (i-- == 0)
			return option;
	for (const struct option *option = common_options; option->name; option++)
		if (!cli_options_find_in(subcommand->options, 0, option->name,
		                         strlen(option->name)) &&
		    i-- == 0)
			return option;
	return NULL;
}

static int no_option(const struct subcommand *subcommand, const char *word,
                     struct yett_error *error)
{
	const char *names[NAMES_MAX];
	size_t count = 0;
	char hint[128];

	for (const struct option *option;
	     count < NAMES_MAX && (option = options_at(subcommand, count)); count++)
		names[count] = option->name;
	suggest_option(subcommand->name, word, names, count, hint, sizeof hint);
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s has no option %s%s%s",
	                 subcommand->name, word, *hint ? ": " : "", hint);
}

/*
 * Takes the next word as the value of an option. Returns NULL, with the error set, if there is
 * none.
 */
static const char *next_value(const struct option *option, int argc, char **argv, int *at,
                              struct yett_error *error)
{
	if (*at < argc)
		return argv[(*at)++];
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s needs %s", option->name,
	                option->value);
	return NULL;
}

/*
 * The destination of the options: a struct that the setters fill, or a list of words that ends with
 * NULL.
 */
struct reading {
	const struct subcommand *subcommand;
	void *into;
	char **words;
	size_t count, max;
};

/*
 * Stores an option as a word in its long form. Skips common options: they say how to report
 * results, not what to do.
 */
static int store_word(const struct option *option, struct reading *reading, const char *value,
                      struct yett_error *error)
{
	if (!cli_options_find_in(reading->subcommand->options, 0, option->name,
	                         strlen(option->name)))
		return 0;
	if (reading->count + 1 >= reading->max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "there are more than %zu options", reading->max - 1);
	if (asprintf(&reading->words[reading->count], "--%s%s%s", option->name, value ? "=" : "",
	             value ? value : "") < 0) {
		reading->words[reading->count] = NULL;
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for the options");
	}
	reading->count++;
	return 0;
}

/*
 * An empty value usually comes from an unset variable in a script. If the setter refuses the value,
 * report that it is empty.
 */
static int cli_options_store(const struct option *option, struct reading *reading,
                             const char *value, struct yett_error *error)
{
	int r = reading->words ? store_word(option, reading, value, error)
	                       : option->set(reading->into, value, error);

	if (r == 0 || !value || *value)
		return r;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--%s needs %s, and what it was given is empty", option->name,
	                 option->value);
}

/*
 * Reads "-x", "-xVALUE", "-x=VALUE", "-x VALUE", or several letters after one dash, the last of
 * which may have a value.
 */
static int parse_letters(struct reading *reading, int argc, char **argv, int *at,
                         struct yett_error *error)
{
	const char *word = argv[(*at)++], *value;
	int r = 0;

	for (const char *letter = word + 1; r == 0 && *letter; letter++) {
		const struct option *option =
			cli_options_find(reading->subcommand, *letter, NULL, 0);

		if (!option)
			return no_option(reading->subcommand, word, error);
		if (option->value) {
			value = letter[1] ? letter + 1 + (letter[1] == '=')
			                  : next_value(option, argc, argv, at, error);
			return value ? cli_options_store(option, reading, value, error)
			             : YETT_E_INVALID_REQUEST;
		}
		r = cli_options_store(option, reading, NULL, error);
	}
	return r;
}

/*
 * Reads the option at argv[*at]: "--name", "--name=VALUE", "--name VALUE", or letters. Moves *at
 * past the option.
 */
static int parse_one(struct reading *reading, int argc, char **argv, int *at,
                     struct yett_error *error)
{
	const char *word = argv[*at], *value = NULL;
	const struct option *option;
	size_t length;

	if (word[1] != '-')
		return parse_letters(reading, argc, argv, at, error);
	++*at;
	length = strcspn(word + 2, "=");
	option = cli_options_find(reading->subcommand, '\0', word + 2, length);
	if (!option)
		return no_option(reading->subcommand, word, error);
	if (word[2 + length] == '=')
		value = word + 2 + length + 1;
	if (value && !option->value)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--%s takes no value",
		                 option->name);
	if (!value && option->value && !(value = next_value(option, argc, argv, at, error)))
		return YETT_E_INVALID_REQUEST;
	return cli_options_store(option, reading, value, error);
}

/* Moves the words argv[from … to) before the operands, which begin at *operands. */
static void move_before(char **argv, int *operands, int from, int to)
{
	for (int i = from; i < to; i++) {
		char *word = argv[i];

		memmove(&argv[*operands + 1], &argv[*operands],
		        (size_t)(i - *operands) * sizeof *argv);
		argv[(*operands)++] = word;
	}
}

static int check_operands(const struct subcommand *subcommand, int count, char **operands,
                          struct yett_error *error)
{
	if (count < subcommand->operands_min)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s needs %s",
		                 subcommand->name, subcommand->operands);
	if (subcommand->operands_max >= 0 && count > subcommand->operands_max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s does not know what to do with %s", subcommand->name,
		                 operands[subcommand->operands_max]);
	return 0;
}

int options_parse(const struct subcommand *subcommand, int argc, char **argv, void *into,
                  bool *ret_help, int *ret_first, struct yett_error *error)
{
	/*
	 * The words after the command are the command's own options, so parsing stops at the
	 * command.
	 */
	int command_at = subcommand->takes_command ? subcommand->operands_min - 1 : INT_MAX;
	struct reading reading = {.subcommand = subcommand, .into = into};
	int first = 0, at = 0, r = 0;

	*ret_help = false;
	while (r == 0 && at < argc) {
		int from = at;
		bool ends = strcmp(argv[at], "--") == 0;

		if (argv[at][0] != '-' || !argv[at][1]) {
			if (at - first >= command_at)
				break;
			at++;
			continue;
		}
		if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
			*ret_help = true;
			return 0;
		}
		if (ends)
			at++;
		else
			r = parse_one(&reading, argc, argv, &at, error);
		move_before(argv, &first, from, at);
		if (ends)
			break;
	}
	if (r == 0)
		r = check_operands(subcommand, argc - first, argv + first, error);
	*ret_first = first;
	return r;
}

int options_words(const struct subcommand *subcommand, int argc, char **argv, char **words,
                  size_t max, struct yett_error *error)
{
	struct reading reading = {.subcommand = subcommand, .words = words, .max = max};
	int at = 0, r = 0;

	while (r == 0 && at < argc && strcmp(argv[at], "--") != 0)
		r = parse_one(&reading, argc, argv, &at, error);
	words[reading.count] = NULL;
	return r;
}

static void print_option(FILE *to, const struct option *option)
{
	const char *value = option->value;
	char left[64], short_form[8] = "    ";

	if (option->letter)
		(void)snprintf(short_form, sizeof short_form, "-%c, ", option->letter);
	(void)snprintf(left, sizeof left, "%s--%s%s%s", short_form, option->name, value ? " " : "",
	               value ? value : "");
	(void)fprintf(to, "  %-28s %s\n", left, option->help);
}

static bool is_all_asked(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--all") == 0)
			return true;
	return false;
}

void options_print_help(FILE *to, const struct subcommand *subcommand, bool all)
{
	size_t count = 0, left_out = 0;

	while (options_at(subcommand, count))
		count++;
	(void)fprintf(to, "Usage: yett %s [OPTION…]%s%s\n\n%s.\n\nOptions:\n", subcommand->name,
	              *subcommand->operands ? " " : "", subcommand->operands, subcommand->summary);
	for (size_t i = 0; i < count; i++) {
		if (!all && count > HELP_LONG && options_at(subcommand, i)->is_rare)
			left_out++;
		else
			print_option(to, options_at(subcommand, i));
	}
	if (left_out)
		(void)fprintf(to, "\n%zu more: yett %s --help --all\n", left_out, subcommand->name);
}

void options_print_json(struct json *json, const struct subcommand *subcommand)
{
	json_open(json, NULL, '{');
	json_text(json, "name", subcommand->name);
	json_text(json, "operands", subcommand->operands);
	json_text(json, "summary", subcommand->summary);
	json_open(json, "options", '[');
	for (size_t i = 0; options_at(subcommand, i); i++) {
		const struct option *option = options_at(subcommand, i);

		json_open(json, NULL, '{');
		json_text_or_null(json, "letter", (const char[]){option->letter, '\0'});
		json_text(json, "name", option->name);
		json_text(json, "value", option->value);
		json_text(json, "help", option->help);
		json_close(json);
	}
	json_close(json);
	json_close(json);
}

void options_look_for_json(int argc, char **argv)
{
	struct yett_error error;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0 && !output_json(); i++) {
		if (strcmp(argv[i], "--json") == 0)
			(void)!set_json(NULL, NULL, &error);
		else if (strncmp(argv[i], "--json-fd=", 10) == 0)
			(void)!set_json_fd(NULL, argv[i] + 10, &error);
		else if (strcmp(argv[i], "--json-fd") == 0 && i + 1 < argc)
			(void)!set_json_fd(NULL, argv[i + 1], &error);
	}
}

int options_begin(const struct subcommand *subcommand, int argc, char **argv, void *into,
                  int usage_code, int *ret_first)
{
	struct yett_error error = {0};
	bool help;

	if (options_parse(subcommand, argc, argv, into, &help, ret_first, &error)) {
		options_look_for_json(argc, argv);
		output_error(&error);
		if (error.code == YETT_E_INVALID_REQUEST)
			(void)fprintf(stderr, "  yett %s --help lists what it takes\n",
			              subcommand->name);
		return usage_code;
	}
	if (!help)
		return -1;
	if (!output_json()) {
		options_print_help(stdout, subcommand, is_all_asked(argc, argv));
		return 0;
	}
	json_open(output_json(), "subcommands", '[');
	options_print_json(output_json(), subcommand);
	json_close(output_json());
	return 0;
}
