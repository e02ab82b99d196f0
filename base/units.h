/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats sizes for people (64M, 2G). units_format.h formats CPU counts and durations;
 * units_parse.h parses all of them.
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* The suffixes of the powers of 1024: units_letters[i] stands for 1024^(i + 1). */
#define UNITS_LETTERS 4
extern const char units_letters[UNITS_LETTERS + 1];
/* Uses the largest unit that represents `bytes` exactly: 2G, 1536M, 1000. Returns `out`. */
char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE]);
char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE]);
