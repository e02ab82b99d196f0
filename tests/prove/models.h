/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in a proof for functions that fill in an error for people: they give back its code,
 * and nothing looks at the rest. And for what the compiler has and Frama-C 25 has not.
 */
#pragma once

#include <time.h> /* the headers of the C library that come with Frama-C need it for struct timespec */

#include "__fc_builtin.h"
#include "base/error.h"

/* Where a proof is about what is not refused, a refusal ends the case. */
static bool models_refusal_ends;

static inline int models_refuse(int code)
{
	while (models_refusal_ends)
		;
	return code;
}

int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason,
              const char *format, ...)
{
	(void)error, (void)reason, (void)format;
	return models_refuse(code);
}

const char *error_reason_text(enum yett_reason reason)
{
	return reason ? "a reason" : "none";
}

static inline bool models_mul_overflow(uint64_t a, uint64_t b, uint64_t *ret_product)
{
	*ret_product = a * b;
	return b != 0 && a > UINT64_MAX / b;
}

static inline bool models_add_overflow(uint64_t a, uint64_t b, uint64_t *ret_sum)
{
	*ret_sum = a + b;
	return a > UINT64_MAX - b;
}
/* As on every machine that Yett runs on. */
#define htole16(number) (number)
#define htole32(number) (number)
#define htole64(number) (number)
#define le16toh(number) (number)
#define le32toh(number) (number)
#define le64toh(number) (number)

#define __builtin_mul_overflow models_mul_overflow
#define __builtin_add_overflow models_add_overflow
