/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yett command: dispatches to the subcommands, which use libyett.
 *
 * Runs as the caller, without privilege. Never install the program set-user-ID or give it
 * capabilities: it trusts the environment and the terminal.
 */
#include <fcntl.h>
#include <string.h>

#include "cli/admin/doctor.h"
#include "cli/admin/keys.h"
#include "cli/admin/policy.h"
#include "cli/agents/checkpoint.h"
#include "cli/changes/git_remote.h"
#include "cli/changes/snapshot.h"
#include "cli/changes/work.h"
#include "cli/files/files.h"
#include "cli/files/mount.h"
#include "cli/network/net.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/run/commands.h"
#include "cli/run/history.h"
#include "cli/run/run.h"
#include "cli/run/run_option_table.h"
#include "cli/sandboxes/events.h"
#include "cli/sandboxes/manage.h"
#include "cli/sandboxes/sandboxes.h"
#include "cli/sandboxes/stats.h"
#include "cli/subcommands.h"
#include "cli/suggest.h"
#include "libclient/yett.h"

struct help_choice {
	bool all;
};

static int help_main(const struct subcommand *self, int argc, char **argv);

OPTION_FLAG(cli_set_all, struct help_choice, all)

static const struct option help_options[] = {
	OPTION(0, "all", NULL, "list all options of the subcommand", cli_set_all), {0}};

static const struct subcommand subcommands[] = {
	{"run", "[--] COMMAND [ARG…]", "Run a command in a sandbox", run_options, 1, -1, run_main,
         true},
	{"shell", "", "Start a shell in a sandbox", shell_options, 0, 0, shell_main},
	{"create", "", "Create a sandbox that keeps running, and print its id", create_options, 0,
         0, create_main},
	{"exec", "SANDBOX [--] COMMAND [ARG…]", "Run a command in a running sandbox", exec_options,
         2, -1, exec_main, true},
	{"wait", "SANDBOX COMMAND-ID", "Wait for a command, and exit with its status", wait_options,
         2, 2, wait_main},
	{"logs", "SANDBOX COMMAND-ID", "Print the output that was kept of a command", logs_options,
         2, 2, logs_main},
	{"input", "SANDBOX COMMAND-ID", "Send standard input to a command started with --input",
         input_options, 2, 2, input_main},
	{"kill", "SANDBOX [COMMAND-ID…]", "Kill commands of a sandbox, but keep the sandbox",
         kill_options, 1, -1, kill_main},
	{"history", "SANDBOX", "List the commands that yett exec ran in a named sandbox",
         history_options, 1, 1, history_main},
	{"env", "SANDBOX [NAME=VALUE…]",
         "Show or set the directory and variables of later commands", env_options, 1, -1, env_main},
	{"ps", "[SANDBOX]", "List sandboxes, or the commands of one sandbox", ps_options, 0, 1,
         ps_main},
	{"inspect", "SANDBOX", "Show everything known about a sandbox", inspect_options, 1, 1,
         inspect_main},
	{"stats", "[SANDBOX…]", "Show the time, memory and I/O that sandboxes use", stats_options,
         0, -1, stats_main},
	{"top", "", "Watch sandboxes; pause, resume or kill them by key", manage_options, 0, 0,
         top_main},
	{"events", "[SANDBOX…]", "Print events of sandboxes until they end", events_options, 0, -1,
         events_main},
	{"attach", "SANDBOX", "Keep a sandbox alive and print its state changes", manage_options, 1,
         1, attach_main},
	{"pause", "SANDBOX…", "Freeze all processes of a sandbox", manage_options, 1, -1,
         sandboxes_main},
	{"resume", "SANDBOX…", "Thaw a paused sandbox, or recreate a suspended one", manage_options,
         1, -1, sandboxes_main},
	{"suspend", "SANDBOX…", "End a named sandbox so that yett resume can recreate it",
         manage_options, 1, -1, sandboxes_main},
	{"destroy", "SANDBOX…", "End a sandbox and everything in it", manage_options, 1, -1,
         sandboxes_main},
	{"cp", "FROM TO", "Copy files into or out of a sandbox (SANDBOX:/PATH)", manage_options, 2,
         2, cp_main},
	{"ls", "SANDBOX:/PATH", "List a directory in a sandbox", manage_options, 1, 1, ls_main},
	{"cat", "SANDBOX:/PATH…", "Print files from a sandbox", manage_options, 1, -1, cat_main},
	{"mount", "SANDBOX", "Mount directories, files and sockets in a running sandbox",
         mount_options, 1, 1, mount_main},
	{"unmount", "SANDBOX TARGET…", "Unmount what yett mount has mounted", manage_options, 2, -1,
         unmount_main},
	{"refresh", "SANDBOX [TARGET…]", "Show later outside changes in copy-on-write shares",
         manage_options, 1, -1, refresh_main},
	{"net", "allow|deny|show|log|publish|socket [SANDBOX] [WHAT…]",
         "Change network rules, list connections, forward ports", events_options, 1, -1, net_main},
	{"diff", "[SANDBOX|STORE] [PATH…]",
         "Show the changes of a copy-on-write sandbox as a patch", diff_options, 0, -1, diff_main},
	{"apply", "[SANDBOX|STORE] [PATH…]", "Apply the changes of a copy-on-write sandbox",
         apply_options, 0, -1, apply_main},
	{"discard", "[SANDBOX|STORE…]", "Throw away the changes of a copy-on-write sandbox",
         discard_options, 0, -1, discard_main},
	{"work", "list|prune", "List the stores of changes, or remove old ones", work_options, 1, 1,
         work_main},
	{"snapshot", "take|list|rollback|fork|delete [SANDBOX|STORE] [NAME]",
         "Save states of the changes, and go back to one", snapshot_options, 1, 3, snapshot_main},
	{"git", "fetch [SANDBOX|STORE] [REFSPEC…]",
         "Fetch commits from a sandbox into the repository here", git_options, 1, -1, git_main},
	{"checkpoint",
         "put|get|latest|list|history|rollback|delete|delete-thread [THREAD|ID] [FILE|ID]",
         "Save states of an agent's work, and go back to one", checkpoint_options, 1, -1,
         checkpoint_main},
	{"tool", "[OPERATION]", "Answer JSON requests: run code, read and write files",
         tool_options, 0, 1, agents_main},
	{"mcp", "", "Serve the Model Context Protocol on standard input", mcp_options, 0, 0,
         agents_main},
	{"serve", "", "Serve an HTTP API, MCP, and a page to watch sandboxes", serve_options, 0, 0,
         agents_main},
	{"doctor", "", "List what this machine supports, and how to fix the rest", doctor_options,
         0, 0, doctor_main},
	{"profiles", "", "List the profiles that you may use, with their limits", profiles_options,
         0, 0, profiles_main},
	{"keygen", "[FILE]", "Make a key to sign requests with", NULL, 0, 1, keygen_main},
	{"enroll", "[NAME FILE.pub]", "Enroll a key under a name, list keys, or remove one",
         enroll_options, 0, 2, enroll_main},
	{"policy", "check|explain|show|test [FILE|RUN-ARGUMENT…]",
         "Check, test or explain the policy", policy_options, 1, -1, policy_main},
	{"audit", "show|verify|export|keygen|prune [FILE…]",
         "Show, verify, export or prune the audit records", audit_options, 1, -1, audit_main},
	{"help", "[SUBCOMMAND]", "Show this help, or the help of a subcommand", help_options, 0, 1,
         help_main},
};

/*
 * Titles for the help. Each group begins at the subcommand `first` and ends before the next group.
 */
static const struct {
	const char *title, *first;
} groups[] = {
	{"Run", "run"},
	{"Sandboxes", "ps"},
	{"Files", "cp"},
	{"Network", "net"},
	{"Changes", "diff"},
	{"Agents", "tool"},
	{"Administration", "doctor"},
};

static const struct subcommand *cli_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (strcmp(subcommands[i].name, name) == 0)
			return &subcommands[i];
	return NULL;
}

static void cli_print_usage(FILE *to)
{
	size_t group = 0;

	(void)fputs("Usage: yett SUBCOMMAND [OPTION…] …\n\nRuns untrusted commands in a sandbox.\n",
	            to);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (group < ARRAY_SIZE(groups) &&
		    strcmp(subcommands[i].name, groups[group].first) == 0)
			(void)fprintf(to, "\n%s:\n", groups[group++].title);
		(void)fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
	}
	(void)fputs(
		"\nyett SUBCOMMAND --help lists its options; yett --version shows the version.\n",
		to);
}

static int unknown(const char *name)
{
	const char *names[ARRAY_SIZE(subcommands)];
	struct yett_error error;
	char hint[160];

	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		names[i] = subcommands[i].name;
	suggest_subcommand(name, names, ARRAY_SIZE(names), hint, sizeof hint);
	(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "there is no subcommand %.80s: %s", name, hint);
	output_error(&error);
	return EXIT_USAGE;
}

/* `about` NULL: all subcommands. */
static void cli_print_json(struct json *json, const struct subcommand *about)
{
	json_open(json, "subcommands", '[');
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!about || about == &subcommands[i])
			options_print_json(json, &subcommands[i]);
	json_close(json);
}

static int help_main(const struct subcommand *self, int argc, char **argv)
{
	struct help_choice choice = {0};
	const struct subcommand *about;
	int first, r = options_begin(self, argc, argv, &choice, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	about = first < argc ? cli_find(argv[first]) : NULL;
	if (first < argc && !about)
		return unknown(argv[first]);
	if (output_json())
		cli_print_json(output_json(), about);
	else if (about)
		options_print_help(stdout, about, choice.all);
	else
		cli_print_usage(stdout);
	return 0;
}

/*
 * Opens /dev/null for each standard descriptor that the caller closed. Otherwise the next open(2)
 * would take that number, and the command would get the file as its stdio. Writes to the replaced
 * stdout fail, as they would to a closed one; writes to the replaced stderr are discarded.
 */
static void fill_stdio(void)
{
	static const int flags[] = {
		[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDWR};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", flags[fd]); /* takes the lowest free descriptor */
}

static int cli_run(int argc, char **argv)
{
	const struct subcommand *subcommand;

	if (argc < 2) {
		cli_print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("yett %s\n%s%s%s", yett_version(),
		             *YETT_REPORT_ADDRESS ? "Reports: " : "", YETT_REPORT_ADDRESS,
		             *YETT_REPORT_ADDRESS ? "\n" : "");
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		cli_print_usage(stdout);
		return 0;
	}
	subcommand = cli_find(argv[1]);
	if (!subcommand)
		options_look_for_json(argc - 2, argv + 2);
	return subcommand ? subcommand->run(subcommand, argc - 2, argv + 2) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	/*
	 * Line buffering writes each message with one write(2), so output of a command cannot split
	 * it.
	 */
	static char line[1024];

	fill_stdio();
	(void)setvbuf(stderr, line, _IOLBF, sizeof line);
	return output_end(argc > 0 && git_remote_is_called(argv[0]) ? git_remote_main(argc, argv)
	                                                            : cli_run(argc, argv));
}
