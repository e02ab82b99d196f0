/*
 * The way through an HTTP proxy: CONNECT, on a socket that is connected to it, and the header of
 * its answer. RFC 9110 (9.3.6), RFC 9112
 *
 * As the caller, without privilege; nothing here waits. The proxy is the administrator's choice,
 * and is believed no more than others: of what it answers the header is read, up to a bound, and
 * not a byte of what comes after it, which is the other side's.
 */
#pragma once

#include "base/net_address.h"
#include "base/net_name.h"

#define TUNNEL_HEADER_MAX 8192 /* of all its answers */
/* of HTTP/1.1 200, and what follows: nothing, or a space and words */
#define TUNNEL_STATUS_SIZE 13

/* What has come of the answer; of zeros before. */
struct tunnel {
	uint32_t asked, answered; /* bytes */
	uint32_t line;            /* bytes of this line, but for its end */
	uint32_t first_bytes;     /* so many of the status line are in `first` */
	char first[TUNNEL_STATUS_SIZE];
};

/* Asks for the name or, where that is empty, for the address. 0 or -errno. */
_must_check_ int tunnel_ask(struct tunnel *tunnel, int fd, const char *name,
                            const struct net_address *address, uint16_t port);

/*
 * Reads what is there. 0: from here on the socket is connected to where was asked for; -EAGAIN: the
 * header has not ended yet; the status, 300 to 599, with which the proxy has refused; -EPROTO: that
 * was no answer of HTTP; -EMSGSIZE: it is too long; -ECONNRESET: it has ended; or another -errno.
 */
_must_check_ int tunnel_hear(struct tunnel *tunnel, int fd);
