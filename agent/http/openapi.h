/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the server as OpenAPI 3.1, from the tables of operations and routes.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/http/exchange.h"

/* `routes` ends with a row without a method. The caller owns the result. NULL: no memory. */
json_t *openapi_describe(const struct route *routes);
