/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses policy files into libConfuse sections. The administrator wrote the text. Part of
 * yett-policy; runs without privilege, and accesses nothing else.
 *
 * libConfuse accepts some mistakes (unknown characters, an unclosed section, a key that is set
 * twice) and replaces ${NAME} from the environment. This parser refuses all of these. It opens no
 * files, since include() is not available.
 */
#pragma once

#include "programs/decide/policy/settings.h"

/*
 * A value. `over`: the place of the value that this one replaces, in an earlier file; file NULL:
 * none. `is_inherited`: placeholder for the items of the extended profile, in a profile's list that
 * is not set or is appended to with +=. `is_empty`: placeholder for an empty list {}.
 */
struct parse_value {
	const char *key;
	struct policy_place place, over;
	bool is_inherited, is_empty, is_list;
	char text[];
};

/* The sections of all texts in their order. Sections with titles are indexed by title. */
struct parse;

/* Free the result with parse_free(). NULL: no memory. */
struct parse *parse_new(void);

/* Accepts NULL. Also frees all values and sections. */
void parse_free(struct parse *parse);
static inline void parse_freep(struct parse **parse)
{
	parse_free(*parse);
}

/*
 * Parses text[0 … length), which is modified, and adds its sections. Places refer to `file`, which
 * must outlive them. Takes linear time, however many sections there are. In the helper section, a
 * value that is not a list replaces the value from an earlier file. Returns 0, -ENOMEM, or
 * YETT_E_INVALID_REQUEST with "FILE:LINE: what"; after an error, only parse_free() may be called.
 */
_must_check_ int parse_text(struct parse *parse, const char *file, char *text, size_t length,
                            struct yett_error *error);

/* The number of sections of a kind. A kind without titles always has one. */
size_t parse_count(const struct parse *parse, enum settings_section_index kind);
cfg_t *parse_section(const struct parse *parse, enum settings_section_index kind, size_t index);

/* The section with that title; NULL: there is none. */
cfg_t *parse_find(const struct parse *parse, enum settings_section_index kind, const char *title);

/*
 * Like policy_refuse(), for a title that does not exist. Suggests a similar title, if there is one.
 */
_must_check_ int parse_refuse_title(const struct parse *parse, enum settings_section_index kind,
                                    struct policy_place place, const char *title,
                                    struct yett_error *error);

/* Value number `index` of a key; NULL: there are fewer. */
const struct parse_value *parse_value(cfg_t *section, const char *key, unsigned index);

/* Where the section begins. */
struct policy_place parse_place(cfg_t *section);
