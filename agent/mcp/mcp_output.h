/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output to the client: writes without blocking, and buffers what the client has not read.
 *
 * Runs with the caller's privilege, in the thread of the event loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "base/fd.h"

/* From this number of buffered bytes on, the client's input is not read. */
#define MCP_OUTPUT_FULL (1u << 20)
/*
 * From this number of buffered bytes on, the client counts as gone: the number of running requests
 * is limited, but not the size of their answers.
 */
#define MCP_OUTPUT_MAX (64u << 20)

struct mcp_output {
	int fd;
	int flags; /* original file status flags; -1: not changed */
	bool is_socket, is_polled, is_lost;
	sd_event *loop;
	sd_event_source *source, *lost;
	char *bytes; /* bytes from `at` to `length` are still to be written */
	size_t at, length, room;
	void (*on_change)(void *data); /* called when bytes were written, or `is_lost` was set */
	void *data;
};

/*
 * Sets O_NONBLOCK if `fd` is a pipe; otherwise a client that does not read would block this
 * program. Returns 0 or -errno.
 */
_must_check_ int mcp_output_open(struct mcp_output *output, sd_event *loop, int fd,
                                 void (*on_change)(void *data), void *data);

/*
 * Writes a line, or buffers it. On failure, sets is_lost and calls on_change later from the loop.
 */
void mcp_output_line(struct mcp_output *output, const char *text, size_t length);

/* The number of buffered bytes. */
size_t mcp_output_waiting(const struct mcp_output *output);

void mcp_output_close(struct mcp_output *output);
