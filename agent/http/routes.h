/*
 * Which path is answered by what: one table.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

enum route_flag {
	ROUTE_OPEN = 1,  /* also without the token: it leads a browser here, and does no more */
	ROUTE_PLAIN = 2, /* of the older manager, whose refusals are plain text */
};

struct route {
	const char *method; /* "GET", which HEAD is, too */
	const char *path;   /* "/status/" and a star: anything in the star's place, but '/', is the
	                       request's `rest` */
	uint32_t flags;     /* enum route_flag, or-ed */
	/* Answers, or sees to it that it is answered later. */
	void (*answer)(struct exchange *exchange);
	/* For OpenAPI: */
	const char *summary;
	const char *type;         /* of what it answers; NULL: JSON */
	const char *const *query; /* names of what may stand in the query, which ends with NULL;
	                             NULL: nothing */
};

/* Ends with a row without method. */
extern const struct route routes[];

#define ROUTES_REST_SIZE 256

/*
 * The route of this method and path; rest[0 … size) gets what the path has in the star's place.
 * NULL: there is none; then methods[0 … size) gets those that the path has ("GET, PUT"); none: it
 * is no path of the server.
 */
const struct route *routes_find(const char *method, const char *path, char rest[ROUTES_REST_SIZE],
                                char methods[ROUTES_REST_SIZE]);
