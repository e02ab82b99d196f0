/*
 * Durations as the older manager writes them: "1m30s" in its configuration, nanoseconds in its
 * answers.
 *
 * Pure functions, with the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/fd.h"

#define DURATIONS_SIZE 32

/* "30s", "1m30s", "1h0m0s", "250ms": the least unit is the millisecond. Returns `text`. */
char *durations_write(uint64_t ms, char text[DURATIONS_SIZE]);

/* Such a text, each part with a unit of ns, us, ms, s, m or h, and perhaps a fraction; or
 * nanoseconds as a number. Rounded up. -EINVAL */
_must_check_ int durations_read(const json_t *value, uint64_t *ret_ms);
