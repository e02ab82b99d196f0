/*
 * One line to standard error, which systemd takes to the journal: what the helper did for whom.
 *
 * Any role; needs no privilege. What is not printable ASCII is replaced, so a peer can forge no line.
 */
#pragma once

#include "base/fd.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6 };

/* Lines above `level` are not written. The one setting of the process; set once at the start. */
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *format, ...) _printf_(2, 3);
