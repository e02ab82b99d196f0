/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the server as OpenAPI 3.1, from the tables of operations and routes.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

void openapi_answer(struct exchange *exchange);
