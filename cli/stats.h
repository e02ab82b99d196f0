/*
 * `yett stats`: what sandboxes use.
 *
 * Runs as the caller, on the public libyett. What this host does not count is a dash, and null in
 * JSON: never 0.
 */
#pragma once

#include "cli/manage.h"

#define STATS_TEXT_SIZE 16

/* "0", "512", "1.5K", "23M", "1.0G" of 1024; "-" unless known. */
void stats_size(char out[STATS_TEXT_SIZE], bool known, uint64_t bytes);

/* "3.20s", "12m04s", "5h02m", "3d04h" */
void stats_time(char out[STATS_TEXT_SIZE], bool known, uint64_t ms);

/* The share of processors since `before` (NULL: since its start), in hundredths of one; negative:
 * it is not known. */
double stats_cpu_percent(const struct yett_usage *before, const struct yett_usage *now);

/* Of the memory that it may have; negative without a limit. */
double stats_memory_percent(const struct yett_usage *usage);

/* The reading of the same sandbox among others; NULL. */
/* All that run, as an array that can be sorted, and is freed with free(3). */
_must_check_ int stats_read_all(struct yett_connection *connection, bool all,
                                struct yett_usage **ret_list, size_t *ret_count,
                                struct yett_error *error);

const struct yett_usage *stats_find(const struct yett_usage *list, size_t count, const char *id);

int stats_main(const struct subcommand *self, int argc, char **argv);
