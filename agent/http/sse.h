/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of events to a client (Server-Sent Events, HTML Living Standard 9.2), filled as fast as
 * the client reads.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/http/exchange.h"

#define SSE_PENDING_MAX ((size_t)4 << 20) /* bytes that the client has not read */

struct sse;

/*
 * Adds pending events, if there are any. Called when everything before has been read, and after
 * sse_wake().
 */
typedef void (*sse_fill_fn)(struct sse *sse, void *data);

/*
 * Answers with a stream, which becomes the exchange's work. `end` is called when the stream ends.
 * `fill` may be NULL. Returns NULL without memory, after answering; then the caller still owns
 * `data`.
 */
struct sse *sse_begin(struct exchange *exchange, sse_fill_fn fill, void *data,
                      void (*end)(void *data));

/*
 * Adds one event; `id` NULL: without an id. `text` must be JSON without a newline. If the event
 * cannot be buffered, the stream ends.
 */
void sse_add(struct sse *sse, const char *event, const char *id, const char *text, size_t length);
void sse_add_json(struct sse *sse, const char *event, const char *id, json_t *taken);

/* There may be new events: calls `fill` again. */
void sse_wake(struct sse *sse);

/* Ends the stream once the client has read what was added. */
void sse_end(struct sse *sse);
