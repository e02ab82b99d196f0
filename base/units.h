/*
 * Numbers as people write them: sizes (64M, 2G). units_format.h has processors and times,
 * units_parse.h the way back.
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* Powers of 1024. */
#define UNITS_LETTERS 4
extern const char units_letters[UNITS_LETTERS + 1];
/* The largest unit that loses nothing: 2G, 1536M, 1000. Returns `out`. */
char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE]);
char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE]);
