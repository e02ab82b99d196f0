/*
 * Two sockets of which one's bytes are written to the other, both ways, until both have said all.
 *
 * With the caller's privilege. Nothing here waits, whatever the other holders of a socket's
 * description have set it to: each call says so itself. What one side does not take is held, at
 * most PAIR_BUFFER of it, and no more is read for it meanwhile. The end of one way is passed on,
 * and the other way stays. Descriptors that come with bytes are closed, and end the pair: they
 * would be the other side's.
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>
#include <stdint.h>

#define PAIR_BUFFER 65536

/* Of a Unix socket: 0 keeps its peer from sending descriptors; of one that listens, also the peers
 * of those that are accepted. Since Linux 6.16 */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* From the side of the same index to the other one. */
struct pair_lane {
	enum {
		PAIR_OPEN,
		PAIR_ENDING, /* all was read; what is held is still to be written */
		PAIR_ENDED,  /* and that it was all was passed on */
		PAIR_LOST,   /* nothing more is taken */
	} state;
	uint8_t *held; /* what was read and not taken yet; owned; NULL: nothing */
	uint32_t at, length;
};

struct pair {
	int sockets[2]; /* owned */
	struct pair_lane lanes[2];
	bool is_connecting; /* the second one: nothing is read before it is connected */
};

/* What epoll(7) is to wait for of a side, level-triggered; 0: nothing, and then not for its end
 * either. */
uint32_t pair_wants(const struct pair *pair, int side);

/*
 * Moves what it can, of a pair that is not connecting, when something has happened to a side,
 * through PAIR_BUFFER bytes of `buffer`. 0; -errno: it is broken.
 */
_must_check_ int pair_move(struct pair *pair, int side, uint8_t *buffer);

/* Nothing goes through it any more. */
bool pair_is_done(const struct pair *pair);

/* Closes all that it has; a TCP socket of one that is broken by a reset. */
void pair_end(struct pair *pair, bool is_broken);

/* The same of one socket. One that holds what a peer sent is not waited for. */
void pair_close(int fd, bool is_broken);
