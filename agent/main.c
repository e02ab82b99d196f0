/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-agent: a table of operations over libyett, for agents, scripts and people.
 *
 * Runs with its caller's privilege, and must never be given more. `yett tool`, `yett mcp` and
 * `yett serve` execute this program.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "agent/agent_new.h"
#include "agent/front.h"

static const struct {
	const char *name, *arguments, *summary;
	int (*main)(struct agent *agent, int argc, char **argv);
} fronts[] = {
	{"tool", "[OPERATION]",
         "answer one request of JSON on the standard input, or one on each line", tool_main},
	{"mcp", "[OPTION…]",
         "serve the Model Context Protocol to a host, on standard input and output", mcp_main},
	{"serve", "[OPTION…]", "serve requests over HTTP, on a private socket, and a web page",
         serve_main},
};

static void agent_print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett-agent [--socket PATH] [--key FILE] [BOUND…] WAY [OPTION…] …\n\nRuns code and commands in sandboxes for programs that ask.\n\n",
		to);
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		(void)fprintf(to, "  %-6s %-12s %s\n", fronts[i].name, fronts[i].arguments,
		              fronts[i].summary);
	(void)fputs(
		"\nA bound limits what requests may ask for: --ro, --rw or --cow DIR, --allow RULE, --net MODE, --profile NAME, --memory SIZE,\n"
		"--cpus N, --pids N, --sandboxes own or all. Without --ro, --rw and --cow: the current directory, copy-on-write; without --allow and --net: no\n"
		"network.\n",
		to);
	(void)fputs(
		"\nyett-agent WAY --help lists its options; yett-agent --version shows the version.\n",
		to);
}

struct ways {
	const char *socket_path, *key_path; /* of the helper; NULL: the library's default */
	json_t *given;                      /* the bounds that options set: bounds.h */
};

static void print_error(const struct yett_error *error)
{
	(void)fprintf(stderr, "yett-agent: %s%s%s\n", error->message, *error->detail ? ": " : "",
	              error->detail);
}

/* Reads the options before the name of the front end. Returns -1 to go on, else the exit status. */
static int agent_read_options(struct ways *ways, int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'},
		{"key", required_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{"ro", required_argument, NULL, 'b'},
		{"rw", required_argument, NULL, 'b'},
		{"cow", required_argument, NULL, 'b'},
		{"allow", required_argument, NULL, 'b'},
		{"net", required_argument, NULL, 'b'},
		{"profile", required_argument, NULL, 'b'},
		{"memory", required_argument, NULL, 'b'},
		{"cpus", required_argument, NULL, 'b'},
		{"pids", required_argument, NULL, 'b'},
		{"sandboxes", required_argument, NULL, 'b'},
		{0},
	};
	struct yett_error error;
	int c, i;

	while ((c = getopt_long(argc, argv, "+h", options, &i)) != -1)
		switch (c) {
		case 'b':
			if (bounds_take_option(ways->given, options[i].name, optarg, &error) == 0)
				break;
			print_error(&error);
			return FRONT_USAGE;
		case 's':
			ways->socket_path = optarg;
			break;
		case 'k':
			ways->key_path = optarg;
			break;
		case 'h':
			agent_print_usage(stdout);
			return 0;
		case 'v':
			(void)printf("yett-agent %s\n", yett_version());
			return 0;
		default:
			return FRONT_USAGE;
		}
	return -1;
}

/*
 * Raises RLIMIT_NOFILE to its hard limit. Every sandbox needs descriptors; epoll(7), unlike
 * select(2), can wait for high ones.
 */
static void agent_take_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure, fewer sandboxes can be open */
}

static int agent_run(const struct ways *ways,
                     int (*front)(struct agent *agent, int argc, char **argv), int argc,
                     char **argv)
{
	struct yett_error error;
	struct agent *agent;
	int r;

	if (agent_new(ways->given, &agent, &error) != 0) {
		print_error(&error);
		/* a limit or a setting is wrong, or names what is not there */
		return error.code == YETT_E_INVALID_REQUEST ||
		                       error.code == YETT_E_FILE_OPERATION_FAILED
		               ? FRONT_USAGE
		               : 1;
	}
	agent->socket_path = ways->socket_path;
	agent->key_path = ways->key_path;
	optind = 0; /* glibc's getopt(3): restart the scan */
	r = front(agent, argc, argv);
	agent_free(agent);
	return r;
}

/* Returns the exit status, 0 to 255. */
static int find_front(struct ways *ways, int argc, char **argv)
{
	int r = agent_read_options(ways, argc, argv), first = optind;

	if (r >= 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(fronts) && first < argc; i++)
		if (strcmp(fronts[i].name, argv[first]) == 0)
			return agent_run(ways, fronts[i].main, argc - first, argv + first);
	agent_print_usage(stderr);
	return FRONT_USAGE;
}

int main(int argc, char **argv)
{
	struct ways ways = {.given = json_object()};
	int r;

	/*
	 * In a set-user-ID program, the unprivileged caller would get the sandboxes, sockets and
	 * secrets of the program's owner.
	 */
	if (getauxval(AT_SECURE)) {
		(void)fprintf(
			stderr,
			"yett-agent: must not have more privilege than its caller (set-user-ID, capabilities)\n");
		return FRONT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	agent_take_descriptors();
	r = find_front(&ways, argc, argv);
	json_decref(ways.given);
	return r;
}
