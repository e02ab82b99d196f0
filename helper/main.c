/*
 * yett-helper: how it was started, and what that makes of it.
 *
 * Started as root by systemd (a listening or a connected socket in LISTEN_FDS), by libyett as a set-user-id program (see
 * setuid.h) or in personal mode (a connected socket on --fd). All ways end in the same monitor. As an ordinary user it builds
 * in a user namespace of its own (rootless.h), and where it can have none it plans only.
 */
#include "helper/listener/activation.h"
#include "helper/listener/listener.h"
#include "helper/log.h"
#include "helper/monitor/monitor.h"
#include "helper/privilege.h"
#include "helper/rootless.h"
#include "helper/setuid.h"

#include <ctype.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct options {
	const char *policy; /* NULL: the installed one, or in personal mode the built-in one */
	const char *libexec, *check_policy;
	uint64_t idle_exit_s, fd; /* fd: NO_FD, or the connected socket */
	bool check, personal, quiet, help, version;
};

#define NO_FD UINT64_MAX

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER };

static const struct {
	const char *name, *argument, *help;
	size_t offset; /* in struct options, of a bool, a string or an uint64_t: by its kind */
	enum option_kind kind;
	uint64_t min, max; /* of a number */
} option_table[] = {
#define AT(member) offsetof(struct options, member)
	{"policy", "FILE", "the policy, and conf.d beside it (default " YETT_POLICY_PATH ")", AT(policy), OPTION_TEXT, 0, 0},
	{"check-policy", "FILE", "read FILE as a policy, say what is wrong with it, and exit", AT(check_policy), OPTION_TEXT, 0, 0},
	{"check", NULL, "read the policy as the service does, say what is wrong with it or void, and exit", AT(check), OPTION_FLAG, 0, 0},
	{"personal", NULL, "serve the caller alone, by the built-in policy unless --policy is given", AT(personal), OPTION_FLAG, 0, 0},
	{"fd", "N", "the connected socket to serve", AT(fd), OPTION_NUMBER, 0, INT_MAX},
	{"idle-exit", "SECONDS", "end when nobody was connected for so long (a listening socket only)", AT(idle_exit_s), OPTION_NUMBER, 1, 86400},
	{"libexec", "DIR", "folder of yett-decoder, -policy, -reader, -init and -closer (default: that of this program)", AT(libexec), OPTION_TEXT, 0, 0},
	{"quiet", NULL, "log errors only", AT(quiet), OPTION_FLAG, 0, 0},
	{"help", NULL, "print this and exit", AT(help), OPTION_FLAG, 0, 0},
	{"version", NULL, "print the version and exit", AT(version), OPTION_FLAG, 0, 0},
#undef AT
};

static void print_help(void)
{
	(void)printf("Usage: yett-helper [OPTION …]\n"
		     "Builds sandboxes for programs that ask with libyett. Started by systemd or by libyett, not by hand.\n"
		     "As a set-user-id program it serves as root in one form only, " SETUID_ARGUMENT "; else it is its caller's.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
		char left[64];

		(void)snprintf(left, sizeof left, "--%s%s%s", option_table[i].name, option_table[i].argument ? "=" : "",
			       option_table[i].argument ? option_table[i].argument : "");
		(void)printf("  %-22s %s\n", left, option_table[i].help);
	}
}

static bool read_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && errno == 0 && *ret_number >= min && *ret_number <= max;
}

static int parse_options(int argc, char **argv, struct options *options)
{
	struct option known[ARRAY_SIZE(option_table) + 1] = {0};
	int row;

	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++)
		known[i] = (struct option){option_table[i].name, option_table[i].argument ? required_argument : no_argument, NULL, (int)i};
	while ((row = getopt_long(argc, argv, "", known, NULL)) != -1) {
		void *to = row == '?' ? NULL : (char *)options + option_table[row].offset;

		if (!to)
			return -EINVAL;
		if (option_table[row].kind == OPTION_FLAG)
			*(bool *)to = true;
		else if (option_table[row].kind == OPTION_TEXT)
			*(const char **)to = optarg;
		else if (!read_number(optarg, option_table[row].min, option_table[row].max, to))
			return -EINVAL;
	}
	return optind == argc ? 0 : -EINVAL;
}

/* The folder that this program lies in: the others lie beside it, installed or built. */
static int own_folder(char folder[static PATH_MAX])
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

/* Of one file, or of the installed policy as a whole, as the service reads it. A user may read what belongs to root. */
static int check_policy(const struct options *options, const char *libexec)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	const char *path = options->check_policy ? options->check_policy : options->policy ? options->policy : YETT_POLICY_PATH;
	struct policy_source source = {libexec, path, !options->check_policy, geteuid()};
	struct yett_error error = {0};
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && st.st_uid == 0)
		source.owner = 0;
	r = policy_load(&source, &policy, &error);
	if (r != 0) {
		(void)fprintf(stderr, "%s%s%s\n", error.message[0] ? error.message : strerror(-r), error.detail[0] ? "\n  " : "", error.detail);
		return 1;
	}
	for (size_t i = 0; i < policy->grants_count; i++)
		if (*policy->grants[i].notice)
			(void)fprintf(stderr, "%s\n", policy->grants[i].notice);
	(void)printf("%s: %zu profile%s, %zu grant%s\n", path, policy->profiles_count, policy->profiles_count == 1 ? "" : "s", policy->grants_count,
		     policy->grants_count == 1 ? "" : "s");
	return 0;
}

/*
 * What takes privilege before there is a monitor. As a set-user-id program, `place` (else NULL) is taken and the caller's groups
 * are left.
 */
static int prepare_host(struct monitor *monitor, const char *libexec, const struct setup_rootless *rootless, struct reservation *place,
			struct yett_error *error)
{
	char init[PATH_MAX + 16];
	int r = privilege_take(PRIVILEGE_BUILD);

	(void)snprintf(init, sizeof init, "%s/yett-init", libexec);
	if (r == 0)
		r = setup_host_open(monitor->policy, init, rootless, &monitor->host, error);
	if (r == 0) /* as a listener has it: not the group of a unit that ends with its connection */
		monitor->lasting.cgroup = cgroup_host_make_helpers(&monitor->host->cgroups);
	if (r == 0 && place)
		r = setuid_settle(monitor->host, monitor->caller, place, error);
	if (r == 0 && place)
		(void)waitpid(supervisor_start_sweep(monitor->host), NULL, 0); /* by a process that does not hold the place */
	else if (r == 0)
		setup_sweep(monitor->host); /* nobody else does, where there is no listener */
	return r == 0 ? privilege_take(PRIVILEGE_MONITOR) : r;
}

/* What a helper without root serves by, besides the policy. */
struct own {
	struct peer caller;
	char runtime_dir[ROOTLESS_PATH_SIZE];
};

/*
 * An ordinary user's own: becomes root of a user namespace. Who is served is read before, since groups have no numbers there.
 * What is left of it without one is planning.
 */
static int prepare_rootless(struct monitor *monitor, struct policy *policy, const char *libexec, int socket, struct own *ret_own,
			    struct yett_error *error)
{
	_cleanup_fd_ int group = -1;
	int r = peer_read(socket, &ret_own->caller, error);

	if (r == 0 && ret_own->caller.uid != geteuid())
		r = error_set(error, YETT_E_PERMISSION_DENIED, 0, "a helper without root serves its own user only");
	if (r != 0)
		return r;
	ret_own->caller.confined = false; /* it can do through us what it can do anyway */
	monitor->caller = &ret_own->caller;
	monitor->means = (struct means){.is_rootless = true, .misses_label = rootless_misses_label(), .leaves_cores = rootless_leaves_cores()};
	if (rootless_enter(&monitor->no_host) != 0)
		return 0;
	group = rootless_open_cgroup(); /* of the mount namespace that we are in now: init gets a mount of its own of it */
	rootless_runtime_dir(ret_own->runtime_dir);
	policy->runtime_dir = ret_own->runtime_dir;
	r = prepare_host(monitor, libexec, &(struct setup_rootless){group}, NULL, error);
	if (r == 0) {
		monitor->means.has_cgroup = monitor->host->cgroups.count > 0;
		monitor->means.controllers = monitor->host->cgroups.controllers;
	}
	return r;
}

/* Root of a container, say: what is left of it without what building takes is planning. */
static int prepare_lesser_root(struct monitor *monitor, const char *missing, int socket, struct peer *ret_caller, struct yett_error *error)
{
	char name[32];
	size_t i = 0;
	int r = peer_read(socket, ret_caller, error);

	if (r != 0)
		return r;
	ret_caller->confined = false; /* it can do through us what it can do anyway */
	monitor->caller = ret_caller;
	for (; missing[i] && i < sizeof name - 1; i++)
		name[i] = (char)toupper((unsigned char)missing[i]);
	name[i] = '\0';
	(void)error_set(&monitor->no_host, YETT_E_UNSUPPORTED, 0, "building sandboxes as root takes CAP_%s, which root lacks here, as in a container", name);
	error_detail(&monitor->no_host, "give the container that (docker run --privileged), or run yett as an ordinary user in it, or have the service started outside");
	return 0;
}

/* Root of a container with a user namespace of its own: it has what it takes, but nobody to be. */
static int refuse_mapped_root(struct yett_error *error)
{
	(void)error_set(error, YETT_E_UNSUPPORTED, 0,
			"building sandboxes as root takes private user ids, and the user namespace of this container has none above its own");
	error_detail(error, "run yett as an ordinary user in it, or have the service started outside");
	return YETT_E_UNSUPPORTED;
}

/* One connection, without a listener: what systemd accepted, or what libyett made. `caller` as in struct monitor. */
static int serve_one(const struct options *options, const char *libexec, const struct peer *caller, int socket, struct yett_error *error)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(setup_host_closep) struct setup_host *host = NULL;
	_cleanup_(reserve_release) struct reservation place = {.fd = -1, .dir = -1};
	const char *path = options->policy ? options->policy : options->personal ? NULL : YETT_POLICY_PATH;
	const struct policy_source source = {libexec, path, true, geteuid()};
	struct monitor monitor = {
		.decoder = DECODER_NONE, .reader = READER_NONE, .caller = caller, .lasting = PLACE_HERE, .listener = -1};
	struct own own;
	const char *missing;
	bool root = privilege_can_build(&missing);
	int r = 0;

	if (root && !rootless_has_user(POLICY_COMPILER_ID))
		r = refuse_mapped_root(error);
	else if (caller && !root)
		r = error_set(error, YETT_E_UNSUPPORTED, 0, "the set-user-id helper lacks a capability that building takes: %s", missing);
	if (r == 0)
		r = policy_load(&source, &policy, error);
	monitor.policy = policy;
	if (r == 0 && root)
		r = prepare_host(&monitor, libexec, NULL, caller ? &place : NULL, error);
	else if (r == 0 && geteuid() != 0)
		r = prepare_rootless(&monitor, policy, libexec, socket, &own, error);
	else if (r == 0)
		r = prepare_lesser_root(&monitor, missing, socket, &own.caller, error);
	host = monitor.host;
	if (r == 0)
		r = monitor_prepare(&monitor, libexec);
	if (r == 0) {
		r = monitor_serve(&monitor, socket);
	} else {
		if (caller || options->personal) /* a client of the service learns nothing of the policy's text */
			monitor_report(socket, r, error);
		fd_close(socket);
	}
	monitor_free(&monitor);
	return r;
}

static int tell(int r, const struct yett_error *error)
{
	if (r == 0)
		return 0;
	log_line(LOG_LEVEL_ERROR, "%s%s%s", error->message[0] ? error->message : strerror(-r), error->detail[0] ? "; " : "", error->detail);
	return 1;
}

/* As root by the file's mode: nothing that the caller says counts but the one descriptor. */
static int serve_caller(void)
{
	static const struct options none = {.fd = NO_FD};
	static struct peer caller;
	struct yett_error error = {0};
	int r = setuid_check_socket(&error);

	if (r != 0)
		return setuid_give_up() == 0 ? tell(r, &error) : 1; /* no longer root: standard error is the caller's */
	r = setuid_cleanse(&caller, &error);
	if (r != 0) {
		monitor_report(SETUID_SOCKET, r, &error); /* there alone, for the same reason */
		return 1;
	}
	r = sodium_init() < 0 ? -ENOSYS : serve_one(&none, YETT_LIBEXEC_DIR, &caller, SETUID_SOCKET, &error);
	return tell(r, &error);
}

/*
 * Where the host's core_pattern is a pipe, only a limit of 1 keeps the kernel from running a program of the host's, as root, for what
 * crashes: of ours, and of all that we start. False where the hard limit is 0 and cannot be raised. core(5)
 */
static bool limit_cores(void)
{
	return setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) == 0;
}

static int run(const struct options *options, const char *libexec, struct yett_error *error)
{
	enum activation activation = ACTIVATION_NONE;
	int socket = options->fd == NO_FD ? -1 : (int)options->fd, r = sodium_init() < 0 ? -ENOSYS : 0;

	if (!limit_cores() && geteuid() == 0)
		log_line(LOG_LEVEL_WARNING, "crashes of commands reach the host's core handler: the hard limit of core files is 0, and cannot be raised");
	if (r == 0 && socket < 0)
		r = activation_receive(&activation, &socket, error);
	if (r != 0)
		return r;
	if (activation == ACTIVATION_LISTENING) {
		struct listener_options listener = {options->policy ? options->policy : YETT_POLICY_PATH, libexec, socket, options->idle_exit_s * 1000};

		return listener_run(&listener, error);
	}
	if (socket < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0, "no socket was handed over; yett-helper is started by systemd or libyett");
	if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return serve_one(options, libexec, NULL, socket, error);
}

int main(int argc, char **argv)
{
	struct options options = {.fd = NO_FD};
	struct yett_error error = {0};
	const char *libexec;
	char folder[PATH_MAX];
	int r;

	if (setuid_is_asked(argc, argv))
		return serve_caller();
	if (argc < 1 || setuid_give_up() < 0)
		return 2;
	if (parse_options(argc, argv, &options) < 0) {
		(void)fprintf(stderr, "Try 'yett-helper --help'.\n");
		return 2;
	}
	if (options.help || options.version) {
		if (options.help)
			print_help();
		else
			(void)printf("yett-helper " YETT_VERSION "\n");
		return 0;
	}
	r = own_folder(folder);
	libexec = options.libexec ? options.libexec : folder;
	(void)signal(SIGCHLD, SIG_DFL); /* whoever started us: children are waited for */
	if (r == 0 && (options.check || options.check_policy))
		return check_policy(&options, libexec);
	if (options.quiet)
		log_set_level(LOG_LEVEL_ERROR);
	(void)umask(022);
	(void)signal(SIGPIPE, SIG_IGN);
	if (r == 0)
		r = run(&options, libexec, &error);
	return tell(r, &error);
}
