/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett policy check [FILE]`, `test FILE`, `show --effective|--origin`, `explain -- RUN ARGS` and
 * `yett profiles`: shows what the policy contains, and what it allows a user.
 *
 * Runs as the caller. yett-explain, which is located beside the helper, answers, and reads the
 * policy with the rights of the caller. For an ordinary user who cannot read the policy, the
 * service is asked instead.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option policy_options[], profiles_options[];

int policy_main(const struct subcommand *self, int argc, char **argv);
int profiles_main(const struct subcommand *self, int argc, char **argv);

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

/*
 * Stores what `yett policy explain` prints for a run with the arguments `words[0 … count)`. The
 * list ends with NULL and is modified. Does not share the current directory by default. The caller
 * frees *ret_text with yett_free(). If the call fails and *ret_is_reported, the error is the
 * refusal; otherwise the error says why there is no answer.
 */
_must_check_ int policy_explain_words(const struct policy_choice *choice, int count, char **words,
                                      char **ret_text, bool *ret_is_reported,
                                      struct yett_error *error);

/*
 * Stores what `yett policy check` prints for the whole policy at `file` (NULL: the installed one).
 * Each line but the last is a note. The caller frees *ret_text with yett_free(). If the call fails
 * and *ret_is_read, the policy itself has an error; otherwise the policy could not be read.
 */
_must_check_ int policy_check(const char *file, char **ret_text, bool *ret_is_read,
                              struct yett_error *error);
