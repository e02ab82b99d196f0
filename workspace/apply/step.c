/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See apply.h. Each step has a place in the stage, named by the step's number. Before the step that
 * place has the new file, afterwards the old one, or nothing if there was no old file. Any other
 * file there had been put into the source meanwhile, and an interrupted step took it out: the file
 * is moved back into the source.
 */
#include "workspace/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Where a step works: the parent directory and name of its path, and its name in the stage. */
struct place {
	int above;
	const char *name;
	char staged[24];
};

static void place_close(struct place *place)
{
	place->above = fd_close(place->above);
}

static void place_name(struct place *place, size_t i)
{
	(void)snprintf(place->staged, sizeof place->staged, "%zu", i);
}

static int place_open(const struct apply *apply, const char *path, struct place *place)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];

	(void)snprintf(above, sizeof above, "%.*s", (int)(slash ? slash - path : 0), path);
	place->name = slash ? slash + 1 : path;
	place->above = read_open(apply->source, above, O_PATH | O_DIRECTORY);
	if (place->above == -ENOENT || place->above == -ENOTDIR || place->above == -ELOOP)
		return -ESTALE;
	return place->above < 0 ? place->above : 0;
}

static bool is_staged(const struct apply *apply, const struct place *place,
                      const struct ident *wanted)
{
	struct ident now;

	return look_at(apply->stage, place->staged, &now) == 0 && plan_is_same(&now, wanted);
}

static bool is_there(const struct place *place, const struct ident *wanted)
{
	struct ident now;

	return look_at(place->above, place->name, &now) == 0 && plan_is_same(&now, wanted);
}

static bool is_inode(const struct place *place, uint64_t inode)
{
	struct ident now;

	return look_at(place->above, place->name, &now) == 0 && now.mode && now.inode == inode;
}

static int step_put(const struct apply *apply, const struct place *place)
{
	return renameat2(apply->stage, place->staged, place->above, place->name,
	                 RENAME_NOREPLACE) == 0
	               ? 0
	       : errno == EEXIST || errno == ENOENT ? -ESTALE
	                                            : -errno;
}

static int step_take(const struct apply *apply, const struct place *place)
{
	return renameat2(place->above, place->name, apply->stage, place->staged,
	                 RENAME_NOREPLACE) == 0
	               ? 0
	       : errno == ENOENT ? -ESTALE
	       : errno == EEXIST ? -EBADMSG
	                         : -errno;
}

static int step_exchange(const struct apply *apply, const struct place *place)
{
	return renameat2(apply->stage, place->staged, place->above, place->name, RENAME_EXCHANGE) ==
	                       0
	               ? 0
	       : errno == ENOENT ? -ESTALE
	                         : -errno;
}

/*
 * Puts back an unexpected file that came out of the source: in exchange for `given`, if that is
 * still there, or to its free name. If others have made a file there meanwhile, that file stays,
 * and the unexpected one waits in the stage. Returns -ESTALE, or another -errno.
 */
static int step_give_back(const struct apply *apply, const struct place *place,
                          const struct ident *given)
{
	int r = given->mode && is_there(place, given) ? step_exchange(apply, place)
	                                              : step_put(apply, place);

	return r < 0 ? r : -ESTALE;
}

/*
 * Moves a file from the source to the stage, in exchange for the staged file or for none, and
 * checks it there. -ESTALE: the file was not the expected one.
 */
static int bring_out(const struct apply *apply, const struct place *place,
                     const struct ident *expected, bool is_exchanged)
{
	struct ident given = {0};
	int r = is_exchanged ? look_at(apply->stage, place->staged, &given) : 0;

	if (r == 0)
		r = is_exchanged ? step_exchange(apply, place) : step_take(apply, place);
	if (r < 0)
		return r;
	if (is_staged(apply, place, expected) &&
	    stage_is_empty_if_directory(apply, place->staged, expected->mode))
		return 0;
	return step_give_back(apply, place, &given);
}

/*
 * Changes the mode of a file or directory through a descriptor, because its name may have become a
 * link. -ESTALE: the file or its mode is not the one in `from`, so that no bit is changed unseen.
 */
static int change_mode(const struct place *place, const struct ident *from, uint32_t mode)
{
	_cleanup_fd_ int fd = read_open(place->above, place->name, O_PATH);
	char path[32];
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT || fd == -ELOOP ? -ESTALE : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != from->inode || (st.st_mode & S_IFMT) != (from->mode & S_IFMT))
		return -ESTALE;
	if ((st.st_mode & 07777) == (mode & 07777))
		return 0;
	if (st.st_mode != from->mode)
		return -ESTALE;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return fchmodat(AT_FDCWD, path, mode & 07777, 0) < 0 ? -errno : 0;
}

/* The kind of file that the stage has for a step. */
enum found { FOUND_NOTHING, FOUND_NEW, FOUND_OTHER };

static int step_find(const struct apply *apply, const struct step *step, const struct place *place,
                     enum found *ret_found)
{
	struct ident now;
	int r = look_at(apply->stage, place->staged, &now);

	if (r < 0)
		return r;
	*ret_found = !now.mode                                       ? FOUND_NOTHING
	             : step->new.mode &&now.inode == step->new.inode ? FOUND_NEW
	                                                             : FOUND_OTHER;
	/* A journal that somebody else wrote could name any file. */
	return *ret_found == FOUND_NEW && !plan_is_same(&now, &step->new) ? -EBADMSG : 0;
}

/*
 * Whether the staged file is the one that this step was to take out, now or before an interruption.
 */
static bool is_taken(const struct apply *apply, const struct step *step, const struct place *place)
{
	return is_staged(apply, place, &step->old) &&
	       stage_is_empty_if_directory(apply, place->staged, step->old.mode);
}

static int do_found(const struct apply *apply, const struct step *step, const struct place *place,
                    enum found found)
{
	enum found before = step->kind == STEP_REMOVE ? FOUND_NOTHING : FOUND_NEW;

	if (step->kind == STEP_ADD)
		return step_put(apply, place);
	if (found != before)
		return step_give_back(apply, place, &step->new);
	return is_there(place, &step->old)
	               ? bring_out(apply, place, &step->old, step->kind == STEP_REPLACE)
	               : -ESTALE;
}

static int undo_found(const struct apply *apply, const struct step *step, const struct place *place)
{
	int r;

	if (step->kind == STEP_REMOVE)
		return step_put(apply, place);
	r = bring_out(apply, place, &step->new, step->kind == STEP_REPLACE);
	/* If others have removed the added file, nothing is left to undo. */
	return r == -ESTALE && step->kind == STEP_ADD && is_there(place, &(struct ident){0}) ? 0
	                                                                                     : r;
}

/*
 * Returns 1 if the stage shows that nothing is left to do, whatever the path resolves to by now; 0
 * if there is work; -EBADMSG if the stage does not match the step.
 */
static int is_at_rest(const struct apply *apply, const struct step *step, const struct place *place,
                      enum found found, bool undo)
{
	if (step->kind == STEP_ADD && found == FOUND_OTHER)
		return -EBADMSG;
	if (step->kind == STEP_REPLACE && found == FOUND_NOTHING)
		return -EBADMSG;
	if (step->kind == STEP_ADD)
		return (found == FOUND_NEW) == undo;
	if (undo)
		return found == (step->kind == STEP_REMOVE ? FOUND_NOTHING : FOUND_NEW);
	return found == FOUND_OTHER && is_taken(apply, step, place);
}

static int step_take_step(struct apply *apply, size_t i, bool undo)
{
	const struct step *step = &apply->steps[i];
	_cleanup_(place_close) struct place place = {.above = -1};
	enum found found = FOUND_NOTHING;
	int r = 0;

	place_name(&place, i);
	if (step->kind != STEP_MODE) {
		r = step_find(apply, step, &place, &found);
		r = r < 0 ? r : is_at_rest(apply, step, &place, found, undo);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	r = place_open(apply, step->path, &place);
	if (step->kind != STEP_MODE)
		return r < 0  ? r
		       : undo ? undo_found(apply, step, &place)
		              : do_found(apply, step, &place, found);
	if (!undo)
		return r < 0 ? r : change_mode(&place, &step->old, step->new.mode);
	/* The file was replaced or removed: there is no mode to restore. */
	if (r == -ESTALE || (r == 0 && !is_inode(&place, step->old.inode)))
		return 0;
	return r < 0 ? r : change_mode(&place, &step->new, step->old.mode);
}

int step_do(struct apply *apply, size_t i)
{
	return step_take_step(apply, i, false);
}

int step_undo(struct apply *apply, size_t i)
{
	return step_take_step(apply, i, true);
}
