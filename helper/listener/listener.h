/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener: owns the socket, accepts connections and keeps idle processes pre-started. It must
 * never make a policy decision and never read a byte that a client sent.
 *
 * Runs as root with an empty effective set (PRIVILEGE_LISTENER); it raises privilege only to load a
 * policy and for single calls. The listener does work that is slow or waits for the kernel ahead of
 * requests: it pre-starts monitors with a locked-down decoder, and, for users served lately,
 * supervisors that are already in that user's cgroups, with their cgroup forkers.
 */
#pragma once

#include "base/error.h"

struct listener_options {
	const char *policy_path;
	const char *libexec; /* directory of the other programs */
	int socket;          /* listening; borrowed */
	/* The listener exits after so long without a connection; 0: never. */
	uint64_t idle_exit_ms;
};

/*
 * Serves until SIGTERM or SIGINT, or until idle_exit_ms has passed without a connection. SIGHUP
 * reloads the policy; if the new one is invalid, the error is logged and the old one stays in
 * force. Connections and sandboxes outlive the listener. Returns 0, or a code with the reason why
 * the listener could not start.
 */
_must_check_ int listener_run(const struct listener_options *options, struct yett_error *error);
