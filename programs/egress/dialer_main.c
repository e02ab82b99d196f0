/*
 * yett-dialer: connects to where a sandbox's front asks it to, if the rules allow it, and passes
 * the sockets on. Its descriptors are those of enum dialer_fd, and what is said on them stands in
 * egress.h.
 *
 * Theory of operation: it is in the host's network namespace under the ids of the caller, so that
 * the host's firewall and accounting see the caller. It starts as root, or as the caller in
 * personal mode; a stage's number is its exit status when the stage fails, and after the last one
 * it can make TCP sockets and memory, and hand them over. The front is inside, and what it connects
 * to is the internet: it believes neither. It must never connect to what it has not decided about
 * in the same breath.
 */
#include "helper/plan/plan.h"
#include "helper/privilege/lockdown.h"
#include "programs/egress/dial.h"
#include "programs/egress/dialer.h"
#include "programs/egress/guard.h"
#include "programs/egress/keeper.h"
#include "programs/egress/route.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum stage {
	STAGE_ARGUMENTS = 1,
	STAGE_DESCRIPTORS,
	STAGE_PLAN,
	STAGE_LIMITS,
	STAGE_BOUNDING_SET,
	STAGE_IDS,
	STAGE_CAPABILITIES,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_DEATH_SIGNAL,
	STAGE_SOCKETS,
	STAGE_KEEPER,
	STAGE_FILTER,
	STAGE_PACKET, /* what it was sent is no packet that it may be sent, or rules that are none
	               */
	STAGE_SERVICE /* anything else, while it served */,
};

/* Sockets of connections and attempts, and what there is besides. */
#define FILES_MAX     (DIALER_CONNECTIONS_MAX + DIALER_ASKS_MAX * DIALER_ATTEMPTS_MAX + 32)
#define ADDRESSES_MAX (64u << 20) /* rules twice, while they change, with an index each */

/* Who the caller is. */
struct caller {
	uid_t uid;
	gid_t gid;
	uint32_t groups_count;
	gid_t groups[PLAN_GROUPS_MAX];
};

static void need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool read_at(int fd, void *to, size_t size, size_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool read_plan(struct caller *ret_caller)
{
	uid_t asker;
	uint64_t shape;

	/* of another version, the bytes at these places are anything; and root's network is for who
	 * asked as root */
	return read_at(DIALER_FD_PLAN, &shape, sizeof shape, offsetof(struct plan, shape)) &&
	       shape == PLAN_SHAPE &&
	       read_at(DIALER_FD_PLAN, &asker, sizeof asker, offsetof(struct plan, asker.uid)) &&
	       read_at(DIALER_FD_PLAN, &ret_caller->uid, sizeof ret_caller->uid,
	               offsetof(struct plan, caller_uid)) &&
	       read_at(DIALER_FD_PLAN, &ret_caller->gid, sizeof ret_caller->gid,
	               offsetof(struct plan, caller_gid)) &&
	       read_at(DIALER_FD_PLAN, &ret_caller->groups_count, sizeof ret_caller->groups_count,
	               offsetof(struct plan, groups_count)) &&
	       read_at(DIALER_FD_PLAN, ret_caller->groups, sizeof ret_caller->groups,
	               offsetof(struct plan, groups)) &&
	       ret_caller->groups_count <= PLAN_GROUPS_MAX &&
	       (ret_caller->uid != 0 || asker == 0) && close(DIALER_FD_PLAN) == 0;
}

/* No file, no core (1: core(5)). Processes are the filter's to forbid: the caller may have any
 * number. */
static bool limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, FILES_MAX},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(ADDRESSES_MAX)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* A root that can become another becomes the caller; whoever else starts it is the caller already,
 * as in personal mode. */
static bool become(const struct caller *caller, bool is_root)
{
	uid_t uids[3];
	gid_t gids[3];

	if (is_root && (setgroups(caller->groups_count, caller->groups) < 0 ||
	                setresgid(caller->gid, caller->gid, caller->gid) < 0 ||
	                setresuid(caller->uid, caller->uid, caller->uid) < 0))
		return false;
	return getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	       getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == caller->uid &&
	       uids[1] == caller->uid && uids[2] == caller->uid && gids[0] == caller->gid &&
	       gids[1] == caller->gid && gids[2] == caller->gid;
}

/* Packets, TCP sockets, of which none is read but a proxy's answer, and memory. No path, no
 * process, no signal. */
static bool enter_filter(void)
{
	static const int calls[] = {
		/* packets: of the front, the supervisor and the resolver; questions about routes */
		SYS_recvmsg,
		SYS_recvfrom,
		SYS_sendmsg,
		SYS_sendto,
		SYS_close,
		/* connections */
		SYS_socket /* dial_begin, dial_checks */,
		SYS_connect,
		SYS_setsockopt,
		SYS_getsockopt,
		SYS_shutdown /* connections_check */,
		/* waiting */
		SYS_epoll_ctl,
		SYS_epoll_pwait,
		SYS_ppoll /* notice_ends */,
#ifdef SYS_poll
		SYS_poll,
#endif
		SYS_clock_gettime,
		SYS_restart_syscall,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		/* ruleset_change */
		SYS_fcntl,
		SYS_fstat,
		SYS_newfstatat,
		SYS_statx,
		/* memory */
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mremap,
		SYS_madvise,
		LOCKDOWN_END,
#if defined(__SANITIZE_ADDRESS__)
		SYS_write,
#endif
	};
	struct sock_filter checks[GUARD_CHECKS + DIAL_CHECKS];

	memcpy(checks, guard_checks, sizeof guard_checks);
	memcpy(checks + GUARD_CHECKS, dial_checks, sizeof dial_checks);
	return lockdown_filter_with(checks, ARRAY_SIZE(checks), calls, ARRAY_SIZE(calls));
}

static void lock_down(int argc)
{
	static const int kept[] = {DIALER_FD_FRONT, DIALER_FD_SUPERVISOR, DIALER_FD_PLAN,
	                           DIALER_FD_RESOLVER};
	bool is_root = lockdown_can_leave_root();
	struct caller caller;

	need(argc == 1, STAGE_ARGUMENTS);
	fd_close_except(kept, ARRAY_SIZE(kept));
	need(read_plan(&caller), STAGE_PLAN);
	need(limit(), STAGE_LIMITS);
	if (is_root)
		need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
	need(become(&caller, is_root), STAGE_IDS);
	need(lockdown_capabilities(), STAGE_CAPABILITIES);
	need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/* Which other ids have cleared. Had the supervisor died before, its end would be closed. */
	need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
}

int main(int argc, char **argv)
{
	static struct dialer
		dialer; /* all of it 0 at first: else the program's file had half a MiB of it */
	int r;

	(void)prctl(PR_SET_NAME, argv[0], 0, 0,
	            0); /* else it is the number of a descriptor: execveat(2) */
	lock_down(argc);
	dialer.front = DIALER_FD_FRONT;
	dialer.supervisor = DIALER_FD_SUPERVISOR;
	dialer.resolver = dialer.rules_due = -1;
	dialer.netlink = route_open();
	dialer.epoll = epoll_create1(EPOLL_CLOEXEC);
	need(dialer.netlink >= 0 && dialer.epoll >= 0, STAGE_SOCKETS);
	need(keeper_start(DIALER_FD_RESOLVER, dialer.lookup.sockets) == 0 &&
	             close(DIALER_FD_RESOLVER) == 0,
	     STAGE_KEEPER);
	need(signal(SIGCHLD, SIG_IGN) != SIG_ERR, STAGE_KEEPER); /* nobody waits for it */
	need(enter_filter(), STAGE_FILTER);
	r = dialer_run(&dialer);
	need(r != -EBADMSG && r != -EMSGSIZE, STAGE_PACKET);
	need(r == 0, STAGE_SERVICE);
	_exit(0);
}
