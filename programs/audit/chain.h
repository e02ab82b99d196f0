/*
 * The chain that the records of the audit are sealed in: which key belongs to which minute, and
 * what vouches for a record.
 *
 * A record is a line, and its last member a MAC of the line by the key of its minute, of the MAC
 * before it, and of the seal of the minute. At the end of a minute its key is replaced by one that
 * is computed from it, and erased: who comes by a key can compute later ones and no earlier one,
 * and can write nothing that belongs to an earlier minute. The seal of a minute is a MAC of all
 * that came before it, by a key that is gone. A minute in which nothing is written is sealed like
 * any other. After Ma and Tsudik, "A new approach to secure logging".
 *
 * Pure functions over memory, without privilege: of yett-audit, which writes, and of yett, which
 * verifies.
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

#define CHAIN_SEGMENT_BYTES (16 << 20) /* a segment is not begun anew before */
#define CHAIN_SEGMENT_MAX   (24 << 20) /* and never longer */

struct chain {
	uint8_t id[CHAIN_ID_SIZE];
	uint64_t epoch;                /* its minute: so often the key was replaced */
	uint8_t key[CHAIN_HASH_SIZE];  /* of that minute: a secret */
	uint8_t seal[CHAIN_HASH_SIZE]; /* likewise, of all before it */
	uint8_t mac[CHAIN_HASH_SIZE];  /* of the last record; zeros: there is none */
	uint64_t number;               /* of the last record; 0: there is none */
};

/* One that begins, with its first key; at minute 0, in which nothing is written. */
void chain_begin(struct chain *chain, const uint8_t id[CHAIN_ID_SIZE],
                 const uint8_t key[CHAIN_HASH_SIZE]);

/* The first key of a chain whose key nobody keeps: everybody knows it. */
void chain_open_key(const uint8_t id[CHAIN_ID_SIZE], uint8_t ret_key[CHAIN_HASH_SIZE]);

/* The next minute. The key of this one is overwritten. */
void chain_advance(struct chain *chain);

/* The key alone, as chain_advance() has it. */
void chain_next_key(uint8_t key[CHAIN_HASH_SIZE]);

/* Makes line[0 … length), an object but for its closing bracket, the next record; there is room for
 * CHAIN_TAIL_SIZE more. The new length.
 */
size_t chain_append(struct chain *chain, char *line, size_t length);

/* The MAC that a line with its line end says to have, and how much of it that is of; false: it is
 * no line of a chain. */
bool chain_split(const char *line, size_t length, size_t *ret_body,
                 uint8_t ret_mac[CHAIN_HASH_SIZE]);

/* Whether the line is the next record, which the chain goes on to then; else it stays as it was. */
bool chain_accept(struct chain *chain, const char *line, size_t length);

/* What vouches for the state of a chain towards who has its first key, without saying the key. */
void chain_vouch(const struct chain *chain, uint8_t ret_mac[CHAIN_HASH_SIZE]);

/* bytes[0 … size) as hexadecimal digits with a NUL. Returns `out`. */
char *chain_hex(const uint8_t *bytes, size_t size, char *out);
bool chain_unhex(const char *text, uint8_t *bytes, size_t size);

/* A hash of a host's /etc/machine-id, that does not tell it. */
void chain_hash_host(const void *text, size_t length, uint8_t ret_hash[CHAIN_ID_SIZE]);

/* The key by which a chain is verified, as text: a word, and groups of eight digits. */
#define CHAIN_KEY_WORD      "yett-audit-1"
#define CHAIN_KEY_TEXT_SIZE (sizeof CHAIN_KEY_WORD + (CHAIN_ID_SIZE + CHAIN_HASH_SIZE + 4) / 4 * 9)
char *chain_print_key(const uint8_t id[CHAIN_ID_SIZE], const uint8_t key[CHAIN_HASH_SIZE],
                      char out[CHAIN_KEY_TEXT_SIZE]);

/* Reads one; what is behind it does not matter. False: it is none, or was written down wrongly. */
bool chain_parse_key(const char *text, uint8_t ret_id[CHAIN_ID_SIZE],
                     uint8_t ret_key[CHAIN_HASH_SIZE]);
