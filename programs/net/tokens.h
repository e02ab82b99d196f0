/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the bytes per second in one direction, over all connections of a sandbox: a token bucket
 * of 100 ms.
 *
 * Pure: the caller passes the time. Without privilege.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokens {
	uint64_t rate_bytes_s; /* 0: unlimited */
	uint64_t credit;       /* in millionths of a byte */
	uint64_t at_us;        /* time of the last update of `credit` */
};

#define TOKENS_SECOND    UINT64_C(1000000)
#define TOKENS_LEAST     1500                    /* minimum size of the bucket, in bytes */
#define TOKENS_RATE_MAX  UINT64_C(1000000000000) /* faster rates count as unlimited */
#define TOKENS_CHUNK_MAX 65536

/*
 * Sets another rate from `now_us` on. The credit stays, capped to the new bucket. A bucket that was
 * unlimited starts full.
 */
void tokens_set(struct tokens *tokens, uint64_t rate_bytes_s, uint64_t now_us);

/*
 * Bytes that may go now. 0 until there are enough for 10 ms, so that transfers are not too small.
 * SIZE_MAX if unlimited.
 */
size_t tokens_left(struct tokens *tokens, uint64_t now_us);

/* Subtracts bytes that have gone, at most tokens_left(). */
void tokens_take(struct tokens *tokens, size_t bytes);

/* Milliseconds until tokens_left() is not 0 if nothing is taken meanwhile, rounded up. */
int tokens_wait_ms(const struct tokens *tokens);
