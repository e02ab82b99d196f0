/*
 * `yett checkpoint`: states of agents, by libyett-checkpoint.
 *
 * Runs as the caller, and asks no helper. Names from a store are printed as output.h has it; a
 * state as it is.
 */
#pragma once

#include "cli/options.h"

extern const struct option checkpoint_options[];

int checkpoint_main(const struct subcommand *self, int argc, char **argv);

/* A time as a list shows it, "2026-03-01T12:00:00.000Z", with or without its fraction, in
 * milliseconds since 1970. False: it is none. */
bool checkpoint_parse_time(const char *text, uint64_t *ret_ms);
