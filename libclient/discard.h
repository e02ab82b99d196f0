/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes what a peer sent and should not have sent.
 *
 * close(2) of such a descriptor can block for as long as the peer likes (a TCP socket with
 * SO_LINGER, a file on a FUSE file system that does not answer), and the peer may be a compromised
 * init. So a detached thread closes the descriptor, and the program does not wait for that thread.
 * If no thread can be started, the descriptor stays open, because a leak is better than a program
 * that hangs.
 */
#pragma once

#include "protocol/frame.h"

/* Takes -1. */
void discard_fd(int fd);

/* Closes the descriptors of a frame that were not taken. */
void discard_frame(struct frame *frame);

/* Closes a socket with everything that is queued in it. Takes -1. */
void discard_socket(int socket);
