/*
 * From the text of policy files to libConfuse sections.
 *
 * The text was written by the administrator; it is read in yett-policy, without privilege, and
 * nothing else is touched. libConfuse lets some mistakes pass (unknown characters, a section open
 * at the end, a key set twice) and replaces
 * ${NAME} from the environment: all of that is refused here. It never opens a file: include() is
 * not offered.
 */
#pragma once

#include "programs/policy/settings.h"

/*
 * One value. `over` is where the one stands that it replaces, in a file that was read before; file
 * NULL: none. `is_inherited` stands for the extended profile's items, in a list of a profile that
 * was not set, or with +=; `is_empty` for those of {}.
 */
struct parse_value {
	const char *key;
	struct policy_place place, over;
	bool is_inherited, is_empty, is_list;
	char text[];
};

/* The sections of every text that was read, in the order in which they stand. Each kind that has
 * titles is indexed by them. */
struct parse;

/* For parse_free(); NULL: no memory. */
struct parse *parse_new(void);

/* Takes NULL. Values, sections and their texts go with it. */
void parse_free(struct parse *parse);
static inline void parse_freep(struct parse **parse)
{
	parse_free(*parse);
}

/*
 * Adds the sections of text[0 … length), which is changed. Places keep `file` as it is: it must
 * outlive them. In time that grows with the text, however many sections there are. A value of the
 * section helper that is no list replaces that of a file before. 0, -ENOMEM, or
 * YETT_E_INVALID_REQUEST with "FILE:LINE: what"; then `parse` is only good for parse_free().
 */
_must_check_ int parse_text(struct parse *parse, const char *file, char *text, size_t length,
                            struct yett_error *error);

/* How many sections of a kind there are; of one without titles always one. */
size_t parse_count(const struct parse *parse, enum settings_section_index kind);
cfg_t *parse_section(const struct parse *parse, enum settings_section_index kind, size_t index);

/* The section of that title; NULL: there is none. */
cfg_t *parse_find(const struct parse *parse, enum settings_section_index kind, const char *title);

/* As policy_refuse(): there is no section of that title, but perhaps one that is meant. */
_must_check_ int parse_refuse_title(const struct parse *parse, enum settings_section_index kind,
                                    struct policy_place place, const char *title,
                                    struct yett_error *error);

/* The values of a key of a section; NULL past the last. */
const struct parse_value *parse_value(cfg_t *section, const char *key, unsigned index);

/* Where the section opens. */
struct policy_place parse_place(cfg_t *section);
