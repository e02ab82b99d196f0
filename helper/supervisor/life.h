/*
 * The life of a sandbox from when init serves until all of it is gone: who holds it, its time
 * limits, its states.
 *
 * In its supervisor, after privilege_narrow(). Parses nothing of a client's: monitors ask by
 * structs of fixed size, over connections that only root can make. Nothing is waited for but what
 * ends the sandbox, its freezing (a second at most), and what is mounted in it (setup_mount()).
 */
#pragma once

#include "helper/supervisor/supervisor.h"

struct life;

/*
 * Begins with one holder, `creator` (borrowed), for the sandbox that setup->record tells of.
 * `listener` is that of init's filter, or -1. NULL when memory is short; otherwise `listener` is
 * taken.
 */
struct life *life_begin(struct setup *setup, int creator, int listener);

/* Returns when the sandbox is to end; setup_finish() follows. */
void life_keep(struct life *life);

/* After setup_finish(): tells everybody, stays for as long as the sandbox is to be listed, and
 * frees `life`. */
void life_end(struct life *life, bool out_of_memory);
