/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions: records of what was run, each with an id. The latest 1000 are kept.
 *
 * Output is kept in memory; read_file returns it as "run:ID/stdout", "run:ID/stderr" and
 * "run:ID/output" (both streams in the order in which they came). Runs with the caller's privilege.
 */
#pragma once

#include "agent/handle.h"
#include "agent/call.h"
#include "agent/output_buffer.h"

#define EXECUTIONS_MAX     1000
#define EXECUTION_ID_SIZE  17
#define EXECUTION_GRACE_MS 10000 /* for a sandbox to report the end of a command */
/* A sandbox that has not begun a command within this time gets no further messages. */
#define EXECUTION_SILENT_MS 5000
/* Bytes of the requests of all running executions: code, files and input stay until the end. */
#define EXECUTION_ASKED_MAX (64u << 20)
/*
 * Bytes of output of all executions. When exceeded, the oldest ended executions are forgotten
 * first; then output in the middle of running ones is dropped.
 */
#define EXECUTION_OUTPUT_MAX (256u << 20)

enum execution_status {
	EXECUTION_PENDING = 0, /* the sandbox is being made */
	EXECUTION_RUNNING = 1,
	EXECUTION_COMPLETED = 2, /* exit status 0 */
	EXECUTION_FAILED = 3,
	EXECUTION_TIMED_OUT = 4,
	EXECUTION_KILLED = 5, /* on request */
};

/* "pending", "running", "completed", "failed", "timed_out", "killed" */
const char *execution_status_name(enum execution_status status);

struct execution;

/* One command of an execution: compiling, or running. */
struct execution_phase {
	bool is_begun, is_over;
	struct output_buffer out, err;
	struct yett_result result; /* valid once `is_over`, if `error.code` is 0 */
	struct yett_error error;   /* why it could not be started, or its sandbox ended */
};

enum execution_phase_name { EXECUTION_COMPILE = 0, EXECUTION_RUN = 1, EXECUTION_PHASES = 2 };

struct execution {
	struct agent *agent;
	char id[EXECUTION_ID_SIZE];
	enum execution_status status;
	const char *language; /* from the table of languages; NULL: a command */
	char *text;           /* the command or the first line of the code, for people */
	json_t *metadata;     /* NULL: none */
	json_t *warnings;     /* list of strings; NULL: none */
	size_t max_output;    /* bytes of each output in an answer */
	size_t asked_bytes;   /* bytes of the request, and of input that the command has not read */
	uint64_t number;      /* number of executions before this one */

	struct handle_making *making; /* NULL once `handle` is set */
	struct handle *handle;        /* NULL once the execution is over */
	char sandbox[YETT_ID_SIZE];   /* id of the sandbox */
	bool has_own;                 /* the sandbox was made for this execution and ends with it */
	/*
	 * Set before execution_begin(): a sandbox that is made for this execution stays, and is
	 * found by its id.
	 */
	bool keeps_handle;
	struct yett_command *command; /* the running command */
	uint64_t happened;            /* number of the last event before the execution */
	/* CLOCK_MONOTONIC time at which the command was sent to the sandbox */
	uint64_t reported_us;
	/* Ends the execution if the sandbox does not report its end. NULL: no timeout yet. */
	sd_event_source *overdue;
	struct execution_input *input;

	struct execution_phase phases[EXECUTION_PHASES];
	struct output_buffer both; /* both outputs of the last phase, interleaved as they came */
	struct yett_error error;   /* why nothing was run */
	char why[160];             /* the reason for a failure, for people; empty: no failure */
	uint64_t started_ms, ended_ms; /* milliseconds since 1970 */
	bool is_killed;                /* on request */

	/* Callbacks of the runner: */
	void (*on_ready)(struct execution *execution); /* `handle` is set */
	/* The phase is over. NULL: the execution ends with the phase. */
	void (*on_phase)(struct execution *execution, enum execution_phase_name phase);
	/* More output came. May be NULL. */
	void (*on_output)(struct execution *execution, enum execution_phase_name phase);
	/* Kills what runs. NULL: kills `command`. */
	void (*on_kill)(struct execution *execution);
	/* Sends a signal. NULL: sends it to `command`. */
	int (*on_signal)(struct execution *execution, int number, struct yett_error *error);
	/* The execution is over, and `runner` may be freed. May be NULL. */
	void (*on_end)(struct execution *execution);
	void *runner;
	json_t *denied;      /* connections that were denied meanwhile, as errors; NULL: none */
	bool is_denied_more; /* more were denied than `denied` lists */
	json_t *extra;       /* further members of the answer: "value", "version"; NULL: none */

	struct execution_watch *watches;
	struct execution *next; /* the previous execution */
};

/* Creates a pending execution. NULL: no memory. */
struct execution *execution_new(struct agent *agent, const char *language, const char *text,
                                size_t max_output);

/* NULL: unknown, or forgotten. */
struct execution *execution_find(struct agent *agent, const char *id);

/*
 * Gets a sandbox: the one that the member "sandbox" of `asked` names, or a new one made as the
 * other members say, which ends with the execution unless `keeps_handle`. Then on_ready is called.
 * A later failure ends the execution. An immediate failure is returned, and the caller must end the
 * execution.
 *
 * Returns 0; YETT_E_INVALID_REQUEST: `asked` names a sandbox and describes a new one;
 * YETT_E_RESOURCE_LIMIT: too many running executions; or an error of handle_find() or
 * handle_make().
 */
_must_check_ int execution_begin(struct execution *execution, const json_t *asked,
                                 struct yett_error *error);

/*
 * Starts a command in the sandbox as this phase. Sets the size, stdio and callbacks of `options`.
 * With `keeps_input` and no input in `options`, execution_input() can write to the command later.
 * Instead of starting a command, a runner may supply the phase's output by execution_add().
 */
_must_check_ int execution_start(struct execution *execution, enum execution_phase_name phase,
                                 struct yett_command_options *options, bool keeps_input,
                                 struct yett_error *error);

/*
 * The timeout for work that did not request one: the smaller of `ms` and the sandbox's maximum for
 * commands.
 */
uint64_t execution_time(const struct execution *execution, uint64_t ms);

/*
 * Sets the timeout, which the sandbox enforces. If the sandbox does not report the end within
 * EXECUTION_GRACE_MS after the timeout, the execution is ended without it. Returns a negative value
 * without memory.
 */
_must_check_ int execution_bound(struct execution *execution, uint64_t ms);

/*
 * Checks whether the sandbox still reads its channel. Messages that it does not read fill the
 * channel; then the sender blocks, and with it every other client. Returns 0, or YETT_E_TIMEOUT if
 * a command sent more than EXECUTION_SILENT_MS ago has not begun.
 */
_must_check_ int execution_check_handle(const struct handle *handle, struct yett_error *error);

/* Adds output to a phase. */
void execution_add(struct execution *execution, enum execution_phase_name phase,
                   enum yett_stream stream, const char *bytes, size_t length);

/*
 * Writes to the command's standard input as the command reads; with `is_last`, closes the input
 * afterwards. Returns 0, YETT_E_INVALID_REQUEST or YETT_E_RESOURCE_LIMIT.
 */
_must_check_ int execution_input(struct execution *execution, const char *bytes, size_t length,
                                 bool is_last, struct yett_error *error);

_must_check_ int execution_signal(struct execution *execution, int number,
                                  struct yett_error *error);

/*
 * Ends the execution: notifies the watches and releases the sandbox. `error` NULL: the program was
 * run.
 */
void execution_end(struct execution *execution, enum execution_status status,
                   const struct yett_error *error);

/* Derives the status from a phase that is over, and sets `why`. */
enum execution_status execution_judge(struct execution *execution, enum execution_phase_name phase);

/*
 * Kills everything that the execution started. A pending execution, and one whose sandbox ends with
 * it, is over at once. In a sandbox that stays, it is over when the command has ended.
 */
void execution_kill(struct execution *execution);

bool execution_is_over(const struct execution *execution);

/* The answer of run_code, run_command and wait_command, without "error". */
extern const struct field execution_fields[];
json_t *execution_json(const struct execution *execution);

/* One entry of a list: id, status, language, text, times. */
extern const struct field execution_line_fields[];
json_t *execution_line_json(const struct execution *execution);

/*
 * Answers `call` when the execution is over, at the latest after `patience_ms` (0: no limit).
 * Cancelling the call kills the execution, unless the call is only `is_asked_about`.
 */
void execution_answer(struct execution *execution, struct call *call, uint64_t patience_ms,
                      bool is_asked_about);

struct execution_watch;
typedef void (*execution_output_fn)(struct execution *execution, enum yett_stream stream,
                                    const char *bytes, size_t length, void *data);
typedef void (*execution_over_fn)(struct execution *execution, void *data);
/*
 * Watches a running execution. `output` (may be NULL) gets output from now on; earlier output is in
 * the phases. `over` is called once, at the end, after which the watch is freed. NULL: no memory.
 */
struct execution_watch *execution_watch(struct execution *execution, execution_output_fn output,
                                        execution_over_fn over, void *data);
void execution_unwatch(struct execution_watch *watch);

/* The number of executions so far, including forgotten ones. */
uint64_t executions_count(const struct agent *agent);

/*
 * Counts of all executions so far, by language and in total: runs, failures, timeouts. The caller
 * owns the result.
 */
json_t *executions_statistics(struct agent *agent);

/* Calls `each` for every known execution, the latest first. */
void executions_each(struct agent *agent, void (*each)(struct execution *execution, void *data),
                     void *data);

/* Forgets executions that are over. Returns their number. */
size_t executions_clean_up(struct agent *agent);

struct executions *executions_new(void);
void executions_free(struct executions *executions);

/* The output of the last phase by name: "stdout", "stderr", "output". NULL: unknown name. */
const struct output_buffer *execution_output(const struct execution *execution, const char *name);
