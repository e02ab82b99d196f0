/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes: which function answers which path.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

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
