/* See records.h. Unprivileged; makes no system call but for the clock, and for captures that go. */
#include "helper/init/records.h"

#include "base/clock.h"
#include "protocol/schema.h"

#include <signal.h>
#include <string.h>

void record_begin(struct records *records, struct record *record, const struct message *message)
{
	const struct message_exec *exec = &message->body.exec;
	size_t used = 0;

	*record = (struct record){.id = ++records->last, .started_ms = clock_wall_ms()};
	for (size_t i = 0; i < ARRAY_SIZE(record->captures); i++)
		capture_close(&record->captures[i]);
	for (uint32_t i = 0; i < exec->argv_count && used < sizeof record->text - 1; i++) {
		const char *argument = message_text(message, exec->argv[i]);
		size_t length = argument ? strlen(argument) : 0;

		if (i > 0)
			record->text[used++] = ' ';
		if (length > sizeof record->text - 1 - used)
			length = sizeof record->text - 1 - used;
		memcpy(record->text + used, argument ? argument : "", length);
		used += length;
	}
	schema_clean_text(record->text); /* it may be cut within a character */
}

static void record_free(struct record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(record->captures); i++)
		capture_close(&record->captures[i]);
}

static struct record *records_at(struct records *records, size_t i)
{
	return &records->table[(records->first + i) % RECORDS_MAX];
}

static void records_forget_first(struct records *records)
{
	record_free(records_at(records, 0));
	records->first = (records->first + 1) % RECORDS_MAX;
	records->count--;
}

void records_keep_consume(struct records *records, struct record *record)
{
	if (records->count == RECORDS_MAX)
		records_forget_first(records);
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
	if (records_bytes(records) == 0)
		return false;
	while (record_bytes(records_at(records, 0)) == 0)
		records_forget_first(records);
	records_forget_first(records);
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

void record_tell(const struct record *record, uint32_t state, struct message *message)
{
	struct message_commands *list = &message->body.commands;
	struct message_command *command = &list->commands[list->commands_count++];
	struct yett_error error = {0};

	*command = (struct message_command){
		.id = record->id, .state = state, .pid = (uint32_t)record->pid, .started_ms = record->started_ms};
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
	/* There is room for MESSAGE_COMMANDS_MAX of the longest. */
	(void)!message_add_text(message, record->text, &command->text);
	(void)!message_add_text(message, error.message, &command->message);
	(void)!message_add_text(message, error.detail, &command->detail);
}
