/* SPDX-License-Identifier: Apache-2.0 */
/* See apply.h. A wanted path may lie in new directories that no path names. */
#include "workspace/apply/apply.h"

#include <limits.h>
#include <string.h>

static int above_by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->new.mode != 0) - (y->new.mode != 0);
}

static bool is_known(const struct diff *diff, const char *path)
{
	for (size_t i = 0; i < diff->count; i++)
		if (strcmp(diff->changes[i].path, path) == 0)
			return true;
	return false;
}

static int apply_above_add(struct diff *diff, const char *path, const struct ident *ident,
                           size_t layer)
{
	struct change *more = reallocarray(diff->changes, diff->count + 1, sizeof *more);

	if (!more)
		return -ENOMEM;
	diff->changes = more;
	diff->room = diff->count + 1;
	more[diff->count] = (struct change){
		.path = strdup(path), .new = {ident->mode, ident->size}, .layer = layer};
	return more[diff->count++].path ? 0 : -ENOMEM;
}

/* Adds the directory if the source does not have it. */
static int add_one(struct apply *apply, const char *path)
{
	struct diff *diff = &apply->diff;
	struct ident ident = {0};
	int r = look_at(apply->source, path, &ident);

	if (r < 0 || ident.mode || is_known(diff, path))
		return r;
	for (size_t i = 0; r == 0 && !ident.mode && i < diff->layer_count; i++) {
		r = look_at(diff->layers[i], path, &ident);
		if (r == 0 && ident.mode)
			return S_ISDIR(ident.mode) ? apply_above_add(diff, path, &ident, i) : 0;
	}
	return r;
}

static bool has_change(const struct diff *diff, const char *wanted)
{
	const struct diff one = {.wanted = (char *const *)&wanted, .wanted_count = 1};

	for (size_t i = 0; i < diff->count; i++)
		if (decide_is_wanted(&one, diff->changes[i].path, false))
			return true;
	return false;
}

int above_add(struct apply *apply)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < apply->diff.wanted_count; i++) {
		char path[PATH_MAX];

		if (!has_change(&apply->diff, apply->diff.wanted[i])) {
			note(&apply->diff, apply->diff.wanted[i], "nothing was changed there");
			apply->is_incomplete = true;
			continue;
		}
		if ((size_t)snprintf(path, sizeof path, "%s", apply->diff.wanted[i]) >= sizeof path)
			return -ENAMETOOLONG;
		for (char *slash = path; r == 0 && (slash = strchr(slash, '/')); *slash++ = '/') {
			*slash = '\0';
			r = add_one(apply, path);
		}
	}
	if (r == 0 && apply->diff.count)
		qsort(apply->diff.changes, apply->diff.count, sizeof *apply->diff.changes,
		      above_by_path);
	return r;
}
