/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See driver.h.
 *
 * A request is one line on the driver's standard input. The driver's output belongs to the code
 * until a marker, which contains a nonce that the code cannot predict. The driver writes the marker
 * to both outputs, and after that on standard output one line of JSON, the outcome. The piece of
 * code is over when both markers and the outcome have arrived.
 */
#include "agent/runner/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/nonce.h"

#define NONCE_SIZE  32 /* hexadecimal digits */
#define MARKER_SIZE (NONCE_SIZE + 2)
#define OUTCOME_MAX (1 << 20)
#define NUMBER_MAX  9e15 /* exact as a double and in JSON: below 2^53 */
/* Index in a language's kept_by of the program, which an interpreter replaces. */
#define KEPT_BY_PROGRAM 4

/* The state of one output while a piece runs. */
struct driver_stream {
	char held[MARKER_SIZE]; /* bytes that may begin the marker */
	size_t held_length;
	bool is_marked;
};

struct driver {
	struct drivers *all;
	struct handle *handle;
	const struct language *language;
	struct yett_command *command;
	int requests;
	sd_event_source *writable, *settling, *timer;
	char *unsent;
	size_t unsent_length, sent;
	struct driver_piece *current, *waiting; /* running piece; queue of the others */
	char marker[MARKER_SIZE + 1];
	struct driver_stream streams[2];
	char *line; /* the part of the outcome that has arrived */
	size_t line_length;
	bool has_line;
	bool has_answered; /* at least one piece has ended normally */
	bool is_doomed;    /* was sent SIGKILL, and gets no more pieces */
	bool is_ending;    /* end_driver() runs: ignore further callbacks */
	uint64_t begun_us;
	struct driver *next;
};

struct driver_piece {
	struct driver *driver; /* NULL: the piece is over, or its driver has ended */
	struct execution *execution;
	struct driver_request request;
	bool is_timed_out;
	struct driver_piece *next;
};

struct drivers {
	struct driver *first;
};

static uint64_t now_us(const struct driver *driver)
{
	uint64_t now = 0;

	(void)sd_event_now(driver->handle->agent->loop, CLOCK_MONOTONIC, &now);
	return now;
}

struct drivers *drivers_new(void)
{
	return calloc(1, sizeof(struct drivers));
}

static void unlink_driver(struct driver *driver)
{
	for (struct driver **at = &driver->all->first; *at; at = &(*at)->next) {
		if (*at == driver) {
			*at = driver->next;
			return;
		}
	}
}

/*
 * Frees the driver without calling `over`. If the driver still runs, it reads the end of its input.
 */
static void free_driver(struct driver *driver)
{
	unlink_driver(driver);
	(void)sd_event_source_disable_unref(driver->writable);
	(void)sd_event_source_disable_unref(driver->settling);
	(void)sd_event_source_disable_unref(driver->timer);
	(void)fd_close(driver->requests);
	yett_command_free(driver->command);
	(void)handle_unref(driver->handle);
	free(driver->unsent);
	free(driver->line);
	free(driver);
}

void drivers_free(struct drivers *drivers)
{
	while (drivers && drivers->first)
		free_driver(drivers->first);
	free(drivers);
}

/*
 * Does not wait: code in the sandbox may keep init from answering, and other clients must be served
 * meanwhile.
 */
static void kill_driver(struct driver *driver)
{
	uint64_t grace_us = (uint64_t)EXECUTION_GRACE_MS * 1000;

	if (driver->is_doomed)
		return;
	driver->is_doomed = true;
	/* Fails if the driver or its sandbox has ended, which on_exit_of_driver() reports. */
	(void)!yett_command_signal(driver->command, SIGKILL, NULL);
	if (sd_event_source_set_time_relative(driver->timer, grace_us) >= 0)
		(void)sd_event_source_set_enabled(driver->timer, SD_EVENT_ONESHOT);
}

/* --- requests --------------------------------------------------------------------------------- */

static int driver_on_writable(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct driver *driver = data;
	ssize_t n = 0;

	(void)events;
	while (driver->sent < driver->unsent_length) {
		n = write(fd, driver->unsent + driver->sent, driver->unsent_length - driver->sent);
		if (n < 0)
			break;
		driver->sent += (size_t)n;
	}
	/* If the driver has ended, on_exit_of_driver() reports that. */
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static void emit(struct driver *driver, enum yett_stream stream, const char *bytes, size_t length)
{
	if (length > 0)
		execution_add(driver->current->execution, EXECUTION_RUN, stream, bytes, length);
}

static void driver_take_line(struct driver *driver, const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\n', length);
	size_t size = end ? (size_t)(end - bytes) : length;
	char *line;

	if (driver->has_line)
		return;
	if (driver->line_length + size <= OUTCOME_MAX &&
	    (line = realloc(driver->line, driver->line_length + size + 1))) {
		driver->line = line;
		memcpy(line + driver->line_length, bytes, size);
		driver->line_length += size;
	}
	driver->has_line = end != NULL;
}

/* The number of bytes at the end that may be the beginning of the marker. */
static size_t tail_of_marker(const struct driver *driver, const char *bytes, size_t length)
{
	size_t most = length < MARKER_SIZE - 1 ? length : MARKER_SIZE - 1;

	for (size_t size = most; size > 0; size--) {
		if (memcmp(bytes + length - size, driver->marker, size) == 0)
			return size;
	}
	return 0;
}

/*
 * Output before the marker belongs to the code. Drops what comes after the marker, except the
 * outcome on standard output.
 */
static void take_bytes(struct driver *driver, enum yett_stream number, const char *bytes,
                       size_t length)
{
	struct driver_stream *stream = &driver->streams[number];
	const char *marker = memmem(bytes, length, driver->marker, MARKER_SIZE);
	size_t held;

	if (marker) {
		emit(driver, number, bytes, (size_t)(marker - bytes));
		stream->is_marked = true;
		if (number == YETT_STREAM_OUT)
			driver_take_line(driver, marker + MARKER_SIZE,
			                 (size_t)(bytes + length - marker) - MARKER_SIZE);
		return;
	}
	held = tail_of_marker(driver, bytes, length);
	emit(driver, number, bytes, length - held);
	memcpy(stream->held, bytes + length - held, held);
	stream->held_length = held;
}

static void driver_on_output(struct yett_command *command, enum yett_stream number,
                             const char *bytes, size_t length, void *data)
{
	struct driver *driver = data;
	struct driver_stream *stream = &driver->streams[number];
	_cleanup_free_ char *joined = NULL;

	(void)command;
	if (!driver->current)
		return; /* written by processes that an earlier piece left running */
	if (stream->is_marked) {
		if (number == YETT_STREAM_OUT)
			driver_take_line(driver, bytes, length);
	} else if (stream->held_length == 0) {
		take_bytes(driver, number, bytes, length);
	} else if ((joined = malloc(stream->held_length + length))) {
		memcpy(joined, stream->held, stream->held_length);
		memcpy(joined + stream->held_length, bytes, length);
		take_bytes(driver, number, joined, stream->held_length + length);
	}
	if (driver->has_line && driver->streams[YETT_STREAM_ERR].is_marked)
		(void)sd_event_source_set_enabled(driver->settling, SD_EVENT_ONESHOT);
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void end_driver(struct driver *driver);

static int driver_on_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct driver *driver = data;

	(void)source;
	(void)at_us;
	if (driver->is_doomed) {
		/*
		 * The sandbox does not report the driver's end. Forget the sandbox handle, so that
		 * the next request attaches anew.
		 */
		handle_forget(driver->handle);
		end_driver(driver);
	} else if (driver->current) {
		driver->current->is_timed_out = true;
		kill_driver(driver);
	}
	return 0;
}

/*
 * Reads a number that the driver reports, which may have any value. Returns 0 unless it is positive
 * and below NUMBER_MAX.
 */
static uint64_t driver_number_of(const json_t *outcome, const char *name, double scale)
{
	double number = json_number_value(json_object_get(outcome, name)) * scale;

	return number > 0 && number < NUMBER_MAX ? (uint64_t)number : 0;
}

/*
 * Takes times and memory from the driver's report. The code could forge them, but would gain
 * nothing.
 */
static void fill_result(struct driver *driver, const json_t *outcome)
{
	struct execution_phase *phase = &driver->current->execution->phases[EXECUTION_RUN];

	phase->is_over = true;
	phase->result = (struct yett_result){
		.size = sizeof phase->result,
		.status = (int)(driver_number_of(outcome, "status", 1) & 255),
		.wall_us = now_us(driver) - driver->begun_us,
		.user_us = driver_number_of(outcome, "user", 1e6),
		.system_us = driver_number_of(outcome, "system", 1e6),
		.memory_peak_bytes = driver_number_of(outcome, "memory", 1),
	};
}

/* Detaches the piece from the driver; from here on only its execution owns the piece. */
static struct driver_piece *take_current(struct driver *driver)
{
	struct driver_piece *piece = steal_ptr(&driver->current);

	if (!driver->is_doomed)
		(void)sd_event_source_set_enabled(driver->timer, SD_EVENT_OFF);
	piece->driver = NULL;
	return piece;
}

static void begin_next(struct driver *driver);

/* Called when the outcome and both markers have arrived. */
static void driver_settle(struct driver *driver)
{
	json_t *outcome =
		json_loadb(driver->line ? driver->line : "", driver->line_length, 0, NULL);
	struct driver_piece *piece;

	if (!json_is_object(outcome)) {
		json_decref(outcome);
		outcome = json_pack("{s:i, s:s}", "status", 1, "error",
		                    "the result of the code was lost");
	}
	fill_result(driver, outcome);
	driver->has_answered = true;
	piece = take_current(driver);
	piece->request.over(piece->execution, outcome, false);
	json_decref(outcome);
}

static int on_settling(sd_event_source *source, void *data)
{
	struct driver *driver = data;

	(void)source;
	if (driver->current && driver->has_line && driver->streams[YETT_STREAM_ERR].is_marked)
		driver_settle(driver);
	begin_next(driver);
	return 0;
}

static int enqueue(struct driver_piece *piece, struct yett_error *error);

/* Moves waiting pieces of code to a new driver, whose interpreter has no variables yet. */
static void run_elsewhere(struct driver_piece *waiting)
{
	struct driver_piece *piece;
	struct yett_error error;

	while ((piece = waiting)) {
		waiting = piece->next;
		piece->driver = NULL;
		if (enqueue(piece, &error) != 0)
			execution_end(piece->execution, EXECUTION_FAILED, &error);
	}
}

/* Ends the current piece, which did not end normally, because the driver has ended. */
static struct driver_piece *lose_current(struct driver *driver)
{
	struct execution_phase *phase = &driver->current->execution->phases[EXECUTION_RUN];
	const struct yett_result *result;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(driver->streams); i++) {
		if (!driver->streams[i].is_marked)
			emit(driver, (enum yett_stream)i, driver->streams[i].held,
			     driver->streams[i].held_length);
	}
	r = yett_command_wait(driver->command, 0, &result, &phase->error);
	if (r == 0)
		phase->result = *result;
	else if (r == YETT_E_TIMEOUT)
		(void)error_set(&phase->error, YETT_E_TIMEOUT, YETT_R_NONE,
		                "the sandbox does not answer");
	phase->result.wall_us = now_us(driver) - driver->begun_us;
	phase->is_over = true;
	return take_current(driver);
}

static void end_driver(struct driver *driver)
{
	struct driver_piece *piece, *waiting;
	bool is_new;

	driver->is_ending = true;
	if (driver->current && driver->has_line && driver->streams[YETT_STREAM_ERR].is_marked)
		driver_settle(driver);
	piece = driver->current ? lose_current(driver) : NULL;
	is_new = !driver->has_answered;
	waiting = steal_ptr(&driver->waiting);
	free_driver(driver);
	if (piece)
		piece->request.over(piece->execution, NULL, is_new);
	run_elsewhere(waiting);
}

static void on_exit_of_driver(struct yett_command *command, void *data)
{
	struct driver *driver = data;

	(void)command;
	if (!driver->is_ending)
		end_driver(driver);
}

static int send_request(struct driver *driver, struct driver_piece *piece)
{
	char *text;

	driver->marker[0] = '\x1e';
	nonce_make(driver->marker + 1, NONCE_SIZE);
	driver->marker[MARKER_SIZE - 1] = '\x1e'; /* nonce_make() has written a NUL here */
	(void)json_object_set_new(piece->request.request, "nonce",
	                          json_stringn(driver->marker + 1, NONCE_SIZE));
	text = json_dumps(piece->request.request, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (!text)
		return -ENOMEM;
	free(driver->unsent);
	driver->unsent = text;
	driver->unsent_length = strlen(text) + 1;
	text[driver->unsent_length - 1] = '\n';
	driver->sent = 0;
	return sd_event_source_set_enabled(driver->writable, SD_EVENT_ON);
}

static void begin_next(struct driver *driver)
{
	struct driver_piece *piece = driver->waiting;
	struct execution *execution;
	int r;

	if (driver->current || driver->is_doomed || !piece)
		return;
	execution = piece->execution;
	driver->waiting = piece->next;
	driver->current = piece;
	driver->line_length = 0;
	driver->has_line = false;
	memset(driver->streams, 0, sizeof driver->streams);
	driver->begun_us = now_us(driver);
	execution->phases[EXECUTION_RUN].is_begun = true;
	r = send_request(driver, piece);
	if (r >= 0 && piece->request.timeout_ms > 0)
		r = sd_event_source_set_time_relative(driver->timer,
		                                      piece->request.timeout_ms * 1000);
	if (r >= 0 && piece->request.timeout_ms > 0)
		r = sd_event_source_set_enabled(driver->timer, SD_EVENT_ONESHOT);
	/*
	 * Without memory, the request cannot be sent, or has no timeout: kill the driver, which
	 * also ends the piece.
	 */
	if (r < 0)
		kill_driver(driver);
}

static int start_driver(struct driver *driver, const char *interpreter, struct yett_error *error)
{
	static const int stdio[] = {YETT_STDIO_PIPE, YETT_STDIO_STREAM, YETT_STDIO_STREAM};
	struct yett_command_options options = {.size = sizeof options,
	                                       .cwd = "/tmp",
	                                       .stdio = stdio,
	                                       .on_exit = on_exit_of_driver,
	                                       .on_output = driver_on_output,
	                                       .data = driver};
	const char *argv[16] = {NULL};
	sd_event *loop = driver->handle->agent->loop;
	size_t count = 0;
	int r;

	for (const char *const *at = driver->language->kept_by; *at && count + 2 < ARRAY_SIZE(argv);
	     at++)
		argv[count++] = *at;
	if (interpreter)
		argv[KEPT_BY_PROGRAM] = interpreter;
	argv[count] = driver->language->kept;
	options.argv = argv;
	r = yett_sandbox_exec(driver->handle->sandbox, &options, &driver->command, error);
	if (r == 0)
		r = yett_command_take_pipe(driver->command, 0, &driver->requests, error);
	if (r != 0)
		return r;
	if (fcntl(driver->requests, F_SETFL, O_NONBLOCK) < 0 ||
	    sd_event_add_io(loop, &driver->writable, driver->requests, EPOLLOUT, driver_on_writable,
	                    driver) < 0 ||
	    sd_event_source_set_enabled(driver->writable, SD_EVENT_OFF) < 0 ||
	    sd_event_add_defer(loop, &driver->settling, on_settling, driver) < 0 ||
	    sd_event_source_set_enabled(driver->settling, SD_EVENT_OFF) < 0 ||
	    sd_event_add_time(loop, &driver->timer, CLOCK_MONOTONIC, 0, 0, driver_on_time, driver) <
	            0 ||
	    sd_event_source_set_enabled(driver->timer, SD_EVENT_OFF) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a program that keeps state");
	return 0;
}

static int new_driver(struct execution *execution, const struct driver_request *request,
                      struct driver **ret_driver, struct yett_error *error)
{
	struct driver *driver = calloc(1, sizeof *driver);
	int r;

	if (!driver)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a program that keeps state");
	driver->all = execution->agent->drivers;
	driver->handle = handle_ref(execution->handle);
	driver->language = request->language;
	driver->requests = -1;
	driver->next = driver->all->first;
	driver->all->first = driver;
	r = start_driver(driver, request->interpreter, error);
	if (r != 0)
		free_driver(driver);
	else
		*ret_driver = driver;
	return r;
}

static struct driver *find_driver(const struct execution *execution,
                                  const struct language *language)
{
	for (struct driver *driver = execution->agent->drivers->first; driver;
	     driver = driver->next) {
		if (!driver->is_doomed && driver->language == language &&
		    strcmp(driver->handle->id, execution->handle->id) == 0 &&
		    !driver->handle->is_broken)
			return driver;
	}
	return NULL;
}

/*
 * Appends the piece to the queue of the driver for its sandbox and language; starts a driver if
 * there is none.
 */
static int enqueue(struct driver_piece *piece, struct yett_error *error)
{
	struct driver *driver = find_driver(piece->execution, piece->request.language);
	struct driver_piece **end;
	int r = driver ? 0 : new_driver(piece->execution, &piece->request, &driver, error);

	if (r != 0)
		return r;
	piece->driver = driver;
	piece->next = NULL;
	for (end = &driver->waiting; *end; end = &(*end)->next)
		;
	*end = piece;
	/* The piece begins from the loop, after driver_run() has returned it to the caller. */
	(void)sd_event_source_set_enabled(driver->settling, SD_EVENT_ONESHOT);
	return 0;
}

int driver_run(struct execution *execution, const struct driver_request *request,
               struct driver_piece **ret_piece, struct yett_error *error)
{
	struct driver_piece *piece = calloc(1, sizeof *piece);
	int r;

	if (!piece) {
		json_decref(request->request);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for code");
	}
	*piece = (struct driver_piece){.execution = execution, .request = *request};
	r = enqueue(piece, error);
	if (r != 0)
		driver_piece_free(piece);
	else
		*ret_piece = piece;
	return r;
}

void driver_kill(struct driver_piece *piece)
{
	if (!piece->driver || piece->driver->current != piece)
		execution_end(piece->execution, EXECUTION_KILLED, NULL);
	else
		kill_driver(piece->driver);
}

int driver_signal(struct driver_piece *piece, int number, struct yett_error *error)
{
	if (!piece->driver || piece->driver->current != piece)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "execution %s waits for its turn", piece->execution->id);
	return yett_command_signal(piece->driver->command, number, error);
}

bool driver_timed_out(const struct driver_piece *piece)
{
	return piece->is_timed_out;
}

void driver_piece_free(struct driver_piece *piece)
{
	if (!piece)
		return;
	if (piece->driver && piece->driver->current == piece) {
		piece->driver->current = NULL;
		kill_driver(piece->driver);
	} else if (piece->driver) {
		for (struct driver_piece **at = &piece->driver->waiting; *at; at = &(*at)->next) {
			if (*at == piece) {
				*at = piece->next;
				break;
			}
		}
	}
	json_decref(piece->request.request);
	free(piece);
}
