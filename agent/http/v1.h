/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP interface of the operations, and streams of events and output.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/exchange.h"

/*
 * POST /v1/OPERATION: the body has the arguments; the outcome determines the status. When the
 * client goes away, what it started is killed.
 */
void v1_operate(struct exchange *exchange);

/* GET /v1/operations */
void v1_operations(struct exchange *exchange);

/*
 * GET /v1/events?sandbox=ID&after=NUMBER: a stream of events. With an id or name: of that sandbox,
 * until it has ended; else of all sandboxes. Begins after NUMBER or the header Last-Event-ID;
 * without either, with new events. Each event has the form of the operation `events`; its kind is
 * the SSE event name, its number the SSE id.
 */
void v1_events(struct exchange *exchange);

/*
 * GET /v1/executions/ID/output: a stream of all output, past and future. Events "stdout" and
 * "stderr": {"phase": "compile" or "run", "text": …, and "skipped": number of dropped bytes before
 * the text}. The last event is "end": {"status": …}.
 */
void v1_output(struct exchange *exchange);
