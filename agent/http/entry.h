/*
 * The sockets at which the server listens: of the user's service manager, of its own, and of TCP on
 * this host alone.
 *
 * With the caller's privilege.
 */
#pragma once

#include "base/error.h"

#define ENTRY_MAX 4

struct entry {
	int fds[ENTRY_MAX]; /* that listen, non-blocking */
	size_t count;
	bool is_activated; /* the service manager made them, and starts the program again where
	                      somebody connects */
	uint16_t port;     /* of TCP; 0: none */
	/* Made by this program, to be removed at its end; NULL: none. */
	char *socket_path, *token_path;
	struct stat socket_file,
		token_file; /* what is there by another program since is not removed */
};

/* Takes those that a service manager gave: sd_listen_fds(3). Unix sockets only. How many, in
 * entry->count. */
_must_check_ int entry_take(struct entry *entry, struct yett_error *error);

/*
 * A Unix socket of mode 0600 at `path`, whose directory is made where it is not there (0700). One
 * of a server that has ended is replaced; YETT_E_ALREADY_EXISTS: somebody listens there, or it is
 * no socket.
 */
_must_check_ int entry_listen(struct entry *entry, const char *path, struct yett_error *error);

/* TCP at 127.0.0.1; 0: a port that the kernel chooses. */
_must_check_ int entry_listen_tcp(struct entry *entry, uint16_t port, struct yett_error *error);

/* Writes the token and a line end to a file that the user alone can read. */
_must_check_ int entry_write_token(struct entry *entry, const char *path, const char *token,
                                   struct yett_error *error);

/* $XDG_RUNTIME_DIR/yett/NAME; the caller's. NULL, and the reason: the variable is not set, or
 * memory. */
char *entry_runtime_path(const char *name, struct yett_error *error);

/* Who is at the other end of an accepted socket: *ret_is_tcp and its uid. 0 or -errno. socket(7),
 * sock_diag(7) */
_must_check_ int entry_peer(int fd, bool *ret_is_tcp, uid_t *ret_uid);

/* Closes them, and removes what was made. */
void entry_close(struct entry *entry);
