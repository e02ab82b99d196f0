/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and restarts yett-audit (programs/audit/) from the listener. helper/setup/audit.h defines
 * the records that are sent to yett-audit.
 *
 * yett-audit opens its files as root and then drops all privilege. It exits when a file is full;
 * the listener then starts the next one on the same listening socket. Starting it takes the
 * privilege to open the files and to drop all privilege.
 */
#pragma once

#include "helper/setup/setup.h"

struct audit_program {
	/*
	 * One end of a socket pair: end of file means that yett-audit has exited. -1: none is
	 * running.
	 */
	int socket;
	/*
	 * Where monitors and supervisors connect to send records. -1: there is no socket, and
	 * connecting fails at once.
	 */
	int listening;
	uint64_t started_ms;
	bool has_failed; /* The last start failed. Only the first failure in a row is logged. */
};
#define AUDIT_RETRY_MS     200
#define AUDIT_SWEEP_MS     30000
#define AUDIT_PROGRAM_NONE ((struct audit_program){.socket = -1, .listening = -1})

/*
 * Starts yett-audit if the policy of `host` asks for one, and first lets the present one exit: that
 * one writes the records that it has received, while the new one waits for it. If none is running
 * and the last start was less than AUDIT_RETRY_MS ago, removes the socket and starts nothing yet,
 * so that nobody can connect until a later call. The first record sent to a new yett-audit is the
 * policy.
 */
void audit_program_start(struct audit_program *audit, const struct setup_host *host);
