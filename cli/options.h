/*
 * Options as tables, from which parsing and help both derive.
 *
 * Runs as the caller, without privilege.
 */
#pragma once

#include "base/error.h"
#include "base/json.h"

/* Exit codes of subcommands that have none of a command's own. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct option {
	char letter; /* 0: it has only the long name */
	const char *name;
	const char *value; /* what help calls its value; NULL: it takes none */
	const char *help;
	/* Stores the value (NULL for a flag). 0, or YETT_E_INVALID_REQUEST with what is wrong about
	 * it. */
	int (*set)(void *into, const char *value, struct yett_error *error);
	bool is_rare; /* a long help leaves the option out, but for --help --all */
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

/* Defines a setter of the plainest kinds: a member that a flag makes true, one that is the text
 * (borrowed, never empty). */
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
	const struct option *options;   /* ends with a nameless one; NULL: none */
	int operands_min, operands_max; /* operands_max -1: no bound */
	int (*run)(const struct subcommand *self, int argc, char **argv);
	bool takes_command; /* the last operand of operands_min is one, and all that follows is its
	                       own */
};

/*
 * Reads the options in argv[0 … argc) into `into`; they end at "--" or at a command. Operands are
 * moved behind them, and the index of the first is returned. Names may not be shortened.
 * YETT_E_INVALID_REQUEST with the option named; YETT_OK with *ret_help true when --help was among
 * them (then nothing was checked any further).
 */
_must_check_ int options_parse(const struct subcommand *subcommand, int argc, char **argv,
                               void *into, bool *ret_help, int *ret_first,
                               struct yett_error *error);

/*
 * The options in argv[0 … argc), which options_parse() has read and which no operand stands
 * between, once more as words: --NAME or
 * --NAME=VALUE, but for those that every subcommand has. words[0 … max) gets them, with NULL
 * behind; each is the caller's, to be freed.
 */
_must_check_ int options_words(const struct subcommand *subcommand, int argc, char **argv,
                               char **words, size_t max, struct yett_error *error);

/* All options of a subcommand, its own first; NULL: there are no more. */
const struct option *options_at(const struct subcommand *subcommand, size_t i);

/* Usage, summary and a line for each option. Without `all` a long help leaves out the rare ones. */
void options_print_help(FILE *to, const struct subcommand *subcommand, bool all);

/* The table as an item: {name, operands, summary, options: [{letter, name, value, help}]}; what is
 * not there is null. */
void options_print_json(struct json *json, const struct subcommand *subcommand);

/* Where options could not be read to their end: whether the error is to be told in JSON. */
void options_look_for_json(int argc, char **argv);

/*
 * options_parse() with what every subcommand does around it: -1 to go on, else the exit code (help
 * was printed, or the error, in which case `usage_code`).
 */
int options_begin(const struct subcommand *subcommand, int argc, char **argv, void *into,
                  int usage_code, int *ret_first);
