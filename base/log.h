/*
 * One line to standard error, which systemd takes to the journal: what the helper did for whom.
 *
 * Any role; needs no privilege. What is not printable ASCII is replaced, so a peer can forge no
 * line.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

/* NOTICE: what was done for a user; INFO: what else there is to know, refusals among it. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6
};

/* Of one user in a minute. Each has a bound of its own, so that what was refused hides nothing that
 * was done. */
#define LOG_DONE_MAX  600
#define LOG_OTHER_MAX 20

#define LOG_USERS 4096 /* whose lines are counted apart: by their uids, modulo this */

/* Lines above `level` are not written. Set once at the start. */
void log_set_level(enum log_level level);

/*
 * From now on the lines of this process are caused by `uid` and bounded: what exceeds the bound is
 * left out, and how many lines that were is told. All processes count together that were forked
 * after log_share_counts(), which can fail with -errno.
 */
void log_count_for(uint32_t uid);
_must_check_ int log_share_counts(void);

void log_line(enum log_level level, const char *format, ...) _printf_(2, 3);
