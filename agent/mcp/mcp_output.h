/*
 * What is written to the client, as fast as it reads, and kept until then.
 *
 * With the caller's privilege; in the loop of its thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "base/fd.h"

/* bytes that wait, from which on nothing more is read of the client */
#define MCP_OUTPUT_FULL (1u << 20)
/* and from which on it is taken for dead: what goes on is bounded, but not what it writes */
#define MCP_OUTPUT_MAX (64u << 20)

struct mcp_output {
	int fd;
	int flags; /* as they were; -1: they were not changed */
	bool is_socket, is_polled, is_lost;
	sd_event *loop;
	sd_event_source *source, *lost;
	char *bytes; /* from `at` to `length` is to be written */
	size_t at, length, room;
	void (*on_change)(void *data); /* there is less to write, or it is lost */
	void *data;
};

/* Without O_NONBLOCK on a pipe, a client that does not read would stop us. 0 or -errno. */
_must_check_ int mcp_output_open(struct mcp_output *output, sd_event *loop, int fd,
                                 void (*on_change)(void *data), void *data);

/* Writes a line, or keeps it to be written. Where that cannot be, is_lost is set, and on_change
 * called later. */
void mcp_output_line(struct mcp_output *output, const char *text, size_t length);

/* Bytes that wait. */
size_t mcp_output_waiting(const struct mcp_output *output);

void mcp_output_close(struct mcp_output *output);
