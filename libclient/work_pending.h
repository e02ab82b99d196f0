/*
 * Copies of "upper" that were made while a sandbox worked on the store: "pending", in which each is
 * called by the number of the layer that it is to be. See work_layers.h.
 *
 * "upper" stays with the sandbox, and goes on to be over the layers that it was mounted on. At rest
 * each copy becomes a layer under it. With the caller's privilege, under layers_lock().
 */
#pragma once

#include "base/error.h"

struct layers;
struct work_copy;

/* Copies what the store holds, where anything was changed: the number of the last layer then, or
 * -errno; -E2BIG: there are too many. */
_must_check_ int pending_add(struct layers *layers, struct work_copy *copy);

/* As it was before the last one. */
void pending_take_back(struct layers *layers);

/* At rest, under the lock of the store: they are layers then. */
_must_check_ int pending_settle(struct layers *layers, struct yett_error *error);
_must_check_ int pending_settle_store(int store, const char *id,
                                      struct yett_error *error); /* `store` is borrowed */
