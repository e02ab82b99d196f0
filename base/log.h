/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes log lines to standard error, which systemd passes to the journal: what the helper did and
 * for which user.
 *
 * For every role of the helper; needs no privilege. Bytes that are not printable ASCII become '?',
 * so that a peer cannot forge a line.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

/* NOTICE: an action done for a user. INFO: other information, including refusals. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6
};

/*
 * Limits of lines per user and minute. NOTICE has a separate limit (LOG_DONE_MAX), so that a flood
 * of refusals cannot suppress the record of what was done.
 */
#define LOG_DONE_MAX  600
#define LOG_OTHER_MAX 20

#define LOG_USERS 4096 /* size of the table of counters, which is indexed by uid % LOG_USERS */

/* Drops lines of a level above `level`, that is less severe ones. Called once at the start. */
void log_set_level(enum log_level level);

/*
 * log_count_for() attributes all further lines of this process to `uid` and limits them. Lines
 * beyond the limit are dropped, and a later line reports their number. Users whose uids are equal
 * modulo LOG_USERS share a limit.
 *
 * The processes forked after log_share_counts() share one table of counters; without it each
 * process counts alone. log_share_counts() returns 0 or -errno.
 */
void log_count_for(uint32_t uid);
_must_check_ int log_share_counts(void);

void log_line(enum log_level level, const char *format, ...) _printf_(2, 3);
