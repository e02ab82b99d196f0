/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See diff.h. Finds renames by content, as git does. An overlay's record of a copied file's origin
 * is empty if the overlay is mounted in a user namespace, and a directory that mv(1) renames is a
 * copy without any record.
 *
 * Equal content is found by size and digest. Similar content needs a comparison per pair, so the
 * number of pairs is limited. Before that, a removed and an added file are compared if no other
 * file has their name. The amount of data that is read is limited as well.
 */
#include "workspace/diff/diff.h"

#include <git2.h>
#include <git2/sys/hashsig.h>
#include <string.h>

#define PAIRS_MAX     ((size_t)250000)
#define SIDE_MAX      ((size_t)10000) /* a signature takes about 1 KiB */
#define READ_MAX      ((uint64_t)4 << 30)
#define SIMILAR       50 /* percent, as in git */
#define SIMILAR_NAMED 75 /* for a pair found by its name */
#define SAME          100

/* A removed or an added file. */
struct candidate {
	struct change *change;
	const struct side *side;
	const char *name; /* the last part of its path */
	uint64_t digest;
	git_hashsig *signature;
	bool is_old, is_read; /* is_read: `digest` is valid */
	bool is_taken;
};

struct finding {
	struct diff *diff;
	struct candidate *items;
	size_t count;
	uint64_t left; /* bytes that may still be read */
	bool is_cut;
};

struct match {
	struct candidate *old, *new;
	unsigned similarity;
};

typedef int order(const struct candidate *x, const struct candidate *y);

static int by_number(uint64_t x, uint64_t y)
{
	return x == y ? 0 : x < y ? -1 : 1;
}

static int by_size(const struct candidate *x, const struct candidate *y)
{
	int kind = by_number(x->side->mode & S_IFMT, y->side->mode & S_IFMT);

	return kind ? kind : by_number(x->side->size, y->side->size);
}

static int by_content(const struct candidate *x, const struct candidate *y)
{
	int size = by_size(x, y), read = by_number(x->is_read, y->is_read);

	return size ? size : read ? read : by_number(x->digest, y->digest);
}

static int rename_by_name(const struct candidate *x, const struct candidate *y)
{
	return strcmp(x->name, y->name);
}

static int by_content_and_name(const struct candidate *x, const struct candidate *y)
{
	int content = by_content(x, y);

	return content ? content : rename_by_name(x, y);
}

/* Among equal candidates, removed files come first; both are sorted by path. */
static int by_order_and_path(const void *a, const void *b, void *of)
{
	const struct candidate *x = a, *y = b;
	int first = (*(order **)of)(x, y), side = by_number(y->is_old, x->is_old);

	return first ? first : side ? side : strcmp(x->change->path, y->change->path);
}

static void rename_sort(struct finding *finding, order *by)
{
	size_t count = 0;

	for (size_t i = 0; i < finding->count; i++)
		if (!finding->items[i].is_taken)
			finding->items[count++] = finding->items[i];
	finding->count = count;
	if (count)
		qsort_r(finding->items, count, sizeof *finding->items, by_order_and_path, &by);
}

/*
 * Returns the length of the run of equal candidates at `from`. *ret_old is the number of removed
 * files in it.
 */
static size_t next_run(const struct finding *finding, size_t from, order *by, size_t *ret_old)
{
	size_t count = 0;

	*ret_old = 0;
	while (from + count < finding->count &&
	       by(&finding->items[from], &finding->items[from + count]) == 0)
		*ret_old += finding->items[from + count++].is_old;
	return count;
}

/* Whether that many bytes may still be read. After the first refusal, all are refused. */
static bool rename_may_read(struct finding *finding, uint64_t bytes)
{
	finding->is_cut = finding->is_cut || bytes > finding->left;
	finding->left -= finding->is_cut ? 0 : bytes;
	return !finding->is_cut;
}

static int directory_of(const struct diff *diff, const struct candidate *item)
{
	return item->is_old ? diff->source : diff->layers[item->change->layer];
}

static void rename_take(struct candidate *old, struct candidate *new, unsigned similarity)
{
	new->change->from = steal_ptr(&old->change->path);
	new->change->old = old->change->old;
	new->change->similarity = similarity;
	new->change->same_content = similarity == SAME;
	old->is_taken = new->is_taken = true;
}

static void take_if_same(struct finding *finding, struct candidate *old, struct candidate *new)
{
	if (old->side->size <= DIFF_COMPARE_MAX && rename_may_read(finding, 2 * old->side->size) &&
	    read_compare(finding->diff, old->change, new->change) == 1)
		rename_take(old, new, SAME);
}

/* If the file cannot be read, the note is written when it is shown. */
static void rename_read_one(struct finding *finding, struct candidate *item)
{
	item->is_read = item->side->size <= DIFF_COMPARE_MAX &&
	                rename_may_read(finding, item->side->size) &&
	                read_digest(directory_of(finding->diff, item), item->change->path,
	                            item->side, &item->digest) == 0;
}

/*
 * Reads digests of candidates that have the same size. Where only two have a size, compares them
 * directly.
 */
static void read_digests(struct finding *finding)
{
	size_t old, count;

	rename_sort(finding, by_size);
	for (size_t from = 0; from < finding->count; from += count) {
		struct candidate *run = &finding->items[from];

		count = next_run(finding, from, by_size, &old);
		if (old == 1 && count == 2)
			take_if_same(finding, &run[0], &run[1]);
		for (size_t i = 0; old && old < count && count > 2 && i < count; i++)
			rename_read_one(finding, &run[i]);
	}
}

static void take_same(struct finding *finding, order *by)
{
	size_t old, count;

	rename_sort(finding, by);
	for (size_t from = 0; from < finding->count; from += count) {
		struct candidate *run = &finding->items[from];

		count = next_run(finding, from, by, &old);
		for (size_t i = 0; run->is_read && i < old && i < count - old; i++)
			take_if_same(finding, &run[i], &run[old + i]);
	}
}

static bool make_signature(struct finding *finding, struct candidate *item)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size;

	if (item->signature || !rename_may_read(finding, item->side->size) ||
	    read_content(directory_of(finding->diff, item), item->change->path, item->side, &bytes,
	                 &size) < 0)
		return item->signature;
	return git_hashsig_create(&item->signature, bytes, size,
	                          GIT_HASHSIG_NORMAL | GIT_HASHSIG_ALLOW_SMALL_FILES) == 0;
}

static void drop_signature(struct candidate *item)
{
	git_hashsig_free(item->signature);
	item->signature = NULL;
}

/* Returns the similarity in percent, at most 99: equal content was found before. */
static unsigned rename_compare(struct finding *finding, struct candidate *old,
                               struct candidate *new)
{
	uint64_t small = old->side->size < new->side->size ? old->side->size : new->side->size;
	uint64_t large = old->side->size + new->side->size - small;
	int similarity = 0;

	if (S_ISREG(old->side->mode) && S_ISREG(new->side->mode) && large <= DIFF_SHOWN_MAX &&
	    small * 100 >= large * SIMILAR && small && make_signature(finding, old) &&
	    make_signature(finding, new))
		similarity = git_hashsig_compare(old->signature, new->signature);
	return similarity < 0 ? 0 : similarity >= SAME ? SAME - 1 : (unsigned)similarity;
}

static void take_named(struct finding *finding)
{
	size_t old, count;

	rename_sort(finding, rename_by_name);
	for (size_t from = 0; from < finding->count; from += count) {
		struct candidate *run = &finding->items[from];
		unsigned similarity;

		count = next_run(finding, from, rename_by_name, &old);
		if (count != 2 || old != 1)
			continue;
		similarity = rename_compare(finding, &run[0], &run[1]);
		drop_signature(&run[0]);
		drop_signature(&run[1]);
		if (similarity >= SIMILAR_NAMED)
			rename_take(&run[0], &run[1], similarity);
	}
}

static int all_alike(const struct candidate *x, const struct candidate *y)
{
	(void)x;
	(void)y;
	return 0;
}

/* The most similar pair first; then those that keep their name; then by path. */
static int by_similarity(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	bool x_named = rename_by_name(x->old, x->new) == 0,
	     y_named = rename_by_name(y->old, y->new) == 0;
	int r = by_number(y->similarity, x->similarity);

	r = r ? r : by_number(y_named, x_named);
	r = r ? r : by_number((uintptr_t)x->new, (uintptr_t)y->new);
	return r ? r : by_number((uintptr_t)x->old, (uintptr_t)y->old);
}

static int take_similar(struct finding *finding)
{
	_cleanup_free_ struct match *matches = NULL;
	size_t old = 0, of_new, count = 0;

	rename_sort(finding, all_alike);
	while (old < finding->count && finding->items[old].is_old)
		old++;
	of_new = finding->count - old;
	if (old == 0 || of_new == 0)
		return 0;
	finding->is_cut =
		finding->is_cut || old > SIDE_MAX || of_new > SIDE_MAX || old * of_new > PAIRS_MAX;
	if (finding->is_cut)
		return 0;
	matches = calloc(old * of_new, sizeof *matches);
	if (!matches)
		return -ENOMEM;
	for (size_t i = 0; i < old * of_new; i++) {
		struct match *match = &matches[count];

		*match = (struct match){.old = &finding->items[i / of_new],
		                        .new = &finding->items[old + i % of_new]};
		match->similarity = rename_compare(finding, match->old, match->new);
		count += match->similarity >= SIMILAR;
	}
	if (count)
		qsort(matches, count, sizeof *matches, by_similarity);
	for (size_t i = 0; i < count; i++)
		if (!matches[i].old->is_taken && !matches[i].new->is_taken)
			rename_take(matches[i].old, matches[i].new, matches[i].similarity);
	for (size_t i = 0; i < finding->count; i++)
		drop_signature(&finding->items[i]);
	return 0;
}

/* Collects the files and links that were only removed or only added. */
static int rename_collect(struct finding *finding)
{
	struct diff *diff = finding->diff;

	finding->items = calloc(diff->count ? diff->count : 1, sizeof *finding->items);
	if (!finding->items)
		return -ENOMEM;
	for (size_t i = 0; i < diff->count; i++) {
		struct change *change = &diff->changes[i];
		bool is_old = !change->new.mode;
		const struct side *side = is_old ? &change->old : &change->new;
		const char *slash = strrchr(change->path, '/');

		/*
		 * A protected change keeps its name: yett apply may apply one side without the
		 * other.
		 */
		if (!change->guard.why && (is_old || !change->old.mode) &&
		    (S_ISREG(side->mode) || S_ISLNK(side->mode)))
			finding->items[finding->count++] =
				(struct candidate){.change = change,
			                           .side = side,
			                           .name = slash ? slash + 1 : change->path,
			                           .is_old = is_old};
	}
	return 0;
}

int rename_find(struct diff *diff)
{
	struct finding finding = {.diff = diff, .left = READ_MAX};
	size_t count = 0;
	int r = rename_collect(&finding);

	if (r == 0) {
		read_digests(&finding);
		take_same(&finding, by_content_and_name);
		take_same(&finding, by_content);
		take_named(&finding);
		r = take_similar(&finding);
	}
	free(finding.items);
	for (size_t i = 0; i < diff->count; i++)
		if (diff->changes[i].path)
			diff->changes[count++] = diff->changes[i];
	diff->count = count;
	if (finding.is_cut)
		(void)fputs(
			"so much is deleted and added that not all of it was compared: a file that has another name may show as both\n",
			diff->notes);
	return r;
}
