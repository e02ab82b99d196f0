/* SPDX-License-Identifier: Apache-2.0 */
/* See log.h. */
#include "base/log.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define MINUTE_MS 60000

static enum log_level max_level = LOG_LEVEL_INFO;
/*
 * Line counters of a user. Each counter packs a minute (upper 32 bits) and the number of lines in
 * that minute (lower 32 bits).
 */
struct count {
	_Atomic uint64_t other, done;
};

static struct count *shared; /* LOG_USERS elements; NULL: log_share_counts() was not called */
static struct count *bound;  /* NULL: no user causes the lines, and they are not limited */
static uint32_t bound_uid;

void log_set_level(enum log_level level)
{
	max_level = level;
}

int log_share_counts(void)
{
	void *counts = mmap(NULL, LOG_USERS * sizeof *shared, PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (counts == MAP_FAILED)
		return -errno;
	shared = counts;
	return 0;
}

void log_count_for(uint32_t uid)
{
	static struct count own;

	bound = shared ? &shared[uid % LOG_USERS] : &own;
	bound_uid = uid;
}

/*
 * Writes with one write(2), so that lines of several processes do not mix. Replaces every byte that
 * could forge a line.
 */
static void write_line(enum log_level level, const char *format, va_list args)
{
	char line[1024];
	int n, used = snprintf(line, sizeof line, "<%d>yett-helper[%d]: ", (int)level,
	                       (int)getpid());

	n = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
	used = n < 0 ? used : used + n;
	if (used > (int)sizeof line - 2)
		used = (int)sizeof line - 2;
	for (int i = 0; i < used; i++)
		if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] >= 0x7f)
			line[i] = '?';
	line[used] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)used + 1);
}

static void _printf_(2, 3) log_write_own(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
}

/*
 * Counts one more line of the user `bound_uid`, and returns whether it is within the limit. Uses no
 * lock, since a process that dies here would leave the lock held.
 */
static bool is_within_bound(enum log_level level)
{
	bool is_done = level == LOG_LEVEL_NOTICE;
	_Atomic uint64_t *count = is_done ? &bound->done : &bound->other;
	uint32_t minute = (uint32_t)(clock_now_ms() / MINUTE_MS),
		 max = is_done ? LOG_DONE_MAX : LOG_OTHER_MAX, lines;
	const char *kind = is_done ? "about what was done" : "about refusals and the like";
	uint64_t before = *count;

	do
		lines = before >> 32 == minute ? (uint32_t)before : 0;
	while (!atomic_compare_exchange_weak(
		count, &before, (uint64_t)minute << 32 | (lines < UINT32_MAX ? lines + 1 : lines)));
	if (lines == 0 && (uint32_t)before > max)
		log_write_own(level, "uid=%u: %u lines %s of an earlier minute were left out",
		              bound_uid, (uint32_t)before - max, kind);
	if (lines == max)
		log_write_own(
			level,
			"uid=%u: more than %u lines %s in a minute; the rest of them is left out",
			bound_uid, max, kind);
	return lines < max;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;

	if (level > max_level || (bound && !is_within_bound(level)))
		return;
	va_start(args, format);
	write_line(level, format, args);
	va_end(args);
}
