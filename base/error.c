/* See error.h. No privilege, no allocation. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int error_set(struct yett_error *error, enum yett_code code, enum yett_reason reason, const char *format, ...)
{
	va_list args;

	if (!error)
		return (int)code;
	error->code = code;
	error->reason = reason;
	error->line = 0;
	error->os_error = 0;
	error->detail[0] = error->rule[0] = error->file[0] = error->asked[0] = error->allowed[0] = error->mend[0] = error->step[0] = '\0';
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

void error_rest(struct yett_error *error, const struct error_rule *rule)
{
	const char *colon;

	if (!error)
		return;
	(void)snprintf(error->rule, sizeof error->rule, "%s of %s '%s'", rule->key, rule->section, rule->name);
	colon = rule->line ? NULL : strrchr(rule->file, ':');
	(void)snprintf(error->file, sizeof error->file, "%.*s", colon ? (int)(colon - rule->file) : (int)strlen(rule->file), rule->file);
	error->line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : rule->line;
	(void)snprintf(error->asked, sizeof error->asked, "%s", rule->asked);
	(void)snprintf(error->allowed, sizeof error->allowed, "%s", rule->allowed);
	for (char *at = error->allowed; (at = strchr(at, '\n')); at++)
		*at = ' ';
	error_detail(error, "asked %s, allowed %s by %s (%s:%u)", error->asked, error->allowed, error->rule, error->file, error->line);
	error_mend(error, rule->is_list ? "%s += {\"%s\"} in %s '%s' (%s:%u)" : "%s = %s in %s '%s' (%s:%u)", rule->key, rule->asked,
	           rule->section, rule->name, error->file, error->line);
}

void error_mend(struct yett_error *error, const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, format);
	if (vsnprintf(error->mend, sizeof error->mend, format, args) >= (int)sizeof error->mend)
		error->mend[0] = '\0'; /* who does as half of it says mends nothing */
	va_end(args);
}

int error_cause(struct yett_error *error, const char *step, int error_number)
{
	if (!error)
		return 0;
	error->os_error = error_number > 0 && error_number <= YETT_ERRNO_MAX ? error_number : 0;
	(void)snprintf(error->step, sizeof error->step, "%s", step ? step : "");
	return (int)error->code;
}

/* By their numbers, which have no gaps. */
#define X(name, number, short_name, text) [number] = text,
static const char *const reasons[] = {[0] = "", YETT_REASONS(X)};
#undef X

const char *error_reason_text(enum yett_reason reason)
{
	return (size_t)reason < ARRAY_SIZE(reasons) ? reasons[reason] : "unknown reason";
}

bool error_code_retryable(enum yett_code code)
{
#define X(name, number, retryable, text) || (retryable && code == (number))
	return false YETT_CODES(X);
#undef X
}

bool error_is_sound(const struct yett_error *error)
{
#define ENDS(field) memchr(error->field, '\0', sizeof error->field)
	return error->code >= 1 && (int)error->code <= YETT_CODES_COUNT && (int)error->reason >= 0 &&
	       (int)error->reason <= YETT_REASONS_COUNT && ENDS(message) && ENDS(detail) && ENDS(rule) && ENDS(file) && ENDS(asked) &&
	       ENDS(allowed) && ENDS(mend) && ENDS(step) && error->os_error >= 0 && error->os_error <= YETT_ERRNO_MAX;
#undef ENDS
}
