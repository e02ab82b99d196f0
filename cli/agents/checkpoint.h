/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett checkpoint`: stores and retrieves states of agents, with libyett-checkpoint.
 *
 * Runs as the caller, and contacts no helper. Names from a store are escaped as output.h says; a
 * state is written unchanged.
 */
#pragma once

#include "cli/options.h"

extern const struct option checkpoint_options[];

int checkpoint_main(const struct subcommand *self, int argc, char **argv);

/*
 * Parses a time as lists show it, "2026-03-01T12:00:00.000Z", with or without the fraction, into
 * milliseconds since 1970. False if the text is no such time.
 */
bool checkpoint_parse_time(const char *text, uint64_t *ret_ms);
