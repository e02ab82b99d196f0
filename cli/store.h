/*
 * The directories of a store, opened to be read, and the source that it is about.
 *
 * Runs as the caller. What lies in a store a sandbox may have made: no link is followed in it, and
 * who reads these keeps to that.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

#define STORE_LAYERS_MAX 65 /* upper, and 64 that are frozen */

struct store {
	int layers[STORE_LAYERS_MAX]; /* the topmost first: "upper", "layers/N" … "layers/1" */
	size_t count;
	int hidden; /* whiteouts for what a sandbox does not see of the source; -1: none */
	int source;
	bool is_replaced; /* the source is another directory than when the store was made */
};

/* YETT_E_INVALID_REQUEST: it tells nothing of itself; YETT_E_FILE_OPERATION_FAILED. To be closed in
 * every case. */
_must_check_ int store_open(const struct yett_work *work, struct store *ret_store,
                            struct yett_error *error);

/* As it was when so many layers were frozen, and there was no other one.
 * YETT_E_FILE_OPERATION_FAILED */
_must_check_ int store_go_back(const struct yett_work *work, struct store *store, size_t frozen,
                               struct yett_error *error);

void store_close(struct store *store);
