/* SPDX-License-Identifier: Apache-2.0 */
/* See settings.h. */
#include "agent/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent/bounds.h"
#include "agent/home.h"
#include "agent/runner/languages.h"
#include "libclient/yett.h"

#define FILE_MAX 65536

const struct field settings_fields[] = {
	{"default_timeout", FIELD_DURATION, 0, 1, 86400000,
         "The time limit of code and commands, if a request names none", .fallback = "30"},
	{"max_timeout", FIELD_DURATION, 0, 1, 2592000000, "The longest time limit of a request",
         .fallback = "600"},
	{"max_output", FIELD_NUMBER, 0, 1000, 1000000,
         "Bytes of each output in an answer; the rest is read by read_file", .fallback = "30000"},
	{"light", FIELD_TEXT, 0, 1, 64,
         "The profile of the tier light, which is that of requests that name none",
         .fallback = "\"default\""},
	{"strong", FIELD_TEXT, 0, 1, 64, "The profile of the tier strong",
         .fallback = "\"strict\""},
	{"languages", FIELD_TEXTS, FIELD_NULLABLE, 0, 32,
         "The languages that may be run; without it all"},
	{"interpreters", FIELD_MAP, 0, 0, 32,
         "LANGUAGE: the program that runs its code, instead of the usual one"},
	{"refuse_findings", FIELD_BOOL, 0, 0, 0,
         "Whether code in which the validator finds something grave is refused",
         .fallback = "false"},
	{0},
};

static int take_text(const json_t *object, const char *name, char **text)
{
	const char *value = field_text(object, name);
	char *copy = value ? strdup(value) : NULL;

	if (!value)
		return 0;
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static int take_lists(struct settings *settings, const json_t *object)
{
	const json_t *interpreters = field_get(object, "interpreters"),
		     *allowed = json_object_get(object, "languages");
	char **strings = json_is_array(allowed) ? field_strings(allowed) : NULL;

	if (json_is_array(allowed) && !strings)
		return -ENOMEM;
	if (allowed) {
		free(settings->languages);
		settings->languages = strings;
	}
	if (interpreters) {
		json_decref(settings->interpreters);
		settings->interpreters = json_incref((json_t *)interpreters);
	}
	return 0;
}

/* Returns the first name that is no language. NULL: all are. */
static const char *find_wrong_language(const json_t *object)
{
	const json_t *allowed = field_get(object, "languages");
	json_t *interpreters = (json_t *)field_get(object, "interpreters"), *one;
	const char *name;
	size_t i;

	json_array_foreach(allowed, i, one)
	{
		if (!language_find(json_string_value(one)))
			return json_string_value(one);
	}
	json_object_foreach(interpreters, name, one)
	{
		if (!language_find(name))
			return name;
	}
	return NULL;
}

static bool agent_settings_is_among(const json_t *names, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(names, i, one)
	{
		if (language_find(json_string_value(one)) == language_find(name))
			return true;
	}
	return false;
}

/* Whether `asked` has a language that `most` lacks. A null list stands for all languages. */
static bool has_more(const json_t *asked, const json_t *most)
{
	json_t *one;
	size_t i;

	if (!json_is_array(most))
		return false;
	json_array_foreach(asked, i, one)
	{
		if (!agent_settings_is_among(most, json_string_value(one)))
			return true;
	}
	return !json_is_array(asked);
}

/*
 * A request may narrow the loaded settings, but never widen them. Profiles and interpreters cannot
 * be compared that way, so a request may not change them at all.
 */
static int check_most(const json_t *most, const json_t *object, struct yett_error *error)
{
	static const char *const kept[] = {"light", "strong", "interpreters"};
	const json_t *asked = json_object_get(object, "languages");
	const char *what = NULL;

	if (field_duration_ms(object, "max_timeout", 0) > field_duration_ms(most, "max_timeout", 0))
		what = "max_timeout";
	else if (asked && has_more(asked, json_object_get(most, "languages")))
		what = "languages";
	else if (field_bool(most, "refuse_findings") && field_get(object, "refuse_findings") &&
	         !field_bool(object, "refuse_findings"))
		what = "refuse_findings";
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_object_get(object, kept[i]) &&
		    !json_equal(json_object_get(object, kept[i]), json_object_get(most, kept[i])))
			what = kept[i];
	if (!what)
		return 0;
	(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
	                "%s: a request may narrow the settings, but not change or widen them",
	                what);
	error_mend(error, "change \"%s\" in the settings, ~/.config/yett/agent.json, and restart",
	           what);
	return YETT_E_PERMISSION_DENIED;
}

int settings_change(struct settings *settings, const json_t *object, struct yett_error *error)
{
	uint64_t most, usual;
	const char *wrong;
	int r = fields_check(settings_fields, object, error);

	if (r != 0)
		return r;
	wrong = find_wrong_language(object);
	if (wrong)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "there is no language '%.40s'", wrong);
	if (settings->most && (r = check_most(settings->most, object, error)) != 0)
		return r;
	most = field_duration_ms(object, "max_timeout", settings->max_timeout_ms);
	usual = field_duration_ms(object, "default_timeout", settings->default_timeout_ms);
	if (usual > most)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "default_timeout is %llu ms, and max_timeout only %llu ms",
		                 (unsigned long long)usual, (unsigned long long)most);
	if (take_text(object, "light", &settings->light) < 0 ||
	    take_text(object, "strong", &settings->strong) < 0 || take_lists(settings, object) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the settings");
	settings->max_timeout_ms = most;
	settings->default_timeout_ms = usual;
	settings->max_output =
		(size_t)field_number(object, "max_output", (int64_t)settings->max_output);
	if (field_get(object, "refuse_findings"))
		settings->refuse_findings = field_bool(object, "refuse_findings");
	return 0;
}

/* The defaults of the rows, as one object. */
static json_t *defaults(void)
{
	json_t *object = json_object();

	for (const struct field *field = settings_fields; field->name; field++)
		if (field->fallback)
			(void)json_object_set_new(
				object, field->name,
				json_loads(field->fallback, JSON_DECODE_ANY, NULL));
	return object;
}

/* Returns the file's content, which the caller frees. NULL: failure, with errno set. */
static char *read_file_text(const char *path, size_t *ret_length)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = fd < 0 ? NULL : malloc(FILE_MAX);
	ssize_t n = text ? read(fd, text, FILE_MAX) : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	*ret_length = (size_t)n;
	return text;
}

/* Moves "may" out of the object, if it is there. */
static int take_may(json_t *object, json_t **may, struct yett_error *error)
{
	json_t *found = json_object_get(object, "may");
	int r = found ? fields_check(bounds_fields, found, error) : 0;

	if (!found || r != 0)
		return r;
	json_decref(*may);
	*may = json_incref(found);
	(void)json_object_del(object, "may");
	return 0;
}

/* Applies the file, if there is one, over the current settings. */
static int take_file(struct settings *settings, const char *path, json_t **may,
                     struct yett_error *error)
{
	_cleanup_free_ char *text = NULL;
	json_error_t where;
	json_t *object;
	size_t length;
	int r;

	text = read_file_text(path, &length);
	if (!text)
		return errno == ENOENT || errno == ENOTDIR
		               ? 0
		               : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                           "%.200s cannot be read: %m", path);
	object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
	if (!object)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%.120s:%d: %.100s",
		                 path, where.line, where.text);
	r = take_may(object, may, error);
	if (r == 0)
		r = settings_change(settings, object, error);
	if (r != 0)
		error_detail(error, "in the file %.400s", path);
	json_decref(object);
	return r;
}

int settings_load(struct settings *settings, json_t **ret_may, struct yett_error *error)
{
	_cleanup_free_ char *path = home_path("XDG_CONFIG_HOME", ".config", "yett/agent.json");
	json_t *object = defaults();
	int r;

	*settings = (struct settings){0};
	*ret_may = json_object();
	r = *ret_may ? settings_change(settings, object, error)
	             : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                         "no memory for the settings");
	json_decref(object);
	if (r == 0 && path)
		r = take_file(settings, path, ret_may, error);
	if (r != 0)
		return r;
	settings->most = settings_json(settings);
	return settings->most ? 0
	                      : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                                  "no memory for the settings");
}

json_t *settings_json(const struct settings *settings)
{
	json_t *allowed = settings->languages ? json_array() : json_null();

	for (char **at = settings->languages; at && *at; at++)
		(void)json_array_append_new(allowed, json_string(*at));
	return json_pack("{s:f, s:f, s:I, s:s, s:s, s:o, s:o, s:b}", "default_timeout",
	                 (double)settings->default_timeout_ms / 1000, "max_timeout",
	                 (double)settings->max_timeout_ms / 1000, "max_output",
	                 (json_int_t)settings->max_output, "light", settings->light, "strong",
	                 settings->strong, "languages", allowed, "interpreters",
	                 settings->interpreters ? json_incref(settings->interpreters)
	                                        : json_object(),
	                 "refuse_findings", (int)settings->refuse_findings);
}

void settings_free(struct settings *settings)
{
	free(settings->light);
	free(settings->strong);
	free(settings->languages);
	json_decref(settings->interpreters);
	json_decref(settings->most);
	*settings = (struct settings){0};
}
