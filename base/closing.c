/* SPDX-License-Identifier: Apache-2.0 */
/* See closing.h. */
#include "base/closing.h"
#include "base/fd.h"

#include <signal.h>
#include <sys/time.h>

#define CLOSING_MS 20

static void closing_interrupt(_unused_ int number)
{
}

void closing_bound(bool is_on)
{
	const struct timeval every = {.tv_usec = is_on ? CLOSING_MS * 1000 : 0};

	if (is_on)
		(void)sigaction(SIGALRM, &(struct sigaction){.sa_handler = closing_interrupt},
		                NULL);
	(void)setitimer(ITIMER_REAL, &(struct itimerval){every, every}, NULL);
}

int closing_fd(int fd)
{
	if (fd >= 0) {
		closing_bound(true);
		fd_close(fd);
		closing_bound(false);
	}
	return -1;
}
