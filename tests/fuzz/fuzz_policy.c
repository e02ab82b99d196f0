/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a policy file: it is read or refused with a line, never more than that.
 *
 * Covers the check before libConfuse, libConfuse itself with our callbacks, and the conversion of
 * every key.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/decide/policy/compiled.h"
#include "programs/decide/policy/fill.h"
#include "programs/decide/policy/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(enum settings_section_index index, cfg_t *section, void *object)
{
	struct yett_error error = {0};

	if (fill_section(index, section, object, &error) > 0 && !strchr(error.message, ':'))
		__builtin_trap();
	fill_clear(index, object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	struct yett_error error = {0};
	struct compiled compiled = {0};
	_cleanup_(parse_freep) struct parse *parse = parse_new();
	int r;

	memcpy(text, data, size);
	r = parse_text(parse, "fuzz", text, size, &error);
	if (r > 0 && strncmp(error.message, "fuzz:", 5) != 0)
		__builtin_trap();
	if (r == 0) {
		fill(SETTINGS_HELPER, parse_section(parse, SETTINGS_HELPER, 0), &compiled);
		for (size_t i = 0; i < parse_count(parse, SETTINGS_PROFILE); i++) {
			struct settings_profile profile = {0};

			fill(SETTINGS_PROFILE, parse_section(parse, SETTINGS_PROFILE, i), &profile);
		}
		for (enum settings_section_index kind = SETTINGS_GRANT; kind <= SETTINGS_CEILING;
		     kind++)
			for (size_t i = 0; i < parse_count(parse, kind); i++) {
				struct settings_grant grant = {0};

				fill(kind, parse_section(parse, kind, i), &grant);
			}
	}
	return 0;
}
