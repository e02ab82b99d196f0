/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-dialer, the connector: connects where the proxy (yett-front) asks it to, if the rules allow
 * this, and passes the sockets. enum connector_fd lists its descriptors, and egress.h the packets.
 *
 * Runs in the host's network namespace under the caller's ids, so that firewall rules and
 * accounting of the host for the caller apply. Starts as root, or in personal mode as the caller.
 * The exit status is the number of the stage that failed. After the last stage it can only make TCP
 * sockets and memory, and send the sockets. It trusts neither the proxy, which serves the sandbox,
 * nor what it connects to. It must never connect to an address that it has not checked immediately
 * before.
 */
#include "helper/plan/plan.h"
#include "helper/privilege/lockdown.h"
#include "programs/filters/filters.h"
#include "programs/net/connector.h"
#include "programs/net/resolver_parent.h"
#include "programs/net/route.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

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
	STAGE_PACKET, /* received an invalid packet, or invalid rules */
	STAGE_SERVICE /* another error while serving */,
};

/* Sockets of connections and attempts, and all other descriptors. */
#define FILES_MAX     (CONNECTOR_CONNECTIONS_MAX + CONNECTOR_ASKS_MAX * CONNECTOR_ATTEMPTS_MAX + 32)
#define ADDRESSES_MAX (64u << 20) /* two sets of rules while they change, each with an index */

/* The ids of the caller. */
struct caller {
	uid_t uid;
	gid_t gid;
	uint32_t groups_count;
	gid_t groups[PLAN_GROUPS_MAX];
};

static void connector_main_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

static bool read_at(int fd, void *to, size_t size, size_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static bool connector_main_read_plan(struct caller *ret_caller)
{
	uid_t asker;
	uint64_t shape;

	/*
	 * In a plan of another version these offsets hold other members. A caller with uid 0 is
	 * accepted only if root made the request, so that nobody else gets root's network.
	 */
	return read_at(CONNECTOR_FD_PLAN, &shape, sizeof shape, offsetof(struct plan, shape)) &&
	       shape == PLAN_SHAPE &&
	       read_at(CONNECTOR_FD_PLAN, &asker, sizeof asker, offsetof(struct plan, asker.uid)) &&
	       read_at(CONNECTOR_FD_PLAN, &ret_caller->uid, sizeof ret_caller->uid,
	               offsetof(struct plan, caller_uid)) &&
	       read_at(CONNECTOR_FD_PLAN, &ret_caller->gid, sizeof ret_caller->gid,
	               offsetof(struct plan, caller_gid)) &&
	       read_at(CONNECTOR_FD_PLAN, &ret_caller->groups_count,
	               sizeof ret_caller->groups_count, offsetof(struct plan, groups_count)) &&
	       read_at(CONNECTOR_FD_PLAN, ret_caller->groups, sizeof ret_caller->groups,
	               offsetof(struct plan, groups)) &&
	       ret_caller->groups_count <= PLAN_GROUPS_MAX &&
	       (ret_caller->uid != 0 || asker == 0) && close(CONNECTOR_FD_PLAN) == 0;
}

/*
 * Forbids writing files, and core dumps. With RLIMIT_CORE 1, unlike with 0, the kernel does not run
 * the host's core_pattern program either (core(5)). The filter, not RLIMIT_NPROC, forbids new
 * processes: RLIMIT_NPROC would count all processes of the caller.
 */
static bool connector_main_limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, FILES_MAX},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(ADDRESSES_MAX)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/*
 * Takes the caller's ids, if this is a root that can change its ids. Otherwise the process has the
 * caller's ids already, as in personal mode.
 */
static bool connector_main_become(const struct caller *caller, bool is_root)
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

static void connector_main_lock_down(int argc)
{
	static const int kept[] = {CONNECTOR_FD_PROXY, CONNECTOR_FD_SUPERVISOR, CONNECTOR_FD_PLAN,
	                           CONNECTOR_FD_RESOLVER};
	bool is_root = lockdown_can_leave_root();
	struct caller caller;

	connector_main_need(argc == 1, STAGE_ARGUMENTS);
	fd_close_except(kept, ARRAY_SIZE(kept));
	connector_main_need(connector_main_read_plan(&caller), STAGE_PLAN);
	connector_main_need(connector_main_limit(), STAGE_LIMITS);
	if (is_root)
		connector_main_need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
	connector_main_need(connector_main_become(&caller, is_root), STAGE_IDS);
	connector_main_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	connector_main_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	connector_main_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/*
	 * The change of ids has cleared this setting. If the supervisor has died already, its end
	 * of the socket is closed, and connector_run() returns.
	 */
	connector_main_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
}

int main(int argc, char **argv)
{
	/*
	 * Zero at first, so that it is in .bss and does not add half a MiB to the program's file.
	 */
	static struct connector connector;
	int r;

	/* Otherwise the name is the number of a descriptor: execveat(2) */
	(void)prctl(PR_SET_NAME, argv[0], 0, 0, 0);
	connector_main_lock_down(argc);
	connector.proxy = CONNECTOR_FD_PROXY;
	connector.supervisor = CONNECTOR_FD_SUPERVISOR;
	connector.resolver = connector.rules_due = -1;
	connector.netlink = route_open();
	connector.epoll = epoll_create1(EPOLL_CLOEXEC);
	connector_main_need(connector.netlink >= 0 && connector.epoll >= 0, STAGE_SOCKETS);
	connector_main_need(
		resolver_parent_start(CONNECTOR_FD_RESOLVER, connector.lookup.sockets) == 0 &&
			close(CONNECTOR_FD_RESOLVER) == 0,
		STAGE_KEEPER);
	/* The resolver's parent is never waited for. */
	connector_main_need(signal(SIGCHLD, SIG_IGN) != SIG_ERR, STAGE_KEEPER);
	connector_main_need(lockdown_filter(&filters_connector), STAGE_FILTER);
	r = connector_run(&connector);
	connector_main_need(r != -EBADMSG && r != -EMSGSIZE, STAGE_PACKET);
	connector_main_need(r == 0, STAGE_SERVICE);
	_exit(0);
}
