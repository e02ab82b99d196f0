/*
 * The output of a command, kept by init for whoever asks for it later.
 *
 * The command has a pipe, which init reads into sealed memory (memfd_create(2)); it counts as the
 * sandbox's. At its bound init reads on and drops: the command is never held up. The memory is made
 * with the first byte, and sealed at once but for the one mapping that init writes through: what a
 * client gets of it can be neither changed nor resized. As init, unprivileged; nothing here waits.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture {
	bool is_kept;   /* there is one */
	bool truncated; /* something was dropped */
	int pipe;       /* our end; -1 at its end; owned */
	int memory;     /* -1: nothing was written yet; owned */
	uint8_t *bytes; /* the mapping of `limit` bytes, or NULL */
	size_t limit, length;
	size_t polled; /* for whoever polls the pipe: where it is in a list */
};

/* Closes what there is, and makes it none. */
void capture_close(struct capture *capture);

/* One of at most `limit` bytes; the end of the pipe that is written to is the caller's. 0 or
 * -errno. */
_must_check_ int capture_open(struct capture *capture, size_t limit, int *ret_write_end);

/* What is there to be read, of which `ret_wanted` would be kept if there were room. */
size_t capture_available(const struct capture *capture, size_t *ret_wanted);

/* Reads as much, keeps up to `room` of it, and drops the rest. At the end of the pipe it is closed.
 */
void capture_read(struct capture *capture, size_t available, size_t room);

/* The command is over. The pipe is closed, so that whatever still writes gets SIGPIPE, and the
 * mapping goes. */
void capture_finish(struct capture *capture);
