/*
 * Which path is answered by what. See routes.h.
 */
#include <string.h>

#include "agent/http/mcp_post.h"
#include "agent/http/network_switch.h"
#include "agent/http/older.h"
#include "agent/http/openapi.h"
#include "agent/http/pages.h"
#include "agent/http/routes.h"
#include "agent/http/v1.h"

const struct route routes[] = {
	{"POST", "/v1/*", 0, "Does an operation; its arguments are the body", v1_operate},
	{"GET", "/v1/operations", 0, "The operations, with the JSON Schemas of their arguments and answers", v1_operations},
	{"GET", "/v1/events", 0, "What happens in a sandbox, as it happens", v1_events},
	{"GET", "/v1/executions/*/output", 0, "What a program writes, as it comes", v1_output},
	{"GET", "/openapi.json", 0, "This description", openapi_answer},
	{"POST", "/mcp", 0, "A message of the Model Context Protocol", mcp_post_answer},
	{"POST", "/execute", ROUTE_PLAIN, "Runs code or a command, and waits for its end", older_execute},
	{"GET", "/status/*", ROUTE_PLAIN, "How an execution stands", older_status},
	{"GET", "/info", ROUTE_PLAIN, "The manager, its executors and counts", older_info},
	{"POST", "/kill/*", ROUTE_PLAIN, "Kills an execution", older_kill},
	{"GET", "/config", ROUTE_PLAIN, "The configuration", older_config},
	{"PUT", "/config", ROUTE_PLAIN, "Changes the configuration until the end of the server", older_configure},
	{"GET", "/network/*", 0, "What a sandbox can reach", network_answer},
	{"PUT", "/network/*", 0, "Switches the network of a sandbox off, or on again", network_switch},
	{"GET", "/", ROUTE_OPEN, "The page to look at, and its files", pages_answer},
	{0},
};

/* Whether `path` is as the pattern; what stands for its star is not empty, and has no '/'. */
static bool matches(const struct route *route, const char *path, char rest[ROUTES_REST_SIZE])
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
	if (length == 0 || length >= ROUTES_REST_SIZE || strcmp(path + head + length, star + 1) != 0)
		return false;
	*(char *)mempcpy(rest, path + head, length) = '\0';
	return true;
}

const struct route *routes_find(const char *method, const char *path, char rest[ROUTES_REST_SIZE], char methods[ROUTES_REST_SIZE])
{
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	*methods = '\0';
	for (const struct route *route = routes; route->method; route++) {
		if (!matches(route, path, rest))
			continue;
		if (strcmp(route->method, method) == 0)
			return route;
		if (*methods)
			(void)strcat(methods, ", "); /* the methods of all rows together are shorter than it */
		(void)strcat(methods, route->method);
	}
	return NULL;
}
