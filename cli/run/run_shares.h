/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares of `yett run`: those of --ro, --rw, --cow, --store, --hide, --no-hide and
 * --share-socket, and the default share.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/run/run_options.h"

/*
 * Adds a share of `path`. Takes ownership of `path` and `target`, even if it fails. `flags` are of
 * enum yett_share_flag.
 */
int run_shares_add(struct run_options *options, char *path, char *target, uint32_t flags,
                   struct yett_error *error);

/* Setters for the table of options: `into` is a struct run_options. */
int run_shares_set_ro(void *into, const char *value, struct yett_error *error);
int run_shares_set_rw(void *into, const char *value, struct yett_error *error);
int run_shares_set_cow(void *into, const char *value, struct yett_error *error);
int run_shares_set_store(void *into, const char *value, struct yett_error *error);
int run_shares_set_hide(void *into, const char *value, struct yett_error *error);
int run_shares_set_no_hide(void *into, const char *value, struct yett_error *error);
int run_shares_set_socket(void *into, const char *value, struct yett_error *error);

/*
 * Applies --hide, --no-hide and the hide list of the profile to the copy-on-write shares that have
 * a new store. Call it after all options are read. YETT_E_INVALID_REQUEST: --hide was given, but
 * there is no such share; or a line of the list is invalid.
 */
_must_check_ int run_shares_hide(struct run_options *options, struct yett_error *error);
