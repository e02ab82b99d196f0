/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes: which function answers which path.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

enum route_flag {
	ROUTE_OPEN = 1,  /* served also without the token: only to exchange `once` for the cookie */
	ROUTE_PLAIN = 2, /* of the compatibility API, whose errors are plain text */
};

struct route {
	const char *method; /* "GET" stands for HEAD, too */
	/* "/status/" and a star, which matches any text without '/': the request's `rest`. */
	const char *path;
	uint32_t flags; /* bits of enum route_flag */
	/* Answers at once, or arranges for a later answer. */
	void (*answer)(struct exchange *exchange);
	/* For OpenAPI: */
	const char *summary;
	const char *type;         /* content type of the answer; NULL: JSON */
	const char *const *query; /* Names of query parameters; ends with NULL. NULL: none. */
};

/* Ends with a row without a method. */
extern const struct route routes[];

#define ROUTES_REST_SIZE 256

/*
 * Finds the route of a method and path. `rest` receives the part of the path that matches the star.
 * Returns NULL if there is none: then `methods` receives the methods of the path ("GET, PUT"), or
 * "" if the path is unknown.
 */
const struct route *routes_find(const char *method, const char *path, char rest[ROUTES_REST_SIZE],
                                char methods[ROUTES_REST_SIZE]);
