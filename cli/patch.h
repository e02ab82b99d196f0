/*
 * How what yett-diff tells is shown: as it is for programs; for people so that nothing of it is
 * acted on by a terminal, and in colours.
 *
 * Runs as the caller. All of it is hostile, also which kind a line is said to be: the colours are
 * the only escape sequences that come out.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct patch_style {
	bool is_escaped;
	bool is_coloured; /* each line begins with what it is: enum SHOW_* of programs/diff/diff.h;
	                     then it is escaped, too */
};

/* To the end, or until `to` takes no more. */
void patch_print(FILE *from, FILE *to, const struct patch_style *style);
