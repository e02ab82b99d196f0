/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage: see apply.h. The name of each file in the stage is the index of its step, whether the
 * file is new or the step took it out of the source. The stage is flat: it contains only files,
 * links and empty directories.
 */
#include "workspace/apply/apply.h"

#include "base/entries.h"
#include "base/reached.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/statfs.h>
#include <time.h>

#define IN_STORE "stage"
#define BLOCK    ((size_t)1 << 20)
#define PIECE    ((off_t)32 << 20)
#define ROOM     ((uint64_t)64 << 20)
#define FILES    1000u
#define TICK_NS  ((int64_t)20000000) /* more than the longest tick: 10 ms, CONFIG_HZ_100 */

static void stage_name_of(const struct apply *apply, char name[static NAME_MAX])
{
	(void)snprintf(name, NAME_MAX, "%s%s", apply->is_stage_in_source ? STAGE_NAME : IN_STORE,
	               apply->is_stage_in_source ? apply->id : "");
}

/*
 * Whether both are on one mount. A rename of "." always fails, but with EXDEV if the mounts differ,
 * which the kernel checks first. renameat2(2)
 */
static bool is_one_mount(const struct apply *apply)
{
	struct stat room, source;

	if (fstat(apply->room, &room) < 0 || fstat(apply->source, &source) < 0 ||
	    room.st_dev != source.st_dev)
		return false;
	return renameat2(apply->room, ".", apply->source, ".", RENAME_NOREPLACE) < 0 &&
	       errno != EXDEV;
}

int stage_open(struct apply *apply, bool make)
{
	int parent;
	char name[NAME_MAX];
	struct stat st;

	if (make)
		apply->is_stage_in_source = !is_one_mount(apply);
	parent = apply->is_stage_in_source ? apply->source : apply->room;
	stage_name_of(apply, name);
	if (make && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	apply->stage = read_open(parent, name, O_RDONLY | O_DIRECTORY);
	if (apply->stage < 0)
		return apply->stage;
	if (fstat(apply->stage, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return make ? inherit_nothing(apply->stage) : 0;
}

bool stage_is_empty_if_directory(const struct apply *apply, const char *staged, uint32_t mode)
{
	_cleanup_fd_ int fd =
		S_ISDIR(mode) ? read_open(apply->stage, staged, O_RDONLY | O_DIRECTORY) : -1;
	_cleanup_(fd_entries_close) DIR *entries = fd < 0 ? NULL : fd_entries(fd);
	const struct dirent *entry;

	if (!S_ISDIR(mode))
		return true;
	return entries && entries_next(entries, &entry) == 0 && !entry;
}

static bool stage_is_number(const char *name)
{
	return *name && strspn(name, "0123456789") == strlen(name);
}

/* Never removes what is in a directory: if others have put something into it, that stays. */
int stage_empty(struct apply *apply)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(apply->stage);
	const struct dirent *entry;
	char name[NAME_MAX];
	int r = entries ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry) {
		if (stage_is_number(entry->d_name) &&
		    unlinkat(apply->stage, entry->d_name, 0) < 0 && errno == EISDIR)
			r = unlinkat(apply->stage, entry->d_name, AT_REMOVEDIR) < 0 ? -errno : 0;
		if (r == 0)
			r = reached_step("apply", "emptied");
	}
	stage_name_of(apply, name);
	if (r == 0 && unlinkat(apply->is_stage_in_source ? apply->source : apply->room, name,
	                       AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

/*
 * Whether so many bytes may be written. A full file system breaks other programs too, and hard
 * links of one file in a sandbox become as many files here. So 64 MiB and 1,000 files stay free, or
 * a hundredth if that is less. If the file system does not report its limits, the write itself
 * fails.
 */
static bool stage_has_room(int fd, uint64_t bytes)
{
	struct statfs st;
	uint64_t left, all;

	if (fstatfs(fd, &st) < 0)
		return true;
	if (st.f_files > 0 && st.f_ffree > 0 &&
	    st.f_ffree <= (st.f_files / 100 < FILES ? st.f_files / 100 : FILES))
		return false;
	left = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	all = (uint64_t)st.f_blocks * (uint64_t)st.f_bsize;
	return left == 0 || left >= bytes + (all / 100 < ROOM ? all / 100 : ROOM);
}

/*
 * Copies with copy_file_range(2) where the kernel supports it, which on some file systems copies no
 * data at all. -EAGAIN: the file has become shorter.
 */
static int stage_copy_part(int from, int to, off_t at, off_t end)
{
	_cleanup_free_ char *block = NULL;

	while (at < end) {
		off_t in = at, out = at, piece = end - at < PIECE ? end - at : PIECE;
		ssize_t n;

		if (!stage_has_room(to, (uint64_t)piece))
			return -ENOSPC;
		n = block ? -1 : copy_file_range(from, &in, to, &out, (size_t)piece, 0);
		if (n < 0 && !block && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
			return -errno;
		if (n < 0) {
			block = block ? block : malloc(BLOCK);
			n = block ? pread(from, block,
			                  (size_t)(end - at) < BLOCK ? (size_t)(end - at) : BLOCK,
			                  at)
			          : -1;
			if (n > 0)
				n = pwrite(to, block, (size_t)n, at);
		}
		if (n < 0)
			return block ? -errno : -ENOMEM;
		if (n == 0)
			return -EAGAIN; /* the file has become shorter */
		at += n;
	}
	return 0;
}

/* Copies only the data of a file with holes. */
static int copy_sparse(int from, int to, off_t size)
{
	off_t at = 0;
	int r = ftruncate(to, size) < 0 ? -errno : 0;

	while (r == 0 && at < size) {
		off_t data = lseek(from, at, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			break;
		hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
		if (data < 0 || hole < 0)
			return -errno;
		r = stage_copy_part(from, to, data, hole < size ? hole : size);
		at = hole;
	}
	return r;
}

static int write_whole(int fd, const char *bytes, size_t size)
{
	if (!stage_has_room(fd, size))
		return -ENOSPC;
	for (size_t used = 0; used < size;) {
		ssize_t n = write(fd, bytes + used, size - used);

		if (n < 0)
			return -errno;
		used += (size_t)n;
	}
	return 0;
}

static bool stage_is_unchanged(int fd, const struct stat *before)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_size == before->st_size &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * If the file was written to within the present tick of the clock for file times, another write may
 * leave its times unchanged: wait for the next tick. -EAGAIN: the file is written to all the time,
 * or is not regular.
 */
static int wait_for_tick(int fd, struct stat *ret_st)
{
	int64_t begun = now_ns(CLOCK_MONOTONIC), ahead;

	do {
		if (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
			return -EAGAIN;
		ahead = (int64_t)ret_st->st_ctim.tv_sec * 1000000000 + ret_st->st_ctim.tv_nsec -
		        now_ns(CLOCK_REALTIME_COARSE);
		if (ahead < 0 || ahead > TICK_NS)
			return 0;
	} while (now_ns(CLOCK_MONOTONIC) - begun < 5 * TICK_NS);
	return -EAGAIN;
}

/*
 * Fills a staged file. -EAGAIN: a sandbox changed the file meanwhile, so that the copy mixes two
 * states.
 */
static int fill_file(int layer, const struct item *item, int to)
{
	_cleanup_fd_ int from = item->content ? -1 : read_open(layer, item->path, O_RDONLY);
	struct stat st;
	int r;

	if (item->content)
		return write_whole(to, item->content, item->content_size);
	if (from < 0)
		return from;
	r = wait_for_tick(from, &st);
	if (r < 0)
		return r;
	r = copy_sparse(from, to, st.st_size);
	return r == 0 && !stage_is_unchanged(from, &st) ? -EAGAIN : r;
}

static int stage_layer_of(const struct apply *apply, const struct step *step)
{
	return apply->diff.layers[step->item->change->layer];
}

static int stage_file(struct apply *apply, const struct step *step, const char *name)
{
	_cleanup_fd_ int to = read_open(apply->stage, name, O_WRONLY | O_CREAT | O_EXCL);
	uint32_t mode = step->new.mode & 0777;
	int r = to < 0 ? to : fill_file(stage_layer_of(apply, step), step->item, to);

	if (r < 0)
		return r;
	r = inherit(apply, step, to, &mode);
	if (r < 0)
		return r;
	return fchmod(to, mode) < 0 ? -errno : 0;
}

static int stage_link(struct apply *apply, const struct step *step, const char *name)
{
	_cleanup_free_ char *target = NULL;
	const struct side side = {.mode = S_IFLNK};
	const struct item *item = step->item;
	size_t size = item->content_size;
	char path[PATH_MAX];
	_cleanup_fd_ int fd = -1;
	int r = item->content ? 0
	                      : read_content(stage_layer_of(apply, step), step->path, &side,
	                                     &target, &size);

	if (r < 0)
		return r;
	if (size == 0 || size >= PATH_MAX)
		return -ENAMETOOLONG;
	(void)snprintf(path, sizeof path, "%.*s", (int)size,
	               item->content ? item->content : target);
	if (symlinkat(path, apply->stage, name) < 0)
		return -errno;
	fd = read_open(apply->stage, name, O_PATH);
	return fd < 0 ? fd : inherit(apply, step, fd, &(uint32_t){0});
}

static int stage_directory(struct apply *apply, const struct step *step, const char *name)
{
	_cleanup_fd_ int fd = mkdirat(apply->stage, name, 0700) < 0
	                              ? -errno
	                              : read_open(apply->stage, name, O_RDONLY | O_DIRECTORY);

	uint32_t mode = step->new.mode & 0777;
	int r = fd < 0 ? fd : inherit(apply, step, fd, &mode);

	return r == 0 && fchmod(fd, mode | 0700) < 0 ? -errno : r;
}

/*
 * Fills in a mode step for a directory that an earlier step makes: `old` is the directory as that
 * step stages it, and `new` has its final mode, narrowed as inherit() narrowed the staged one.
 */
static void know_directory(struct apply *apply, struct step *step)
{
	const struct step *made = &apply->steps[apply->made[step->item - apply->items]];
	uint32_t mode = step->new.mode;

	step->old = step->new = made->new;
	step->new.mode = (mode & (made->new.mode | ~077u)) | (made->new.mode &S_ISGID);
}

static int stage_step(struct apply *apply, size_t i)
{
	struct step *step = &apply->steps[i];
	uint32_t mode = step->new.mode;
	char name[24];
	int r;

	if (step->kind == STEP_MODE && !S_ISDIR(step->item->old.mode) && S_ISDIR(mode))
		know_directory(apply, step);
	if (step->kind == STEP_MODE || step->kind == STEP_REMOVE)
		return 0;
	if (!stage_has_room(apply->stage, 0))
		return -ENOSPC;
	apply->made[step->item - apply->items] = i;
	(void)snprintf(name, sizeof name, "%zu", i);
	r = S_ISREG(mode)   ? stage_file(apply, step, name)
	    : S_ISLNK(mode) ? stage_link(apply, step, name)
	                    : stage_directory(apply, step, name);
	if (r == 0)
		r = look_at(apply->stage, name, &step->new);
	if (r == 0 && ((step->new.mode ^ mode) & S_IFMT))
		r = -EAGAIN;
	return r == 0 ? reached_step("apply", "staged") : r;
}

int stage_fill(struct apply *apply)
{
	_cleanup_free_ size_t *made = apply->made = calloc(apply->item_count + 1, sizeof *made);
	int r = made ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < apply->step_count; i++) {
		r = stage_step(apply, i);
		if (r < 0)
			note(&apply->diff, apply->steps[i].path,
			     r == -EAGAIN ? "changed while it was copied" : strerror(-r));
	}
	if (r == 0 && syncfs(apply->stage) < 0)
		r = -errno;
	return r;
}
