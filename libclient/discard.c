/* SPDX-License-Identifier: Apache-2.0 */
/* See discard.h. */
#include "libclient/discard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

static void *close_one(void *fd)
{
	(void)close((int)(intptr_t)fd);
	return NULL;
}

void discard_fd(int fd)
{
	sigset_t all, before;
	pthread_t thread;

	if (fd < 0)
		return;
	(void)sigfillset(&all);
	/* The new thread must not take signals that the program handles in its own threads. */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, close_one, (void *)(intptr_t)fd) == 0)
		(void)pthread_detach(thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void discard_frame(struct frame *frame)
{
	for (size_t i = 0; i < frame->fd_count; i++)
		discard_fd(frame->fds[i]);
	frame->fd_count = 0;
}

void discard_socket(int socket)
{
	if (!frame_close_socket(socket))
		discard_fd(socket);
}
