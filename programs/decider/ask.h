/*
 * What takes privilege, asked of the monitor: one thing at a time, and waited for. decider.h has
 * the acts.
 *
 * Without privilege. The monitor is trusted; when it is gone, so is this process.
 */
#pragma once

#include "base/log.h"
#include "helper/monitor/decider.h"

#include <sys/uio.h>

/* What comes with an answer; -1: nothing does. */
struct ask_fds {
	int first, second;
};

/* Asks for `act`, with what the parts hold. 0, or the code that the monitor refused it with, or for
 * which it ends the connection. Whatever descriptors come are the caller's. */
_must_check_ int ask(enum decider_act act, const struct iovec *parts, unsigned count,
                     struct decider_answer *ret_answer, struct ask_fds *ret_fds,
                     struct yett_error *error);

/* Whether what was asked for last came to nothing because the client was gone by then: then nobody
 * was refused anything. Said once. */
bool ask_was_too_late(void);

/* Tells what is not answered. */
void ask_tell(enum decider_act act);

/* The same with so many bytes, in as many packets as they take. */
void ask_tell_bytes(enum decider_act act, const void *bytes, size_t size);

/* Has a line written to the log, about the peer. NOTICE: what was done; INFO: what else there is.
 */
void ask_log(enum log_level level, const char *format, ...) _printf_(2, 3);

/* What it is told first, and the connection of the client. */
struct decider_begin *ask_begin(int *ret_socket);
