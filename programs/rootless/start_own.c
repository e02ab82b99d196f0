/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How yett-rootless starts: it serves one connection of the user who started it, from a user
 * namespace of that user. See start.h.
 *
 * Runs with the caller's privilege only. If the user cannot have a user namespace, or is a root
 * that lacks what building needs, it only plans. It must never serve with privilege from its own
 * file: it is not meant to be set-user-id, and refuses to run if it is.
 */
#include "helper/monitor/monitor.h"
#include "helper/policy/check.h"
#include "helper/policy/image.h"
#include "helper/privilege/privilege.h"
#include "helper/start/activation.h"
#include "helper/start/start.h"
#include "programs/decide/policy/target.h"
#include "programs/rootless/rootless.h"
#include "programs/rootless/spares.h"

#include <ctype.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* The built-in policy, which yett-policy compiled when Yett was built: builtin_image.py */
extern const unsigned char builtin_image[];
extern const size_t builtin_image_size;

const char start_name[] = "yett-rootless";
const char start_help[] =
	"It serves the ordinary user who starts it, and has no privilege: it is no set-user-id program.";

/*
 * Whether real, effective and saved ids are equal. They differ after the process gave up privilege
 * for a time, or got privilege from its file. credentials(7)
 */
static bool has_own_ids(void)
{
	uid_t uids[3];
	gid_t gids[3];

	return getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	       getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == uids[1] &&
	       uids[1] == uids[2] && gids[0] == gids[1] && gids[1] == gids[2];
}

/*
 * AT_SECURE is set if the file is set-user-id or set-group-id, or has capabilities or a label that
 * give the process more than its caller has. Prints no message: the caller chose standard error,
 * but the privilege is not the caller's. getauxval(3)
 */
bool start_begin(int argc, char **argv, int *ret_status)
{
	(void)argv;
	*ret_status = 2;
	/* _exit(2), so that no exit handlers of libraries run. */
	if (argc < 1 || getauxval(AT_SECURE) || !has_own_ids())
		_exit(*ret_status);
	return true;
}

int start_check_user(const struct start_options *options, struct yett_error *error)
{
	const char *missing;

	(void)options;
	return privilege_can_build(POLICY_COMPILER_ID, &missing)
	               ? error_set(
				 error, YETT_E_INVALID_REQUEST, 0,
				 "yett-rootless serves ordinary users; root's program is yett-helper")
	               : 0;
}

/*
 * Handles a root that lacks what building needs, as in a container; yett-helper executes this
 * program for such a root. If a capability is missing, this process can only plan, and
 * `ret_no_host` says why. If private ids are missing, there is no id for yett-policy, so nothing
 * works. Returns 0 or a code.
 */
static int look_at_root(struct yett_error *ret_no_host, struct yett_error *error)
{
	const char *missing;
	char name[32];
	size_t i = 0;

	(void)privilege_can_build(POLICY_COMPILER_ID, &missing);
	if (strcmp(missing, PRIVILEGE_IDS) == 0) {
		(void)error_set(
			error, YETT_E_UNSUPPORTED, 0,
			"building sandboxes as root takes private user ids, and the user namespace of this container has none above its own");
		error_detail(
			error,
			"run yett as an ordinary user in it, or have the service started outside");
		return YETT_E_UNSUPPORTED;
	}
	for (; missing[i] && i < sizeof name - 1; i++)
		name[i] = (char)toupper((unsigned char)missing[i]);
	name[i] = '\0';
	(void)error_set(
		ret_no_host, YETT_E_UNSUPPORTED, 0,
		"building sandboxes as root takes CAP_%s, which root lacks here, as in a container",
		name);
	error_detail(
		ret_no_host,
		"give the container that (docker run --privileged), or run yett as an ordinary user in it, or have the service started outside");
	return 0;
}

int start_listening(const struct start_options *options, int socket, struct yett_error *error)
{
	fd_close(socket);
	return error_set(error, YETT_E_UNSUPPORTED, 0,
	                 "a helper without root serves one connection: %s",
	                 options->listen ? "--listen is for root"
	                                 : "the socket has to be set up with Accept=yes");
}

/*
 * Loads the built-in policy through a memory file, as image_load() expects, so that the image is
 * checked like any other. yett-policy would also read the host's accounts, to keep private ids
 * apart from them; here no private ids are used.
 */
static int load_builtin(struct policy **ret_policy, struct yett_error *error)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_fd_ int image = memfd_create("yett-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (image < 0)
		return -errno;
	if (write(image, builtin_image, builtin_image_size) != (ssize_t)builtin_image_size)
		return -EIO;
	r = image_load(image, &policy, error);
	if (r == 0)
		r = check_paths(policy, geteuid(), error);
	if (r == 0)
		*ret_policy = steal_ptr(&policy);
	return r;
}

/* The state of a helper without root, besides the policy. */
struct own {
	struct peer caller;
	struct means means;
	struct setup_rootless setup;
	struct spares spares;
	char runtime_dir[ROOTLESS_PATH_SIZE];
};

/*
 * Starts to build a template before there is a request. Takes the profile "default", which a
 * request without a profile means; each connection has only one helper, so one template is enough.
 * If this fails, it fails again at the request, and is reported then.
 */
static void expect_profile(struct setup_host *host)
{
	const struct policy_profile *profile = policy_find_profile(host->policy, "default");
	size_t index = profile ? (size_t)(profile - host->policy->profiles) : 0;

	if (profile && template_start(profile, host->policy->runtime_dir, host->face,
	                              &host->templates[index], NULL) != 0)
		host->templates[index] = TEMPLATE_NONE;
}

static int start_own_open_host(struct monitor *monitor, const char *libexec, struct own *own,
                               struct yett_error *error)
{
	/*
	 * Opened in this process's new mount namespace, because init gets a clone of this mount,
	 * and a mount of another namespace cannot be cloned.
	 */
	_cleanup_fd_ int group = rootless_open_cgroup();
	int r = privilege_take(PRIVILEGE_BUILD);

	own->setup =
		(struct setup_rootless){group, expect_profile, rootless_make_map, rootless_reopen};
	if (r == 0)
		r = setup_host_open(monitor->policy, libexec, &own->setup, &monitor->host, error);
	if (r != 0)
		return r;
	/*
	 * For sandboxes that outlive the connection. This process's own cgroup may belong to a
	 * systemd unit that ends with the connection.
	 */
	monitor->lasting.cgroup = cgroup_host_make_helpers(&monitor->host->cgroups);
	setup_sweep(monitor->host); /* no other process does this */
	own->means.has_cgroup = monitor->host->cgroups.count > 0;
	own->means.controllers = monitor->host->cgroups.controllers;
	return privilege_take(PRIVILEGE_MONITOR);
}

/*
 * Whether the client started this process: it is the parent, and the socket is a socketpair, not
 * an accepted one, since a client may become the parent of a process that somebody else started. A
 * pid of 0 is a process outside of this pid namespace. unix(7), PR_SET_CHILD_SUBREAPER(2const)
 */
static bool is_started_by(int socket, pid_t client)
{
	return client > 0 && client == getppid() && activation_is_pair(socket);
}

/*
 * Whether the client is confined. A client that started this process has passed on its namespaces
 * and no_new_privs, so it can do through this process only what it can do anyway. A client that
 * connected to a socket of a systemd unit has not. See peer_examine().
 */
static bool start_own_is_confined(int socket, pid_t client)
{
	_cleanup_fd_ int pidfd = -1;

	if (is_started_by(socket, client))
		return false;
	pidfd = peer_open_process(socket, client);
	return pidfd < 0 || peer_is_confined(client) || fd_poll(pidfd, POLLIN, 0) != 0;
}

/*
 * Becomes root of a user namespace. Reads the peer before that, because the namespace maps only
 * one of the peer's groups. If no user namespace can be had, the helper only plans.
 */
static int start_own_prepare(struct monitor *monitor, struct policy *policy, const char *libexec,
                             int socket, struct own *own, struct yett_error *error)
{
	int r = peer_read(socket, &own->caller, error);

	if (r == 0 && own->caller.uid != geteuid())
		r = error_set(error, YETT_E_PERMISSION_DENIED, 0,
		              "a helper without root serves its own user only");
	if (r != 0)
		return r;
	own->caller.confined = start_own_is_confined(socket, own->caller.pid);
	monitor->caller = &own->caller;
	if (monitor->no_host.code) /* set by look_at_root() */
		return 0;
	own->means = (struct means){.misses_label = rootless_misses_label(),
	                            .leaves_cores = rootless_leaves_cores()};
	monitor->means = &own->means;
	own->spares = spares_none;
	monitor->spares = &own->spares.calls;
	if (rootless_enter(&monitor->no_host) != 0)
		return 0;
	rootless_runtime_dir(own->runtime_dir);
	policy->runtime_dir = own->runtime_dir;
	return start_own_open_host(monitor, libexec, own, error);
}

int start_connected(const struct start_options *options, int socket, struct yett_error *error)
{
	_cleanup_(policy_freep) struct policy *policy = NULL;
	_cleanup_(setup_host_closep) struct setup_host *host = NULL;
	const char *path = options->policy     ? options->policy
	                   : options->personal ? NULL
	                                       : YETT_POLICY_PATH;
	const struct policy_source source = {options->libexec, path, true, geteuid()};
	struct monitor monitor = {MONITOR_NONE, .listener = -1};
	struct own own;
	int r = geteuid() == 0 ? look_at_root(&monitor.no_host, error) : 0;

	if (r == 0)
		r = path ? policy_load(&source, &policy, error) : load_builtin(&policy, error);
	monitor.policy = policy;
	if (r == 0)
		r = start_own_prepare(&monitor, policy, options->libexec, socket, &own, error);
	host = monitor.host;
	return start_serve(&monitor, options->libexec, socket, r, options->personal, error);
}
