/* See measure.h. */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

void fail(const char *what, const struct yett_error *error)
{
	fprintf(stderr, "bench: %s: %s; %s\n", what, error ? error->message : strerror(errno), error ? error->detail : "");
	exit(1);
}

double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double timed(void (*function)(void), long idle_ms)
{
	struct timespec pause = {idle_ms / 1000, idle_ms % 1000 * 1000000};
	double before;

	if (idle_ms)
		nanosleep(&pause, NULL);
	before = now_ms();
	function();
	return now_ms() - before;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 2];
}

void spawn_and_wait(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		fail(argv[0], NULL);
	posix_spawn_file_actions_destroy(&actions);
}

void exec_true(struct yett_sandbox *sandbox)
{
	static const char *const argv[] = {"/bin/true", NULL};
	struct yett_command_options options = {.argv = argv};
	struct yett_command *command;
	struct yett_result result;
	struct yett_error error = {0};

	if (yett_sandbox_exec(sandbox, &options, &command, &error) || yett_command_wait(command, -1, &result, &error) || result.status)
		fail("exec", &error);
	yett_command_free(command);
}

void report(FILE *json, const char *name, const char *how, double ours_ms, const char *peer, double peer_ms, double wanted)
{
	printf("%-40s %-26s %8.3f %8.3f  %-12s %6.2f  (wanted %.2f)\n", name, how, ours_ms, peer_ms, peer, ours_ms / peer_ms, wanted);
	fprintf(json, "{\"case\": \"%s, %s\", \"ours_ms\": %.4f, \"peer\": \"%s\", \"peer_ms\": %.4f, \"ratio\": %.4f}\n", name, how, ours_ms,
		peer, peer_ms, ours_ms / peer_ms);
	fflush(stdout);
}
