/* Connecting as every subcommand does. Runs as the caller. */
#pragma once

#include <limits.h>

#include "base/error.h"
#include "libclient/yett.h"

/* What the options of every subcommand that asks the helper say of it; NULL: as the library has it.
 */
struct connect_choice {
	const char *socket_path, *key_path;
};

/* The rows of these options; a table's file defines set_socket and set_key. */
#define CONNECT_OPTIONS                                                                         \
	OPTION_RARE(0, "socket", "PATH", "connect to this socket (" YETT_SOCKET_PATH ")",       \
	            set_socket),                                                                \
		OPTION_RARE(0, "key", "FILE", "sign with this key (~/.config/yett/id_ed25519)", \
	                    set_key)

/* Connects. Where there is no key, and none was chosen, the caller's own is made first; with `tell`
 * that is said. */
_must_check_ int connect_with_key(const struct connect_choice *choice, bool tell,
                                  struct yett_connection **ret_connection,
                                  struct yett_error *error);

/*
 * The same, to the helper that has this sandbox (NULL: any): one that was made without root, before
 * there was a service, goes on and is known to its own helper alone.
 */
_must_check_ int connect_for(const struct connect_choice *choice, bool tell, const char *sandbox,
                             struct yett_connection **ret_connection, struct yett_error *error);

/* Where the caller may have such sandboxes, and `other` leads elsewhere: to their helper. 0 and
 * NULL: there are none, or a socket was chosen. */
_must_check_ int connect_own(const struct connect_choice *choice,
                             const struct yett_connection *other,
                             struct yett_connection **ret_connection);

/*
 * Whether yett-rootless is taken because the set-user-id helper beside it, in `path`, is for the
 * members of `group`, by name or number, of whom the caller is none.
 */
#define CONNECT_GROUP_SIZE 256
bool connect_find_closed(char path[static PATH_MAX], char group[static CONNECT_GROUP_SIZE]);

/* Connects with the key that is there, if any: enough for what makes nothing. */
_must_check_ int connect_without_key(const struct connect_choice *choice,
                                     struct yett_connection **ret_connection,
                                     struct yett_error *error);

/* Whether a connection is one to this socket, as far as can be told. */
bool connect_is_to(const struct yett_connection *connection, const char *socket_path);

/* For _cleanup_(): frees whatever the library gave that yett_free() frees. */
static inline void connect_freep(void *given)
{
	yett_free(*(void **)given);
}
