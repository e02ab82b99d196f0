/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-reader: looks up the names of the monitor's peer, and whether a key is in the peer's
 * authorized_keys. Descriptor 0 is a socket: the first packet comes from the monitor, the others
 * from its decider. All have a fixed size (reader.h).
 *
 * Files below a home, and answers of name services, are controlled by the user or others, and may
 * block, lie or be too large. So this process reads them as that user. Until the first packet it
 * keeps only CAP_SETUID and CAP_SETGID; then it becomes the user for good, and only then opens
 * files. Its answers are only claims of the user. Starts as root, or as the caller in personal
 * mode. The exit status is the number of the stage that failed. Compiled twice: yett-reader is
 * static, which starts three times as fast, but knows only /etc/passwd. yett-reader-nss uses the
 * host's C library and name services (NSS).
 */
#include "helper/privilege/lockdown.h"
#include "programs/decide/reader/own_keys.h"
#include "programs/decide/reader/reader.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum stage {
	STAGE_DESCRIPTORS = 1,
	STAGE_LIMITS,
	STAGE_BOUNDING_SET,
	STAGE_LESS,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_DEATH_SIGNAL,
	STAGE_IDS,
	STAGE_CAPABILITIES,
};

static void reader_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

/* Keeps only the two capabilities that reader_become() needs. */
static bool keep_ids(void)
{
	const uint32_t kept = 1u << CAP_SETUID | 1u << CAP_SETGID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = kept, .permitted = kept}};

	return syscall(SYS_capset, &header, data) == 0;
}

/*
 * Forbids writing files, and core dumps: with RLIMIT_CORE 1, unlike with 0, the kernel does not run
 * the host's core_pattern program either (core(5)). Leaves descriptors and memory for NSS modules,
 * which may map large caches.
 */
static bool reader_limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, 64},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(1u << 30)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/*
 * Returns whether this is a root that can change its ids. A root that cannot, as in a container,
 * serves only itself.
 */
static bool reader_lock_down(void)
{
	bool is_root = lockdown_can_leave_root();

	reader_need(syscall(SYS_close_range, 1u, ~0u, 0u) == 0, STAGE_DESCRIPTORS);
	reader_need(reader_limit(), STAGE_LIMITS);
	if (is_root) {
		reader_need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
		reader_need(keep_ids(), STAGE_LESS);
	}
	reader_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	reader_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/*
	 * If the monitor died before this call, no signal comes, but the first recv(2) returns end
	 * of file.
	 */
	reader_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	return is_root;
}

/*
 * Allows no further process. Set only after the change of ids: otherwise execve(2) in
 * ask_name_services() would fail if the user has processes. execve(2), EAGAIN
 */
static bool limit_processes(void)
{
	static const struct lockdown_limit limits[] = {{RLIMIT_NPROC, 0}};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* Becomes the user. From here on, files are opened and name services run with the user's rights. */
static void reader_become(const struct peer *peer, bool is_root)
{
	uid_t uids[3];
	gid_t gids[3];

	if (is_root)
		reader_need(setgroups(peer->groups_count, peer->groups) == 0 &&
		                    setresgid(peer->gid, peer->gid, peer->gid) == 0 &&
		                    setresuid(peer->uid, peer->uid, peer->uid) == 0,
		            STAGE_IDS);
	reader_need(getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	                    getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == peer->uid &&
	                    uids[1] == peer->uid && uids[2] == peer->uid && gids[0] == peer->gid &&
	                    gids[1] == peer->gid && gids[2] == peer->gid,
	            STAGE_IDS);
	reader_need(limit_processes(), STAGE_LIMITS);
	reader_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	reader_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/* The change of ids has cleared this setting. */
	reader_need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
}

static void reader_copy(char *to, size_t size, const char *from)
{
	/* Ignore values with characters that would break another passwd(5) file. */
	if (strlen(from) < size && !strpbrk(from, ":\n"))
		memcpy(to, from, strlen(from) + 1);
}

/* Executes yett-reader-nss. If that program is missing, the account gets no names. */
static void ask_name_services(void)
{
#ifndef READER_NSS
	const char *own = (const char *)getauxval(AT_EXECFN);
	char path[PATH_MAX];
	char *argv[] = {(char *)"yett-reader", NULL}, *environment[] = {NULL};

	/*
	 * The new program runs as the user, and cannot gain privilege: reader_lock_down(),
	 * reader_become().
	 */
	if (own && snprintf(path, sizeof path, "%s-nss", own) < (int)sizeof path)
		(void)execve(path, argv, environment);
#endif
}

static void find_names(const struct peer *peer, struct peer_names *names)
{
	const struct passwd *user = getpwuid(peer->uid);
	const struct group *group = getgrgid(peer->gid);
	char link[32];

	/*
	 * The peer can make its /proc/PID/exe point only to another program that the peer may
	 * execute. If the peer is undumpable, this process cannot read the link. proc_pid_exe(5)
	 */
	(void)snprintf(link, sizeof link, "/proc/%d/exe", peer->pid);
	(void)!readlink(link, names->program, sizeof names->program - 1);
	if (!user)
		ask_name_services();
	if (user) {
		reader_copy(names->user, sizeof names->user, user->pw_name);
		reader_copy(names->home, sizeof names->home, user->pw_dir);
		reader_copy(names->shell, sizeof names->shell, user->pw_shell);
	}
	if (group)
		reader_copy(names->group, sizeof names->group, group->gr_name);
}

int main(void)
{
	static struct peer peer;
	static struct reader_answer answer;
	char line[KEY_LINE_LENGTH + 1] = "";
	bool is_root = reader_lock_down(), is_first;

	/*
	 * Peek, so that the packet stays for yett-reader-nss if ask_name_services() executes it.
	 * Without one, the monitor is gone or does not need this process.
	 */
	if (recv(STDIN_FILENO, &peer, sizeof peer, MSG_PEEK | MSG_TRUNC) != sizeof peer)
		_exit(0);
	reader_become(&peer, is_root);
	find_names(&peer, &answer.names);
	if (recv(STDIN_FILENO, &peer, sizeof peer, 0) != sizeof peer)
		_exit(0);
	while (send(STDIN_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer &&
	       recv(STDIN_FILENO, line, KEY_LINE_LENGTH, MSG_TRUNC) == KEY_LINE_LENGTH) {
		answer.error = (struct yett_error){0};
		is_first = false;
		(void)!own_keys_find(answer.names.home, peer.uid, line, &is_first, &answer.error);
		answer.is_first = is_first;
	}
	_exit(0);
}
