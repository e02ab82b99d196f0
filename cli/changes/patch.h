/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the output of yett-diff: unchanged for programs, or escaped and with colours for people.
 *
 * Runs as the caller. Trust none of the input, not even the mark that says what kind a line is. The
 * colours are the only escape sequences that may be printed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct patch_style {
	bool is_escaped;
	/*
	 * Each line begins with its kind, one of enum SHOW_* in workspace/diff/diff.h. Implies
	 * escaping.
	 */
	bool is_coloured;
};

/* Prints until the end of `from`, or until a write to `to` fails. */
void patch_print(FILE *from, FILE *to, const struct patch_style *style);
