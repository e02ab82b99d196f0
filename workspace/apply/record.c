/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. The store's info and the record of applied files are text, one entry a line. Unknown
 * lines are skipped.
 */
#include "workspace/apply/apply.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define INFO_HEAD "yett-work 1\n"
/* The info has a line for each hidden name; libclient's WORK_INFO_MAX is the same limit. */
#define INFO_MAX     ((size_t)2 << 20)
#define OWN_HEAD     "yett-applied 1\n"
#define OWN_MAX      APPLY_JOURNAL_MAX
#define OWN_LINE_MAX 64 /* without the path */

/* Greatest difference of two clocks that are read one after the other, on a busy machine. */
#define CLOCK_SLACK_NS ((int64_t)1000000000)

void record_put_text(FILE *to, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		(void)fprintf(to, *at > ' ' && *at < 0x7f && *at != '%' ? "%c" : "%%%02x", *at);
}

size_t record_text_size(const char *text)
{
	size_t size = 0;

	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		size += *at > ' ' && *at < 0x7f && *at != '%' ? 1 : 3;
	return size;
}

static int apply_record_from_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool record_take_text(char *text)
{
	char *to = text;

	while (*text) {
		int high = *text == '%' ? apply_record_from_hex(text[1]) : 0,
		    low = *text == '%' && high >= 0 ? apply_record_from_hex(text[2]) : 0;
		bool is_escaped = *text == '%';

		if (high < 0 || low < 0 || (is_escaped && high * 16 + low == 0))
			return false;
		*to++ = is_escaped ? (char)(high * 16 + low) : *text;
		text += is_escaped ? 3 : 1;
	}
	*to = '\0';
	return true;
}

/*
 * Returns how far the wall clock is ahead of CLOCK_BOOTTIME, the only other clock to compare with.
 */
static int64_t clock_ahead_ns(void)
{
	struct timespec wall, boot;

	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	return (int64_t)(wall.tv_sec - boot.tv_sec) * 1000000000 + (wall.tv_nsec - boot.tv_nsec);
}

/*
 * Whether the wall clock may have been set since the store was made. Within one boot,
 * CLOCK_BOOTTIME shows that. After another boot, only this can be checked: the present time is not
 * earlier.
 */
static bool is_clock_doubtful(const struct origin *origin, const char *boot)
{
	int64_t then = (int64_t)origin->stamp_ns - (int64_t)origin->uptime_ns,
		now = clock_ahead_ns();
	struct timespec wall;

	(void)clock_gettime(CLOCK_REALTIME, &wall);
	if (!origin->stamp_ns || !origin->uptime_ns || !*boot ||
	    wall.tv_sec < (int64_t)(origin->stamp_ns / 1000000000))
		return true;
	return strcmp(origin->boot, boot) == 0 &&
	       (now - then > CLOCK_SLACK_NS || then - now > CLOCK_SLACK_NS);
}

/*
 * Reads a whole file of the store, and adds a NUL. -EFBIG: larger than `most`; -EBADMSG: not a
 * regular file, or one with NULs.
 */
static int apply_record_read_text(int directory, const char *name, size_t most, char **ret_text)
{
	_cleanup_fd_ int fd = read_open(directory, name, O_RDONLY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t length = 0;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most)
		return S_ISREG(st.st_mode) ? -EFBIG : -EBADMSG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (n > 0 && length < (size_t)st.st_size) {
		n = read(fd, text + length, (size_t)st.st_size - length);
		length += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || memchr(text, '\0', length))
		return n < 0 ? -errno : -EBADMSG;
	text[length] = '\0';
	*ret_text = steal_ptr(&text);
	return 0;
}

int record_read_text(struct apply *apply, const char *name, char **ret_text)
{
	return apply_record_read_text(apply->room, name, APPLY_JOURNAL_MAX, ret_text);
}

void record_read_boot(struct apply *apply)
{
	_cleanup_fd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, apply->boot, sizeof apply->boot - 1);

	apply->boot[n < 0 ? 0 : strcspn(apply->boot, "\n")] = '\0';
}

int record_read_origin(struct apply *apply)
{
	struct origin *origin = &apply->origin;
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int r = apply_record_read_text(apply->store, "info", INFO_MAX, &text);

	if (r < 0 || strncmp(text, INFO_HEAD, strlen(INFO_HEAD)) != 0)
		return r < 0 ? r : -EBADMSG;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		(void)!sscanf(line, "inode=%" SCNu64, &origin->inode);
		(void)!sscanf(line, "device=%" SCNu64, &origin->device);
		(void)!sscanf(line, "boot=%63s", origin->used_boot);
		(void)!sscanf(line, "clock=%" SCNu64 " %" SCNu64 " %63s", &origin->stamp_ns,
		              &origin->uptime_ns, origin->boot);
	}
	apply->is_clock_doubtful = is_clock_doubtful(origin, apply->boot);
	return 0;
}

static int apply_record_by_path(const void *a, const void *b)
{
	return strcmp(((const struct own *)a)->path, ((const struct own *)b)->path);
}

int record_read_owns(struct apply *apply)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int r = record_read_text(apply, "applied", &text);

	if (r == -ENOENT || r == -EFBIG ||
	    (r == 0 && strncmp(text, OWN_HEAD, strlen(OWN_HEAD)) != 0))
		return 0;
	if (r < 0)
		return r;
	apply->owns = calloc(DIFF_CHANGES_MAX, sizeof *apply->owns);
	if (!apply->owns)
		return -ENOMEM;
	for (rest = text; (line = strsep(&rest, "\n")) && apply->own_count < DIFF_CHANGES_MAX;) {
		struct own *own = &apply->owns[apply->own_count];
		int length = 0;

		if (sscanf(line, "%" SCNu64 " %" SCNd64 " %n", &own->inode, &own->ctime_ns,
		           &length) < 2 ||
		    length == 0 || !record_take_text(line + length))
			continue;
		own->path = strdup(line + length);
		if (!own->path)
			return -ENOMEM;
		apply->own_count++;
	}
	qsort(apply->owns, apply->own_count, sizeof *apply->owns, apply_record_by_path);
	return 0;
}

bool record_is_own(const struct apply *apply, const char *path, const struct ident *ident)
{
	const struct own wanted = {.path = (char *)path};
	const struct own *own = apply->owns ? bsearch(&wanted, apply->owns, apply->own_count,
	                                              sizeof *apply->owns, apply_record_by_path)
	                                    : NULL;

	return own && ident->mode && own->inode == ident->inode && own->ctime_ns == ident->ctime_ns;
}

/* Writes one line of the record. The next apply treats files that do not fit as changed outside. */
static void put_own(FILE *to, const char *path, uint64_t inode, int64_t ctime_ns)
{
	if (ftello(to) > (off_t)(OWN_MAX - OWN_LINE_MAX - record_text_size(path)))
		return;
	(void)fprintf(to, "%" PRIu64 " %" PRId64 " ", inode, ctime_ns);
	record_put_text(to, path);
	(void)fputc('\n', to);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Writes the files that are still as an apply left them. Drops the old line of a path that a step
 * has, because with two lines for a path either could be found.
 */
static void put_owns(const struct apply *apply, FILE *to, const char **paths)
{
	(void)fputs(OWN_HEAD, to);
	for (size_t i = 0; i < apply->step_count; i++)
		paths[i] = apply->steps[i].path;
	qsort(paths, apply->step_count, sizeof *paths, by_text);
	for (size_t i = 0; i < apply->own_count; i++)
		if (!apply->step_count || !bsearch(&apply->owns[i].path, paths, apply->step_count,
		                                   sizeof *paths, by_text))
			put_own(to, apply->owns[i].path, apply->owns[i].inode,
			        apply->owns[i].ctime_ns);
	for (size_t i = 0; i < apply->step_count; i++) {
		const struct step *step = &apply->steps[i];
		const struct ident *left = apply->is_restored ? &step->old : &step->new;
		struct ident now;

		if (left->mode && look_at(apply->source, step->path, &now) == 0 &&
		    plan_is_same(&now, left))
			put_own(to, step->path, now.inode, now.ctime_ns);
	}
}

int record_write_owns(struct apply *apply)
{
	_cleanup_free_ const char **paths = calloc(apply->step_count + 1, sizeof *paths);
	FILE *to;

	/* After a forced apply, restored files may have been changed outside before. */
	if (apply->is_restored && apply->is_forced)
		return 0;
	to = paths ? record_create(apply, "applied.new") : NULL;
	if (!to)
		return paths ? -errno : -ENOMEM;
	put_owns(apply, to, paths);
	return record_finish(apply, to, "applied.new", "applied");
}

/*
 * Calls renameat2 directly: without flags, the library's renameat2(3) uses another system call,
 * which the filter refuses.
 */
int record_rename(struct apply *apply, const char *name, const char *wanted)
{
	return syscall(SYS_renameat2, apply->room, name, apply->room, wanted, 0) == 0 &&
	                       fsync(apply->room) == 0
	               ? 0
	               : -errno;
}

FILE *record_create(struct apply *apply, const char *name)
{
	int fd;
	FILE *to;

	(void)unlinkat(apply->room, name, 0);
	fd = read_open(apply->room, name, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	to = fchmod(fd, 0600) == 0 ? fdopen(fd, "w") : NULL;
	if (!to)
		fd_close(fd);
	return to;
}

int record_finish(struct apply *apply, FILE *file, const char *name, const char *wanted)
{
	bool is_written = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
	int error = errno;

	is_written = fclose(file) == 0 && is_written;
	if (is_written && record_rename(apply, name, wanted) == 0)
		return 0;
	error = is_written ? errno : error;
	(void)unlinkat(apply->room, name, 0);
	return error ? -error : -EIO;
}
