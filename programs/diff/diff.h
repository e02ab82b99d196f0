/*
 * yett-diff: what a copy-on-write sandbox changed, from the layers of its store and the source.
 *
 * A child of the `yett` command, with the rights of its user. All of these are hostile: a sandbox
 * has filled the layers, and may have filled the source earlier. Before it reads anything of them
 * it confines itself to reading these (main.c). It never follows a link, never waits at a FIFO, and
 * looks at the source only where a layer has something.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"

#define DIFF_LAYERS_MAX  ((size_t)65) /* the one that is written to, and frozen ones */
#define DIFF_CHANGES_MAX ((size_t)200000)
#define DIFF_PATHS_MAX   ((size_t)64 << 20)   /* of all paths together */
#define DIFF_SHOWN_MAX   ((uint64_t)16 << 20) /* a file's content that is shown */
#define DIFF_COMPARE_MAX ((uint64_t)1 << 30)  /* and that is compared where the sizes are equal */
#define DIFF_NOTES_MAX   20
#define DIFF_NOTES_SIZE  ((size_t)64 << 10) /* more than all of them together */

/* What the exit status says. */
enum { DIFF_WHOLE = 0, DIFF_INCOMPLETE = 1, DIFF_FAILED = 2 };

/* What a line is, for who colours it. A line of contents has what it begins with in any patch. */
enum {
	SHOW_HEAD = 'h',
	SHOW_HUNK = '@',
	SHOW_ADDED = '+',
	SHOW_DELETED = '-',
	SHOW_STAT = '|',
	SHOW_PLAIN = ' '
};

/* A file as it was or is; mode 0: there is none. */
struct side {
	uint32_t mode;
	uint64_t size;
};

/* What keeps a change from being applied unless it is named (protect.h). */
struct guard {
	const char *why;  /* NULL: nothing does */
	size_t length;    /* of the path: with the name that tells so */
	bool is_gits_own; /* what git keeps in a .git that nobody has named */
};

struct change {
	char *path;          /* below the top, without a slash at its ends */
	char *from;          /* what it was called in the source; NULL: the same */
	unsigned similarity; /* where it has another name: in percent; 100: the content is the same
	                      */
	struct side old, new;
	size_t layer;       /* that the new one is in */
	bool same_content;  /* only the mode differs */
	struct guard guard; /* ways.h */
};

struct diff {
	int layers[DIFF_LAYERS_MAX]; /* directories, as the others; the topmost first */
	size_t layer_count;
	int hidden; /* whose whiteouts hide from the sandbox what the source has; -1: there is none
	             */
	int source;
	char *const *wanted;
	size_t wanted_count; /* 0: all */
	struct change *changes;
	size_t count, room, path_bytes;
	FILE *out, *notes;
	bool marked; /* each line of a patch, and of --stat, begins with one of enum SHOW_* */
	size_t note_count;
};

/* --- decide.c: pure --- */

/* What there is to do about a name; bits. */
enum {
	DECIDE_DELETED = 1,
	DECIDE_ADDED = 2,
	DECIDE_COMPARE = 4,
	DECIDE_WALK_SOURCE = 8,
	DECIDE_WALK_UPPER = 16,
	DECIDE_WALK_BOTH = 32,
};

/* By the modes of what the source and the layers have, 0: nothing; `is_whiteout`: what the latter
 * have says that there is nothing. */
unsigned decide(uint32_t source_mode, uint32_t upper_mode, bool is_whiteout);

/* The character device 0, 0. overlayfs.rst, "whiteouts" */
bool decide_is_whiteout(const struct stat *st);

/* Whether `path` is one of those wanted or below one; or, if `or_above`, above one. */
bool decide_is_wanted(const struct diff *diff, const char *path, bool or_above);

/* --- quote.c: pure but for the stream --- */

/* PREFIX and PATH as git writes them: in quotes with escapes where there are control characters,
 * quotes, backslashes or what is not ASCII.
 */
void quote_path(FILE *to, const char *prefix, const char *path);
bool quote_is_needed(const char *path);

/* The first `length` bytes of a path, or of a long one its begin and its end. */
void quote_short(FILE *to, const char *path, size_t length);

/* A new name beside the old one, as in git diff --stat: "a => b", or with what they have in common,
 * "dir/{a => b}/file". */
void quote_move(FILE *to, const char *old, const char *new);

/* --- read.c --- */

/* Opens below a directory without links and mounts, never waiting. -errno. */
int read_open(int directory, const char *path, int flags);

/*
 * Whether the old side of one change and the new one of another, of the same kind and size, have
 * the same content: 1 or 0; -errno, -EAGAIN: one changed meanwhile.
 */
int read_compare(const struct diff *diff, const struct change *of_old, const struct change *of_new);

/* The same of both sides of one change, up to DIFF_COMPARE_MAX; what could not be told is noted,
 * and is false. */
bool read_is_same(struct diff *diff, const struct change *change);

/* A digest of the content, which who knows it can make two files have. 0, -errno, -EAGAIN as above.
 */
int read_digest(int directory, const char *path, const struct side *side, uint64_t *ret_digest);

/* The content of a file or link of at most DIFF_SHOWN_MAX bytes. 0, -errno, -EAGAIN: it changed
 * meanwhile. */
int read_content(int directory, const char *path, const struct side *side, char **ret_bytes,
                 size_t *ret_size);

/* --- walk.c, rename.c, show.c: 0 or -errno --- */

/* Finds the changes, in the order of their paths. */
int walk(struct diff *diff);

/*
 * What went and what came under another name becomes one change, where the content is the same or
 * similar. What would take too long is left as it is, which is told.
 */
int rename_find(struct diff *diff);

int show(struct diff *diff, const char *form);

/* One line for the user: what was not looked at. */
void note(struct diff *diff, const char *path, const char *why);
