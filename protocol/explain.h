/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains why a message was refused, for processes that report that to their caller or peer. Pure;
 * no privilege, no allocation.
 */
#pragma once

#include "protocol/message.h"
#include "protocol/schema.h"

/*
 * Checks that message_encode() would accept the message and that it would fit into a packet.
 * Returns 0, or YETT_E_INVALID_REQUEST with the reason, and the path of the field in the detail.
 */
_must_check_ int message_check(const struct message *message, struct yett_error *error);

/*
 * Fills `error` with the reason, the values that `field` (may be NULL) allows, and the path as
 * detail. `error` may be NULL. Returns `code`.
 */
int explain_refusal(struct yett_error *error, enum yett_code code, enum yett_reason reason,
                    const struct schema_path *path, const struct schema_field *field);
