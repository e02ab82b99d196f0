/*
 * Numbers as people write them: sizes (64M, 2G), processors (1.5), times (5m), and back.
 *
 * Pure functions with the privilege of the caller. Parsing is strict: no sign, no space, no locale, no overflow.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* Decimal digits only. -EINVAL, or -ERANGE beyond 64 bits. */
_must_check_ int units_parse_number(const char *text, uint64_t *ret_number);

/* Digits, then nothing or one of K M G T (powers of 1024). -EINVAL, -ERANGE. */
_must_check_ int units_parse_size(const char *text, uint64_t *ret_bytes);

/* "2", "1.5", "0.125": thousandths of a processor, so at most three decimals. -EINVAL, -ERANGE. */
_must_check_ int units_parse_cpus(const char *text, uint64_t *ret_millis);

/* Digits, then one of ms s m h. -EINVAL, -ERANGE. */
_must_check_ int units_parse_duration(const char *text, uint64_t *ret_ms);

/* The largest unit that loses nothing: 2G, 1536M, 1000. Returns `out`. */
char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE]);
char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE]);
/* The same of times: 300ms, 2s, 5m, 1h. */
char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE]);
char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE]);

/* Writes formatted text into out[0 … size), cut to fit; returns how many bytes it now holds, so that a loop can go on.
 */
size_t units_append(char *out, size_t size, const char *format, ...) _printf_(3, 4);
