/*
 * Frozen layers of a store, "layers/1" and so on with none left out, and the names of snapshots, in
 * "snapshots": see work.h.
 *
 * A snapshot is all layers up to one of them. Layers that come after the last one of these are in
 * "pending": work_pending.h. With the caller's privilege, under the lock of a store that no sandbox
 * works on. Every step is one rename, after which the store shows what it showed before, or what it
 * is to show: nothing has to be brought to an end after a kill.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "libclient/yett.h"

#define LAYERS_NAMES_MAX 256
#define LAYERS_NAME_SIZE 64

struct layers_name {
	char name[LAYERS_NAME_SIZE];
	unsigned layer; /* the last that is its; 0: none, the source alone */
	uint64_t created_ms;
	char boot[40]; /* in which; empty: it does not tell */
};

struct layers {
	int store; /* with its lock, unless a sandbox has that; owned */
	int lock; /* what keeps others from changing layers and names, also while a sandbox works on
	             the store; owned */
	int directory;         /* "layers"; -1: there is none */
	int pending_directory; /* "pending"; likewise */
	bool is_used;
	unsigned count;   /* of what is in "layers" */
	unsigned pending; /* of what is in "pending", by the numbers that follow; at rest there is
	                     nothing */
	struct layers_name names[LAYERS_NAMES_MAX];
	size_t names_count;
	char id[YETT_ID_SIZE];
};

/* A directory of symbolic links, each called as a snapshot, and to "LAYER CREATED BOOT", which no
 * program follows. Its lock is that of those who change layers or names. */
#define LAYERS_NAMES   "snapshots"
#define LAYERS_PENDING "pending"
#define LAYERS_FRESH   "fresh" /* what is to become a layer, in the store */

/*
 * Opens and locks a store (`even_used`: or goes without the lock that a sandbox has), and finds out
 * what is in it; what is pending is settled where no sandbox works on it. To be closed in every
 * case.
 */
_must_check_ int layers_open(struct layers *layers, const char *id, bool even_used,
                             struct yett_error *error);
void layers_close(struct layers *layers);

/* Of an open store, the parts of that. */
void layers_begin(struct layers *layers, int store, const char *id);
_must_check_ int layers_lock(struct layers *layers, struct yett_error *error);

/* Of a store that need not be locked, what layers and names there are. */
_must_check_ int layers_read(struct layers *layers, struct yett_error *error);

/* NULL: there is none of that name. */
struct layers_name *layers_find(struct layers *layers, const char *name);

/* The number as a name in "layers". */
#define LAYERS_NUMBER_SIZE 16
void layers_number(unsigned layer, char name[static LAYERS_NUMBER_SIZE]);

/* The directory that it is in; -1: there is none. Borrowed. */
int layers_place(const struct layers *layers, unsigned layer);

/* Freezes what was changed since the last layer, if anything was: the number of the last layer
 * then, or -errno; -E2BIG: there are too many.
 */
_must_check_ int layers_freeze(struct layers *layers);

/* Has the store show what it showed when there were `count` layers: all that came later is gone. 0
 * or -errno. */
_must_check_ int layers_cut(struct layers *layers, unsigned count);

/* Puts layers together that no snapshot needs apart. 0 or -errno, with what could not be copied. */
_must_check_ int layers_squash(struct layers *layers, char *failed, size_t failed_size);

/* Has a name stand for a layer, or for none any more, in the store. 0 or -errno. */
_must_check_ int layers_set_name(const struct layers *layers, const struct layers_name *name);
_must_check_ int layers_forget_name(const struct layers *layers, const char *name);

/* --- for work_pending.c ----------------------------------------------------------------------- */

bool layers_is_empty(int directory);
_must_check_ int
layers_open_directory(struct layers *layers); /* which is made, where there is none */

/* An empty directory, LAYERS_FRESH, that is as `like` is, but that its owner can move it. 0 or
 * -errno. */
_must_check_ int layers_make_fresh(const struct layers *layers, const struct stat *like);

/* What is called by a number that comes later, and names of that: of one that was killed while it
 * cut. Else they would be of what comes next. 0 or -errno. */
_must_check_ int layers_drop_orphans(struct layers *layers);
