/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern matcher. See validate.h.
 *
 * Tries the patterns at each token, within a window of the following tokens: one pass, without
 * allocating memory.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "agent/runner/scan.h"
#include "agent/runner/validate.h"
#include "base/fd.h"

#define WINDOW 256 /* tokens in the window */
/* The window is refilled when fewer tokens than this follow the current one. */
#define AHEAD 64
#define ANY   16
/* The limit of element comparisons: code made to be slow to match is not checked to its end. */
#define EFFORT 4000000

static const char *const severity_names[] = {"note", "warn", "grave"};

/* Languages to which the rows of another language apply, too. */
static const struct {
	const char *language, *as;
} kin[] = {{"typescript", "javascript"}, {"c++", "c"}};

struct window {
	struct scan_token tokens[WINDOW];
	size_t at, count; /* the current token; at least two precede it */
	bool is_shell;
};

/*
 * A rule for the language, and the bytes with which its first token can begin: most tokens are
 * rejected by these alone.
 */
#define CANDIDATES_MAX 64
struct candidate {
	const struct finding_rule *rule;
	bool may_begin[256];
};

struct matching {
	const struct window *window;
	const struct scan_token *same; /* the word that @ matched; NULL: none yet */
	unsigned *effort;
};

const char *finding_severity_name(enum finding_severity severity)
{
	return severity_names[severity];
}

static bool is_one_of(const struct scan_token *token, const char *element, size_t length)
{
	const char *end = element + length;

	if (token->kind != SCAN_WORD && token->kind != SCAN_MARK)
		return false;
	/* The mark may be |, which elsewhere separates alternatives. */
	if (length == 1)
		return token->length == 1 && token->text[0] == *element;
	for (const char *one = element; one < end;) {
		const char *bar = memchr(one, '|', (size_t)(end - one));
		size_t size = (size_t)((bar ? bar : end) - one);

		if (token->length == size && memcmp(token->text, one, size) == 0)
			return true;
		one += size + 1;
	}
	return false;
}

static bool fits_glob(const struct scan_token *token, const char *element, size_t length)
{
	char glob[64], word[256];

	if (token->kind != SCAN_WORD || length >= sizeof glob || token->length >= sizeof word)
		return false;
	memcpy(glob, element, length);
	glob[length] = '\0';
	memcpy(word, token->text, token->length);
	word[token->length] = '\0';
	return fnmatch(glob, word, 0) == 0;
}

static bool fits_string(const struct window *window, const struct scan_token *token,
                        const char *element, size_t length)
{
	const char *text = element + 1;

	length -= 2;
	if (token->kind != SCAN_STRING && !(window->is_shell && token->kind == SCAN_WORD))
		return false;
	if (*element == '\'')
		return token->length == length && memcmp(token->text, text, length) == 0;
	return length == 0 || memmem(token->text, token->length, text, length) != NULL;
}

/* The length of the element at `pattern`, which ends at a blank or at its closing quote. */
static size_t element_length(const char *pattern)
{
	if (*pattern == '"' || *pattern == '\'')
		return (size_t)(strchr(pattern + 1, *pattern) - pattern) + 1;
	return strcspn(pattern, " ");
}

static bool is_element(const char *element, size_t length, const char *text)
{
	return strlen(text) == length && memcmp(element, text, length) == 0;
}

/*
 * Whether the preceding token shows that a name is not a use of the global function of that name.
 */
static bool is_member_or_definition(const struct scan_token *before)
{
	static const char definitions[] = "def|function|func|fn|sub|int|void";

	return is_one_of(before, ".", 1) ||
	       is_one_of(before, definitions, sizeof definitions - 1) ||
	       (is_one_of(before, ":", 1) && is_one_of(before - 1, ":", 1)) ||
	       (is_one_of(before, ">", 1) && is_one_of(before - 1, "-", 1));
}

static bool begins_statement(const struct scan_token *before, const struct scan_token *token)
{
	return token->begins_line || before->kind == SCAN_END ||
	       (before->kind == SCAN_MARK && memchr(";{}(|&`", before->text[0], 7));
}

/* Evaluates % or ^, which match no token, before the token `at`. */
static bool validate_holds(const struct window *window, size_t at, char element)
{
	const struct scan_token *before = &window->tokens[at - 1], *token = &window->tokens[at];

	return element == '%' ? !is_member_or_definition(before) : begins_statement(before, token);
}

static bool validate_fits(struct matching *matching, const struct scan_token *token,
                          const char *element, size_t length)
{
	if (token->kind == SCAN_END || *matching->effort == 0)
		return false;
	--*matching->effort;
	if (*element == '"' || (*element == '\'' && length > 1))
		return fits_string(matching->window, token, element, length);
	if (*element == '~' && length > 1)
		return fits_glob(token, element + 1, length - 1);
	if (!is_element(element, length, "@"))
		return is_one_of(token, element, length);
	if (!matching->same) {
		matching->same = token;
		return token->kind == SCAN_WORD;
	}
	return token->kind == SCAN_WORD && token->length == matching->same->length &&
	       memcmp(token->text, matching->same->text, token->length) == 0;
}

/*
 * Whether the pattern matches from the token `at` on. Backtracking is cheap: patterns are short and
 * have few gaps.
 */
static bool validate_matches(struct matching matching, size_t at, const char *pattern)
{
	const struct window *window = matching.window;

	while (*pattern) {
		size_t length = element_length(pattern);
		bool is_line = is_element(pattern, length, "..."),
		     is_gap = is_line || is_element(pattern, length, "***");
		const char *next = pattern + length + strspn(pattern + length, " ");

		if (is_gap) {
			for (size_t i = at; i <= at + ANY && i < window->count; i++) {
				if (is_line && i > at && window->tokens[i].begins_line)
					return false;
				if (validate_matches(matching, i, next))
					return true;
			}
			return false;
		}
		if (at >= window->count)
			return false;
		if (is_element(pattern, length, "%") || is_element(pattern, length, "^")) {
			if (!validate_holds(window, at, *pattern))
				return false;
		} else if (!validate_fits(&matching, &window->tokens[at++], pattern, length)) {
			return false;
		}
		pattern = next;
	}
	return true;
}

static bool is_found(const struct finding *findings, size_t count, const struct finding_rule *rule)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(findings[i].rule->rule, rule->rule) == 0 &&
		    findings[i].rule->severity >= rule->severity)
			return true;
	}
	return false;
}

/* Collects the bytes with which a token that matches the pattern's first element can begin. */
static void learn_beginning(struct candidate *candidate)
{
	const char *element = candidate->rule->pattern, *end;
	size_t length = element_length(element);

	while (is_element(element, length, "%") || is_element(element, length, "^")) {
		element += length + strspn(element + length, " ");
		length = element_length(element);
	}
	end = element + length;
	if (strchr("\"'~@", *element)) {
		memset(candidate->may_begin, true, sizeof candidate->may_begin);
		return;
	}
	for (const char *one = element; one < end; one++) {
		if (one == element || one[-1] == '|')
			candidate->may_begin[(unsigned char)*one] = true;
	}
}

static bool counts(const struct finding_rule *rule, const char *language)
{
	if (!rule->language || strcmp(rule->language, language) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kin); i++) {
		if (strcmp(kin[i].language, language) == 0 &&
		    strcmp(kin[i].as, rule->language) == 0)
			return true;
	}
	return false;
}

static size_t find_candidates(const char *language, struct candidate candidates[CANDIDATES_MAX])
{
	size_t count = 0;

	for (const struct finding_rule *rule = finding_rules;
	     rule->pattern && count < CANDIDATES_MAX; rule++) {
		if (!counts(rule, language))
			continue;
		candidates[count] = (struct candidate){.rule = rule};
		learn_beginning(&candidates[count++]);
	}
	return count;
}

/* Tries all candidates at the current token. */
static size_t validate_look(const struct matching *matching, const struct candidate *candidates,
                            size_t candidates_count, struct finding *findings, size_t count)
{
	const struct window *window = matching->window;
	const struct scan_token *token = &window->tokens[window->at];
	unsigned char first = token->length > 0 ? (unsigned char)token->text[0] : 0;

	for (size_t i = 0; i < candidates_count && count < FINDINGS_MAX; i++) {
		const struct finding_rule *rule = candidates[i].rule;

		if (candidates[i].may_begin[first] && !is_found(findings, count, rule) &&
		    validate_matches(*matching, window->at, rule->pattern))
			findings[count++] = (struct finding){.rule = rule, .line = token->line};
	}
	return count;
}

/* Moves to the next token. Returns false if there is none. */
static bool advance(struct window *window, struct scan *scan)
{
	window->at++;
	if (window->count - window->at < AHEAD) {
		window->count -= window->at - 2;
		memmove(window->tokens, &window->tokens[window->at - 2],
		        window->count * sizeof window->tokens[0]);
		window->at = 2;
		while (window->count < WINDOW && scan_next(scan, &window->tokens[window->count]))
			window->count++;
	}
	return window->at < window->count;
}

size_t validate(const char *language, const char *code, size_t length,
                struct finding ret_findings[FINDINGS_MAX])
{
	/* Two empty tokens precede the first one. */
	struct window window = {.at = 1, .count = 2, .is_shell = strcmp(language, "bash") == 0};
	struct candidate candidates[CANDIDATES_MAX];
	size_t candidates_count = find_candidates(language, candidates);
	unsigned effort = EFFORT;
	const struct matching matching = {.window = &window, .effort = &effort};
	size_t count = 0;
	struct scan scan;

	scan_begin(&scan, language, code, length);
	while (effort > 0 && advance(&window, &scan))
		count = validate_look(&matching, candidates, candidates_count, ret_findings, count);
	return count;
}
