/*
 * See apply.h. What is in the stage under a step's number tells whether it has been done: the new
 * file, or the old one, or nothing. What is found there that is neither was taken out of the source
 * by a step that ended half-way, and goes back.
 */
#include "programs/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Where a step works: its path's directory and name, and its name in the stage. */
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

static int put(const struct apply *apply, const struct place *place)
{
	return renameat2(apply->stage, place->staged, place->above, place->name,
	                 RENAME_NOREPLACE) == 0
	               ? 0
	       : errno == EEXIST || errno == ENOENT ? -ESTALE
	                                            : -errno;
}

static int take(const struct apply *apply, const struct place *place)
{
	return renameat2(place->above, place->name, apply->stage, place->staged,
	                 RENAME_NOREPLACE) == 0
	               ? 0
	       : errno == ENOENT ? -ESTALE
	       : errno == EEXIST ? -EBADMSG
	                         : -errno;
}

static int exchange(const struct apply *apply, const struct place *place)
{
	return renameat2(apply->stage, place->staged, place->above, place->name, RENAME_EXCHANGE) ==
	                       0
	               ? 0
	       : errno == ENOENT ? -ESTALE
	                         : -errno;
}

/*
 * Gives back what came out and was not expected: in exchange for what was `given` for it, or for
 * nothing where its name is free. Where others have something there by now, that stays, and this
 * waits in the stage.
 */
static int give_back(const struct apply *apply, const struct place *place,
                     const struct ident *given)
{
	int r = given->mode && is_there(place, given) ? exchange(apply, place) : put(apply, place);

	return r < 0 ? r : -ESTALE;
}

/* From the source into the stage, in exchange for what is there or for nothing; and looks at what
 * came. */
static int bring_out(const struct apply *apply, const struct place *place,
                     const struct ident *expected, bool is_exchanged)
{
	struct ident given = {0};
	int r = is_exchanged ? look_at(apply->stage, place->staged, &given) : 0;

	if (r == 0)
		r = is_exchanged ? exchange(apply, place) : take(apply, place);
	if (r < 0)
		return r;
	if (is_staged(apply, place, expected) &&
	    stage_is_empty_if_directory(apply, place->staged, expected->mode))
		return 0;
	return give_back(apply, place, &given);
}

/* Of a file or directory, by its descriptor: a name may have become a link. It never gets a bit
 * that step.c's callers did not see. */
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

/* What the stage has for a step. */
enum found { FOUND_NOTHING, FOUND_NEW, FOUND_OTHER };

static int find(const struct apply *apply, const struct step *step, const struct place *place,
                enum found *ret_found)
{
	struct ident now;
	int r = look_at(apply->stage, place->staged, &now);

	if (r < 0)
		return r;
	*ret_found = !now.mode                                       ? FOUND_NOTHING
	             : step->new.mode &&now.inode == step->new.inode ? FOUND_NEW
	                                                             : FOUND_OTHER;
	/* a journal that somebody else has written could name anything */
	return *ret_found == FOUND_NEW && !plan_is_same(&now, &step->new) ? -EBADMSG : 0;
}

/* Whether what the stage has is what this step was to take out, be it now or when it ended
 * half-way. */
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
		return put(apply, place);
	if (found != before)
		return give_back(apply, place, &step->new);
	return is_there(place, &step->old)
	               ? bring_out(apply, place, &step->old, step->kind == STEP_REPLACE)
	               : -ESTALE;
}

static int undo_found(const struct apply *apply, const struct step *step, const struct place *place)
{
	int r;

	if (step->kind == STEP_REMOVE)
		return put(apply, place);
	r = bring_out(apply, place, &step->new, step->kind == STEP_REPLACE);
	/* that others have removed what was added comes to the same */
	return r == -ESTALE && step->kind == STEP_ADD && is_there(place, &(struct ident){0}) ? 0
	                                                                                     : r;
}

/* 1: there is nothing to do, by what the stage has, wherever the path leads by now; -EBADMSG: that
 * does not fit to the step. */
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

static int take_step(struct apply *apply, size_t i, bool undo)
{
	const struct step *step = &apply->steps[i];
	_cleanup_(place_close) struct place place = {.above = -1};
	enum found found = FOUND_NOTHING;
	int r = 0;

	place_name(&place, i);
	if (step->kind != STEP_MODE) {
		r = find(apply, step, &place, &found);
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
	/* of a file that is another by now, or not there, no mode is to be restored */
	if (r == -ESTALE || (r == 0 && !is_inode(&place, step->old.inode)))
		return 0;
	return r < 0 ? r : change_mode(&place, &step->new, step->old.mode);
}

int step_do(struct apply *apply, size_t i)
{
	return take_step(apply, i, false);
}

int step_undo(struct apply *apply, size_t i)
{
	return take_step(apply, i, true);
}
