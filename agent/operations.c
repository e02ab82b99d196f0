/* SPDX-License-Identifier: Apache-2.0 */
/* See operations.h. */
#include "agent/operations.h"

#include <string.h>

#include "agent/op.h"
#include "agent/runner/runner.h"

const struct operation operations[] = {
	{"run_code", "Run code",
         "Runs a program in one of 13 languages in a sandbox of its own, which is gone afterwards, or in one that is named, and tells what it "
         "wrote, its exit status, and in words why it failed. Compiles it where the language is. With mode kept, python and javascript keep "
         "variables between calls in one sandbox, which stays. One that takes long is answered as running, with an id: wait_command tells the rest.",
         runner_asked, execution_fields, OPERATION_RUNS, runner_begin},
	{"run_command", "Run a command",
         "Runs a shell command line, or a program with its arguments, in a sandbox of its own or in one that is named, and tells what it wrote "
         "and its exit status. One that takes long is answered as running, with an id: wait_command tells the rest.",
         op_command_asked, execution_fields, OPERATION_RUNS, op_run_command},
	{"wait_command", "Wait for a command, or end it",
         "What became of something that runs: its output so far, or its end. Gives it more to read, sends it a signal, or ends it with signal KILL.",
         op_wait_asked, execution_fields, OPERATION_RUNS, op_wait_command},
	{"read_file", "Read a file",
         "Reads a file of a sandbox, or the whole output of something that was run: path run:ID/stdout, run:ID/stderr or run:ID/output.",
         op_read_asked, op_read_answered, OPERATION_READS | OPERATION_ASKS_AGAIN, op_read_file},
	{"write_file", "Write a file",
         "Makes what is given the content of a file in a sandbox, or adds it at the end.",
         op_write_asked, op_write_answered, OPERATION_DESTROYS, op_write_file},
	{"list_files", "List a directory",
         "Lists a directory of a sandbox: names, kinds, sizes, times.", op_list_asked,
         op_list_answered, OPERATION_READS | OPERATION_ASKS_AGAIN, op_list_files},
	{"sandboxes", "Make, look at and end sandboxes",
         "Makes a sandbox that stays, lists them, tells what they are and use, ends, pauses or resumes one, changes what its network may reach, "
         "asks what the policy would say, and lists what was run.",
         op_sandboxes_asked, op_sandboxes_answered, OPERATION_DESTROYS, op_sandboxes},
	{"events", "What happened",
         "What happened in your sandboxes: commands that began and ended, connections and system calls that were refused and by which rule, memory "
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

json_t *operation_describe(const struct operation *operation)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", operation->name, "title",
	                 operation->title, "description", operation->description, "request",
	                 fields_schema(operation->asked), "answer",
	                 fields_schema(operation->answered));
}
