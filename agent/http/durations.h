/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations in the format of the compatibility API: "1m30s" in the configuration, nanoseconds in
 * answers.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/fd.h"

#define DURATIONS_SIZE 32

/* Writes "30s", "1m30s", "1h0m0s", "250ms": down to milliseconds. Returns `text`. */
char *durations_write(uint64_t ms, char text[DURATIONS_SIZE]);

/*
 * Parses such a text, in which each part has a unit (ns, us, ms, s, m, h) and may have a fraction;
 * or a JSON number of nanoseconds. Rounds up to milliseconds. Returns 0 or -EINVAL.
 */
_must_check_ int durations_read(const json_t *value, uint64_t *ret_ms);
