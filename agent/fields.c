/* SPDX-License-Identifier: Apache-2.0 */
/* See fields.h. */
#include "agent/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units_parse.h"

#define DURATION_MAX_S 2592000 /* 30 days */
#define PATH_SIZE      160     /* of a field's path in a message, such as "shares[2].path" */

static const struct field *fields_find(const struct field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	return NULL;
}

/*
 * Fields that requests of other sandbox systems have, and Yett cannot have; docs/library.md lists
 * them. Each row also matches NAME_ANYTHING.
 */
static const struct {
	const char *name, *why;
} foreign[] = {
	{"mac",
         "a sandbox has no interface on the host's network, so no MAC address; network, allow and deny say what a sandbox may reach"},
	{"bridge",
         "a sandbox has no interface on the host's network to attach to; network, allow and deny say what a sandbox may reach"},
	{"veth",
         "a sandbox has no interface on the host's network to attach to; network, allow and deny say what a sandbox may reach"},
	{"vlan",
         "a sandbox has no interface on the host's network to attach to; network, allow and deny say what a sandbox may reach"},
	{"gateway",
         "a sandbox has no address of its own on the host's network; all have the same addresses inside"},
	{"subnet",
         "a sandbox has no address of its own on the host's network; all have the same addresses inside"},
	{"ip_address",
         "a sandbox has no address of its own on the host's network; all have the same addresses inside"},
	{"dns",
         "the host resolves names for a sandbox, as the network rules allow: put names in allow"},
	{"lxc",
         "a sandbox is made of namespaces, directly, and not by LXC; profiles say what it is like"},
	{"docker",
         "a sandbox is made of namespaces, directly, and not by Docker; profiles say what it is like"},
	{"containerd",
         "a sandbox is made of namespaces, directly, and not by containerd; profiles say what it is like"},
	{"podman",
         "a sandbox is made of namespaces, directly, and not by Podman; profiles say what it is like"},
	{"kernel", "the kernel of a sandbox is the host's"},
	{"sysctl", "kernel settings hold for the whole host, so a sandbox cannot set them"},
	{"privileged",
         "commands in a sandbox are never root on the host; the policy grants capabilities inside the sandbox"},
	{"swap", "a sandbox cannot use the host's swap; memory_bytes is its limit"},
	{"restart_policy",
         "Yett does not restart sandboxes; a service of the user's service manager can make new ones"},
};

/* NULL: `name` is not such a field. */
static const char *why_foreign(const char *name)
{
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		length = strlen(foreign[i].name);
		if (strncmp(name, foreign[i].name, length) == 0 &&
		    (name[length] == '\0' || name[length] == '_'))
			return foreign[i].why;
	}
	return NULL;
}

/* Lists the names of a table, for the error about an unknown name. */
static void fields_list_names(const struct field *fields, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (; fields->name && length < size; fields++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
		                           fields->name);
}

static void list_choices(const char *const *choices, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (; *choices && length < size; choices++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
		                           *choices);
}

static int fields_refuse(struct yett_error *error, const char *path, const char *expected)
{
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_WRONG_TYPE, "%.120s: expected %s",
	                 path, expected);
}

static int check_range(const struct field *field, int64_t value, const char *path, const char *unit,
                       struct yett_error *error)
{
	if ((field->min == 0 && field->max == 0) || (value >= field->min && value <= field->max))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
	                 "%.120s: %lld%s is not within %lld and %lld%s", path, (long long)value,
	                 unit, (long long)field->min, (long long)field->max, unit);
}

static int fields_check_text(const struct field *field, const json_t *value, const char *path,
                             struct yett_error *error)
{
	if (!json_is_string(value))
		return fields_refuse(error, path, "a text");
	if (strlen(json_string_value(value)) != json_string_length(value))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_EMBEDDED_NUL,
		                 "%.120s: a text must not hold a NUL character", path);
	return check_range(field, (int64_t)json_string_length(value), path, " bytes", error);
}

static int check_choice(const struct field *field, const json_t *value, const char *path,
                        struct yett_error *error)
{
	char choices[200];

	for (const char *const *at = field->choices; *at && json_is_string(value); at++)
		if (strcmp(*at, json_string_value(value)) == 0)
			return 0;
	list_choices(field->choices, choices, sizeof choices);
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%.120s: expected one of %s",
	                 path, choices);
}

static int check_duration(const struct field *field, const json_t *value, const char *path,
                          struct yett_error *error)
{
	uint64_t ms;

	if (field_parse_duration(value, &ms) < 0)
		return fields_refuse(
			error, path,
			"a number of seconds, or a text like \"30s\", \"500ms\" or \"2m\"");
	return check_range(field, (int64_t)ms, path, " ms", error);
}

static int check_object(const struct field *fields, const json_t *object, const char *path,
                        struct yett_error *error);

/*
 * Checks one string of a list or a map. The table bounds the number of entries, not their length.
 */
static int check_item(const json_t *value, const char *path, struct yett_error *error)
{
	static const struct field any = {.kind = FIELD_TEXT};

	return fields_check_text(&any, value, path, error);
}

static int fields_check_list(const struct field *field, const json_t *value, const char *path,
                             struct yett_error *error)
{
	char at[PATH_SIZE];
	json_t *item;
	size_t i;
	int r;

	if (!json_is_array(value))
		return fields_refuse(error, path,
		                     field->kind == FIELD_TEXTS ? "a list of texts"
		                                                : "a list of objects");
	r = check_range(field, (int64_t)json_array_size(value), path, " entries", error);
	json_array_foreach(value, i, item)
	{
		(void)snprintf(at, sizeof at, "%.120s[%zu]", path, i);
		if (r == 0)
			r = field->kind == FIELD_TEXTS
			            ? check_item(item, at, error)
			            : check_object(field->fields, item, at, error);
	}
	return r;
}

static int check_map(const struct field *field, const json_t *value, const char *path,
                     struct yett_error *error)
{
	char at[PATH_SIZE];
	const char *key;
	json_t *item;
	size_t bytes = 0;
	int r;

	if (!json_is_object(value))
		return fields_refuse(error, path, "an object whose members are texts");
	r = check_range(field, (int64_t)json_object_size(value), path, " entries", error);
	json_object_foreach((json_t *)value, key, item)
	{
		(void)snprintf(at, sizeof at, "%.80s.%.60s", path, key);
		if (r == 0)
			r = check_item(item, at, error);
		bytes += strlen(key) + json_string_length(item);
	}
	if (r == 0 && field->bytes > 0 && bytes > field->bytes)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "%.120s: %zu bytes of names and values are more than %zu", path,
		                 bytes, field->bytes);
	return r;
}

static int agent_fields_check(const struct field *field, const json_t *value, const char *path,
                              struct yett_error *error)
{
	if (json_is_null(value) && (field->flags & FIELD_NULLABLE))
		return 0;
	switch (field->kind) {
	case FIELD_TEXT:
		return fields_check_text(field, value, path, error);
	case FIELD_NUMBER:
		if (!json_is_integer(value))
			return fields_refuse(error, path, "a whole number");
		return check_range(field, json_integer_value(value), path, "", error);
	case FIELD_REAL:
		return json_is_number(value) ? 0 : fields_refuse(error, path, "a number");
	case FIELD_BOOL:
		return json_is_boolean(value) ? 0 : fields_refuse(error, path, "true or false");
	case FIELD_DURATION:
		return check_duration(field, value, path, error);
	case FIELD_CHOICE:
		return check_choice(field, value, path, error);
	case FIELD_TEXTS:
	case FIELD_OBJECTS:
		return fields_check_list(field, value, path, error);
	case FIELD_MAP:
		return check_map(field, value, path, error);
	case FIELD_OBJECT:
		return check_object(field->fields, value, path, error);
	case FIELD_ANY:
		return 0;
	}
	return fields_refuse(error, path, "nothing");
}

/* `path` is empty for the request itself. */
static int check_object(const struct field *fields, const json_t *object, const char *path,
                        struct yett_error *error)
{
	const struct field *field;
	char at[PATH_SIZE], names[400];
	const char *key;
	json_t *value;
	int r = 0;

	if (!json_is_object(object))
		return fields_refuse(error, *path ? path : "the request", "an object");
	json_object_foreach((json_t *)object, key, value)
	{
		field = fields_find(fields, key);
		(void)snprintf(at, sizeof at, "%.80s%s%.60s", path, *path ? "." : "", key);
		if (!field && why_foreign(key))
			return error_set(error, YETT_E_UNSUPPORTED, YETT_R_UNKNOWN_FIELD,
			                 "%.60s: %s", at, why_foreign(key));
		if (!field) {
			fields_list_names(fields, names, sizeof names);
			(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_UNKNOWN_FIELD,
			                "%.120s: there is no such field", at);
			error_detail(error, "fields: %s", names);
			return YETT_E_INVALID_REQUEST;
		}
		r = agent_fields_check(field, value, at, error);
		if (r != 0)
			return r;
	}
	for (field = fields; field->name; field++)
		if ((field->flags & FIELD_REQUIRED) && !json_object_get(object, field->name))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
			                 "%.80s%s%s: this is missing", path, *path ? "." : "",
			                 field->name);
	return 0;
}

int fields_check(const struct field *fields, const json_t *object, struct yett_error *error)
{
	return check_object(fields, object, "", error);
}

/* --- schema ----------------------------------------------------------------------------------- */

static bool fields_is_bounded(const struct field *field)
{
	return field->min != 0 || field->max != 0;
}

static void fields_put_bounds(json_t *schema, const struct field *field, const char *least,
                              const char *most)
{
	if (!fields_is_bounded(field))
		return;
	(void)json_object_set_new(schema, least, json_integer(field->min));
	(void)json_object_set_new(schema, most, json_integer(field->max));
}

/*
 * JSON Schema counts characters, the table counts bytes. A string has at most as many characters as
 * bytes, so this maximum refuses no valid string.
 */
static json_t *text_schema(const struct field *field)
{
	json_t *schema = json_pack("{s:s}", "type", "string");

	if (schema && field->max > 0)
		(void)json_object_set_new(schema, "maxLength", json_integer(field->max));
	if (schema && field->min > 0)
		(void)json_object_set_new(schema, "minLength", json_integer(1));
	return schema;
}

static json_t *choice_schema(const struct field *field)
{
	json_t *list = json_array();

	for (const char *const *at = field->choices; *at; at++)
		(void)json_array_append_new(list, json_string(*at));
	return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *kind_schema(const struct field *field)
{
	json_t *schema;

	switch (field->kind) {
	case FIELD_TEXT:
		return text_schema(field);
	case FIELD_NUMBER:
		schema = json_pack("{s:s}", "type", "integer");
		fields_put_bounds(schema, field, "minimum", "maximum");
		return schema;
	case FIELD_REAL:
		return json_pack("{s:s}", "type", "number");
	case FIELD_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case FIELD_DURATION:
		return json_pack("{s:[s,s]}", "type", "number", "string");
	case FIELD_CHOICE:
		return choice_schema(field);
	case FIELD_TEXTS:
		schema = json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
		fields_put_bounds(schema, field, "minItems", "maxItems");
		return schema;
	case FIELD_MAP:
		schema = json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties",
		                   "type", "string");
		fields_put_bounds(schema, field, "minProperties", "maxProperties");
		return schema;
	case FIELD_OBJECT:
		return fields_schema(field->fields);
	case FIELD_OBJECTS:
		schema = json_pack("{s:s, s:o}", "type", "array", "items",
		                   fields_schema(field->fields));
		fields_put_bounds(schema, field, "minItems", "maxItems");
		return schema;
	case FIELD_ANY:
		return json_object();
	}
	return NULL;
}

/* Adds null to a type or a list of types. */
static void allow_null(json_t *schema)
{
	json_t *type = json_object_get(schema, "type"), *choices = json_object_get(schema, "enum");

	if (json_is_string(type))
		(void)json_object_set_new(schema, "type", json_pack("[O,s]", type, "null"));
	else if (json_is_array(type))
		(void)json_array_append_new(type, json_string("null"));
	if (choices)
		(void)json_array_append_new(choices, json_null());
}

json_t *fields_schema(const struct field *fields)
{
	json_t *properties = json_object(), *required = json_array(), *schema, *one;

	for (const struct field *field = fields; field->name; field++) {
		one = kind_schema(field);
		if (one && (field->flags & FIELD_NULLABLE))
			allow_null(one);
		if (one && field->description)
			(void)json_object_set_new(one, "description",
			                          json_string(field->description));
		if (one && field->fallback)
			(void)json_object_set_new(
				one, "default", json_loads(field->fallback, JSON_DECODE_ANY, NULL));
		if (!one || json_object_set_new(properties, field->name, one) != 0)
			break;
		if (field->flags & FIELD_REQUIRED)
			(void)json_array_append_new(required, json_string(field->name));
	}
	schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
	                   "additionalProperties", 0);
	if (schema && json_array_size(required) > 0)
		(void)json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

/* --- members ---------------------------------------------------------------------------------- */

const json_t *field_get(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

const char *field_text(const json_t *object, const char *name)
{
	return json_string_value(field_get(object, name));
}

int64_t field_number(const json_t *object, const char *name, int64_t otherwise)
{
	const json_t *value = field_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool field_bool(const json_t *object, const char *name)
{
	return json_is_true(field_get(object, name));
}

uint64_t field_duration_ms(const json_t *object, const char *name, uint64_t otherwise)
{
	const json_t *value = field_get(object, name);
	uint64_t ms;

	return value && field_parse_duration(value, &ms) == 0 ? ms : otherwise;
}

int field_parse_duration(const json_t *value, uint64_t *ret_ms)
{
	double seconds;

	if (json_is_string(value)) {
		if (strlen(json_string_value(value)) != json_string_length(value))
			return -EINVAL;
		return units_parse_duration(json_string_value(value), ret_ms);
	}
	if (!json_is_number(value))
		return -EINVAL;
	seconds = json_number_value(value);
	if (!(seconds >= 0 && seconds <= DURATION_MAX_S))
		return -ERANGE;
	*ret_ms = (uint64_t)ceil(seconds * 1000);
	return 0;
}

char **field_strings(const json_t *list_or_map)
{
	size_t count = json_is_array(list_or_map) ? json_array_size(list_or_map)
	                                          : json_object_size(list_or_map),
	       i = 0, room = 0;
	const char *key;
	json_t *item;
	char **strings, *at;

	json_array_foreach(list_or_map, i, item) room += json_string_length(item) + 1;
	json_object_foreach((json_t *)list_or_map, key, item) room +=
		strlen(key) + json_string_length(item) + 2;
	strings = malloc((count + 1) * sizeof *strings + room);
	if (!strings)
		return NULL;
	at = (char *)(strings + count + 1);
	json_array_foreach(list_or_map, i, item)
	{
		strings[i] = at;
		at = stpcpy(at, json_string_value(item)) + 1;
	}
	i = 0;
	json_object_foreach((json_t *)list_or_map, key, item)
	{
		strings[i++] = at;
		at = stpcpy(stpcpy(stpcpy(at, key), "="), json_string_value(item)) + 1;
	}
	strings[count] = NULL;
	return strings;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* The number of bytes of the UTF-8 character at `at`. 0: no valid character, or NUL. */
static size_t character(const unsigned char *at, size_t left)
{
	static const struct {
		unsigned char from, to, second_from, second_to;
		size_t length;
	} rows[] = {/* The Unicode Standard, table 3-7 */
	            {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2},
	            {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	            {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	            {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
	            {0xf4, 0xf4, 0x80, 0x8f, 4}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (at[0] < rows[i].from || at[0] > rows[i].to || rows[i].length > left)
			continue;
		if (rows[i].length > 1 &&
		    (at[1] < rows[i].second_from || at[1] > rows[i].second_to))
			continue;
		if ((rows[i].length > 2 && (at[2] & 0xc0) != 0x80) ||
		    (rows[i].length > 3 && (at[3] & 0xc0) != 0x80))
			continue;
		return rows[i].length;
	}
	return 0;
}

bool field_is_text(const char *bytes, size_t length)
{
	for (size_t i = 0, step; i < length; i += step) {
		step = character((const unsigned char *)bytes + i, length - i);
		if (step == 0)
			return false;
	}
	return true;
}

json_t *field_make_text(const char *bytes, size_t length)
{
	static const char replacement[] = "\xef\xbf\xbd";
	_cleanup_free_ char *text = NULL;
	size_t end = 0;

	if (field_is_text(bytes, length))
		return json_stringn_nocheck(bytes, length);
	text = malloc(length * 3 + 1);
	if (!text)
		return NULL;
	for (size_t i = 0, step; i < length; i += step) {
		step = character((const unsigned char *)bytes + i, length - i);
		memcpy(text + end, step ? bytes + i : replacement, step ? step : 3);
		end += step ? step : 3;
		step = step ? step : 1;
	}
	return json_stringn_nocheck(text, end);
}

json_t *field_make_text_or_null(const char *text)
{
	return text && *text ? field_make_text(text, strlen(text)) : json_null();
}
