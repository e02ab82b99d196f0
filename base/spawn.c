/* SPDX-License-Identifier: Apache-2.0 */
/* See spawn.h. */
#include "base/spawn.h"

#include <signal.h>
#include <spawn.h>

static int add_descriptors(posix_spawn_file_actions_t *actions, int input, const int *fds,
                           size_t count)
{
	int r = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);

	/*
	 * To duplicate a descriptor onto itself clears its close-on-exec flag in the child.
	 * posix_spawn_file_actions_adddup2(3)
	 */
	for (size_t i = 0; r == 0 && i < count; i++)
		r = posix_spawn_file_actions_adddup2(actions, fds[i], fds[i]);
	return r;
}

int spawn(const char *path, char *const argv[], int input, const int *fds, size_t count,
          pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *environment[] = {NULL};
	sigset_t all, none;
	int r;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		(void)posix_spawnattr_setflags(&attributes,
		                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		(void)posix_spawnattr_setsigdefault(&attributes, &all);
		r = add_descriptors(&actions, input, fds, count);
		if (r == 0)
			r = posix_spawn(ret_pid, path, &actions, &attributes, argv, environment);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}
