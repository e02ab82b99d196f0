/*
 * How many bytes a second may go one way, over all connections of a sandbox: a token bucket of 100
 * ms.
 *
 * Pure: the time is the caller's. Without privilege.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tokens {
	uint64_t rate_bytes_s; /* 0: not bounded */
	uint64_t credit;       /* in millionths of a byte */
	uint64_t at_us;        /* when it was counted */
};

#define TOKENS_SECOND    UINT64_C(1000000)
#define TOKENS_LEAST     1500 /* the bucket has room for these bytes at the least */
#define TOKENS_RATE_MAX  UINT64_C(1000000000000) /* what is faster is not bounded by us */
#define TOKENS_CHUNK_MAX 65536

/* Another rate, from `now_us` on. What has been taken stays taken; a bucket that was not bounded
 * begins full. */
void tokens_set(struct tokens *tokens, uint64_t rate_bytes_s, uint64_t now_us);

/* How many bytes may go now: 0 until there are enough to be worth it, those of 10 ms; SIZE_MAX
 * where there is no bound. */
size_t tokens_left(struct tokens *tokens, uint64_t now_us);

/* So many have gone, at most tokens_left(). */
void tokens_take(struct tokens *tokens, size_t bytes);

/* Milliseconds until tokens_left() is not 0, if nothing is taken; rounded up. */
int tokens_wait_ms(const struct tokens *tokens);
