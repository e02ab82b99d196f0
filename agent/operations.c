/* SPDX-License-Identifier: Apache-2.0 */
/* See operations.h. */
#include "agent/operations.h"

#include <string.h>

#include "agent/op.h"
#include "agent/runner/runner.h"
#include "agent/runner/runner_ask.h"

const struct operation operations[] = {
	{"run_code", "Run code",
         "Runs a program in one of 13 languages, in a new sandbox that is removed afterwards or in the sandbox that you name. Returns the output, "
         "the exit status, and why the program failed. Compiled languages are compiled first. With mode kept, python and javascript keep "
         "variables between calls in one sandbox, which stays. A long run is answered as running, with an id: wait_command returns the rest.",
         runner_asked, execution_fields, OPERATION_RUNS, runner_begin},
	{"run_command", "Run a command",
         "Runs a shell command line, or a program with its arguments, in a new sandbox or in the sandbox that you name. Returns the output "
         "and the exit status. A long run is answered as running, with an id: wait_command returns the rest.",
         op_command_asked, execution_fields, OPERATION_RUNS, op_run_command},
	{"wait_command", "Wait for a command, or end it",
         "Waits for a running command or program, and returns its output so far or its result. Can send input or a signal; KILL ends the command.",
         op_wait_asked, execution_fields, OPERATION_RUNS, op_wait_command},
	{"read_file", "Read a file",
         "Reads a file of a sandbox, or the whole output of something that was run: path run:ID/stdout, run:ID/stderr or run:ID/output.",
         op_read_asked, op_read_answered, OPERATION_READS | OPERATION_ASKS_AGAIN, op_read_file},
	{"write_file", "Write a file",
         "Writes the given content to a file in a sandbox, or appends the content.", op_write_asked,
         op_write_answered, OPERATION_DESTROYS, op_write_file},
	{"list_files", "List a directory",
         "Lists a directory of a sandbox: names, kinds, sizes, times.", op_list_asked,
         op_list_answered, OPERATION_READS | OPERATION_ASKS_AGAIN, op_list_files},
	{"sandboxes", "Make, look at and end sandboxes",
         "Makes a sandbox that stays, describes sandboxes and what they use, ends, pauses or resumes a sandbox, changes its network rules, "
         "checks a request against the policy, and lists executions.",
         op_sandboxes_asked, op_sandboxes_answered, OPERATION_DESTROYS, op_sandboxes},
	{"events", "What happened",
         "Returns the events of your sandboxes: commands that began and ended, connections and system calls that a rule refused, memory "
         "that ran out, and requests that the policy refused.",
         op_events_asked, op_events_answered, OPERATION_READS, op_events},
	{0},
};

const struct operation *operation_find(const char *name)
{
	for (const struct operation *operation = operations; operation->name; operation++)
		if (strcmp(operation->name, name) == 0)
			return operation;
	return NULL;
}

struct call *operations_begin(struct agent *agent, const char *name, const json_t *arguments,
                              const struct call_options *options)
{
	return call_begin(agent, operation_find(name), name, arguments, options);
}

json_t *operation_describe(const struct operation *operation)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", operation->name, "title",
	                 operation->title, "description", operation->description, "request",
	                 fields_schema(operation->asked), "answer",
	                 fields_schema(operation->answered));
}
