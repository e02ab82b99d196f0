/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads numbers as people write them, by EVA: any text of up to TEXT_MAX bytes, which ends
 * where its buffer does. Nothing behind it is read, nothing is used that was not set, and no
 * product or sum goes beyond 64 bits unnoticed.
 */
#include "tests/prove/models.h"

#include "base/units_parse.c"

#define TEXT_MAX 24 /* the greatest number has 20 digits */

const char units_letters[UNITS_LETTERS + 1] = "KMGT";
const struct units_time units_times[UNITS_TIMES] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

static char text_buffer[TEXT_MAX + 1];

/* What a reader says of any text of that many bytes. */
#define JUDGE(read)                                   \
	(Frama_C_make_unknown(text_buffer, TEXT_MAX), \
	 check(read(text_buffer + TEXT_MAX - length, &number)))

static void check(int r)
{
	//@ check code: r == 0 || r == -EINVAL || r == -ERANGE;
}

void main(void)
{
	for (size_t length = 0; length <= TEXT_MAX; length++) {
		uint64_t number;

		JUDGE(units_parse_number);
		JUDGE(units_parse_size);
		JUDGE(units_parse_core);
		JUDGE(units_parse_cpus);
		JUDGE(units_parse_duration);
	}
}
