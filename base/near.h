/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggests which known word an unknown word was meant to be.
 *
 * Pure; needs no privilege.
 */
#pragma once

#include <stddef.h>

/*
 * The most similar of names[0 … count), or else the shortest that begins with `word`. NULL if there
 * is neither. The edit distance may be at most 1, or 2 if `word` has six characters or more.
 */
const char *near_word(const char *word, const char *const *names, size_t count);
