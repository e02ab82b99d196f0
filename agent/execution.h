/*
 * What was run: a record with an id, from its beginning until a thousand others came after it.
 *
 * The outputs are kept here and given by read_file as "run:ID/stdout", "run:ID/stderr" and "run:ID/output" (both as they came).
 * With the caller's privilege.
 */
#pragma once

#include "agent/box.h"
#include "agent/kept.h"

#define EXECUTIONS_MAX       1000
#define EXECUTION_ID_SIZE    17
#define EXECUTION_OUTPUT_MAX (256u << 20) /* of outputs of all together; of what has ended the oldest go first */

enum execution_status {
	EXECUTION_PENDING = 0, /* its sandbox is being made, its files written */
	EXECUTION_RUNNING = 1,
	EXECUTION_COMPLETED = 2, /* with status 0 */
	EXECUTION_FAILED = 3,
	EXECUTION_TIMED_OUT = 4,
	EXECUTION_KILLED = 5, /* by who asked for it */
};

/* "pending", "running", "completed", "failed", "timed_out", "killed" */
const char *execution_status_name(enum execution_status status);

struct execution;

/* One command of it: what is compiled, and what is run. */
struct execution_phase {
	bool is_begun, is_over;
	struct kept out, err;
	struct yett_result result; /* once it is over, and `error.code` is 0 */
	struct yett_error error;   /* it could not be started, or its sandbox has ended */
};

enum execution_phase_name { EXECUTION_COMPILE = 0, EXECUTION_RUN = 1, EXECUTION_PHASES = 2 };

struct execution {
	struct agent *agent;
	char id[EXECUTION_ID_SIZE];
	enum execution_status status;
	const char *language; /* of the table of languages; NULL: a command */
	char *text;           /* the command, or the first line of the code; for people */
	json_t *metadata;     /* NULL: none */
	struct box *box;      /* until it is over, and longer where the box is named */
	char sandbox[YETT_ID_SIZE];
	struct execution_phase phases[EXECUTION_PHASES];
	struct kept both;              /* of the last phase */
	struct yett_error error;       /* what kept it from being run at all */
	uint64_t started_ms, ended_ms; /* since 1970 */
	uint64_t begun_us;             /* CLOCK_MONOTONIC */
	size_t max_output;
	json_t *warnings;             /* a list of texts; NULL: none */
	struct yett_command *command; /* that runs now */
	int input;                    /* what it reads, to be written to; -1: nothing more */
	/* Told of each change, until it is over: */
	void (*on_change)(struct execution *execution, void *data);
	void *data;
	void (*on_phase)(struct execution *execution, enum execution_phase_name phase, void *data); /* the runner's: a phase is over */
	void *runner;
	void (*on_kill)(struct execution *execution); /* of who runs it otherwise than by a command; NULL: a command runs it */
	uint64_t number;                              /* how many there were before it */
};

/* A new one, pending. NULL: no memory. */
struct execution *execution_new(struct agent *agent, const char *language, const char *text, size_t max_output);

/* NULL: there was none, or it is forgotten. */
struct execution *execution_find(struct agent *agent, const char *id);

/* Starts a command in its box as this phase: its options but for stdio, callbacks and data, which are set here. */
_must_check_ int execution_start(struct execution *execution, enum execution_phase_name phase, const struct yett_command_options *options,
                                 bool keeps_input, struct yett_error *error);

/* It is over; on_change is told. The box is let go of. */
void execution_end(struct execution *execution, enum execution_status status, const struct yett_error *error);

/* SIGKILL to all that it started; where it is pending, it is over at once. */
void execution_kill(struct execution *execution);

bool execution_is_over(const struct execution *execution);

/* What run_code, run_command and wait_command answer. */
extern const struct field execution_fields[];
json_t *execution_json(const struct execution *execution);

/* One line of a list: id, status, language, text, times. */
extern const struct field execution_line_fields[];
json_t *execution_line_json(const struct execution *execution);

/* Answers `call` when the execution is over, or its patience is. Given up, the execution is killed, unless `is_asked_about` it only. */
struct call;
void execution_answer(struct execution *execution, struct call *call, bool is_asked_about);

/* Of all so far, by language and in all: runs, failures, timeouts. The caller's. */
json_t *executions_statistics(struct agent *agent);

/* Calls `each` for those that are known, the latest first. */
void executions_each(struct agent *agent, void (*each)(struct execution *execution, void *data), void *data);

/* Forgets those that are over. How many. */
size_t executions_clean_up(struct agent *agent);

struct executions *executions_new(void);
void executions_free(struct executions *executions);
