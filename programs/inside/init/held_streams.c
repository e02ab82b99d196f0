/* SPDX-License-Identifier: Apache-2.0 */
/* See held_streams.h. Unprivileged; makes pipes and calls capture.c to read them. */
#include "programs/inside/init/held_streams.h"

#include <fcntl.h>
#include <sys/stat.h>

/*
 * The pipe belongs to init, and the command has another id. The mode lets the command open
 * /dev/stdin, as capture_open() does for /dev/stdout.
 */
static int kept_open_input(int *ret_write_end, int *ret_read_end)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (fchmod(ends[0], 0644) < 0) {
		r = -errno;
		(void)fd_close(ends[0]);
		(void)fd_close(ends[1]);
		return r;
	}
	*ret_read_end = ends[0];
	*ret_write_end = ends[1];
	return 0;
}

int held_streams_open(struct command *command, const struct message_exec *exec, int files[3],
                      int owned[3])
{
	int r = 0;

	if (exec->stdio[0] == STDIO_CAPTURE)
		r = kept_open_input(&command->input, &owned[0]);
	for (size_t i = 1; r == 0 && i < 3; i++)
		if (exec->stdio[i] == STDIO_CAPTURE)
			r = capture_open(&command->record.captures[i - 1],
			                 (size_t)exec->capture_bytes, &owned[i]);
	for (size_t i = 0; i < 3; i++)
		if (exec->stdio[i] == STDIO_CAPTURE)
			files[i] = owned[i];
	if (exec->stdio[2] == STDIO_AS_OUTPUT)
		files[2] = files[1];
	return r;
}

size_t held_streams_poll(struct command *command, struct pollfd *fds, size_t n)
{
	for (size_t i = 0; i < 2; i++) {
		struct capture *capture = &command->record.captures[i];

		capture->polled = n;
		if (capture->pipe >= 0)
			fds[n++] = (struct pollfd){.fd = capture->pipe, .events = POLLIN};
	}
	return n;
}

/* How many more bytes of output may be kept, over all commands. */
static size_t kept_room(const struct commands *commands)
{
	size_t bytes = records_bytes(&commands->records), most = RECORDS_BYTES_MAX;
	uint64_t memory = commands->config->memory_bytes;

	/* At most a quarter of the sandbox's memory; the rest is for the commands themselves. */
	if (memory != 0 && memory / 4 < most)
		most = (size_t)(memory / 4);
	for (size_t i = 0; i < commands->end; i++)
		if (commands->table[i].state != COMMAND_FREE)
			bytes += record_bytes(&commands->table[i].record);
	return most > bytes ? most - bytes : 0;
}

static void kept_read_one(struct commands *commands, struct capture *capture)
{
	size_t wanted, available = capture_available(capture, &wanted);
	size_t room = wanted > 0 ? kept_room(commands) : 0;

	while (wanted > room && records_make_room(&commands->records))
		room = kept_room(commands);
	capture_read(capture, available, room);
}

void held_streams_read(struct commands *commands, const struct pollfd *fds)
{
	for (size_t i = 0; i < commands->end; i++)
		for (size_t j = 0; j < 2 && commands->table[i].state != COMMAND_FREE; j++) {
			struct capture *capture = &commands->table[i].record.captures[j];

			if (capture->pipe >= 0 && fds[capture->polled].revents)
				kept_read_one(commands, capture);
		}
}

void held_streams_finish(struct commands *commands, struct command *command)
{
	for (size_t i = 0; i < 2; i++) {
		kept_read_one(commands, &command->record.captures[i]);
		capture_finish(&command->record.captures[i]);
	}
	command->input = fd_close(command->input);
}
