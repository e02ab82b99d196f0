/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives requests: checks access, finds the route, reads the body, and lets the route answer at
 * once or later.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

/*
 * Callbacks of libmicrohttpd: the request line was read; the headers, a part of the body, or the
 * whole request was read; the exchange is over.
 */
void *receiver_on_line(void *data, const char *uri, struct MHD_Connection *connection);
enum MHD_Result receiver_on_part(void *data, struct MHD_Connection *connection, const char *path,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_size, void **context);
void receiver_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);
