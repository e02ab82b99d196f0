/*
 * Who is at the other end of a connection: from the kernel, never from a message.
 *
 * In the monitor, with its privilege raised only to look at the namespaces of the peer. unix(7), namespaces(7).
 */
#pragma once

#include "helper/monitor/authorize.h"

/*
 * Reads credentials and groups of the connected socket, whether the peer is confined, and its names from the host's passwd
 * and group files (names of users that are not in them stay empty). 0, -errno, or UNSUPPORTED.
 */
_must_check_ int peer_read(int socket, struct peer *ret_peer, struct yett_error *error);

/*
 * Asks a child that has become the peer for its ~/.config/yett/authorized_keys, and for its names where the files did
 * not have them. Fills text[0 … *ret_length); length 0 when there is no such file. 0, -errno, or BAD_SIGNATURE with the
 * reason why the file does not count (owner, mode, size).
 */
_must_check_ int peer_read_user(struct peer *peer, bool want_keys, char *text, size_t size, size_t *ret_length,
				struct yett_error *error);
