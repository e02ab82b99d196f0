/*
 * `yett policy check [FILE]`, `yett policy explain -- RUN ARGS` and `yett profiles`: what the policy says, of itself and of somebody.
 *
 * Runs as the caller. yett-explain answers, which lies beside the helper and reads the policy as the caller can; where an ordinary user
 * cannot, the service is asked what it would do.
 */
#pragma once

#include "cli/options.h"

extern const struct option policy_options[], profiles_options[];

int policy_main(const struct subcommand *self, int argc, char **argv);
int profiles_main(const struct subcommand *self, int argc, char **argv);
