/*
 * Any text as a policy file: it is read or refused with a line, never more than that.
 *
 * Covers the check before libConfuse, libConfuse itself with our callbacks, and the conversion of every key.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/policy/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(enum settings_section_index index, cfg_t *section, void *object)
{
	struct yett_error error = {0};

	if (settings_fill(index, section, object, &error) > 0 && !strchr(error.message, ':'))
		__builtin_trap();
	settings_clear(index, object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	struct yett_error error = {0};
	struct policy policy = {0};
	cfg_t *root = parse_new();
	int r;

	memcpy(text, data, size);
	r = parse_text(root, "fuzz", text, size, &error);
	if (r > 0 && strncmp(error.message, "fuzz:", 5) != 0)
		__builtin_trap();
	if (r == 0) {
		fill(SETTINGS_HELPER, cfg_getsec(root, "helper"), &policy);
		for (unsigned i = 0; i < cfg_size(root, "profile"); i++) {
			struct settings_profile profile = {0};

			fill(SETTINGS_PROFILE, cfg_getnsec(root, "profile", i), &profile);
		}
		for (unsigned i = 0; i < cfg_size(root, "grant"); i++) {
			struct settings_grant grant = {0};

			fill(SETTINGS_GRANT, cfg_getnsec(root, "grant", i), &grant);
		}
	}
	(void)cfg_free(root);
	return 0;
}
