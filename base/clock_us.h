/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLOCK_MONOTONIC in microseconds, to measure how long commands and sandboxes take. Needs no
 * privilege.
 */
#pragma once

#include "base/clock.h"

static inline uint64_t clock_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
