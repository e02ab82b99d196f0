/* SPDX-License-Identifier: Apache-2.0 */
/* See near.h. */
#include "base/near.h"

#include <string.h>

#define WORD_MAX 24

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The Damerau-Levenshtein distance (optimal string alignment): how many characters to insert,
 * remove, replace or swap with their neighbour to turn `a` into `b`. WORD_MAX if a word is longer
 * than that.
 */
static size_t near_distance(const char *a, const char *b)
{
	size_t rows[WORD_MAX + 1][WORD_MAX + 1], m = strlen(a), n = strlen(b);

	if (m > WORD_MAX || n > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= m; i++)
		for (size_t j = 0; j <= n; j++) {
			if (i == 0 || j == 0) {
				rows[i][j] = i + j;
				continue;
			}
			rows[i][j] = least(least(rows[i - 1][j], rows[i][j - 1]) + 1,
			                   rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	return rows[m][n];
}

const char *near_word(const char *word, const char *const *names, size_t count)
{
	size_t length = strlen(word), best = length < 6 ? 2 : 3; /* exclusive bound */
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t far = near_distance(word, names[i]);

		if (far < best && far < length) {
			best = far;
			found = names[i];
		}
	}
	if (found || length < 2)
		return found;
	/* The word may be an abbreviation: find the shortest name that begins with it. */
	for (size_t i = 0; i < count; i++)
		if (strncmp(names[i], word, length) == 0 &&
		    (!found || strlen(names[i]) < strlen(found)))
			found = names[i];
	return found;
}
