/* SPDX-License-Identifier: Apache-2.0 */
/*
 * envelope_read() of any bytes and any length, by EVA: nothing behind the packet is read, which
 * ends where its buffer does.
 *
 * Lengths below that of the longest head are tried one by one. For all others, up to the greatest
 * number, the buffer has a head alone: what comes behind it is not read, however long it is.
 */
#include "tests/prove/models.h"

#include "protocol/envelope.c"

#define HEAD_MAX (ENVELOPE_HEADER_SIZE + ENVELOPE_SIGNED_SIZE)

/* All kinds, by the lower and the higher byte. Those that are known are tried one by one. */
struct kinds {
	unsigned char first, last, high_first, high_last;
	bool is_known;
};
static const struct kinds all_kinds[] = {
	{0, 0, 0, 0, false},     {1, 16, 0, 0, true},   {17, 23, 0, 0, false},
	{24, 26, 0, 0, true},    {27, 31, 0, 0, false}, {32, 41, 0, 0, true},
	{42, 95, 0, 0, false},   {96, 101, 0, 0, true}, {102, 255, 0, 0, false},
	{0, 255, 1, 255, false},
};

static uint8_t packet_buffer[HEAD_MAX];

static bool is_signed(unsigned kind)
{
	return kind == MESSAGE_CREATE || kind == MESSAGE_MANAGE || kind == MESSAGE_RELAY ||
	       kind == MESSAGE_MOUNT;
}

/* Any packet of which the first bytes, that many, are there, and whose kind, if there is room for
 * one, is one of these. */
static uint8_t *make_packet(size_t there, const struct kinds *kinds, unsigned first, unsigned last)
{
	uint8_t *packet = packet_buffer + sizeof packet_buffer - there;

	Frama_C_make_unknown((char *)packet_buffer, sizeof packet_buffer);
	if (there > AT_KIND)
		packet[AT_KIND] =
			Frama_C_unsigned_char_interval((unsigned char)first, (unsigned char)last);
	if (there > AT_KIND + 1)
		packet[AT_KIND + 1] =
			Frama_C_unsigned_char_interval(kinds->high_first, kinds->high_last);
	return packet;
}

/* Of a packet of so many bytes, or any number from that on. */
static void judge(size_t least, size_t most, const struct kinds *kinds, unsigned first,
                  unsigned last)
{
	const uint8_t *packet = make_packet(least, kinds, first, last);
	size_t length = Frama_C_size_t_interval(least, most),
	       head = is_signed(first) ? HEAD_MAX : ENVELOPE_HEADER_SIZE;
	struct envelope envelope;
	struct yett_error error;
	int r;

	(void)envelope_stated_fds(packet, length);
	r = envelope_read(packet, length, Frama_C_size_t_interval(0, SIZE_MAX), &envelope, &error);
	//@ check code: r == 0 || r == YETT_E_PROTOCOL;
	if (r == 0) {
		bool has_signature = is_signed(first);

		//@ check kind: kinds->is_known && envelope.kind == first;
		//@ check signed_part: envelope.is_signed == has_signature;
		//@ check whole_head: length >= head;
		//@ check not_too_long: length <= MESSAGE_PACKET_MAX;
	}
}

/* What envelope_contract.c takes for granted of envelope_copy(). */
static void judge_copy(const struct kinds *kinds, unsigned first, unsigned last, unsigned count)
{
	uint8_t *packet = make_packet(ENVELOPE_HEADER_SIZE, kinds, first, last);
	bool has_signature = is_signed(first);
	struct envelope envelope;

	packet[AT_FD_COUNT] = (uint8_t)count;
	envelope_copy(packet, &envelope);
	//@ check fds: envelope.fd_count == count;
	//@ check copied: envelope.is_signed == (kinds->is_known && has_signature);
}

static void judge_kinds(const struct kinds *kinds, unsigned first, unsigned last)
{
	size_t head = is_signed(first) ? HEAD_MAX : ENVELOPE_HEADER_SIZE;

	for (size_t length = 0; length < head; length++)
		judge(length, length, kinds, first, last);
	judge(head, SIZE_MAX, kinds, first, last);
	judge_copy(kinds, first, last, 0);
}

void main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_kinds); i++)
		if (all_kinds[i].is_known)
			for (unsigned kind = all_kinds[i].first; kind <= all_kinds[i].last; kind++)
				judge_kinds(&all_kinds[i], kind, kind);
		else
			judge_kinds(&all_kinds[i], all_kinds[i].first, all_kinds[i].last);
	for (unsigned count = 0; count <= UINT8_MAX; count++)
		judge_copy(&all_kinds[0], 0, 0, count);
}
