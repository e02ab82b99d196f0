/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett stats`: shows the resources that sandboxes use.
 *
 * Runs as the caller, on the public libyett. A value that this host does not count is printed as a
 * dash, and as null in JSON, never as 0.
 */
#pragma once

#include "cli/sandboxes/manage.h"

#define STATS_TEXT_SIZE 16

/* Formats "0", "512", "1.5K", "23M" or "1.0G", in units of 1024; "-" if not `known`. */
void stats_size(char out[STATS_TEXT_SIZE], bool known, uint64_t bytes);

/* Formats "3.20s", "12m04s", "5h02m" or "3d04h"; "-" if not `known`. */
void stats_time(char out[STATS_TEXT_SIZE], bool known, uint64_t ms);

/*
 * Returns the processor time used since `before` (NULL: since the start of the sandbox), in percent
 * of one processor. Negative: unknown.
 */
double stats_cpu_percent(const struct yett_usage *before, const struct yett_usage *now);

/* Returns the memory in use in percent of the limit. Negative: unknown, or no limit. */
double stats_memory_percent(const struct yett_usage *usage);

/*
 * Reads the usage of all running sandboxes (`all`: of all users) into an array. The caller may sort
 * the array, and frees it with free(3).
 */
_must_check_ int stats_read_all(struct yett_connection *connection, bool all,
                                struct yett_usage **ret_list, size_t *ret_count,
                                struct yett_error *error);

/* Returns the entry of the sandbox `id` in `list`. NULL: there is none. */
const struct yett_usage *stats_find(const struct yett_usage *list, size_t count, const char *id);

int stats_main(const struct subcommand *self, int argc, char **argv);
