/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See channel.h. Unprivileged; reads only from the channel's socket and examines the descriptors
 * that arrive there.
 */
#include "programs/inside/init/channel.h"

#include "programs/inside/init/descriptor.h"
#include "programs/inside/init/port.h"
#include "programs/inside/init/query.h"
#include "programs/inside/init/restrict.h"
#include "programs/inside/init/terminal.h"
#include "programs/inside/init/timeout.h"
#include "protocol/envelope.h"
#include "protocol/metadata.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* packets that one call handles before other events get their turn */
#define CHANNEL_BURST 16

bool channels_add(struct channels *channels, int socket, const struct channel *like)
{
	size_t i = 0;

	while (i < channels->end && channels->table[i].socket >= 0)
		i++;
	if (i == CHANNELS_MAX) {
		fd_close(socket);
		return false;
	}
	if (i == channels->end)
		channels->end++;
	channels->table[i] = (struct channel){.socket = socket,
	                                      .frame = like->frame,
	                                      .message = like->message,
	                                      .scratch = like->scratch,
	                                      .commands = like->commands};
	return true;
}

void channels_remove(struct channels *channels, size_t i)
{
	struct channel *channel = &channels->table[i];

	commands_forget(channel->commands, channel);
	channel->socket = fd_close(channel->socket);
	while (channels->end > 0 && channels->table[channels->end - 1].socket < 0)
		channels->end--;
}

short channel_events(const struct channel *channel)
{
	short events = channel->error.code == YETT_OK && !channel->asked ? POLLIN : 0;

	return (short)(channel->blocked ? events | POLLOUT : events);
}

/*
 * Assigns the packet's descriptors in order to the stdio entries that are STDIO_FD. The last
 * descriptor is the memory with further arguments.
 */
static int channel_take_files(const struct frame *frame, const struct message_exec *exec,
                              int files[LAUNCH_FILES], struct yett_error *error)
{
	static const char *const names[LAUNCH_FILES] = {"stdin", "stdout", "stderr",
	                                                "the memory with arguments"};
	size_t used = 0;

	for (size_t i = 0; i < LAUNCH_FILES; i++) {
		int r;

		files[i] = -1;
		if (i == LAUNCH_MORE ? exec->more_bytes == 0 : exec->stdio[i] != STDIO_FD)
			continue;
		if (used == frame->fd_count)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
			                 "%s came without its descriptor", names[i]);
		files[i] = frame->fds[used++];
		r = i == LAUNCH_MORE
		            ? descriptor_check_sealed(files[i], exec->more_bytes, names[i], error)
		            : descriptor_check(files[i], names[i], error);
		if (r < 0)
			return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			                 "%s cannot be examined: %s", names[i], strerror(-r));
		if (r > 0)
			return r;
	}
	if (used != frame->fd_count)
		return error_set(error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "%zu descriptors came, and %zu are taken", frame->fd_count, used);
	return 0;
}

/* Checks the standard streams that init must keep. Pure. */
static int channel_check_kept(const struct message_exec *exec, struct yett_error *error)
{
	bool is_kept = exec->stdio[1] == STDIO_CAPTURE || exec->stdio[2] == STDIO_CAPTURE;

	if (exec->stdio[0] > STDIO_CAPTURE || exec->stdio[1] > STDIO_CAPTURE)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "only stderr can be the same as stdout");
	/* A client cannot query file operations, so it could never fetch these. */
	if (exec->file_operation && (is_kept || exec->stdio[0] == STDIO_CAPTURE || exec->terminal ||
	                             exec->metadata_count > 0))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a file operation has no terminal, and nothing is kept of it");
	if (exec->capture_bytes != 0 && !is_kept)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "capture_bytes needs a captured output, and there is none");
	return 0;
}

/* Every further argument and variable takes at least one byte, its NUL. Pure. */
static int channel_check_more(const struct message_exec *exec, struct yett_error *error)
{
	uint64_t count = (uint64_t)exec->more_argv + exec->more_env;

	if (count > exec->more_bytes || (count == 0 && exec->more_bytes > 0))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"further arguments and variables must come in shared memory, with at least a byte for each");
	return 0;
}

static int channel_exec(struct channel *channel, uint64_t sequence)
{
	const struct message_exec *exec = &channel->message->body.exec;
	int files[LAUNCH_FILES];
	int r = channel_take_files(channel->frame, exec, files, &channel->error);

	if (r == 0)
		r = channel_check_more(exec, &channel->error);
	if (r == 0)
		r = channel_check_kept(exec, &channel->error);
	if (r == 0)
		r = timeout_check(channel->commands->config, exec, &channel->error);
	if (r == 0)
		r = metadata_check(channel->message, &channel->error);
	if (r == 0)
		r = terminal_check(exec, &channel->error);
	if (r == 0)
		r = restrict_check(channel->commands->config, channel->message, &channel->error);
	if (r == 0)
		r = commands_start(channel->commands, channel->frame, channel->message,
		                   (struct command_origin){channel, sequence}, files,
		                   &channel->error);
	return r;
}

static int channel_signal(struct channel *channel)
{
	const struct message_signal *signal = &channel->message->body.signal;

	if (channel->frame->fd_count != 0)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "a signal takes no descriptors");
	return commands_signal(channel->commands, (struct command_origin){channel, signal->command},
	                       (int)signal->signal, &channel->error);
}

static int channel_query(struct channel *channel, uint64_t sequence)
{
	const struct message_query *query = &channel->message->body.query;
	int r;

	if (channel->frame->fd_count != 0)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "a query takes no descriptors");
	r = query_act(channel->commands, query, (struct command_origin){channel, sequence},
	              &channel->error);
	if (r != 0)
		return r;
	channel->asked = query_waits(query) ? 0 : MESSAGE_QUERY;
	channel->asked_sequence = sequence;
	channel->query = *query;
	return 0;
}

static int channel_session(struct channel *channel, uint64_t sequence)
{
	int r;

	if (channel->frame->fd_count != 0)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "a session takes no descriptors");
	r = session_change(&channel->commands->session, channel->message, &channel->error);
	if (r != 0)
		return r;
	if (session_asks_for_change(channel->message))
		commands_report_session(channel->commands, channel->frame);
	channel->asked = MESSAGE_SESSION;
	channel->asked_sequence = sequence;
	return 0;
}

static int channel_connect(struct channel *channel, uint64_t sequence)
{
	if (channel->frame->fd_count != 0)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_FD_COUNT,
		                 "a connect takes no descriptors");
	channel->asked = MESSAGE_CONNECT;
	channel->asked_sequence = sequence;
	channel->connect = channel->message->body.connect;
	return 0;
}

static bool channel_takes(uint32_t kind)
{
	return kind == MESSAGE_EXEC || kind == MESSAGE_SIGNAL || kind == MESSAGE_QUERY ||
	       kind == MESSAGE_SESSION || kind == MESSAGE_CONNECT;
}

/*
 * Acts on the packet in the frame. Returns 0 or the code of channel->error; a negative -errno is
 * possible too. `ret_sequence` is the packet's sequence number, if the packet has one.
 */
static int channel_handle(struct channel *channel, uint64_t *ret_sequence)
{
	const struct frame *frame = channel->frame;
	struct envelope envelope;
	int r = envelope_read(frame->bytes, frame->length, frame->fd_count, &envelope,
	                      &channel->error);

	if (r != 0)
		return r;
	*ret_sequence = envelope.sequence;
	if (envelope.sequence <= channel->sequence)
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_REPLAYED,
		                 "the sequence number is not above the last one");
	channel->sequence = envelope.sequence;
	if (!channel_takes(envelope.kind))
		return error_set(&channel->error, YETT_E_PROTOCOL, YETT_R_KIND,
		                 "the exec channel takes no such message");
	r = message_decode_with(&channel->scratch, envelope.kind,
	                        frame->bytes + envelope_size(envelope.kind), envelope.body_length,
	                        channel->message, &channel->error);
	if (r != 0)
		return r;
	switch (envelope.kind) {
	case MESSAGE_EXEC:
		return channel_exec(channel, envelope.sequence);
	case MESSAGE_SIGNAL:
		return channel_signal(channel);
	case MESSAGE_SESSION:
		return channel_session(channel, envelope.sequence);
	case MESSAGE_CONNECT:
		return channel_connect(channel, envelope.sequence);
	default:
		return channel_query(channel, envelope.sequence);
	}
}

int channel_receive(struct channel *channel)
{
	for (int i = 0; i < CHANNEL_BURST && channel->error.code == YETT_OK && !channel->asked;
	     i++) {
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
		/*
		 * A bare -errno sets no code in channel->error, and the client would get no answer.
		 */
		if (r < 0)
			(void)error_set(&channel->error, YETT_E_INIT_FAILED, YETT_R_NONE, "%s",
			                strerror(-r));
		/* A successful step may have left a code in the error. */
		else if (r == 0)
			channel->error.code = YETT_OK;
	}
	return 0;
}

/* Answers the pending request, with the state at the time when the answer can be sent. */
static int channel_send_answer(struct channel *channel)
{
	struct yett_error error;
	struct command_due due = {0};
	_cleanup_fd_ int made = -1;
	struct pollfd room = {.fd = channel->socket, .events = POLLOUT};
	int r = 0;

	/* Connect only once, and only when the socket can be handed over at once. */
	if (channel->asked == MESSAGE_CONNECT &&
	    (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)))
		return -EAGAIN;
	if (channel->asked == MESSAGE_SESSION) {
		session_report(&channel->commands->session, channel->message);
	} else if (channel->asked == MESSAGE_CONNECT) {
		r = port_connect(&channel->connect, &made, &error);
		(void)message_begin(channel->message, MESSAGE_CONNECTED);
		due = (struct command_due){.fds = {made}, .fds_count = 1};
	} else {
		r = query_answer(channel->commands, &channel->query, channel->message, &due,
		                 &error);
	}
	if (r != 0)
		r = frame_send_error(channel->socket, &error, channel->asked_sequence,
		                     MSG_DONTWAIT);
	else
		r = frame_send_message(channel->socket, channel->message, channel->asked_sequence,
		                       due.fds, due.fds_count, MSG_DONTWAIT);
	if (r != 0)
		return r;
	if (channel->asked == MESSAGE_QUERY)
		query_reported(channel->commands, &channel->query);
	channel->asked = 0;
	return 0;
}

/*
 * Sends one message completely, or leaves it due. Returns 0, -EAGAIN when the socket is full, or
 * another -errno when it is no longer usable.
 */
static int channel_send_one(struct channel *channel, bool *ret_done)
{
	struct command_due due;
	struct yett_error error;
	int r;

	*ret_done = false;
	if (channel->error.code != YETT_OK) {
		r = frame_send_error(channel->socket, &channel->error, channel->error_sequence,
		                     MSG_DONTWAIT);
		if (r == 0)
			channel->error.code = YETT_OK;
		return r;
	}
	if (channel->asked)
		return channel_send_answer(channel);
	*ret_done = !commands_next(channel->commands, channel, &due, channel->message, &error);
	if (*ret_done)
		return 0;
	if (error.code != YETT_OK)
		r = frame_send_error(channel->socket, &error, due.sequence, MSG_DONTWAIT);
	else
		r = frame_send_message(channel->socket, channel->message, due.sequence, due.fds,
		                       due.fds_count, MSG_DONTWAIT);
	if (r == 0)
		commands_sent(channel->commands, &due);
	return r;
}

int channel_send(struct channel *channel)
{
	bool done = false;
	int r = 0;

	while (r == 0 && !done)
		r = channel_send_one(channel, &done);
	/* ETOOMANYREFS: a client that does not read has too many descriptors in flight. unix(7) */
	channel->blocked = r == -EAGAIN || r == -ENOMEM || r == -ENOBUFS || r == -ETOOMANYREFS;
	return channel->blocked ? 0 : r;
}
