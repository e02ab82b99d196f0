/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the directories of a store for reading, and the directory that the store is about (the
 * source).
 *
 * Runs as the caller. A sandbox may have written the contents of a store. Follow no symbolic link
 * in a store; code that reads these descriptors must not either.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"
#include "workspace/yett-workspace.h"

#define STORE_LAYERS_MAX 65 /* "upper" and 64 frozen layers */

struct store {
	int layers[STORE_LAYERS_MAX]; /* the topmost first: "upper", "layers/N" … "layers/1" */
	size_t count;
	int hidden; /* whiteouts that hide parts of the source from the sandbox; negative: none */
	int source;
	bool is_replaced; /* the source is not the directory for which the store was made */
};

/*
 * YETT_E_INVALID_REQUEST: the store is incomplete, and does not say which directory it is about.
 * YETT_E_FILE_OPERATION_FAILED. Call store_close() in every case.
 */
_must_check_ int store_open(const struct yett_work *work, struct store *ret_store,
                            struct yett_error *error);

/*
 * Reduces the store to its first `frozen` layers, without "upper": its state at a snapshot.
 * YETT_E_FILE_OPERATION_FAILED.
 */
_must_check_ int store_go_back(const struct yett_work *work, struct store *store, size_t frozen,
                               struct yett_error *error);

void store_close(struct store *store);
