/* SPDX-License-Identifier: Apache-2.0 */
/* See job.h. */
#include "cli/run/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

static void job_interrupt(int number)
{
	(void)number;
}

static void take_over(int number, struct sigaction *before)
{
	const struct sigaction interrupting = {.sa_handler =
	                                               job_interrupt}; /* without SA_RESTART */

	(void)sigaction(number, NULL, before);
	if (before->sa_handler == SIG_DFL)
		(void)sigaction(number, &interrupting, NULL);
}

void job_catch(struct job *job)
{
	take_over(SIGTTIN, &job->ttin);
	take_over(SIGTTOU, &job->ttou);
	job->is_caught = true;
}

void job_release(struct job *job)
{
	if (!job->is_caught)
		return;
	job->is_caught = false;
	(void)sigaction(SIGTTIN, &job->ttin, NULL);
	(void)sigaction(SIGTTOU, &job->ttou, NULL);
}

bool job_is_foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

void job_stop(int number)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	struct sigaction before;
	sigset_t set, mask;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)sigaction(number, &by_default, &before);
	(void)raise(number);
	(void)sigprocmask(SIG_UNBLOCK, &set, &mask); /* if it was blocked, we stop here */
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(number, &before, NULL);
}

int job_open_terminal(int fd, int flags)
{
	char path[32];
	int own;

	if (!isatty(fd))
		return -1;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/*
	 * After su(1) the terminal still belongs to the user who logged in. But any process may
	 * open its controlling terminal by this name.
	 */
	return own < 0 && tcgetsid(fd) == getsid(0)
	               ? open("/dev/tty", flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
	               : own;
}
