/* SPDX-License-Identifier: Apache-2.0 */
/* See apply.h. */
#include "workspace/apply/apply.h"

#include <string.h>

#define WRITABLE 0300u /* the owner's bits needed to change a directory's entries */

int plan_items(const struct diff *diff, struct item **ret_items, size_t *ret_count)
{
	struct item *items = calloc(diff->count + 1, sizeof *items);
	size_t count = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < diff->count; i++) {
		const struct change *change = &diff->changes[i];
		struct item *item = count > 0 ? &items[count - 1] : NULL;

		if (!item || strcmp(item->path, change->path) != 0) {
			item = &items[count++];
			item->path = change->path;
			item->old.mode = change->old.mode;
		}
		item->change = change;
		item->new_mode = change->new.mode;
		item->same_content = change->same_content;
	}
	*ret_items = items;
	*ret_count = count;
	return 0;
}

static int apply_plan_by_path(const void *path, const void *item)
{
	return strcmp(path, ((const struct item *)item)->path);
}

struct item *plan_find(struct item *items, size_t count, const char *path)
{
	return bsearch(path, items, count, sizeof *items, apply_plan_by_path);
}

/* Finds the item of the parent directory; NULL: there is none. */
static struct item *find_above(struct item *items, size_t count, const char *path)
{
	_cleanup_free_ char *above = strdup(path);
	char *slash = above ? strrchr(above, '/') : NULL;

	if (!slash)
		return NULL;
	*slash = '\0';
	return plan_find(items, count, above);
}

void plan_leave(struct item *items, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		struct item *above = items[i].left && items[i].old.mode
		                             ? find_above(items, count, items[i].path)
		                             : NULL;

		if (above && !above->left && !S_ISDIR(above->new_mode))
			above->left = "something in it is left";
	}
	for (size_t i = 0; i < count; i++) {
		const struct item *above =
			items[i].left ? NULL : find_above(items, count, items[i].path);

		if (above && above->left && !S_ISDIR(above->old.mode))
			items[i].left = "the directory that it is in is left";
	}
}

uint32_t plan_mode(uint32_t old_mode, uint32_t new_mode)
{
	uint32_t kept = S_ISDIR(new_mode) && S_ISDIR(old_mode) ? old_mode & 07000 : 0;

	return (new_mode & (S_IFMT | 0777)) | kept;
}

/*
 * A file with several hard links may have one outside the source, where its mode must not change.
 * So the name gets a copy.
 */
bool plan_has_content(const struct item *item)
{
	return S_ISLNK(item->new_mode) ||
	       (S_ISREG(item->new_mode) && (!item->same_content || item->old.links > 1));
}

bool plan_is_same(const struct ident *a, const struct ident *b)
{
	if (a->inode != b->inode || a->mode != b->mode)
		return false;
	return S_ISDIR(a->mode) || (a->size == b->size && a->mtime_ns == b->mtime_ns);
}

/* The three functions below decide in which round of plan_steps() an item gets a step. */
static bool is_opened(const struct item *item)
{
	return S_ISDIR(item->old.mode) && S_ISDIR(item->new_mode) &&
	       (item->old.mode & WRITABLE) != WRITABLE && (item->new_mode & WRITABLE) == WRITABLE;
}

static bool is_kept_directory(const struct item *item)
{
	return S_ISDIR(item->old.mode) && S_ISDIR(item->new_mode);
}

static bool is_made_closed(const struct item *item)
{
	return !S_ISDIR(item->old.mode) && S_ISDIR(item->new_mode) &&
	       (item->new_mode & 0700) != 0700;
}

static void apply_plan_add_step(struct step *steps, size_t *count, enum step_kind kind,
                                const struct item *item)
{
	struct step *step = &steps[(*count)++];

	*step = (struct step){.kind = kind, .path = item->path, .old = item->old, .item = item};
	step->new.mode = kind == STEP_REMOVE ? 0 : plan_mode(item->old.mode, item->new_mode);
	if (kind == STEP_MODE) { /* the source's own file, or a directory of another step */
		step->new = step->old;
		step->new.mode = plan_mode(item->old.mode, item->new_mode);
	} else if (S_ISDIR(step->new.mode)) {
		step->new.mode |= 0700;
	}
}

int plan_steps(const struct item *items, size_t count, struct step **ret_steps, size_t *ret_count)
{
	struct step *steps = calloc(2 * count + 1, sizeof *steps);
	size_t n = 0;

	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!items[i].left && is_opened(&items[i]))
			apply_plan_add_step(steps, &n, STEP_MODE, &items[i]);
	for (size_t i = count; i-- > 0;)
		if (!items[i].left && !items[i].new_mode)
			apply_plan_add_step(steps, &n, STEP_REMOVE, &items[i]);
	for (size_t i = 0; i < count; i++) {
		const struct item *item = &items[i];

		if (item->left || !item->new_mode || is_kept_directory(item))
			continue;
		apply_plan_add_step(steps, &n,
		                    !item->old.mode                                 ? STEP_ADD
		                    : item->same_content && !plan_has_content(item) ? STEP_MODE
		                                                                    : STEP_REPLACE,
		                    item);
	}
	for (size_t i = count; i-- > 0;) /* no later step works below it */
		if (!items[i].left && (is_made_closed(&items[i]) ||
		                       (is_kept_directory(&items[i]) && !is_opened(&items[i]))))
			apply_plan_add_step(steps, &n, STEP_MODE, &items[i]);
	*ret_steps = steps;
	*ret_count = n;
	return 0;
}

const char *plan_conflict(const struct facts *facts)
{
	if (facts->is_own)
		return NULL;
	if (!facts->old_mode)
		return facts->is_gone ? "was changed inside, and removed or moved outside" : NULL;
	if (facts->is_hidden)
		return "was hidden from the sandbox, which made another in its place";
	if (facts->is_moved)
		return "is in a directory that has come to its place since the sandbox was made";
	if (facts->only_goes)
		return NULL;
	if (facts->is_clock_doubtful)
		return "may have been changed outside: the clock was set since, or the store does not record its time";
	return facts->ctime_ns >= (int64_t)facts->stamp_ns
	               ? "was changed outside since the sandbox was made"
	               : NULL;
}
