/* See diff.h. git-config(1), core.quotePath */
#include "programs/diff/diff.h"

#include <string.h>

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

bool quote_is_needed(const char *path)
{
	for (; *path; path++)
		if (!is_plain((unsigned char)*path))
			return true;
	return false;
}

static void put(FILE *to, unsigned char c)
{
	static const char named[] = "\a\b\t\n\v\f\r\"\\", names[] = "abtnvfr\"\\";
	const char *at = c ? strchr(named, c) : NULL;

	if (is_plain(c))
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
		put(to, (unsigned char)*path);
	(void)fputc('"', to);
}
