/* SPDX-License-Identifier: Apache-2.0 */
/* See units.h. No privilege, no allocation. */
#include "base/units.h"

#include <stdio.h>
#include <string.h>

const char units_letters[UNITS_LETTERS + 1] = "KMGT";

char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE])
{
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && unit < strlen(units_letters)) {
		bytes /= 1024;
		unit++;
	}
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu%.1s", (unsigned long long)bytes,
	               unit ? units_letters + unit - 1 : "");
	return out;
}

char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE])
{
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu", (unsigned long long)number);
	return out;
}
