/* SPDX-License-Identifier: Apache-2.0 */
/* See uuid.h. */
#include "checkpoint/uuid.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define TIME_MAX ((UINT64_C(1) << 60) - 1)
#define VERSION  0x70
#define VARIANT  0x80

static const char digits[] = "0123456789abcdef";

/* 48 bits of milliseconds and 12 bits of their fraction: RFC 9562, 6.2, method 3. */
static uint64_t now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_REALTIME, &time);
	if (time.tv_sec < 0)
		return 0;
	return (((uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000) << 12 |
	        (uint64_t)time.tv_nsec % 1000000 * 4096 / 1000000) &
	       TIME_MAX;
}

static uint64_t uuid_time_of(const uint8_t id[static UUID_SIZE])
{
	uint64_t time = 0;

	for (int i = 0; i < 6; i++)
		time = time << 8 | id[i];
	return time << 12 | (uint64_t)(id[6] & 0x0f) << 8 | id[7];
}

/* Sets all but the last 62 bits. */
static void uuid_fill(uint64_t time, uint8_t id[static UUID_SIZE])
{
	for (int i = 0; i < 6; i++)
		id[i] = (uint8_t)(time >> (52 - 8 * i));
	id[6] = (uint8_t)(VERSION | ((time >> 8) & 0x0f));
	id[7] = (uint8_t)time;
	id[8] = (uint8_t)(VARIANT | (id[8] & 0x3f));
}

int uuid_make(const uint8_t *last, uint8_t ret_id[static UUID_SIZE])
{
	uint64_t time = now();
	uint8_t id[UUID_SIZE];

	if (last && time <= uuid_time_of(last))
		time = uuid_time_of(last) + 1;
	if (time > TIME_MAX)
		return -ERANGE;
	if (getrandom(id, sizeof id, 0) < 0)
		return -errno; /* getrandom(2) returns up to 256 bytes whole */
	uuid_fill(time, id);
	memcpy(ret_id, id, sizeof id);
	return 0;
}

void uuid_of_time(uint64_t time_ms, uint8_t ret_id[static UUID_SIZE])
{
	memset(ret_id, 0, UUID_SIZE);
	uuid_fill(time_ms > TIME_MAX >> 12 ? TIME_MAX : time_ms << 12, ret_id);
}

uint64_t uuid_time(const uint8_t id[static UUID_SIZE])
{
	return uuid_time_of(id) >> 12;
}

static bool has_dash_before(int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_print(const uint8_t id[static UUID_SIZE], char ret_text[static YETT_CHECKPOINT_ID_SIZE])
{
	for (int i = 0; i < UUID_SIZE; i++) {
		if (has_dash_before(i))
			*ret_text++ = '-';
		*ret_text++ = digits[id[i] >> 4];
		*ret_text++ = digits[id[i] & 0x0f];
	}
	*ret_text = '\0';
}

static int value_of(char digit)
{
	const char *found =
		digit ? strchr(digits, digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit)
		      : NULL;

	return found ? (int)(found - digits) : -1;
}

bool uuid_parse(const char *text, uint8_t ret_id[static UUID_SIZE])
{
	uint8_t id[UUID_SIZE];

	for (int i = 0; i < UUID_SIZE; i++, text += 2) {
		int high, low;

		if (has_dash_before(i) && *text++ != '-')
			return false;
		high = value_of(text[0]);
		low = high < 0 ? -1 : value_of(text[1]);
		if (low < 0)
			return false;
		id[i] = (uint8_t)(high << 4 | low);
	}
	if (*text)
		return false;
	memcpy(ret_id, id, sizeof id);
	return true;
}
