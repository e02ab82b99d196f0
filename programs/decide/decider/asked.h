/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes in words what a request for a sandbox asks for. The audit records that text beside the
 * plan, which says what the policy makes of the request.
 *
 * Pure; no privilege. The text has the client's own bytes: escape it before showing it.
 */
#pragma once

#include "protocol/message.h"

#define ASKED_SIZE 1024

/*
 * Writes for example "memory=1G network=limited allow=pypi.org:443 rw=/work". Leaves out every
 * value that the request leaves to the profile. Ends with "…" where not all fits. Returns `out`.
 */
char *asked_describe(const struct message *request, char out[ASKED_SIZE]);
