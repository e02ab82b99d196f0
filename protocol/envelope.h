/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed-size head of every packet, and the bytes that a signature covers.
 *
 * Pure functions over bytes, with the privilege of the caller. yett-decider reads envelopes before
 * anything is decoded, so an envelope has a fixed size and little-endian integers: it is
 * bounds-checked and copied, nothing more. PROTOCOL.md, "Packets".
 */
#pragma once

#include "base/error.h"
#include "protocol/message.h"

#define ENVELOPE_MAGIC   "YETT"
#define ENVELOPE_VERSION 1
/* magic 4, version u8, fd count u8, kind u16, sequence u64, body length u32 */
#define ENVELOPE_HEADER_SIZE 20
/* after the header of a signed request: tag 8, key 32, signature 64 */
#define ENVELOPE_SIGNED_SIZE    104
#define ENVELOPE_TAG_SIZE       8
#define ENVELOPE_KEY_SIZE       32
#define ENVELOPE_SIGNATURE_SIZE 64

struct envelope {
	uint16_t kind; /* enum message_kind */
	uint8_t fd_count;
	uint64_t sequence;
	uint32_t body_length;
	/*
	 * True for MESSAGE_CREATE, MESSAGE_MANAGE, MESSAGE_RELAY and MESSAGE_MOUNT, otherwise
	 * false.
	 */
	bool is_signed;
	/* The first bytes of the challenge. They distinguish a stray request from a forged one. */
	uint8_t tag[ENVELOPE_TAG_SIZE];
	uint8_t key[ENVELOPE_KEY_SIZE]; /* Ed25519 public key */
	uint8_t signature[ENVELOPE_SIGNATURE_SIZE];
};

/* Returns whether packets of this kind carry the signed part. */
bool envelope_kind_is_signed(uint16_t kind);

/*
 * Returns the number of bytes before the body: the header, and the signed part if the kind has one.
 */
size_t envelope_size(uint16_t kind);

/* Writes the envelope into out[0 … envelope_size(kind)). */
void envelope_write(const struct envelope *envelope, uint8_t *out);

/*
 * Returns the descriptor count that packet[0 … length) states; 0 if the packet ends before that
 * field. Checks nothing else of the packet.
 */
size_t envelope_stated_fds(const uint8_t *packet, size_t length);

/*
 * Reads the envelope of packet[0 … length), which came with `fd_count` descriptors. The rest of the
 * packet is the body. Returns 0, or YETT_E_PROTOCOL with the reason TRUNCATED, TRAILING, MAGIC,
 * VERSION, SIZE, FD_COUNT or KIND (0 and unknown kinds).
 */
_must_check_ int envelope_read(const uint8_t *packet, size_t length, size_t fd_count,
                               struct envelope *ret_envelope, struct yett_error *error);

/*
 * Writes the bytes that a request's Ed25519 signature (crypto_sign_detached(3), libsodium) covers:
 * the domain string, the challenge, the envelope's kind, sequence and fd_count, then the body.
 * `out` must have room for ENVELOPE_SIGNED_MAX bytes, and body_length must be at most
 * MESSAGE_PACKET_MAX. Returns the number of bytes.
 */
#define ENVELOPE_SIGNED_MAX (128 + MESSAGE_PACKET_MAX)
size_t envelope_signed_bytes(const struct envelope *envelope,
                             const uint8_t challenge[MESSAGE_CHALLENGE_SIZE], const uint8_t *body,
                             size_t body_length, uint8_t *out);
