/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggests a correction for an unknown word: our nearest word, or our equivalent of a word that
 * docker, bwrap and other programs use.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>

/* Text to follow "there is no subcommand WORD"; never empty. `names` are all subcommands. */
void suggest_subcommand(const char *word, const char *const *names, size_t count, char *out,
                        size_t size);

/*
 * Text to follow "SUBCOMMAND has no option WORD"; "" if there is no suggestion. `names` are the
 * long names of all options of the subcommand.
 */
void suggest_option(const char *subcommand, const char *word, const char *const *names,
                    size_t count, char *out, size_t size);
