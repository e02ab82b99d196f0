/* SPDX-License-Identifier: Apache-2.0 */
/* See reply.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/http/reply.h"
#include "agent/http/response.h"
#include "agent/problem.h"

static const unsigned statuses[] = {
	[CALL_SUCCEEDED] = MHD_HTTP_OK,
	[CALL_PROGRAM_FAILED] = MHD_HTTP_OK,
	[CALL_TIMED_OUT] = MHD_HTTP_OK,
	[CALL_INVALID] = MHD_HTTP_BAD_REQUEST,
	[CALL_REFUSED] = MHD_HTTP_FORBIDDEN,
	[CALL_NOT_FOUND] = MHD_HTTP_NOT_FOUND,
	[CALL_UNSUPPORTED] = MHD_HTTP_NOT_IMPLEMENTED,
	[CALL_UNAVAILABLE] = MHD_HTTP_SERVICE_UNAVAILABLE,
	[CALL_CANCELLED] = MHD_HTTP_SERVICE_UNAVAILABLE,
};

unsigned reply_status(enum yett_code code)
{
	return statuses[call_outcome_of(code)];
}

/* Takes ownership of `text`; NULL: no memory. */
static void answer_text(struct exchange *exchange, unsigned status, const char *type, char *text,
                        size_t length)
{
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (!response)
		free(text);
	else
		response_finish(response, type);
	exchange_answer(exchange, status, response);
}

static void answer_json(struct exchange *exchange, unsigned status, const json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	answer_text(exchange, status, "application/json", text, text ? strlen(text) : 0);
}

void reply_json(struct exchange *exchange, unsigned status, json_t *value)
{
	answer_json(exchange, status, value);
	json_decref(value);
}

void reply_call(struct exchange *exchange, const struct call *call)
{
	answer_json(exchange, statuses[call_outcome(call)], call_answer(call));
}

void reply_problem(struct exchange *exchange, unsigned status, const struct yett_error *error)
{
	if (exchange->route && exchange->route->flags & ROUTE_PLAIN)
		reply_text(exchange, status, "%s", error->message);
	else
		reply_json(exchange, status, json_pack("{s:o}", "error", problem_json(error)));
}

void reply_refuse(struct exchange *exchange, unsigned status, enum yett_code code,
                  const char *format, ...)
{
	struct yett_error error;
	char message[sizeof error.message];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	(void)error_set(&error, code, 0, "%s", message);
	reply_problem(exchange, status, &error);
}

void reply_unknown(struct exchange *exchange, const char *methods)
{
	if (*methods)
		reply_refuse(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, YETT_E_INVALID_REQUEST,
		             "this path has the methods %s", methods);
	else
		reply_refuse(exchange, MHD_HTTP_NOT_FOUND, YETT_E_NOT_FOUND,
		             "there is no such path: GET /openapi.json lists them");
	if (*methods && exchange->response)
		(void)MHD_add_response_header(exchange->response, MHD_HTTP_HEADER_ALLOW, methods);
}

void reply_text(struct exchange *exchange, unsigned status, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		text = NULL;
	answer_text(exchange, status, "text/plain; charset=utf-8", text, text ? (size_t)length : 0);
}

void reply_bytes(struct exchange *exchange, unsigned status, const char *type, const char *bytes,
                 size_t length)
{
	char *copy = malloc(length + 1);

	if (copy)
		memcpy(copy, bytes, length);
	answer_text(exchange, status, type, copy, length);
}

void reply_empty(struct exchange *exchange, unsigned status)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

	if (response)
		response_finish(response, NULL);
	exchange_answer(exchange, status, response);
}

void reply_page(struct exchange *exchange, const char *type, const void *bytes, size_t length)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		length, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);

	if (response)
		response_finish(response, type);
	exchange_answer(exchange, MHD_HTTP_OK, response);
}

void reply_redirect(struct exchange *exchange, const char *path, const char *cookie)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);

	if (response) {
		response_finish(response, NULL);
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, path);
		if (*cookie)
			(void)MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
	}
	exchange_answer(exchange, MHD_HTTP_SEE_OTHER, response);
}

json_t *reply_parse(struct exchange *exchange, json_t *otherwise)
{
	json_error_t where;
	json_t *value;

	if (exchange->body_length == 0 && otherwise)
		return otherwise;
	json_decref(otherwise);
	value = json_loadb(exchange->body ? exchange->body : "", exchange->body_length,
	                   JSON_REJECT_DUPLICATES, &where);
	if (!value)
		reply_refuse(exchange, MHD_HTTP_BAD_REQUEST, YETT_E_INVALID_REQUEST,
		             "the body is no JSON: %s, at line %d", where.text, where.line);
	return value;
}
