/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers: programs that keep a language's state between calls. Each sandbox has one driver per
 * language, which runs one piece of code at a time.
 *
 * A driver is a command in the sandbox. It ends with the sandbox, when the code ends it, or when a
 * piece exceeds its timeout; then its state is lost, and the next piece starts a new one. The code
 * runs in the driver's process and can forge everything that the driver sends, so no report of a
 * driver is trusted. Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include "agent/execution.h"
#include "agent/runner/languages.h"

struct drivers;
struct driver_piece;

/* Code to run for an execution, as its phase EXECUTION_RUN. */
struct driver_request {
	const struct language *language;
	const char *interpreter; /* replaces the language's program; NULL: the default program */
	/* "name", "code", "stdin", "args", "env", "cwd"; driver_run() takes ownership */
	json_t *request;
	uint64_t timeout_ms; /* counted from when the piece begins */
	/*
	 * The piece is over; the callback must end the execution. `outcome` is the driver's report:
	 * "status", "error", "value". NULL: the driver has ended, and the phase has its result;
	 * then `is_new` says that the driver never completed a piece.
	 */
	void (*over)(struct execution *execution, json_t *outcome, bool is_new);
};

/*
 * Runs a piece of code; its output is added to the execution as it comes. Pieces of one driver run
 * one after the other.
 */
_must_check_ int driver_run(struct execution *execution, const struct driver_request *request,
                            struct driver_piece **ret_piece, struct yett_error *error);

/*
 * Sends SIGKILL to the driver if it runs this piece; `over` is called when the driver has ended.
 * Ends the execution as killed at once if the piece waits for its turn.
 */
void driver_kill(struct driver_piece *piece);

/*
 * Sends a signal to the driver if it runs this piece. Python turns SIGINT into KeyboardInterrupt,
 * and keeps its state. Returns 0; YETT_E_NOT_RUNNING: the piece waits for its turn; or an error of
 * yett_command_signal().
 */
_must_check_ int driver_signal(struct driver_piece *piece, int number, struct yett_error *error);

/* Whether the driver was killed because the piece exceeded its timeout. */
bool driver_timed_out(const struct driver_piece *piece);

/* Call when the execution ends. Kills the driver if it still runs the piece. Accepts NULL. */
void driver_piece_free(struct driver_piece *piece);

/* NULL: no memory. */
struct drivers *drivers_new(void);
/* Call after all executions are freed. Accepts NULL. */
void drivers_free(struct drivers *drivers);
