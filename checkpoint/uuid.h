/*
 * Ids of checkpoints: UUIDs of version 7 (RFC 9562, 5.7), whose order is that of their times.
 *
 * With the caller's privilege. Asks the system for the time and for chance, nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fd.h"
#include "checkpoint/yett-checkpoint.h"

#define UUID_SIZE 16

/*
 * A new one: the time now, to a 4096th of a millisecond, or the least behind that of `last` (NULL:
 * there is none), and 62 bits by chance. So it comes behind `last`, and nobody else makes the same.
 * -ERANGE: behind that of `last` there is no time; what getrandom(2) says.
 */
_must_check_ int uuid_make(const uint8_t *last, uint8_t ret_id[static UUID_SIZE]);

/* The least one of a time. */
void uuid_of_time(uint64_t time_ms, uint8_t ret_id[static UUID_SIZE]);

/* Milliseconds since 1970. */
uint64_t uuid_time(const uint8_t id[static UUID_SIZE]);

void uuid_print(const uint8_t id[static UUID_SIZE], char ret_text[static YETT_CHECKPOINT_ID_SIZE]);

/* 32 hexadecimal digits with dashes behind the 8th, 12th, 16th and 20th, of any version. */
bool uuid_parse(const char *text, uint8_t ret_id[static UUID_SIZE]);
