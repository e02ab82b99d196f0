/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of yett-audit on standard error, which systemd takes to the journal: a shortened copy of
 * each record, and yett-audit's own problems. Runs without privilege. These are never the records
 * themselves. Never blocks: a message that cannot be written at once is dropped.
 */
#pragma once

#include "base/fd.h"

#define COPY_RETRY_MS 1000 /* pause after a failure before the next attempt */

enum copy_level { COPY_ERROR = 3, COPY_WARNING = 4, COPY_INFO = 6 };

void copy_say(enum copy_level level, const char *format, ...) _printf_(2, 3);

/* Writes a line of JSON, with or without its newline. */
void copy_line(const char *line, size_t length);
