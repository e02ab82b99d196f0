/*
 * `yett policy check [FILE]`, `yett policy explain -- RUN ARGS` and `yett profiles`: what the policy says, of itself and of somebody.
 *
 * Runs as the caller. yett-explain answers, which lies beside the helper and reads the policy as the caller can; where an ordinary user
 * cannot, the service is asked what it would do.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option policy_options[], profiles_options[];

int policy_main(const struct subcommand *self, int argc, char **argv);
int profiles_main(const struct subcommand *self, int argc, char **argv);

/*
 * What `yett policy check` says of the whole policy at `file` (NULL: the installed one), to be freed: each line but the last is to be
 * noted. `ret_is_read`: nothing kept it from being looked at, so that an error is one of the policy.
 */
_must_check_ int policy_check(const char *file, char **ret_text, bool *ret_is_read, struct yett_error *error);
