/* SPDX-License-Identifier: Apache-2.0 */
/* See runner_ask.h. */
#include "agent/runner/runner_ask.h"

#include <stdio.h>
#include <string.h>

#include "agent/runner/validate.h"
#include "agent/sandbox_request.h"

static const char *const modes[] = {"fresh", "kept", NULL};

const struct field runner_asked[] = {
	{"language", FIELD_TEXT, FIELD_REQUIRED, 1, 32,
         "python, javascript, typescript, bash, go, rust, c, c++, java, ruby, perl, php or lua; usual short names will do"},
	{"code", FIELD_TEXT, FIELD_NULLABLE, 1, BUNDLE_CODE_MAX, "The program"},
	{"files", FIELD_MAP, FIELD_NULLABLE, 0, BUNDLE_FILES_MAX,
         "Further files, by path below the directory of the program: {\"data/a.csv\": TEXT}. Source files are compiled with the program"},
	{"args", FIELD_TEXTS, FIELD_NULLABLE, 0, 256, "Arguments of the program"},
	{"mode", FIELD_CHOICE, FIELD_NULLABLE, .choices = modes, .fallback = "\"fresh\"",
         .description =
                 "kept: variables and functions stay for the next call with the same sandbox, as in a notebook, and the answer has the "
                 "value of the last expression; python and javascript. Without sandbox the call makes one that stays; the answer has its id, "
                 "for the next call, and for the operation sandboxes to end it"},
	{"cwd", FIELD_TEXT, FIELD_NULLABLE, 1, 4095,
         "The working directory: absolute, inside the sandbox. Default: that of the program"},
	OP_RUN_FIELDS,
	{"background", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Answer at once; wait_command returns the output and the end",
         .fallback = "false"},
	{"metadata", FIELD_MAP, FIELD_NULLABLE, 0, 16,
         "KEY: value, 1 KiB in all; given back with the answer", .bytes = 1024},
	{"ensure", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Run nothing; return the language's version, or the missing package",
         .fallback = "false"},
	{"image", FIELD_TEXT, FIELD_NULLABLE, 1, 255,
         "An image that has the language: not supported yet, and refused"},
	SANDBOX_REQUEST_FIELDS,
	{0},
};

/* Lists the names of the permitted languages, separated by commas. `allowed` NULL: all. */
static void list_languages(char *text, size_t size, char *const *allowed)
{
	size_t length = 0;

	text[0] = '\0';
	for (const struct language *language = languages; language->name; language++) {
		bool is_allowed = !allowed;

		for (char *const *at = allowed; at && *at && !is_allowed; at++)
			is_allowed = language_find(*at) == language;
		if (is_allowed && length < size)
			length += (size_t)snprintf(text + length, size - length, "%s%s",
			                           length > 0 ? ", " : "", language->name);
	}
}

static int find_language(const struct settings *settings, const char *name,
                         const struct language **ret_language, struct yett_error *error)
{
	const struct language *language = language_find(name);
	char names[256];
	bool is_allowed = !settings->languages;

	for (char **at = settings->languages; at && *at && !is_allowed; at++)
		is_allowed = language && language_find(*at) == language;
	list_languages(names, sizeof names, settings->languages);
	if (!language)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "language: there is no '%.40s'; those that can be run: %s", name,
		                 names);
	if (!is_allowed) {
		(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
		                "language: the settings do not allow %s; they allow: %s",
		                language->name, names);
		error_mend(error,
		           "\"languages\" in the settings, ~/.config/yett/agent.json: with \"%s\"",
		           language->name);
		return YETT_E_PERMISSION_DENIED;
	}
	*ret_language = language;
	return 0;
}

/* The interpreter that the settings name for the language, under any of its names. NULL: none. */
static const char *find_interpreter(const struct settings *settings,
                                    const struct language *language)
{
	const char *name;
	json_t *value;

	json_object_foreach(settings->interpreters, name, value)
	{
		if (language_find(name) == language)
			return json_string_value(value);
	}
	return NULL;
}

static int check_mode(const struct runner_ask *ask, struct yett_error *error)
{
	const struct language *language = ask->bundle.language;
	const char *cwd = ask->bundle.cwd;

	if (field_get(ask->asked, "image")) {
		(void)error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"image: images are not supported yet; install %s as a package on the host",
			language->name);
		error_mend(error, "apt install %s", language->package);
		return YETT_E_UNSUPPORTED;
	}
	if (ask->mode != RUNNER_ENSURE && !ask->bundle.code)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
		                 "code: this is missing");
	if (ask->mode == RUNNER_KEPT && !language->kept)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"mode: kept is not supported for %s, only for python and javascript",
			language->name);
	if (cwd && cwd[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "cwd: expected an absolute path inside the sandbox");
	return 0;
}

/* Collects the validator's findings as warnings. Refuses severe findings if the settings say so. */
static int advise(struct runner_ask *ask, const struct settings *settings, struct yett_error *error)
{
	const char *code = ask->bundle.code;
	struct finding findings[FINDINGS_MAX];
	size_t count =
		code ? validate(ask->bundle.language->name, code, strlen(code), findings) : 0;

	for (size_t i = 0; i < count; i++) {
		const struct finding_rule *rule = findings[i].rule;

		if (rule->severity == FINDING_GRAVE && settings->refuse_findings) {
			(void)error_set(error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
			                "code: line %u %s (%s)", findings[i].line, rule->text,
			                rule->rule);
			error_mend(
				error,
				"\"refuse_findings\": false in the settings, ~/.config/yett/agent.json");
			return YETT_E_PERMISSION_DENIED;
		}
		if (!ask->warnings)
			ask->warnings = json_array();
		(void)json_array_append_new(ask->warnings,
		                            json_sprintf("%s: line %u %s (%s)",
		                                         finding_severity_name(rule->severity),
		                                         findings[i].line, rule->text, rule->rule));
	}
	return 0;
}

static int runner_ask_check(const struct call *call, struct runner_ask *ask,
                            struct yett_error *error)
{
	const struct settings *settings = &call_agent(call)->settings;
	int r = check_mode(ask, error);

	if (r == 0)
		r = op_timeout(call, &ask->timeout_ms, error);
	if (r == 0) {
		bundle_look(&ask->bundle);
		r = bundle_check(&ask->bundle, error);
	}
	return r == 0 ? advise(ask, settings, error) : r;
}

int runner_ask_read(const struct call *call, struct runner_ask *ret_ask, struct yett_error *error)
{
	const struct settings *settings = &call_agent(call)->settings;
	json_t *asked = (json_t *)call_asked(call);
	const char *mode = field_text(asked, "mode");
	struct runner_ask ask = {
		.asked = asked,
		.bundle = {.interpreter = NULL,
	                   .code = field_text(asked, "code"),
	                   .files = field_get(asked, "files"),
	                   .args = field_get(asked, "args"),
	                   .cwd = field_text(asked, "cwd")},
	};
	int r = find_language(settings, field_text(asked, "language"), &ask.bundle.language, error);

	if (r != 0)
		return r;
	ask.bundle.interpreter = find_interpreter(settings, ask.bundle.language);
	if (field_bool(asked, "ensure"))
		ask.mode = RUNNER_ENSURE;
	else if (mode && strcmp(mode, "kept") == 0)
		ask.mode = RUNNER_KEPT;
	r = runner_ask_check(call, &ask, error);
	if (r != 0) {
		json_decref(ask.warnings);
		return r;
	}
	(void)json_incref(asked);
	*ret_ask = ask;
	return 0;
}

void runner_ask_clear(struct runner_ask *ask)
{
	json_decref(ask->asked);
	json_decref(ask->warnings);
	*ask = (struct runner_ask){0};
}

json_t *runner_list_languages(void)
{
	json_t *list = json_array();

	for (const struct language *language = languages; language->name; language++) {
		json_t *aliases = json_array();

		for (const char *const *alias = language->aliases; *alias; alias++)
			(void)json_array_append_new(aliases, json_string(*alias));
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:s, s:s, s:s, s:b, s:b}", "name", language->name,
		                  "aliases", aliases, "package", language->package, "image",
		                  language->image, "file", language->file, "compiled",
		                  language->compile != NULL, "kept", language->kept != NULL));
	}
	return list;
}

json_t *runner_list_findings(void)
{
	json_t *list = json_array();

	for (const struct finding_rule *rule = finding_rules; rule->pattern; rule++)
		(void)json_array_append_new(
			list,
			json_pack("{s:s?, s:s, s:s, s:s, s:s}", "language", rule->language, "rule",
		                  rule->rule, "severity", finding_severity_name(rule->severity),
		                  "text", rule->text, "example", rule->example));
	return list;
}
