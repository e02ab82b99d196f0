/*
 * What `yett run` is to share, as the options --ro, --rw, --cow, --store, --hide, --no-hide and
 * --share-socket say it, and what is shared without being asked for.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/run_options.h"

/* Adds a share of `path` (owned from now on, in any case, like `target`); `flags` are of enum
 * yett_share_flag. */
int run_shares_add(struct run_options *options, char *path, char *target, uint32_t flags,
                   struct yett_error *error);

/* For the table of options: `into` is a struct run_options. */
int run_shares_set_ro(void *into, const char *value, struct yett_error *error);
int run_shares_set_rw(void *into, const char *value, struct yett_error *error);
int run_shares_set_cow(void *into, const char *value, struct yett_error *error);
int run_shares_set_store(void *into, const char *value, struct yett_error *error);
int run_shares_set_hide(void *into, const char *value, struct yett_error *error);
int run_shares_set_no_hide(void *into, const char *value, struct yett_error *error);
int run_shares_set_socket(void *into, const char *value, struct yett_error *error);

/*
 * Has what --hide says, and what is listed for the profile, hold for the shares that it can hold
 * for, when all options are read. YETT_E_INVALID_REQUEST: there is none, or a list has what is
 * none.
 */
_must_check_ int run_shares_hide(struct run_options *options, struct yett_error *error);
