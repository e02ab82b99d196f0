/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of "upper" that were made while a sandbox worked on the store. They are in "pending",
 * where each has the number of the layer that it will become. See work_layers.h.
 *
 * "upper" stays with the sandbox, mounted over the layers that it was mounted on. Once no sandbox
 * works on the store, each copy becomes a layer under "upper". Runs with the caller's privilege,
 * under layers_lock().
 */
#pragma once

#include "base/error.h"

struct layers;
struct work_copy;

/*
 * Copies what the store holds, if anything was changed. Returns the number of the last layer, or
 * -errno; -E2BIG: there are too many layers.
 */
_must_check_ int pending_add(struct layers *layers, struct work_copy *copy);

/* Undoes the last pending_add(). */
void pending_take_back(struct layers *layers);

/* Turns the copies into layers. Call this while no sandbox works on the store, under its lock. */
_must_check_ int pending_settle(struct layers *layers, struct yett_error *error);
/* `store` is borrowed. */
_must_check_ int pending_settle_store(int store, const char *id, struct yett_error *error);
