/*
 * The way of every subcommand to the helper.
 *
 * Runs as the caller, on the public libyett.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

/* Connects, with a key that is made if there is none yet, of which a note tells if `tell`. 0 or the code of the error. */
_must_check_ int connect_with_key(const char *socket_path, bool tell, struct yett_connection **ret_connection, struct yett_error *error);
