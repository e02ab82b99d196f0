/*
 * One request for an operation, from its arguments to its answer.
 *
 * Whoever begins a call (tool, MCP, HTTP) owns it and frees it. A call is over once: with an
 * answer, or with a problem. With the caller's privilege; of the one thread of the loop.
 */
#pragma once

#include "agent/operations.h"

struct agent;
struct call;

/* How it came out: what exit statuses and HTTP statuses are made of. */
enum call_outcome {
	CALL_SUCCEEDED = 0,
	CALL_PROGRAM_FAILED = 1, /* what was run has failed: that is an answer */
	CALL_TIMED_OUT =
		2, /* what was run was ended when its time was over: that is an answer, too */
	CALL_INVALID = 3, /* the request is none */
	CALL_REFUSED = 4, /* the policy does not permit it */
	CALL_NOT_FOUND = 5,
	CALL_UNSUPPORTED = 6, /* this host or Yett cannot do it */
	CALL_UNAVAILABLE = 7, /* the helper, or room, is missing just now */
	CALL_CANCELLED = 8,
};

/* How a problem of this code comes out. */
enum call_outcome call_outcome_of(enum yett_code code);

struct call_options {
	/* It is over: call_answer(), call_error() and call_outcome() tell. It may free the call.
	 * Never before call_begin() has returned. */
	void (*on_done)(struct call *call, void *data);
	/* Something came of it: so many seconds have passed, so many bytes were written. May be
	 * NULL. */
	void (*on_progress)(struct call *call, const char *text, void *data);
	void *data;
	uint64_t patience_ms; /* an execution that goes on after so long is answered as running, to
	                         be asked about later; 0: waits on */
};

/*
 * Begins the operation of that name with these arguments (borrowed; NULL: none). There always is a
 * call, but for want of memory (NULL): that there is no such operation, or that the arguments are
 * wrong, is its problem.
 */
struct call *call_begin(struct agent *agent, const char *operation, const json_t *arguments,
                        const struct call_options *options);

bool call_is_over(const struct call *call);
enum call_outcome call_outcome(const struct call *call);

/*
 * The answer: an object as the operation's table says, with "error" where there was a problem;
 * borrowed. NULL until it is over. JSON null where there was not even memory for one.
 */
json_t *call_answer(const struct call *call);

/* The problem; NULL where there was none. */
const struct yett_error *call_error(const struct call *call);

/* Gives it up: what it started is killed. Takes NULL. */
void call_free(struct call *call);

/* --- for operations --------------------------------------------------------------------------- */

struct agent *call_agent(const struct call *call);
const json_t *call_asked(const struct call *call);
/* From now on it is about something else, which is taken. */
void call_replace_asked(struct call *call, json_t *asked);
uint64_t call_patience_ms(const struct call *call);

/* What goes on for this call, until it is over: `cancel` is called where it is given up before. */
void call_set_work(struct call *call, void *work, void (*cancel)(void *work));
void call_progress(struct call *call, const char *text);

/* It is over. `answer` is taken; NULL: no memory. */
void call_succeed(struct call *call, json_t *answer);
void call_finish(struct call *call, json_t *answer, enum call_outcome outcome);
void call_fail(struct call *call, const struct yett_error *error);
/* The same with more than the problem in the answer, which is taken. */
void call_fail_with(struct call *call, const struct yett_error *error, json_t *answer);
