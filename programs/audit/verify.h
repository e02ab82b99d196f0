/*
 * Whether records are those that were written: all of them, in their order, none changed and none
 * added.
 *
 * Pure functions over what was read, without privilege: of yett. Segments are given one after the
 * other, and then the state that they have to lead to. Nothing of them is believed but what a MAC
 * by a key of the chain vouches for: whoever could write the files may have.
 */
#pragma once

#include "programs/audit/slots.h"

#define VERIFY_KEYS_MAX      64
#define VERIFY_BYTES_UNKNOWN UINT64_MAX

enum verify_kind {
	VERIFY_WRONG,     /* it is not what was written */
	VERIFY_UNCHECKED, /* nobody can say without the key */
	VERIFY_NOTE,
};

/* One thing that was found. `line`: from 1 on; 0: of the whole file. */
typedef void verify_report(void *userdata, enum verify_kind kind, const char *file, size_t line,
                           const char *text);

struct verify_key {
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];
	bool is_used;
};

/* How far it is with the present segment. */
enum verify_sync {
	VERIFY_NOTHING,   /* no chain yet, or one whose key is not there */
	VERIFY_IN_STEP,   /* the next record is known */
	VERIFY_OUT_OF_IT, /* of the chain only the minute's key is known, until a segment begins */
};

/* A segment as its first record has it. */
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
	bool may_begin_later; /* segments before the first one that is here need not be */
	/* What was found. */
	uint64_t records, segments, wrong, unchecked;
	bool has_sealed,
		has_open; /* records of chains with and without a key that somebody keeps */
	/* Where it is. */
	enum verify_sync sync;
	struct chain chain;
	bool is_sealed;
	uint64_t last_segment,
		last_bytes; /* the last one that holds records, and where those end */
	uint8_t host[CHAIN_ID_SIZE];
	bool has_host;
	uint64_t empty; /* the last segment, if it holds no record; else 0 */
	/* Of a chain whose key is not there: which it is, and the last MAC, which a later chain may
	 * vouch for. */
	uint8_t unchecked_id[CHAIN_ID_SIZE], unchecked_mac[CHAIN_HASH_SIZE];
	uint64_t minutes_left; /* that may be gone through */
	/* Of the present file. */
	const char *file;
	size_t line;
};

/* Sets it up; keys and what need not be there are the caller's to add. */
void verify_begin(struct verify *verify, verify_report *report, void *userdata);

/* A segment, by its number. The last one may end in the middle of a record, or be empty. */
void verify_segment(struct verify *verify, const char *file, uint32_t number, const char *bytes,
                    size_t size, bool is_last);

/* What all has to lead to; NULL: it is not known. Where the key in it is not, `vouch` stands for
 * that (chain_vouch()); else NULL. */
void verify_end(struct verify *verify, const struct slots_state *state,
                const uint8_t vouch[CHAIN_HASH_SIZE]);
