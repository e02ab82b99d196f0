/* SPDX-License-Identifier: Apache-2.0 */
/* See routes.h. */
#include <string.h>

#include "agent/http/mcp_post.h"
#include "agent/http/network_switch.h"
#include "agent/http/compat.h"
#include "agent/http/openapi.h"
#include "agent/http/pages.h"
#include "agent/http/reply.h"
#include "agent/http/routes.h"
#include "agent/http/v1.h"

static const char *const of_events[] = {"sandbox", "after", NULL};
static const char stream[] = "text/event-stream";

static void routes_answer_openapi(struct exchange *exchange)
{
	reply_json(exchange, MHD_HTTP_OK, openapi_describe(routes));
}

const struct route routes[] = {
	{"POST", "/v1/*", 0, v1_operate, "Does an operation; its arguments are the body"},
	{"GET", "/v1/operations", 0, v1_operations,
         "The operations, with the JSON Schemas of their arguments and answers"},
	{"GET", "/v1/events", 0, v1_events, "The events of a sandbox, or of all, as a stream",
         stream, of_events},
	{"GET", "/v1/executions/*/output", 0, v1_output, "The output of a program, as a stream",
         stream},
	{"GET", "/openapi.json", 0, routes_answer_openapi, "This description"},
	{"POST", "/mcp", 0, mcp_post_answer,
         "A message of the Model Context Protocol; answered by a stream where there is more than the answer"},
	{"POST", "/execute", ROUTE_PLAIN, compat_execute,
         "Runs code or a command, and waits for its end"},
	{"GET", "/status/*", ROUTE_PLAIN, compat_status, "The state of an execution"},
	{"GET", "/info", ROUTE_PLAIN, compat_info, "The manager, its executors and counts"},
	{"POST", "/kill/*", ROUTE_PLAIN, compat_kill, "Kills an execution"},
	{"GET", "/config", ROUTE_PLAIN, compat_config, "The configuration"},
	{"PUT", "/config", ROUTE_PLAIN, compat_configure,
         "Changes the configuration until the end of the server"},
	{"GET", "/network/*", 0, network_answer, "The network of a sandbox"},
	{"PUT", "/network/*", 0, network_switch,
         "Switches the network of a sandbox off, or on again"},
	{"GET", "/", ROUTE_OPEN, pages_answer, "The page to look at, and its files", "text/html"},
	{0},
};

/*
 * Whether `path` matches the pattern. The part that matches the star must not be empty or contain
 * '/'.
 */
static bool routes_matches(const struct route *route, const char *path, char rest[ROUTES_REST_SIZE])
{
	const char *star = strchrnul(route->path, '*');
	size_t head = (size_t)(star - route->path), length;

	*rest = '\0';
	if (route->answer == pages_answer)
		return pages_find(path);
	if (!*star)
		return strcmp(path, route->path) == 0;
	if (strncmp(route->path, path, head) != 0)
		return false;
	length = strcspn(path + head, "/");
	if (length == 0 || length >= ROUTES_REST_SIZE ||
	    strcmp(path + head + length, star + 1) != 0)
		return false;
	*(char *)mempcpy(rest, path + head, length) = '\0';
	return true;
}

const struct route *routes_find(const char *method, const char *path, char rest[ROUTES_REST_SIZE],
                                char methods[ROUTES_REST_SIZE])
{
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	*methods = '\0';
	for (const struct route *route = routes; route->method; route++) {
		if (!routes_matches(route, path, rest))
			continue;
		if (strcmp(route->method, method) == 0)
			return route;
		if (*methods)
			/*
			 * Cannot overflow: the methods of all rows together are shorter than
			 * `methods`.
			 */
			(void)strcat(methods, ", ");
		(void)strcat(methods, route->method);
	}
	return NULL;
}
