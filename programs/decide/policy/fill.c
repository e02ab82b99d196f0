/* SPDX-License-Identifier: Apache-2.0 */
/* See fill.h. */
#include "programs/decide/policy/fill.h"
#include "base/date.h"
#include "base/net_idn.h"
#include "base/net_list.h"
#include "base/net_rule_parse.h"
#include "base/units_parse.h"
#include "programs/decide/policy/compiled.h"
#include "programs/decide/policy/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_octal(const char *text, uint64_t *ret_number)
{
	if (!*text || strlen(text) > 4 || text[strspn(text, "01234567")])
		return -EINVAL;
	*ret_number = strtoul(text, NULL, 8);
	return 0;
}

static int parse_bool(const char *text, uint64_t *ret_number)
{
	int value = cfg_parse_boolean(text);

	if (value < 0)
		return -EINVAL;
	*ret_number = (uint64_t)value;
	return 0;
}

/* Elsewhere 0 means no limit. For linger_max, 0 means "not at all", which is also the default. */
static int parse_linger(const char *text, uint64_t *ret_number)
{
	int r = 0;

	*ret_number = POLICY_LINGER_UNLIMITED;
	if (strcmp(text, "unlimited") != 0)
		r = units_parse_duration(text, ret_number);
	return r == 0 && *ret_number > SETTINGS_MAX && *ret_number != POLICY_LINGER_UNLIMITED
	               ? -ERANGE
	               : r;
}

/* How number kinds are parsed and stored. */
static const struct {
	int (*parse)(const char *text, uint64_t *ret_number);
	const char *wanted;
	size_t size;
} numbers[] = {
	[SETTINGS_BOOL] = {parse_bool, "is not true or false", sizeof(bool)},
	[SETTINGS_SIZE] = {units_parse_size, "is not a size such as 64M or 2G", 8},
	[SETTINGS_CORE] = {units_parse_core,
                           "is not none, nor a size of at least 4K such as 64M or 2G", 8},
	[SETTINGS_CPUS] = {units_parse_cpus, "is not a number such as 2 or 1.5", 8},
	[SETTINGS_LINGER] = {parse_linger, "is not a time such as 30m or 12h, or unlimited", 8},
	[SETTINGS_DATE] = {date_parse, "is not a date such as 2026-12-31 or 2026-12-31T18:00:00Z",
                           8},
	[SETTINGS_TIME] = {units_parse_duration, "is not a time such as 30s or 10m, or unlimited",
                           8},
	[SETTINGS_NUMBER] = {units_parse_number, "is not a whole number", 8},
	[SETTINGS_NUMBER4] = {units_parse_number, "is not a whole number", 4},
	[SETTINGS_OCTAL] = {parse_octal, "is not an octal number such as 022, or caller", 4},
	[SETTINGS_SIGNED] = {units_parse_number, "is not a whole number", 4},
};

/* Returns what is wrong with the text, or NULL. So do the functions below that return text. */
static const char *set_number(const struct settings_key *key, const char *text, void *field)
{
	bool is_negative = key->kind == SETTINGS_SIGNED && *text == '-';
	uint64_t number = 0;

	if (key->kind == SETTINGS_OCTAL && strcmp(text, "caller") == 0) {
		number = PLAN_UMASK_CALLER;
	} else if (!key->has_unlimited || strcmp(text, "unlimited") != 0) {
		if (numbers[key->kind].parse(text + is_negative, &number) < 0)
			return numbers[key->kind].wanted;
		if (number < key->min || (key->max && number > key->max))
			return number < key->min ? "is too small" : "is too large";
	}
	number = is_negative ? -number : number;
	if (numbers[key->kind].size == sizeof(uint64_t))
		*(uint64_t *)field = number;
	else if (numbers[key->kind].size == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)number;
	else
		*(bool *)field = number;
	return NULL;
}

static int set_choice(const struct settings_key *key, const struct parse_value *value,
                      uint32_t *field, struct yett_error *error)
{
	char problem[160];
	uint32_t index = 0;
	size_t used = 0;

	while (key->choices[index] && strcmp(key->choices[index], value->text) != 0)
		index++;
	*field = index;
	if (key->choices[index])
		return 0;
	for (uint32_t i = 0; i < index; i++)
		used += (size_t)snprintf(problem + used, sizeof problem - used, "%s%s",
		                         i == 0           ? "is not "
		                         : i + 1 == index ? " or "
		                                          : ", ",
		                         key->choices[i]);
	return settings_refuse(value->place, value->text, problem, key->choices, index, error);
}

static int set_choices(const struct settings_key *key, cfg_t *section, void *object,
                       struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;
	uint32_t *field = (uint32_t *)((char *)object + key->offset), index = 0;
	int r = 0;

	*field = first ? *field : 0;
	for (unsigned i = first; r == 0 && (value = parse_value(section, key->name, i)); i++) {
		if (value->is_empty)
			continue;
		r = set_choice(key, value, &index, error);
		*field |= UINT32_C(1) << index;
		*(struct policy_place *)((char *)object + key->place) = value->place;
	}
	return r;
}

static const char *set_text(const struct settings_key *key, const char *text, char **field)
{
	const char *problem = key->check ? key->check(text) : NULL;
	char *copy = problem ? NULL : strdup(text);

	if (!copy)
		return problem ? problem : "does not fit into memory";
	free(*field);
	*field = copy;
	return NULL;
}

void fill_clear_list(struct policy_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	free(list->places);
	*list = (struct policy_list){0};
}

static const char *list_add(const struct settings_key *key, const char *text,
                            struct policy_place place, struct policy_list *list)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof *items);
	struct policy_place *places = reallocarray(list->places, list->count + 1, sizeof *places);
	const char *problem;

	list->items = items ? items : list->items;
	list->places = places ? places : list->places;
	if (!items || !places)
		return "does not fit into memory";
	if (list->count == SETTINGS_LIST_MAX)
		return "is one item too many";
	items[list->count] = NULL;
	problem = set_text(key, text, &items[list->count]);
	if (!problem)
		places[list->count++] = place;
	return problem;
}

static int fill_set_list(const struct settings_key *key, cfg_t *section, struct policy_list *list,
                         struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;

	if (!first)
		fill_clear_list(list);
	for (unsigned i = first; (value = parse_value(section, key->name, i)); i++) {
		const char *problem =
			value->is_empty ? NULL : list_add(key, value->text, value->place, list);

		if (problem)
			return policy_refuse(value->place, value->text, problem, error);
	}
	if (key->otherwise && !parse_value(section, key->name, first) &&
	    list_add(key, key->otherwise, parse_place(section), list))
		return -ENOMEM;
	list->place = list->count ? list->places[0] : parse_place(section);
	value = parse_value(section, key->name, first);
	if (key->place && value)
		*(struct policy_place *)((char *)list - key->offset + key->place) = value->place;
	return 0;
}

static void rules_clear(struct settings_rules *rules)
{
	free(rules->list);
	free(rules->places);
	*rules = (struct settings_rules){0};
}

/* Makes room for one more rule and its place. */
static int rules_grow(struct settings_rules *rules, size_t count, size_t size)
{
	size_t used = rules->list ? rules->list->size : sizeof *rules->list;
	size_t room = used + size <= rules->room ? rules->room : 2 * (used + size);
	struct net_list *list = room > rules->room ? realloc(rules->list, room) : rules->list;
	/* The capacity is always a power of two. */
	const bool is_full = (count & (count - 1)) == 0;
	struct policy_place *places =
		is_full ? reallocarray(rules->places, count ? 2 * count : 1, sizeof *places)
			: rules->places;

	if (list && !rules->list)
		net_list_begin(list);
	rules->list = list ? list : rules->list;
	rules->places = places ? places : rules->places;
	if (!list || !places)
		return -ENOMEM;
	rules->room = room;
	return 0;
}

static int rules_add(enum net_list_kind kind, const struct net_rule *rule,
                     struct policy_place place, struct settings_rules *rules)
{
	size_t count = rules->list ? rules->list->count[kind] : 0, size = net_list_measure(rule);
	int r = count < POLICY_RULES_MAX ? rules_grow(rules, count, size) : -E2BIG;

	if (r < 0)
		return r;
	if (rules->list->size + size > POLICY_RULES_SIZE_MAX)
		return -E2BIG;
	rules->places[count] = place;
	return net_list_add(rules->list, rules->room, kind, rule, (uint32_t)count);
}

/* Adds "FILE:LINE: " to an error without a place. Keeps the hint. */
static int refuse_at(struct policy_place place, struct yett_error *error)
{
	struct yett_error what = *error;

	(void)error_set(error, YETT_E_INVALID_REQUEST, 0, "%s:%u: %s", place.file, place.line,
	                what.message);
	error_mend(error, "%s", what.mend);
	return YETT_E_INVALID_REQUEST;
}

/*
 * Returns the part of the value that is a rule: for a proxy, the text after the scheme. Returns
 * NULL with `error` set if the value is wrong.
 */
static const char *rule_text(enum net_list_kind kind, const struct parse_value *value,
                             char text[NET_RULE_TEXT_SIZE], struct yett_error *error)
{
	static const char scheme[] = "http://";
	/* The value may contain a password, so no message may show it. */
	bool has_user = strchr(value->text, '@');
	size_t length;

	if (kind != NET_LIST_PROXY)
		return value->text;
	if (has_user || strncmp(value->text, scheme, sizeof scheme - 1) != 0) {
		(void)policy_refuse(
			value->place, has_user ? "network_proxy" : value->text,
			has_user ? "has a name or a password in it, and Yett sends none to a proxy"
				 : "is not http://HOST:PORT",
			error);
		return NULL;
	}
	/* A text that is cut here is too long for a rule. */
	length = (size_t)snprintf(text, NET_RULE_TEXT_SIZE, "%s", value->text + sizeof scheme - 1);
	if (length > 0 && length < NET_RULE_TEXT_SIZE && text[length - 1] == '/')
		text[length - 1] = '\0';
	return text;
}

/* Whether the rule is one name or one address, with one port. */
static bool is_place(const struct net_rule *rule)
{
	return rule->port_first == rule->port_last && !rule->is_bound &&
	       (rule->kind == NET_RULE_NAME ||
	        (rule->kind == NET_RULE_ADDRESS && rule->prefix == NET_ADDRESS_PREFIX_MAX));
}

static int fill_add_rule(enum net_list_kind kind, const struct parse_value *value,
                         struct settings_rules *rules, struct yett_error *error)
{
	char proxy[NET_RULE_TEXT_SIZE];
	_cleanup_free_ char *text = NULL;
	struct net_rule rule;
	const char *written = rule_text(kind, value, proxy, error);
	int r = written ? net_idn_rule(written, &text, error) : 0;

	if (!written)
		return YETT_E_INVALID_REQUEST;
	if (r == 0)
		r = net_rule_parse(text, &rule, error);
	if (r == 0 && kind == NET_LIST_PROXY && !is_place(&rule))
		return policy_refuse(value->place, value->text, "is not http://HOST:PORT", error);
	if (r == 0 && kind == NET_LIST_ALLOW && net_rule_allows_nothing(&rule)) {
		r = policy_refuse(
			value->place, value->text,
			"allows nothing: no sandbox reaches link-local, cloud metadata or non-host addresses",
			error);
		error_mend(error, "leave it out");
		return r;
	}
	if (r != 0)
		return r > 0 ? refuse_at(value->place, error) : r;
	r = rules_add(kind, &rule, value->place, rules);
	return r == -E2BIG
	               ? policy_refuse(
				 value->place, value->text,
				 "is one rule too many: a list has up to 5000, and 640 KiB of them",
				 error)
	               : r;
}

/* Indexed by kind - SETTINGS_ALLOW. */
static const enum net_list_kind lists_of_rules[] = {NET_LIST_ALLOW, NET_LIST_DENY, NET_LIST_DIRECT,
                                                    NET_LIST_PROXY};

static int set_rules(const struct settings_key *key, cfg_t *section, struct settings_rules *rules,
                     struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	unsigned first = value && value->is_inherited;
	int r = 0;

	if (!first)
		rules_clear(rules);
	for (unsigned i = first; r == 0 && (value = parse_value(section, key->name, i)); i++)
		if (!value->is_empty)
			r = fill_add_rule(lists_of_rules[key->kind - SETTINGS_ALLOW], value, rules,
			                  error);
	value = parse_value(section, key->name, first);
	if (key->place && value)
		*(struct policy_place *)((char *)rules - key->offset + key->place) = value->place;
	return r;
}

static int set_scalar(const struct settings_key *key, cfg_t *section, void *object,
                      struct yett_error *error)
{
	const struct parse_value *value = parse_value(section, key->name, 0);
	void *field = (char *)object + key->offset;
	const char *problem = NULL;
	int r = 0;

	if (!value)
		return 0;
	if (value->is_empty)
		problem = "is a list where one value is expected";
	else if (key->kind == SETTINGS_TEXT)
		problem = set_text(key, value->text, field);
	else if (key->kind == SETTINGS_CHOICE)
		r = set_choice(key, value, field, error);
	else
		problem = set_number(key, value->text, field);
	if (problem)
		r = policy_refuse(value->place, value->text, problem, error);
	if (r != 0)
		return r;
	if (key->place)
		*(struct policy_place *)((char *)object + key->place) = value->place;
	return 0;
}

int fill_section(enum settings_section_index index, cfg_t *section, void *object,
                 struct yett_error *error)
{
	const struct settings_section *table = &settings_sections[index];
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const struct settings_key *key = &table->keys[i];

		if (key->kind == SETTINGS_LIST)
			r = fill_set_list(key, section, (void *)((char *)object + key->offset),
			                  error);
		else if (key->kind == SETTINGS_CHOICES)
			r = set_choices(key, section, object, error);
		else if (settings_has_rules(key->kind))
			r = set_rules(key, section, (void *)((char *)object + key->offset), error);
		else
			r = set_scalar(key, section, object, error);
	}
	return r;
}

void fill_clear(enum settings_section_index index, void *object)
{
	const struct settings_section *table = &settings_sections[index];

	for (size_t i = 0; i < table->count; i++) {
		void *field = (char *)object + table->keys[i].offset;

		if (table->keys[i].kind == SETTINGS_LIST)
			fill_clear_list(field);
		else if (settings_has_rules(table->keys[i].kind))
			rules_clear(field);
		else if (table->keys[i].kind == SETTINGS_TEXT)
			freep(field);
	}
}
