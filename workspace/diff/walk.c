/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See diff.h. Directories wait in a list, not on the stack, and are opened by their path from the
 * top. So a tree can be as deep as a path can be long.
 */
#include "workspace/diff/diff.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/entries.h"

/*
 * A directory to walk. Only the first `layers` layers can show there: a mark in the last of them
 * hides those below. overlayfs.rst, "whiteouts and opaque directories"
 */
struct place {
	char *path;
	size_t layers;
	bool in_source;
	bool covered; /* nothing of the source shows there */
	bool hidden;  /* nor did it before the first change */
};

struct walk {
	struct diff *diff;
	struct place *places;
	size_t count, room;
	const struct place *at;            /* the directory that is being walked */
	int layers[DIFF_LAYERS_MAX];       /* the directory in each layer; -1: none */
	bool may_be_file[DIFF_LAYERS_MAX]; /* the layer's directory may have file whiteouts */
	int source;                        /* the directory in the source; -1: none */
};

void note(struct diff *diff, const char *path, const char *why)
{
	if (diff->note_count++ >= DIFF_NOTES_MAX)
		return;
	quote_short(diff->notes, *path ? path : ".", *path ? strlen(path) : 1);
	(void)fprintf(diff->notes, ": %s\n", why);
}

static int count_path(struct diff *diff, const char *path)
{
	diff->path_bytes += strlen(path) + 1;
	return diff->path_bytes > DIFF_PATHS_MAX ? -E2BIG : 0;
}

static int add_change(struct diff *diff, const char *path, const struct change *change)
{
	int r;

	if (!decide_is_wanted(diff, path, false))
		return 0; /* does not count, so that naming paths avoids -E2BIG */
	r = diff->count >= DIFF_CHANGES_MAX ? -E2BIG : count_path(diff, path);
	if (r < 0)
		return r;
	if (diff->count == diff->room) {
		size_t room = diff->room ? diff->room * 2 : 64;
		struct change *more = reallocarray(diff->changes, room, sizeof *more);

		if (!more)
			return -ENOMEM;
		diff->changes = more;
		diff->room = room;
	}
	diff->changes[diff->count] = *change;
	diff->changes[diff->count].path = strdup(path);
	return diff->changes[diff->count++].path ? 0 : -ENOMEM;
}

static int walk_add_place(struct walk *walk, const char *path, const struct place *place)
{
	int r;

	if (!decide_is_wanted(walk->diff, path, true))
		return 0;
	r = walk->count >= DIFF_CHANGES_MAX ? -E2BIG : count_path(walk->diff, path);
	if (r < 0)
		return r;
	if (walk->count == walk->room) {
		size_t room = walk->room ? walk->room * 2 : 64;
		struct place *more = reallocarray(walk->places, room, sizeof *more);

		if (!more)
			return -ENOMEM;
		walk->places = more;
		walk->room = room;
	}
	walk->places[walk->count] = *place;
	walk->places[walk->count].path = strdup(path);
	return walk->places[walk->count++].path ? 0 : -ENOMEM;
}

/*
 * Whether the name is a whiteout in the form of an empty file with an attribute, in a directory
 * that is marked to have such. overlayfs.rst, "whiteouts"
 */
static bool is_file_whiteout(const struct walk *walk, size_t layer, const char *name,
                             const struct stat *st)
{
	_cleanup_fd_ int fd = -1;

	if (!walk->may_be_file[layer] || !S_ISREG(st->st_mode) || st->st_size != 0)
		return false;
	fd = read_open(walk->layers[layer], name, O_RDONLY);
	return fd >= 0 && fgetxattr(fd, "user.overlay.whiteout", NULL, 0) >= 0;
}

/* Returns 1 if the name exists, 0 if not. -EAGAIN: unknown, and a note says so. */
static int walk_look(struct walk *walk, int directory, const char *name, const char *path,
                     struct stat *ret_st)
{
	*ret_st = (struct stat){0};
	if (directory < 0)
		return 0;
	if (fstatat(directory, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	if (errno == ENOENT)
		return 0;
	note(walk->diff, path, strerror(errno));
	return -EAGAIN;
}

/*
 * Finds the topmost layer that has the name. *ret_layer is the number of the place's layers if none
 * has it. Returns 0, or -EAGAIN as walk_look() does.
 */
static int look_in_layers(struct walk *walk, const char *name, const char *path,
                          struct stat *ret_st, size_t *ret_layer)
{
	int r = 0;

	*ret_st = (struct stat){0};
	for (*ret_layer = 0; r == 0 && *ret_layer < walk->at->layers; *ret_layer += r == 0)
		r = walk_look(walk, walk->layers[*ret_layer], name, path, ret_st);
	return r < 0 ? r : 0;
}

/* Whether the source's file was hidden from the sandbox from the beginning. */
static bool walk_is_hidden(const struct walk *walk, const char *path)
{
	_cleanup_fd_ int fd = -1;
	struct stat st;

	if (walk->at->hidden || walk->diff->hidden < 0)
		return walk->at->hidden;
	fd = read_open(walk->diff->hidden, path, O_PATH);
	return fd >= 0 && fstat(fd, &st) == 0 && decide_is_whiteout(&st);
}

static int add_compared(struct walk *walk, struct change *change)
{
	bool is_text = S_ISREG(change->new.mode) || S_ISLNK(change->new.mode);

	if (!decide_is_wanted(walk->diff, change->path, false))
		return 0;
	change->same_content = !is_text || (change->old.size ==
	                                    change->new.size &&read_is_same(walk->diff, change));
	return change->same_content && change->old.mode == change->new.mode
	               ? 0
	               : add_change(walk->diff, change->path, change);
}

/* Carries out what decide() says about a name of the directory that is being walked. */
static int walk_carry_out(struct walk *walk, unsigned todo, struct change *change)
{
	const char *path = change->path;
	const struct place *at = walk->at;
	bool hidden = at->hidden;
	struct change one = {.old = change->old};
	int r = 0;

	if (change->old.mode && todo != DECIDE_COMPARE)
		hidden = walk_is_hidden(walk, path);
	if (hidden && !(todo & (DECIDE_ADDED | DECIDE_COMPARE)))
		return 0; /* the sandbox never saw the file */
	if (todo & DECIDE_DELETED)
		r = add_change(walk->diff, path, &one);
	one = (struct change){.new = change->new, .layer = change->layer};
	if (r == 0 && (todo & DECIDE_ADDED))
		r = add_change(walk->diff, path, &one);
	if (r == 0 && (todo & DECIDE_COMPARE))
		r = add_compared(walk, change);
	if (r == 0 && (todo & DECIDE_WALK_SOURCE))
		r = walk_add_place(walk, path, &(struct place){.in_source = true, .covered = true});
	if (r == 0 && (todo & DECIDE_WALK_UPPER))
		r = walk_add_place(walk, path, &(struct place){.layers = at->layers});
	if (r == 0 && (todo & DECIDE_WALK_BOTH))
		r = walk_add_place(walk, path,
		                   &(struct place){.layers = at->layers,
		                                   .in_source = true,
		                                   .covered = at->covered || hidden,
		                                   .hidden = hidden});
	return r;
}

static int walk_examine(struct walk *walk, const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct stat old, new;
	struct change change;
	size_t layer;
	bool is_whiteout;
	int r = asprintf(&path, "%s%s%s", walk->at->path, *walk->at->path ? "/" : "", name) < 0
	                ? -ENOMEM
	                : 0;

	if (r == 0 && strlen(path) >= PATH_MAX) {
		note(walk->diff, walk->at->path,
		     "is deeper than a path can be long; what is in it is not shown");
		return 0;
	}
	if (r < 0 || !decide_is_wanted(walk->diff, path, true))
		return r;
	if (walk_look(walk, walk->source, name, path, &old) < 0 ||
	    look_in_layers(walk, name, path, &new, &layer) < 0)
		return 0;
	is_whiteout = decide_is_whiteout(&new) ||
	              (layer < walk->at->layers && is_file_whiteout(walk, layer, name, &new));
	change = (struct change){.path = path,
	                         .old = {old.st_mode, (uint64_t)old.st_size},
	                         .new = {new.st_mode, (uint64_t) new.st_size},
	                         .layer = layer};
	return walk_carry_out(walk, decide(old.st_mode, new.st_mode, is_whiteout), &change);
}

/* Whether one of the first `count` layers has the name there. */
static bool is_in_layers(const struct walk *walk, const char *name, size_t count)
{
	struct stat st;

	for (size_t i = 0; i < count; i++)
		if (walk->layers[i] >= 0 &&
		    fstatat(walk->layers[i], name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

/*
 * Examines all names of `directory`, except those that one of the first `above` layers has as well.
 */
static int examine_all(struct walk *walk, int directory, size_t above)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(directory);
	const struct dirent *entry;
	int r = entries ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry)
		if (!is_in_layers(walk, entry->d_name, above))
			r = walk_examine(walk, entry->d_name);
	return r;
}

/*
 * Reads the overlay's marks of a directory in a layer. The top directory hides nothing, whatever
 * its mark says.
 */
static bool is_opaque(struct walk *walk, const struct place *place, size_t layer)
{
	char mark = '\0';

	if (fgetxattr(walk->layers[layer], "user.overlay.opaque", &mark, 1) != 1)
		mark = '\0';
	walk->may_be_file[layer] = mark == 'x';
	return mark == 'y' && *place->path;
}

/*
 * Opens the directory in each layer, from the top down to the one that hides the layers below: it
 * has a mark, or it has something other than a directory there. Returns 0 or -errno.
 */
static int walk_open_layers(struct walk *walk, struct place *place)
{
	for (size_t i = 0; i < place->layers; i++) {
		int fd = read_open(walk->diff->layers[i], place->path, O_RDONLY | O_DIRECTORY);

		walk->layers[i] = fd < 0 ? -1 : fd;
		walk->may_be_file[i] = false;
		if (fd == -ENOENT || (fd >= 0 && !is_opaque(walk, place, i)))
			continue;
		if (fd < 0 && fd != -ENOTDIR && fd != -ELOOP) {
			place->layers = i;
			return fd;
		}
		place->layers = i + 1;
		place->covered = true;
	}
	return 0;
}

static int walk_place(struct walk *walk, struct place *place)
{
	_cleanup_fd_ int source = place->in_source ? read_open(walk->diff->source, place->path,
	                                                       O_RDONLY | O_DIRECTORY)
	                                           : -1;
	int r = place->in_source && source < 0 ? source : 0, opened = walk_open_layers(walk, place);

	walk->at = place;
	walk->source = source;
	if (r < 0 || opened < 0)
		note(walk->diff, place->path, strerror(r < 0 ? -r : -opened));
	for (size_t i = 0; r == 0 && opened == 0 && i < place->layers; i++)
		if (walk->layers[i] >= 0)
			r = examine_all(walk, walk->layers[i], i);
	if (r == 0 && opened == 0 && source >= 0 && place->covered)
		r = examine_all(walk, source, place->layers);
	for (size_t i = 0; i < place->layers; i++)
		fd_close(walk->layers[i]);
	return source < 0 && place->in_source ? 0 : r;
}

static int walk_by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->new.mode != 0) - (y->new.mode != 0); /* the removal first */
}

int walk(struct diff *diff)
{
	struct walk walk = {.diff = diff, .source = -1};
	int r = walk_add_place(&walk, "",
	                       &(struct place){.layers = diff->layer_count, .in_source = true});

	while (r == 0 && walk.count > 0) {
		struct place place = walk.places[--walk.count];

		r = walk_place(&walk, &place);
		free(place.path);
	}
	while (walk.count > 0)
		free(walk.places[--walk.count].path);
	free(walk.places);
	if (r == 0 && diff->count)
		qsort(diff->changes, diff->count, sizeof *diff->changes, walk_by_path);
	return r;
}
