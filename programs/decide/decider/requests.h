/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves one client: receives its packets, and has each request verified, decided and carried out.
 *
 * In the decider, without privilege.
 */
#pragma once

#include "programs/decide/decider/connection.h"

/*
 * Serves the connection until it ends, which is the whole life of a decider. `reader` is a socket
 * to yett-reader (-1: none). Everything but the two sockets is borrowed.
 */
void requests_serve(const struct decider_begin *begin, const struct plan_limits *given,
                    const struct policy *policy, struct decoder *decoder, int socket, int reader);
