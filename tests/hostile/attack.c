/* See attack.h. With "building" as its argument those of a builder, too. Prints a line "NAME RESULT" for each attack: "works", the name of an errno, or that of a signal. */
#include "tests/hostile/attack.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

const char *attack_path(const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", getenv("ATTACK_DIR"), name);
	return path;
}

/* In a child, so that one that is killed for trying, or changes what it is, does not end the others. */
static void try_one(const struct attack *attack, int *shared)
{
	pid_t child;
	int status = 0;

	*shared = 1; /* no result */
	child = fork();
	if (child == 0) {
		/* Where mounting works it must not reach the other attacks, nor the host. */
		if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(1);
		*shared = attack->run(attack->argument);
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	if (*shared == 1 && WIFSIGNALED(status))
		(void)printf("%s SIG%s\n", attack->name, sigabbrev_np(WTERMSIG(status)));
	else if (*shared == 0)
		(void)printf("%s works\n", attack->name);
	else
		(void)printf("%s %s\n", attack->name, *shared < 0 ? strerrorname_np(-*shared) : "silent");
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct attack *const subjects[] = {attack_processes, attack_kernel, attack_files, attack_sockets, attack_building};
	size_t count = ARRAY_SIZE(subjects) - !(argc > 1 && strcmp(argv[1], "building") == 0);
	int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < count; i++)
		for (const struct attack *attack = subjects[i]; attack->name; attack++)
			try_one(attack, shared);
	return 0;
}
