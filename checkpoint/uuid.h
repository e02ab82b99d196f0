/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of checkpoints: UUIDs of version 7 (RFC 9562, 5.7), which sort by time. Runs with the
 * caller's privilege. Uses only the clock and getrandom(2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"
#include "checkpoint/yett-checkpoint.h"

#define UUID_SIZE 16

/*
 * Makes an id: the current time in units of 1/4096 ms and 62 random bits, so that no other id is
 * the same. If the time is not after that of `last` (may be NULL), uses the next unit after it, so
 * that the new id sorts after `last`. Returns 0; -ERANGE: there is no later time; or the -errno of
 * getrandom(2).
 */
_must_check_ int uuid_make(const uint8_t *last, uint8_t ret_id[static UUID_SIZE]);

/* The smallest id of a time. */
void uuid_of_time(uint64_t time_ms, uint8_t ret_id[static UUID_SIZE]);

/* The time of an id, in ms since 1970. */
uint64_t uuid_time(const uint8_t id[static UUID_SIZE]);

void uuid_print(const uint8_t id[static UUID_SIZE], char ret_text[static YETT_CHECKPOINT_ID_SIZE]);

/*
 * Parses 32 hexadecimal digits with dashes after the 8th, 12th, 16th and 20th. Accepts UUIDs of any
 * version.
 */
bool uuid_parse(const char *text, uint8_t ret_id[static UUID_SIZE]);
