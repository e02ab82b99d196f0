/*
 * The server described as OpenAPI 3.1, made of the tables of operations and routes.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

void openapi_answer(struct exchange *exchange);
