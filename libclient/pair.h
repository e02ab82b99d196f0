/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pair of sockets: copies the bytes of each to the other, until both sides have sent everything.
 *
 * Runs with the caller's privilege. No call blocks, whatever flags other holders of the sockets
 * have set: each call passes MSG_DONTWAIT. If one side does not take its bytes, up to PAIR_BUFFER
 * bytes are buffered and no more are read for it. End-of-file in one direction is passed on, and
 * the other direction stays open. Descriptors that arrive with bytes are closed and end the pair:
 * passing them on would give them to the other side.
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>
#include <stdint.h>

#define PAIR_BUFFER 65536

/*
 * A socket option of Unix sockets since Linux 6.16: 0 stops the peer from sending descriptors. On a
 * listening socket it also applies to the sockets that are accepted.
 */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* One direction: from the side with the same index to the other side. */
struct pair_lane {
	enum {
		PAIR_OPEN,
		PAIR_ENDING, /* end-of-file was read; buffered bytes are still to be written */
		PAIR_ENDED,  /* everything was written and end-of-file was passed on */
		PAIR_LOST,   /* the receiving side takes nothing more */
	} state;
	uint8_t *held; /* bytes that were read and not written yet; owned; NULL: none */
	uint32_t at, length;
};

struct pair {
	int sockets[2]; /* owned */
	struct pair_lane lanes[2];
	/* The second socket is still connecting. Nothing is read until it is connected. */
	bool is_connecting;
};

/*
 * The events that epoll(7), level-triggered, must wait for on a side. 0: none; then remove the
 * socket from epoll, which would report its hang-up otherwise.
 */
uint32_t pair_wants(const struct pair *pair, int side);

/*
 * Moves what it can when something has happened on `side` of a pair that is not connecting.
 * `buffer` has PAIR_BUFFER bytes. Returns 0, or -errno: the pair is broken.
 */
_must_check_ int pair_move(struct pair *pair, int side, uint8_t *buffer);

/* Returns whether both directions are finished. */
bool pair_is_done(const struct pair *pair);

/* Closes both sockets and frees the buffers. If `is_broken`, a TCP socket sends a reset. */
void pair_end(struct pair *pair, bool is_broken);

/*
 * Does the same for one socket. A Unix socket that may have queued descriptors is closed by
 * discard_fd(), since close(2) of these can block.
 */
void pair_close(int fd, bool is_broken);
