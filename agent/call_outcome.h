/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result class of a call.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include "libclient/yett.h"

/* The result class of a call: exit statuses and HTTP statuses are derived from it. */
enum call_outcome {
	CALL_SUCCEEDED = 0,
	CALL_PROGRAM_FAILED = 1, /* the program that was run failed; the call has an answer */
	/* The program that was run reached its timeout; the call has an answer. */
	CALL_TIMED_OUT = 2,
	CALL_INVALID = 3, /* the request is malformed */
	CALL_REFUSED = 4, /* the policy or the bounds do not permit the request */
	CALL_NOT_FOUND = 5,
	CALL_UNSUPPORTED = 6, /* this host or Yett does not support the request */
	CALL_UNAVAILABLE = 7, /* the helper, or a resource, is not available now */
	CALL_CANCELLED = 8,
};

/* The outcome of an error with this code. */
enum call_outcome call_outcome_of(enum yett_code code);
