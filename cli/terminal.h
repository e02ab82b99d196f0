/*
 * The caller's terminal while a command has one of its own: raw, and given back as it was, whatever
 * ends this process.
 *
 * Runs as the caller. The terminal itself never goes anywhere: bytes are passed on. What no process
 * can do about its own death by SIGKILL a child does, which waits for it and knows the terminal's
 * modes.
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
	pid_t watcher; /* 0: none yet */
	int guard; /* a socket to it: a byte means that all is well, the end of it that we died; -1:
	              none */
};

/* Looks at `fd`; nothing is changed yet. YETT_E_INVALID_REQUEST when it is no terminal. */
_must_check_ int terminal_open(struct terminal *terminal, int fd, struct yett_error *error);

void terminal_get_size(const struct terminal *terminal, uint16_t *ret_rows, uint16_t *ret_columns);

/*
 * Makes it raw, and sees to it that it will be restored. May be called again, after
 * terminal_restore() or a stop. -EINTR when it is somebody else's at the moment, for whoever
 * catches SIGTTOU: we are in the background.
 */
_must_check_ int terminal_make_raw(struct terminal *terminal, struct yett_error *error);

/* Whether these are the modes of `raw`, as far as they make a terminal raw. Pure. */
bool terminal_is_as(const struct termios *now, const struct termios *raw);

/* Gives it back, unless it is not raw, or has been given other modes by somebody else meanwhile. */
void terminal_restore(struct terminal *terminal);

/* terminal_restore(), and the end of the watcher. */
void terminal_close(struct terminal *terminal);

/*
 * "TERM=VALUE" of the caller in out[0 … size), for the command; false when there is none, or it is
 * more than a name.
 */
bool terminal_type(const char *value, char *out, size_t size);
