/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits code into words, marks and strings, without comments. A short scanner, with one style for
 * each family of languages.
 *
 * A pure function of untrusted bytes. The scanner does not understand macros, code in strings, or
 * grammars that depend on names. Its results serve advice and the names of classes; no security may
 * depend on them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum scan_kind {
	SCAN_END = 0,
	SCAN_WORD,   /* a name or number; in shells, any text between blanks */
	SCAN_MARK,   /* one character */
	SCAN_STRING, /* `text` is the content without the quotes, escapes not decoded */
};

struct scan_token {
	enum scan_kind kind;
	const char *text; /* points into the code */
	size_t length;
	unsigned line;    /* the first line is 1 */
	bool begins_line; /* only blanks and comments precede it in its line */
	bool after_blank; /* follows a blank, a comment, or the beginning of the code */
};

/* Nesting depth up to which expressions in template strings are scanned as code. */
#define SCAN_NESTED   16
#define SCAN_HEREDOCS 4 /* here-documents that may begin in one line */

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
	bool is_text; /* PHP: outside of <? and ?> */
	struct scan_token last;
	/* For each open JavaScript template: the number of open braces in its expression. */
	unsigned braces[SCAN_NESTED];
	size_t nested;
	struct scan_heredoc heredocs[SCAN_HEREDOCS];
	size_t heredocs_count;
};

/*
 * Begins to scan code in a language of the table. In an unknown language there are no comments and
 * strings. `code` is borrowed.
 */
void scan_begin(struct scan *scan, const char *language, const char *code, size_t length);

/* Returns false at the end; then the token's kind is SCAN_END. */
bool scan_next(struct scan *scan, struct scan_token *ret_token);

/* Whether the token is a word or mark with this text. */
bool scan_is(const struct scan_token *token, const char *text);
