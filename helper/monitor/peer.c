/* See peer.h. */
#include "helper/monitor/peer.h"
#include "helper/privilege.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NAMES_BYTES_MAX (4 << 20) /* a larger passwd file is left to the name service */
#define USER_DEADLINE_MS 3000 /* a home may be on a network file system */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm-generic/socket.h; Linux 6.5 */
#endif

/* Whether the text of /proc/PID/status says that a filter can no longer be left. */
static bool has_filter(int proc)
{
	_cleanup_fd_ int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "\nNoNewPrivs:\t1") && strstr(text, "\nSeccomp:\t2");
}

/* A peer whose namespaces cannot be read is taken for confined. */
static bool is_confined(pid_t pid)
{
	static const char *const namespaces[] = {"ns/user", "ns/mnt", "ns/pid", "ns/net"};
	char path[32];
	_cleanup_fd_ int proc = -1, self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat ours, theirs;

	(void)snprintf(path, sizeof path, "/proc/%d", pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || self < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		if (fstatat(self, namespaces[i], &ours, 0) < 0 || fstatat(proc, namespaces[i], &theirs, 0) < 0 ||
		    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
			return true;
	return has_filter(proc);
}

/*
 * The pid is only good while its process lives; with a pidfd (Linux 6.5) we know that it still did after we looked.
 * Without, a pid that was used anew in between would be looked at instead: SECURITY.md says so.
 */
static int check_confined(int socket, struct peer *peer)
{
	_cleanup_fd_ int pidfd = -1;
	socklen_t size = sizeof pidfd;
	int r = privilege_raise(); /* reading another user's /proc/PID/ns takes CAP_SYS_PTRACE */

	if (r < 0)
		return r;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		pidfd = -1;
	peer->confined = is_confined(peer->pid);
	if (pidfd >= 0) {
		struct pollfd wait = {.fd = pidfd, .events = POLLIN};

		peer->confined = peer->confined || poll(&wait, 1, 0) != 0;
	}
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
static void read_names(struct peer *peer)
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
	int r;

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
	r = geteuid() == 0 ? check_confined(socket, ret_peer) : 0;
	if (r == 0)
		read_names(ret_peer);
	return r;
}

/* What the child says. */
struct user_answer {
	struct peer peer;
	int32_t refused; /* 0, or why the file does not count */
	uint32_t length;
	char text[16384];
};

enum user_refusal { USER_FILE_OWNER = 1, USER_FILE_MODE, USER_FILE_SIZE, USER_FILE_KIND };

static const char *const refusals[] = {
	[USER_FILE_OWNER] = "it, or its directory, belongs to somebody else",
	[USER_FILE_MODE] = "others can write it or its directory",
	[USER_FILE_SIZE] = "it is larger than 16 KiB",
	[USER_FILE_KIND] = "it is not a regular file",
};

static int check_owner(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_uid != uid && st.st_uid != 0))
		return USER_FILE_OWNER;
	return st.st_mode & 022 ? USER_FILE_MODE : 0;
}

static void read_keys(struct user_answer *answer)
{
	char path[MESSAGE_PATH_MAX + 32];
	_cleanup_fd_ int dir = -1, fd = -1;
	struct stat st;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%s/.config/yett", answer->peer.home);
	dir = open(path, O_DIRECTORY | O_PATH | O_CLOEXEC);
	fd = dir < 0 ? -1 : openat(dir, "authorized_keys", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	answer->refused = check_owner(dir, answer->peer.uid);
	if (answer->refused == 0)
		answer->refused = check_owner(fd, answer->peer.uid);
	if (answer->refused == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		answer->refused = USER_FILE_KIND;
	if (answer->refused == 0 && (size_t)st.st_size > sizeof answer->text)
		answer->refused = USER_FILE_SIZE;
	if (answer->refused)
		return;
	n = read(fd, answer->text, sizeof answer->text);
	answer->length = n > 0 ? (uint32_t)n : 0;
}

/* From here on this process is the peer: what it opens, and whatever a name service does, is done as that user. */
static int become(const struct peer *peer)
{
	const struct rlimit none = {0, 0};

	if (geteuid() == 0) {
		int r = privilege_raise(); /* changing ids takes CAP_SETUID and CAP_SETGID; capabilities go with uid 0 */

		if (r < 0)
			return r;
		if (setgroups(peer->groups_count, peer->groups) < 0 || setresgid(peer->gid, peer->gid, peer->gid) < 0 ||
		    setresuid(peer->uid, peer->uid, peer->uid) < 0)
			return -errno;
		if (peer->uid == 0) {
			r = privilege_lower();
			if (r < 0)
				return r;
		}
	}
	(void)setrlimit(RLIMIT_CORE, &none);
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

static void __attribute__((noreturn)) user_child(const struct peer *peer, bool want_keys, int output)
{
	struct user_answer *answer = calloc(1, sizeof *answer);

	if (!answer || become(peer) < 0)
		_exit(1);
	fd_close_except(&output, 1);
	answer->peer = *peer;
	if (answer->peer.user_name[0] == '\0')
		take_names(&answer->peer, getpwuid(peer->uid), getgrgid(peer->gid));
	if (want_keys && answer->peer.home[0] == '/')
		read_keys(answer);
	for (size_t done = 0; done < sizeof *answer;) {
		ssize_t n = write(output, (char *)answer + done, sizeof *answer - done);

		if (n <= 0)
			_exit(1);
		done += (size_t)n;
	}
	_exit(0);
}

static int read_answer(int input, struct user_answer *answer)
{
	for (size_t done = 0; done < sizeof *answer;) {
		struct pollfd wait = {.fd = input, .events = POLLIN};
		ssize_t n;

		if (poll(&wait, 1, USER_DEADLINE_MS) <= 0)
			return -ETIMEDOUT;
		n = read(input, (char *)answer + done, sizeof *answer - done);
		if (n <= 0)
			return -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

int peer_read_user(struct peer *peer, bool want_keys, char *text, size_t size, size_t *ret_length, struct yett_error *error)
{
	_cleanup_free_ struct user_answer *answer = malloc(sizeof *answer);
	int ends[2], r;
	pid_t pid;

	if (!answer || pipe2(ends, O_CLOEXEC) < 0)
		return -ENOMEM;
	pid = fork();
	if (pid == 0)
		user_child(peer, want_keys, ends[1]);
	(void)close(ends[1]);
	r = pid < 0 ? -errno : read_answer(ends[0], answer);
	(void)close(ends[0]);
	if (pid > 0) {
		/* It may be stuck in a file system of the peer's: a process of the peer's id, which we may still kill. */
		if (r < 0 && privilege_raise() == 0) {
			(void)kill(pid, SIGKILL);
			(void)!privilege_lower();
		}
		(void)waitpid(pid, NULL, r < 0 ? WNOHANG : 0);
	}
	if (r < 0)
		return r;
	/* The child ran as the user, so what it says is the user's word: names, and never who the user is. */
	memcpy(peer->user_name, answer->peer.user_name, sizeof peer->user_name);
	memcpy(peer->group_name, answer->peer.group_name, sizeof peer->group_name);
	memcpy(peer->home, answer->peer.home, sizeof peer->home);
	memcpy(peer->shell, answer->peer.shell, sizeof peer->shell);
	peer->user_name[sizeof peer->user_name - 1] = peer->group_name[sizeof peer->group_name - 1] = '\0';
	peer->home[sizeof peer->home - 1] = peer->shell[sizeof peer->shell - 1] = '\0';
	if (answer->refused > 0 && answer->refused <= USER_FILE_KIND)
		return error_set(error, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY, "~/.config/yett/authorized_keys does not count: %s",
				 refusals[answer->refused]);
	if (answer->length > size)
		return -EPROTO;
	memcpy(text, answer->text, answer->length);
	*ret_length = answer->length;
	return 0;
}
