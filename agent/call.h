/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request for an operation, from its arguments to its answer.
 *
 * The front end (tool, MCP, HTTP) that begins a call owns and frees it. A call ends exactly once,
 * with an answer or an error. Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include "agent/call_outcome.h"
#include "agent/fields.h"

struct agent;
struct call;

enum operation_flag {
	OPERATION_READS = 1,    /* changes nothing */
	OPERATION_DESTROYS = 2, /* may end a sandbox, or remove or overwrite data */
	/* Runs programs or controls them, with all effects that the sandbox permits. */
	OPERATION_RUNS = 4,
	OPERATION_ASKS_AGAIN = 8, /* idempotent */
};

struct operation {
	const char *name;        /* "run_code" */
	const char *title;       /* "Run code" */
	const char *description; /* for a model: what it does, when to use it; under 2 KB */
	const struct field *asked, *answered;
	uint32_t flags; /* bits of enum operation_flag */
	void (*begin)(struct call *call);
};

struct call_options {
	/*
	 * The call is over: call_answer(), call_error() and call_outcome() have the result. May
	 * free the call. Never called before call_begin() has returned.
	 */
	void (*on_done)(struct call *call, void *data);
	/* Reports progress: seconds passed, bytes written. May be NULL. */
	void (*on_progress)(struct call *call, const char *text, void *data);
	void *data;
	/*
	 * An execution that still runs after this time is answered as running, and can be asked
	 * about later. 0: waits until the execution is over.
	 */
	uint64_t patience_ms;
};

/*
 * Begins an operation with these arguments (borrowed; NULL: none). `name` is how the client called
 * it. Returns NULL only without memory. An unknown operation (`operation` is NULL) or wrong
 * arguments are reported as the error of the call.
 */
struct call *call_begin(struct agent *agent, const struct operation *operation, const char *name,
                        const json_t *arguments, const struct call_options *options);

bool call_is_over(const struct call *call);
enum call_outcome call_outcome(const struct call *call);

/*
 * The answer, borrowed: an object as the operation's table describes it, with "error" if the call
 * failed. NULL until the call is over. JSON null if there was no memory for an object.
 */
json_t *call_answer(const struct call *call);

/* NULL: the call did not fail. */
const struct yett_error *call_error(const struct call *call);

/* Cancels the call if it is not over, and kills what it started. Accepts NULL. */
void call_free(struct call *call);

/* --- for operations --------------------------------------------------------------------------- */

struct agent *call_agent(const struct call *call);
const json_t *call_asked(const struct call *call);
/* Replaces the arguments. Takes ownership of `asked`. */
void call_replace_asked(struct call *call, json_t *asked);
uint64_t call_patience_ms(const struct call *call);

/*
 * Sets the work in progress for this call. `cancel` is called if the call is freed before it is
 * over.
 */
void call_set_work(struct call *call, void *work, void (*cancel)(void *work));
void call_progress(struct call *call, const char *text);

/* Ends the call. Takes ownership of `answer`; NULL: no memory. */
void call_succeed(struct call *call, json_t *answer);
void call_finish(struct call *call, json_t *answer, enum call_outcome outcome);
void call_fail(struct call *call, const struct yett_error *error);
/* As call_fail(), with an answer to which the error is added. Takes ownership of `answer`. */
void call_fail_with(struct call *call, const struct yett_error *error, json_t *answer);
