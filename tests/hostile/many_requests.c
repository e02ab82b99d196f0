/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the helper for this and that, as a seed has it, and says what came of it: for
 * test_records.py, which compares that with the audit. Arguments: SEED COUNT Prints for each
 * request "begin NUMBER KIND ID" before it, and "end NUMBER CODE ID" when it was answered: the code
 * is enum yett_code, and the id is of the sandbox that was made or asked about, or "-".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libclient/yett.h"

#define HELD_MAX 6

enum kind {
	CREATE,
	GREEDY,
	STRANGE,
	NAMED,
	FAILING,
	PAUSE,
	RESUME,
	KILL,
	DESTROY,
	ATTACH,
	MOUNT,
	NETWORK,
	UNKNOWN,
	KINDS
};

static const char *const kinds[KINDS] = {"create", "greedy",  "strange", "named",   "failing",
                                         "pause",  "resume",  "kill",    "destroy", "attach",
                                         "mount",  "network", "unknown"};
/* Of a hundred. */
static const unsigned often[KINDS] = {25, 8, 5, 6, 6, 8, 8, 6, 8, 6, 4, 4, 6};

static struct held {
	struct yett_sandbox *sandbox;
	char id[YETT_ID_SIZE];
} held[HELD_MAX];
static size_t held_count;
static struct yett_connection *connection;

static enum kind choose(void)
{
	unsigned at = (unsigned)rand() % 100;
	enum kind kind = CREATE;

	while (kind + 1 < KINDS && at >= often[kind])
		at -= often[kind++];
	return kind;
}

static void let_go(size_t i)
{
	yett_sandbox_close(held[i].sandbox);
	held[i] = held[--held_count];
}

static int create(enum kind kind, char id[YETT_ID_SIZE], struct yett_error *error)
{
	static const struct yett_tmpfs nowhere = {.size = sizeof nowhere, .target = "/usr/bin/env"};
	struct yett_sandbox_options options = {.size = sizeof options};
	struct yett_sandbox *sandbox;
	int r;

	options.memory_bytes = kind == GREEDY ? UINT64_C(1) << 45 : 0;
	options.profile = kind == STRANGE ? "strange" : NULL;
	options.name = kind == NAMED ? "one" : NULL;
	options.tmpfs = &nowhere;
	options.tmpfs_count = kind == FAILING;
	r = yett_sandbox_create(connection, &options, &sandbox, error);
	if (r != 0)
		return r;
	(void)strcpy(id, yett_sandbox_get_info(sandbox)->id);
	if (held_count == HELD_MAX)
		let_go((size_t)rand() % HELD_MAX);
	held[held_count].sandbox = sandbox;
	(void)strcpy(held[held_count++].id, id);
	return 0;
}

static int attach(const char *id, struct yett_error *error)
{
	struct yett_sandbox *sandbox;
	int r = yett_sandbox_attach(connection, id, &sandbox, error);

	if (r == 0)
		yett_sandbox_close(sandbox);
	return r;
}

static int ask(enum kind kind, const char *id, struct yett_error *error)
{
	static int (*const by_id[KINDS])(struct yett_connection *, const char *,
	                                 struct yett_error *) = {[PAUSE] = yett_sandbox_pause,
	                                                         [RESUME] = yett_sandbox_resume,
	                                                         [KILL] = yett_sandbox_kill,
	                                                         [DESTROY] =
	                                                                 yett_sandbox_end_by_id};
	static const struct yett_share share = {
		.size = sizeof share, .path = "/etc", .target = "/mnt/etc"};
	static const char *const rule = "example.com:443";
	struct yett_sandbox_status *status;
	int r;

	if (by_id[kind])
		return by_id[kind](connection, id, error);
	if (kind == ATTACH)
		return attach(id, error);
	if (kind == MOUNT)
		return yett_sandbox_mount(connection, id, &share, 1, error);
	if (kind == NETWORK)
		return yett_network_change(connection, id, &rule, 1, NULL, 0, error);
	r = yett_sandbox_inspect(connection, "there-is-none", &status, error);
	if (r == 0)
		yett_free(status);
	return r;
}

/* Far beyond any load: a request that is not answered is for the test to notice. */
static const struct yett_connect_options options = {.size = sizeof options, .timeout_ms = 600000};

static void request(unsigned number)
{
	enum kind kind = choose();
	size_t i = held_count ? (size_t)rand() % held_count : 0;
	char id[YETT_ID_SIZE] = "-";
	struct yett_error error = {0};
	int r;

	if (kind > FAILING && kind != UNKNOWN && held_count == 0)
		kind = CREATE;
	if (kind > FAILING && kind != UNKNOWN)
		(void)strcpy(id, held[i].id);
	(void)printf("begin %u %s %s\n", number, kinds[kind], id);
	(void)fflush(stdout);
	r = kind <= FAILING ? create(kind, id, &error) : ask(kind, id, &error);
	(void)printf("end %u %d %s\n", number, r, id);
	(void)fflush(stdout);
	if (r == 0 && kind == DESTROY)
		let_go(i);
	if (r == YETT_E_HELPER_UNAVAILABLE || r == YETT_E_PROTOCOL) {
		(void)fprintf(stderr, "%s: %s\n", kinds[kind], error.message);
		while (held_count > 0)
			let_go(0);
		yett_connection_close(connection);
		if (yett_connect(&options, &connection, &error) != 0) {
			(void)fprintf(stderr, "cannot connect again: %s\n", error.message);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	struct yett_error error;

	if (argc != 3)
		return 2;
	srand((unsigned)atoi(argv[1]));
	if (yett_connect(&options, &connection, &error) != 0) {
		(void)fprintf(stderr, "cannot connect: %s\n", error.message);
		return 1;
	}
	for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++)
		request(i);
	while (held_count > 0)
		let_go(0);
	yett_connection_close(connection);
	return 0;
}
