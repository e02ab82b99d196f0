/* See channel.h. Unprivileged; reads nothing but the channel's socket and the descriptors that come through it. */
#include "helper/init/channel.h"

#include "helper/init/descriptor.h"
#include "helper/init/terminal.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"

#include <string.h>
#include <sys/socket.h>

/* Packets taken before other events get their turn. */
#define CHANNEL_BURST 16

short channel_events(const struct channel *channel)
{
	short events = channel->error.code == YETT_OK ? POLLIN : 0;

	return (short)(channel->blocked ? events | POLLOUT : events);
}

/* The packet's descriptors belong to the stdio entries that ask for one, in order. */
static int channel_take_stdio(const struct frame *frame, const struct message_exec *exec, int stdio[3],
			      struct yett_error *error)
{
	static const char *const names[] = {"stdin", "stdout", "stderr"};
	size_t used = 0;

	for (size_t i = 0; i < 3; i++) {
		int r;

		stdio[i] = -1;
		if (exec->stdio[i] != STDIO_FD)
			continue;
		if (used == frame->fd_count)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT, "%s came without its descriptor",
					 names[i]);
		stdio[i] = frame->fds[used++];
		r = descriptor_check(stdio[i], names[i], error);
		if (r < 0)
			return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE, "%s cannot be examined: %s",
					 names[i], strerror(-r));
		if (r > 0)
			return r;
	}
	if (used != frame->fd_count)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT, "%zu descriptors came, stdio takes %zu",
				 frame->fd_count, used);
	return 0;
}

static int channel_exec(struct channel *channel, uint64_t sequence)
{
	const struct message_exec *exec = &channel->message->body.exec;
	int stdio[3];
	int r = channel_take_stdio(channel->frame, exec, stdio, &channel->error);

	if (r == 0)
		r = terminal_check(exec, &channel->error);
	if (r == 0)
		r = commands_start(channel->commands, channel->message, sequence, stdio, &channel->error);
	return r;
}

static int channel_signal(struct channel *channel)
{
	const struct message_signal *signal = &channel->message->body.signal;

	if (channel->frame->fd_count != 0)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT, "a signal takes no descriptors");
	return commands_signal(channel->commands, signal->command, (int)signal->signal, &channel->error);
}

/* Acts on the packet in the frame. 0 or the code of channel->error; `ret_sequence` is the packet's, if it has one. */
static int channel_handle(struct channel *channel, uint64_t *ret_sequence)
{
	const struct frame *frame = channel->frame;
	struct envelope envelope;
	int r = envelope_read(frame->bytes, frame->length, frame->fd_count, &envelope, &channel->error);

	if (r != 0)
		return r;
	*ret_sequence = envelope.sequence;
	if (envelope.sequence <= channel->sequence)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_REPLAYED,
				 "the sequence number is not above the last one");
	channel->sequence = envelope.sequence;
	if (envelope.kind != MESSAGE_EXEC && envelope.kind != MESSAGE_SIGNAL)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_KIND,
				 "the exec channel takes no such message");
	r = message_decode(envelope.kind, frame->bytes + envelope_size(envelope.kind), envelope.body_length,
			   channel->message, &channel->error);
	if (r == -ENOMEM)
		return error_set(&channel->error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE, "the sandbox is out of memory");
	if (r != 0)
		return r;
	return envelope.kind == MESSAGE_EXEC ? channel_exec(channel, envelope.sequence) : channel_signal(channel);
}

int channel_receive(struct channel *channel)
{
	for (int i = 0; i < CHANNEL_BURST && channel->error.code == YETT_OK; i++) {
		uint64_t sequence = 0;
		int r = frame_receive(channel->socket, channel->frame, MSG_DONTWAIT);

		if (r == -EAGAIN || r == -EINTR)
			return 0;
		if (r == 0)
			return -EPIPE;
		if (r < 0 && r != -EMSGSIZE)
			return r;
		if (r < 0)
			r = error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_SIZE,
				      "the packet has more bytes or descriptors than can be taken");
		else
			r = channel_handle(channel, &sequence);
		frame_close_fds(channel->frame);
		channel->error_sequence = sequence;
		if (r < 0) /* an errno without its reason would be lost on the client */
			(void)error_set(&channel->error, YETT_E_INIT_FAILED, YETT_R_NONE, "%s", strerror(-r));
		else if (r == 0)
			channel->error.code = YETT_OK; /* what a successful step may have left in it */
	}
	return 0;
}

/* A message goes whole or stays due. 0, -EAGAIN when the socket is full, -errno when it is of no more use. */
static int channel_send_one(struct channel *channel, bool *ret_done)
{
	const struct command *command;
	struct yett_error error;
	size_t index;
	int fd, r;

	*ret_done = false;
	if (channel->error.code != YETT_OK) {
		r = frame_send_error(channel->socket, &channel->error, channel->error_sequence, MSG_DONTWAIT);
		if (r == 0)
			channel->error.code = YETT_OK;
		return r;
	}
	*ret_done = !commands_next(channel->commands, &index, channel->message, &error);
	if (*ret_done)
		return 0;
	command = &channel->commands->table[index];
	fd = command->terminal; /* only while STARTED is due */
	if (error.code != YETT_OK)
		r = frame_send_error(channel->socket, &error, command->sequence, MSG_DONTWAIT);
	else
		r = frame_send_message(channel->socket, channel->message, command->sequence, &fd, fd >= 0, MSG_DONTWAIT);
	if (r == 0)
		commands_sent(channel->commands, index);
	return r;
}

int channel_send(struct channel *channel)
{
	bool done = false;
	int r = 0;

	while (r == 0 && !done)
		r = channel_send_one(channel, &done);
	channel->blocked = r == -EAGAIN || r == -ENOMEM || r == -ENOBUFS;
	return channel->blocked ? 0 : r;
}
