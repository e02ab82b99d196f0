/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed, as ratios against a peer in the same run: bubblewrap for sandboxes, posix_spawn(3) for a
 * command.
 *
 * Each of the two is measured alone, many times in a row, and both are measured in pairs, in turns.
 * Alone, what we do afterwards to be ready for the next one takes time from our next one; in pairs
 * it takes time from the peer, too. The worse of the two ratios counts. Runs as an ordinary user
 * against a service (YETT_SOCKET), or in personal mode (YETT_HELPER), as root or without it, in a
 * directory that it can make others in, which are shared. Prints a table, and the list
 * build/bench.json is made of.
 */
#include "measure.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 1000
/* of one alone, before the other one's turn: a machine that gets slower slows both */
#define ROW 50
/* before each row and the pairs, not counted: what the one before left to be done is done by then
 */
#define WARM_UP   5
#define CLIENTS   8
#define ROUNDS    5 /* of clients at once */
#define SHARES    16
#define AFTER_MAX 5 /* sandboxes after the first one */

static struct yett_connection *connection;
static struct yett_sandbox *live;
static const char *cli;
static char folder[PATH_MAX]; /* of what is shared */
static char paths[SHARES][PATH_MAX + 16];
static struct yett_share shares[SHARES];

static void make_sandbox(const struct yett_sandbox_options *options)
{
	struct yett_sandbox *sandbox;
	struct yett_error error = {0};

	if (yett_sandbox_create(connection, options, &sandbox, &error))
		fail("create", &error);
	exec_true(sandbox);
	if (yett_sandbox_end(sandbox, &error))
		fail("destroy", &error);
	yett_sandbox_close(sandbox);
}

static void ours_sandbox(void)
{
	make_sandbox(NULL);
}

static void ours_shares(void)
{
	const struct yett_sandbox_options options = {
		.size = sizeof options, .shares = shares, .shares_count = SHARES};

	make_sandbox(&options);
}

static void connect_here(void)
{
	struct yett_error error = {0};

	if (yett_connect(NULL, &connection, &error))
		fail("connect", &error);
}

static void ours_connection(void)
{
	struct yett_connection *kept = connection;

	connect_here();
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
	static const char *const argv[] = {
		"bwrap",  "--unshare-all", "--ro-bind", "/",    "/",         "--dev", "/dev",
		"--proc", "/proc",         "--tmpfs",   "/tmp", "/bin/true", NULL};

	spawn_and_wait(argv);
}

static void peer_spawn(void)
{
	static const char *const argv[] = {"/bin/true", NULL};

	spawn_and_wait(argv);
}

/* The ratios that are wanted: with a service, back to back and after idling; without root. 0: none.
 */
struct goal {
	double service, idle, without_root;
};

static const struct {
	const char *name;
	void (*ours)(void);
	const char *peer_name;
	void (*peer)(void);
	struct goal goal;
} cases[] = {
	{"sandbox, command, teardown", ours_sandbox, "bubblewrap", peer_bwrap, {0.5, 0.5, 0.8}},
	{"the same with a connection of its own",
         ours_connection,
         "bubblewrap",
         peer_bwrap,
         {0.7, 0.7, 0}},
	{"command in a live sandbox", ours_command, "posix_spawn", peer_spawn, {1.2, 1.35, 0}},
	{"yett run -- true", ours_cli, "bubblewrap", peer_bwrap, {1.0, 1.0, 1.5}},
	{"sandbox with sixteen shares", ours_shares, "no share", ours_sandbox, {1.3, 1.3, 0}},
};

static double wanted(const struct goal *goal, const char *mode, bool is_idle)
{
	if (strcmp(mode, "service") == 0)
		return is_idle ? goal->idle : goal->service;
	return strcmp(mode, "without root") == 0 ? goal->without_root : 0;
}

static void warm_up(void (*function)(void))
{
	for (int i = 0; i < WARM_UP; i++)
		function();
}

static void measure_alone(void (*function)(void), long idle_ms, int from, int to, double *times)
{
	if (idle_ms == 0)
		warm_up(function);
	for (int n = from; n < to; n++)
		times[n] = timed(function, idle_ms);
}

static void measure(size_t i, const char *mode, long idle_ms, int count, FILE *json)
{
	static double ours[COUNT_MAX], peer[COUNT_MAX];
	struct ratio alone, pairs;
	char how[64];

	for (int from = 0, to; from < count; from = to) {
		to = count - from > ROW ? from + ROW : count;
		measure_alone(cases[i].ours, idle_ms, from, to, ours);
		measure_alone(cases[i].peer, idle_ms, from, to, peer);
	}
	alone = (struct ratio){median(ours, count), median(peer, count)};
	warm_up(cases[i].ours);
	for (int n = 0; n < count; n++) {
		ours[n] = timed(cases[i].ours, idle_ms);
		peer[n] = timed(cases[i].peer, idle_ms);
	}
	pairs = (struct ratio){median(ours, count), median(peer, count)};
	(void)snprintf(how, sizeof how, "%s, %s", mode,
	               idle_ms ? "after 300 ms idle" : "back to back");
	report_worse(json, cases[i].name, how, alone, cases[i].peer_name, pairs,
	             wanted(&cases[i].goal, mode, idle_ms != 0));
}

/* --- clients at once --- */

/* One of them: says that it is there, waits for the start, and makes so many sandboxes. */
static _Noreturn void be_client(void (*function)(void), bool connects, int count, int ready,
                                int start)
{
	char byte = 0;

	if (connects)
		connect_here();
	warm_up(function);
	if (write(ready, &byte, 1) != 1 || read(start, &byte, 1) != 0)
		_exit(1);
	for (int i = 0; i < count; i++)
		function();
	_exit(0);
}

/* How many a second all clients together make. */
static double rate(void (*function)(void), bool connects, int count)
{
	pid_t clients[CLIENTS];
	int ready[2], start[2], status;
	double before;
	char byte;

	if (pipe(ready) < 0 || pipe(start) < 0)
		fail("pipe", NULL);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = fork();
		if (clients[i] < 0)
			fail("fork", NULL);
		if (clients[i] == 0) {
			close(start[1]);
			be_client(function, connects, count, ready[1], start[0]);
		}
	}
	close(ready[1]);
	for (int i = 0; i < CLIENTS; i++)
		if (read(ready[0], &byte, 1) != 1)
			fail("a client that did not start", NULL);
	before = now_ms();
	close(start[1]);
	for (int i = 0; i < CLIENTS; i++)
		if (waitpid(clients[i], &status, 0) < 0 || status != 0)
			fail("a client that did not end well", NULL);
	close(ready[0]);
	close(start[0]);
	return CLIENTS * count / (now_ms() - before) * 1e3;
}

static void measure_at_once(const char *mode, int count, FILE *json)
{
	double ours[ROUNDS], peer[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = rate(ours_sandbox, true, count);
		peer[i] = rate(peer_bwrap, false, count);
	}
	report_rate(json, "eight clients at once", mode, median(ours, ROUNDS), "bubblewrap",
	            median(peer, ROUNDS), strcmp(mode, "service") == 0 ? 1.5 : 0);
}

/* --- after a rest --- */

/* What the first one costs when nothing of this user's was there for so long, with a connection of
 * its own; and those after it. */
static void measure_after_rest(const char *mode, long rest_s, FILE *json)
{
	double first = timed(ours_connection, rest_s * 1000), after[AFTER_MAX];
	char how[64];

	for (int i = 0; i < AFTER_MAX; i++)
		after[i] = timed(ours_connection, 0);
	(void)snprintf(how, sizeof how, "%s, after %ld s", mode, rest_s);
	report(json, "the first after a rest, connection and all", how, first, "the next",
	       median(after, AFTER_MAX), 0);
}

static void make_shares(void)
{
	char made[] = "shares.XXXXXX";

	if (!mkdtemp(made) || !realpath(made, folder))
		fail(made, NULL);
	for (int i = 0; i < SHARES; i++) {
		(void)snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
		if (mkdir(paths[i], 0700) < 0)
			fail(paths[i], NULL);
		shares[i] = (struct yett_share){.size = sizeof shares[i], .path = paths[i]};
	}
}

static void remove_shares(void)
{
	for (int i = 0; i < SHARES; i++)
		(void)rmdir(paths[i]);
	(void)rmdir(folder);
}

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	bool created;
	int count;
	FILE *json;

	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: bench MODE CLI COUNT JSON-LINES [REST-SECONDS]\n");
		return 2;
	}
	cli = argv[2];
	count = atoi(argv[3]);
	json = fopen(argv[4], "ae");
	if (!json || count < 1 || count > COUNT_MAX)
		fail(argv[4], NULL);
	make_shares();
	if (atexit(remove_shares) || yett_key_ensure(NULL, &created, &error))
		fail("start", &error);
	connect_here();
	if (yett_sandbox_create(connection, NULL, &live, &error))
		fail("create", &error);
	report_heading();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		measure(i, argv[1], 0, count, json);
		measure(i, argv[1], 300, count >= 10 ? count / 10 : 1, json);
	}
	measure_at_once(argv[1], count >= CLIENTS ? count / CLIENTS : 1, json);
	yett_sandbox_end(live, NULL);
	yett_sandbox_close(live);
	yett_connection_close(connection);
	if (argc == 6)
		measure_after_rest(argv[1], atol(argv[5]), json);
	fclose(json);
	return 0;
}
