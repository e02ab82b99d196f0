/*
 * What somebody meant who wrote a word that we do not know: the nearest of ours, or what we have
 * for a habit of docker, bwrap and others.
 *
 * Pure.
 */
#pragma once

#include "cli/options.h"

/* After "there is no subcommand WORD": what there is instead, never empty. `names` are all
 * subcommands. */
void suggest_subcommand(const char *word, const char *const *names, size_t count, char *out,
                        size_t size);

/* After "SUBCOMMAND has no option WORD"; "" where there is nothing to say. */
void suggest_option(const struct subcommand *subcommand, const char *word, char *out, size_t size);
