/* SPDX-License-Identifier: Apache-2.0 */
/* How every subcommand connects to the helper. Runs as the caller. */
#pragma once

#include <limits.h>

#include "base/error.h"
#include "libclient/yett.h"
#include "workspace/yett-workspace.h"

/* The connection options of every subcommand that uses the helper; NULL: the library's default. */
struct connect_choice {
	const char *socket_path, *key_path;
};

/* The rows of these options. A file that uses them must define set_socket and set_key. */
#define CONNECT_OPTIONS                                                                         \
	OPTION_RARE(0, "socket", "PATH", "connect to this socket (" YETT_SOCKET_PATH ")",       \
	            set_socket),                                                                \
		OPTION_RARE(0, "key", "FILE", "sign with this key (~/.config/yett/id_ed25519)", \
	                    set_key)

/*
 * Connects. If no key was chosen and the caller has none, makes the caller's own key first; prints
 * a note about that if `tell` is set.
 */
_must_check_ int connect_with_key(const struct connect_choice *choice, bool report,
                                  struct yett_connection **ret_connection,
                                  struct yett_error *error);

/*
 * Does the same, but connects to the helper that has `sandbox` (NULL: any helper). A sandbox that
 * was made without root, before the service was started, keeps running, and only its own helper
 * knows it.
 */
_must_check_ int connect_for(const struct connect_choice *choice, bool report, const char *sandbox,
                             struct yett_connection **ret_connection, struct yett_error *error);

/*
 * If the caller may have sandboxes that were made without root, and `other` is a connection to
 * another helper, connects to their helper. Returns 0 and NULL if there are no such sandboxes or a
 * socket was chosen.
 */
_must_check_ int connect_own(const struct connect_choice *choice,
                             const struct yett_connection *other,
                             struct yett_connection **ret_connection);

/*
 * Whether yett-rootless is used because only members of a group may execute the set-user-id helper
 * beside it, and the caller is no member. Then `path` is that helper, and `group` the name or
 * number of the group.
 */
#define CONNECT_GROUP_SIZE 256
bool connect_find_closed(char path[static PATH_MAX], char group[static CONNECT_GROUP_SIZE]);

/* Connects with the existing key, or with none: enough for requests that make nothing. */
_must_check_ int connect_without_key(const struct connect_choice *choice,
                                     struct yett_connection **ret_connection,
                                     struct yett_error *error);

/*
 * Whether the connection is to this socket. Compares the path with that of getpeername(2); false
 * for another path of the same socket.
 */
bool connect_is_to(const struct yett_connection *connection, const char *socket_path);

/* For _cleanup_(): frees an object of the library with yett_free(). */
static inline void connect_freep(void *given)
{
	yett_free(*(void **)given);
}

/* For _cleanup_(): frees an object of libyett-workspace. */
static inline void connect_workspace_freep(void *given)
{
	yett_workspace_free(*(void **)given);
}
