/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes between the supervisor and init. See making.h.
 *
 * The set-up child is born in the sandbox's cgroups, leaves the host (identity.c), and makes init
 * in new namespaces, as a child of the supervisor like itself. With cgroup v1, moving into a group
 * waits for an RCU grace period, and only a fork gets there at no cost. There the cgroup forker
 * sits in the groups, with full privilege, for one sandbox of a user after the other. The forker
 * must do nothing but fork.
 */
#include "helper/setup/making.h"

#include <sys/wait.h>

/* A grace period on a busy machine. Nothing here depends on a client. */
#define FORKER_DEADLINE_MS 20000
#define END_DEADLINE_MS    2000

/* Descriptors of the set-up child. */
enum make_fd { MAKE_CONTROL, MAKE_CHANNEL, MAKE_FDS };

/* A request to the cgroup forker: the values that may have changed since it was forked. */
struct make {
	enum fork_kind child;
	uint32_t profile, init_inside, init_host; /* these three from struct setup */
	uint32_t proxy_id;                        /* this and `starts` from struct egress */
	unsigned starts;
	bool shares_network; /* from struct setup */
};

_Static_assert(INIT_FD_DEV - INIT_FD_MEMORY_EVENTS == CGROUP_FILES_OF_INIT,
               "leave() opens them one after the other");

static bool has_cgroup(const struct setup *setup)
{
	return setup->host->cgroups.count > 0;
}

/*
 * Sets the error that setup_explain() returns. 0 and -EPIPE set nothing: -EPIPE means only that the
 * peer has gone. Returns `r`.
 */
static int name_step(const struct setup *setup, const char *step, int r)
{
	if (r == -ENOSPC) /* namespaces(7) */
		error_set(
			&setup->shared->error, YETT_E_UNSUPPORTED, 0,
			"this host allows no further namespaces; as root: sysctl user.max_user_namespaces=15000");
	else if (r < 0 && r != -EPIPE)
		error_set(&setup->shared->error, YETT_E_INIT_FAILED, 0, "set-up step %s failed: %s",
		          step, strerror(-r));
	if (r < 0 && r != -EPIPE)
		setup->shared->result = error_cause(&setup->shared->error, step, -r);
	return r;
}

/*
 * Opens the sandbox's group through a mount that only init uses. From a directory of the host's
 * cgroup mount, ".." would lead to the whole tree, whatever the root directory of the process is.
 * Closing `tree` detaches the mount from mount(2) and leaves only the descriptor.
 */
static int detach_group(const struct setup *setup)
{
	_cleanup_fd_ int tree =
		has_cgroup(setup) ? open_tree(setup->cgroup.group, "",
	                                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)
				  : -1;

	return tree < 0 ? -1 : fd_open_directory(tree, ".");
}

/*
 * The set-up child: leaves the host and makes init. `ends` are init's ends of the control and
 * channel sockets.
 */
static void __attribute__((noreturn))
cgroup_forker_leave(const struct setup *setup, const int ends[static MAKE_FDS])
{
	const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWPID |
	                            (setup->shares_network ? 0 : CLONE_NEWNET) | CLONE_NEWIPC |
	                            CLONE_NEWUTS | CLONE_PARENT;
	struct identity_fds fds = {{ends[MAKE_CONTROL], ends[MAKE_CHANNEL], detach_group(setup)}};
	/* Opened here because each sandbox has a new leaf. */
	_cleanup_fd_ int leaf = fd_open_directory(setup->cgroup.group, "init");
	int r = reached_step("leaver", "leave");
	pid_t pid;

	kernel_die_with_parent();
	for (enum cgroup_file file = 0; file < CGROUP_FILES_OF_INIT; file++)
		fds.fds[INIT_FD_MEMORY_EVENTS - INIT_FD_CONTROL + file] =
			cgroup_open_file(&setup->cgroup, file);
	if (r == 0 && (leaf < 0 || fds.fds[INIT_FD_CGROUP - INIT_FD_CONTROL] < 0) &&
	    has_cgroup(setup))
		r = -errno;
	if (r == 0)
		r = identity_leave(setup, ends[MAKE_CONTROL], &fds);
	/*
	 * The cgroup namespace is rooted where this process is, at the sandbox's group. If it were
	 * made together with init, it would be rooted at the leaf.
	 */
	if (r == 0 && unshare(CLONE_NEWCGROUP) < 0)
		r = -errno;
	pid = r == 0 ? kernel_clone(namespaces | (leaf < 0 ? 0 : CLONE_INTO_CGROUP), 0, leaf, NULL)
	             : r;
	if (pid == 0) {
		kernel_die_with_parent(); /* until init asks for it itself */
		r = identity_become_init(setup, "build", &fds);
		(void)name_step(setup, "init", r);
		_exit(1);
	}
	if (pid > 0)
		setup->shared->init_pid = pid;
	_exit(name_step(setup, "leave", pid < 0 ? pid : 0) < 0);
}

/* `fds` are owned by this process; their number depends on `child`. */
static void __attribute__((noreturn))
cgroup_forker_become(const struct setup *setup, enum fork_kind child, const int *fds)
{
	if (child == FORK_SETUP_CHILD)
		cgroup_forker_leave(setup, fds);
	(void)name_step(setup, child == FORK_MOUNT_CHILD ? "mount" : "network",
	                child == FORK_PROXY || child == FORK_CONNECTOR
	                        ? egress_become(setup, child, fds)
	                        : mount_become(setup, child, fds));
	_exit(1);
}

/*
 * Opens the group that a child is born in. The set-up child is born in the sandbox's group itself,
 * where its cgroup namespace starts and which init then leaves. The others are born beside init.
 * Returns a descriptor, -1 where there is no group, or -errno.
 */
static int open_birthplace(const struct setup *setup, enum fork_kind child)
{
	int fd = has_cgroup(setup) ? fd_open_directory(setup->cgroup.group,
	                                               child == FORK_SETUP_CHILD ? "." : "init")
	                           : -1;

	return fd < 0 && has_cgroup(setup) ? -errno : fd;
}

static void __attribute__((noreturn)) forker(struct setup *setup)
{
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	int r = frame ? reached_step("builder", "enter") : -ENOMEM;

	kernel_die_with_parent();
	if (r == 0)
		r = cgroup_enter(&setup->cgroup);
	r = name_step(setup, "enter", r);
	/*
	 * This process outlives the sandbox: it must not keep open what the supervisor holds of its
	 * client.
	 */
	setup_host_keep_only(setup->host, (const int[]){setup->go, setup->cgroup.group}, 2);
	while (r == 0 && frame_receive(setup->go, frame, 0) > 0) {
		struct make make = {0};
		pid_t pid;
		int place;

		r = frame->length == sizeof make ? reached_step("builder", "fork") : -EPROTO;
		memcpy(&make, frame->bytes, sizeof make);
		setup->profile = make.profile;
		setup->map.init_inside = make.init_inside;
		setup->init_host = make.init_host;
		setup->egress.proxy_id = make.proxy_id;
		setup->egress.starts = make.starts;
		setup->shares_network = make.shares_network;
		/* A set-up child is born in this process's group. */
		place = r == 0 && make.child != FORK_SETUP_CHILD
		                ? open_birthplace(setup, make.child)
		                : -1;
		r = r == 0 && place < -1 ? place : r;
		pid = r == 0 ? kernel_clone(CLONE_PARENT | (place >= 0 ? CLONE_INTO_CGROUP : 0), 0,
		                            place, NULL)
		             : r;
		place = fd_close(place);
		if (pid == 0)
			cgroup_forker_become(setup, make.child, frame->fds);
		r = name_step(setup, "fork", pid < 0 ? pid : 0);
		if (write(setup->go, &pid, sizeof pid) != sizeof pid)
			r = -EPIPE;
		frame_close_fds(frame);
	}
	_exit(r != 0 && r != -EPIPE);
}

static int start_forker(struct setup *setup)
{
	int pair[2];
	pid_t pid;

	if (fd_pair(pair) < 0)
		return -errno;
	pid = kernel_clone(0, SIGCHLD, -1, NULL);
	if (pid == 0) {
		fd_close(pair[0]);
		setup->go = pair[1];
		forker(setup);
	}
	fd_close(pair[1]);
	setup->forker = pid;
	setup->go = pair[0];
	return pid < 0 ? pid : 0;
}

static pid_t ask_forker(struct setup *setup, enum fork_kind child, const int *fds, size_t count)
{
	const struct make make = {.child = child,
	                          .profile = setup->profile,
	                          .init_inside = setup->map.init_inside,
	                          .init_host = setup->init_host,
	                          .proxy_id = setup->egress.proxy_id,
	                          .starts = setup->egress.starts,
	                          .shares_network = setup->shares_network};
	int r = setup->forker > 0 ? 0 : start_forker(setup);
	pid_t pid = -1;

	if (r == 0)
		r = frame_send(setup->go, &make, sizeof make, fds, count, 0);
	if (r == 0 && fd_poll(setup->go, POLLIN, FORKER_DEADLINE_MS) <= 0)
		r = -ETIMEDOUT;
	if (r == 0 && (read(setup->go, &pid, sizeof pid) != sizeof pid || pid < 0))
		r = -ECHILD;
	if (r < 0)
		forker_end(setup);
	return r < 0 ? r : pid;
}

pid_t forker_fork(struct setup *setup, enum fork_kind child, const int *fds, size_t count)
{
	_cleanup_fd_ int place = setup->host->cgroups.has_v1 ? -1 : open_birthplace(setup, child);
	pid_t pid;

	if (setup->host->cgroups.has_v1)
		return ask_forker(setup, child, fds, count);
	if (place < 0 && has_cgroup(setup))
		return place;
	pid = kernel_clone(place < 0 ? 0 : CLONE_INTO_CGROUP, SIGCHLD, place, NULL);
	if (pid == 0) {
		/* Otherwise the child would not see an end of file when the supervisor dies. */
		fd_close(setup->control);
		fd_close(setup->channel);
		cgroup_forker_become(setup, child, fds);
	}
	return pid;
}

bool forker_end_child_soon(pid_t pid)
{
	if (pid <= 0)
		return true;
	(void)kill(pid, SIGKILL);
	return kernel_wait_end(pid, END_DEADLINE_MS) && waitpid(pid, NULL, __WALL) == pid;
}

/* Waits until the set-up child has made its user namespace, writes the map, and lets it go on. */
static int map_setup_child(struct setup *setup, pid_t pid)
{
	char byte;

	if (setup->host->rootless)
		return 0;
	if (fd_poll(setup->control, POLLIN, FORKER_DEADLINE_MS) <= 0 ||
	    read(setup->control, &byte, 1) != 1)
		return -ECHILD;
	setup->user_ns = idmap_open(pid, &setup->map.uids, &setup->map.gids);
	if (setup->user_ns < 0)
		return setup->user_ns;
	return send(setup->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -ECHILD;
}

int forker_make_init(struct setup *setup)
{
	int control[2], channel[2], status = 0, r;
	char path[40];
	pid_t pid;

	*setup->shared = (struct setup_shared){.result = -EINPROGRESS};
	if (fd_pair(control) < 0)
		return -errno;
	setup->control = control[0];
	if (fd_pair(channel) < 0)
		return fd_close(control[1]), -errno;
	setup->channel = channel[0];
	pid = forker_fork(setup, FORK_SETUP_CHILD, (const int[]){control[1], channel[1]}, MAKE_FDS);
	fd_close(control[1]);
	fd_close(channel[1]);
	if (pid < 0)
		return pid;
	r = map_setup_child(setup, pid);
	if (r < 0 || !kernel_wait_end(pid, FORKER_DEADLINE_MS))
		(void)kill(pid, SIGKILL);
	/* __WALL: a child made with CLONE_PARENT and no exit signal is a "clone" child. wait(2) */
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (r < 0 || status != 0)
		return r < 0 ? r : -ECHILD;
	setup->init_pidfd = kernel_pidfd_open(setup->shared->init_pid);
	if (setup->init_pidfd < 0)
		return setup->init_pidfd;
	/*
	 * The process that wrote init_pid had given up root before. Using the pid is safe because
	 * waitid(2) accepts only a child of this process.
	 */
	if (waitid(P_PIDFD, (id_t)setup->init_pidfd, &(siginfo_t){0},
	           WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return -ECHILD;
	/*
	 * Unmounting waits for RCU grace periods: with this descriptor, init's end need not wait
	 * for them. Opening it needs CAP_SYS_PTRACE, as init has another id.
	 */
	FORMAT(path, "/proc/%d/ns/mnt", setup->shared->init_pid);
	setup->mount_ns = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

void forker_end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

void forker_end(struct setup *setup)
{
	forker_end_child(setup->forker);
	setup->forker = 0;
	setup->go = fd_close(setup->go);
}
