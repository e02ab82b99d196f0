/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validator: warns of suspicious code before it is run, by a table of patterns over tokens, so
 * that comments and strings do not count.
 *
 * The warnings are advice: an attacker can hide from them. The sandbox protects the host, whatever
 * the code does. Pure functions of untrusted bytes.
 */
#pragma once

#include <stddef.h>

enum finding_severity {
	FINDING_NOTE = 0,  /* may not work in a sandbox, or deserves a look */
	FINDING_WARN = 1,  /* bypasses the language, or runs other programs */
	FINDING_GRAVE = 2, /* is hardly ever well-meant */
};

/* "note", "warn", "grave" */
const char *finding_severity_name(enum finding_severity severity);

/*
 * A pattern is a list of elements separated by blanks. An element matches one token, unless the
 * list says otherwise:
 *
 *   word, (, …   this text; a|b: one of these texts
 *   ~GLOB        a word that matches the glob(7) pattern
 *   "text"       a string, in shells also a word, that contains the text; 'text': that equals it
 *   @            a word, the same one wherever the pattern has @
 *   ...          0 to 16 tokens of the same line; ***: also across lines
 *   %            no token; the next one is neither a member of an object nor being defined
 *   ^            no token; the next one begins a line or a statement
 */
struct finding_rule {
	const char *language; /* from the table of languages; NULL: all */
	const char *rule;     /* "decoded-code"; several rows may have the same rule */
	enum finding_severity severity;
	const char *pattern;
	const char *text;    /* description for people */
	const char *example; /* code that the pattern matches */
};

/*
 * Ends with a row without a pattern. The rows of JavaScript also apply to TypeScript, those of C
 * also to C++.
 */
extern const struct finding_rule finding_rules[];

struct finding {
	const struct finding_rule *rule;
	unsigned line; /* line of the first match; the code's first line is 1 */
};

#define FINDINGS_MAX 32

/*
 * Finds matches, in the order of lines. Each rule is reported once, or again with a higher
 * severity. Returns their number, at most FINDINGS_MAX.
 */
size_t validate(const char *language, const char *code, size_t length,
                struct finding ret_findings[FINDINGS_MAX]);
