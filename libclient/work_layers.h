/*
 * Frozen layers of a store, "layers/1" and so on with none left out, and the names of snapshots, in "snapshots": see work.h.
 *
 * A snapshot is all layers up to one of them. With the caller's privilege, under the lock of a store that no sandbox works on. Every step
 * is one rename, after which the store shows what it showed before, or what it is to show: nothing has to be brought to an end after a
 * kill.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/fd.h"
#include "libclient/yett.h"

#define LAYERS_NAMES_MAX 256
#define LAYERS_NAME_SIZE 64

struct layers_name {
	char name[LAYERS_NAME_SIZE];
	unsigned layer; /* the last that is its; 0: none, the source alone */
	uint64_t created_ms;
};

struct layers {
	int store;     /* with its lock; owned */
	int directory; /* "layers"; -1: there is none */
	unsigned count;
	struct layers_name names[LAYERS_NAMES_MAX];
	size_t names_count;
	char id[YETT_ID_SIZE];
};

/* Opens and locks a store (`even_used`: or goes without the lock that a sandbox has), and finds out what is in it. To be closed in every
 * case. */
_must_check_ int layers_open(struct layers *layers, const char *id, bool even_used, struct yett_error *error);
void layers_close(struct layers *layers);

/* Of a store that need not be locked, what names there are. */
_must_check_ int layers_read(struct layers *layers, struct yett_error *error);

/* NULL: there is none of that name. */
struct layers_name *layers_find(struct layers *layers, const char *name);

/* The number as a name in "layers". */
#define LAYERS_NUMBER_SIZE 16
void layers_number(unsigned layer, char name[static LAYERS_NUMBER_SIZE]);

/* Freezes what was changed since the last layer, if anything was: the number of the last layer then, or -errno; -E2BIG: there are too many.
 */
_must_check_ int layers_freeze(struct layers *layers);

/* Has the store show what it showed when there were `count` layers: all that came later is gone. 0 or -errno. */
_must_check_ int layers_cut(struct layers *layers, unsigned count);

/* Puts layers together that no snapshot needs apart. 0 or -errno, with what could not be copied. */
_must_check_ int layers_squash(struct layers *layers, char *failed, size_t failed_size);

/* Has a name stand for a layer, or for none any more, in the store. 0 or -errno. */
_must_check_ int layers_set_name(const struct layers *layers, const struct layers_name *name);
_must_check_ int layers_forget_name(const struct layers *layers, const char *name);
