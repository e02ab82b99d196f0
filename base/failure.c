/* SPDX-License-Identifier: Apache-2.0 */
/* See failure.h. */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

int failure_set(struct yett_error *error, enum yett_code code, const char *step, const char *format,
                ...)
{
	char text[sizeof error->message];
	int number = errno;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)error_set(error, code, YETT_R_NONE, "%s", text);
	(void)error_cause(error, step, number);
	return (int)code;
}
