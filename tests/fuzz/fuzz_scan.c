/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of any language, the first byte says of which: each token lies in the code, behind the one
 * before, in a line that is not before its; and what is found is of the table, in a line that there
 * is.
 */
#include <stdint.h>
#include <string.h>

#include "agent/runner/languages.h"
#include "agent/runner/scan.h"
#include "agent/runner/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count_lines(const char *code, size_t length)
{
	unsigned lines = 1;

	for (size_t i = 0; i < length; i++)
		lines += code[i] == '\n';
	return lines;
}

static void check_tokens(const char *language, const char *code, size_t length)
{
	const char *before = code;
	struct scan_token token;
	struct scan scan;
	unsigned line = 1;

	scan_begin(&scan, language, code, length);
	while (scan_next(&scan, &token)) {
		if (token.kind == SCAN_END || token.text < before || token.text > code + length ||
		    token.length > (size_t)(code + length - token.text) || token.line < line)
			__builtin_trap();
		before = token.text;
		line = token.line;
	}
	if (token.kind != SCAN_END || line > count_lines(code, length))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct language *language = languages;
	struct finding findings[FINDINGS_MAX];
	size_t count;

	if (size == 0)
		return 0;
	for (uint8_t i = data[0]; i > 0 && language[1].name; i--)
		language++;
	check_tokens(language->name, (const char *)data + 1, size - 1);
	count = validate(language->name, (const char *)data + 1, size - 1, findings);
	if (count > FINDINGS_MAX)
		__builtin_trap();
	for (size_t i = 0; i < count; i++) {
		if (findings[i].rule < finding_rules ||
		    findings[i].line > count_lines((const char *)data + 1, size - 1))
			__builtin_trap();
	}
	return 0;
}
