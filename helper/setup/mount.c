/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts and unmounts in a sandbox that exists; and the start of its port listener. See setup.h and
 * making.h.
 *
 * As when the sandbox was made, root clones and maps what the client brought (share.c). yett-init's
 * program does the rest, started once more: under init's id, in the sandbox's mount and pid
 * namespaces, with the capabilities of building in its upper user namespace. So a fault there gives
 * an attacker what a compromised init had while it built, and nothing of the host's.
 */
#include "helper/privilege/privilege.h"
#include "helper/setup/making.h"

#include <sys/wait.h>

/* time for a file system of the client's that does not answer; nothing else is waited for */
#define MOUNT_MS 5000
/* time for init to take the socket */
#define KEEP_MS 1000

int mount_become(const struct setup *setup, enum fork_kind child, const int *from)
{
	const bool mounts = child == FORK_MOUNT_CHILD;
	/*
	 * The port listener stays out of the sandbox's pid and mount namespaces: it has nothing to
	 * do with the processes there, and they cannot reach it.
	 */
	const int namespaces = (mounts ? CLONE_NEWPID | CLONE_NEWNS : 0) | CLONE_NEWIPC |
	                       CLONE_NEWUTS | CLONE_NEWCGROUP |
	                       (setup->shares_network ? 0 : CLONE_NEWNET);
	struct identity_fds fds = {{from[MOUNT_CONTROL], from[MOUNT_KEEP],
	                            [2 ... INIT_FD_END - INIT_FD_CONTROL - 1] = -1}};
	int r = identity_prepare(setup);
	pid_t pid;

	if (r == 0)
		r = reached_step(mounts ? "mounter" : "catcher", "enter");
	/*
	 * The port listener sees the files that init sees first, the template's, in a mount
	 * namespace of its own. ESRCH: init has ended and has reported why.
	 */
	if (r == 0 &&
	    ((!mounts && setns(setup->host->templates[setup->profile].mount_ns, CLONE_NEWNS) < 0) ||
	     setns(from[MOUNT_INIT], namespaces) < 0 ||
	     (!setup->host->rootless && setns(from[MOUNT_USER_NS], CLONE_NEWUSER) < 0) ||
	     (!mounts && unshare(CLONE_NEWNS) < 0)))
		r = errno == ESRCH ? -EPIPE : -errno;
	if (r == 0)
		r = identity_take(setup);
	/*
	 * This process must end with the supervisor, and its child with this process. Set here
	 * because a change of ids clears the setting. The child is in init's pid namespace; no
	 * process there can trace it, because it has capabilities that they do not have.
	 */
	kernel_die_with_parent();
	pid = r < 0 ? -1 : mounts ? fork() : 0;
	if (r == 0 && pid < 0)
		r = -errno;
	if (pid == 0) {
		kernel_die_with_parent();
		return identity_become_init(setup, "once", &fds);
	}
	if (pid > 0)
		/* the child reports its result itself, or its socket ends */
		(void)waitpid(pid, NULL, 0);
	return r;
}

/*
 * The mount child sends the locks of stores to a socket that nobody reads. init holds the other
 * end, so the locks last until the sandbox ends, and are never open in this process. init gets its
 * end before anything is mounted.
 */
static int make_keep(struct setup *setup, int keep[static 2])
{
	const uint8_t word = INIT_WORD_KEEP;
	int r;

	if (setup->keeps_count == SETUP_KEEPS_MAX)
		return -EMFILE;
	if (fd_pair(keep) < 0)
		return -errno;
	r = fd_poll(setup->control, POLLOUT, KEEP_MS) > 0
	            ? frame_send(setup->control, &word, sizeof word, &keep[1], 1, MSG_DONTWAIT)
	            : -EBUSY;
	keep[1] = fd_close(keep[1]);
	setup->keeps_count += r == 0;
	return r;
}

int mount_hear(const struct setup *setup, int control, int wait_ms)
{
	struct init_report report;
	ssize_t n;

	if (fd_poll(control, POLLIN, wait_ms) <= 0)
		return -ETIMEDOUT;
	n = frame_peek_fds(control)
	            ? -1
	            : recv(control, &report, sizeof report, MSG_DONTWAIT | MSG_TRUNC);
	if (n != sizeof report || report.error < 0)
		return n == 0 ? -ECHILD : -EPROTO;
	/* The mount-clone child may have reported the reason already. */
	if (report.error == 0 || report.refused.code == YETT_OK ||
	    !error_is_sound(&report.refused) || setup->shared->result > 0)
		return -report.error;
	setup->shared->error = report.refused;
	setup->shared->result = (int)report.refused.code;
	return -EPIPE;
}

int setup_mount(struct setup *setup, const struct setup_order *order, struct yett_error *error)
{
	const struct plan *plan = order->plan, *made = setup->last.plan;
	int control[2] = {-1, -1}, keep[2] = {-1, -1}, r;
	pid_t pid = 0;

	if (plan->policy_generation != setup->host->policy->generation ||
	    plan->caller_uid != made->caller_uid || plan->profile != made->profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0,
		                 "the policy, the profile or the user is not that of the sandbox");
	r = privilege_raise();
	setup->shared->result = -EINPROGRESS;
	if (r == 0 && fd_pair(control) < 0)
		r = -errno;
	if (r == 0 && plan_has_layers(plan))
		r = make_keep(setup, keep);
	if (r == 0) {
		const int fds[MOUNT_FDS] = {control[1], keep[0] < 0 ? control[1] : keep[0],
		                            setup->init_pidfd, setup->user_ns};

		r = pid = forker_fork(setup, FORK_MOUNT_CHILD, fds, MOUNT_FDS);
	}
	fd_close(control[1]);
	fd_close(keep[0]);
	if (r > 0)
		r = setup_send_order(setup, order, INIT_ORDER_MOUNT, control[0]);
	if (r == 0)
		r = mount_hear(setup, control[0], MOUNT_MS);
	if (r != 0)
		r = setup_explain(setup, r, error);
	setup_end_mount_clone_child(setup);
	setup->is_tainted |= !forker_end_child_soon(pid) || !frame_close_socket(control[0]);
	if (privilege_narrow() < 0)
		r = -EPERM;
	return r < 0 ? error_set(error, YETT_E_INIT_FAILED, 0,
	                         "the mounts of the sandbox could not be changed: %s", strerror(-r))
	             : r;
}
