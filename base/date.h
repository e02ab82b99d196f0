/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates as text, always in UTC: "2026-12-31", which means the start of that day, and
 * "2026-12-31T18:00:00Z".
 *
 * Pure functions with the privilege of the caller. Seconds count from 1970 as in time(2), without
 * leap seconds.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define DATE_TEXT_SIZE 24

/*
 * Returns 0, or -EINVAL if the text has neither form, or the day or time does not exist. Years are
 * 1970 to 9999.
 */
_must_check_ int date_parse(const char *text, uint64_t *ret_seconds);

/* Writes the longer form. Returns `out`. */
char *date_format(uint64_t seconds, char out[DATE_TEXT_SIZE]);
