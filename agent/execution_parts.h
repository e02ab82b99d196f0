/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files execution*.c. */
#pragma once

#include "agent/execution.h"
#include "agent/problem.h"
#include "agent/sandbox_request.h"

#define EXECUTION_TEXT_MAX 120

struct executions {
	struct execution *latest; /* head of the list, from latest to oldest */
	uint64_t count;           /* all executions so far */
	json_t *statistics;       /* by language, and "all"; NULL: none has ended yet */
};

/* A watch for the end or the output of an execution. */
struct execution_watch {
	struct execution *execution;
	execution_output_fn output;
	execution_over_fn over;
	void *data;
	struct execution_watch *next;
};

/* Notifies and frees all watches. */
void execution_report_over(struct execution *execution);

/* Counts `length` more bytes of requests for this execution. Returns 0 or YETT_E_RESOURCE_LIMIT. */
_must_check_ int execution_keep(struct execution *execution, size_t length,
                                struct yett_error *error);

/* Takes the write end of the pipe that is the command's standard input. */
_must_check_ int execution_input_open(struct execution *execution, struct yett_error *error);
/* Drops bytes that are not written yet. */
void execution_input_close(struct execution *execution);
