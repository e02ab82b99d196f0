/*
 * yett-agent: what agents, scripts and people ask for, by one table of operations over libyett.
 *
 * Runs as its caller, without privilege, and must never be given any. `yett tool`, `yett mcp` and
 * `yett serve` execute it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "agent/front.h"

static const struct {
	const char *name, *arguments, *summary;
	int (*main)(struct agent *agent, int argc, char **argv);
} fronts[] = {
	{"tool", "[OPERATION]",
         "answer one request of JSON on the standard input, or one on each line", tool_main},
	{"mcp", "[OPTION…]",
         "answer a host of models by the Model Context Protocol, on the standard input and output",
         mcp_main},
	{"serve", "[OPTION…]",
         "answer requests by HTTP, at a socket of yours, and show a page to look at", serve_main},
};

static void print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett-agent [--socket PATH] [--key FILE] [BOUND…] WAY [OPTION…] …\n\nRuns code and commands in sandboxes for programs that ask.\n\n",
		to);
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		(void)fprintf(to, "  %-6s %-12s %s\n", fronts[i].name, fronts[i].arguments,
		              fronts[i].summary);
	(void)fputs(
		"\nA bound is what requests may ask for at most: --ro, --rw or --cow DIR, --allow RULE, --net MODE, --profile NAME, --memory SIZE,\n"
		"--cpus N, --pids N, --sandboxes own or all. Without --ro, --rw and --cow it is the current directory, copy-on-write; without --allow and --net no\n"
		"network.\n",
		to);
	(void)fputs(
		"\nyett-agent WAY --help lists its options; yett-agent --version shows the version.\n",
		to);
}

struct ways {
	const char *socket_path, *key_path; /* to the helper; NULL: as the library has it */
	json_t *given;                      /* of what requests may ask for: bounds.h */
};

static void print_error(const struct yett_error *error)
{
	(void)fprintf(stderr, "yett-agent: %s%s%s\n", error->message, *error->detail ? ": " : "",
	              error->detail);
}

/* The options that all ways have; they stand first. -1: it goes on; else the status to exit with.
 */
static int read_options(struct ways *ways, int argc, char **argv)
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
			print_usage(stdout);
			return 0;
		case 'v':
			(void)printf("yett-agent %s\n", yett_version());
			return 0;
		default:
			return FRONT_USAGE;
		}
	return -1;
}

/* Many sandboxes are many descriptors, which epoll(7) waits for: what the user may have of them is
 * had. */
static void take_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* then there are fewer */
}

static int run(const struct ways *ways, int (*front)(struct agent *agent, int argc, char **argv),
               int argc, char **argv)
{
	struct yett_error error;
	struct agent *agent;
	int r;

	if (agent_new(ways->given, &agent, &error) != 0) {
		print_error(&error);
		return 1;
	}
	agent->socket_path = ways->socket_path;
	agent->key_path = ways->key_path;
	optind = 0; /* getopt(3): begins anew */
	r = front(agent, argc, argv);
	agent_free(agent);
	return r;
}

/* 0 … 255: a status to exit with. */
static int find_front(struct ways *ways, int argc, char **argv)
{
	int r = read_options(ways, argc, argv), first = optind;

	if (r >= 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(fronts) && first < argc; i++)
		if (strcmp(fronts[i].name, argv[first]) == 0)
			return run(ways, fronts[i].main, argc - first, argv + first);
	print_usage(stderr);
	return FRONT_USAGE;
}

int main(int argc, char **argv)
{
	struct ways ways = {.given = json_object()};
	int r;

	/* whoever calls a program that was given privilege must not get its sandboxes, sockets and
	 * secrets */
	if (getauxval(AT_SECURE)) {
		(void)fprintf(
			stderr,
			"yett-agent: it runs with its caller's privilege only, and was given more\n");
		return FRONT_USAGE;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	take_descriptors();
	r = find_front(&ways, argc, argv);
	json_decref(ways.given);
	return r;
}
