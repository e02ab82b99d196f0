/*
 * A stream of events to a client (Server-Sent Events, HTML Living Standard 9.2), which is filled as
 * fast as it is read.
 *
 * With the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "agent/http/server.h"

#define SSE_PENDING_MAX ((size_t)4 << 20) /* not read yet */

struct sse;

/* Adds what there is to say, if anything. Called whenever all before has been read, and after
 * sse_wake(). */
typedef void (*sse_fill_fn)(struct sse *sse, void *data);

/*
 * Answers with a stream, which is the exchange's work from now on: `end` is called with its end.
 * `fill` may be NULL. NULL: no memory; it was answered then, and `data` is the caller's as before.
 */
struct sse *sse_begin(struct exchange *exchange, sse_fill_fn fill, void *data,
                      void (*end)(void *data));

/* One event; `id` NULL: none. `text` is JSON, which has no line end. What cannot be kept ends the
 * stream. */
void sse_add(struct sse *sse, const char *event, const char *id, const char *text, size_t length);
void sse_add_json(struct sse *sse, const char *event, const char *id, json_t *taken);

/* There may be something to say. */
void sse_wake(struct sse *sse);

/* There is nothing more to say: it is over once what was said is read. */
void sse_end(struct sse *sse);
