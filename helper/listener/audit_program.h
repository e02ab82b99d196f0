/*
 * yett-audit, seen from the listener, which starts it: programs/audit/ has the program,
 * helper/setup/audit.h what it is told.
 *
 * It opens its files before it gives up root, and ends when one is full: then the next one is
 * started, on the same socket. With the privilege that this takes, and giving up all of it.
 */
#pragma once

#include "helper/setup/setup.h"

struct audit_program {
	int socket;    /* comes to its end with the program; -1: none is running */
	int listening; /* where those who tell it connect; -1: nowhere, and they are told so at once
	                */
	uint64_t started_ms;
	bool has_failed; /* to start, which is logged once */
};
#define AUDIT_RETRY_MS     200
#define AUDIT_SWEEP_MS     30000
#define AUDIT_PROGRAM_NONE ((struct audit_program){.socket = -1, .listening = -1})

/*
 * Has one run where the policy of `host` says so; else none. One that is there writes what it was
 * told and ends, while the next one waits for it. Where there is none any more, though one was
 * started less than AUDIT_RETRY_MS ago, nothing is done yet, and nobody can connect until then. The
 * policy is the first thing that it is told.
 */
void audit_program_start(struct audit_program *audit, const struct setup_host *host);
