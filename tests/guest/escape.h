/*
 * What code that runs as root may try in order to get at the machine around it: tables of attempts, each of which really
 * does it, looks whether it worked, and undoes it.
 *
 * The same program runs with no layer of defence (there all must work), with one, and with all: test_each_layer.py. It
 * makes what the attempts look for, and says by the environment where that is.
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

struct attempt {
	const char *name;
	const char *gives;    /* what it would be good for */
	bool harms;	      /* the machine it runs on: only where that is thrown away */
	int (*run)(void);     /* 0: it worked. -errno: how it was stopped */
};

/* By subject; each ends with an entry without a name. */
extern const struct attempt escape_files[], escape_host[], escape_processes[], escape_kernel[], escape_ipc[];

/* In the victim, which is a process of the host's root. */
#define VICTIM_SECRET "a secret of the victim's"
#define VICTIM_FD     7 /* $ESCAPE_OUTSIDE/secret */

/* The value of a variable that must be there. */
const char *given(const char *variable);
long given_number(const char *variable);

/* Paths of files that nobody shared, and in the directory that is shared for writing; valid until the next but one call. */
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
