/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares every key of a policy once. Part of yett-policy; pure except for memory, without
 * privilege. The libConfuse option tables (parse.h), the conversion and the freeing (fill.h), and
 * the checks of single values all follow these tables. check.c, here and in helper/policy/,
 * compares values with the host.
 */
#pragma once

#include "helper/policy/policy.h"

#include <confuse.h>

#define POLICY_NAME_MAX   64
#define SETTINGS_KEYS_MAX 56
#define SETTINGS_LIST_MAX 256                 /* items of one list */
#define SETTINGS_MAX      ((uint64_t)1 << 50) /* the largest size or time */

enum settings_kind {
	SETTINGS_TEXT,    /* char *; checked by `check` if it is set */
	SETTINGS_LIST,    /* struct policy_list; each item is checked by `check` */
	SETTINGS_ALLOW,   /* struct settings_rules */
	SETTINGS_DENY,    /* struct settings_rules */
	SETTINGS_DIRECT,  /* struct settings_rules */
	SETTINGS_PROXY,   /* struct settings_rules with one rule, written as a URL */
	SETTINGS_BOOL,    /* bool */
	SETTINGS_SIZE,    /* uint64_t, bytes */
	SETTINGS_CORE,    /* uint64_t, bytes, or PLAN_CORE_NONE */
	SETTINGS_CPUS,    /* uint64_t, thousandths */
	SETTINGS_LINGER,  /* uint64_t, milliseconds, or POLICY_LINGER_UNLIMITED */
	SETTINGS_TIME,    /* uint64_t, milliseconds */
	SETTINGS_DATE,    /* uint64_t, seconds since 1970 */
	SETTINGS_NUMBER,  /* uint64_t */
	SETTINGS_NUMBER4, /* uint32_t */
	SETTINGS_OCTAL,   /* uint32_t, written in octal */
	SETTINGS_SIGNED,  /* int32_t, from -max to max */
	SETTINGS_CHOICE,  /* uint32_t: the index in `choices` */
	SETTINGS_CHOICES, /* uint32_t: a list; bit n stands for choices[n] */
};

struct settings_key {
	const char *name;
	enum settings_kind kind;
	size_t offset;      /* of the field */
	uint64_t min, max;  /* of numbers */
	bool has_unlimited; /* the word "unlimited" is stored as 0 */
	/* offset of a struct policy_place; 0: the place is not stored */
	size_t place;
	const char *(*check)(const char *); /* returns what is wrong with the text, or NULL */
	const char *const *choices;
	const char *otherwise; /* the item of a list that is not set; NULL: such a list is empty */
};

struct settings_section {
	const char *name;
	cfg_flag_t flags; /* libConfuse's */
	const struct settings_key *keys;
	size_t count;
};

enum settings_section_index {
	SETTINGS_HELPER,
	SETTINGS_PROFILE,
	SETTINGS_GRANT,
	SETTINGS_CEILING,
	SETTINGS_SECTIONS
};
extern const struct settings_section settings_sections[SETTINGS_SECTIONS];

/* Whether the field of this kind is a struct settings_rules. */
bool settings_has_rules(enum settings_kind kind);

/* Whether values of this kind are written as a list. */
bool settings_is_list(enum settings_kind kind);

/*
 * Splits "HEAD[:TAIL]" (as in share_ro or tmpfs) at the first colon. The caller frees both copies.
 * *ret_tail is NULL if there is no colon. Returns 0 or -ENOMEM.
 */
_must_check_ int settings_split(const char *item, char **ret_head, char **ret_tail);

/*
 * Like policy_refuse(), for a word that is none of names[0 … count). Suggests the most similar
 * name.
 */
int settings_refuse(struct policy_place place, const char *text, const char *problem,
                    const char *const *names, size_t count, struct yett_error *error);

/*
 * Checks for [a-z0-9][a-z0-9._-]* with at most POLICY_NAME_MAX bytes. Returns what is wrong, or
 * NULL.
 */
const char *settings_check_name(const char *text);
