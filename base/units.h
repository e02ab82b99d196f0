/*
 * Numbers as people write them: sizes (64M, 2G), processors (1.5), times (5m). units_parse.h has the way back.
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* Powers of 1024, and times, from the longest. */
#define UNITS_LETTERS 4
extern const char units_letters[UNITS_LETTERS + 1];
#define UNITS_TIMES 4
struct units_time {
	const char *unit;
	uint64_t ms;
};
extern const struct units_time units_times[UNITS_TIMES];

/* The largest unit that loses nothing: 2G, 1536M, 1000. Returns `out`. */
char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE]);
char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE]);
/* The same of times: 300ms, 2s, 5m, 1h. */
char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE]);
char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE]);

/* Writes formatted text into out[0 … size), cut to fit; returns how many bytes it now holds, so that a loop can go on.
 */
size_t units_append(char *out, size_t size, const char *format, ...) _printf_(3, 4);
