/* The clock of clock.h in microseconds, for who measures how long commands and sandboxes take. No
 * privilege. */
#pragma once

#include "base/clock.h"

static inline uint64_t clock_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
