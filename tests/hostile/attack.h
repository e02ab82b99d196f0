/*
 * What a payload may try in order to get out: a table of attacks, each a function that returns 0 when it worked.
 *
 * The same program runs outside, where an attack must work (or at least reach what only privilege reaches), and inside,
 * where it must not. test_payload.py says for each what is expected where.
 */
#pragma once

#include "base/fd.h"

#include <sys/types.h>

struct attack {
	const char *name;
	int (*run)(long argument); /* 0 or -errno */
	long argument;
};

/* By subject; each ends with an entry without a name. */
extern const struct attack attack_processes[]; /* somebody else's process: $ATTACK_PID, or a child made for it */
extern const struct attack attack_kernel[];    /* namespaces, mounts, system calls */
extern const struct attack attack_files[];     /* set-id files, devices, the template, what is not shared */
extern const struct attack attack_sockets[];   /* families, and who listens outside */
extern const struct attack attack_building[];  /* what is in reach of init while it builds; run only when it is asked for */

/* A path below $ATTACK_DIR, which may be written; valid until the next call. */
const char *attack_path(const char *name);

static inline int attack_result(long r)
{
	return r < 0 ? -errno : 0;
}
