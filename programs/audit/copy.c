/* SPDX-License-Identifier: Apache-2.0 */
/* See copy.h. */
#include "programs/audit/copy.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Below PIPE_BUF, so a pipe that is writable takes the line at once: pipe(7). */
#define LINE_SIZE 1024

/* Replaces every character that is not printable ASCII, so that the text cannot forge a line. */
static void audit_copy_put(enum copy_level level, const char *text, size_t length)
{
	struct pollfd to = {STDERR_FILENO, POLLOUT, 0};
	char line[LINE_SIZE];
	int used = snprintf(line, sizeof line, "<%d>yett-audit: ", (int)level);

	if (poll(&to, 1, 0) != 1 || !(to.revents & POLLOUT))
		return;
	for (size_t i = 0; i < length && used < LINE_SIZE - 1; i++, used++)
		line[used] = (char)(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
	line[used] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)used + 1);
}

void copy_say(enum copy_level level, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	audit_copy_put(level, text, strlen(text));
}

void copy_line(const char *line, size_t length)
{
	audit_copy_put(COPY_INFO, line,
	               length > 0 && line[length - 1] == '\n' ? length - 1 : length);
}
