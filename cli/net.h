/*
 * `yett net`: the networks of sandboxes that are there.
 *
 * Runs as the caller, on the public libyett. What the helper tells is printed as output.h has it.
 */
#pragma once

#include "cli/events.h"

/* What follows the action and its options. */
struct net_arguments {
	char **operands;
	size_t count;
	bool all;
};

int net_main(const struct subcommand *self, int argc, char **argv);

/* `yett net log [SANDBOX…]`: connections and denials from now on, in a table. 0 or a code. */
_must_check_ int net_log(struct yett_connection *connection, const struct net_arguments *arguments,
                         struct yett_error *error);

/* `yett net publish` and `yett net socket`: ports and sockets, until a signal comes or the sandbox
 * ends. 0 or a code. */
_must_check_ int net_publish(struct yett_connection *connection,
                             const struct net_arguments *arguments, struct yett_error *error);
_must_check_ int net_socket(struct yett_connection *connection,
                            const struct net_arguments *arguments, struct yett_error *error);
