/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work.h: hides names of the source from a sandbox, with "hidden" in a store, a layer of
 * whiteouts over the source.
 *
 * Runs as the caller: a whiteout, the character device 0, 0, needs no privilege since Linux 5.8.
 * Reads the source once, and follows no link. The overlay shows the mode, group and times of the
 * upper directory, so each directory of this layer has those of its directory in the source.
 */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/entries.h"
#include "base/escape.h"
#include "base/lines.h"
#include "base/failure.h"
#include "workspace/store/work_glob.h"

#define ENTRIES_MAX 2000000 /* files and directories to look at */
#define DEPTH_MAX   128
#define HIDDEN_MAX  10000
#define TEXT_MAX    (long)(1024 * 1024) /* bytes of hidden names in "info" */

struct hiding {
	const char *name; /* of the share, in errors */
	struct work_globs hide, show;
	FILE *reported; /* lines for "info" */
	size_t length;  /* of these lines */
	char path[PATH_MAX];
	size_t entries, count;
	struct yett_error *error;
};

/*
 * A directory of the source, and its counterpart in the layer, which is made when the first name in
 * it is hidden.
 */
struct level {
	struct level *above;
	const char *name;
	int source, hidden;
	struct stat st;
	size_t path_length; /* of the path in front of a name in this directory */
	unsigned depth;
};

static int work_hide_fail(struct hiding *h, const char *what)
{
	return failure_set(h->error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                   "cannot hide %s in %s: %s: %m", ESCAPE(h->path), h->name, what);
}

static int work_hide_refuse(struct hiding *h, enum yett_code code, const char *why,
                            const char *mend)
{
	(void)error_set(h->error, code, YETT_R_NONE, "cannot hide %s in %s: %s", ESCAPE(h->path),
	                h->name, why);
	error_mend(h->error, "%s", mend);
	return (int)code;
}

static bool set_path(struct hiding *h, const struct level *level, const char *name)
{
	int n = snprintf(h->path + level->path_length, sizeof h->path - level->path_length, "%s",
	                 name);

	return n >= 0 && (size_t)n < sizeof h->path - level->path_length;
}

/*
 * Makes the counterparts of the level and of those above it. -EEXIST: one of these directories is
 * hidden as a whole.
 */
static int make_level(struct hiding *h, struct level *level)
{
	int r;

	if (level->hidden >= 0)
		return 0;
	r = make_level(h, level->above);
	if (r)
		return r;
	r = work_make_like(level->above->hidden, level->name, &level->st);
	if (r < 0 && r != -EEXIST)
		return errno = -r, work_hide_fail(h, "no directory can be made for it");
	level->hidden = work_open_own(level->above->hidden, level->name, O_RDONLY | O_DIRECTORY);
	if (level->hidden == -ENOTDIR)
		return -EEXIST;
	return level->hidden < 0 ? errno = -level->hidden,
	                           work_hide_fail(h, "no directory can be made for it") : 0;
}

/* Hides a name. Does nothing if the layer has an entry of this name, or hides a directory above. */
static int work_hide_put_whiteout(struct hiding *h, struct level *level, const char *name)
{
	int r = make_level(h, level);

	if (r)
		return r == -EEXIST ? 0 : r;
	if (mknodat(level->hidden, name, S_IFCHR, makedev(0, 0)) < 0) {
		if (errno == EEXIST)
			return 0;
		return errno == EPERM ? work_hide_refuse(h, YETT_E_UNSUPPORTED,
		                                         "a whiteout takes Linux 5.8 or later",
		                                         "share what is to be seen, by itself")
		                      : work_hide_fail(h, "no whiteout can be made for it");
	}
	lines_write_text(h->reported, "hidden", h->path);
	if (++h->count > HIDDEN_MAX || ftell(h->reported) > TEXT_MAX)
		return work_hide_refuse(h, YETT_E_INVALID_REQUEST,
		                        "it would be more than 10000 names, or than 1 MiB of them",
		                        "hide directories as a whole, by their names");
	return 0;
}

/*
 * Closes a level. Sets the mode of the source directory only now, because the mode may forbid
 * writing, and the times after the last change.
 */
static int end_level(struct level *level, int r)
{
	const struct timespec times[] = {level->st.st_atim, level->st.st_mtim};

	if (level->hidden >= 0) {
		(void)!fchmod(level->hidden, level->st.st_mode & 0777);
		(void)futimens(level->hidden, times);
		level->hidden = fd_close(level->hidden);
	}
	level->source = fd_close(level->source);
	return r;
}

/* Opens a directory of the source as a level. Returns 0, -ENOENT or another -errno. */
static int begin_level(struct hiding *h, struct level *above, const char *name, struct level *level)
{
	int fd = openat(above->source, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*level = (struct level){.above = above,
	                        .name = name,
	                        .source = fd,
	                        .hidden = -1,
	                        .depth = above->depth + 1};
	level->path_length = strlen(h->path) + 1;
	if (fstat(fd, &level->st) == 0 && level->path_length < sizeof h->path) {
		(void)strcat(h->path, "/");
		return 0;
	}
	level->source = fd_close(fd);
	return -ENAMETOOLONG;
}

/* Hides a literal path. If a directory on the path does not exist, hides that directory. */
static int hide_path(struct hiding *h, struct level *level, const char *path)
{
	size_t length = strcspn(path, "/");
	char name[NAME_MAX + 1];
	struct level below;
	int r;

	(void)snprintf(name, sizeof name, "%.*s", (int)length, path);
	if (!set_path(h, level, name) || level->depth == DEPTH_MAX)
		return work_hide_refuse(h, YETT_E_INVALID_REQUEST, "it is too deep",
		                        "hide a directory above it");
	if (!path[length])
		return work_hide_put_whiteout(h, level, name);
	r = begin_level(h, level, name, &below);
	if (r == -ENOENT)
		return work_hide_put_whiteout(h, level, name);
	if (r == -ENOTDIR || r == -ELOOP)
		return work_hide_refuse(
			h, YETT_E_INVALID_REQUEST,
			"it is no directory, or a symbolic link, which is not followed",
			"hide what it leads to");
	if (r < 0)
		return errno = -r, work_hide_fail(h, "it cannot be opened");
	return end_level(&below, hide_path(h, &below, path + length + 1));
}

static int walk(struct hiding *h, struct level *level);

static int walk_below(struct hiding *h, struct level *level, const char *name)
{
	struct level below;
	struct stat st;
	int r = begin_level(h, level, name, &below);

	if (r == -EACCES && fstatat(level->source, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_uid != geteuid())
		return 0; /* the sandbox cannot read it either */
	if (r == -EACCES)
		return work_hide_refuse(h, YETT_E_INVALID_REQUEST,
		                        "its names cannot be read here, but a command could do so",
		                        "chmod u+rx it");
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return 0; /* removed or replaced meanwhile */
	if (r < 0)
		return errno = -r, work_hide_fail(h, "it cannot be opened");
	return end_level(&below, walk(h, &below));
}

static int work_hide_look_at(struct hiding *h, struct level *level, const struct dirent *entry)
{
	struct stat st = {0};
	int r;

	if (!set_path(h, level, entry->d_name) || level->depth == DEPTH_MAX)
		return work_hide_refuse(h, YETT_E_INVALID_REQUEST,
		                        "there are more than 128 directories above it",
		                        "hide by path: ./PATH");
	if (++h->entries > ENTRIES_MAX)
		return work_hide_refuse(
			h, YETT_E_INVALID_REQUEST,
			"there are more than 2 million files and directories to look at",
			"hide by path, without * and the like: ./PATH");
	if (work_globs_match(&h->hide, h->path) && !work_globs_match(&h->show, h->path))
		return work_hide_put_whiteout(h, level, entry->d_name);
	if (entry->d_type == DT_UNKNOWN &&
	    fstatat(level->source, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	r = entry->d_type == DT_DIR || S_ISDIR(st.st_mode) ? walk_below(h, level, entry->d_name)
	                                                   : 0;
	return r;
}

static int walk(struct hiding *h, struct level *level)
{
	DIR *opened = fd_entries(level->source);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = 0;

	if (!opened)
		return work_hide_fail(h, "what is in it cannot be listed");
	do {
		if (entries_next(entries, &entry) < 0)
			return work_hide_fail(h, "what is in it cannot be listed");
		if (entry)
			r = work_hide_look_at(h, level, entry);
	} while (r == 0 && entry);
	return r;
}

/*
 * Hides the existing names that match, then the literal patterns, which need not exist. In this
 * order, and with the sorted patterns, a directory comes before its entries: nothing is hidden in a
 * directory that is hidden as a whole later.
 */
static int hide_all(struct hiding *h, struct level *top)
{
	bool is_searched = false;
	int r = 0;

	for (size_t i = 0; i < h->hide.count; i++)
		is_searched =
			is_searched || h->hide.globs[i].is_name || !h->hide.globs[i].is_literal;
	if (is_searched)
		r = walk(h, top);
	for (size_t i = 0; r == 0 && i < h->hide.count; i++)
		if (h->hide.globs[i].is_literal &&
		    !work_globs_match(&h->show, h->hide.globs[i].text))
			r = hide_path(h, top, h->hide.globs[i].text);
	return r;
}

/* Makes the layer, and begins the lines for "info". */
static int begin_layer(struct hiding *h, struct work *work, struct level *top)
{
	int r;

	if (top->source < 0 || fstat(top->source, &top->st) < 0)
		return work_hide_fail(h, "it cannot be opened");
	r = work_make_like(work->store, "hidden", &top->st);
	if (r == 0)
		r = top->hidden = work_open_own(work->store, "hidden", O_RDONLY | O_DIRECTORY);
	if (r < 0)
		return errno = -r, work_hide_fail(h, "no layer can be made for it");
	h->reported = open_memstream(&work->hidden, &h->length);
	return h->reported ? 0
	                   : error_set(h->error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                               "no memory for what is to be hidden");
}

int work_hide(struct work *work, int source, const char *name, const char *const *hide,
              const char *const *show, struct yett_error *error)
{
	struct hiding h = {.name = name, .error = error};
	struct level top = {.source = openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	                    .hidden = -1};
	int r = work_globs_read("--hide", hide, &h.hide, error);

	if (r == 0)
		r = work_globs_read("--no-hide", show, &h.show, error);
	if (r == 0)
		r = begin_layer(&h, work, &top);
	if (r == 0)
		r = hide_all(&h, &top);
	if (h.reported && fclose(h.reported) != 0 && r == 0)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		              "no memory for what is to be hidden");
	work_globs_free(&h.hide);
	work_globs_free(&h.show);
	return end_level(&top, r);
}
