/* SPDX-License-Identifier: Apache-2.0 */
/* See cores.h. */
#include "programs/inside/init/cores.h"
#include "base/escape.h"
#include "base/kernel.h"

#include <string.h>

int cores_read(char pattern[static CORES_PATTERN_SIZE])
{
	ssize_t n = kernel_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", pattern,
	                             CORES_PATTERN_SIZE);

	if (n < 0)
		return (int)n;
	pattern[strcspn(pattern, "\n")] = '\0';
	return 0;
}

static const char *reason_of(const char *pattern)
{
	if (*pattern == '|')
		return "the kernel would start a program of the host, as root, and pass it a command's memory";
	if (*pattern == '@')
		return "the kernel would send a command's memory to a socket of the host";
	/*
	 * A pattern that begins with another character can still expand to an absolute path: the
	 * kernel drops % specifiers that it does not know.
	 */
	if (strchr(pattern, '/'))
		return "the kernel would write core files of unreadable programs as root, outside the sandbox";
	return *pattern ? NULL : "the kernel writes no core file";
}

bool cores_are_files(const char *pattern)
{
	return !reason_of(pattern);
}

int cores_refuse(const char *pattern, enum yett_code code, struct yett_error *error)
{
	(void)error_set(error, code, YETT_R_NONE,
	                "there can be no core files inside: kernel.core_pattern is '%s'",
	                ESCAPE(pattern));
	error_detail(
		error,
		"%s; it has to be a file's name without a directory: sysctl kernel.core_pattern=core",
		reason_of(pattern) ?: "it has changed again");
	return code;
}
