/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett policy check [FILE]`, `test FILE`, `show --effective|--origin`, `explain -- RUN ARGS` and
 * `yett profiles`: shows what the policy contains, and what it allows a user.
 *
 * Runs as the caller. yett-explain answers (see policy_ask.h). For an ordinary user who cannot read
 * the policy, the service is asked instead.
 */
#pragma once

#include "cli/options.h"

extern const struct option policy_options[], profiles_options[];

int policy_main(const struct subcommand *self, int argc, char **argv);
int profiles_main(const struct subcommand *self, int argc, char **argv);
