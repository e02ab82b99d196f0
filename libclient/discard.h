/*
 * Closing what a peer sent that it should not have sent.
 *
 * close(2) of such a descriptor may wait for as long as the peer chose (a TCP socket with
 * SO_LINGER, a file of a FUSE that does not answer), and the peer is perhaps a captured init. A
 * thread of its own does it then, which the program does not wait for. Where there can be no thread
 * the descriptor stays open: rather that than a program that stands still.
 */
#pragma once

#include "protocol/frame.h"

/* Takes -1, too. */
void discard_fd(int fd);

/* The descriptors of a frame that nobody took. */
void discard_frame(struct frame *frame);

/* A socket, with all that is queued in it. Takes -1, too. */
void discard_socket(int socket);
