/*
 * Code as words and marks, without its comments, and its strings apart: as far as a short scanner
 * knows them, by families of languages.
 *
 * A pure function of bytes that anybody may have written. What it cannot know (macros, code in
 * strings, grammars that depend on names) it reads as it stands: it serves advice and names of
 * classes, and nothing is kept safe by it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum scan_kind {
	SCAN_END = 0,
	SCAN_WORD,   /* a name or number; of shells: whatever stands between blanks */
	SCAN_MARK,   /* one character */
	SCAN_STRING, /* `text` is what is between its quotes, as it is written */
};

struct scan_token {
	enum scan_kind kind;
	const char *text; /* in the code */
	size_t length;
	unsigned line;    /* from 1 on */
	bool begins_line; /* nothing but blanks and comments is before it in its line */
	bool after_blank; /* a blank, a comment or the beginning is before it */
};

/* so deep expressions in strings are code; deeper ones are not looked at */
#define SCAN_NESTED   16
#define SCAN_HEREDOCS 4 /* so many here-documents of one line */

struct scan_style;

struct scan_heredoc {
	const char *word;
	size_t length;
	bool is_indented;
};

struct scan {
	const struct scan_style *style;
	const char *at, *end, *code;
	unsigned line;
	bool begins_line, after_blank;
	bool is_text; /* of PHP: outside of its code */
	struct scan_token last;
	unsigned braces[SCAN_NESTED]; /* of JavaScript's templates that are open: how many are open
	                                 in the expression */
	size_t nested;
	struct scan_heredoc heredocs[SCAN_HEREDOCS];
	size_t heredocs_count;
};

/* Of a language of the table by its name; of another one words are words, and nothing is a comment.
 * `code` is borrowed. */
void scan_begin(struct scan *scan, const char *language, const char *code, size_t length);

/* false: there is no more, and the kind is SCAN_END. */
bool scan_next(struct scan *scan, struct scan_token *ret_token);

/* Whether it is a word or mark that is written so. */
bool scan_is(const struct scan_token *token, const char *text);
