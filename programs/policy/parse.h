/*
 * From the text of policy files to libConfuse sections.
 *
 * The text was written by the administrator; it is read in yett-policy, without privilege, and nothing else is touched.
 * libConfuse lets some mistakes pass (unknown characters, a section open at the end, a key set twice) and replaces
 * ${NAME} from the environment: all of that is refused here. It never opens a file: include() is not offered.
 */
#pragma once

#include "programs/policy/settings.h"

/*
 * One value. `is_inherited` stands for the extended profile's items, in a list that was not set, or with +=; `is_empty`
 * for those of {}.
 */
struct parse_value {
	const char *key;
	struct policy_place place;
	bool is_inherited, is_empty;
	char text[];
};

/* An empty root with the sections of settings_sections, for cfg_free(); NULL: no memory. */
cfg_t *parse_new(void);

/*
 * Adds the sections of text[0 … length), which is changed, to `root`. Places keep `file` as it is: it must outlive
 * them. 0, -ENOMEM, or YETT_E_INVALID_REQUEST with "FILE:LINE: what"; then `root` is only good for cfg_free().
 */
_must_check_ int parse_text(cfg_t *root, const char *file, char *text, size_t length, struct yett_error *error);

/* The values of a key of a section; NULL past the last. */
const struct parse_value *parse_value(cfg_t *section, const char *key, unsigned index);

/* Where the section opens. */
struct policy_place parse_place(cfg_t *section);
