/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of options, which both the parser and the help use.
 *
 * Runs as the caller, without privilege.
 */
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "cli/exit_code.h"

struct option {
	char letter; /* 0: only the long name */
	const char *name;
	const char *value; /* the value's name in the help; NULL: the option takes none */
	const char *help;
	/*
	 * Stores the value (NULL for a flag). Returns 0, or YETT_E_INVALID_REQUEST with an error
	 * that says what is wrong with the value.
	 */
	int (*set)(void *into, const char *value, struct yett_error *error);
	bool is_rare; /* a long help lists the option only with --help --all */
};

/* A row of a table of options. */
#define OPTION(letter, name, value, help, set)        \
	{                                             \
		letter, name, value, help, set, false \
	}
#define OPTION_RARE(letter, name, value, help, set)  \
	{                                            \
		letter, name, value, help, set, true \
	}

/*
 * Define the simplest setters: OPTION_FLAG sets a bool member to true, OPTION_TEXT stores a pointer
 * to the value (borrowed) and refuses an empty one.
 */
#define OPTION_FLAG(name, type, member)                                          \
	static int name(void *into, const char *value, struct yett_error *error) \
	{                                                                        \
		(void)value;                                                     \
		(void)error;                                                     \
		((type *)into)->member = true;                                   \
		return 0;                                                        \
	}
#define OPTION_TEXT(name, type, member)                                              \
	static int name(void *into, const char *value, struct yett_error *error)     \
	{                                                                            \
		if (!*value)                                                         \
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, \
			                 "an option has an empty value");            \
		((type *)into)->member = value;                                      \
		return 0;                                                            \
	}

struct subcommand {
	const char *name;
	const char *operands;
	const char *summary;
	const struct option *options;   /* ends with an entry without a name; NULL: none */
	int operands_min, operands_max; /* operands_max -1: no limit */
	int (*run)(const struct subcommand *self, int argc, char **argv);
	/*
	 * The last of the operands_min operands is a command, and all words after it belong to the
	 * command.
	 */
	bool takes_command;
};

/*
 * Reads the options in argv[0 … argc) into `into`. Options end at "--" or at a command. Moves the
 * operands behind the options and returns the index of the first in *ret_first. Option names cannot
 * be abbreviated. YETT_E_INVALID_REQUEST: the error names the option. If --help is among the
 * options, sets *ret_help, returns 0 and does not check the remaining words.
 */
_must_check_ int options_parse(const struct subcommand *subcommand, int argc, char **argv,
                               void *into, bool *ret_help, int *ret_first,
                               struct yett_error *error);

/*
 * Converts the options in argv[0 … argc) to words of the form --NAME or --NAME=VALUE, without the
 * options that every subcommand has. options_parse() must have read them before, which also moved
 * the operands behind them. Stores at most `max` words, including the final NULL. The caller frees
 * each word.
 */
_must_check_ int options_words(const struct subcommand *subcommand, int argc, char **argv,
                               char **words, size_t max, struct yett_error *error);

/*
 * Returns option `i` of a subcommand, counting its own options first and then the common ones.
 * NULL: there are no more.
 */
const struct option *options_at(const struct subcommand *subcommand, size_t i);

/*
 * Prints the usage, the summary and a line for each option. Without `all`, a long help omits the
 * rare options.
 */
void options_print_help(FILE *to, const struct subcommand *subcommand, bool all);

/*
 * Adds the subcommand as an item: {name, operands, summary, options: [{letter, name, value,
 * help}]}. Missing values are null.
 */
void options_print_json(struct json *json, const struct subcommand *subcommand);

/*
 * Looks for --json and --json-fd after parsing failed, so that the error goes into the JSON
 * document.
 */
void options_look_for_json(int argc, char **argv);

/*
 * Runs options_parse() and handles help and errors. Returns -1 to continue, otherwise the exit
 * code: 0 after printing help, `usage_code` after printing an error.
 */
int options_begin(const struct subcommand *subcommand, int argc, char **argv, void *into,
                  int usage_code, int *ret_first);
