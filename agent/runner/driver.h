/*
 * Programs that keep a language's state between calls: one for each sandbox and language, which
 * runs one piece of code after the other.
 *
 * A driver is a command in a sandbox, and lives as long as that, or until the code ends it, or the
 * time of a piece is over: then what it kept is gone, and the next piece begins anew. With the
 * caller's privilege, in the loop of its thread; what a driver says is said by the code as much,
 * and believed as little.
 */
#pragma once

#include "agent/execution.h"
#include "agent/runner/languages.h"

struct drivers;
struct driver_piece;

/* What is to be run for an execution, as its phase EXECUTION_RUN. */
struct driver_request {
	const struct language *language;
	const char *interpreter; /* instead of the language's program; NULL: that one */
	json_t *request;         /* "code", "stdin", "args", "env", "cwd": taken */
	uint64_t timeout_ms;     /* from when its turn is */
	/*
	 * It is over. `outcome` is what the driver has told: "status", "error", "value"; NULL: it
	 * has ended instead, and the phase has its result; with `is_new` before it ever told
	 * anything. The execution is to be ended in it.
	 */
	void (*over)(struct execution *execution, json_t *outcome, bool is_new);
};

/* Its outputs are added to the execution as they come. Pieces of one driver wait for each other. */
_must_check_ int driver_run(struct execution *execution, const struct driver_request *request,
                            struct driver_piece **ret_piece, struct yett_error *error);

/* SIGKILL to the driver that runs it; `over` is called when it has ended. One that waits for its
 * turn is over at once, as killed. */
void driver_kill(struct driver_piece *piece);

/* To the driver that runs it: Python takes SIGINT as KeyboardInterrupt, and keeps what it has.
 * YETT_E_NOT_RUNNING: it waits for its turn.
 */
_must_check_ int driver_signal(struct driver_piece *piece, int number, struct yett_error *error);

/* Whether its driver was ended because its time was over. */
bool driver_timed_out(const struct driver_piece *piece);

/* With its execution. One that goes on takes its driver with it. Takes NULL. */
void driver_piece_free(struct driver_piece *piece);

/* NULL: no memory. */
struct drivers *drivers_new(void);
/* After all executions. Takes NULL. */
void drivers_free(struct drivers *drivers);
