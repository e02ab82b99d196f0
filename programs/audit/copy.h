/*
 * What yett-audit tells on standard error, which systemd takes to the journal: a copy of each
 * record, cut short, and its own trouble.
 *
 * Never the record itself, and never waited for: what would have to wait is left out. Without
 * privilege.
 */
#pragma once

#include "base/fd.h"

#define COPY_RETRY_MS 1000 /* what failed is not tried again before */

enum copy_level { COPY_ERROR = 3, COPY_WARNING = 4, COPY_INFO = 6 };

void copy_say(enum copy_level level, const char *format, ...) _printf_(2, 3);

/* A line of JSON, with or without its line end. */
void copy_line(const char *line, size_t length);
