/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that systemd (or systemd-socket-activate) hands over: sd_listen_fds(3), without the
 * library.
 *
 * Runs when the helper starts. Reads LISTEN_PID and LISTEN_FDS, which only the service manager sets
 * for a service of root.
 */
#pragma once

#include "base/error.h"

enum activation { ACTIVATION_NONE, ACTIVATION_LISTENING, ACTIVATION_CONNECTED };

/*
 * Finds the socket that came with this process: none, a listening SOCK_SEQPACKET socket, or a
 * connected one (Accept=yes). Makes it close-on-exec and removes the variables from the
 * environment. Returns 0; YETT_E_INVALID_REQUEST for more than one socket or one of another type;
 * or -errno.
 */
_must_check_ int activation_receive(enum activation *ret_activation, int *ret_fd,
                                    struct yett_error *error);

/*
 * Replaces activation_receive() where there is no systemd: makes a listening socket at `path` that
 * everybody may connect to. Returns 0 or YETT_E_INVALID_REQUEST. unix(7)
 */
_must_check_ int activation_listen(const char *path, int *ret_fd, struct yett_error *error);

/*
 * Whether `fd` is one end of a connected AF_UNIX SOCK_SEQPACKET socketpair: neither end has a name,
 * while a connection to a service has one. unix(7), "unnamed"
 */
bool activation_is_pair(int fd);
