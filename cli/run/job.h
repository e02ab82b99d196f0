/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job control: whether our process group is in the foreground of the terminal, and how we stop as a
 * job of a shell does.
 *
 * Runs as the caller. The kernel sends SIGTTIN or SIGTTOU to a process in the background that uses
 * its terminal. By default the process would stop inside that system call, again after every
 * SIGCONT, and would never get to read other signals. Therefore the call is interrupted instead,
 * and the caller stops where it next looks at the signals that came meanwhile. termios(3),
 * setpgid(2)
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct job {
	bool is_caught;
	struct sigaction ttin, ttou; /* the earlier actions */
};

/*
 * job_catch() makes SIGTTIN and SIGTTOU interrupt system calls, unless they are ignored or handled
 * already; job_release() restores the earlier actions, and does nothing without job_catch().
 */
void job_catch(struct job *job);
void job_release(struct job *job);

/*
 * Whether we may read the terminal `fd`. True also for a terminal that is not our controlling
 * terminal, since the kernel does not restrict its use.
 */
bool job_is_foreground(int fd);

/*
 * Stops this process with the default action of the signal `number`, until it is continued. The
 * kernel does not stop a process of an orphaned group, which nobody could continue.
 */
void job_stop(int number);

/*
 * Opens the terminal of `fd` again, non-blocking. The open file description of `fd` is shared with
 * the shell and stays unchanged. `flags` is O_RDONLY or O_WRONLY. Returns -1 if `fd` is no
 * terminal, or the terminal may not be opened.
 */
int job_open_terminal(int fd, int flags);
