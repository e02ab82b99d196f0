/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the table in operations.c, one file each: request fields, answer fields, and
 * the function that begins the operation.
 */
#pragma once

#include "agent/call.h"
#include "agent/execution.h"
#include "agent/problem.h"

extern const struct field op_command_asked[], op_wait_asked[], op_read_asked[], op_read_answered[],
	op_write_asked[], op_write_answered[], op_list_asked[], op_list_answered[],
	op_sandboxes_asked[], op_sandboxes_answered[], op_events_asked[], op_events_answered[];

void op_run_command(struct call *call);
void op_wait_command(struct call *call);
void op_read_file(struct call *call);
void op_write_file(struct call *call);
void op_list_files(struct call *call);
void op_sandboxes(struct call *call);
void op_events(struct call *call);

/*
 * The time limit for what is run: the request's "timeout", or the default of the settings. Returns
 * 0, or YETT_E_INVALID_REQUEST if it exceeds the maximum of the settings.
 */
_must_check_ int op_timeout(const struct call *call, uint64_t *ret_ms, struct yett_error *error);

/* Bytes of each output in an answer: the request's "max_output", or the default of the settings. */
size_t op_max_output(const struct call *call);

/*
 * Begins the execution and answers `call`: at once for a background request, else when the
 * execution ends or the call's patience_ms have passed.
 */
void op_run(struct call *call, struct execution *execution);

/* Rows that run_code and run_command share. */
#define OP_RUN_FIELDS                                                                                                              \
	{"stdin", FIELD_TEXT, FIELD_NULLABLE, 0, 4194304, "Standard input"},                                                       \
		{"env", FIELD_MAP, FIELD_NULLABLE,                                                                                 \
	         0,     256,       "Environment variables, in addition to those of the sandbox"},                                  \
		{"timeout",                                                                                                        \
	         FIELD_DURATION,                                                                                                   \
	         FIELD_NULLABLE,                                                                                                   \
	         1,                                                                                                                \
	         INT64_MAX,                                                                                                        \
	         "The time limit, which kills the command; default 30 seconds, unless the settings differ"},                       \
		{"max_output",                                                                                                     \
	         FIELD_NUMBER,                                                                                                     \
	         FIELD_NULLABLE,                                                                                                   \
	         1000,                                                                                                             \
	         1000000,                                                                                                          \
	         "The most bytes of each output in the answer; default 30000, unless the settings differ"},                        \
	{                                                                                                                          \
		"sandbox", FIELD_TEXT, FIELD_NULLABLE, 1, 64,                                                                      \
			"The id or name of an existing sandbox. Default: a new sandbox for this call, which is removed afterwards" \
	}
