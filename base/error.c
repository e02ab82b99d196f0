/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. No privilege, no allocation. */
#include "base/error.h"

#include <stdarg.h>

int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason,
              const char *format, ...)
{
	va_list args;

	if (!error)
		return (int)code;
	error->code = code;
	error->reason = reason;
	error->line = 0;
	error->os_error = 0;
	error->detail[0] = error->rule[0] = error->file[0] = error->asked[0] = error->allowed[0] =
		error->mend[0] = error->step[0] = '\0';
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	return (int)code;
}

void error_detail(struct yett_error *error, const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, format);
	(void)vsnprintf(error->detail, sizeof error->detail, format, args);
	va_end(args);
}

int error_key(struct yett_error *error, const char *key, uint32_t number)
{
	FORMAT(error->rule, "%s", key);
	error->line = number;
	return (int)error->code;
}

int error_cause(struct yett_error *error, const char *step, int error_number)
{
	if (!error)
		return 0;
	error->os_error = error_number > 0 && error_number <= YETT_ERRNO_MAX ? error_number : 0;
	FORMAT(error->step, "%s", step ? step : "");
	return (int)error->code;
}

#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h of the kernel: not in <errno.h> */

const char *error_number_text(int number)
{
	return number == KERNEL_ENOTSUPP
	               ? "the kernel has no room for another filter (net.core.bpf_jit_limit)"
	               : strerror(number);
}

bool error_is_sound(const struct yett_error *error)
{
#define ENDS(field) memchr(error->field, '\0', sizeof error->field)
	return error->code >= 1 && (int)error->code <= YETT_CODES_COUNT &&
	       (int)error->reason >= 0 && (int)error->reason <= YETT_REASONS_COUNT &&
	       ENDS(message) && ENDS(detail) && ENDS(rule) && ENDS(file) && ENDS(asked) &&
	       ENDS(allowed) && ENDS(mend) && ENDS(step) && error->os_error >= 0 &&
	       error->os_error <= YETT_ERRNO_MAX;
#undef ENDS
}
