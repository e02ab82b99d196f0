/*
 * See diff.h. Directories wait in a list, not on the stack, and are opened by their path from the top: so a tree may be as deep as a path
 * can be long.
 */
#include "programs/diff/diff.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>

#define NOTE_PATH_MAX 150 /* four times as long where it is quoted */

/* A directory that is to be walked; hidden: nothing of the source's shows there. */
struct place {
	char *path;
	bool in_upper, in_source, hidden;
};

struct walk {
	struct diff *diff;
	struct place *places;
	size_t count, room;
	const struct place *at; /* the directory that is being walked */
	int upper, source;      /* it; -1: none */
	bool may_be_file;       /* whiteouts may be files there */
};

void note(struct diff *diff, const char *path, const char *why)
{
	char shown[NOTE_PATH_MAX + sizeof "..."];

	if (diff->note_count++ >= DIFF_NOTES_MAX)
		return;
	(void)snprintf(shown, sizeof shown, "%.*s%s", NOTE_PATH_MAX, *path ? path : ".", strlen(path) > NOTE_PATH_MAX ? "..." : "");
	quote_path(diff->notes, "", shown);
	(void)fprintf(diff->notes, ": %s\n", why);
}

static int count_path(struct diff *diff, const char *path)
{
	diff->path_bytes += strlen(path) + 1;
	return diff->path_bytes > DIFF_PATHS_MAX ? -E2BIG : 0;
}

static int add_change(struct diff *diff, const char *path, const struct change *change)
{
	int r = diff->count >= DIFF_CHANGES_MAX ? -E2BIG : count_path(diff, path);

	if (r < 0 || !decide_is_wanted(diff, path, false))
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

static int add_place(struct walk *walk, const char *path, const struct place *place)
{
	int r = walk->count >= DIFF_CHANGES_MAX ? -E2BIG : count_path(walk->diff, path);

	if (r < 0 || !decide_is_wanted(walk->diff, path, true))
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

/* In a directory that says so: an empty file with an attribute. overlayfs.rst, "whiteouts" */
static bool is_file_whiteout(const struct walk *walk, const char *name, const struct stat *st)
{
	_cleanup_fd_ int fd = -1;

	if (!walk->may_be_file || !S_ISREG(st->st_mode) || st->st_size != 0)
		return false;
	fd = read_open(walk->upper, name, O_RDONLY);
	return fd >= 0 && fgetxattr(fd, "user.overlay.whiteout", NULL, 0) >= 0;
}

static int look(struct walk *walk, int directory, const char *name, const char *path, struct stat *ret_st)
{
	*ret_st = (struct stat){0};
	if (directory < 0 || fstatat(directory, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT)
		return 0;
	note(walk->diff, path, strerror(errno));
	return -EAGAIN;
}

static int add_compared(struct walk *walk, const char *path, struct change *change)
{
	bool is_text = S_ISREG(change->new.mode) || S_ISLNK(change->new.mode);
	_cleanup_free_ char *old = NULL, *new = NULL;
	size_t old_size = 0, new_size = 0;

	change->same_content = !is_text;
	if (!decide_is_wanted(walk->diff, path, false))
		return 0;
	if (S_ISREG(change->new.mode) && change->old.size == change->new.size)
		change->same_content = read_is_same(walk->diff, path, change->new.size);
	if (S_ISLNK(change->new.mode) && read_content(walk->diff->source, path, &change->old, &old, &old_size) == 0 &&
	    read_content(walk->diff->upper, path, &change->new, &new, &new_size) == 0)
		change->same_content = old_size == new_size && memcmp(old, new, new_size) == 0;
	return change->same_content && change->old.mode == change->new.mode ? 0 : add_change(walk->diff, path, change);
}

static int examine(struct walk *walk, const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct stat old, new;
	struct change change, one;
	unsigned todo;
	int r = asprintf(&path, "%s%s%s", walk->at->path, *walk->at->path ? "/" : "", name) < 0 ? -ENOMEM : 0;

	if (r == 0 && strlen(path) >= PATH_MAX) {
		note(walk->diff, walk->at->path, "is deeper than a path can be long; what is in it is not shown");
		return 0;
	}
	if (r < 0 || !decide_is_wanted(walk->diff, path, true))
		return r;
	if (look(walk, walk->source, name, path, &old) < 0 || look(walk, walk->upper, name, path, &new) < 0)
		return 0;
	change = (struct change){.old = {old.st_mode, (uint64_t)old.st_size}, .new = {new.st_mode, (uint64_t) new.st_size}};
	todo = decide(old.st_mode, new.st_mode, decide_is_whiteout(&new) || is_file_whiteout(walk, name, &new));
	one = (struct change){.old = change.old};
	if (todo & DECIDE_DELETED)
		r = add_change(walk->diff, path, &one);
	one = (struct change){.new = change.new};
	if (r == 0 && (todo & DECIDE_ADDED))
		r = add_change(walk->diff, path, &one);
	if (r == 0 && (todo & DECIDE_COMPARE))
		r = add_compared(walk, path, &change);
	if (r == 0 && (todo & DECIDE_WALK_SOURCE))
		r = add_place(walk, path, &(struct place){.in_source = true, .hidden = true});
	if (r == 0 && (todo & DECIDE_WALK_UPPER))
		r = add_place(walk, path, &(struct place){.in_upper = true});
	if (r == 0 && (todo & DECIDE_WALK_BOTH))
		r = add_place(walk, path, &(struct place){.in_upper = true, .in_source = true, .hidden = walk->at->hidden});
	return r;
}

/* All names of `directory`, but those that `not_in` has as well (-1: none). */
static int examine_all(struct walk *walk, int directory, int not_in)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(directory);
	const struct dirent *entry;
	struct stat st;
	int r = entries ? 0 : -errno;

	while (r == 0 && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    (not_in < 0 || fstatat(not_in, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0))
			r = examine(walk, entry->d_name);
	return r;
}

static int walk_place(struct walk *walk, struct place *place)
{
	_cleanup_fd_ int upper = place->in_upper ? read_open(walk->diff->upper, place->path, O_RDONLY | O_DIRECTORY) : -1;
	_cleanup_fd_ int source = place->in_source ? read_open(walk->diff->source, place->path, O_RDONLY | O_DIRECTORY) : -1;
	char opaque = '\0';
	int r = 0;

	if ((place->in_upper && upper < 0) || (place->in_source && source < 0)) {
		note(walk->diff, place->path, strerror(place->in_upper && upper < 0 ? -upper : -source));
		return 0;
	}
	if (upper >= 0 && fgetxattr(upper, "user.overlay.opaque", &opaque, 1) != 1)
		opaque = '\0';
	place->hidden = place->hidden || opaque == 'y';
	walk->may_be_file = opaque == 'x';
	walk->at = place;
	walk->upper = upper;
	walk->source = source;
	if (upper >= 0)
		r = examine_all(walk, upper, -1);
	if (r == 0 && source >= 0 && place->hidden)
		r = examine_all(walk, source, upper);
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->new.mode != 0) - (y->new.mode != 0); /* what went, then what came */
}

int walk(struct diff *diff)
{
	struct walk walk = {.diff = diff, .upper = -1, .source = -1};
	int r = add_place(&walk, "", &(struct place){.in_upper = true, .in_source = true});

	while (r == 0 && walk.count > 0) {
		struct place place = walk.places[--walk.count];

		r = walk_place(&walk, &place);
		free(place.path);
	}
	while (walk.count > 0)
		free(walk.places[--walk.count].path);
	free(walk.places);
	if (r == 0 && diff->count)
		qsort(diff->changes, diff->count, sizeof *diff->changes, by_path);
	return r;
}
