/* SPDX-License-Identifier: Apache-2.0 */
/*
 * envelope_read(), by WP: its contract holds for every packet of every length. What it takes for
 * granted of envelope_copy() and envelope_kind_is_known(), which copy bytes into numbers and go
 * through a table, envelope_packets.c proves.
 */
#include "tests/prove/models.h"

#include "protocol/envelope.h"

#include <endian.h>
#include <string.h>

/*@ logic integer head(integer kind) = kind == MESSAGE_CREATE || kind == MESSAGE_MANAGE || kind ==
   MESSAGE_RELAY || kind == MESSAGE_MOUNT ? ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE :
   ENVELOPE_HEADER_SIZE; predicate is_known(integer kind) = 1 <= kind <= 16 || 24 <= kind <= 26 ||
   32 <= kind <= 41 || 96 <= kind <= 101; */

/*@ assigns \nothing; ensures \result <==> is_known(kind); */
static bool envelope_kind_is_known(uint16_t kind);

/*@ assigns \nothing; ensures \result <==> head(kind) > ENVELOPE_HEADER_SIZE; */
bool envelope_kind_is_signed(uint16_t kind);

/*@ assigns \nothing; ensures \result == head(kind); */
size_t envelope_size(uint16_t kind);

/*@ requires \valid_read(packet + (0 .. ENVELOPE_HEADER_SIZE - 1)) && \valid(ret_envelope);
    requires \separated(packet + (0 .. ENVELOPE_HEADER_SIZE - 1), ret_envelope);
    assigns *ret_envelope;
    ensures ret_envelope->is_signed <==> head(ret_envelope->kind) > ENVELOPE_HEADER_SIZE;
    ensures ret_envelope->fd_count == packet[5]; */
static void envelope_copy(const uint8_t *packet, struct envelope *ret_envelope);

/*@ assigns *error; ensures \result == YETT_E_PROTOCOL; */
static int envelope_refuse(struct yett_error *error, enum yett_reason reason);

/* memcpy(3) and memcmp(3), of bytes. */
/*@ requires \valid(to + (0 .. count - 1)) && \valid_read(from + (0 .. count - 1)); assigns to[0 ..
 * count - 1]; */
void copy_bytes(uint8_t *to, const uint8_t *from, size_t count);
/*@ requires \valid_read(a + (0 .. count - 1)) && \valid_read(b + (0 .. count - 1)); assigns
   \nothing; ensures \result == 0 <==> \forall integer i; 0 <= i < count ==> a[i] == b[i]; */
int compare_bytes(const uint8_t *a, const char *b, size_t count);

/*@ requires \valid_read(packet + (0 .. length - 1)) && \valid(ret_envelope) && \valid(error);
    requires \separated(packet + (0 .. length - 1), ret_envelope, error);
    assigns *ret_envelope, *error;
    ensures code: \result == 0 || \result == YETT_E_PROTOCOL;
    ensures length: \result == 0 ==> length == head(ret_envelope->kind) + ret_envelope->body_length;
    ensures most: \result == 0 ==> length <= MESSAGE_PACKET_MAX;
    ensures version: \result == 0 ==> packet[4] == ENVELOPE_VERSION;
    ensures fds: \result == 0 ==> fd_count == ret_envelope->fd_count == packet[5];
    ensures kind: \result == 0 ==> is_known(ret_envelope->kind);
    ensures kept: \result != 0 ==> *ret_envelope == \old(*ret_envelope); */
int envelope_read(const uint8_t *packet, size_t length, size_t fd_count,
                  struct envelope *ret_envelope, struct yett_error *error);

#define memcpy copy_bytes
#define memcmp compare_bytes
#include "protocol/envelope.c"
