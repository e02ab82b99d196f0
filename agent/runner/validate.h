/*
 * What stands out in code before it is run: a table of patterns over its words and marks, so that
 * comments and strings do not count.
 *
 * It is advice. Whoever means to hide something from it can; what keeps the host safe is the
 * sandbox, whatever the code is. Pure functions of bytes that anybody may have written.
 */
#pragma once

#include <stddef.h>

enum finding_severity {
	FINDING_NOTE = 0,  /* it may not work here, or is worth a look */
	FINDING_WARN = 1,  /* it goes around the language, or runs other programs */
	FINDING_GRAVE = 2, /* hardly anybody means well with it */
};

/* "note", "warn", "grave" */
const char *finding_severity_name(enum finding_severity severity);

/*
 * A pattern is elements with blanks between them, each for one token of the code:
 *
 *   word, (, …   is written so; a|b: as one of these
 *   ~GLOB        a word that the glob(7) fits
 *   "text"       a string, of shells a word too, that contains the text; 'text': that is the text
 *   @            a word, the same in all places of the pattern
 *   ...          any number of tokens (up to 16) of the same line, also none; ***: of whatever line
 *   %            no token: what follows is neither a member of something nor just defined
 *   ^            no token: what follows begins a line or a statement
 */
struct finding_rule {
	const char *language; /* of the table of languages; NULL: of each */
	const char *rule;     /* "decoded-code": several rows may be of one rule */
	enum finding_severity severity;
	const char *pattern;
	const char *text;    /* for people: what it is about */
	const char *example; /* code that it finds */
};

/* Ends with a row without pattern. TypeScript goes by the rows of JavaScript, too, and C++ by those
 * of C. */
extern const struct finding_rule finding_rules[];

struct finding {
	const struct finding_rule *rule;
	unsigned line; /* the first one, from 1 on */
};

#define FINDINGS_MAX 32

/* What was found, each rule once, in the order of lines. How many; at most FINDINGS_MAX. */
size_t validate(const char *language, const char *code, size_t length,
                struct finding ret_findings[FINDINGS_MAX]);
