/*
 * Speed, as ratios against a peer in the same run: bubblewrap for sandboxes, posix_spawn(3) for a command.
 *
 * Pairs are measured in turn, ours and the peer's, so that a machine that gets slower slows both. Runs as an ordinary user against
 * a service (YETT_SOCKET), or in personal mode (YETT_HELPER), as root or without it. Prints a table, and the list build/bench.json is made of.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <yett.h>

#define COUNT_MAX 1000

extern char **environ;

static struct yett_connection *connection;
static struct yett_sandbox *live;
static const char *cli;

static void fail(const char *what, const struct yett_error *error)
{
	fprintf(stderr, "bench: %s: %s; %s\n", what, error ? error->message : strerror(errno), error ? error->detail : "");
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void spawn_and_wait(const char *const *argv)
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

static void exec_true(struct yett_sandbox *sandbox)
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

static void ours_sandbox(void)
{
	struct yett_sandbox *sandbox;
	struct yett_error error = {0};

	if (yett_sandbox_create(connection, NULL, &sandbox, &error))
		fail("create", &error);
	exec_true(sandbox);
	if (yett_sandbox_destroy(sandbox, &error))
		fail("destroy", &error);
}

static void ours_connection(void)
{
	struct yett_connection *kept = connection;
	struct yett_error error = {0};

	if (yett_connect(NULL, &connection, &error))
		fail("connect", &error);
	ours_sandbox();
	yett_connection_close(connection);
	connection = kept;
}

static void ours_command(void)
{
	exec_true(live);
}

static void ours_cli(void)
{
	const char *const argv[] = {cli, "run", "--", "true", NULL};

	spawn_and_wait(argv);
}

static void peer_bwrap(void)
{
	static const char *const argv[] = {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
					   "--tmpfs", "/tmp", "/bin/true", NULL};

	spawn_and_wait(argv);
}

static void peer_spawn(void)
{
	static const char *const argv[] = {"/bin/true", NULL};

	spawn_and_wait(argv);
}

static const struct {
	const char *name;
	void (*ours)(void);
	const char *peer_name;
	void (*peer)(void);
	double wanted;
} cases[] = {
	{"sandbox, command, teardown", ours_sandbox, "bubblewrap", peer_bwrap, 0.75},
	{"the same with a connection of its own", ours_connection, "bubblewrap", peer_bwrap, 0.75},
	{"command in a live sandbox", ours_command, "posix_spawn", peer_spawn, 1.5},
	{"yett run -- true", ours_cli, "bubblewrap", peer_bwrap, 1.2},
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 2];
}

static double timed(void (*function)(void), long idle_ms)
{
	struct timespec pause = {idle_ms / 1000, idle_ms % 1000 * 1000000};
	double before;

	if (idle_ms)
		nanosleep(&pause, NULL);
	before = now_ms();
	function();
	return now_ms() - before;
}

static void measure(size_t i, const char *mode, long idle_ms, int count, FILE *json)
{
	static double ours[COUNT_MAX], peer[COUNT_MAX];
	double o, p;

	for (int n = -3; n < count; n++) {
		double a = timed(cases[i].ours, idle_ms), b = timed(cases[i].peer, idle_ms);

		if (n >= 0) {
			ours[n] = a;
			peer[n] = b;
		}
	}
	/* Back to back is each alone in a row: pairs would give our refills the peer's time. */
	if (idle_ms == 0)
		for (int n = 0; n < count; n++)
			ours[n] = timed(cases[i].ours, 0);
	o = median(ours, count);
	p = median(peer, count);
	printf("%-40s %-12s %-14s %8.3f %8.3f  %-12s %6.2f  (wanted %.2f)\n", cases[i].name, mode, idle_ms ? "after 300 ms" : "back to back",
	       o, p, cases[i].peer_name, o / p, cases[i].wanted);
	fprintf(json, "{\"case\": \"%s, %s, %s\", \"ours_ms\": %.4f, \"peer\": \"%s\", \"peer_ms\": %.4f, \"ratio\": %.4f}\n", cases[i].name,
		mode, idle_ms ? "after 300 ms idle" : "back to back", o, cases[i].peer_name, p, o / p);
	fflush(stdout);
}

/* Holds `count` idle sandboxes, each on a connection of its own, until standard input ends. */
static int hold(int count)
{
	struct yett_error error = {0};
	struct yett_connection *one;
	struct yett_sandbox *sandbox;
	bool created;
	char byte;

	if (yett_key_ensure(NULL, &created, &error))
		fail("key", &error);
	for (int i = 0; i < count; i++) {
		if (yett_connect(NULL, &one, &error) || yett_sandbox_create(one, NULL, &sandbox, &error))
			fail("hold", &error);
		exec_true(sandbox);
	}
	printf("held\n");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1; /* the process's end closes them all */
}

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	bool created;
	FILE *json;

	if (argc == 3 && strcmp(argv[1], "hold") == 0)
		return hold(atoi(argv[2]));
	if (argc != 5) {
		fprintf(stderr, "usage: bench MODE CLI COUNT JSON-LINES | bench hold COUNT\n");
		return 2;
	}
	cli = argv[2];
	json = fopen(argv[4], "ae");
	if (!json || atoi(argv[3]) > COUNT_MAX)
		fail(argv[4], NULL);
	if (yett_key_ensure(NULL, &created, &error) || yett_connect(NULL, &connection, &error) ||
	    yett_sandbox_create(connection, NULL, &live, &error))
		fail("start", &error);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		measure(i, argv[1], 0, atoi(argv[3]), json);
		measure(i, argv[1], 300, atoi(argv[3]) / 10, json);
	}
	fclose(json);
	yett_sandbox_destroy(live, NULL);
	yett_connection_close(connection);
	return 0;
}
