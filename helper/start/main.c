/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main program of yett-helper and of yett-rootless: finds out how it was started, and serves.
 *
 * Started by systemd (a listening or a connected socket in LISTEN_FDS), or by libyett as a
 * set-user-id program (see setuid.h) or in personal mode (a connected socket in --fd). All of these
 * end in the same monitor. Runs with the privilege of root or of the caller. The two programs
 * differ only behind start.h.
 */
#include "base/log.h"
#include "helper/start/activation.h"
#include "helper/start/start.h"

#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER };

static const struct {
	const char *name, *argument, *help;
	/* Offset of a member of struct start_options: a bool, a string or a uint64_t, by `kind`. */
	size_t offset;
	enum option_kind kind;
	uint64_t min, max; /* of a number */
} option_table[] = {
#define AT(member) offsetof(struct start_options, member)
	{"policy", "FILE", "the policy, and conf.d beside it (default " YETT_POLICY_PATH ")",
         AT(policy), OPTION_TEXT},
	{"personal", NULL,
         "serve the caller alone, by the built-in policy unless --policy is given", AT(personal),
         OPTION_FLAG},
	{"fd", "N", "the connected socket to serve", AT(fd), OPTION_NUMBER, 0, INT_MAX},
	{"listen", "PATH",
         "listen on a new socket at PATH that all users can reach: a service without systemd",
         AT(listen), OPTION_TEXT},
	{"idle-exit", "SECONDS", "as a listener, exit after SECONDS without a connection",
         AT(idle_exit_s), OPTION_NUMBER, 1, 86400},
	{"libexec", "DIR", "the folder of the other programs (default: that of this program)",
         AT(libexec), OPTION_TEXT},
	{"quiet", NULL, "log errors only", AT(quiet), OPTION_FLAG},
	{"help", NULL, "print this and exit", AT(help), OPTION_FLAG},
	{"version", NULL, "print the version and exit", AT(version), OPTION_FLAG},
#undef AT
};

static void print_help(void)
{
	(void)printf(
		"Usage: %s [OPTION …]\nBuilds sandboxes for programs that ask with libyett. Started by an init system or by libyett.\n%s\n\n",
		start_name, start_help);
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++)
		(void)printf("  --%s%c%-*s %s\n", option_table[i].name,
		             option_table[i].argument ? '=' : ' ',
		             19 - (int)strlen(option_table[i].name), option_table[i].argument ?: "",
		             option_table[i].help);
}

static bool helper_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	char *end;

	*ret_number = strtoull(text, &end, 10); /* ULLONG_MAX on overflow, above every `max` */
	return isdigit((unsigned char)*text) && !*end && *ret_number >= min && *ret_number <= max;
}

static int helper_parse_options(int argc, char **argv, struct start_options *options)
{
	struct option known[ARRAY_SIZE(option_table) + 1] = {0};
	int row;

	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++)
		known[i] = (struct option){
			option_table[i].name,
			option_table[i].argument ? required_argument : no_argument, NULL, (int)i};
	while ((row = getopt_long(argc, argv, "", known, NULL)) != -1) {
		void *to = row == '?' ? NULL : (char *)options + option_table[row].offset;

		if (!to)
			return -EINVAL;
		if (option_table[row].kind == OPTION_FLAG)
			*(bool *)to = true;
		else if (option_table[row].kind == OPTION_TEXT)
			*(const char **)to = optarg;
		else if (!helper_read_number(optarg, option_table[row].min, option_table[row].max,
		                             to))
			return -EINVAL;
	}
	return optind == argc ? 0 : -EINVAL;
}

/* Finds the directory of this program. The other programs are beside it, installed or built. */
static int helper_own_folder(char folder[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/*
 * If the host's core_pattern is a pipe, the kernel runs a program of the host, as root, for each
 * process that crashes, unless its RLIMIT_CORE is 1: set that for us and for all programs that we
 * start. The hard limit stays, unless it is 0: then it is raised to 1. Programs of Yett that give
 * up root lower their own hard limit to 1, and identity_prepare() lowers that of init if the
 * profile allows no core files. Returns false where the hard limit is 0 and cannot be raised.
 * core(5)
 */
static bool limit_cores(void)
{
	struct rlimit limit = {0};

	(void)getrlimit(RLIMIT_CORE, &limit);
	limit = (struct rlimit){1, limit.rlim_max ?: 1};
	return setrlimit(RLIMIT_CORE, &limit) == 0;
}

static int helper_run(const struct start_options *options, struct yett_error *error)
{
	enum activation activation = ACTIVATION_NONE;
	int socket = options->fd == START_NO_FD ? -1 : (int)options->fd,
	    r = start_check_user(options, error);

	if (!limit_cores() && geteuid() == 0)
		log_line(
			LOG_LEVEL_WARNING,
			"crashes of commands reach the host's core handler: the hard limit of core files is 0, and cannot be raised");
	if (r == 0 && socket < 0 && !options->listen)
		r = activation_receive(&activation, &socket, error);
	if (r != 0)
		return r;
	if (activation == ACTIVATION_LISTENING || options->listen)
		return start_listening(options, socket, error);
	if (socket < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "no socket was handed over; %s is started by systemd or libyett",
		                 start_name);
	if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return start_connected(options, socket, error);
}

int main(int argc, char **argv)
{
	struct start_options options = {.argv = argv, .fd = START_NO_FD};
	struct yett_error error = {0};
	int r;

	if (!start_begin(argc, argv, &r))
		return r;
	if (helper_parse_options(argc, argv, &options) < 0) {
		(void)fprintf(stderr, "Try '%s --help'.\n", start_name);
		return 2;
	}
	if (options.help)
		print_help();
	else if (options.version)
		(void)printf("%s " YETT_VERSION "\n", start_name);
	if (options.help || options.version)
		return 0;
	r = helper_own_folder(options.folder);
	options.libexec = options.libexec ? options.libexec : options.folder;
	/* We wait for children, so do not inherit SIG_IGN from the process that started us. */
	(void)signal(SIGCHLD, SIG_DFL);
	if (options.quiet)
		log_set_level(LOG_LEVEL_ERROR);
	(void)umask(022);
	(void)signal(SIGPIPE, SIG_IGN);
	if (r == 0)
		r = helper_run(&options, &error);
	return start_report(r, &error);
}
