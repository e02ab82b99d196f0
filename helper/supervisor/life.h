/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a sandbox, from when init serves until all of it is gone: attached clients, time
 * limits and states.
 *
 * Runs in the supervisor, after privilege_narrow(). Must not parse anything that a client sent:
 * monitors send structs of fixed size, over connections that only root can make. Waits only for the
 * end of the sandbox, for freezing (1 s at most), and for mounts (setup_mount()).
 */
#pragma once

#include "helper/supervisor/supervisor.h"

struct life;

/*
 * Starts with one attached client, `creator` (borrowed), for the sandbox of setup->record.
 * `listener` is the seccomp listener of init's filter, or -1. Returns NULL if memory is short;
 * otherwise `listener` is consumed.
 */
struct life *life_begin(struct setup *setup, int creator, int listener);

/* Returns when the sandbox must end; the caller then calls setup_finish(). */
void life_keep(struct life *life);

/*
 * Called after setup_finish(). Notifies all clients and followers, stays for as long as the sandbox
 * must be listed, and frees `life`.
 */
void life_end(struct life *life, bool out_of_memory);
