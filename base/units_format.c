/* SPDX-License-Identifier: Apache-2.0 */
/* See units_format.h. No privilege, no allocation. */
#include "base/units_format.h"

#include <stdarg.h>
#include <stdio.h>

const struct units_time units_times[UNITS_TIMES] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE])
{
	size_t i = 1; /* skip days: they are parsed, but never written */

	while (i + 1 < ARRAY_SIZE(units_times) && (ms == 0 || ms % units_times[i].ms != 0))
		i++;
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu%s", (unsigned long long)(ms / units_times[i].ms),
	               units_times[i].unit);
	return out;
}

char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE])
{
	int length =
		snprintf(out, UNITS_TEXT_SIZE, "%llu.%03llu", (unsigned long long)(millis / 1000),
	                 (unsigned long long)(millis % 1000));

	while (length > 1 && out[length - 1] == '0')
		out[--length] = '\0';
	if (length > 1 && out[length - 1] == '.')
		out[--length] = '\0';
	return out;
}

size_t units_append(char *out, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	if (size == 0)
		return 0;
	va_start(args, format);
	n = vsnprintf(out, size, format, args);
	va_end(args);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
