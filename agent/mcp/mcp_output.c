/* SPDX-License-Identifier: Apache-2.0 */
/* See mcp_output.h. */
#include "agent/mcp/mcp_output.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

size_t mcp_output_waiting(const struct mcp_output *output)
{
	return output->length - output->at;
}

static ssize_t mcp_output_write_some(const struct mcp_output *output)
{
	const char *bytes = output->bytes + output->at;

	if (output->is_socket)
		return send(output->fd, bytes, mcp_output_waiting(output),
		            MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(output->fd, bytes, mcp_output_waiting(output));
}

static int on_lost(sd_event_source *source, void *data)
{
	struct mcp_output *output = data;

	(void)source;
	output->on_change(output->data);
	return 0;
}

static void mcp_output_lose(struct mcp_output *output)
{
	output->is_lost = true;
	(void)sd_event_add_defer(output->loop, &output->lost, on_lost, output);
}

/* Writes as much as the descriptor takes now. */
static void mcp_output_flush(struct mcp_output *output)
{
	while (!output->is_lost && mcp_output_waiting(output) > 0) {
		ssize_t written = mcp_output_write_some(output);

		if (written >= 0)
			output->at += (size_t)written;
		else if (errno == EAGAIN && output->is_polled)
			break;
		else if (errno != EINTR)
			mcp_output_lose(output);
	}
	if (mcp_output_waiting(output) == 0)
		output->at = output->length = 0;
	if (output->is_polled)
		(void)sd_event_source_set_io_events(output->source,
		                                    mcp_output_waiting(output) > 0 ? EPOLLOUT : 0);
}

static int mcp_output_on_ready(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct mcp_output *output = data;

	(void)source;
	(void)fd;
	if (events & (EPOLLERR | EPOLLHUP))
		output->is_lost = true; /* the reader has closed the pipe: epoll_ctl(2) */
	mcp_output_flush(output);
	if (output->is_lost)
		(void)sd_event_source_set_enabled(output->source, SD_EVENT_OFF);
	output->on_change(output->data);
	return 0;
}

int mcp_output_open(struct mcp_output *output, sd_event *loop, int fd,
                    void (*on_change)(void *data), void *data)
{
	struct stat st;
	int r;

	*output = (struct mcp_output){
		.fd = fd, .flags = -1, .loop = loop, .on_change = on_change, .data = data};
	if (fstat(fd, &st) < 0)
		return -errno;
	output->is_socket = S_ISSOCK(st.st_mode);
	if (S_ISFIFO(st.st_mode)) {
		output->flags = fcntl(fd, F_GETFL);
		if (output->flags < 0 || fcntl(fd, F_SETFL, output->flags | O_NONBLOCK) < 0)
			return -errno;
	}
	r = sd_event_add_io(loop, &output->source, fd, 0, mcp_output_on_ready, output);
	output->is_polled = r >= 0;
	return r == -EPERM ? 0 : r; /* EPERM: a regular file, which never blocks */
}

/* Makes room for `length` more bytes. */
static bool mcp_output_make_room(struct mcp_output *output, size_t length)
{
	size_t needed, room;
	char *bytes;

	if (output->at > 0) {
		memmove(output->bytes, output->bytes + output->at, mcp_output_waiting(output));
		output->length -= output->at;
		output->at = 0;
	}
	needed = output->length + length;
	room = needed > 2 * output->room ? needed : 2 * output->room;
	if (needed > MCP_OUTPUT_MAX)
		return false;
	if (needed <= output->room)
		return true;
	bytes = realloc(output->bytes, room);
	if (!bytes)
		return false;
	output->bytes = bytes;
	output->room = room;
	return true;
}

void mcp_output_line(struct mcp_output *output, const char *text, size_t length)
{
	if (output->is_lost)
		return;
	if (length >= MCP_OUTPUT_MAX || (output->length + length + 1 > output->room &&
	                                 !mcp_output_make_room(output, length + 1))) {
		mcp_output_lose(output);
		return;
	}
	memcpy(output->bytes + output->length, text, length);
	output->bytes[output->length + length] = '\n';
	output->length += length + 1;
	mcp_output_flush(output);
}

void mcp_output_close(struct mcp_output *output)
{
	if (output->flags >= 0)
		(void)fcntl(output->fd, F_SETFL, output->flags);
	output->source = sd_event_source_unref(output->source);
	output->lost = sd_event_source_unref(output->lost);
	free(output->bytes);
	output->bytes = NULL;
}
