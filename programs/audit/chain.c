/* SPDX-License-Identifier: Apache-2.0 */
/* See chain.h. */
#include "programs/audit/chain.h"

#include <sodium.h>
#include <string.h>

#define CHECK_SIZE 4

static const char tail_begin[] = ",\"mac\":\"", tail_end[] = "\"}\n";

/*
 * A piece of the input of hash(). hash() is BLAKE2b of all pieces together, with a key. Two uses of
 * the same key differ in the text of their first piece, or in its length.
 */
struct part {
	const void *bytes;
	size_t size;
};

static void hash(const uint8_t key[CHAIN_HASH_SIZE], const struct part *parts, size_t count,
                 uint8_t *out, size_t out_size)
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, key, key ? CHAIN_HASH_SIZE : 0, out_size);
	for (size_t i = 0; i < count; i++)
		(void)crypto_generichash_update(&state, parts[i].bytes, parts[i].size);
	(void)crypto_generichash_final(&state, out, out_size);
	sodium_memzero(&state, sizeof state);
}

#define WORD(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define FIELD(what)                  \
	{                            \
		(what), sizeof(what) \
	}

void chain_begin(struct chain *chain, const uint8_t id[CHAIN_ID_SIZE],
                 const uint8_t key[CHAIN_HASH_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: begin"), {id, CHAIN_ID_SIZE}};

	*chain = (struct chain){0};
	memcpy(chain->id, id, CHAIN_ID_SIZE);
	memcpy(chain->key, key, CHAIN_HASH_SIZE);
	hash(key, parts, ARRAY_SIZE(parts), chain->seal, sizeof chain->seal);
}

void chain_open_key(const uint8_t id[CHAIN_ID_SIZE], uint8_t ret_key[CHAIN_HASH_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: nobody keeps this key"),
	                             {id, CHAIN_ID_SIZE}};

	hash(NULL, parts, ARRAY_SIZE(parts), ret_key, CHAIN_HASH_SIZE);
}

void chain_next_key(uint8_t key[CHAIN_HASH_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: next")};
	uint8_t next[CHAIN_HASH_SIZE];

	hash(key, parts, ARRAY_SIZE(parts), next, sizeof next);
	memcpy(key, next, sizeof next);
	sodium_memzero(next, sizeof next);
}

void chain_advance(struct chain *chain)
{
	const struct part parts[] = {WORD("yett-audit: seal"), FIELD(chain->seal),
	                             FIELD(chain->mac)};
	uint8_t seal[CHAIN_HASH_SIZE];

	hash(chain->key, parts, ARRAY_SIZE(parts), seal, sizeof seal);
	memcpy(chain->seal, seal, sizeof seal);
	chain_next_key(chain->key);
	chain->epoch++;
}

/*
 * The mapping from pieces to bytes is unambiguous: all pieces except the last have fixed lengths,
 * and no other use of the key begins with this word.
 */
static void make_mac(const struct chain *chain, const char *body, size_t length,
                     uint8_t ret_mac[CHAIN_HASH_SIZE])
{
	const struct part parts[] = {
		WORD("yett-audit: record"), FIELD(chain->seal), FIELD(chain->mac), {body, length}};

	hash(chain->key, parts, ARRAY_SIZE(parts), ret_mac, CHAIN_HASH_SIZE);
}

char *chain_hex(const uint8_t *bytes, size_t size, char *out)
{
	return sodium_bin2hex(out, 2 * size + 1, bytes, size);
}

bool chain_unhex(const char *text, uint8_t *bytes, size_t size)
{
	size_t length;

	return sodium_hex2bin(bytes, size, text, 2 * size, NULL, &length, NULL) == 0 &&
	       length == size;
}

size_t chain_append(struct chain *chain, char *line, size_t length)
{
	uint8_t mac[CHAIN_HASH_SIZE];
	char hex[CHAIN_HEX_SIZE];
	char *at = line + length;

	make_mac(chain, line, length, mac);
	memcpy(chain->mac, mac, sizeof mac);
	chain->number++;
	at = mempcpy(at, tail_begin, sizeof tail_begin - 1);
	at = mempcpy(at, chain_hex(mac, sizeof mac, hex), sizeof hex - 1);
	at = mempcpy(at, tail_end, sizeof tail_end - 1);
	return (size_t)(at - line);
}

bool chain_split(const char *line, size_t length, size_t *ret_body,
                 uint8_t ret_mac[CHAIN_HASH_SIZE])
{
	const char *tail = line + length - CHAIN_TAIL_SIZE;

	if (length <= CHAIN_TAIL_SIZE || length > CHAIN_LINE_MAX ||
	    memcmp(tail, tail_begin, sizeof tail_begin - 1) != 0 ||
	    memcmp(line + length - sizeof tail_end + 1, tail_end, sizeof tail_end - 1) != 0 ||
	    !chain_unhex(tail + sizeof tail_begin - 1, ret_mac, CHAIN_HASH_SIZE))
		return false;
	*ret_body = length - CHAIN_TAIL_SIZE;
	return true;
}

bool chain_accept(struct chain *chain, const char *line, size_t length)
{
	uint8_t mac[CHAIN_HASH_SIZE], said[CHAIN_HASH_SIZE];
	size_t body;

	if (!chain_split(line, length, &body, said))
		return false;
	make_mac(chain, line, body, mac);
	if (sodium_memcmp(mac, said, sizeof mac) != 0)
		return false;
	memcpy(chain->mac, mac, sizeof mac);
	chain->number++;
	return true;
}

void chain_vouch(const struct chain *chain, uint8_t ret_mac[CHAIN_HASH_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: state"),
	                             FIELD(chain->id),
	                             FIELD(chain->seal),
	                             FIELD(chain->mac),
	                             {&chain->number, sizeof chain->number}};

	hash(chain->key, parts, ARRAY_SIZE(parts), ret_mac, CHAIN_HASH_SIZE);
}

void chain_hash_host(const void *text, size_t length, uint8_t ret_hash[CHAIN_ID_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: host"), {text, length}};

	hash(NULL, parts, ARRAY_SIZE(parts), ret_hash, CHAIN_ID_SIZE);
}

/* A checksum that finds digits that were copied wrongly. */
static void make_check(const uint8_t bytes[CHAIN_ID_SIZE + CHAIN_HASH_SIZE],
                       uint8_t ret_check[CHECK_SIZE])
{
	const struct part parts[] = {WORD("yett-audit: check"),
	                             {bytes, CHAIN_ID_SIZE + CHAIN_HASH_SIZE}};
	uint8_t whole[CHAIN_HASH_SIZE];

	hash(NULL, parts, ARRAY_SIZE(parts), whole, sizeof whole);
	memcpy(ret_check, whole, CHECK_SIZE);
}

char *chain_print_key(const uint8_t id[CHAIN_ID_SIZE], const uint8_t key[CHAIN_HASH_SIZE],
                      char out[CHAIN_KEY_TEXT_SIZE])
{
	uint8_t bytes[CHAIN_ID_SIZE + CHAIN_HASH_SIZE + CHECK_SIZE];
	char *at = stpcpy(out, CHAIN_KEY_WORD);

	memcpy(bytes, id, CHAIN_ID_SIZE);
	memcpy(bytes + CHAIN_ID_SIZE, key, CHAIN_HASH_SIZE);
	make_check(bytes, bytes + CHAIN_ID_SIZE + CHAIN_HASH_SIZE);
	for (size_t i = 0; i < sizeof bytes; i += 4, at += 8) {
		*at++ = '-';
		(void)chain_hex(bytes + i, 4, at);
	}
	sodium_memzero(bytes, sizeof bytes);
	return out;
}

bool chain_parse_key(const char *text, uint8_t ret_id[CHAIN_ID_SIZE],
                     uint8_t ret_key[CHAIN_HASH_SIZE])
{
	uint8_t bytes[CHAIN_ID_SIZE + CHAIN_HASH_SIZE + CHECK_SIZE], check[CHECK_SIZE];
	bool is_one = strnlen(text, CHAIN_KEY_TEXT_SIZE) >= CHAIN_KEY_TEXT_SIZE - 1 &&
	              strncmp(text, CHAIN_KEY_WORD, sizeof CHAIN_KEY_WORD - 1) == 0;

	text += is_one ? sizeof CHAIN_KEY_WORD - 1 : 0;
	for (size_t i = 0; is_one && i < sizeof bytes; i += 4, text += 9)
		is_one = *text == '-' && chain_unhex(text + 1, bytes + i, 4);
	if (is_one) {
		make_check(bytes, check);
		is_one = memcmp(check, bytes + CHAIN_ID_SIZE + CHAIN_HASH_SIZE, sizeof check) == 0;
	}
	if (is_one) {
		memcpy(ret_id, bytes, CHAIN_ID_SIZE);
		memcpy(ret_key, bytes + CHAIN_ID_SIZE, CHAIN_HASH_SIZE);
	}
	sodium_memzero(bytes, sizeof bytes);
	return is_one;
}
