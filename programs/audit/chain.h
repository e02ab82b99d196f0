/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash chain that seals the records: the key of each minute, and the MACs.
 *
 * A record is a line. Its last member is a MAC of the line, of the previous MAC and of the minute's
 * seal, by the key of its minute. At the end of a minute its key is replaced by a hash of itself.
 * An attacker who gets a key can compute later keys but no earlier one, and so cannot forge records
 * of earlier minutes. The seal of a minute is a MAC, by an erased key, of everything before it. A
 * minute without records is sealed, too. After Ma and Tsudik, "A new approach to secure logging".
 * Pure functions for yett-audit (writes) and yett (verifies).
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>
#include <stddef.h>

#define CHAIN_ID_SIZE   16
#define CHAIN_HASH_SIZE 32                        /* of keys, seals and MACs: BLAKE2b, RFC 7693 */
#define CHAIN_HEX_SIZE  (2 * CHAIN_HASH_SIZE + 1) /* with its NUL */
#define CHAIN_LINE_MAX  (256 << 10)
#define CHAIN_TAIL_SIZE (sizeof ",\"mac\":\"\"}\n" - 1 + 2 * CHAIN_HASH_SIZE)

#define CHAIN_SEGMENT_BYTES (16 << 20) /* default size at which the next segment begins */
#define CHAIN_SEGMENT_MAX   (24 << 20) /* maximum size of a segment */

struct chain {
	uint8_t id[CHAIN_ID_SIZE];
	uint64_t epoch;                /* the minute: how often the key was replaced */
	uint8_t key[CHAIN_HASH_SIZE];  /* of that minute: a secret */
	uint8_t seal[CHAIN_HASH_SIZE]; /* of that minute: covers everything before it */
	uint8_t mac[CHAIN_HASH_SIZE];  /* of the last record; zeros: there is none */
	uint64_t number;               /* of the last record; 0: there is none */
};

/* Begins a chain with its first key, at minute 0, in which no record is written. */
void chain_begin(struct chain *chain, const uint8_t id[CHAIN_ID_SIZE],
                 const uint8_t key[CHAIN_HASH_SIZE]);

/* The first key of an unsealed chain. It is computed from the id alone, so it is public. */
void chain_open_key(const uint8_t id[CHAIN_ID_SIZE], uint8_t ret_key[CHAIN_HASH_SIZE]);

/* Seals the minute and begins the next. Overwrites the key of this minute. */
void chain_advance(struct chain *chain);

/* Replaces a key as chain_advance() does, without the rest of the chain. */
void chain_next_key(uint8_t key[CHAIN_HASH_SIZE]);

/*
 * Makes line[0 … length), a JSON object without its closing brace, the next record by appending its
 * MAC. The buffer needs CHAIN_TAIL_SIZE more bytes. Returns the new length.
 */
size_t chain_append(struct chain *chain, char *line, size_t length);

/*
 * Splits a line (with its newline) into the body that the MAC covers and the MAC that it claims.
 * Returns false if the line does not have the form of a record.
 */
bool chain_split(const char *line, size_t length, size_t *ret_body,
                 uint8_t ret_mac[CHAIN_HASH_SIZE]);

/*
 * If the line is the next record, advances the chain and returns true. Else the chain does not
 * change.
 */
bool chain_accept(struct chain *chain, const char *line, size_t length);

/*
 * Computes a MAC of the chain's state by its key. It proves the state to a verifier who has the
 * chain's first key, without revealing the current key.
 */
void chain_vouch(const struct chain *chain, uint8_t ret_mac[CHAIN_HASH_SIZE]);

/* Writes bytes[0 … size) as hexadecimal digits with a NUL. Returns `out`. */
char *chain_hex(const uint8_t *bytes, size_t size, char *out);
bool chain_unhex(const char *text, uint8_t *bytes, size_t size);

/* Hashes a host's /etc/machine-id, so that records identify the host without containing the id. */
void chain_hash_host(const void *text, size_t length, uint8_t ret_hash[CHAIN_ID_SIZE]);

/*
 * The verification key of a chain as text: CHAIN_KEY_WORD, then groups of eight hexadecimal digits,
 * which encode the chain's id, the key and a checksum.
 */
#define CHAIN_KEY_WORD      "yett-audit-1"
#define CHAIN_KEY_TEXT_SIZE (sizeof CHAIN_KEY_WORD + (CHAIN_ID_SIZE + CHAIN_HASH_SIZE + 4) / 4 * 9)
char *chain_print_key(const uint8_t id[CHAIN_ID_SIZE], const uint8_t key[CHAIN_HASH_SIZE],
                      char out[CHAIN_KEY_TEXT_SIZE]);

/*
 * Parses a key; trailing text is ignored. Returns false if the text is no key, or its checksum is
 * wrong.
 */
bool chain_parse_key(const char *text, uint8_t ret_id[CHAIN_ID_SIZE],
                     uint8_t ret_key[CHAIN_HASH_SIZE]);
