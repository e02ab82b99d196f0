/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a command, which init keeps until a client fetches it.
 *
 * The command writes to a pipe. init reads the pipe into a memfd (memfd_create(2)), which is
 * charged to the sandbox. At the limit init keeps reading and drops the data, so that the command
 * never blocks. The memfd is created with the first byte and is sealed at once; only init's
 * existing mapping can still write to it. A client that receives the memfd can neither change nor
 * resize it. Runs as init, unprivileged. Nothing here blocks.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture {
	bool is_kept;   /* whether this buffer is in use */
	bool truncated; /* output was dropped */
	int pipe;       /* init's read end; -1 after end of file; owned */
	int memory;     /* the memfd; -1 until the first byte arrives; owned */
	uint8_t *bytes; /* the mapping of `limit` bytes, or NULL */
	size_t limit, length;
	size_t polled; /* index of the pipe in the array that the caller of poll(2) built */
};

/* Closes the pipe and the memfd, if there are any, and resets the buffer to unused. */
void capture_close(struct capture *capture);

/*
 * Starts a buffer that keeps at most `limit` bytes. The caller owns the pipe's write end. Returns 0
 * or -errno.
 */
_must_check_ int capture_open(struct capture *capture, size_t limit, int *ret_write_end);

/*
 * Returns the number of bytes that can be read now. `ret_wanted` is how many of them the buffer's
 * own limit has room for.
 */
size_t capture_available(const struct capture *capture, size_t *ret_wanted);

/*
 * Reads `available` bytes, keeps up to `room` of them, and drops the rest. Closes the pipe at end
 * of file.
 */
void capture_read(struct capture *capture, size_t available, size_t room);

/*
 * Call when the command has ended. Closes the pipe, so that a process that still writes gets
 * SIGPIPE, and unmaps the memory.
 */
void capture_finish(struct capture *capture);
