/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The corpus of attacks: tables of what code may try that is not trusted, each a function that
 * returns 0 when it worked. It really does what it tries, looks whether it worked, and undoes it.
 *
 * The same program runs where nothing is in the way, where each attack must work (or at least reach
 * what only privilege reaches), and behind the defences, where it must not.
 * tests/support/attacks.py says for each what it tries, what stops it, and where it is run; who
 * runs it makes what the attacks look for, and says by the environment where that is ($ATTACK_…).
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* Who tries it. */
enum attack_group {
	ATTACK_COMMAND = 1 << 0, /* a command of an ordinary user's in a sandbox */
	ATTACK_LAYER = 1 << 1,   /* root of the host, behind one layer of defence at a time */
	ATTACK_BUILDER = 1 << 2, /* init while it builds, with the capabilities and descriptors that
	                            it has then */
};

struct attack {
	const char *name;
	unsigned groups; /* enum attack_group */
	bool harms; /* the machine it runs on, behind a layer alone: only where $ATTACK_HARM says
	               that this is thrown away */
	int (*run)(void);               /* 0: it worked. -errno: how it was stopped */
	int (*run_with)(long argument); /* in its place, for those that are several */
	long argument;
};

/* By subject; each ends with an entry without a name. */
extern const struct attack
	attack_processes[]; /* init: $ATTACK_PID, or where that is missing a child made for it */
extern const struct attack attack_kernel[]; /* namespaces, mounts, system calls */
extern const struct attack
	attack_files[]; /* set-id files, devices, the template, what a client shares */
extern const struct attack attack_sockets[]; /* families */
extern const struct attack
	attack_host_files[]; /* what was not shared, and what must not come to be in a share */
extern const struct attack attack_host_kernel[];    /* the kernel's own files */
extern const struct attack attack_host_processes[]; /* a process of the host's: $ATTACK_VICTIM */
extern const struct attack attack_machine[];        /* the machine, by system calls */
extern const struct attack attack_ipc[];            /* who listens outside, and terminals */
extern const struct attack attack_building[];       /* what is in reach of init while it builds */

/* In the victim, which is the host's root where layers are tried, and otherwise its user's. */
#define VICTIM_SECRET "a secret of the victim's"
#define VICTIM_FD     7 /* $ATTACK_OUTSIDE/secret */

/* The value of a variable that must be there. */
const char *given(const char *variable);
long given_number(const char *variable);

/* Whether the machine may be harmed: where not, what would do so goes only as far as the check of
 * privilege. */
bool may_harm(void);

/* Paths of files that nobody shared, and in the directory that is shared for writing ($ATTACK_DIR);
 * valid until the next but one call. */
const char *outside(const char *name);
const char *shared(const char *name);

/* "/proc/VICTIM/name" */
const char *victim_file(const char *name);

/* A new file of our own in the shared directory, or NULL. */
const char *own_file(const char *name);

/* Whether there is at least one byte to read. */
int try_read(const char *path);

/* Writes `text` (opened with `flags` besides O_WRONLY). */
int try_write(const char *path, int flags, const char *text);

static inline int result_of(long r)
{
	return r < 0 ? -errno : 0;
}
