/* SPDX-License-Identifier: Apache-2.0 */
/* See call_outcome.h. */
#include "agent/call_outcome.h"

#include <stddef.h>

#include "base/fd.h"

/* Codes that are not in this table are CALL_UNAVAILABLE. */
static const struct {
	enum yett_code code;
	enum call_outcome outcome;
} outcomes[] = {
	{YETT_E_INVALID_REQUEST, CALL_INVALID},       {YETT_E_ALREADY_EXISTS, CALL_INVALID},
	{YETT_E_FILE_OPERATION_FAILED, CALL_INVALID}, {YETT_E_COMMAND_FAILED, CALL_INVALID},
	{YETT_E_PERMISSION_DENIED, CALL_REFUSED},     {YETT_E_SECURITY_VIOLATION, CALL_REFUSED},
	{YETT_E_BAD_SIGNATURE, CALL_REFUSED},         {YETT_E_NETWORK_DENIED, CALL_REFUSED},
	{YETT_E_NOT_FOUND, CALL_NOT_FOUND},           {YETT_E_NOT_RUNNING, CALL_NOT_FOUND},
	{YETT_E_UNSUPPORTED, CALL_UNSUPPORTED},
};

enum call_outcome call_outcome_of(enum yett_code code)
{
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		if (outcomes[i].code == code)
			return outcomes[i].outcome;
	return CALL_UNAVAILABLE;
}
