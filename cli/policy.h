/*
 * `yett policy check [FILE]`, `test FILE`, `show --effective|--origin`, `explain -- RUN ARGS` and
 * `yett profiles`: what the policy says, of itself and of somebody.
 *
 * Runs as the caller. yett-explain answers, which lies beside the helper and reads the policy as
 * the caller can; where an ordinary user cannot, the service is asked what it would do.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option policy_options[], profiles_options[];

int policy_main(const struct subcommand *self, int argc, char **argv);
int profiles_main(const struct subcommand *self, int argc, char **argv);

/* About whom a question is, and by which policy; what is NULL, is not said. */
struct policy_choice {
	const char *user, *key, *file;
	const char *groups; /* instead of those of the account: names or numbers with commas between
	                       them */
	const char *at;     /* the date at which it would be asked; NULL: now */
	bool is_effective;  /* of `yett policy show` */
	bool is_origin;     /* likewise */
	bool is_strict;     /* of `yett policy check` */
	bool is_agents;     /* an agent of theirs asks */
	bool is_own_key;    /* without `key`: any of the user's own, whoever asks */
};

/*
 * What `yett policy explain` says of a run with these arguments, `words[0 … count]`, that ends with
 * NULL and is changed. No current directory is shared that is not among them. 0 and the text, to be
 * freed; or why it would be refused: of `ret_is_told` false, why nobody can tell.
 */
_must_check_ int policy_explain_words(const struct policy_choice *choice, int count, char **words,
                                      char **ret_text, bool *ret_is_told, struct yett_error *error);

/*
 * What `yett policy check` says of the whole policy at `file` (NULL: the installed one), to be
 * freed: each line but the last is to be noted. `ret_is_read`: nothing kept it from being looked
 * at, so that an error is one of the policy.
 */
_must_check_ int policy_check(const char *file, char **ret_text, bool *ret_is_read,
                              struct yett_error *error);
