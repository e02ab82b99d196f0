/*
 * What is mounted in a sandbox that is there, or taken off: see setup.h and making.h.
 *
 * Root clones and maps what the client brought (share.c), as when the sandbox was made. The rest is done by yett-init's program, which is
 * started once more for it: under init's id, with what building takes in the sandbox's upper user namespace, in its mount and its pid
 * namespace. So a mistake there gives what a captured init had while it built, and nothing of the host's.
 */
#include "base/closing.h"
#include "base/reached.h"
#include "helper/privilege/privilege.h"
#include "helper/setup/making.h"
#include "protocol/frame.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MOUNT_MS 10000 /* it waits for nobody, but for a file system of the client's that does not answer */

enum mount_fd { MOUNT_CONTROL, MOUNT_INIT, MOUNT_USER_NS, MOUNT_FDS };

int mount_become(const struct setup *setup, const int *from)
{
	struct identity_fds fds = {{from[MOUNT_CONTROL]}};
	int r = identity_prepare(setup), status = 0;
	pid_t pid;

	for (int i = 1; i < INIT_FD_END - INIT_FD_CONTROL; i++)
		fds.fds[i] = -1;
	if (r == 0)
		r = reached_step("mounter", "enter");
	if (r == 0 && (setns(from[MOUNT_INIT], CLONE_NEWPID | CLONE_NEWNS) < 0 ||
	               (!setup->host->is_rootless && setns(from[MOUNT_USER_NS], CLONE_NEWUSER) < 0)))
		r = -errno;
	if (r == 0)
		r = identity_take(setup);
	/* Our end is its end, and the supervisor's is ours; in its pid namespace nobody may touch it. Another id clears it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	pid = r == 0 ? fork() : -1;
	if (r == 0 && pid < 0)
		r = -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		r = identity_become_init(setup, "mount", &fds);
		_exit(-r);
	}
	if (pid > 0 && (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)))
		r = -ECHILD;
	return r < 0 ? r : -WEXITSTATUS(status);
}

/*
 * What it says of its end, of which nothing is believed but that it is text. What comes with that are the locks of stores, for init to
 * hold; from a captured one it is anything, and closed no longer than that may take.
 */
static int hear(struct setup *setup, int control, struct yett_error *error)
{
	struct pollfd wait[] = {{.fd = control, .events = POLLIN}, {.fd = setup->init_pidfd, .events = POLLIN}};
	_cleanup_free_ struct frame *frame = calloc(1, sizeof *frame);
	const uint8_t word = INIT_WORD_KEEP;
	struct init_report report = {.error = ECHILD};
	int r = !frame ? -ENOMEM : poll(wait, ARRAY_SIZE(wait), MOUNT_MS) <= 0 ? -ETIMEDOUT : frame_receive(control, frame, MSG_DONTWAIT);

	if (r <= 0)
		return r < 0 ? r : -ECHILD;
	if (frame->length == sizeof report)
		memcpy(&report, frame->bytes, sizeof report);
	if (frame->fd_count)
		r = frame_send(setup->control, &word, sizeof word, frame->fds, frame->fd_count, MSG_DONTWAIT);
	closing_bound(true);
	frame_close_fds(frame);
	closing_bound(false);
	if (report.error == 0 || report.refused.code == YETT_OK || !error_is_sound(&report.refused))
		return report.error ? -report.error : r < 0 ? r : 0;
	*error = report.refused;
	return (int)error->code;
}

static int carry_out(struct setup *setup, const struct setup_order *order, int control[static 2], int trees[static 2], pid_t *ret_pid,
                     struct yett_error *error)
{
	const int fds[MOUNT_FDS] = {control[1], setup->init_pidfd, setup->host->is_rootless ? setup->init_pidfd : setup->user_ns};
	int r = order->connection < 0 ? 0 : share_start(setup, order->plan, order->connection, trees[0]);

	trees[0] = fd_close(trees[0]);
	if (r == 0)
		r = *ret_pid = builder_fork(setup, BUILDER_MOUNTER, fds, MOUNT_FDS);
	control[1] = fd_close(control[1]);
	if (r >= 0)
		r = setup_give_order(setup, order, INIT_ORDER_MOUNT, control[0], order->connection < 0 ? -1 : trees[1]);
	return r == 0 ? hear(setup, control[0], error) : r;
}

int setup_mount(struct setup *setup, const struct setup_order *order, struct yett_error *error)
{
	const struct plan *plan = order->plan, *made = setup->last.plan;
	int control[2] = {-1, -1}, trees[2] = {-1, -1}, r;
	pid_t pid = 0;

	if (plan->policy_generation != setup->host->policy->generation || plan->caller_uid != made->caller_uid ||
	    plan->profile != made->profile)
		return error_set(error, YETT_E_PERMISSION_DENIED, 0, "the policy, the profile or the user is not that of the sandbox");
	r = privilege_raise();
	setup->shared->result = -EINPROGRESS;
	setup_mind_mounts(setup, plan);
	if (r == 0 && (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	               socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, trees) < 0))
		r = -errno;
	if (r == 0)
		r = carry_out(setup, order, control, trees, &pid, error);
	if (r != 0 && setup_inside_error(setup)) {
		*error = *setup_inside_error(setup);
		r = (int)error->code;
	}
	fd_close(trees[0]);
	fd_close(trees[1]);
	fd_close(control[1]);
	setup_end_sharer(setup);
	if (!builder_end_child_soon(pid) || !frame_close_socket(control[0]))
		setup->is_spoilt = true;
	return privilege_narrow() < 0 ? -EPERM : r;
}
