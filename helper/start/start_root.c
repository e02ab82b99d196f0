/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How yett-helper serves: as root, alone or with a listener, or as a set-user-id program. See
 * start.h.
 *
 * Runs with full privilege until the monitor is prepared. The process of an ordinary user, or of a
 * root that lacks what building needs, executes yett-rootless, which is another program: no code
 * that works without root is linked into this one.
 */
#include "helper/listener/listener.h"
#include "helper/monitor/monitor.h"
#include "helper/privilege/privilege.h"
#include "helper/start/activation.h"
#include "helper/start/setuid.h"
#include "helper/start/start.h"

#include <stdio.h>
#include <sys/wait.h>

const char start_name[] = "yett-helper";
const char start_help[] =
	"As a set-user-id program it serves as root in one form only, " SETUID_ARGUMENT
	"; else it is its caller's.";

/*
 * Does what takes privilege before there is a monitor. For a set-user-id program, `place` is not
 * NULL: takes a slot for it, and leaves the caller's control groups.
 */
static int prepare_host(struct monitor *monitor, const char *libexec, struct reservation *place,
                        struct yett_error *error)
{
	int r = privilege_take(PRIVILEGE_BUILD);

	if (r == 0)
		r = setup_host_open(monitor->policy, libexec, NULL, &monitor->host, error);
	/*
	 * The cgroup that a listener uses, too. A unit's own cgroup would end with its connection.
	 */
	if (r == 0)
		monitor->lasting.cgroup = cgroup_host_make_helpers(&monitor->host->cgroups);
	if (r == 0 && place)
		r = setuid_settle(monitor->host, monitor->caller, place, error);
	/* in a process that does not hold the slot */
	if (r == 0 && place)
		(void)waitpid(supervisor_start_sweep(monitor->host), NULL, 0);
	else if (r == 0)
		setup_sweep(monitor->host); /* without a listener no other process does this */
	return r == 0 ? privilege_take(PRIVILEGE_MONITOR) : r;
}

/* `caller` as in struct monitor. */
static int start_root_serve_one(const struct start_options *options, const struct peer *caller,
                                int socket, struct yett_error *error)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(setup_host_closep) struct setup_host *host = NULL;
	_cleanup_(reserve_release) struct reservation place = {.fd = -1, .dir = -1};
	const char *path = options->policy     ? options->policy
	                   : options->personal ? NULL
	                                       : YETT_POLICY_PATH,
		   *missing;
	const struct policy_source source = {options->libexec, path, true, 0};
	struct monitor monitor = {MONITOR_NONE, .caller = caller, .listener = -1};
	int r = 0;

	/* start_check_user() has checked the other ways of being started. */
	if (caller && !privilege_can_build(POLICY_COMPILER_ID, &missing))
		r = error_set(error, YETT_E_UNSUPPORTED, 0,
		              "the set-user-id helper lacks what building takes: %s", missing);
	if (r == 0)
		r = policy_load(&source, &policy, error);
	monitor.policy = policy;
	if (r == 0)
		r = prepare_host(&monitor, options->libexec, caller ? &place : NULL, error);
	host = monitor.host;
	return start_serve(&monitor, options->libexec, socket, r, caller || options->personal,
	                   error);
}

/*
 * Becomes the caller for good, however many steps of setuid_cleanse() were done: the second step
 * overwrites the caller's ids. Returns whether this process now has no other ids than the caller's.
 */
static bool start_root_become(const struct peer *caller)
{
	uid_t uid = getuid() ? getuid() : caller->uid;
	gid_t gid = getuid() ? getgid() : caller->gid;

	/* Without root's effective uid, this process never had any other ids. */
	return geteuid() != 0 || (uid != 0 && setresgid(gid, gid, gid) == 0 &&
	                          setresuid(uid, uid, uid) == 0 && setuid_give_up() == 0);
}

/* Serves as a set-user-id program: ignores everything from the caller except the one descriptor. */
static int serve_caller(void)
{
	static const struct start_options none = {.libexec = YETT_LIBEXEC_DIR, .fd = START_NO_FD};
	static struct peer caller;
	struct yett_error error = {0}, unused;
	int r = setuid_check_socket(&error);

	if (r != 0)
		return setuid_give_up() == 0
		               ? start_report(r, &error)
		               : 1; /* no longer root; standard error is the caller's */
	r = setuid_cleanse(&caller, &error);
	if (r != 0) {
		/*
		 * Root executes only programs that are known to be its own. The refusal may be that
		 * these are not: then report it as the caller.
		 */
		if (setuid_check_programs(&unused) == 0 || start_root_become(&caller))
			monitor_report(none.libexec, SETUID_SOCKET, r, &error);
		return 1;
	}
	r = start_root_serve_one(&none, &caller, SETUID_SOCKET, &error);
	return start_report(r, &error);
}

bool start_begin(int argc, char **argv, int *ret_status)
{
	bool is_set_uid = setuid_is_asked(argc, argv);

	*ret_status = is_set_uid ? serve_caller() : 2;
	return !is_set_uid && argc >= 1 && setuid_give_up() == 0;
}

int start_listening(const struct start_options *options, int socket, struct yett_error *error)
{
	struct listener_options listener = {options->policy ? options->policy : YETT_POLICY_PATH,
	                                    options->libexec, socket, options->idle_exit_s * 1000};

	return (options->listen ? activation_listen(options->listen, &listener.socket, error) : 0)
	               ?: listener_run(&listener, error);
}

int start_check_user(const struct start_options *options, struct yett_error *error)
{
	char program[PATH_MAX + 16];
	const char *missing;

	if (privilege_can_build(POLICY_COMPILER_ID, &missing))
		return 0;
	(void)snprintf(program, sizeof program, "%s/yett-rootless", options->folder);
	(void)execv(program, options->argv);
	return error_set(error, YETT_E_HELPER_UNAVAILABLE, 0,
	                 "%s, which serves without root, cannot be executed: %s", program,
	                 strerror(errno));
}

int start_connected(const struct start_options *options, int socket, struct yett_error *error)
{
	return start_root_serve_one(options, NULL, socket, error);
}
