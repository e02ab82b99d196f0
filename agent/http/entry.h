/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening sockets of the server: from the user's service manager, its own Unix socket, and
 * TCP on the loopback address only.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "base/error.h"

#define ENTRY_MAX 4

struct entry {
	int fds[ENTRY_MAX]; /* listening, non-blocking */
	size_t count;
	/*
	 * The service manager created the sockets, and starts the program again when a client
	 * connects.
	 */
	bool is_activated;
	uint16_t port; /* TCP port; 0: no TCP */
	/* Files created by this program, removed at its end; NULL: none. */
	char *socket_path, *token_path;
	/* Identify the created files: a file that another program has put there is kept. */
	struct stat socket_file, token_file;
};

/*
 * Takes over the Unix sockets from the service manager, see sd_listen_fds(3). entry->count is their
 * number.
 */
_must_check_ int entry_take(struct entry *entry, struct yett_error *error);

/*
 * Creates a Unix socket of mode 0600 at `path`, and its directory (0700) if missing. Replaces the
 * socket of a dead server. Returns 0; YETT_E_ALREADY_EXISTS: a server listens there, or the file is
 * not a socket of this user; or another error.
 */
_must_check_ int entry_listen(struct entry *entry, const char *path, struct yett_error *error);

/* Listens on 127.0.0.1. `port` 0: the kernel chooses one. */
_must_check_ int entry_listen_tcp(struct entry *entry, uint16_t port, struct yett_error *error);

/* Writes the token and a newline to a file that only the user can read. */
_must_check_ int entry_write_token(struct entry *entry, const char *path, const char *token,
                                   struct yett_error *error);

/*
 * Returns $XDG_RUNTIME_DIR/yett/NAME, which the caller frees. NULL, with `error` set: the variable
 * is not set, or no memory.
 */
char *entry_runtime_path(const char *name, struct yett_error *error);

/* Identifies the peer of an accepted socket. Returns 0 or -errno. unix(7), sock_diag(7) */
_must_check_ int entry_peer(int fd, bool *ret_is_tcp, uid_t *ret_uid);

/* Closes the sockets, and removes the created files. */
void entry_close(struct entry *entry);
