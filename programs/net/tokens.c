/* SPDX-License-Identifier: Apache-2.0 */
/* See tokens.h. */
#include "programs/net/tokens.h"

#define BUCKET_PARTS 10 /* parts of a second: 100 ms */
#define CHUNK_PARTS  100

static bool tokens_is_bounded(const struct tokens *tokens)
{
	return tokens->rate_bytes_s != 0 && tokens->rate_bytes_s <= TOKENS_RATE_MAX;
}

static uint64_t credit_max(const struct tokens *tokens)
{
	uint64_t bytes = tokens->rate_bytes_s / BUCKET_PARTS;

	return (bytes < TOKENS_LEAST ? TOKENS_LEAST : bytes) * TOKENS_SECOND;
}

/* The minimum to move: a few large pieces take less processor time than many small ones. */
static uint64_t chunk(const struct tokens *tokens)
{
	uint64_t bytes = tokens->rate_bytes_s / CHUNK_PARTS;

	return (bytes < 1                  ? 1
	        : bytes > TOKENS_CHUNK_MAX ? TOKENS_CHUNK_MAX
	                                   : bytes) *
	       TOKENS_SECOND;
}

static void tokens_count(struct tokens *tokens, uint64_t now_us)
{
	uint64_t most = credit_max(tokens), elapsed_us = now_us - tokens->at_us;

	if (elapsed_us >= most / tokens->rate_bytes_s)
		tokens->credit = most;
	else
		tokens->credit += elapsed_us * tokens->rate_bytes_s;
	if (tokens->credit > most)
		tokens->credit = most;
	tokens->at_us = now_us;
}

void tokens_set(struct tokens *tokens, uint64_t rate_bytes_s, uint64_t now_us)
{
	bool was_bounded = tokens_is_bounded(tokens);

	if (was_bounded)
		tokens_count(tokens, now_us);
	tokens->rate_bytes_s = rate_bytes_s;
	tokens->at_us = now_us;
	if (tokens_is_bounded(tokens) && (!was_bounded || tokens->credit > credit_max(tokens)))
		tokens->credit = credit_max(tokens);
}

size_t tokens_left(struct tokens *tokens, uint64_t now_us)
{
	if (!tokens_is_bounded(tokens))
		return SIZE_MAX;
	tokens_count(tokens, now_us);
	return tokens->credit < chunk(tokens) ? 0 : tokens->credit / TOKENS_SECOND;
}

void tokens_take(struct tokens *tokens, size_t bytes)
{
	if (tokens_is_bounded(tokens))
		tokens->credit -= bytes * TOKENS_SECOND;
}

int tokens_wait_ms(const struct tokens *tokens)
{
	uint64_t missing;

	if (!tokens_is_bounded(tokens) || tokens->credit >= chunk(tokens))
		return 0;
	missing = chunk(tokens) - tokens->credit;
	return (int)(missing / tokens->rate_bytes_s / 1000 + 1);
}
