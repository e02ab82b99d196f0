/* Connecting as every subcommand does. Runs as the caller. */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

/* What the options of every subcommand that asks the helper say of it; NULL: as the library has it. */
struct connect_choice {
	const char *socket_path, *key_path;
};

/* The rows of these options; a table's file defines set_socket and set_key. */
#define CONNECT_OPTIONS                                                                        \
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket}, \
	{                                                                                      \
		0, "key", "FILE", "the key to sign with (~/.config/yett/id_ed25519)", set_key  \
	}

/* Connects. Where there is no key, and none was chosen, the caller's own is made first; with `tell` that is said. */
_must_check_ int connect_with_key(const struct connect_choice *choice, bool tell, struct yett_connection **ret_connection,
                                  struct yett_error *error);

/* Connects with the key that is there, if any: enough for what makes nothing. */
_must_check_ int connect_without_key(const struct connect_choice *choice, struct yett_connection **ret_connection,
                                     struct yett_error *error);

/* Whether a connection is one to this socket, as far as can be told. */
bool connect_is_to(const struct yett_connection *connection, const char *socket_path);

/* For _cleanup_(): frees whatever the library gave that yett_free() frees. */
static inline void connect_freep(void *given)
{
	yett_free(*(void **)given);
}
