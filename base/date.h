/*
 * Dates as people write them, of UTC alone: "2026-12-31", which is the beginning of that day, and
 * "2026-12-31T18:00:00Z".
 *
 * Pure functions with the privilege of the caller. Seconds are those of time(2), which knows no
 * leap seconds.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define DATE_TEXT_SIZE 24

/* -EINVAL: it is in neither form, or there is no such day or time; years are from 1970 to 9999. */
_must_check_ int date_parse(const char *text, uint64_t *ret_seconds);

/* In the longer form, to the second. Returns `out`. */
char *date_format(uint64_t seconds, char out[DATE_TEXT_SIZE]);
