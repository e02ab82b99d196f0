/* What the files execution*.c share. */
#pragma once

#include "agent/execution.h"
#include "agent/problem.h"
#include "agent/wish.h"

#define EXECUTION_TEXT_MAX 120

struct executions {
	struct execution *latest; /* first of a list, the older ones behind it */
	uint64_t count;           /* of all so far */
	json_t *statistics;       /* by language, and "all"; NULL: nothing has ended yet */
};

/* Who waits for its end, or for what it writes. */
struct execution_watch {
	struct execution *execution;
	execution_output_fn output;
	execution_over_fn over;
	void *data;
	struct execution_watch *next;
};

/* Tells the watches, which are gone then. */
void execution_tell_over(struct execution *execution);

/* Whether so many more bytes of requests may be kept: then they count for this one.
 * YETT_E_RESOURCE_LIMIT */
_must_check_ int execution_keep(struct execution *execution, size_t length,
                                struct yett_error *error);

/* What its command reads is a pipe, of which it keeps the end to write to. */
_must_check_ int execution_input_open(struct execution *execution, struct yett_error *error);
/* What is not written yet is dropped. */
void execution_input_close(struct execution *execution);
