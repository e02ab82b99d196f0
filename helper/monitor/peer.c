/* See peer.h. */
#include "helper/monitor/peer.h"
#include "helper/monitor/keys.h"
#include "helper/privilege.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NAMES_BYTES_MAX (4 << 20) /* a larger passwd file is left to the name service */
#define USER_DEADLINE_MS 10000 /* a home may be on a network file system */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm-generic/socket.h; Linux 6.5 */
#endif

/*
 * Whether what confines the peer can no longer be left: no_new_privs, without which nobody gets a seccomp filter or a
 * Landlock domain. A domain shows nowhere else, and lets descriptors (O_PATH) through that it lets nobody read or write by.
 */
static bool has_no_new_privs(int proc)
{
	_cleanup_fd_ int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	return !strstr(text, "\nNoNewPrivs:\t0");
}

bool peer_is_confined(pid_t pid)
{
	static const char *const places[] = {"ns/user", "ns/mnt", "ns/pid", "ns/net", "root"};
	char path[32];
	_cleanup_fd_ int proc = -1, self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statx ours, theirs;

	(void)snprintf(path, sizeof path, "/proc/%d", pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || self < 0)
		return true;
	/* A root directory may be the same one by another mount, which may be read-only, or hide others. */
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (statx(self, places[i], 0, STATX_INO | STATX_MNT_ID, &ours) < 0 ||
		    statx(proc, places[i], 0, STATX_INO | STATX_MNT_ID, &theirs) < 0 ||
		    ours.stx_ino != theirs.stx_ino || ours.stx_mnt_id != theirs.stx_mnt_id)
			return true;
	return has_no_new_privs(proc);
}

/* A pid that was used anew before we got hold of it, which the socket does before Linux 6.5 not tell, is another's: SECURITY.md says so. */
int peer_open_process(int socket, pid_t pid)
{
	int pidfd = -1;
	socklen_t size = sizeof pidfd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 && errno == ENOPROTOOPT)
		pidfd = pidfd_open(pid, 0);
	return pidfd < 0 ? -errno : pidfd;
}

/* The pid is only good while its process lives, as it still did after we looked. */
static int check_confined(int pidfd, struct peer *peer)
{
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};
	int r = privilege_raise(); /* reading another user's /proc/PID/ns takes CAP_SYS_PTRACE */

	if (r < 0)
		return r;
	peer->confined = peer_is_confined(peer->pid) || poll(&wait, 1, 0) != 0;
	return privilege_lower();
}

static void copy(char *to, size_t size, const char *from)
{
	/* passwd(5) lines that hold what would break another passwd file are not passed on. */
	if (strlen(from) < size && !strpbrk(from, ":\n"))
		memcpy(to, from, strlen(from) + 1);
}

static void take_names(struct peer *peer, const struct passwd *user, const struct group *group)
{
	if (user) {
		copy(peer->user_name, sizeof peer->user_name, user->pw_name);
		copy(peer->home, sizeof peer->home, user->pw_dir);
		copy(peer->shell, sizeof peer->shell, user->pw_shell);
	}
	if (group)
		copy(peer->group_name, sizeof peer->group_name, group->gr_name);
}

/* The file as a stream in memory: fgetpwent(3) seeks at each line, which on a descriptor is two system calls. */
static FILE *open_in_memory(const char *path, char **ret_content)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > NAMES_BYTES_MAX)
		return NULL;
	*ret_content = malloc((size_t)st.st_size + 1);
	n = *ret_content ? read(fd, *ret_content, (size_t)st.st_size) : -1;
	return n > 0 ? fmemopen(*ret_content, (size_t)n, "r") : NULL;
}

/* Straight from the files: name services are other people's code, and run only as the peer (peer_read_user()). */
void peer_read_names(struct peer *peer)
{
	_cleanup_free_ char *user_text = NULL, *group_text = NULL;
	FILE *users = open_in_memory("/etc/passwd", &user_text), *groups = open_in_memory("/etc/group", &group_text);
	struct passwd *user = NULL;
	struct group *group = NULL;

	while (users && (user = fgetpwent(users)) && user->pw_uid != peer->uid)
		;
	while (groups && (group = fgetgrent(groups)) && group->gr_gid != peer->gid)
		;
	take_names(peer, user, group);
	if (users)
		(void)fclose(users);
	if (groups)
		(void)fclose(groups);
}

int peer_read(int socket, struct peer *ret_peer, struct yett_error *error)
{
	struct ucred credentials;
	socklen_t size = sizeof credentials;

	*ret_peer = (struct peer){0};
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	ret_peer->pid = credentials.pid;
	ret_peer->uid = credentials.uid;
	ret_peer->gid = credentials.gid;
	size = sizeof ret_peer->groups;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, ret_peer->groups, &size) < 0) {
		if (errno == ERANGE)
			return error_set(error, YETT_E_UNSUPPORTED, 0, "a user with more than %d groups is not served", PLAN_GROUPS_MAX);
		return -errno;
	}
	ret_peer->groups_count = size / sizeof ret_peer->groups[0];
	ret_peer->confined = true; /* until peer_examine() has looked */
	return 0;
}

int peer_examine(int pidfd, struct peer *peer)
{
	int r = 0;

	peer->confined = false; /* of a helper that is not root, the peer is its own parent */
	if (geteuid() == 0)
		r = check_confined(pidfd, peer);
	if (r == 0)
		peer_read_names(peer);
	return r;
}

/* What the child says. */
struct user_answer {
	struct peer peer;
	int32_t refused; /* 0, or an enum keys_refusal */
	uint32_t length;
	char text[KEYS_FILE_MAX];
};

/* From here on this process is the peer: what it opens, and whatever a name service does, is done as that user. */
static int become(const struct peer *peer)
{
	/* A root that lacks those, as in a container, serves nobody but itself, and already is who it would become. */
	bool is_peer = peer->uid == geteuid() && peer->gid == getegid();

	/* Changing ids takes CAP_SETUID and CAP_SETGID; capabilities go with uid 0. */
	if (geteuid() == 0 && (privilege_raise() < 0 ||
			       ((setgroups(peer->groups_count, peer->groups) < 0 || setresgid(peer->gid, peer->gid, peer->gid) < 0 ||
				 setresuid(peer->uid, peer->uid, peer->uid) < 0) && !is_peer) ||
			       (peer->uid == 0 && privilege_lower() < 0)))
		return -EPERM;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

/* What the reader is told. */
struct user_question {
	struct peer peer;
	bool want_keys;
};

static void __attribute__((noreturn)) reader(int socket)
{
	struct user_answer *answer = calloc(1, sizeof *answer);
	struct user_question *question = calloc(1, sizeof *question);

	/* Nobody asks, or nobody is there any more: then there is nothing to do. */
	if (!answer || !question || recv(socket, question, sizeof *question, 0) != sizeof *question)
		_exit(0);
	if (become(&question->peer) < 0)
		_exit(1);
	do {
		answer->peer = question->peer;
		answer->length = 0;
		if (answer->peer.user_name[0] == '\0')
			take_names(&answer->peer, getpwuid(answer->peer.uid), getgrgid(answer->peer.gid));
		answer->refused = !question->want_keys || answer->peer.home[0] != '/' ? 0 :
				  keys_read_own(answer->peer.home, answer->peer.uid, answer->text, &answer->length);
	} while (send(socket, answer, sizeof *answer, MSG_NOSIGNAL) == sizeof *answer &&
		 recv(socket, question, sizeof *question, 0) == sizeof *question);
	_exit(0);
}

int peer_reader_start(struct peer_reader *ret_reader)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		fd_close_except(&pair[1], 1);
		reader(pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0)
		return fd_close(pair[0]), -EAGAIN;
	*ret_reader = (struct peer_reader){.pid = pid, .socket = pair[0]};
	return 0;
}

void peer_reader_free(struct peer_reader *reader)
{
	if (reader->pid <= 0)
		return;
	reader->socket = fd_close(reader->socket);
	/* It may be stuck in a file system of the peer's: a process of the peer's id, which we may still kill. */
	if (privilege_raise() == 0) {
		(void)kill(reader->pid, SIGKILL);
		(void)!privilege_lower();
	}
	(void)waitpid(reader->pid, NULL, 0);
	*reader = PEER_READER_NONE;
}

static int ask(struct peer_reader *reader, const struct peer *peer, bool want_keys, struct user_answer *answer)
{
	struct user_question question = {.peer = *peer, .want_keys = want_keys};
	struct pollfd wait;
	int r = reader->pid > 0 ? 0 : peer_reader_start(reader);

	if (r < 0)
		return r;
	reader->is_used = true;
	wait = (struct pollfd){.fd = reader->socket, .events = POLLIN};
	if (send(reader->socket, &question, sizeof question, MSG_NOSIGNAL) != sizeof question)
		return -EPIPE;
	if (poll(&wait, 1, USER_DEADLINE_MS) <= 0)
		return -ETIMEDOUT;
	return recv(reader->socket, answer, sizeof *answer, MSG_DONTWAIT) == sizeof *answer ? 0 : -EPIPE;
}

/* It ran as the user, so what it says is the user's word: names, and never who the user is. */
static void copy_names(struct peer *to, const struct peer *from)
{
	memcpy(to->user_name, from->user_name, sizeof to->user_name);
	memcpy(to->group_name, from->group_name, sizeof to->group_name);
	memcpy(to->home, from->home, sizeof to->home);
	memcpy(to->shell, from->shell, sizeof to->shell);
	to->user_name[sizeof to->user_name - 1] = to->group_name[sizeof to->group_name - 1] = '\0';
	to->home[sizeof to->home - 1] = to->shell[sizeof to->shell - 1] = '\0';
}

int peer_read_user(struct peer_reader *reader, struct peer *peer, bool want_keys, char *text, size_t size, size_t *ret_length,
		   struct yett_error *error)
{
	_cleanup_free_ struct user_answer *answer = malloc(sizeof *answer);
	int r = answer ? ask(reader, peer, want_keys, answer) : -ENOMEM;

	if (r < 0) {
		peer_reader_free(reader);
		return r;
	}
	if (peer->user_name[0] == '\0')
		copy_names(peer, &answer->peer);
	if (answer->refused > 0 && answer->refused <= KEYS_CLOSED)
		return keys_refuse_own((enum keys_refusal)answer->refused, error);
	if (answer->length > size || answer->length > sizeof answer->text)
		return -EPROTO;
	memcpy(text, answer->text, answer->length);
	*ret_length = answer->length;
	return 0;
}
