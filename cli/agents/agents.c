/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett tool`, `yett mcp` and `yett serve`: parse the options and execute yett-agent in place of
 * this program, so that no other subcommand has to link the libraries of yett-agent.
 *
 * Runs as the caller.
 */
#include "cli/options.h"
#include "cli/subcommands.h"

#include <limits.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/output.h"

#define PROGRAM   "yett-agent"
#define WORDS_MAX 32
#define GIVEN_MAX 256

struct agents_options {
	struct connect_choice connect;
	bool lines, list;
	const char *port, *token_file, *listen, *patience, *request_time, *idle_exit;
	const char *given[2 * GIVEN_MAX]; /* limits on requests: option, value, … */
	size_t given_count;
};

static int agents_give(void *into, const char *option, const char *value, struct yett_error *error)
{
	struct agents_options *options = into;

	if (!*value || options->given_count == ARRAY_SIZE(options->given))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s: %s", option,
		                 *value ? "there are too many" : "it has an empty value");
	options->given[options->given_count++] = option;
	options->given[options->given_count++] = value;
	return 0;
}

#define OPTION_GIVEN(name)                                                              \
	static int give_##name(void *into, const char *value, struct yett_error *error) \
	{                                                                               \
		return agents_give(into, "--" #name, value, error);                     \
	}

OPTION_GIVEN(ro)
OPTION_GIVEN(rw)
OPTION_GIVEN(cow)
OPTION_GIVEN(allow)
OPTION_GIVEN(net)
OPTION_GIVEN(profile)
OPTION_GIVEN(memory)
OPTION_GIVEN(cpus)
OPTION_GIVEN(pids)
OPTION_GIVEN(sandboxes)

/*
 * Rows of all three tables: with them, the user who starts the agent limits what requests may ask
 * for.
 */
#define GIVEN_OPTIONS                                                                             \
	{0, "ro", "PATH", "allow requests to share this path read-only; repeatable", give_ro},    \
		{0, "rw", "PATH", "allow requests to share this path writable; repeatable",       \
	         give_rw},                                                                        \
		{0, "cow", "PATH",                                                                \
	         "allow requests to share this path copy-on-write; repeatable (.)", give_cow},    \
		{0, "allow", "HOST[:PORT]", "allow requests to connect to this host; repeatable", \
	         give_allow},                                                                     \
		{0, "net", "none|limited|open|host",                                              \
	         "limit the network that requests may ask for", give_net},                        \
		{0, "profile", "PROFILE", "allow requests to use this profile; repeatable",       \
	         give_profile},                                                                   \
		{0, "memory", "SIZE", "limit the memory of each sandbox", give_memory},           \
		{0, "cpus", "N", "limit the processors of each sandbox", give_cpus},              \
		{0, "pids", "N", "limit the processes and threads of each sandbox", give_pids},   \
	{                                                                                         \
		0, "sandboxes", "own|all",                                                        \
			"let requests use only this agent's sandboxes, or all of yours",          \
			give_sandboxes                                                            \
	}

OPTION_TEXT(set_socket, struct agents_options, connect.socket_path)
OPTION_TEXT(set_key, struct agents_options, connect.key_path)
OPTION_FLAG(set_lines, struct agents_options, lines)
OPTION_FLAG(agents_set_list, struct agents_options, list)
OPTION_TEXT(set_port, struct agents_options, port)
OPTION_TEXT(set_token_file, struct agents_options, token_file)
OPTION_TEXT(set_listen, struct agents_options, listen)
OPTION_TEXT(set_patience, struct agents_options, patience)
OPTION_TEXT(set_request_time, struct agents_options, request_time)
OPTION_TEXT(set_idle_exit, struct agents_options, idle_exit)

const struct option tool_options[] = {
	{0, "lines", NULL, "read a request from each line, and answer each with a line", set_lines},
	{0, "list", NULL, "print the operations and the settings, with their JSON Schemas",
         agents_set_list},
	GIVEN_OPTIONS,
	CONNECT_OPTIONS,
	{0},
};

const struct option mcp_options[] = {
	{0, "patience", "DUR", "answer calls that take longer as still running (45s)",
         set_patience},
	GIVEN_OPTIONS,
	CONNECT_OPTIONS,
	{0},
};

const struct option serve_options[] = {
	{0, "listen", "PATH", "listen on this Unix socket (that of the service manager)",
         set_listen},
	{0, "port", "N", "also listen on this port of 127.0.0.1, with a token; 0: any free port",
         set_port},
	{0, "token-file", "FILE", "read the token from this file, or write a new one there",
         set_token_file},
	{0, "request-time", "N", "wait N seconds at most for a whole request (30)",
         set_request_time},
	{0, "idle-exit", "N", "exit after N idle seconds; 0: never", set_idle_exit},
	GIVEN_OPTIONS,
	CONNECT_OPTIONS,
	{0},
};

/*
 * Finds yett-agent: the program that $YETT_AGENT names; otherwise in the directory of the helper
 * (installed), or in ../agent/ beside that directory (build tree).
 */
static int find_agent(char path[static PATH_MAX], struct yett_error *error)
{
	static const char *const places[] = {"/" PROGRAM, "/../agent/" PROGRAM};
	const char *named = secure_getenv("YETT_AGENT");
	char helper[PATH_MAX], place[PATH_MAX + 32];
	int r = named ? yett_helper_path(named, path, PATH_MAX, error)
	              : yett_helper_path(NULL, helper, sizeof helper, error);

	if (named || r != 0)
		return r;
	r = YETT_E_NOT_FOUND;
	for (size_t i = 0; i < ARRAY_SIZE(places) && r == YETT_E_NOT_FOUND; i++) {
		(void)snprintf(place, sizeof place, "%.*s%s", (int)(strrchr(helper, '/') - helper),
		               helper, places[i]);
		r = yett_helper_path(place, path, PATH_MAX, error);
	}
	if (r == YETT_E_NOT_FOUND) {
		(void)error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                PROGRAM ", which this subcommand executes, is not installed");
		error_mend(error, "apt install " PROGRAM);
	}
	return r;
}

static void agents_add(const char **words, size_t *count, const char *name, const char *value)
{
	if (!value)
		return;
	words[(*count)++] = name;
	if (*value)
		words[(*count)++] = value;
}

int agents_main(const struct subcommand *self, int argc, char **argv)
{
	struct agents_options options = {0};
	const char *words[WORDS_MAX + 2 * GIVEN_MAX] = {PROGRAM};
	struct yett_error error;
	char path[PATH_MAX];
	size_t count = 1;
	int first, r = options_begin(self, argc, argv, &options, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	agents_add(words, &count, "--socket", options.connect.socket_path);
	agents_add(words, &count, "--key", options.connect.key_path);
	for (size_t i = 0; i < options.given_count; i++)
		words[count++] = options.given[i];
	words[count++] = self->name;
	agents_add(words, &count, "--lines", options.lines ? "" : NULL);
	agents_add(words, &count, "--list", options.list ? "" : NULL);
	agents_add(words, &count, "--patience", options.patience);
	agents_add(words, &count, "--listen", options.listen);
	agents_add(words, &count, "--port", options.port);
	agents_add(words, &count, "--token-file", options.token_file);
	agents_add(words, &count, "--request-time", options.request_time);
	agents_add(words, &count, "--idle-exit", options.idle_exit);
	if (first < argc)
		words[count++] = argv[first];
	if (find_agent(path, &error) == 0) {
		(void)execv(path, (char *const *)words);
		(void)error_set(&error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "cannot execute %.200s: %m", path);
	}
	output_error(&error);
	return EXIT_FAILED;
}
