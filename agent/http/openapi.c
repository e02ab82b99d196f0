/* SPDX-License-Identifier: Apache-2.0 */
/* See openapi.h. */
#include "agent/http/openapi.h"

#include <ctype.h>
#include <string.h>

#include "agent/http/v1.h"
#include "agent/operations.h"
#include "agent/problem.h"

/* Error responses that any request may get. */
static const struct {
	const char *status, *description;
} refusals[] = {
	{"400", "Invalid request"},
	{"401", "Over TCP: the token is missing or wrong"},
	{"403", "The policy does not permit it, or the request comes from elsewhere"},
	{"404", "There is no such sandbox, execution or file"},
	{"408", "The request took too long to arrive"},
	{"413", "The body is larger than 10 MiB"},
	{"415", "The body is not said to be JSON"},
	{"501", "This host, or Yett, cannot do it"},
	{"503", "The helper or a resource is not available"},
};

static json_t *content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

static json_t *problem(bool is_plain)
{
	if (is_plain)
		return content("text/plain", json_pack("{s:s}", "type", "string"));
	return content("application/json",
	               json_pack("{s:s}", "$ref", "#/components/schemas/Problem"));
}

static json_t *responses(json_t *success, bool is_plain)
{
	json_t *all = json_pack("{s:o}", "200", success);

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		(void)json_object_set_new(all, refusals[i].status,
		                          json_pack("{s:s, s:o}", "description",
		                                    refusals[i].description, "content",
		                                    problem(is_plain)));
	return all;
}

static json_t *describe_operation(const struct operation *operation)
{
	json_t *answer =
		json_pack("{s:s, s:o}", "description",
	                  "Done; or the program that was run failed: see the answer", "content",
	                  content("application/json", fields_schema(operation->answered)));

	return json_pack("{s:s, s:s, s:s, s:{s:b, s:o}, s:o}", "operationId", operation->name,
	                 "summary", operation->title, "description", operation->description,
	                 "requestBody", "required", 1, "content",
	                 content("application/json", fields_schema(operation->asked)), "responses",
	                 responses(answer, false));
}

/* Writes the path with "{id}" instead of the star. */
static void openapi_write_path(const struct route *route, char *path, size_t size)
{
	const char *star = strchrnul(route->path, '*');

	(void)snprintf(path, size, "%.*s%s%s", (int)(star - route->path), route->path,
	               *star ? "{id}" : "", *star ? star + 1 : "");
}

static json_t *parameter(const char *name, const char *place, bool is_required)
{
	return json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", name, "in", place, "required",
	                 is_required, "schema", "type", "string");
}

static json_t *describe_route(const struct route *route)
{
	bool is_plain = route->flags & ROUTE_PLAIN, has_body = strcmp(route->method, "GET") != 0;
	const char *type = route->type ? route->type : "application/json";
	json_t *schema = route->type ? json_pack("{s:s}", "type", "string") : json_object(),
	       *parameters = json_array();
	json_t *success = json_pack("{s:s, s:o}", "description", "It was done", "content",
	                            content(type, schema));
	json_t *described = json_pack("{s:s, s:o}", "summary", route->summary, "responses",
	                              responses(success, is_plain));

	if (strchr(route->path, '*'))
		(void)json_array_append_new(parameters, parameter("id", "path", true));
	for (const char *const *name = route->query; name && *name; name++)
		(void)json_array_append_new(parameters, parameter(*name, "query", false));
	(void)json_object_set_new(described, "parameters", parameters);
	if (has_body)
		(void)json_object_set_new(described, "requestBody",
		                          json_pack("{s:o}", "content",
		                                    content("application/json",
		                                            json_pack("{s:s}", "type", "object"))));
	return described;
}

static json_t *describe_paths(const struct route *routes)
{
	json_t *paths = json_object();
	char path[128], method[16];

	for (const struct operation *operation = operations; operation->name; operation++) {
		(void)snprintf(path, sizeof path, "/v1/%s", operation->name);
		(void)json_object_set_new(
			paths, path, json_pack("{s:o}", "post", describe_operation(operation)));
	}
	for (const struct route *route = routes; route->method; route++) {
		json_t *item;

		if (route->answer == v1_operate)
			continue; /* described with the operations above */
		openapi_write_path(route, path, sizeof path);
		for (size_t i = 0; i <= strlen(route->method); i++)
			method[i] = (char)tolower(route->method[i]);
		if (!(item = json_object_get(paths, path))) {
			(void)json_object_set_new(paths, path, json_object());
			item = json_object_get(paths, path);
		}
		(void)json_object_set_new(item, method, describe_route(route));
	}
	return paths;
}

json_t *openapi_describe(const struct route *routes)
{
	json_t *schema = json_pack("{s:s, s:{s:o}, s:[s]}", "type", "object", "properties", "error",
	                           fields_schema(problem_fields), "required", "error");

	return json_pack(
		"{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:{s:o}, s:{s:{s:s, s:s}}}, s:[{}, {s:[]}]}",
		"openapi", "3.1.0", "info", "title", "Yett", "version", YETT_VERSION, "description",
		"Runs code and commands in sandboxes. A client of the Unix socket needs no token; over TCP it does.",
		"paths", describe_paths(routes), "components", "schemas", "Problem", schema,
		"securitySchemes", "token", "type", "http", "scheme", "bearer", "security",
		"token");
}
