/*
 * Job control: whose terminal it is at the moment, and standing still as a job of a shell does.
 *
 * Runs as the caller. What the kernel sends to a process that uses its terminal in the background
 * would stop it inside the call, again and again as often as it is continued, and no other signal
 * would ever be read. So the call is interrupted instead, and who made it stops where the signals
 * that came meanwhile are looked at next. termios(3), setpgid(2)
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct job {
	bool is_caught;
	struct sigaction ttin, ttou; /* as they were */
};

/* From now on, or as before. What is ignored stays so; what is not caught is not changed. */
void job_catch(struct job *job);
void job_release(struct job *job);

/* Whether the terminal `fd` is ours to read. So is one that does not control us: nobody keeps us
 * from it. */
bool job_is_foreground(int fd);

/* Stops as `number` does by default, until somebody continues us. Where nobody could, the kernel
 * does not stop us. */
void job_stop(int number);

/*
 * The terminal behind `fd`, opened anew so that it never blocks: the description behind `fd` is the
 * shell's, too, and stays as it is. `flags` are O_RDONLY or O_WRONLY. -1 when it may not be opened,
 * or is no terminal.
 */
int job_open_terminal(int fd, int flags);
