/*
 * The yett command: a table of subcommands over libyett.
 *
 * Runs as the caller, without privilege, and must never be given any: it reads the environment and
 * the terminal.
 */
#include <fcntl.h>
#include <string.h>

#include "cli/agents.h"
#include "cli/apply.h"
#include "cli/audit.h"
#include "cli/checkpoint.h"
#include "cli/commands.h"
#include "cli/diff.h"
#include "cli/doctor.h"
#include "cli/events.h"
#include "cli/files.h"
#include "cli/git.h"
#include "cli/git_remote.h"
#include "cli/history.h"
#include "cli/keys.h"
#include "cli/manage.h"
#include "cli/mount.h"
#include "cli/net.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/policy.h"
#include "cli/run.h"
#include "cli/snapshot.h"
#include "cli/stats.h"
#include "cli/suggest.h"
#include "cli/top.h"
#include "cli/work.h"
#include "libclient/yett.h"

static int help_main(const struct subcommand *self, int argc, char **argv);

static const struct subcommand subcommands[] = {
	{"run", "[--] COMMAND [ARG…]", "Run a command in a sandbox", run_options, 1, -1, run_main,
         true},
	{"shell", "", "Start a shell in a sandbox, with a terminal of its own", shell_options, 0, 0,
         shell_main},
	{"create", "", "Make a sandbox that lingers, without a command, and print its id",
         create_options, 0, 0, create_main},
	{"exec", "SANDBOX [--] COMMAND [ARG…]",
         "Run a command in a sandbox that is there, by its id or name", exec_options, 2, -1,
         exec_main, true},
	{"attach", "SANDBOX", "Hold a sandbox and tell of its states until it ends", manage_options,
         1, 1, attach_main},
	{"ps", "[SANDBOX]", "List sandboxes, or the commands of one", ps_options, 0, 1, ps_main},
	{"stats", "[SANDBOX…]", "Show what sandboxes use: time, memory, disks, processes",
         stats_options, 0, -1, stats_main},
	{"top", "", "Watch sandboxes on the terminal, with keys to pause, resume and kill",
         manage_options, 0, 0, top_main},
	{"events", "[SANDBOX…]", "Tell what happens in sandboxes until they end", events_options, 0,
         -1, events_main},
	{"net", "allow|deny|show|log|publish|socket [SANDBOX] [WHAT…]",
         "Let a sandbox reach more, or less, while it runs; tell of its connections; lead ports and sockets",
         events_options, 1, -1, net_main},
	{"mount", "SANDBOX", "Mount directories, files and sockets in a sandbox that runs",
         mount_options, 1, 1, mount_main},
	{"unmount", "SANDBOX TARGET…", "Take off what is mounted in a sandbox that runs",
         manage_options, 2, -1, unmount_main},
	{"refresh", "SANDBOX [TARGET…]",
         "Show in copy-on-write shares what was changed outside since", manage_options, 1, -1,
         refresh_main},
	{"inspect", "SANDBOX", "Show all that is known of a sandbox", inspect_options, 1, 1,
         inspect_main},
	{"pause", "SANDBOX…", "Have all processes of a sandbox stand still", manage_options, 1, -1,
         manage_main},
	{"suspend", "SANDBOX…",
         "End a sandbox that yett create --name made, to be made again by resume", manage_options,
         1, -1, manage_main},
	{"resume", "SANDBOX…", "Have a paused sandbox go on, or make a suspended one again",
         manage_options, 1, -1, manage_main},
	{"history", "SANDBOX", "List what yett exec ran in a sandbox that yett create --name made",
         history_options, 1, 1, history_main},
	{"env", "SANDBOX [NAME=VALUE…]",
         "Show or change the directory and variables that commands of a sandbox begin with",
         env_options, 1, -1, env_main},
	{"wait", "SANDBOX COMMAND-ID", "Wait for a command of a sandbox, and exit as it did",
         wait_options, 2, 2, wait_main},
	{"logs", "SANDBOX COMMAND-ID",
         "Print what is kept of the outputs of a command, also while it runs", logs_options, 2, 2,
         logs_main},
	{"input", "SANDBOX COMMAND-ID",
         "Give a command that was started with --input what is on the standard input",
         input_options, 2, 2, input_main},
	{"kill", "SANDBOX [COMMAND-ID…]",
         "End commands of a sandbox, or every one, but not the sandbox", kill_options, 1, -1,
         kill_main},
	{"destroy", "SANDBOX…", "End a sandbox with everything in it", manage_options, 1, -1,
         manage_main},
	{"cp", "FROM TO",
         "Copy a file or directory into a sandbox or out of it; one of the two is SANDBOX:/PATH",
         manage_options, 2, 2, cp_main},
	{"ls", "SANDBOX:/PATH", "List a directory of a sandbox", manage_options, 1, 1, ls_main},
	{"cat", "SANDBOX:/PATH…", "Print files of a sandbox", manage_options, 1, -1, cat_main},
	{"checkpoint",
         "put|get|latest|list|history|rollback|delete|delete-thread [THREAD|ID] [FILE|ID]",
         "Keep states of an agent's work, look through them, and go back to one",
         checkpoint_options, 1, -1, checkpoint_main},
	{"work", "list|prune",
         "List what copy-on-write sandboxes changed and left, or throw old ones away", work_options,
         1, 1, work_main},
	{"diff", "[SANDBOX|STORE] [PATH…]", "Show what a copy-on-write sandbox changed, as a patch",
         diff_options, 0, -1, diff_main},
	{"apply", "[SANDBOX|STORE] [PATH…]",
         "Take over what a copy-on-write sandbox changed, all of it or what is named",
         apply_options, 0, -1, apply_main},
	{"snapshot", "take|list|rollback|fork|delete [SANDBOX|STORE] [NAME]",
         "Name states of what a copy-on-write sandbox changed, and go back to one",
         snapshot_options, 1, 3, snapshot_main},
	{"git", "fetch [SANDBOX|STORE] [REFSPEC…]",
         "Take over commits that were made in a sandbox into the repository here", git_options, 1,
         -1, git_main},
	{"discard", "[SANDBOX|STORE…]", "Throw away what a copy-on-write sandbox changed",
         discard_options, 0, -1, discard_main},
	{"tool", "[OPERATION]",
         "Answer requests of JSON: run code or a command, read and write files of sandboxes",
         tool_options, 0, 1, agents_main},
	{"mcp", "",
         "Serve an agent that speaks the Model Context Protocol, on the standard input and output",
         mcp_options, 0, 0, agents_main},
	{"serve", "", "Serve HTTP: an API, MCP, and a page to look at sandboxes with",
         serve_options, 0, 0, agents_main},
	{"keygen", "[FILE]", "Make a key to sign requests with (~/.config/yett/id_ed25519)", NULL,
         0, 1, keygen_main},
	{"enroll", "[NAME FILE.pub]",
         "Let the holder of a key ask under a name, list the names, or remove one (administrator)",
         enroll_options, 0, 2, enroll_main},
	{"policy", "check|explain|show|test [FILE|RUN-ARGUMENT…]",
         "Check or test a policy, or tell what it says of a user or a yett run, and which line of it",
         policy_options, 1, -1, policy_main},
	{"audit", "show|verify|export|keygen|prune [FILE…]",
         "Show or verify the records of who was given which sandbox, make their key, or remove old ones (administrator)",
         audit_options, 1, -1, audit_main},
	{"profiles", "", "List the profiles that you may have, with what each gives and at most",
         profiles_options, 0, 0, profiles_main},
	{"doctor", "", "List what this machine supports, and the mend for what is missing",
         doctor_options, 0, 0, doctor_main},
	{"help", "[SUBCOMMAND]", "Show this help, or that of a subcommand", NULL, 0, 1, help_main},
};

static const struct subcommand *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (strcmp(subcommands[i].name, name) == 0)
			return &subcommands[i];
	return NULL;
}

static void print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett SUBCOMMAND [OPTION…] …\n\nRuns untrusted commands in a sandbox.\n\n",
		to);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		(void)fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
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

/* All of them, or one. */
static void print_json(struct json *json, const struct subcommand *about)
{
	json_open(json, "subcommands", '[');
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!about || about == &subcommands[i])
			options_print_json(json, &subcommands[i]);
	json_close(json);
}

static int help_main(const struct subcommand *self, int argc, char **argv)
{
	const struct subcommand *about;
	int first, r = options_begin(self, argc, argv, NULL, EXIT_USAGE, &first);

	if (r >= 0)
		return r;
	about = first < argc ? find(argv[first]) : NULL;
	if (first < argc && !about)
		return unknown(argv[first]);
	if (output_json())
		print_json(output_json(), about);
	else if (about)
		options_print_help(stdout, about);
	else
		print_usage(stdout);
	return 0;
}

/*
 * Else what is opened later takes the place of a descriptor that was closed, and is handed to the
 * command as its stdio. Results that somebody closed the door to cannot be written, as without us;
 * messages nobody wants.
 */
static void fill_stdio(void)
{
	static const int flags[] = {
		[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDWR};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", flags[fd]); /* the lowest that is free */
}

static int run(int argc, char **argv)
{
	const struct subcommand *subcommand;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("yett %s\n%s%s%s", yett_version(),
		             *YETT_REPORT_ADDRESS ? "Reports: " : "", YETT_REPORT_ADDRESS,
		             *YETT_REPORT_ADDRESS ? "\n" : "");
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return 0;
	}
	subcommand = find(argv[1]);
	if (!subcommand)
		options_look_for_json(argc - 2, argv + 2);
	return subcommand ? subcommand->run(subcommand, argc - 2, argv + 2) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
	static char line[1024]; /* a message is one write, not one for each character, and stays in
	                           one piece beside a command's */

	fill_stdio();
	(void)setvbuf(stderr, line, _IOLBF, sizeof line);
	return output_end(argc > 0 && git_remote_is_called(argv[0]) ? git_remote_main(argc, argv)
	                                                            : run(argc, argv));
}
