/* SPDX-License-Identifier: Apache-2.0 */
/* See v1.h. */
#include "agent/http/v1.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/operations.h"
#include "agent/execution.h"
#include "agent/event_log.h"
#include "agent/http/reply.h"
#include "agent/http/sse.h"

#define EVENTS_AT_ONCE 64
#define PIECE_MAX      ((size_t)32 << 10)

/* --- operations ------------------------------------------------------------------------------- */

static void end_call(void *work)
{
	call_free(work);
}

static void v1_on_done(struct call *call, void *data)
{
	struct exchange *exchange = data;

	reply_call(exchange, call);
	exchange_set_work(exchange, NULL, NULL);
	call_free(call);
}

void v1_operate(struct exchange *exchange)
{
	const struct call_options options = {.on_done = v1_on_done, .data = exchange};
	json_t *arguments = reply_parse(exchange, json_object());
	struct call *call;

	if (!arguments)
		return;
	call = operations_begin(exchange->agent, exchange->rest, arguments, &options);
	json_decref(arguments);
	if (!call)
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY,
		             "no memory for the call");
	else
		exchange_set_work(exchange, call, end_call);
}

void v1_operations(struct exchange *exchange)
{
	json_t *all = json_array();

	for (const struct operation *operation = operations; operation->name; operation++)
		(void)json_array_append_new(all, operation_describe(operation));
	reply_json(exchange, MHD_HTTP_OK, json_pack("{s:o}", "operations", all));
}

/* --- events ----------------------------------------------------------------------------------- */

struct events_stream {
	struct agent *agent;
	struct event_listener *listener;
	struct sse *sse;
	char sandbox[YETT_ID_SIZE]; /* sandbox id; empty: all sandboxes */
	uint64_t last;
};

static void v1_on_logged(const json_t *json, uint64_t number, void *data)
{
	struct events_stream *stream = data;

	(void)json;
	(void)number;
	if (stream->sse)
		sse_wake(stream->sse);
}

static void fill_events(struct sse *sse, void *data)
{
	struct events_stream *stream = data;
	uint64_t last = stream->last;
	json_t *list = event_log_list(stream->agent, *stream->sandbox ? stream->sandbox : NULL,
	                              stream->last, EVENTS_AT_ONCE, &last),
	       *event;
	bool is_over = false;
	char id[24];
	size_t i;

	json_array_foreach(list, i, event)
	{
		const char *kind = json_string_value(json_object_get(event, "kind"));

		is_over = *stream->sandbox && kind &&
		          strcmp(kind, yett_event_name(YETT_EVENT_ENDED)) == 0;
		(void)snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT,
		               json_integer_value(json_object_get(event, "number")));
		sse_add_json(sse, kind ? kind : "message", id, json_incref(event));
	}
	stream->last = last;
	json_decref(list);
	if (is_over)
		sse_end(sse);
}

static void end_events(void *data)
{
	struct events_stream *stream = data;

	event_log_leave(stream->listener);
	free(stream);
}

/* Returns -1 if no number was given, -2 if it is invalid. */
static int64_t wanted_after(const struct exchange *exchange)
{
	const char *text = exchange_header(exchange, "Last-Event-ID");
	int64_t number;
	char *end;

	if (!text)
		text = exchange_query(exchange, "after");
	if (!text)
		return -1;
	errno = 0;
	number = strtoll(text, &end, 10);
	return end == text || *end || errno || number < 0 ? -2 : number;
}

static int v1_follow(struct agent *agent, const char *sandbox, char id[YETT_ID_SIZE],
                     struct yett_error *error)
{
	*id = '\0';
	return sandbox ? event_log_follow(agent, sandbox, id, error)
	               : event_log_follow_all(agent, error);
}

void v1_events(struct exchange *exchange)
{
	int64_t after = wanted_after(exchange);
	struct events_stream *stream;
	struct yett_error error;
	char id[YETT_ID_SIZE];

	if (after == -2) {
		reply_refuse(exchange, MHD_HTTP_BAD_REQUEST, YETT_E_INVALID_REQUEST,
		             "after: expected a number");
		return;
	}
	if (v1_follow(exchange->agent, exchange_query(exchange, "sandbox"), id, &error) != 0) {
		reply_problem(exchange, reply_status(error.code), &error);
		return;
	}
	stream = calloc(1, sizeof *stream);
	if (stream) {
		/* Without a number, only new events. */
		*stream = (struct events_stream){
			.agent = exchange->agent,
			.last = after >= 0 ? (uint64_t)after
		                           : event_log_last(exchange->agent, NULL)};
		(void)strcpy(stream->sandbox, id);
		stream->listener = event_log_listen(exchange->agent, v1_on_logged, stream);
	}
	if (!stream || !stream->listener) {
		free(stream);
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY,
		             "no memory for a stream");
		return;
	}
	if (!(stream->sse = sse_begin(exchange, fill_events, stream, end_events)))
		end_events(stream);
}

/* --- outputs ---------------------------------------------------------------------------------- */

struct output_stream {
	struct agent *agent;
	struct execution_watch *watch; /* NULL: the execution is over */
	struct sse *sse;
	char id[EXECUTION_ID_SIZE];
	uint64_t read[EXECUTION_PHASES][2];
};

static const char *const phase_names[] = {[EXECUTION_COMPILE] = "compile", [EXECUTION_RUN] = "run"};

/* The length without an incomplete UTF-8 character at the end, whose missing bytes may follow. */
static size_t whole(const char *bytes, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		uint8_t byte = (uint8_t)bytes[length - back];
		size_t needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

		if (byte >= 0xc0)
			return needs > back ? length - back : length;
		if (byte < 0x80)
			return length;
	}
	return length;
}

/* Sends a piece of one output. Returns false if there is nothing new. */
static bool fill_output(struct output_stream *stream, const struct output_buffer *kept,
                        enum execution_phase_name phase, int which, bool is_over)
{
	uint64_t *read = &stream->read[phase][which], skipped = 0;
	_cleanup_free_ char *bytes = NULL;
	size_t length = 0, taken;
	json_t *json;

	if (*read >= kept->total)
		return false;
	if (output_buffer_read(kept, *read, PIECE_MAX, &bytes, &length) == -ENODATA &&
	    kept->tail_length) {
		skipped = kept->total - kept->tail_length - *read;
		*read += skipped;
		if (output_buffer_read(kept, *read, PIECE_MAX, &bytes, &length) != 0)
			return false;
	}
	taken = is_over && *read + length == kept->total ? length : whole(bytes, length);
	if (taken == 0)
		return false;
	*read += taken;
	json = json_pack("{s:s, s:o}", "phase", phase_names[phase], "text",
	                 field_make_text(bytes, taken));
	if (skipped)
		(void)json_object_set_new(json, "skipped", json_integer((json_int_t)skipped));
	sse_add_json(stream->sse, which == 0 ? "stdout" : "stderr", NULL, json);
	return true;
}

static void fill_outputs(struct sse *sse, void *data)
{
	struct output_stream *stream = data;
	const struct execution *execution = execution_find(stream->agent, stream->id);
	bool is_any = false;

	stream->sse = sse;
	for (int i = 0; execution && i < EXECUTION_PHASES; i++) {
		const struct execution_phase *phase = &execution->phases[i];
		bool is_over = phase->is_over || execution_is_over(execution);

		is_any = fill_output(stream, &phase->out, (enum execution_phase_name)i, 0,
		                     is_over) ||
		         is_any;
		is_any = fill_output(stream, &phase->err, (enum execution_phase_name)i, 1,
		                     is_over) ||
		         is_any;
	}
	if (is_any || (execution && !execution_is_over(execution)))
		return;
	sse_add_json(sse, "end", NULL,
	             json_pack("{s:s?}", "status",
	                       execution ? execution_status_name(execution->status) : NULL));
	sse_end(sse);
}

static void v1_on_output(struct execution *execution, enum yett_stream which, const char *bytes,
                         size_t length, void *data)
{
	struct output_stream *stream = data;

	(void)execution;
	(void)which;
	(void)bytes;
	(void)length;
	if (stream->sse)
		sse_wake(stream->sse);
}

static void on_over(struct execution *execution, void *data)
{
	struct output_stream *stream = data;

	(void)execution;
	stream->watch = NULL;
	if (stream->sse)
		sse_wake(stream->sse);
}

static void end_outputs(void *data)
{
	struct output_stream *stream = data;

	if (stream->watch)
		execution_unwatch(stream->watch);
	free(stream);
}

void v1_output(struct exchange *exchange)
{
	struct execution *execution = execution_find(exchange->agent, exchange->rest);
	struct output_stream *stream;

	if (!execution) {
		reply_refuse(exchange, MHD_HTTP_NOT_FOUND, YETT_E_NOT_FOUND,
		             "no execution %.32s: wrong id, or its record was dropped",
		             exchange->rest);
		return;
	}
	if ((stream = calloc(1, sizeof *stream))) {
		stream->agent = exchange->agent;
		(void)strcpy(stream->id, execution->id);
		if (!execution_is_over(execution))
			stream->watch = execution_watch(execution, v1_on_output, on_over, stream);
	}
	if (!stream || (!stream->watch && !execution_is_over(execution))) {
		free(stream);
		reply_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, YETT_E_OUT_OF_MEMORY,
		             "no memory for a stream");
		return;
	}
	if (!(stream->sse = sse_begin(exchange, fill_outputs, stream, end_outputs)))
		end_outputs(stream);
}
