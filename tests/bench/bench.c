/*
 * Speed, as ratios against a peer in the same run: bubblewrap for sandboxes, posix_spawn(3) for a command.
 *
 * Pairs are measured in turn, ours and the peer's, so that a machine that gets slower slows both. Runs as an ordinary user against
 * a service (YETT_SOCKET), or in personal mode (YETT_HELPER), as root or without it. Prints a table, and the list build/bench.json is made of.
 */
#include "measure.h"

#include <stdlib.h>

#define COUNT_MAX 1000

static struct yett_connection *connection;
static struct yett_sandbox *live;
static const char *cli;

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
	{"command in a live sandbox", ours_command, "posix_spawn", peer_spawn, 1.3},
	{"yett run -- true", ours_cli, "bubblewrap", peer_bwrap, 1.2},
};

static void measure(size_t i, const char *mode, long idle_ms, int count, FILE *json)
{
	static double ours[COUNT_MAX], peer[COUNT_MAX];
	char how[64];
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
	(void)snprintf(how, sizeof how, "%s, %s", mode, idle_ms ? "after 300 ms idle" : "back to back");
	report(json, cases[i].name, how, o, cases[i].peer_name, p, cases[i].wanted);
}

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	bool created;
	FILE *json;

	if (argc != 5) {
		fprintf(stderr, "usage: bench MODE CLI COUNT JSON-LINES\n");
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
