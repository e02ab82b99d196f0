/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See records.h. Unprivileged; makes no system calls except for the clock and for closing captured
 * output.
 */
#include "programs/inside/init/records.h"

#include "base/clock.h"
#include "programs/inside/init/argv.h"
#include "protocol/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int record_keep_metadata(struct record *record, const struct message *message)
{
	const struct message_exec *exec = &message->body.exec;
	size_t used = 0;

	if (exec->metadata_count == 0)
		return 0;
	record->metadata = malloc(MESSAGE_METADATA_MAX);
	if (!record->metadata)
		return -ENOMEM;
	record->metadata_count = exec->metadata_count;
	for (uint32_t i = 0; i < exec->metadata_count; i++) {
		memcpy(record->metadata + used, message_text(message, exec->metadata[i]),
		       exec->metadata[i].length + 1);
		used += exec->metadata[i].length + 1;
	}
	return 0;
}

int record_begin(struct records *records, struct record *record, const struct message *message)
{
	const struct message_exec *exec = &message->body.exec;
	size_t used = 0;
	uint32_t i = 0;

	*record = (struct record){.exited = {.started_ms = clock_wall_ms()}};
	record->id = exec->file_operation ? MESSAGE_FILE_OPERATION | ++records->operations
	                                  : ++records->last;
	for (size_t j = 0; j < ARRAY_SIZE(record->captures); j++)
		capture_close(&record->captures[j]);
	for (; i < exec->argv_count && i < MESSAGE_COMMAND_ARGUMENTS_MAX &&
	       used < sizeof record->argv;
	     i++) {
		const char *argument = message_text(message, exec->argv[i]);
		size_t length = strlen(argument), room = sizeof record->argv - 1 - used;

		record->argv_cut = length > room;
		length = record->argv_cut ? room : length;
		memcpy(record->argv + used, argument, length);
		record->argv[used + length] = '\0';
		/* The cut may be within a UTF-8 character. */
		schema_clean_text(record->argv + used);
		used += length + 1;
	}
	record->argv_count = i;
	record->argv_cut = record->argv_cut || i < exec->argv_count || exec->more_argv > 0;
	return record_keep_metadata(record, message);
}

void record_copy_argv(const struct record *record, uint8_t out[static INIT_ARGV_SIZE])
{
	static const char more[] = "…";
	struct argv argv = {0};

	for (uint32_t i = 0; i < record->argv_count; i++)
		argv.size += (uint32_t)strlen(record->argv + argv.size) + 1;
	memcpy(argv.text, record->argv, argv.size);
	if (record->argv_cut) {
		memcpy(argv.text + argv.size, more, sizeof more);
		argv.size += sizeof more;
	}
	memcpy(out, &argv, sizeof argv);
}

_Static_assert(sizeof((struct argv *)0)->text >= MESSAGE_COMMAND_TEXT_MAX + sizeof "…",
               "what is kept of the arguments fits");

void records_take_back(struct records *records, const struct record *record)
{
	if (record_is_command(record))
		records->last--;
	else
		records->operations--;
}

bool record_is_command(const struct record *record)
{
	return !(record->id & MESSAGE_FILE_OPERATION);
}

void record_fetched(struct record *record, bool with_output)
{
	if (with_output || record_bytes(record) == 0)
		record->is_fetched = true;
}

void record_free(struct record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(record->captures); i++)
		capture_close(&record->captures[i]);
	free(record->metadata);
	record->metadata = NULL;
}

static struct record *records_at(struct records *records, size_t i)
{
	return &records->table[(records->first + i) % RECORDS_MAX];
}

/* Removes entry i by moving the entries on its shorter side. */
static void records_forget(struct records *records, size_t i)
{
	record_free(records_at(records, i));
	if (i < records->count / 2) {
		for (; i > 0; i--)
			*records_at(records, i) = *records_at(records, i - 1);
		records->first = (records->first + 1) % RECORDS_MAX;
	} else {
		for (; i + 1 < records->count; i++)
			*records_at(records, i) = *records_at(records, i + 1);
	}
	records->count--;
}

/*
 * Finds the oldest record, or with `is_fetched` the oldest that was fetched; `with_output`: only
 * among those with captured output. Returns false if there is none.
 */
static bool records_find_oldest(struct records *records, bool is_fetched, bool with_output,
                                size_t *ret_index)
{
	for (size_t i = 0; i < records->count; i++) {
		const struct record *record = records_at(records, i);

		if ((is_fetched && !record->is_fetched) ||
		    (with_output && record_bytes(record) == 0))
			continue;
		*ret_index = i;
		return true;
	}
	return false;
}

void records_keep_consume(struct records *records, struct record *record)
{
	size_t oldest = 0;

	/* All other records are not fetched yet: drop this one, which is. */
	if (records->count == RECORDS_MAX && !records_find_oldest(records, true, false, &oldest) &&
	    record->is_fetched) {
		record_free(record);
		return;
	}
	if (records->count == RECORDS_MAX)
		records_forget(records, oldest);
	*records_at(records, records->count++) = *record;
	*record = (struct record){0};
}

struct record *records_find(struct records *records, uint64_t id)
{
	for (size_t i = 0; i < records->count; i++)
		if (records_at(records, i)->id == id)
			return records_at(records, i);
	return NULL;
}

struct record *records_find_from(struct records *records, uint64_t id)
{
	struct record *lowest = NULL;

	for (size_t i = 0; i < records->count; i++) {
		struct record *record = records_at(records, i);

		if (record->id >= id && (!lowest || record->id < lowest->id))
			lowest = record;
	}
	return lowest;
}

size_t record_bytes(const struct record *record)
{
	return record->captures[0].length + record->captures[1].length;
}

size_t records_bytes(const struct records *records)
{
	size_t bytes = 0;

	for (size_t i = 0; i < records->count; i++)
		bytes += record_bytes(&records->table[(records->first + i) % RECORDS_MAX]);
	return bytes;
}

bool records_make_room(struct records *records)
{
	size_t i;

	if (!records_find_oldest(records, true, true, &i) &&
	    !records_find_oldest(records, false, true, &i))
		return false;
	records_forget(records, i);
	return true;
}

uint32_t record_state(const struct record *record)
{
	if (record->failure.error != 0)
		return EXECUTION_FAILED;
	if (record->exited.timed_out)
		return EXECUTION_TIMEOUT;
	return record->exited.signaled ? EXECUTION_KILLED : EXECUTION_COMPLETED;
}

void record_report(const struct record *record, uint32_t state, struct message *message)
{
	struct message_commands *list = &message->body.commands;
	struct message_command *command = &list->commands[list->commands_count++];
	struct yett_error error = {0};

	*command = (struct message_command){.id = record->id,
	                                    .state = state,
	                                    .pid = (uint32_t)record->pid,
	                                    .started_ms = record->exited.started_ms};
	for (size_t i = 0; i < ARRAY_SIZE(record->captures); i++) {
		const struct capture *capture = &record->captures[i];

		command->captured |= capture->is_kept ? 1U << i : 0;
		command->truncated |= capture->truncated ? 1U << i : 0;
		command->output_bytes[i] = capture->length;
	}
	if (state == EXECUTION_FAILED)
		launch_describe(&record->failure, &error);
	else
		command->result = record->exited;
	command->code = error.code;
	command->error_number = (uint32_t)error.os_error;
	command->argv_cut = record->argv_cut;
	/* The message has room for MESSAGE_COMMANDS_MAX of the longest records. */
	for (const char *at = record->argv; command->argv_count < record->argv_count;
	     at += strlen(at) + 1)
		(void)!message_add_text(message, at, &command->argv[command->argv_count++]);
	for (const char *at = record->metadata; command->metadata_count < record->metadata_count;
	     at += strlen(at) + 1)
		(void)!message_add_text(message, at, &command->metadata[command->metadata_count++]);
	(void)!message_add_text(message, error.message, &command->message);
	(void)!message_add_text(message, error.detail, &command->detail);
	(void)!message_add_text(message, error.step, &command->step);
}
