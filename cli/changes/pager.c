/* SPDX-License-Identifier: Apache-2.0 */
/* See pager.h. */
#include "cli/changes/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/output.h"

#define NOT_FOUND 127 /* exit status of sh(1) */

extern char **environ;

bool pager_is_terminal(void)
{
	const char *type = getenv("TERM");

	return isatty(STDOUT_FILENO) && type && *type && strcmp(type, "dumb") != 0;
}

/* Returns NULL if the user wants no pager. */
static const char *find_command(void)
{
	const char *named = getenv("PAGER");

	if (named)
		return *named && strcmp(named, "cat") != 0 ? named : NULL;
	return "less -FRX";
}

/*
 * less(1) and lv(1) pass colours through only with an option. Set the variables for that only if
 * the user has not set them.
 */
static int spawn_pager(const char *command, int input, pid_t *ret_pid)
{
	char *const by_shell[] = {"sh", "-c", (char *)command, NULL}, *const less[] = {
									      "less", "-FRX", NULL};
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	(void)setenv("LESS", "FRX", false);
	(void)setenv("LV", "-c", false);
	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (r == 0 && getenv("PAGER"))
		r = posix_spawn(ret_pid, "/bin/sh", &actions, NULL, by_shell, environ);
	else if (r == 0)
		r = posix_spawnp(ret_pid, "less", &actions, NULL, less, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

void pager_start(struct pager *pager, bool wanted)
{
	int ends[2] = {-1, -1};

	*pager = (struct pager){.to = stdout, .command = find_command()};
	if (!wanted || !pager->command || !pager_is_terminal() || pipe2(ends, O_CLOEXEC) < 0)
		return;
	if (spawn_pager(pager->command, ends[0], &pager->pid) == 0)
		pager->to = fdopen(ends[1], "w");
	else
		pager->pid = 0;
	fd_close(ends[0]);
	if (pager->pid == 0 || !pager->to) {
		fd_close(ends[1]);
		pager->to = stdout;
		return;
	}
	/*
	 * The pager handles the keys. If a key ended us, the pager would compete with the shell for
	 * the terminal.
	 */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
}

bool pager_end(struct pager *pager)
{
	bool is_whole = true;
	int status = 0;

	if (pager->pid == 0)
		return true;
	is_whole = fflush(pager->to) == 0 && !ferror(pager->to);
	(void)fclose(pager->to);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	pager->pid = 0;
	pager->to = stdout;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		output_note(
			"the pager %s is not there; PAGER names another one, and --no-pager goes without",
			pager->command);
	return is_whole;
}
