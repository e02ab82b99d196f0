/*
 * The operations by HTTP, and what happens and is written as it comes.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

/* POST /v1/OPERATION: its arguments are the body, its outcome is the status. A client that goes
 * away takes with it what it started. */
void v1_operate(struct exchange *exchange);

/* GET /v1/operations */
void v1_operations(struct exchange *exchange);

/*
 * GET /v1/events?sandbox=ID&after=NUMBER: a stream, of one sandbox (an id or name) until that has
 * ended; without a sandbox of all, and without a number (also of the header Last-Event-ID) from now
 * on. Each is as the operation `events` gives it, with its kind as the name of the event and its
 * number as its id.
 */
void v1_events(struct exchange *exchange);

/*
 * GET /v1/executions/ID/output: a stream of all that it wrote and writes. "stdout" and "stderr":
 * {"phase": "compile" or "run", "text": …, and "skipped": so many bytes before it are not kept any
 * more}; at last "end": {"status": …}.
 */
void v1_output(struct exchange *exchange);
