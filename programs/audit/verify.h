/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies that records are exactly those that were written: none missing, changed, added or
 * reordered. Pure functions for yett, without privilege. The caller passes segments in order, and
 * then the state that they must lead to. The input may be forged by anyone who can write the files,
 * so only what a MAC by a key of the chain covers is trusted.
 */
#pragma once

#include "programs/audit/slots.h"

#define VERIFY_KEYS_MAX      64
#define VERIFY_BYTES_UNKNOWN UINT64_MAX

enum verify_kind {
	VERIFY_WRONG,     /* differs from what was written */
	VERIFY_UNCHECKED, /* cannot be verified without the key */
	VERIFY_NOTE,
};

/* Reports one finding. `line` counts from 1; 0: the whole file. */
typedef void verify_report(void *userdata, enum verify_kind kind, const char *file, size_t line,
                           const char *text);

struct verify_key {
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];
	bool is_used;
};

/* The state of verification within the current segment. */
enum verify_sync {
	VERIFY_NOTHING,   /* no chain yet, or a chain whose key is not given */
	VERIFY_IN_STEP,   /* the chain's state is verified up to here */
	VERIFY_OUT_OF_IT, /* only the minute's key is known until the next segment begins */
};

/* A segment as its first record describes it. */
struct verify_segment {
	uint64_t number, epoch, seq;
	uint8_t id[CHAIN_ID_SIZE], seal[CHAIN_HASH_SIZE], host[CHAIN_ID_SIZE];
	bool is_sealed, has_before;
	struct chain before;
	uint64_t before_segment, before_bytes;
};

struct verify {
	verify_report *report;
	void *userdata;
	struct verify_key keys[VERIFY_KEYS_MAX];
	size_t keys_count;
	bool may_begin_later; /* segments before the first one given may be missing */
	/* Results. */
	uint64_t records, segments, wrong, unchecked;
	bool has_sealed,
		/* there were records of chains with a secret first key, and with a public one */
		has_open;
	/* Current position. */
	enum verify_sync sync;
	struct chain chain;
	bool is_sealed;
	uint64_t last_segment,
		last_bytes; /* the last segment that holds records, and where they end */
	uint8_t host[CHAIN_ID_SIZE];
	bool has_host;
	uint64_t empty; /* the last segment, if it holds no record; else 0 */
	/* A chain whose key is not given: its id and last MAC, which a later chain may confirm. */
	uint8_t unchecked_id[CHAIN_ID_SIZE], unchecked_mac[CHAIN_HASH_SIZE];
	uint64_t minutes_left; /* minutes that keys may still be advanced by */
	/* The current file. */
	const char *file;
	size_t line;
};

/*
 * Initializes the struct. The caller then sets `keys`, `may_begin_later` and, if the host is known,
 * `host`.
 */
void verify_begin(struct verify *verify, verify_report *report, void *userdata);

/*
 * Verifies a segment with its number. The last one may end in the middle of a record, or be empty.
 */
void verify_segment(struct verify *verify, const char *file, uint32_t number, const char *bytes,
                    size_t size, bool is_last);

/*
 * Compares everything with the state. NULL: the state is not known. If its key is not included,
 * `vouch` is the proof from chain_vouch(); else NULL.
 */
void verify_end(struct verify *verify, const struct slots_state *state,
                const uint8_t vouch[CHAIN_HASH_SIZE]);
