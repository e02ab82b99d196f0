/* SPDX-License-Identifier: Apache-2.0 */
/* See problem.h. */
#include "agent/problem.h"

#include <stdio.h>
#include <string.h>

#include "libclient/yett.h"

const struct field problem_fields[] = {
	{"code", FIELD_TEXT, FIELD_REQUIRED,
         .description = "Which kind of problem: permission-denied, invalid-request and so on"},
	{"reason", FIELD_TEXT, .description = "More exactly, such as unknown-field"},
	{"message", FIELD_TEXT, FIELD_REQUIRED, .description = "One sentence for a person"},
	{"detail", FIELD_TEXT, .description = "What was asked, what is allowed, and by which rule"},
	{"rule", FIELD_TEXT, .description = "The key of the policy that refuses"},
	{"file", FIELD_TEXT, .description = "The policy file"},
	{"line", FIELD_NUMBER},
	{"asked", FIELD_TEXT},
	{"allowed", FIELD_TEXT},
	{"mend", FIELD_TEXT, .description = "The smallest change that would allow the request"},
	{"retryable", FIELD_BOOL, FIELD_REQUIRED,
         .description = "Whether the same request can succeed later"},
	{0},
};

json_t *problem_json(const struct yett_error *error)
{
	const struct {
		const char *name, *text;
	} members[] = {{"detail", error->detail},   {"rule", error->rule},
	               {"file", error->file},       {"asked", error->asked},
	               {"allowed", error->allowed}, {"mend", error->mend}};
	json_t *json = json_pack("{s:s, s:o, s:b}", "code", yett_error_code_name(error->code),
	                         "message", field_make_text(error->message, strlen(error->message)),
	                         "retryable", (int)yett_error_retryable(error));

	if (json && error->reason != YETT_R_NONE)
		(void)json_object_set_new(json, "reason",
		                          json_string(yett_error_reason_name(error->reason)));
	for (size_t i = 0; json && i < ARRAY_SIZE(members); i++)
		if (members[i].text[0])
			(void)json_object_set_new(
				json, members[i].name,
				field_make_text(members[i].text, strlen(members[i].text)));
	if (json && error->line)
		(void)json_object_set_new(json, "line", json_integer(error->line));
	return json;
}

char *problem_text(const struct yett_error *error)
{
	char *text = NULL;
	bool has_detail = error->detail[0] != '\0', has_mend = error->mend[0] != '\0';

	if (asprintf(&text, "%s: %s%s%s%s%s", yett_error_code_name(error->code), error->message,
	             has_detail ? "\n" : "", error->detail, has_mend ? "\nto fix this: " : "",
	             error->mend) < 0)
		return NULL;
	return text;
}
