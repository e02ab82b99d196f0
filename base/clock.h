/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks in milliseconds. Deadlines use clock_now_ms(): CLOCK_MONOTONIC does not jump. Needs no
 * privilege. clock_gettime(2)
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Milliseconds since 1970. The host's clock can be set, so this time can jump. */
static inline uint64_t clock_wall_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
