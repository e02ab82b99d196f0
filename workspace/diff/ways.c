/* SPDX-License-Identifier: Apache-2.0 */
/* See ways.h. */
#include "workspace/diff/ways.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "workspace/diff/protect.h"

/*
 * Returns the offset where the name begins that is `names` names before the name that contains
 * offset `at`.
 */
static size_t ways_go_back(const char *path, size_t at, unsigned names)
{
	while (at > 0 && path[at - 1] != '/')
		at--;
	while (names-- > 0 && at > 0)
		for (at--; at > 0 && path[at - 1] != '/';)
			at--;
	return at;
}

void ways_begin(struct ways *ways, const struct diff *diff)
{
	*ways = (struct ways){.diff = diff, .names_before = protect_names_before()};
}

/*
 * Keeps the facts about common directories. The last `names_before` clean names are compared again,
 * because an entry may consist of them and of the names that follow.
 */
void ways_turn_to(struct ways *ways, const char *path)
{
	size_t same = 0;

	while (path[same] && path[same] == ways->path[same])
		same++;
	memset(ways->known + same + 1, 0, sizeof ways->known - same - 1);
	(void)snprintf(ways->path, sizeof ways->path, "%s", path);
	ways->clean =
		ways_go_back(path, ways->clean < same ? ways->clean : same, ways->names_before);
}

/*
 * Whether the source or a layer has the name. A device in a layer marks a deletion. True if memory
 * is short, to be safe.
 */
static bool has_name(const struct diff *diff, const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	bool has = asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0;

	for (size_t i = 0; !has && i <= diff->layer_count; i++) {
		_cleanup_fd_ int fd = read_open(
			i < diff->layer_count ? diff->layers[i] : diff->source, path, O_PATH);
		struct stat st;

		has = fd >= 0 && fstat(fd, &st) == 0 &&
		      !(i < diff->layer_count && S_ISCHR(st.st_mode));
	}
	return has;
}

/*
 * Whether the directory has what makes git take it for a repository: HEAD, and either objects and
 * refs, or commondir, which says where they are. git-rev-parse(1), gitrepository-layout(5)
 */
static bool is_repository(void *context, const char *directory)
{
	struct ways *ways = context;
	uint8_t *known = &ways->known[strlen(directory)];

	if (!(*known & WAY_LOOKED_REPOSITORY) && has_name(ways->diff, directory, "HEAD") &&
	    ((has_name(ways->diff, directory, "objects") &&
	      has_name(ways->diff, directory, "refs")) ||
	     has_name(ways->diff, directory, "commondir")))
		*known |= WAY_REPOSITORY;
	*known |= WAY_LOOKED_REPOSITORY;
	return *known & WAY_REPOSITORY;
}

/*
 * Whether no wanted path is the first `length` bytes of `path`, which name a .git, or is below
 * them.
 */
static bool ways_is_unnamed(const struct diff *diff, const char *path, size_t length)
{
	for (size_t i = 0; i < diff->wanted_count; i++)
		if (strncmp(diff->wanted[i], path, length) == 0 &&
		    (!diff->wanted[i][length] || diff->wanted[i][length] == '/'))
			return false;
	return true;
}

struct guard ways_guard(struct ways *ways, uint32_t was, uint32_t is)
{
	bool is_directory = (!was || S_ISDIR(was)) && (!is || S_ISDIR(is));
	struct guard guard = {
		.why = protect(ways->path, is_directory, &ways->clean, is_repository, ways)};
	size_t git = guard.why ? protect_find_git(ways->path) : 0;

	if (git) {
		guard = (struct guard){PROTECT_WHY_GIT, git,
		                       ways_is_unnamed(ways->diff, ways->path, git)};
	} else if (guard.why) {
		/* A listed entry may consist of several names: report the whole path. */
		bool is_whole = strcmp(guard.why, PROTECT_WHY_LISTED) == 0;

		guard.length = ways->clean + strcspn(ways->path + ways->clean, is_whole ? "" : "/");
	}
	return guard;
}

void ways_report_guard(FILE *to, const char *path, const struct guard *guard)
{
	quote_short(to, path, guard->length);
	(void)fprintf(to, ": is protected (%s)", guard->why);
}

bool ways_is_same_guard(const char *path, const struct guard *guard, const char *other_path,
                        const struct guard *other)
{
	return other->why && guard->length == other->length &&
	       strncmp(path, other_path, guard->length) == 0;
}

/* Counts every .git, and notes the first DIFF_NOTES_MAX of them. */
static void note_gits_own(const struct diff *diff, const struct change *change, size_t *count)
{
	if ((*count)++ >= DIFF_NOTES_MAX)
		return;
	ways_report_guard(diff->notes, change->path, &change->guard);
	(void)fputs(
		", and git's own files there are not shown: fetch commits with yett git fetch, or name it\n",
		diff->notes);
}

void ways_guard_changes(struct diff *diff, bool stays)
{
	static struct ways ways;
	/* The last change that was dropped: a copy, because its place in the array is reused. */
	struct change last = {.path = NULL};
	size_t kept = 0, reported = 0;

	ways_begin(&ways, diff);
	for (size_t i = 0; i < diff->count; i++) {
		struct change *change = &diff->changes[i];

		ways_turn_to(&ways, change->path);
		change->guard = ways_guard(&ways, change->old.mode, change->new.mode);
		if (stays || !change->guard.is_gits_own) {
			diff->changes[kept++] = *change;
			continue;
		}
		if (!last.path ||
		    !ways_is_same_guard(change->path, &change->guard, last.path, &last.guard))
			note_gits_own(diff, change, &reported);
		last = *change;
	}
	diff->count = kept;
	if (reported > DIFF_NOTES_MAX)
		(void)fprintf(diff->notes, "and git's own files in %zu more places\n",
		              reported - DIFF_NOTES_MAX);
}
