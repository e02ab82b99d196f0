/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects through an HTTP proxy: sends CONNECT on a socket that is connected to the HTTP proxy,
 * and reads the header of the answer. RFC 9110 (9.3.6), RFC 9112
 *
 * Runs as the caller, without privilege; nothing here blocks. The administrator chose the HTTP
 * proxy, but its answer is not trusted: only the header is read, up to a limit. The bytes after it
 * belong to the connection, and must not be read here.
 */
#pragma once

#include "base/net_address.h"
#include "base/net_name.h"

#define TUNNEL_HEADER_MAX 8192 /* of all its answers together */
/* "HTTP/1.1 200", and the next byte: a space, or NUL at the end of the line */
#define TUNNEL_STATUS_SIZE 13

/* The state of the answer; zeros at first. */
struct tunnel {
	uint32_t asked, answered; /* bytes sent and received */
	uint32_t line;            /* bytes of the current line, without its end */
	uint32_t first_bytes;     /* bytes of the status line in `first` */
	char first[TUNNEL_STATUS_SIZE];
};

/* Sends a CONNECT for the name, or for the address if the name is empty. Returns 0 or -errno. */
_must_check_ int tunnel_ask(struct tunnel *tunnel, int fd, const char *name,
                            const struct net_address *address, uint16_t port);

/*
 * Reads what has arrived. Returns one of these:
 * - 0: from now on the socket is connected to the requested target.
 * - -EAGAIN: the header has not ended yet.
 * - 300 to 599: the status with which the HTTP proxy refused.
 * - -EPROTO: the answer is not HTTP.
 * - -EMSGSIZE: the header is too long.
 * - -ECONNRESET: the HTTP proxy closed the connection.
 * - another -errno.
 */
_must_check_ int tunnel_hear(struct tunnel *tunnel, int fd);
