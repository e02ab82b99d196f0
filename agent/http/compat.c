/* SPDX-License-Identifier: Apache-2.0 */
/* See compat.h. */
#include "agent/http/compat.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/operations.h"
#include "agent/execution.h"
#include "agent/event_log.h"
#include "agent/http/durations.h"
#include "agent/http/reply.h"
#include "agent/manager.h"
#include "base/clock.h"

#define NS_OF_MS  1000000
#define NOT_FOUND "execution not found"
#define TEXT_MAX  (10 << 20)
#define ASYNC_MS  1u /* an asynchronous execution is answered as running after this time */

static const char *const tiers[] = {"light", "strong", NULL};

static const struct field execute_asked[] = {
	{"language", FIELD_TEXT, FIELD_NULLABLE, 1, 32},
	{"code", FIELD_TEXT, FIELD_NULLABLE, 0, TEXT_MAX},
	{"command", FIELD_TEXT, FIELD_NULLABLE, 1, TEXT_MAX},
	{"args", FIELD_TEXTS, FIELD_NULLABLE, 0, 4096},
	{"stdin", FIELD_TEXT, FIELD_NULLABLE, 0, TEXT_MAX},
	{"env", FIELD_MAP, FIELD_NULLABLE, 0, 256},
	{"files", FIELD_MAP, FIELD_NULLABLE, 0, 256},
	/* read_timeout() has converted this field to milliseconds. */
	{"timeout", FIELD_NUMBER, FIELD_NULLABLE, 1, INT64_MAX},
	{"tier", FIELD_CHOICE, FIELD_NULLABLE, .choices = tiers},
	{"executor", FIELD_TEXT, FIELD_NULLABLE, 1, 64},
	{"image", FIELD_TEXT, FIELD_NULLABLE, 1, 255},
	{"persistent", FIELD_BOOL, FIELD_NULLABLE},
	{"async", FIELD_BOOL, FIELD_NULLABLE},
	{0},
};

/* --- answers ---------------------------------------------------------------------------------- */

/* RFC 3339, in UTC. */
static json_t *make_time(const json_t *ms)
{
	time_t seconds = (time_t)(json_integer_value(ms) / 1000);
	char text[40], whole[64];
	struct tm tm;

	if (!json_is_integer(ms) || !gmtime_r(&seconds, &tm) ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return json_null();
	(void)snprintf(whole, sizeof whole, "%s.%03dZ", text, (int)(json_integer_value(ms) % 1000));
	return json_string(whole);
}

/* Converts the answer of run_code or run_command. */
static json_t *make_result(const struct manager *manager, const json_t *answer)
{
	static const char *const same[] = {
		"id",     "status", "success",   "language",          "exit_code", "signal",
		"stdout", "stderr", "truncated", "memory_used_bytes", "warnings"};
	const json_t *why = json_object_get(answer, "why");
	const struct executor *executor =
		manager_noted(manager, json_string_value(json_object_get(answer, "id")));
	json_t *result = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		json_t *member = json_object_get(answer, same[i]);

		if (member)
			(void)json_object_set(result, same[i], member);
	}
	(void)json_object_set_new(result, "error",
	                          json_is_string(why) ? json_incref((json_t *)why)
	                                              : json_string(""));
	(void)json_object_set_new(
		result, "duration",
		json_integer((json_int_t)(json_number_value(json_object_get(answer, "duration")) *
	                                  1e9)));
	(void)json_object_set_new(result, "started_at",
	                          make_time(json_object_get(answer, "started_ms")));
	(void)json_object_set_new(result, "finished_at",
	                          make_time(json_object_get(answer, "ended_ms")));
	(void)json_object_set_new(result, "executor",
	                          executor ? json_string(executor->name) : json_null());
	(void)json_object_set_new(result, "tier",
	                          executor ? json_string(executor->tier) : json_null());
	return result;
}

static void answer_execution(struct exchange *exchange, const struct execution *execution)
{
	json_t *json = execution_json(execution);

	reply_json(exchange, MHD_HTTP_OK, make_result(server_manager(exchange->server), json));
	json_decref(json);
}

/* --- execute ---------------------------------------------------------------------------------- */

/*
 * A request in progress. If it needs the executor's kept sandbox and there is none, the sandbox is
 * made first.
 */
struct execute {
	struct exchange *exchange;
	const struct executor *executor;
	json_t *arguments; /* for the operation */
	const char *operation;
	struct call *call;
	bool is_async, has_made;
};

static void end_execute(void *work)
{
	struct execute *execute = work;

	call_free(execute->call);
	json_decref(execute->arguments);
	free(execute);
}

static void fail_execute(const struct execute *execute)
{
	const struct yett_error *error = call_error(execute->call);

	if (error)
		reply_problem(execute->exchange, reply_status(error->code), error);
	else
		reply_text(execute->exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		           "the operation has no answer");
}

static void note_latest(struct execution *execution, void *data)
{
	struct execution **latest = data;

	if (!*latest)
		*latest = execution;
}

/* Records the executor of the execution that the call has created, if it has. */
static void compat_note(const struct execute *execute, uint64_t before)
{
	struct execution *latest = NULL;

	executions_each(execute->exchange->agent, note_latest, &latest);
	if (latest && latest->number >= before)
		manager_note(server_manager(execute->exchange->server), latest->id,
		             execute->executor);
}

static void compat_go_on(struct execute *execute);

static void compat_on_run(struct call *call, void *data)
{
	struct execute *execute = data;
	struct manager *manager = server_manager(execute->exchange->server);
	const char *id = json_string_value(json_object_get(call_answer(call), "id"));
	enum call_outcome outcome = call_outcome(call);

	/*
	 * The kept sandbox has ended meanwhile, for example by its time limit. Make another one,
	 * once.
	 */
	if (outcome == CALL_NOT_FOUND && execute->executor->how == MANAGER_PROCESS &&
	    !execute->has_made) {
		manager_keep(manager, execute->executor, NULL);
		compat_go_on(execute);
	} else if (call_error(call) || !id) {
		fail_execute(execute);
	} else {
		reply_json(execute->exchange, MHD_HTTP_OK, make_result(manager, call_answer(call)));
	}
}

static void on_made(struct call *call, void *data)
{
	struct execute *execute = data;
	const char *sandbox = json_string_value(
		json_object_get(json_object_get(call_answer(call), "sandbox"), "id"));

	if (call_error(call) || !sandbox) {
		fail_execute(execute);
		return;
	}
	manager_keep(server_manager(execute->exchange->server), execute->executor, sandbox);
	compat_go_on(execute);
}

static void compat_begin(struct execute *execute, const char *operation, const json_t *arguments,
                         const struct call_options *options)
{
	call_free(execute->call);
	execute->call = operations_begin(execute->exchange->agent, operation, arguments, options);
	if (!execute->call)
		reply_text(execute->exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
		           "no memory for the call");
}

static void make_kept(struct execute *execute)
{
	const struct call_options options = {.on_done = on_made, .data = execute};
	json_t *arguments =
		json_pack("{s:s, s:s}", "action", "make", "tier", execute->executor->tier);

	execute->has_made = true;
	compat_begin(execute, "sandboxes", arguments, &options);
	json_decref(arguments);
}

static void compat_go_on(struct execute *execute)
{
	const struct call_options options = {.on_done = compat_on_run,
	                                     .data = execute,
	                                     .patience_ms = execute->is_async ? ASYNC_MS : 0};
	struct exchange *exchange = execute->exchange;
	const char *kept = manager_kept(server_manager(exchange->server), execute->executor);
	uint64_t before = executions_count(exchange->agent);

	if (execute->executor->how == MANAGER_PROCESS && !kept) {
		make_kept(execute);
		return;
	}
	if (execute->executor->how == MANAGER_PROCESS)
		(void)json_object_set_new(execute->arguments, "sandbox", json_string(kept));
	else
		(void)json_object_set_new(execute->arguments, "tier",
		                          json_string(execute->executor->tier));
	compat_begin(execute, execute->operation, execute->arguments, &options);
	compat_note(execute, before);
}

/*
 * The arguments of the operation: copies members of the same name, and makes one list of a command
 * and its arguments.
 */
static json_t *make_arguments(const json_t *asked, bool is_code)
{
	static const char *const of_code[] = {"language", "code",  "args", "stdin",
	                                      "env",      "files", NULL};
	static const char *const of_command[] = {"stdin", "env", NULL};
	json_t *arguments = json_object(), *args = json_object_get(asked, "args");

	for (const char *const *name = is_code ? of_code : of_command; *name; name++)
		if (field_get(asked, *name))
			(void)json_object_set(arguments, *name, (json_t *)field_get(asked, *name));
	if (!is_code && json_array_size(args)) {
		json_t *argv = json_copy(args);

		(void)json_array_insert(argv, 0, json_object_get(asked, "command"));
		(void)json_object_set_new(arguments, "argv", argv);
	} else if (!is_code) {
		(void)json_object_set(arguments, "command", json_object_get(asked, "command"));
	}
	if (field_get(asked, "timeout"))
		(void)json_object_set_new(
			arguments, "timeout",
			json_real((double)field_number(asked, "timeout", 0) / 1000));
	return arguments;
}

/*
 * Converts a duration member to milliseconds times `scale`. Returns false after answering with an
 * error.
 */
static bool read_timeout(struct exchange *exchange, json_t *asked, const char *name, double scale)
{
	json_t *value = json_object_get(asked, name);
	uint64_t ms;

	if (!value || json_is_null(value))
		return true;
	if (durations_read(value, &ms) < 0 || ms == 0) {
		reply_text(exchange, MHD_HTTP_BAD_REQUEST,
		           "invalid %s: expected a duration like \"30s\"", name);
		return false;
	}
	(void)json_object_set_new(asked, name,
	                          scale == 1 ? json_integer((json_int_t)ms)
	                                     : json_real((double)ms * scale));
	return true;
}

/* Returns false after answering with an error. */
static bool check_execute(struct exchange *exchange, json_t *asked,
                          const struct executor **ret_executor)
{
	const struct manager_need need = {
		.executor = field_text(asked, "executor"),
		.tier = field_text(asked, "tier"),
		.image = field_text(asked, "image"),
		.is_kept = field_bool(asked, "persistent"),
	};
	struct yett_error error;
	int r;

	if (!field_get(asked, "command") == !field_get(asked, "code")) {
		reply_text(exchange, MHD_HTTP_BAD_REQUEST,
		           "invalid request: expected either code and its language, or a command");
		return false;
	}
	r = manager_choose(server_manager(exchange->server), &need, ret_executor, &error);
	if (r == YETT_E_NOT_FOUND)
		reply_text(exchange, MHD_HTTP_BAD_REQUEST, "%s", error.message);
	else if (r != 0)
		reply_problem(exchange, reply_status(error.code), &error);
	return r == 0;
}

/* Parses the body and checks it against `fields`. Returns NULL after answering with an error. */
static json_t *read_asked(struct exchange *exchange, const struct field *fields,
                          const char *duration)
{
	json_t *asked = reply_parse(exchange, NULL);
	struct yett_error error;

	if (!asked)
		return NULL;
	if (!json_is_object(asked))
		reply_text(exchange, MHD_HTTP_BAD_REQUEST, "invalid request: expected an object");
	else if (!read_timeout(exchange, asked, duration, 1))
		;
	else if (fields_check(fields, asked, &error) != 0)
		reply_text(exchange, MHD_HTTP_BAD_REQUEST, "invalid request: %s", error.message);
	else
		return asked;
	json_decref(asked);
	return NULL;
}

void compat_execute(struct exchange *exchange)
{
	json_t *asked = read_asked(exchange, execute_asked, "timeout");
	const struct executor *executor;
	struct execute *execute;

	if (!asked)
		return;
	if (!check_execute(exchange, asked, &executor)) {
		json_decref(asked);
		return;
	}
	execute = calloc(1, sizeof *execute);
	if (execute) {
		bool is_code = field_get(asked, "code");

		*execute = (struct execute){.exchange = exchange,
		                            .executor = executor,
		                            .operation = is_code ? "run_code" : "run_command",
		                            .arguments = make_arguments(asked, is_code),
		                            .is_async = field_bool(asked, "async")};
		exchange_set_work(exchange, execute, end_execute);
		compat_go_on(execute);
	} else {
		reply_text(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory for the request");
	}
	json_decref(asked);
}

/* --- status, kill, info ----------------------------------------------------------------------- */

static struct execution *compat_find(struct exchange *exchange)
{
	struct execution *execution = execution_find(exchange->agent, exchange->rest);

	if (!execution)
		reply_text(exchange, MHD_HTTP_NOT_FOUND, NOT_FOUND);
	return execution;
}

void compat_status(struct exchange *exchange)
{
	const struct execution *execution = compat_find(exchange);

	if (execution)
		answer_execution(exchange, execution);
}

void compat_kill(struct exchange *exchange)
{
	struct execution *execution = compat_find(exchange);

	if (!execution)
		return;
	if (execution_is_over(execution)) {
		reply_text(exchange, MHD_HTTP_BAD_REQUEST, "execution is not running");
		return;
	}
	execution_kill(execution);
	reply_json(exchange, MHD_HTTP_OK,
	           json_pack("{s:s, s:s}", "id", execution->id, "status",
	                     execution_status_name(EXECUTION_KILLED)));
}

static void count_running(struct execution *execution, void *data)
{
	if (!execution_is_over(execution))
		++*(json_int_t *)data;
}

static json_t *describe_executors(struct manager *manager)
{
	json_t *all = json_array();
	struct yett_error error;

	for (const struct executor *executor = executors; executor->name; executor++) {
		int r = manager_support(manager, executor, &error);

		(void)json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:b, s:s*}", "name",
		                                           executor->name, "tier", executor->tier,
		                                           "type", manager_how_name(executor->how),
		                                           "supported", r == 0, "reason",
		                                           r == 0 ? NULL : error.message));
	}
	return all;
}

void compat_info(struct exchange *exchange)
{
	json_int_t running = 0;

	executions_each(exchange->agent, count_running, &running);
	reply_json(exchange, MHD_HTTP_OK,
	           json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "name", "yett", "version",
	                     YETT_VERSION, "uptime",
	                     (json_int_t)(clock_now_ms() - server_started_ms(exchange->server)) *
	                             NS_OF_MS,
	                     "running", running, "executions",
	                     (json_int_t)executions_count(exchange->agent), "executors",
	                     describe_executors(server_manager(exchange->server)), "statistics",
	                     executions_statistics(exchange->agent)));
}

/* --- configuration ---------------------------------------------------------------------------- */

static const char *const durations[] = {"default_timeout", "max_timeout"};

void compat_config(struct exchange *exchange)
{
	const struct settings *settings = &exchange->agent->settings;
	const uint64_t values[] = {settings->default_timeout_ms, settings->max_timeout_ms};
	json_t *json = settings_json(settings);
	char text[DURATIONS_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(durations) && json; i++)
		(void)json_object_set_new(json, durations[i],
		                          json_string(durations_write(values[i], text)));
	reply_json(exchange, MHD_HTTP_OK, json);
}

void compat_configure(struct exchange *exchange)
{
	json_t *asked = reply_parse(exchange, NULL);
	struct yett_error error;

	if (!asked)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		if (!read_timeout(exchange, asked, durations[i], 0.001)) {
			json_decref(asked);
			return;
		}
	}
	if (settings_change(&exchange->agent->settings, asked, &error) != 0) {
		event_log_add_refusal(exchange->agent, "the configuration", &error);
		reply_text(exchange, reply_status(error.code), "invalid configuration: %s",
		           error.message);
	} else {
		manager_forget(server_manager(exchange->server));
		compat_config(exchange);
	}
	json_decref(asked);
}
