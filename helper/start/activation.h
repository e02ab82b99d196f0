/*
 * Sockets that systemd (or systemd-socket-activate) hands over: sd_listen_fds(3), without the
 * library.
 *
 * At the start of the helper; reads LISTEN_PID and LISTEN_FDS, which only the service manager sets
 * for a root service.
 */
#pragma once

#include "base/error.h"

enum activation { ACTIVATION_NONE, ACTIVATION_LISTENING, ACTIVATION_CONNECTED };

/*
 * What came with this process: nothing, one listening SOCK_SEQPACKET socket, or one connected one
 * (Accept=yes). Sets it close-on-exec and takes the variables out of the environment. 0 or
 * INVALID_REQUEST for anything else.
 */
_must_check_ int activation_receive(enum activation *ret_activation, int *ret_fd,
                                    struct yett_error *error);

/* Instead of that, where there is no systemd: makes a socket at `path` that everybody may connect
 * to. 0 or INVALID_REQUEST. unix(7) */
_must_check_ int activation_listen(const char *path, int *ret_fd, struct yett_error *error);

/* A number of SOL_SOCKET's options, or -errno: what a socket is. socket(7) */
_must_check_ int activation_option(int fd, int name);
