/* SPDX-License-Identifier: Apache-2.0 */
/* See lines.h. */
#include "base/lines.h"

#include <fcntl.h>

void lines_write_word(FILE *file, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		(void)fprintf(file, *at > ' ' && *at < 0x7f && *at != '%' ? "%c" : "%%%02x", *at);
}

void lines_write_text(FILE *file, const char *key, const char *text)
{
	(void)fprintf(file, "%s=", key);
	lines_write_word(file, text);
	(void)fputc('\n', file);
}

static int lines_from_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool lines_read_text(char *text)
{
	char *to = text;

	for (; *text; to++) {
		bool is_escape = *text == '%'; /* read now: the write to *to may overwrite *text */
		int high = is_escape ? lines_from_hex(text[1]) : 0,
		    low = is_escape && high >= 0 ? lines_from_hex(text[2]) : 0;

		if (high < 0 || low < 0 || (is_escape && high * 16 + low == 0))
			return false;
		*to = is_escape ? (char)(high * 16 + low) : *text;
		text += is_escape ? 3 : 1;
	}
	*to = '\0';
	return true;
}

FILE *lines_new_file(int directory, const char *name)
{
	int fd;

	(void)unlinkat(directory, name, 0); /* left by a process that was killed */
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		(void)fd_close(fd);
	return file;
}

int lines_end_file(FILE *file, int directory, const char *from, const char *to)
{
	int r = ferror(file) ? -EIO : 0;

	if (fclose(file) != 0)
		r = -errno;
	if (r == 0 && renameat(directory, from, directory, to) == 0)
		return 0;
	r = r < 0 ? r : -errno;
	(void)unlinkat(directory, from, 0);
	return r;
}

void lines_read_boot(char boot[static LINES_BOOT_SIZE])
{
	_cleanup_fd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, LINES_BOOT_SIZE - 1);

	boot[n < 0 ? 0 : n] = '\0';
	for (char *at = boot; *at; at++)
		*at = *at == '\n' ? '\0' : *at;
}
