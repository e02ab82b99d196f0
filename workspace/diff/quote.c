/* SPDX-License-Identifier: Apache-2.0 */
/* See diff.h. git-config(1), core.quotePath */
#include "workspace/diff/diff.h"

#include <string.h>

#define SHORT_BEGIN 50
#define SHORT_MAX   150 /* up to four times as long when quoted */

static bool quote_is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

bool quote_is_needed(const char *path)
{
	for (; *path; path++)
		if (!quote_is_plain((unsigned char)*path))
			return true;
	return false;
}

static void quote_put(FILE *to, unsigned char c)
{
	static const char named[] = "\a\b\t\n\v\f\r\"\\", names[] = "abtnvfr\"\\";
	const char *at = c ? strchr(named, c) : NULL;

	if (quote_is_plain(c))
		(void)fputc(c, to);
	else if (at)
		(void)fprintf(to, "\\%c", names[at - named]);
	else
		(void)fprintf(to, "\\%03o", c);
}

void quote_path(FILE *to, const char *prefix, const char *path)
{
	if (!quote_is_needed(path)) {
		(void)fprintf(to, "%s%s", prefix, path);
		return;
	}
	(void)fprintf(to, "\"%s", prefix);
	for (; *path; path++)
		quote_put(to, (unsigned char)*path);
	(void)fputc('"', to);
}

/* Returns the length of the common beginning, up to and including its last slash. */
static size_t common_prefix(const char *old, const char *new)
{
	size_t length = 0;

	for (size_t i = 0; old[i] && old[i] == new[i]; i++)
		if (old[i] == '/')
			length = i + 1;
	return length;
}

/*
 * Returns the length of the common end, from its first slash on. The slash that ends the prefix may
 * be that slash, too.
 */
static size_t common_suffix(const char *old, const char *new, size_t prefix)
{
	size_t of_old = strlen(old), of_new = strlen(new), first = prefix ? prefix - 1 : 0,
	       length = 0;

	for (size_t i = 1;
	     i <= of_old - first && i <= of_new - first && old[of_old - i] == new[of_new - i]; i++)
		if (old[of_old - i] == '/')
			length = i;
	return length;
}

/* Returns the length of the part between prefix and suffix, which may overlap in one slash. */
static int middle(const char *path, size_t prefix, size_t suffix)
{
	size_t length = strlen(path);

	return length > prefix + suffix ? (int)(length - prefix - suffix) : 0;
}

void quote_move(FILE *to, const char *old, const char *new)
{
	size_t prefix = common_prefix(old, new), suffix = common_suffix(old, new, prefix);

	if (quote_is_needed(old) || quote_is_needed(new) || prefix + suffix == 0) {
		quote_path(to, "", old);
		(void)fputs(" => ", to);
		quote_path(to, "", new);
		return;
	}
	(void)fprintf(to, "%.*s{%.*s => %.*s}%s", (int)prefix, old, middle(old, prefix, suffix),
	              old + prefix, middle(new, prefix, suffix), new + prefix,
	              new + strlen(new) - suffix);
}

void quote_short(FILE *to, const char *path, size_t length)
{
	char shown[SHORT_MAX + sizeof "..."];

	if (length <= SHORT_MAX)
		(void)snprintf(shown, sizeof shown, "%.*s", (int)length, path);
	else
		(void)snprintf(shown, sizeof shown, "%.*s...%.*s", SHORT_BEGIN, path,
		               SHORT_MAX - SHORT_BEGIN, path + length - (SHORT_MAX - SHORT_BEGIN));
	quote_path(to, "", shown);
}
