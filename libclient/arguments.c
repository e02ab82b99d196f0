/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h. Puts the arguments and the environment of a command into its EXEC message. Runs
 * with the caller's privilege. Makes a memfd where the message has no room; has no other effect.
 */
#include <string.h>

#include "libclient/sandbox.h"
#include "protocol/schema.h"

/*
 * The most bytes of arguments and variables in the packet. If there are more, the first
 * FIRST_TEXTS_MAX bytes of arguments stay in the packet, and the rest goes into a memfd.
 */
#define PACKET_TEXTS_MAX 32768
#define TEXT_HEAD        5 /* CBOR head of each text, at most */
/*
 * Bytes of arguments that stay in the packet even if a memfd is used: init reports only arguments
 * of the packet to other clients.
 */
#define FIRST_TEXTS_MAX 4096

static size_t arguments_count_of(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* Returns whether `bytes` is UTF-8. The packet takes only UTF-8; the memfd takes the rest. */
static bool arguments_is_text(const char *bytes)
{
	static const struct schema_field any = {.kind = SCHEMA_TEXT, .max = UINT64_MAX};

	return schema_check_text(&any, bytes, strlen(bytes)) == YETT_R_NONE;
}

/*
 * Returns how many texts from the start of `list` fit into the packet: at most `max`, all UTF-8,
 * and together within `*room` bytes. Subtracts their size from `*room`.
 */
static size_t fit(const char *const *list, size_t max, size_t *room)
{
	size_t count = 0;

	for (; list && list[count] && count < max && arguments_is_text(list[count]); count++) {
		size_t size = strlen(list[count]) + TEXT_HEAD;

		if (size > *room)
			break;
		*room -= size;
	}
	return count;
}

static int libclient_arguments_put(struct channel *channel, const char *const *list, size_t count,
                                   const char *what, struct text *ret_texts, uint32_t *ret_count,
                                   struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = channel_put_text(channel, list[i], MESSAGE_PACKET_MAX, what, &ret_texts[i],
		                     error);
	*ret_count = (uint32_t)count;
	return r;
}

/* Writes each text with its NUL to `to`; NULL: only counts. Returns the number of bytes. */
static size_t write_texts(const char *const *list, char *to)
{
	size_t used = 0;

	for (; list && *list; list++) {
		size_t size = strlen(*list) + 1;

		if (to)
			memcpy(to + used, *list, size);
		used += size;
	}
	return used;
}

/*
 * Makes a sealed memfd with the texts of `argv` and then of `env` (each may be NULL: none), and
 * describes it in `exec`. The caller owns *ret_memory.
 */
static int arguments_make_memory(struct message_exec *exec, const char *const *argv,
                                 const char *const *env, int *ret_memory, struct yett_error *error)
{
	size_t first = write_texts(argv, NULL), bytes = first + write_texts(env, NULL);
	_cleanup_free_ char *texts = NULL;
	int fd;

	if (bytes > MESSAGE_TEXTS_MAX)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"the arguments and the environment are longer than %d MiB, which no program takes",
			MESSAGE_TEXTS_MAX >> 20);
	texts = malloc(bytes);
	if (!texts)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the arguments");
	(void)write_texts(argv, texts);
	(void)write_texts(env, texts + first);
	fd = fd_new_sealed("yett-arguments", texts, bytes);
	if (fd < 0) {
		(void)error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                "no memory for the arguments: %s", strerror(-fd));
		(void)error_cause(error, NULL, -fd);
		return YETT_E_OUT_OF_MEMORY;
	}
	exec->more_bytes = bytes;
	exec->more_argv = (uint32_t)arguments_count_of(argv);
	exec->more_env = (uint32_t)arguments_count_of(env);
	*ret_memory = fd;
	return 0;
}

int arguments_put(struct channel *channel, const char *const *argv, const char *const *env,
                  int *ret_memory, struct yett_error *error)
{
	struct message_exec *exec = &channel->message.body.exec;
	size_t room = PACKET_TEXTS_MAX, argc = arguments_count_of(argv),
	       envc = arguments_count_of(env);
	size_t in_packet = fit(argv, MESSAGE_ARGV_MAX, &room);
	int r;

	*ret_memory = -1;
	if (in_packet < argc || fit(env, MESSAGE_ENV_MAX, &room) < envc) {
		room = FIRST_TEXTS_MAX;
		in_packet = fit(argv, MESSAGE_ARGV_MAX, &room);
		envc = 0;
	}
	if (in_packet == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the name of the program is too long, or not UTF-8");
	r = libclient_arguments_put(channel, argv, in_packet, "an argument", exec->argv,
	                            &exec->argv_count, error);
	if (r == 0)
		r = libclient_arguments_put(channel, env, envc, "an environment variable",
		                            exec->env, &exec->env_count, error);
	if (r != 0 || (in_packet == argc && envc == arguments_count_of(env)))
		return r;
	return arguments_make_memory(exec, argv + in_packet, envc == 0 ? env : NULL, ret_memory,
	                             error);
}
