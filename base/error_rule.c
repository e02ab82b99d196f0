/* SPDX-License-Identifier: Apache-2.0 */
/* See error_rule.h, and error_mend() of error.h. No privilege, no allocation. */
#include "base/error_rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void error_rest(struct yett_error *error, const struct error_rule *rule)
{
	const char *colon;

	if (!error)
		return;
	(void)snprintf(error->rule, sizeof error->rule, "%s of %s '%s'", rule->key, rule->section,
	               rule->name);
	colon = rule->line ? NULL : strrchr(rule->file, ':');
	(void)snprintf(error->file, sizeof error->file, "%.*s",
	               colon ? (int)(colon - rule->file) : (int)strlen(rule->file), rule->file);
	error->line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : rule->line;
	(void)snprintf(error->asked, sizeof error->asked, "%s", rule->asked);
	(void)snprintf(error->allowed, sizeof error->allowed, "%s", rule->allowed);
	for (char *at = error->allowed; (at = strchr(at, '\n')); at++)
		*at = ' ';
	error_detail(error, "asked %s, allowed %s by %s (%s:%u)", error->asked, error->allowed,
	             error->rule, error->file, error->line);
	error_mend(error,
	           rule->is_list ? "%s += {\"%s\"} in %s '%s' (%s:%u)"
	                         : "%s = %s in %s '%s' (%s:%u)",
	           rule->key, rule->asked, rule->section, rule->name, error->file, error->line);
}

void error_mend(struct yett_error *error, const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, format);
	if (vsnprintf(error->mend, sizeof error->mend, format, args) >= (int)sizeof error->mend)
		error->mend[0] = '\0'; /* half a hint would mislead */
	va_end(args);
}
