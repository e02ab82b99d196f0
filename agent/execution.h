/*
 * What was run: a record with an id, from its beginning until a thousand others came after it.
 *
 * The outputs are kept here and given by read_file as "run:ID/stdout", "run:ID/stderr" and
 * "run:ID/output" (both as they came). With the caller's privilege.
 */
#pragma once

#include "agent/box.h"
#include "agent/call.h"
#include "agent/kept.h"

#define EXECUTIONS_MAX     1000
#define EXECUTION_ID_SIZE  17
#define EXECUTION_GRACE_MS 10000 /* for a sandbox to tell of the end of what it was to end */
/* a sandbox that has not begun in that time what it was told to is told nothing more */
#define EXECUTION_SILENT_MS 5000
/* bytes of the requests of all that go on: code, files and input are kept until the end */
#define EXECUTION_ASKED_MAX (64u << 20)
/* of outputs of all together; of what has ended the oldest go first, then the middle of what runs
 */
#define EXECUTION_OUTPUT_MAX (256u << 20)

enum execution_status {
	EXECUTION_PENDING = 0, /* its sandbox is being made */
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
	json_t *warnings;     /* a list of texts; NULL: none */
	size_t max_output;    /* bytes of each output in answers */
	size_t asked_bytes;   /* of the request, and of input that is not read yet */
	uint64_t number;      /* how many there were before it */

	struct box_making *making;  /* until there is the box */
	struct box *box;            /* until it is over */
	char sandbox[YETT_ID_SIZE]; /* of one that stays; empty: it had its own */
	bool has_own;               /* a sandbox, which is gone with it */
	bool keeps_box; /* set before execution_begin(): one that is made for it stays, to be found
	                   by its id */
	struct yett_command *command; /* that runs now */
	uint64_t happened;            /* the number of the last event before it */
	uint64_t told_us;         /* when its sandbox was told of the command: CLOCK_MONOTONIC */
	sd_event_source *overdue; /* ends it where its sandbox does not tell of its end; NULL: it
	                             has no bound yet */
	struct execution_input *input;

	struct execution_phase phases[EXECUTION_PHASES];
	struct kept both; /* both outputs of the last phase, in the order in which they came */
	struct yett_error error; /* what kept it from being run at all */
	char why[160];           /* what a person would say of why it failed; empty: it did not */
	uint64_t started_ms, ended_ms; /* since 1970 */
	bool is_killed;                /* somebody asked for it */

	/* Of who runs it: */
	void (*on_ready)(struct execution *execution); /* there is the box */
	void (*on_phase)(
		struct execution *execution,
		enum execution_phase_name phase); /* it is over; NULL: so is the execution */
	void (*on_output)(struct execution *execution,
	                  enum execution_phase_name phase); /* more was written; may be NULL */
	void (*on_kill)(struct execution *
	                        execution); /* what it runs is no command of its own; NULL: it is */
	int (*on_signal)(struct execution *execution, int number,
	                 struct yett_error *error);  /* as on_kill */
	void (*on_end)(struct execution *execution); /* it is over: what `runner` is may be freed;
	                                                may be NULL */
	void *runner;
	json_t *denied; /* connections that its sandbox was kept from meanwhile, as problems; NULL:
	                   none */
	bool is_denied_more; /* than those */
	json_t *extra;       /* further members of the answer: "value", "version"; NULL: none */

	struct execution_watch *watches;
	struct execution *next; /* the one before it */
};

/* A new one, pending. NULL: no memory. */
struct execution *execution_new(struct agent *agent, const char *language, const char *text,
                                size_t max_output);

/* NULL: there was none, or it is forgotten. */
struct execution *execution_find(struct agent *agent, const char *id);

/*
 * Gets it a box: the one of `asked`'s member "sandbox", or one that is made as the rest of `asked`
 * says, and is gone with it unless it keeps it; then on_ready is called. What fails later ends it;
 * what fails at once is returned, and ending it is the caller's. YETT_E_INVALID_REQUEST: both are
 * asked for. YETT_E_RESOURCE_LIMIT: too many go on. Else as box_find() or box_make().
 */
_must_check_ int execution_begin(struct execution *execution, const json_t *asked,
                                 struct yett_error *error);

/*
 * Starts a command in its box as this phase: by `options`, of which the size, stdio and what is
 * called are set here. With `keeps_input` and no input, execution_input() gives it more. The runner
 * may set the phase's outputs itself instead: execution_add().
 */
_must_check_ int execution_start(struct execution *execution, enum execution_phase_name phase,
                                 struct yett_command_options *options, bool keeps_input,
                                 struct yett_error *error);

/* How long something may run that was not asked to run for so long: `ms`, or what its box allows
 * commands at most, if that is less. */
uint64_t execution_time(const struct execution *execution, uint64_t ms);

/*
 * From now on it may take so long, which its sandbox sees to. One that does not answer, and
 * EXECUTION_GRACE_MS later has not told of the end, is not waited for: it is over then. Negative:
 * no memory.
 */
_must_check_ int execution_bound(struct execution *execution, uint64_t ms);

/*
 * Whether the sandbox can be told something: what it does not take fills its channel, and then
 * whoever sends is held up, and all others with him. YETT_E_TIMEOUT: it was told of a command
 * EXECUTION_SILENT_MS ago, and has not begun it.
 */
_must_check_ int execution_check_box(const struct box *box, struct yett_error *error);

/* Some output of a phase. */
void execution_add(struct execution *execution, enum execution_phase_name phase,
                   enum yett_stream stream, const char *bytes, size_t length);

/* Writes to what its command reads, as that takes it, and with `is_last` closes it then.
 * YETT_E_INVALID_REQUEST, YETT_E_RESOURCE_LIMIT */
_must_check_ int execution_input(struct execution *execution, const char *bytes, size_t length,
                                 bool is_last, struct yett_error *error);

_must_check_ int execution_signal(struct execution *execution, int number,
                                  struct yett_error *error);

/* It is over: who watches it is told, and the box is let go of. `error` NULL: it was run. */
void execution_end(struct execution *execution, enum execution_status status,
                   const struct yett_error *error);

/* What a phase that is over says of how it went, with `why` set. */
enum execution_status execution_judge(struct execution *execution, enum execution_phase_name phase);

/*
 * Ends all that it started. It is over at once where it is pending or its sandbox goes with it; in
 * a sandbox that stays when its command is gone.
 */
void execution_kill(struct execution *execution);

bool execution_is_over(const struct execution *execution);

/* What run_code, run_command and wait_command answer, besides "error". */
extern const struct field execution_fields[];
json_t *execution_json(const struct execution *execution);

/* One line of a list: id, status, language, text, times. */
extern const struct field execution_line_fields[];
json_t *execution_line_json(const struct execution *execution);

/*
 * Answers `call` when the execution is over, or at the latest after `patience_ms` (0: whenever that
 * is). Given up, the call takes the execution with it, unless `is_asked_about` it only.
 */
void execution_answer(struct execution *execution, struct call *call, uint64_t patience_ms,
                      bool is_asked_about);

struct execution_watch;
typedef void (*execution_output_fn)(struct execution *execution, enum yett_stream stream,
                                    const char *bytes, size_t length, void *data);
typedef void (*execution_over_fn)(struct execution *execution, void *data);
/*
 * Watches one that goes on: `output` (may be NULL) is called with what comes from now on (what came
 * before is in its phases), and `over` once, at its end, after which the watch is gone by itself.
 * NULL: no memory.
 */
struct execution_watch *execution_watch(struct execution *execution, execution_output_fn output,
                                        execution_over_fn over, void *data);
void execution_unwatch(struct execution_watch *watch);

/* How many there were so far, also of those that are forgotten. */
uint64_t executions_count(const struct agent *agent);

/* Of all so far, by language and in all: runs, failures, timeouts. The caller's. */
json_t *executions_statistics(struct agent *agent);

/* Calls `each` for those that are known, the latest first. */
void executions_each(struct agent *agent, void (*each)(struct execution *execution, void *data),
                     void *data);

/* Forgets those that are over. How many. */
size_t executions_clean_up(struct agent *agent);

struct executions *executions_new(void);
void executions_free(struct executions *executions);

/* The output of that name ("stdout", "stderr", "output") of its last phase. NULL: there is none of
 * that name. */
const struct kept *execution_output(const struct execution *execution, const char *name);
