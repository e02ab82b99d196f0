/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: files of sandboxes, yett://SANDBOX/PATH, and outputs of executions,
 * yett://run/ID/OUTPUT. See mcp_parts.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/execution.h"
#include "agent/mcp/mcp_parts.h"
#include "agent/operations.h"
#include "agent/problem.h"

#define SCHEME      "yett://"
#define OF_RUNS     "run" /* in the place of a sandbox */
#define READ_MAX    4194304
#define OUTPUTS_MAX 100 /* the latest executions, whose outputs are listed */

/* --- URIs ------------------------------------------------------------------------------------- */

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/*
 * Decodes %xx in place (RFC 3986, 2.1). Returns false for an invalid escape, a NUL, or a result
 * that is not UTF-8.
 */
static bool mcp_resources_decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		bool is_coded = *at == '%';
		int high = is_coded ? hex_value(at[1]) : 0,
		    low = is_coded && high >= 0 ? hex_value(at[2]) : 0;

		if (high < 0 || low < 0 || (is_coded && high == 0 && low == 0))
			return false;
		*to++ = is_coded ? (char)(high * 16 + low) : *at;
		at += is_coded ? 2 : 0;
	}
	*to = '\0';
	return field_is_text(text, strlen(text));
}

/* Returns the arguments of read_file for "ID/OUTPUT", owned by the caller. */
static json_t *asked_of_run(const char *rest)
{
	return json_pack("{s:s+, s:i}", "path", "run:", rest, "length", READ_MAX);
}

/*
 * Returns the operation that reads a URI, and its arguments, owned by the caller. NULL: invalid
 * URI.
 */
static const char *find_operation(const char *uri, json_t **ret_asked)
{
	_cleanup_free_ char *host =
		strncmp(uri, SCHEME, strlen(SCHEME)) == 0 ? strdup(uri + strlen(SCHEME)) : NULL;
	_cleanup_free_ char *path = NULL;
	char *slash = host ? strchr(host, '/') : NULL;
	bool is_directory;

	if (!slash || slash == host)
		return NULL;
	path = strdup(slash);
	*slash = '\0';
	if (!path || !mcp_resources_decode(host) || !mcp_resources_decode(path))
		return NULL;
	if (strcmp(host, OF_RUNS) == 0) {
		*ret_asked = asked_of_run(path + 1);
		return "read_file";
	}
	is_directory = path[strlen(path) - 1] == '/';
	*ret_asked = is_directory ? json_pack("{s:s, s:s}", "sandbox", host, "path", path)
	                          : json_pack("{s:s, s:s, s:i}", "sandbox", host, "path", path,
	                                      "length", READ_MAX);
	return is_directory ? "list_files" : "read_file";
}

/* --- reading ---------------------------------------------------------------------------------- */

static void refuse_read(struct mcp_request *request, enum mcp_code code, const char *why,
                        json_t *problem)
{
	const char *uri = json_string_value(json_object_get(request->params, "uri"));
	struct mcp_refusal refusal;

	(void)mcp_rpc_refuse(&refusal, code, "%s", why);
	refusal.data = json_pack("{s:s, s:o*}", "uri", uri, "error", problem);
	mcp_request_refuse(request, &refusal);
}

static bool is_missing(const struct call *call)
{
	const struct yett_error *error = call_error(call);

	return call_outcome(call) == CALL_NOT_FOUND || error->os_error == ENOENT ||
	       error->os_error == ENOTDIR;
}

static enum mcp_code missing_code(const struct mcp_request *request)
{
	return request->is_modern ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND;
}

/* Converts the answer of read_file, which has the whole file. */
static json_t *file_contents(const char *uri, const json_t *answer)
{
	bool is_text = strcmp(field_text(answer, "encoding"), "text") == 0;

	return json_pack("{s:[{s:s, s:s, s:O}]}", "contents", "uri", uri, "mimeType",
	                 is_text ? "text/plain" : "application/octet-stream",
	                 is_text ? "text" : "blob", json_object_get(answer, "content"));
}

static void file_is_read(struct call *call, void *data)
{
	struct mcp_request *request = data;
	const json_t *answer = call_answer(call);
	const struct yett_error *error = call_error(call);

	if (error)
		refuse_read(request, is_missing(call) ? missing_code(request) : MCP_INTERNAL_ERROR,
		            error->message, problem_json(error));
	else if (field_number(answer, "length", 0) < field_number(answer, "size", 0))
		refuse_read(
			request, MCP_INTERNAL_ERROR,
			"the file is too large for a resource: use read_file to read parts of it",
			NULL);
	else
		mcp_request_answer(
			request,
			file_contents(json_string_value(json_object_get(request->params, "uri")),
		                      answer));
}

static void directory_is_read(struct call *call, void *data)
{
	struct mcp_request *request = data;
	const struct yett_error *error = call_error(call);
	_cleanup_free_ char *text =
		error ? NULL : mcp_text_of(operation_find("list_files"), call_answer(call), NULL);

	if (error)
		refuse_read(request, is_missing(call) ? missing_code(request) : MCP_INTERNAL_ERROR,
		            error->message, problem_json(error));
	else
		mcp_request_answer(request,
		                   text ? json_pack("{s:[{s:O, s:s, s:s}]}", "contents", "uri",
		                                    json_object_get(request->params, "uri"),
		                                    "mimeType", "inode/directory", "text", text)
		                        : NULL);
}

void mcp_resources_read(struct mcp_request *request)
{
	const char *uri = mcp_request_text(request, "uri");
	json_t *asked = NULL;
	const char *operation = uri ? find_operation(uri, &asked) : NULL;

	if (!uri)
		return;
	if (operation)
		mcp_request_call(request, operation, asked,
		                 strcmp(operation, "read_file") == 0 ? file_is_read
		                                                     : directory_is_read);
	else
		refuse_read(
			request, missing_code(request),
			"there is no such resource: those of sandboxes are yett://SANDBOX/PATH, outputs are yett://run/ID/stdout",
			NULL);
	json_decref(asked);
}

/* --- listing ---------------------------------------------------------------------------------- */

struct listing {
	json_t *resources;
	size_t executions;
};

static void add_output(struct listing *listing, const struct execution *execution, const char *name)
{
	const struct output_buffer *kept = execution_output(execution, name);
	json_t *text = field_make_text(execution->text, strlen(execution->text));
	char uri[64];

	(void)snprintf(uri, sizeof uri, SCHEME OF_RUNS "/%s/%s", execution->id, name);
	if (kept->total > 0)
		(void)json_array_append_new(listing->resources,
		                            json_pack("{s:s, s:s, s:O, s:I}", "uri", uri, "name",
		                                      name, "description", text, "size",
		                                      (json_int_t)kept->total));
	json_decref(text);
}

static void add_execution(struct execution *execution, void *data)
{
	struct listing *listing = data;

	if (listing->executions++ >= OUTPUTS_MAX)
		return;
	add_output(listing, execution, "stdout");
	add_output(listing, execution, "stderr");
}

static void mcp_resources_add_sandbox(struct listing *listing, const json_t *sandbox)
{
	const char *id = field_text(sandbox, "id"), *name = field_text(sandbox, "name");

	if (field_text(sandbox, "ended"))
		return;
	(void)json_array_append_new(listing->resources,
	                            json_pack("{s:s++, s:s, s:s, s:s}", "uri", SCHEME, id, "/",
	                                      "name", name && *name ? name : id, "description",
	                                      "The files of a sandbox", "mimeType",
	                                      "inode/directory"));
}

static void sandboxes_are_listed(struct call *call, void *data)
{
	struct mcp_request *request = data;
	const json_t *sandboxes = field_get(call_answer(call), "sandboxes");
	struct listing listing = {.resources = json_array()};
	struct mcp_refusal refusal;

	if (call_error(call)) {
		(void)mcp_rpc_refuse(&refusal, MCP_INTERNAL_ERROR, "%s", call_error(call)->message);
		refusal.data = problem_json(call_error(call));
		json_decref(listing.resources);
		mcp_request_refuse(request, &refusal);
		return;
	}
	for (size_t i = 0; i < json_array_size(sandboxes); i++)
		mcp_resources_add_sandbox(&listing, json_array_get(sandboxes, i));
	executions_each(request->stream->mcp->agent, add_execution, &listing);
	mcp_request_answer(request, json_pack("{s:o}", "resources", listing.resources));
}

void mcp_resources_list(struct mcp_request *request)
{
	json_t *asked = json_pack("{s:s}", "action", "list");

	if (mcp_request_is_first_page(request))
		mcp_request_call(request, "sandboxes", asked, sandboxes_are_listed);
	json_decref(asked);
}

void mcp_resources_templates(struct mcp_request *request)
{
	static const struct {
		const char *uri, *name, *description;
	} templates[] = {
		{SCHEME "{sandbox}{+path}", "file",
	         "A file of a sandbox, by its absolute path; a directory where that ends with a slash"},
		{SCHEME OF_RUNS "/{id}/{output}", "output",
	         "The output of an execution: stdout, stderr, or output, which is both"},
	};
	json_t *list;

	if (!mcp_request_is_first_page(request))
		return;
	list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		(void)json_array_append_new(list,
		                            json_pack("{s:s, s:s, s:s}", "uriTemplate",
		                                      templates[i].uri, "name", templates[i].name,
		                                      "description", templates[i].description));
	mcp_request_answer(request, json_pack("{s:o}", "resourceTemplates", list));
}
