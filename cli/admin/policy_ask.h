/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks yett-explain what the policy contains, and what it allows a user.
 *
 * Runs as the caller. yett-explain, which is located beside the helper, reads the policy with the
 * rights of the caller.
 */
#pragma once

#include <limits.h>

#include "cli/options.h"
#include "libclient/yett.h"

#define POLICY_ARGUMENTS_MAX 12

/* The user, key and policy that a question is about. NULL members are not given. */
struct policy_choice {
	const char *user, *key, *file;
	/* Replaces the groups of the account: names or numbers, separated by commas. */
	const char *groups;
	const char *at;    /* evaluate the policy at this date; NULL: now */
	bool is_effective; /* for `yett policy show` */
	bool is_origin;    /* for `yett policy show` */
	bool is_strict;    /* for `yett policy check` */
	bool is_agents;    /* the user's agent makes the request */
	/* If `key` is NULL: any key of the user's own, no matter who the caller is. */
	bool is_own_key;
};

/* The command line of yett-explain, which contains the question. */
struct policy_arguments {
	const char *words[POLICY_ARGUMENTS_MAX + 1];
	size_t count;
	char key[PATH_MAX];
};

/* Adds an option and its value (NULL: it takes none). Adds nothing if the value is empty. */
void policy_ask_add(struct policy_arguments *arguments, const char *word, const char *value);

void policy_ask_add_choice(struct policy_arguments *arguments, const struct policy_choice *choice);

/* Starts yett-explain with these arguments. It answers like a helper. */
_must_check_ int policy_ask_connect(const struct policy_arguments *arguments,
                                    const char *signing_key,
                                    struct yett_connection **ret_connection,
                                    struct yett_error *error);

/*
 * Asks a question that is contained in the arguments, and needs no sandbox request. The caller
 * frees *ret_text with yett_free().
 */
_must_check_ int policy_ask_text(const struct policy_arguments *arguments, bool as_json,
                                 char **ret_text, struct yett_error *error);

/* Whether the helper refused the request, rather than being unable to answer. */
bool policy_ask_is_refusal(const struct yett_error *error);

/* The options of `yett run`, without a required command. */
extern const struct subcommand policy_ask_as_run;

/*
 * Stores what `yett policy explain` prints for a run with the arguments `words[0 … count)`. The
 * list ends with NULL and is modified. Does not share the current directory by default. The caller
 * frees *ret_text with yett_free(). If the call fails and *ret_is_reported, the error is the
 * refusal; otherwise the error says why there is no answer.
 */
_must_check_ int policy_ask_words(const struct policy_choice *choice, int count, char **words,
                                  char **ret_text, bool *ret_is_reported, struct yett_error *error);

/*
 * Stores what `yett policy check` prints for the whole policy at `file` (NULL: the installed one).
 * Each line but the last is a note. The caller frees *ret_text with yett_free(). If the call fails
 * and *ret_is_read, the policy itself has an error; otherwise the policy could not be read.
 */
_must_check_ int policy_ask_check(const char *file, char **ret_text, bool *ret_is_read,
                                  struct yett_error *error);
