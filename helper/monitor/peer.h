/*
 * Who is at the other end of a connection: from the kernel, never from a message.
 *
 * In the monitor, with its privilege raised only to look at the namespaces of the peer. unix(7), namespaces(7).
 */
#pragma once

#include "helper/monitor/authorize.h"

/* Reads the credentials and groups of the connected socket. 0, -errno, or UNSUPPORTED. */
_must_check_ int peer_read(int socket, struct peer *ret_peer, struct yett_error *error);

/* A pidfd of the process that made the connection, or -errno when it is gone. */
_must_check_ int peer_open_process(int socket, pid_t pid);

/*
 * Adds what takes longer, while the client prepares its request: whether the peer is confined, and its names from the
 * host's passwd and group files (those of users that are not in them stay empty). 0 or -errno.
 */
_must_check_ int peer_examine(int pidfd, struct peer *peer);

/* The second half of that, for a peer that is known otherwise. */
void peer_read_names(struct peer *peer);

/*
 * Whether a process is in another user, mount, pid or network namespace than this one, or has no_new_privs. One whose
 * namespaces cannot be read (CAP_SYS_PTRACE) is taken for confined.
 */
bool peer_is_confined(pid_t pid);

/*
 * A child that will become the peer, and read as that user what the helper must not: it is forked before there is a
 * connection, because forking takes longer than all else it does, and reads anew whenever it is asked.
 */
struct peer_reader {
	pid_t pid;  /* 0: none */
	int socket; /* -1: none */
	bool is_used; /* it is the peer by now */
};
#define PEER_READER_NONE ((struct peer_reader){.socket = -1})

/* 0 or -errno. */
_must_check_ int peer_reader_start(struct peer_reader *ret_reader);

/*
 * Has the reader (started if there is none) read the peer's ~/.config/yett/authorized_keys, and its
 * names where the files did not have them. Fills text[0 … *ret_length); length 0 when there is no such file. 0, -errno,
 * or BAD_SIGNATURE with the reason why the file does not count (owner, mode, size).
 */
_must_check_ int peer_read_user(struct peer_reader *reader, struct peer *peer, bool want_keys, char *text, size_t size,
				size_t *ret_length, struct yett_error *error);

/* Ends and reaps it. Takes PEER_READER_NONE. */
void peer_reader_free(struct peer_reader *reader);
