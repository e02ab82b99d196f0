/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h. Converts init's answers about commands and about its session to the structs of
 * yett.h. The answers are hostile input: init may be compromised.
 */
#include <stdio.h>
#include <string.h>

#include "libclient/sandbox.h"
#include "protocol/schema.h"

#define TEXT_SIZE      128 /* yett_command_status.text, with its NUL */
#define ARGV_BYTES_MAX 512 /* all arguments together, each with its NUL */

/*
 * Sets text, argv and argv_cut. Arguments beyond ARGV_BYTES_MAX are dropped: the protocol bounds
 * the length of each argument but not their sum, and a compromised init may send more than an
 * honest one. Returns false if memory is short.
 */
static bool take_argv(const struct channel *channel, const struct message_command *from,
                      struct yett_command_status *to)
{
	const char *argv[ARGV_BYTES_MAX]; /* each takes at least its NUL */
	size_t used = 0, reported = 0, count = 0;
	char *text = memory_add(to, TEXT_SIZE);

	if (!text)
		return false;
	for (uint32_t i = 0; i < from->argv_count; i++) {
		const char *argument = message_text(&channel->message, from->argv[i]);
		size_t size = strlen(argument) + 1;

		to->argv_cut = to->argv_cut || size > ARGV_BYTES_MAX - used;
		if (to->argv_cut)
			break;
		used += size;
		argv[count++] = argument;
		if (reported < TEXT_SIZE)
			reported += (size_t)snprintf(text + reported, TEXT_SIZE - reported, "%s%s",
			                             i ? " " : "", argument);
	}
	to->argv_cut = to->argv_cut || from->argv_cut;
	/* snprintf() may have cut a UTF-8 character in two. */
	schema_clean_text(text);
	channel_make_printable(text);
	to->text = text;
	to->argv = (const char *const *)memory_add_list(to, argv, count);
	return to->argv != NULL;
}

static bool take_outputs(const struct message_command *from, struct yett_command_status *to)
{
	for (int i = 0; i < 2; i++) {
		struct yett_output_status *output = memory_add(to, sizeof *output);

		if (!output)
			return false;
		*output = (struct yett_output_status){.size = sizeof *output,
		                                      .captured = from->captured >> i & 1,
		                                      .truncated = from->truncated >> i & 1,
		                                      .length = (size_t)from->output_bytes[i]};
		to->outputs[i] = output;
	}
	return true;
}

static bool take_metadata(const struct channel *channel, const struct message_command *from,
                          struct yett_command_status *to)
{
	const char *metadata[MESSAGE_METADATA_ITEMS_MAX];

	for (uint32_t i = 0; i < from->metadata_count; i++)
		metadata[i] = message_text(&channel->message, from->metadata[i]);
	to->metadata = (const char *const *)memory_add_list(to, metadata, from->metadata_count);
	return to->metadata != NULL;
}

void answer_error(const struct channel *channel, const struct message_command *from,
                  struct yett_error *error)
{
	*error = (struct yett_error){.code = YETT_E_COMMAND_FAILED,
	                             .os_error = (int)from->error_number};
	channel_copy_printable(&channel->message, from->message, error->message,
	                       sizeof error->message);
	channel_copy_printable(&channel->message, from->detail, error->detail,
	                       sizeof error->detail);
	channel_copy_text(&channel->message, from->step, error->step, sizeof error->step);
}

struct yett_command_status *answer_status(const struct channel *channel,
                                          const struct message_command *from)
{
	_cleanup_(memory_freep) struct yett_command_status *to = memory_new(sizeof *to);
	bool has_failed = from->state == EXECUTION_FAILED;
	struct yett_error *error = to && has_failed ? memory_add(to, sizeof *error) : NULL;
	struct yett_result *result = memory_add(to, sizeof *result);

	if (!result || (has_failed && !error) || !take_argv(channel, from, to) ||
	    !take_outputs(from, to) || !take_metadata(channel, from, to))
		return NULL;
	*result = command_result(&from->result);
	if (error)
		answer_error(channel, from, error);
	to->size = sizeof *to;
	to->id = from->id;
	to->state = (enum yett_command_state)from->state;
	to->pid = from->pid;
	to->started_ms = from->started_ms;
	to->result = result;
	to->error = error;
	return steal_ptr(&to);
}

struct yett_session *answer_session(const struct channel *channel)
{
	const struct message_surroundings *from = &channel->message.body.surroundings;
	_cleanup_(memory_freep) struct yett_session *session = memory_new(sizeof *session);
	const char **env = memory_add(session, (from->env_count + 1) * sizeof *env);

	if (!env || !(session->directory =
	                      memory_add_text(session, message_text(&channel->message, from->cwd))))
		return NULL;
	for (uint32_t i = 0; i < from->env_count; i++)
		if (!(env[i] = memory_add_text(session,
		                               message_text(&channel->message, from->env[i]))))
			return NULL;
	session->size = sizeof *session;
	session->env = env;
	return steal_ptr(&session);
}
