/* SPDX-License-Identifier: Apache-2.0 */
/* See sse.h. */
#include <stdio.h>
#include <string.h>

#include "agent/http/reply.h"
#include "agent/http/sse.h"

struct sse {
	struct exchange *exchange;
	sse_fill_fn fill;
	void *data;
	void (*end)(void *data);
	char *pending; /* added data; `at` bytes of it were read */
	size_t length, at, room;
	bool is_over;
};

static void sse_free(void *work)
{
	struct sse *sse = work;

	if (sse->end)
		sse->end(sse->data);
	free(sse->pending);
	free(sse);
}

static ssize_t sse_read(void *work, char *buffer, size_t size)
{
	struct sse *sse = work;
	size_t length;

	if (sse->at == sse->length && !sse->is_over && sse->fill)
		sse->fill(sse, sse->data);
	if (sse->at == sse->length)
		return sse->is_over ? -1 : 0;
	length = sse->length - sse->at < size ? sse->length - sse->at : size;
	memcpy(buffer, sse->pending + sse->at, length);
	sse->at += length;
	if (sse->at == sse->length)
		sse->at = sse->length = 0;
	return (ssize_t)length;
}

static bool sse_make_room(struct sse *sse, size_t more)
{
	size_t room = sse->room ? sse->room : 4096;
	char *pending;

	if (sse->at) {
		memmove(sse->pending, sse->pending + sse->at, sse->length - sse->at);
		sse->length -= sse->at;
		sse->at = 0;
	}
	if (sse->length + more > SSE_PENDING_MAX)
		return false;
	while (room < sse->length + more)
		room *= 2;
	if (room != sse->room) {
		if (!(pending = realloc(sse->pending, room)))
			return false;
		sse->pending = pending;
		sse->room = room;
	}
	return true;
}

/* Adds an SSE comment, which clients ignore. */
static void sse_beat(void *work)
{
	struct sse *sse = work;

	if (sse_make_room(sse, 3)) {
		memcpy(sse->pending + sse->length, ":\n\n", 3);
		sse->length += 3;
	}
}

struct sse *sse_begin(struct exchange *exchange, sse_fill_fn fill, void *data,
                      void (*end)(void *data))
{
	struct sse *sse = calloc(1, sizeof *sse);

	if (!sse) {
		exchange_answer(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, NULL);
		return NULL;
	}
	*sse = (struct sse){.exchange = exchange, .fill = fill, .data = data, .end = end};
	exchange_set_work(exchange, sse, sse_free);
	exchange_stream(exchange, "text/event-stream", sse_read, sse_beat);
	return sse;
}

void sse_add(struct sse *sse, const char *event, const char *id, const char *text, size_t length)
{
	size_t most =
		length + strlen(event) + (id ? strlen(id) : 0) + sizeof "event: \nid: \ndata: \n\n";
	char *to;

	if (sse->is_over)
		return;
	if (!sse_make_room(sse, most)) {
		sse_end(sse);
		return;
	}
	to = sse->pending + sse->length;
	to += sprintf(to, "event: %s\n", event);
	if (id)
		to += sprintf(to, "id: %s\n", id);
	to = mempcpy(to, "data: ", 6);
	to = mempcpy(to, text, length);
	to = mempcpy(to, "\n\n", 2);
	sse->length = (size_t)(to - sse->pending);
	sse_wake(sse);
}

void sse_add_json(struct sse *sse, const char *event, const char *id, json_t *taken)
{
	char *text = taken ? json_dumps(taken, JSON_COMPACT) : NULL;

	json_decref(taken);
	if (text)
		sse_add(sse, event, id, text, strlen(text));
	else
		sse_end(sse);
	free(text);
}

void sse_wake(struct sse *sse)
{
	exchange_wake(sse->exchange);
}

void sse_end(struct sse *sse)
{
	sse->is_over = true;
	exchange_wake(sse->exchange);
}
