/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats CPU counts (1.5) and durations (5m) for people, and appends formatted text to a buffer.
 *
 * Pure functions with the privilege of the caller. Separate from units.h, since the privileged
 * helper does not print such values.
 */
#pragma once

#include "base/units.h"

/* The units of time, the longest first. */
#define UNITS_TIMES 5
struct units_time {
	const char *unit;
	uint64_t ms;
};
extern const struct units_time units_times[UNITS_TIMES];

/* `millis` is in thousandths of a CPU. Writes no trailing zeros: 2, 1.5, 0.25. Returns `out`. */
char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE]);
/*
 * Uses the largest unit, at most hours, that represents `ms` exactly: 300ms, 2s, 5m, 36h. Returns
 * `out`.
 */
char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE]);

/*
 * Writes formatted text into out[0 … size), truncated to fit. Returns the number of bytes written
 * without the NUL, so that the caller can append more after them.
 */
size_t units_append(char *out, size_t size, const char *format, ...) _printf_(3, 4);
