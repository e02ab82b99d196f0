/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets the caller's terminal to raw mode while a command has a terminal of its own, and restores
 * the modes however this process ends.
 *
 * Runs as the caller. Never pass the terminal itself on, only its bytes. A process killed by
 * SIGKILL cannot restore anything, so a child process, the watcher, knows the modes and waits for
 * our end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/fd.h"
#include "libclient/yett.h"

struct terminal {
	int fd; /* borrowed */
	struct termios saved, raw;
	bool is_raw;
	pid_t watcher; /* 0: not started */
	/*
	 * Our end of a socket to the watcher. A byte tells it that the terminal is restored, end of
	 * file that we died. -1: none.
	 */
	int guard;
};

/* Reads the modes of `fd`, and changes nothing. YETT_E_INVALID_REQUEST: `fd` is no terminal. */
_must_check_ int terminal_open(struct terminal *terminal, int fd, struct yett_error *error);

void terminal_get_size(const struct terminal *terminal, uint16_t *ret_rows, uint16_t *ret_columns);

/*
 * Sets raw mode, and starts the watcher that restores the modes. May be called again after
 * terminal_restore() or a stop. -EINTR: the process is in the background. Only a caller that
 * catches SIGTTOU gets this; others are stopped.
 */
_must_check_ int terminal_make_raw(struct terminal *terminal, struct yett_error *error);

/* Whether the modes equal `raw` in the flags that make a terminal raw. Pure. */
bool terminal_is_as(const struct termios *now, const struct termios *raw);

/*
 * Restores the modes. Does nothing if raw mode is off, or if another process has set other modes
 * meanwhile.
 */
void terminal_restore(struct terminal *terminal);

/* Calls terminal_restore(), and ends the watcher. */
void terminal_close(struct terminal *terminal);

/*
 * Stores "TERM=VALUE" of the caller, for the command, in out[0 … size). Returns false if `value` is
 * not set or is not a plain name.
 */
bool terminal_type(const char *value, char *out, size_t size);
