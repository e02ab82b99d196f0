/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words and numbers by which a request, or the bounds of requests, describe a sandbox.
 *
 * Pure functions. Run with the caller's privilege.
 */
#pragma once

#include "libclient/yett.h"

#define SANDBOX_WORDS_SHARES_MAX 64 /* of one request */

/* For tables of fields: the choices, each ending with NULL. */
extern const char *const sandbox_words_tiers[], *const sandbox_words_networks[],
							*const sandbox_words_modes[];

/* Returns "none" for any other value. */
const char *sandbox_words_network_name(enum yett_network network);
/* `mode` is one of sandbox_words_modes or NULL. Returns bits of enum yett_share_flag. */
uint32_t sandbox_words_share_flags(const char *mode);
/* `name` must be one of sandbox_words_networks. */
enum yett_network sandbox_words_network(const char *name);

/* Whether a number of processors is in range. */
bool sandbox_words_is_cpus(double processors);
#define SANDBOX_WORDS_CPUS_WANTED "cpus: expected a number of processors, like 0.5 or 2"
