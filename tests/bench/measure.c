/* SPDX-License-Identifier: Apache-2.0 */
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
	fprintf(stderr, "bench: %s: %s; %s\n", what, error ? error->message : strerror(errno),
	        error ? error->detail : "");
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
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) !=
	            0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		fail(argv[0], NULL);
	posix_spawn_file_actions_destroy(&actions);
}

void exec_true(struct yett_sandbox *sandbox)
{
	static const char *const argv[] = {"/bin/true", NULL};
	struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct yett_command *command;
	const struct yett_result *result = NULL;
	struct yett_error error = {0};

	if (yett_sandbox_exec(sandbox, &options, &command, &error) ||
	    yett_command_wait(command, -1, &result, &error) || result->status)
		fail("exec", &error);
	yett_command_free(command);
}

/* What ends a line of the table. */
static void print_ratio(double ratio, const char *goal, double wanted)
{
	printf(" %6.2f", ratio);
	if (wanted > 0)
		printf("  (wanted %s%.2f)", goal, wanted);
	printf("\n");
	fflush(stdout);
}

void report(FILE *json, const char *name, const char *how, double ours_ms, const char *peer,
            double peer_ms, double wanted)
{
	printf("%-42s %-32s %8.3f %8.3f  %-12s", name, how, ours_ms, peer_ms, peer);
	print_ratio(ours_ms / peer_ms, "", wanted);
	fprintf(json,
	        "{\"case\": \"%s, %s\", \"ours_ms\": %.4f, \"peer\": \"%s\", \"peer_ms\": %.4f, \"ratio\": %.4f}\n",
	        name, how, ours_ms, peer, peer_ms, ours_ms / peer_ms);
}

void report_heading(void)
{
	printf("%-42s %-32s %8s %8s %6s   %8s %8s %6s  %-12s %6s\n", "", "", "alone", "peer",
	       "ratio", "in turns", "peer", "ratio", "peer", "worse");
}

static double ratio_of(struct ratio of)
{
	return of.ours_ms / of.peer_ms;
}

void report_worse(FILE *json, const char *name, const char *how, struct ratio alone,
                  const char *peer, struct ratio pairs, double wanted)
{
	struct ratio worse = ratio_of(alone) > ratio_of(pairs) ? alone : pairs;

	printf("%-42s %-32s %8.3f %8.3f %6.2f   %8.3f %8.3f %6.2f  %-12s", name, how, alone.ours_ms,
	       alone.peer_ms, ratio_of(alone), pairs.ours_ms, pairs.peer_ms, ratio_of(pairs), peer);
	print_ratio(ratio_of(worse), "", wanted);
	fprintf(json,
	        "{\"case\": \"%s, %s\", \"ours_ms\": %.4f, \"peer\": \"%s\", \"peer_ms\": %.4f, \"ratio\": %.4f, \"ratio_alone\": %.4f, "
	        "\"ratio_in_turns\": %.4f}\n",
	        name, how, worse.ours_ms, peer, worse.peer_ms, ratio_of(worse), ratio_of(alone),
	        ratio_of(pairs));
}

void report_rate(FILE *json, const char *name, const char *how, double ours, const char *peer,
                 double peers, double wanted)
{
	printf("%-42s %-32s %7.1f/s %7.1f/s  %-12s", name, how, ours, peers, peer);
	print_ratio(ours / peers, "at least ", wanted);
	fprintf(json,
	        "{\"case\": \"%s, %s\", \"ours_per_s\": %.2f, \"peer\": \"%s\", \"peer_per_s\": %.2f, \"ratio\": %.4f}\n",
	        name, how, ours, peer, peers, ours / peers);
}
