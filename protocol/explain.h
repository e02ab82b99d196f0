/*
 * Why a message is refused, for those who owe their caller or their peer an explanation. Pure; no
 * privilege, no allocation.
 */
#pragma once

#include "protocol/schema.h"

/*
 * Whether message_encode() would find room for it and take it. 0, or YETT_E_INVALID_REQUEST with
 * the reason and the field in the detail.
 */
_must_check_ int message_check(const struct message *message, struct yett_error *error);

/*
 * Fills `error` with the reason, with what `field` (may be NULL) allows, and with the path as
 * detail; returns `code`.
 */
int explain_refusal(struct yett_error *error, enum yett_code code, enum yett_reason reason,
                    const struct schema_path *path, const struct schema_field *field);
