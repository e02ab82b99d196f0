/*
 * The listener: owns the socket, accepts, and has processes ready. It decides nothing.
 *
 * Root with an empty effective set (PRIVILEGE_LISTENER) but while it loads a policy. It reads no
 * byte of a client's. What is slow or waits for the kernel is done ahead: monitors with a
 * locked-down decoder, and for users served lately supervisors that already sit with their builders
 * in cgroups of that user.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct listener_options {
	const char *policy_path;
	const char *libexec;   /* folder of the other programs */
	int socket;            /* listening; borrowed */
	uint64_t idle_exit_ms; /* without a connection for so long it ends; 0: it stays */
};

/*
 * Serves until SIGTERM or SIGINT, or until nobody wants anything; SIGHUP loads the policy anew (a
 * bad one is logged and the old one stays). Connections and sandboxes outlive the listener. 0, or a
 * code with the reason why it could not start.
 */
_must_check_ int listener_run(const struct listener_options *options, struct yett_error *error);
