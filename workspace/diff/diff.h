/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-diff: lists the changes of a copy-on-write sandbox, from the layers of its store and the
 * source directory.
 *
 * A child of the `yett` command, with the rights of its user. Layers and source are hostile: a
 * sandbox filled the layers, and may have filled the source earlier. Before the program reads
 * anything there, it confines itself to reading these directories (main.c). It never follows a
 * link, never blocks on a FIFO, and looks at the source only where a layer has something.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"

#define DIFF_LAYERS_MAX  ((size_t)65) /* the upper layer and the frozen ones */
#define DIFF_CHANGES_MAX ((size_t)200000)
#define DIFF_PATHS_MAX   ((size_t)64 << 20)   /* of all paths together */
#define DIFF_SHOWN_MAX   ((uint64_t)16 << 20) /* largest file whose content is shown */
#define DIFF_COMPARE_MAX ((uint64_t)1 << 30)  /* largest file that is compared with another */
#define DIFF_NOTES_MAX   20
#define DIFF_NOTES_SIZE  ((size_t)64 << 10) /* buffer size; more than all notes together */

/* Exit statuses. */
enum { DIFF_WHOLE = 0, DIFF_INCOMPLETE = 1, DIFF_FAILED = 2 };

/*
 * The kinds of output lines, for a program that colours them. For a line of content the kind is the
 * character with which the line begins in any patch.
 */
enum {
	SHOW_HEAD = 'h',
	SHOW_HUNK = '@',
	SHOW_ADDED = '+',
	SHOW_DELETED = '-',
	SHOW_STAT = '|',
	SHOW_PLAIN = ' '
};

/* A file before or after a change; mode 0: no file. */
struct side {
	uint32_t mode;
	uint64_t size;
};

/* Why a change is applied only if its path is named (protect.h). */
struct guard {
	const char *why;  /* NULL: not protected */
	size_t length;    /* of the path up to and including the protected name */
	bool is_gits_own; /* git's own file, in a .git that no wanted path names */
};

struct change {
	char *path;          /* relative to the top, without a slash at either end */
	char *from;          /* its name in the source; NULL: the same name */
	unsigned similarity; /* in percent, if `from` is set; 100: same content */
	struct side old, new;
	size_t layer;       /* index of the layer that has the new file */
	bool same_content;  /* only the mode differs */
	struct guard guard; /* filled in by ways_guard_changes() */
};

struct diff {
	int layers[DIFF_LAYERS_MAX]; /* directories, like the others; the topmost first */
	size_t layer_count;
	int hidden; /* whiteouts that hide files of the source from the sandbox; -1: none */
	int source;
	char *const *wanted;
	size_t wanted_count; /* 0: all */
	struct change *changes;
	size_t count, room, path_bytes;
	FILE *out, *notes;
	bool marked; /* begin each line of a patch, and of --stat, with one of enum SHOW_* */
	size_t note_count;
};

/* --- decide.c: pure --- */

/* The work to do about a name, as bits. */
enum {
	DECIDE_DELETED = 1,
	DECIDE_ADDED = 2,
	DECIDE_COMPARE = 4,
	DECIDE_WALK_SOURCE = 8,
	DECIDE_WALK_UPPER = 16,
	DECIDE_WALK_BOTH = 32,
};

/*
 * Decides by the file's modes in the source and in the layers; 0: no file. `is_whiteout`: the file
 * in the layers marks a deletion.
 */
unsigned decide(uint32_t source_mode, uint32_t upper_mode, bool is_whiteout);

/* Whether the file is the character device 0, 0. overlayfs.rst, "whiteouts" */
bool decide_is_whiteout(const struct stat *st);

/*
 * Whether `path` is a wanted path or below one; with `or_above`, also if it is above one. True for
 * every path if none is wanted.
 */
bool decide_is_wanted(const struct diff *diff, const char *path, bool or_above);

/* --- quote.c: pure but for the stream --- */

/*
 * Writes PREFIX and PATH as git does: in quotes and with escapes if they contain control
 * characters, quotes, backslashes or non-ASCII bytes.
 */
void quote_path(FILE *to, const char *prefix, const char *path);
bool quote_is_needed(const char *path);

/*
 * Writes the first `length` bytes of a path. If they are many, writes only their beginning and end.
 */
void quote_short(FILE *to, const char *path, size_t length);

/*
 * Writes a rename as git diff --stat does: "a => b", or "dir/{a => b}/file" if the names have a
 * common part.
 */
void quote_move(FILE *to, const char *old, const char *new);

/* --- read.c --- */

/*
 * Opens a path below a directory without following links or crossing mounts, and without blocking.
 * Returns a descriptor or -errno.
 */
int read_open(int directory, const char *path, int flags);

/*
 * Compares the content of the old side of `of_old` with the new side of `of_new`. Both must have
 * the same kind and size. Returns 1 if they are equal, 0 if not; -EAGAIN: a file changed meanwhile;
 * -errno.
 */
int read_compare(const struct diff *diff, const struct change *of_old, const struct change *of_new);

/*
 * Compares both sides of one change. If a side cannot be read, or the file is larger than
 * DIFF_COMPARE_MAX, writes a note and returns false.
 */
bool read_is_same(struct diff *diff, const struct change *change);

/*
 * Computes a digest of the content. The digest is not cryptographic: somebody can make two files
 * that have the same one. Returns 0; -EAGAIN: the file changed; -errno.
 */
int read_digest(int directory, const char *path, const struct side *side, uint64_t *ret_digest);

/*
 * Reads the content of a file or link, which the caller frees. Does not limit the size: the caller
 * checks side->size against DIFF_SHOWN_MAX. Returns 0; -EAGAIN: the file changed meanwhile; -errno.
 */
int read_content(int directory, const char *path, const struct side *side, char **ret_bytes,
                 size_t *ret_size);

/* --- walk.c, rename.c, show.c: 0 or -errno --- */

/* Finds the changes, and sorts them by path. */
int walk(struct diff *diff);

/*
 * Turns a removed file and an added one of the same or similar content into one change. Pairs whose
 * comparison would take too long stay as they are, and a note says so.
 */
int rename_find(struct diff *diff);

int show(struct diff *diff, const char *form);

/* Writes one note for the user about a path. After DIFF_NOTES_MAX notes, only counts. */
void note(struct diff *diff, const char *path, const char *why);
