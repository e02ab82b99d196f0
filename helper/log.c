/* See log.h. */
#include "helper/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level max_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[1024];
	va_list args;
	int n, used;

	if (level > max_level)
		return;
	used = snprintf(line, sizeof line, "<%d>yett-helper[%d]: ", (int)level, (int)getpid());
	va_start(args, format);
	n = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
	va_end(args);
	used = n < 0 ? used : used + n;
	if (used > (int)sizeof line - 2)
		used = (int)sizeof line - 2;
	/* One write, so that lines of several processes do not mix; anything that could forge a line is replaced. */
	for (int i = 0; i < used; i++)
		if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] >= 0x7f)
			line[i] = '?';
	line[used] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)used + 1);
}
