/* SPDX-License-Identifier: Apache-2.0 */
/* See envelope.h. Only fixed offsets, copies and comparisons; no privilege, no allocation. */
#include "protocol/envelope.h"
#include "base/error_text.h"

#include <endian.h>
#include <string.h>

/* The offset of each part of an envelope. PROTOCOL.md, "Packets". */
enum envelope_offset {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_FD_COUNT = 5,
	AT_KIND = 6,
	AT_SEQUENCE = 8,
	AT_BODY_LENGTH = 16,
	AT_TAG = ENVELOPE_HEADER_SIZE,
	AT_KEY = AT_TAG + ENVELOPE_TAG_SIZE,
	AT_SIGNATURE = AT_KEY + ENVELOPE_KEY_SIZE,
};
_Static_assert(AT_SIGNATURE + ENVELOPE_SIGNATURE_SIZE ==
                       ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE,
               "the layout");
_Static_assert(ENVELOPE_VERSION == 1, "the domain string below names the version");

static const char envelope_domain[] = "yett request v1"; /* its NUL is signed, too */

static uint8_t *envelope_put(uint8_t *out, const void *bytes, size_t length)
{
	memcpy(out, bytes, length);
	return out + length;
}

static bool envelope_kind_is_known(uint16_t kind)
{
	static const uint16_t ranges[] = {MESSAGE_KIND_RANGES};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i += 2)
		if (kind >= ranges[i] && kind <= ranges[i + 1])
			return true;
	return false;
}

bool envelope_kind_is_signed(uint16_t kind)
{
	return kind == MESSAGE_CREATE || kind == MESSAGE_MANAGE || kind == MESSAGE_RELAY ||
	       kind == MESSAGE_MOUNT;
}

size_t envelope_size(uint16_t kind)
{
	return ENVELOPE_HEADER_SIZE + (envelope_kind_is_signed(kind) ? ENVELOPE_SIGNED_SIZE : 0);
}

void envelope_write(const struct envelope *envelope, uint8_t *out)
{
	uint16_t kind = htole16(envelope->kind);
	uint64_t sequence = htole64(envelope->sequence);
	uint32_t body_length = htole32(envelope->body_length);

	memcpy(out + AT_MAGIC, ENVELOPE_MAGIC, AT_VERSION - AT_MAGIC);
	out[AT_VERSION] = ENVELOPE_VERSION;
	out[AT_FD_COUNT] = envelope->fd_count;
	memcpy(out + AT_KIND, &kind, sizeof kind);
	memcpy(out + AT_SEQUENCE, &sequence, sizeof sequence);
	memcpy(out + AT_BODY_LENGTH, &body_length, sizeof body_length);
	if (!envelope_kind_is_signed(envelope->kind))
		return;
	memcpy(out + AT_TAG, envelope->tag, sizeof envelope->tag);
	memcpy(out + AT_KEY, envelope->key, sizeof envelope->key);
	memcpy(out + AT_SIGNATURE, envelope->signature, sizeof envelope->signature);
}

static void envelope_copy(const uint8_t *packet, struct envelope *ret_envelope)
{
	struct envelope e = {.fd_count = packet[AT_FD_COUNT]};

	memcpy(&e.kind, packet + AT_KIND, sizeof e.kind);
	memcpy(&e.sequence, packet + AT_SEQUENCE, sizeof e.sequence);
	memcpy(&e.body_length, packet + AT_BODY_LENGTH, sizeof e.body_length);
	e.kind = le16toh(e.kind);
	e.sequence = le64toh(e.sequence);
	e.body_length = le32toh(e.body_length);
	e.is_signed = envelope_kind_is_signed(e.kind);
	*ret_envelope = e;
}

size_t envelope_stated_fds(const uint8_t *packet, size_t length)
{
	return length > AT_FD_COUNT ? packet[AT_FD_COUNT] : 0;
}

static int envelope_refuse(struct yett_error *error, enum yett_reason reason)
{
	return error_set(error, YETT_E_PROTOCOL, reason, "%s", error_reason_text(reason));
}

int envelope_read(const uint8_t *packet, size_t length, size_t fd_count,
                  struct envelope *ret_envelope, struct yett_error *error)
{
	struct envelope e;
	size_t before_body;

	if (length >= AT_VERSION && memcmp(packet, ENVELOPE_MAGIC, AT_VERSION) != 0)
		return envelope_refuse(error, YETT_R_MAGIC);
	if (length < ENVELOPE_HEADER_SIZE)
		return envelope_refuse(error, YETT_R_TRUNCATED);
	if (packet[AT_VERSION] != ENVELOPE_VERSION)
		return envelope_refuse(error, YETT_R_VERSION);
	envelope_copy(packet, &e);
	if (!envelope_kind_is_known(e.kind))
		return envelope_refuse(error, YETT_R_KIND);
	before_body = envelope_size(e.kind);
	if (length > MESSAGE_PACKET_MAX || e.body_length > MESSAGE_PACKET_MAX - before_body)
		return envelope_refuse(error, YETT_R_SIZE);
	if (length < before_body + e.body_length)
		return envelope_refuse(error, YETT_R_TRUNCATED);
	if (length > before_body + e.body_length)
		return envelope_refuse(error, YETT_R_TRAILING);
	if (fd_count != e.fd_count)
		return envelope_refuse(error, YETT_R_FD_COUNT);
	if (e.is_signed) {
		memcpy(e.tag, packet + AT_TAG, sizeof e.tag);
		memcpy(e.key, packet + AT_KEY, sizeof e.key);
		memcpy(e.signature, packet + AT_SIGNATURE, sizeof e.signature);
	}
	*ret_envelope = e;
	return 0;
}

size_t envelope_signed_bytes(const struct envelope *envelope,
                             const uint8_t challenge[MESSAGE_CHALLENGE_SIZE], const uint8_t *body,
                             size_t body_length, uint8_t *out)
{
	uint16_t kind = htole16(envelope->kind);
	uint64_t sequence = htole64(envelope->sequence);
	uint8_t *end = out;

	end = envelope_put(end, envelope_domain, sizeof envelope_domain);
	end = envelope_put(end, challenge, MESSAGE_CHALLENGE_SIZE);
	end = envelope_put(end, &kind, sizeof kind);
	end = envelope_put(end, &sequence, sizeof sequence);
	end = envelope_put(end, &envelope->fd_count, sizeof envelope->fd_count);
	end = envelope_put(end, body, body_length);
	return (size_t)(end - out);
}
