/*
 * Numbers as people write them, besides those of units.h: processors (1.5) and times (5m). And text
 * that is put together of such.
 *
 * Pure functions with the privilege of the caller. Apart from units.h, since root's program tells
 * nobody of these.
 */
#pragma once

#include "base/units.h"

/* From the longest. */
#define UNITS_TIMES 5
struct units_time {
	const char *unit;
	uint64_t ms;
};
extern const struct units_time units_times[UNITS_TIMES];

/* As few decimals as there are: 2, 1.5, 0.25. Returns `out`. */
char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE]);
/* The largest unit up to hours that loses nothing: 300ms, 2s, 5m, 36h. Returns `out`. */
char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE]);

/* Writes formatted text into out[0 … size), cut to fit; returns how many bytes it now holds, so
 * that a loop can go on. */
size_t units_append(char *out, size_t size, const char *format, ...) _printf_(3, 4);
