/* SPDX-License-Identifier: Apache-2.0 */
/* See patch.h. The colours are those of git(1). */
#include "cli/changes/patch.h"

#include <string.h>

#include "cli/output.h"

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define CYAN  "\033[36m"
#define RESET "\033[m"

/* Escapes all but tabs and the line end. Modifies `text` meanwhile, and restores it. */
static void put_escaped(FILE *to, char *text, size_t length)
{
	char after = text[length];

	text[length] = '\0';
	for (char *at = text, *end = text + length; at < end; at++) {
		size_t part = strcspn(at, "\t");
		char last = at[part]; /* a tab, a NUL within the line, or the final NUL */

		at[part] = '\0';
		output_text(to, at, true);
		at += part;
		*at = last;
		if (at < end)
			(void)fputs(last == '\t' ? "\t" : "\\x00", to);
	}
	text[length] = after;
}

static void put_coloured(FILE *to, const char *colour, char *text, size_t length)
{
	if (length == 0)
		return;
	(void)fputs(colour, to);
	put_escaped(to, text, length);
	(void)fputs(*colour ? RESET : "", to);
}

/* Colours "@@ -1 +1 @@", and prints the text behind it without colour. */
static void patch_put_hunk(FILE *to, char *text, size_t length)
{
	char *end = length > 2 ? memmem(text + 2, length - 2, "@@", 2) : NULL;
	size_t first = end ? (size_t)(end - text) + 2 : length;

	put_coloured(to, CYAN, text, first);
	put_escaped(to, text + first, length - first);
}

/* Colours the bar of '+' and '-' at the end of a --stat line. */
static void put_bar(FILE *to, char *text, size_t length)
{
	size_t minus = length, plus;

	while (minus > 0 && text[minus - 1] == '-')
		minus--;
	plus = minus;
	while (plus > 0 && text[plus - 1] == '+')
		plus--;
	put_escaped(to, text, plus);
	put_coloured(to, GREEN, text + plus, minus - plus);
	put_coloured(to, RED, text + minus, length - minus);
}

static void put_marked(FILE *to, char mark, char *text, size_t length)
{
	size_t ended = length && text[length - 1] == '\n';

	if (mark == '@')
		patch_put_hunk(to, text, length - ended);
	else if (mark == '|')
		put_bar(to, text, length - ended);
	else
		put_coloured(to,
		             mark == 'h'   ? BOLD
		             : mark == '+' ? GREEN
		             : mark == '-' ? RED
		                           : "",
		             text, length - ended);
	(void)fputs(ended ? "\n" : "", to);
}

void patch_print(FILE *from, FILE *to, const struct patch_style *style)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, from)) > 0 && !ferror(to)) {
		if (style->is_coloured)
			put_marked(to, *line, line + 1, (size_t)n - 1);
		else if (style->is_escaped)
			put_escaped(to, line, (size_t)n);
		else
			(void)fwrite(line, 1, (size_t)n, to);
	}
}
