/*
 * Numbers as people write them, read: for programs that hear people. What runs with privilege does
 * not.
 *
 * Pure functions with the privilege of the caller. Parsing is strict: no sign, no space, no locale,
 * no overflow.
 */
#pragma once

#include "base/units.h"

/* Decimal digits only. -EINVAL, or -ERANGE beyond 64 bits. */
_must_check_ int units_parse_number(const char *text, uint64_t *ret_number);

/* Bytes: "4096", "64M", "64m", "64MiB", "64MB", "1.5G", all of powers of 1024; a part of a byte
 * counts as one. -EINVAL, -ERANGE. */
_must_check_ int units_parse_size(const char *text, uint64_t *ret_bytes);

/* The same, of a core file: at least 4K, the least that kernels write, or "none", which is 1.
 * -EINVAL, -ERANGE. */
_must_check_ int units_parse_core(const char *text, uint64_t *ret_bytes);

/* "2", "1.5", "0.125": thousandths of a processor, so at most three decimals. -EINVAL, -ERANGE. */
_must_check_ int units_parse_cpus(const char *text, uint64_t *ret_millis);

/* "300ms", "2s", "1.5h", "1h30m", "2d", and "5" of seconds; a part of a millisecond counts as one.
 * -EINVAL, -ERANGE. */
_must_check_ int units_parse_duration(const char *text, uint64_t *ret_ms);
