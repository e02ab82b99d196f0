/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner. See scan.h.
 *
 * Every function that skips something stays within the code, whatever its content: an unclosed
 * string or comment ends with the code.
 */
#include <ctype.h>
#include <string.h>

#include "agent/runner/scan.h"
#include "base/fd.h"

enum scan_feature {
	SCAN_SHELL_WORDS = 1,    /* words end at blanks and operators */
	SCAN_TRIPLE = 2,         /* """ and ''' begin strings */
	SCAN_TEXT_BLOCK = 4,     /* only """ begins a string */
	SCAN_TEMPLATE = 8,       /* `text ${code} text` */
	SCAN_BACKTICK_RAW = 16,  /* `text` without escapes */
	SCAN_REGEX = 32,         /* a slash that cannot be a division begins a regular expression */
	SCAN_LIFETIME = 64,      /* 'a is a lifetime, not a string */
	SCAN_RAW_HASH = 128,     /* r"…" and r#"…"# */
	SCAN_RAW_PAREN = 256,    /* R"x(…)x" */
	SCAN_LONG_BRACKET = 512, /* [[…]] and [==[…]==], also in comments */
	SCAN_QUOTE_WORDS = 1024, /* Perl's q, qq, qw, qr, m, s, tr, y */
	SCAN_PERCENT = 2048,     /* Ruby's %q and similar */
	SCAN_HEREDOC = 4096,     /* <<WORD */
	SCAN_HEREDOC_3 = 8192,   /* <<<WORD */
	SCAN_NESTED_COMMENT = 16384,
	SCAN_POD = 32768,        /* from a line =WORD to the line =cut */
	SCAN_RUBY_BLOCK = 65536, /* from =begin to =end */
	SCAN_TAGS = 131072,      /* code only between <? and ?> */
	SCAN_SINGLE_RAW = 262144 /* no escapes in '…' */
};

struct scan_style {
	const char *languages[4];
	const char *line_comments[3];
	const char *comment_begin, *comment_end;
	/* Strings end with the quote that begins them, and may contain newlines. */
	const char *quotes;
	unsigned features;
};

static const struct scan_style styles[] = {
	{{"python"}, {"#"}, NULL, NULL, "\"'", SCAN_TRIPLE},
	{{"javascript", "typescript"}, {"//"}, "/*", "*/", "\"'", SCAN_TEMPLATE | SCAN_REGEX},
	{{"bash"}, {"#"}, NULL, NULL, "\"'", SCAN_SHELL_WORDS | SCAN_HEREDOC | SCAN_SINGLE_RAW},
	{{"go"}, {"//"}, "/*", "*/", "\"'", SCAN_BACKTICK_RAW},
	{{"rust"}, {"//"}, "/*", "*/", "\"", SCAN_LIFETIME | SCAN_RAW_HASH | SCAN_NESTED_COMMENT},
	{{"c", "c++"}, {"//"}, "/*", "*/", "\"'", SCAN_RAW_PAREN},
	{{"java"}, {"//"}, "/*", "*/", "\"'", SCAN_TEXT_BLOCK},
	{{"ruby"},
         {"#"},
         NULL,
         NULL,
         "\"'`",
         SCAN_HEREDOC | SCAN_PERCENT | SCAN_REGEX | SCAN_RUBY_BLOCK},
	{{"perl"},
         {"#"},
         NULL,
         NULL,
         "\"'`",
         SCAN_HEREDOC | SCAN_QUOTE_WORDS | SCAN_REGEX | SCAN_POD},
	{{"php"}, {"//", "#"}, "/*", "*/", "\"'`", SCAN_HEREDOC_3 | SCAN_TAGS},
	{{"lua"}, {"--"}, NULL, NULL, "\"'", SCAN_LONG_BRACKET},
};
static const struct scan_style no_style = {{NULL}, {NULL}, NULL, NULL, "", 0};

/* Words that a regular expression may follow, although they look like values. */
static const char *const before_regex[] = {"return", "typeof", "case", "in",     "of",    "delete",
                                           "void",   "throw",  "new",  "do",     "else",  "and",
                                           "or",     "not",    "if",   "unless", "while", "until",
                                           "when",   "split",  "grep", "x",      "yield", "await"};

static bool scan_has(const struct scan *scan, enum scan_feature feature)
{
	return (scan->style->features & (unsigned)feature) != 0;
}

static bool starts(const struct scan *scan, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static char peek(const struct scan *scan, size_t offset)
{
	return (size_t)(scan->end - scan->at) > offset ? scan->at[offset] : '\0';
}

static void scan_step(struct scan *scan, size_t count)
{
	for (; count > 0 && scan->at < scan->end; count--) {
		if (*scan->at++ == '\n')
			scan->line++;
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static void skip_line(struct scan *scan)
{
	while (scan->at < scan->end && *scan->at != '\n')
		scan->at++;
}

/* --- comments --------------------------------------------------------------------------------- */

/*
 * Recognizes [[ or [==[ at `offset`. Returns its length in bytes, and in `*ret_level` the number of
 * =. 0: not found.
 */
static size_t long_bracket(const struct scan *scan, size_t offset, size_t *ret_level)
{
	size_t level = 0;

	if (peek(scan, offset) != '[')
		return 0;
	while (peek(scan, offset + 1 + level) == '=')
		level++;
	if (peek(scan, offset + 1 + level) != '[')
		return 0;
	*ret_level = level;
	return level + 2;
}

static void skip_long_bracket(struct scan *scan, size_t level)
{
	for (; scan->at < scan->end; scan_step(scan, 1)) {
		size_t i = 1;

		if (*scan->at != ']')
			continue;
		while (i <= level && peek(scan, i) == '=')
			i++;
		if (i == level + 1 && peek(scan, i) == ']') {
			scan_step(scan, level + 2);
			return;
		}
	}
}

static void skip_block(struct scan *scan)
{
	unsigned depth = 1;

	scan_step(scan, strlen(scan->style->comment_begin));
	while (depth > 0 && scan->at < scan->end) {
		if (scan_has(scan, SCAN_NESTED_COMMENT) &&
		    starts(scan, scan->style->comment_begin)) {
			depth++;
			scan_step(scan, 2);
		} else if (starts(scan, scan->style->comment_end)) {
			depth--;
			scan_step(scan, 2);
		} else {
			scan_step(scan, 1);
		}
	}
}

/* Skips from a line that begins with =WORD to the one that begins with `end`. */
static void scan_skip_lines(struct scan *scan, const char *end)
{
	do {
		skip_line(scan);
		scan_step(scan, 1);
	} while (scan->at < scan->end && !starts(scan, end));
	skip_line(scan);
}

static bool at_line_begin(const struct scan *scan)
{
	return scan->at == scan->code || scan->at[-1] == '\n';
}

static bool skip_comment(struct scan *scan)
{
	const struct scan_style *style = scan->style;
	size_t level, length;

	if (scan_has(scan, SCAN_LONG_BRACKET) && starts(scan, "--") &&
	    (length = long_bracket(scan, 2, &level)) > 0) {
		scan_step(scan, 2 + length);
		skip_long_bracket(scan, level);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(style->line_comments) && style->line_comments[i]; i++) {
		/* In shells, the # in $# and x#y begins no comment. */
		if (!starts(scan, style->line_comments[i]) ||
		    (scan_has(scan, SCAN_SHELL_WORDS) && !scan->after_blank))
			continue;
		/* The same for $# in Perl. In PHP, a line comment also ends before ?>. */
		if (scan_has(scan, SCAN_QUOTE_WORDS) && scan_is(&scan->last, "$") &&
		    !scan->after_blank)
			continue;
		while (scan->at < scan->end && *scan->at != '\n' &&
		       !(scan_has(scan, SCAN_TAGS) && starts(scan, "?>")))
			scan->at++;
		return true;
	}
	if (style->comment_begin && starts(scan, style->comment_begin)) {
		skip_block(scan);
		return true;
	}
	if (at_line_begin(scan) && ((scan_has(scan, SCAN_POD) && *scan->at == '=' &&
	                             isalpha((unsigned char)peek(scan, 1))) ||
	                            (scan_has(scan, SCAN_RUBY_BLOCK) && starts(scan, "=begin")))) {
		scan_skip_lines(scan, scan_has(scan, SCAN_POD) ? "=cut" : "=end");
		return true;
	}
	return false;
}

/* Skips the here-documents that begin after the current line. */
static void skip_heredocs(struct scan *scan)
{
	for (size_t i = 0; i < scan->heredocs_count; i++) {
		const struct scan_heredoc *doc = &scan->heredocs[i];

		while (scan->at < scan->end) {
			const char *line = scan->at, *end;

			skip_line(scan);
			end = scan->at;
			scan_step(scan, 1);
			while (doc->is_indented && line < end && (*line == ' ' || *line == '\t'))
				line++;
			if ((size_t)(end - line) >= doc->length &&
			    memcmp(line, doc->word, doc->length) == 0 &&
			    (line + doc->length == end || !is_word(line[doc->length])))
				break;
		}
	}
	scan->heredocs_count = 0;
}

static void scan_skip_blanks(struct scan *scan)
{
	for (; scan->at < scan->end; scan->after_blank = true) {
		if (*scan->at == '\n') {
			scan_step(scan, 1);
			scan->begins_line = true;
			skip_heredocs(scan);
		} else if (isspace((unsigned char)*scan->at)) {
			scan_step(scan, 1);
		} else if (*scan->at == '\\' && peek(scan, 1) == '\n') {
			scan_step(scan, 2);
		} else if (!skip_comment(scan)) {
			return;
		}
	}
}

/* --- strings ---------------------------------------------------------------------------------- */

static void set_string(struct scan_token *token, const char *from, const char *to)
{
	token->kind = SCAN_STRING;
	token->text = from;
	token->length = to > from ? (size_t)(to - from) : 0;
}

/* Reads a string that begins after `skip` bytes and ends before `end`. */
static void take_string(struct scan *scan, size_t skip, const char *end, bool has_escapes,
                        struct scan_token *token)
{
	const char *from;

	scan_step(scan, skip);
	from = scan->at;
	while (scan->at < scan->end && !starts(scan, end))
		scan_step(scan, has_escapes && *scan->at == '\\' ? 2 : 1);
	set_string(token, from, scan->at);
	scan_step(scan, strlen(end));
}

/* Reads from an opening delimiter to its closing one; brackets nest. */
static void take_delimited(struct scan *scan, struct scan_token *token)
{
	static const char pairs[] = "()[]{}<>";
	char open = peek(scan, 0), close = open;
	const char *pair = open ? strchr(pairs, open) : NULL, *from;
	unsigned depth = 1;

	if (pair && (pair - pairs) % 2 == 0)
		close = pair[1];
	scan_step(scan, 1);
	for (from = scan->at; scan->at < scan->end; scan_step(scan, 1)) {
		if (*scan->at == '\\')
			scan_step(scan, 1);
		else if (*scan->at == close && --depth == 0)
			break;
		else if (*scan->at == open)
			depth++;
	}
	set_string(token, from, scan->at);
	scan_step(scan, 1);
}

/*
 * Reads a part of a template string, up to its end or to the next ${ expression, which is scanned
 * as code.
 */
static void take_template(struct scan *scan, size_t skip, struct scan_token *token)
{
	const char *from;

	scan_step(scan, skip);
	from = scan->at;
	while (scan->at < scan->end && *scan->at != '`' &&
	       !(starts(scan, "${") && scan->nested < SCAN_NESTED))
		scan_step(scan, *scan->at == '\\' ? 2 : 1);
	set_string(token, from, scan->at);
	if (starts(scan, "${")) {
		scan->braces[scan->nested++] = 0;
		scan_step(scan, 2);
	} else {
		scan_step(scan, 1);
	}
}

static bool take_raw(struct scan *scan, struct scan_token *token)
{
	char end[40] = {0};
	size_t hashes = 0, i = 0;

	if (scan_has(scan, SCAN_RAW_HASH) && (peek(scan, 0) == 'r' || starts(scan, "br"))) {
		size_t at = peek(scan, 0) == 'r' ? 1 : 2;

		while (peek(scan, at + hashes) == '#' && hashes < sizeof end - 2)
			hashes++;
		if (peek(scan, at + hashes) != '"')
			return false;
		end[0] = '"';
		memset(end + 1, '#', hashes);
		take_string(scan, at + hashes + 1, end, false, token);
		return true;
	}
	if (!scan_has(scan, SCAN_RAW_PAREN) || !starts(scan, "R\""))
		return false;
	end[i++] = ')';
	while (peek(scan, i + 1) != '(' && peek(scan, i + 1) != '\0' && i < 17) {
		end[i] = peek(scan, i + 1);
		i++;
	}
	if (peek(scan, i + 1) != '(')
		return false;
	end[i] = '"';
	take_string(scan, i + 2, end, false, token);
	return true;
}

static bool take_quoted(struct scan *scan, struct scan_token *token)
{
	char quote[4] = {peek(scan, 0), 0, 0, 0};
	bool may_be_triple =
		scan_has(scan, SCAN_TRIPLE) || (scan_has(scan, SCAN_TEXT_BLOCK) && quote[0] == '"');

	if (!quote[0] || !strchr(scan->style->quotes, quote[0]))
		return false;
	if (may_be_triple && peek(scan, 1) == quote[0] && peek(scan, 2) == quote[0]) {
		quote[1] = quote[2] = quote[0];
		take_string(scan, 3, quote, true, token);
		return true;
	}
	take_string(scan, 1, quote, !(scan_has(scan, SCAN_SINGLE_RAW) && quote[0] == '\''), token);
	return true;
}

/* Whether the last token cannot end a value, so that a slash cannot be a division. */
static bool may_be_regex(const struct scan *scan)
{
	const struct scan_token *last = &scan->last;

	if (last->kind == SCAN_END)
		return true;
	if (last->kind == SCAN_STRING)
		return false;
	if (last->kind == SCAN_MARK)
		return !memchr(")]}", last->text[0], 3);
	for (size_t i = 0; i < ARRAY_SIZE(before_regex); i++) {
		if (scan_is(last, before_regex[i]))
			return true;
	}
	return false;
}

/* A regular expression must end in its line; otherwise the slash is a mark. */
static bool take_regex(struct scan *scan, struct scan_token *token)
{
	bool in_class = false;

	if (!scan_has(scan, SCAN_REGEX) || peek(scan, 0) != '/' || !may_be_regex(scan))
		return false;
	for (const char *p = scan->at + 1; p < scan->end && *p != '\n'; p++) {
		if (*p == '\\') {
			p++;
		} else if (*p == '[' || *p == ']') {
			in_class = *p == '[';
		} else if (*p == '/' && !in_class) {
			set_string(token, scan->at + 1, p);
			scan->at = p + 1;
			return true;
		}
	}
	return false;
}

/* Reads q(…), s{…}{…}, tr/…/…/: a Perl quote operator with its delimiters. */
static bool take_quote_word(struct scan *scan, struct scan_token *token)
{
	static const struct {
		const char *word;
		bool has_two;
	} words[] = {{"qq", false}, {"qw", false}, {"qr", false}, {"q", false},
	             {"m", false},  {"s", true},   {"tr", true},  {"y", true}};
	bool is_name = scan->last.kind == SCAN_MARK && memchr("$@%&>", scan->last.text[0], 5) &&
	               !scan->after_blank;

	if (!scan_has(scan, SCAN_QUOTE_WORDS) || is_name)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t length = strlen(words[i].word);
		char next = peek(scan, length);

		if (!starts(scan, words[i].word) || !next || !strchr("([{</|!~#", next) ||
		    (next == '#' && words[i].has_two))
			continue;
		scan_step(scan, length);
		take_delimited(scan, token);
		if (!words[i].has_two)
			return true;
		if (!strchr("([{<", next))
			/* The same delimiter ends the first part and begins the second. */
			scan->at--;
		else
			scan_skip_blanks(scan);
		if (scan->at < scan->end)
			take_delimited(scan, &(struct scan_token){0});
		return true;
	}
	return false;
}

static bool take_percent(struct scan *scan, struct scan_token *token)
{
	size_t skip = peek(scan, 1) && strchr("qQwWiIrxs", peek(scan, 1)) ? 2 : 1;
	char open = peek(scan, skip);

	if (!scan_has(scan, SCAN_PERCENT) || peek(scan, 0) != '%' || !open ||
	    !strchr("([{<|!", open))
		return false;
	if (skip == 1 && !may_be_regex(scan))
		return false;
	scan_step(scan, skip);
	take_delimited(scan, token);
	return true;
}

/* Recognizes the beginning of a here-document, whose text begins in the next line. */
static bool take_heredoc(struct scan *scan, struct scan_token *token)
{
	bool is_php = scan_has(scan, SCAN_HEREDOC_3), is_shell = scan_has(scan, SCAN_SHELL_WORDS),
	     is_indented = is_php;
	size_t at = is_php ? 3 : 2, length = 0;
	char quote = '\0';

	if (!(is_php ? starts(scan, "<<<")
	             : scan_has(scan, SCAN_HEREDOC) && starts(scan, "<<") && !starts(scan, "<<<")))
		return false;
	if (peek(scan, at) == '-' || peek(scan, at) == '~') {
		is_indented = true;
		at++;
	}
	while ((is_shell || is_php) && peek(scan, at) == ' ')
		at++;
	if (peek(scan, at) == '\'' || peek(scan, at) == '"')
		quote = peek(scan, at++);
	while (is_word(peek(scan, at + length)))
		length++;
	/* Outside of shells and PHP, 1 << x is a shift: require an upper-case or quoted word. */
	if (length == 0 || (quote && peek(scan, at + length) != quote) ||
	    (!is_shell && !quote && !is_php && !isupper((unsigned char)peek(scan, at))) ||
	    scan->heredocs_count == SCAN_HEREDOCS)
		return false;
	scan->heredocs[scan->heredocs_count++] =
		(struct scan_heredoc){scan->at + at, length, is_indented};
	set_string(token, scan->at + at, scan->at + at);
	scan_step(scan, at + length + (quote ? 1 : 0));
	return true;
}

static bool take_string_of_style(struct scan *scan, struct scan_token *token)
{
	size_t level, length;

	if (take_raw(scan, token) || take_heredoc(scan, token) || take_quote_word(scan, token))
		return true;
	if (scan_has(scan, SCAN_LIFETIME) && peek(scan, 0) == '\'') {
		/* 'x' and '\n' are characters; 'a without a closing quote is a lifetime. */
		if (peek(scan, 1) != '\\' && peek(scan, 2) != '\'' &&
		    (unsigned char)peek(scan, 1) < 0x80)
			return false;
		take_string(scan, 1, "'", true, token);
		return true;
	}
	if (take_quoted(scan, token) || take_regex(scan, token) || take_percent(scan, token))
		return true;
	if (peek(scan, 0) == '`' && scan_has(scan, SCAN_TEMPLATE)) {
		take_template(scan, 1, token);
		return true;
	}
	if (peek(scan, 0) == '`' && scan_has(scan, SCAN_BACKTICK_RAW)) {
		take_string(scan, 1, "`", false, token);
		return true;
	}
	if (scan_has(scan, SCAN_LONG_BRACKET) && (length = long_bracket(scan, 0, &level)) > 0) {
		const char *from = scan->at + length;

		scan_step(scan, length);
		skip_long_bracket(scan, level);
		set_string(token, from, scan->at);
		return true;
	}
	return false;
}

/* --- words ------------------------------------------------------------------------------------ */

static bool ends_shell_word(char c)
{
	return isspace((unsigned char)c) || memchr("|&;()<>{}\"'`", c, 12) != NULL;
}

static void take_word(struct scan *scan, struct scan_token *token)
{
	bool is_shell = scan_has(scan, SCAN_SHELL_WORDS);
	const char *from = scan->at;

	if (is_shell) {
		while (scan->at < scan->end &&
		       (!ends_shell_word(*scan->at) ||
		        (*scan->at == '{' && scan->at > from && scan->at[-1] == '$')))
			scan_step(scan, *scan->at == '\\' ? 2 : 1);
	} else {
		while (scan->at < scan->end && is_word(*scan->at))
			scan->at++;
	}
	token->kind = SCAN_WORD;
	if (scan->at == from) {
		token->kind = SCAN_MARK;
		scan_step(scan, 1);
	}
	token->text = from;
	token->length = (size_t)(scan->at - from);
}

/* Counts braces in a template's expression. Returns true for the brace that ends the expression. */
static bool ends_expression(struct scan *scan)
{
	unsigned *open;

	if (scan->nested == 0)
		return false;
	open = &scan->braces[scan->nested - 1];
	if (peek(scan, 0) == '{')
		++*open;
	else if (peek(scan, 0) == '}' && (*open)-- == 0)
		return true;
	return false;
}

static void scan_skip_text(struct scan *scan)
{
	while (scan->at < scan->end && !starts(scan, "<?"))
		scan_step(scan, 1);
	scan_step(scan, 2);
	if (starts(scan, "php") || starts(scan, "PHP"))
		scan_step(scan, 3);
	else if (starts(scan, "="))
		scan_step(scan, 1);
	scan->is_text = false;
}

void scan_begin(struct scan *scan, const char *language, const char *code, size_t length)
{
	*scan = (struct scan){.style = &no_style,
	                      .at = code,
	                      .end = code + length,
	                      .code = code,
	                      .line = 1,
	                      .begins_line = true,
	                      .after_blank = true};
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(styles[i].languages) && styles[i].languages[j];
		     j++) {
			if (strcmp(styles[i].languages[j], language) == 0)
				scan->style = &styles[i];
		}
	}
	if (starts(scan, "#!"))
		skip_line(scan);
	scan->is_text = scan_has(scan, SCAN_TAGS) && memmem(code, length, "<?", 2) != NULL;
}

bool scan_next(struct scan *scan, struct scan_token *ret_token)
{
	*ret_token = (struct scan_token){.kind = SCAN_END, .text = scan->end, .line = scan->line};
	while (scan->at < scan->end) {
		if (scan->is_text)
			scan_skip_text(scan);
		scan_skip_blanks(scan);
		if (!scan_has(scan, SCAN_TAGS) || !starts(scan, "?>"))
			break;
		scan->is_text = true;
	}
	if (scan->at >= scan->end)
		return false;
	ret_token->line = scan->line;
	ret_token->begins_line = scan->begins_line;
	ret_token->after_blank = scan->after_blank;
	if (ends_expression(scan)) {
		scan->nested--;
		take_template(scan, 1, ret_token);
	} else if (!take_string_of_style(scan, ret_token)) {
		take_word(scan, ret_token);
	}
	scan->begins_line = scan->after_blank = false;
	scan->last = *ret_token;
	return true;
}

bool scan_is(const struct scan_token *token, const char *text)
{
	return (token->kind == SCAN_WORD || token->kind == SCAN_MARK) &&
	       strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}
