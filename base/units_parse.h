/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses numbers, sizes, CPU counts and durations that people write.
 *
 * Pure functions with the privilege of the caller. Only for programs that read user input: no
 * privileged program links this file. Parsing is strict: no sign, no space, no locale, no overflow.
 */
#pragma once

#include "base/units.h"

/* Accepts decimal digits only. Returns 0, -EINVAL, or -ERANGE above 64 bits. */
_must_check_ int units_parse_number(const char *text, uint64_t *ret_number);

/*
 * Parses a size in bytes: "4096", "64M", "64m", "64MiB", "64MB", "1.5G". Every unit is a power of
 * 1024. Rounds up to whole thousandths of the unit, then to whole bytes. Returns 0, -EINVAL or
 * -ERANGE.
 */
_must_check_ int units_parse_size(const char *text, uint64_t *ret_bytes);

/*
 * As units_parse_size() for the size limit of a core file: at least 4K, the smallest core file that
 * kernels write, or "none", which gives 1. Returns 0, -EINVAL or -ERANGE.
 */
_must_check_ int units_parse_core(const char *text, uint64_t *ret_bytes);

/*
 * Parses a CPU count: "2", "1.5", "0.125", with at most three decimals. `*ret_millis` is in
 * thousandths of a CPU. Returns 0, -EINVAL or -ERANGE.
 */
_must_check_ int units_parse_cpus(const char *text, uint64_t *ret_millis);

/*
 * Parses a duration: "300ms", "2s", "1.5h", "1h30m", "2d"; a bare number such as "5" is in seconds.
 * Rounds each part up to whole thousandths of its unit, then to whole milliseconds. Returns 0,
 * -EINVAL or -ERANGE.
 */
_must_check_ int units_parse_duration(const char *text, uint64_t *ret_ms);
