/*
 * yett-reader: tells the monitor the names of its peer, and whether a key is one that the peer
 * enrolled. Descriptor 0 is the monitor's; questions and answers are packets of one size each
 * (reader.h).
 *
 * Theory of operation: what lies below a home, and who answers for the host's name services, is the
 * user's or somebody else's, and may hang, lie or be more than it seems. So it is looked at as the
 * user, by a process of its own: it waits for the first question with nothing but what becoming
 * another takes, then is that user for good, and only then opens its first file. What it says is
 * the user's word. Starts as root, or as the caller where that is nobody else; a stage's number is
 * its exit status when the stage fails.
 *
 * Compiled twice: linked statically, it starts three times as fast and finds the accounts of
 * /etc/passwd. As yett-reader-nss it is linked with the host's C library, for accounts that other
 * name services know (NSS).
 */
#include "helper/monitor/reader.h"
#include "helper/privilege/lockdown.h"
#include "programs/reader/own_keys.h"

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

static void need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

/* What is left of root until the first question. */
static bool keep_ids(void)
{
	const uint32_t kept = 1u << CAP_SETUID | 1u << CAP_SETGID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = kept, .permitted = kept}};

	return syscall(SYS_capset, &header, data) == 0;
}

/* No file, no core (1: core(5)); descriptors and memory for NSS, whose modules may map large
 * caches. */
static bool limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, 64},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(1u << 30)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* Whether it is root that can become another. A root that cannot, as in a container, serves nobody
 * but itself. */
static bool lock_down(void)
{
	bool is_root = lockdown_can_leave_root();

	need(syscall(SYS_close_range, 1u, ~0u, 0u) == 0, STAGE_DESCRIPTORS);
	need(limit(), STAGE_LIMITS);
	if (is_root) {
		need(lockdown_bounding_set(), STAGE_BOUNDING_SET);
		need(keep_ids(), STAGE_LESS);
	}
	need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	/* Had the monitor died before, the first question would be the end of file. */
	need(lockdown_death_signal(), STAGE_DEATH_SIGNAL);
	return is_root;
}

/* No process. A limit from before the change of ids would forbid ask_name_services() its exec where
 * the user has processes. execve(2), EAGAIN */
static bool limit_processes(void)
{
	static const struct lockdown_limit limits[] = {{RLIMIT_NPROC, 0}};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* From here on what is opened, and whatever a name service does, is done as that user. */
static void become(const struct peer *peer, bool is_root)
{
	uid_t uids[3];
	gid_t gids[3];

	if (is_root)
		need(setgroups(peer->groups_count, peer->groups) == 0 &&
		             setresgid(peer->gid, peer->gid, peer->gid) == 0 &&
		             setresuid(peer->uid, peer->uid, peer->uid) == 0,
		     STAGE_IDS);
	need(getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	             getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == peer->uid &&
	             uids[1] == peer->uid && uids[2] == peer->uid && gids[0] == peer->gid &&
	             gids[1] == peer->gid && gids[2] == peer->gid,
	     STAGE_IDS);
	need(limit_processes(), STAGE_LIMITS);
	need(lockdown_capabilities(), STAGE_CAPABILITIES);
	need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	need(lockdown_death_signal(), STAGE_DEATH_SIGNAL); /* which other ids have cleared */
}

static void copy(char *to, size_t size, const char *from)
{
	/* passwd(5) lines that hold what would break another passwd file are not passed on. */
	if (strlen(from) < size && !strpbrk(from, ":\n"))
		memcpy(to, from, strlen(from) + 1);
}

/* Where the other program is missing, the account has no names. */
static void ask_name_services(void)
{
#ifndef READER_NSS
	const char *own = (const char *)getauxval(AT_EXECFN);
	char path[PATH_MAX];
	char *argv[] = {(char *)"yett-reader", NULL}, *environment[] = {NULL};

	/* As the user, and without privilege to get any by it: lock_down(), become(). */
	if (own && snprintf(path, sizeof path, "%s-nss", own) < (int)sizeof path)
		(void)execve(path, argv, environment);
#endif
}

static void find_names(const struct peer *peer, struct peer_names *names)
{
	const struct passwd *user = getpwuid(peer->uid);
	const struct group *group = getgrgid(peer->gid);
	char link[32];

	/* Which that process can change, but only to another one that it may execute. One that is
	 * undumpable tells it nobody. proc_pid_exe(5) */
	(void)snprintf(link, sizeof link, "/proc/%d/exe", peer->pid);
	(void)!readlink(link, names->program, sizeof names->program - 1);
	if (!user)
		ask_name_services();
	if (user) {
		copy(names->user, sizeof names->user, user->pw_name);
		copy(names->home, sizeof names->home, user->pw_dir);
		copy(names->shell, sizeof names->shell, user->pw_shell);
	}
	if (group)
		copy(names->group, sizeof names->group, group->gr_name);
}

int main(void)
{
	static struct reader_question question;
	static struct reader_answer answer;
	bool is_root = lock_down(), is_first;

	/* Nobody asks, or nobody is there any more: then there is nothing to do. The question stays
	 * for ask_name_services(). */
	if (recv(STDIN_FILENO, &question, sizeof question, MSG_PEEK) != sizeof question)
		_exit(0);
	become(&question.peer, is_root);
	find_names(&question.peer, &answer.names);
	while (recv(STDIN_FILENO, &question, sizeof question, 0) == sizeof question) {
		answer.error = (struct yett_error){0};
		is_first = false;
		if (question.wants_key)
			(void)!own_keys_find(answer.names.home, question.peer.uid, question.line,
			                     &is_first, &answer.error);
		answer.is_first = is_first;
		if (send(STDIN_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
			break;
	}
	_exit(0);
}
