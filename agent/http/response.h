/* SPDX-License-Identifier: Apache-2.0 */
/* The headers that every response has. Runs with the caller's privilege. */
#pragma once

#include <microhttpd.h>

/* Adds these headers, and the content type (NULL: none). */
void response_finish(struct MHD_Response *response, const char *type);
