/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett net`: changes and shows the networks of existing sandboxes.
 *
 * Runs as the caller, on the public libyett. Text from the helper is printed escaped, as output.h
 * describes.
 */
#pragma once

#include "cli/sandboxes/events.h"

/* The operands that follow the action. */
struct net_arguments {
	char **operands;
	size_t count;
	bool all;
};

int net_main(const struct subcommand *self, int argc, char **argv);

/*
 * `yett net log [SANDBOX…]`: prints a table of connections and denials from now on. Returns 0 or a
 * code.
 */
_must_check_ int net_log(struct yett_connection *connection, const struct net_arguments *arguments,
                         struct yett_error *error);

/*
 * `yett net publish` and `yett net socket`: relay ports and sockets until a signal arrives or the
 * sandbox ends. Return 0 or a code.
 */
_must_check_ int net_publish(struct yett_connection *connection,
                             const struct net_arguments *arguments, struct yett_error *error);
_must_check_ int net_socket(struct yett_connection *connection,
                            const struct net_arguments *arguments, struct yett_error *error);
