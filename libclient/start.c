/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches a helper: connects to the service's socket, or executes a helper, which runs as root if
 * the administrator has made it a set-user-id program.
 *
 * Runs as the caller. Reads the environment only with secure_getenv(3): the caller of a privileged
 * program that links the library must not be able to choose another helper.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "libclient/connection.h"
#include "base/failure.h"
#include "base/home.h"
#include "libclient/options.h"
#include "libclient/workspace.h"

#define HELPER_FD             3
#define HELPER_END_TIMEOUT_MS 1000
#define OVERFLOW_UID          65534 /* shown for a uid without a mapping. user_namespaces(7) */
#define HELPER_ARGUMENTS_MAX  16

/* Errors of connect(2) that do not go away by themselves, each with a hint. unix(7) */
static const struct {
	int number;
	const char *mend;
} unreachable[] = {
	{ENOENT, "have the administrator start the service: systemctl start yett.socket"},
	{ENOTDIR, "have the administrator start the service: systemctl start yett.socket"},
	{ECONNREFUSED,
         "nobody listens there: have the administrator look why the service ended, and start it: systemctl restart yett.socket"},
	{EACCES,
         "have the administrator let you reach the socket: mode 0666, as it is installed, below directories that everybody may enter"},
};

static int cannot_connect(const char *path, struct yett_error *error)
{
	int number = errno,
	    r = error_set(error,
	                  number == EACCES ? YETT_E_PERMISSION_DENIED : YETT_E_HELPER_UNAVAILABLE,
	                  YETT_R_NONE, "cannot connect to %s: %m", path);

	for (size_t i = 0; i < ARRAY_SIZE(unreachable); i++)
		if (unreachable[i].number == number) {
			(void)error_cause(error, NULL, number);
			error_mend(error, "%s", unreachable[i].mend);
		}
	return r;
}

static int connect_service(const char *path, int timeout_ms, int *ret_fd, struct yett_error *error)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	/* A timeout of 0 would mean no timeout. */
	struct timeval timeout = {.tv_sec = timeout_ms / 1000,
	                          .tv_usec = timeout_ms % 1000 * 1000 + 1};

	if (strlen(path) >= sizeof address.sun_path)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the path of the socket is too long: %s", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* If the backlog is full, connect(2) blocks until SO_SNDTIMEO has passed. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return cannot_connect(path, error);
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* Whether this user namespace maps every uid, as the initial one does. user_namespaces(7) */
static bool knows_everybody(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned count = 0;
	bool found = file && fscanf(file, "%*u %*u %u", &count) == 1;

	if (file)
		(void)fclose(file);
	return found && count == UINT32_MAX;
}

/*
 * Checks one component of the helper's resolved path. The helper is safe to execute only if nobody
 * but root and the caller could have replaced a component. A sticky directory may be writable by
 * others, because only the owner of an entry can replace the entry there.
 */
static int check_component(const char *path, bool is_file, struct yett_error *error)
{
	struct stat st;
	bool writable_by_others;

	if (lstat(path, &st) < 0)
		return failure_set(error, YETT_E_NOT_FOUND, NULL, "cannot look at %s: %m", path);
	writable_by_others = (st.st_mode & 022) && !(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
	if (is_file ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the helper %s is no regular file", path);
	if ((st.st_uid == 0 || st.st_uid == geteuid()) && !writable_by_others)
		return 0;
	if (st.st_uid == OVERFLOW_UID && !writable_by_others && !knows_everybody()) {
		(void)error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the helper is not executed, because it does not show here whether %s is root's",
			path);
		error_detail(
			error,
			"in the container or sandbox around this program, files of unmapped users appear as owned by nobody: run yett outside of it");
		return YETT_E_SECURITY_VIOLATION;
	}
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                "the helper is not executed, because others could have changed %s", path);
	error_detail(
		error,
		"it belongs to uid %u with mode %04o; it must belong to root or you and be writable by nobody else",
		st.st_uid, (unsigned)st.st_mode & 07777);
	return YETT_E_SECURITY_VIOLATION;
}

/*
 * Finds the helper of a build tree: if the calling program is DIR/cli/yett or DIR/agent/yett-agent,
 * the helper is DIR/helper/yett-helper. An installed program has no helper there. A program that
 * gets privilege from its file gets no helper, because a user could have hard-linked the program
 * into any directory.
 */
static bool find_in_build_tree(char out[static PATH_MAX])
{
	static const char *const programs[] = {"/cli/yett", "/agent/yett-agent"};
	ssize_t n = getauxval(AT_SECURE) ? -1 : readlink("/proc/self/exe", out, PATH_MAX - 1);
	size_t length = n < 0 ? 0 : (size_t)n, tail;

	out[length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		tail = strlen(programs[i]);
		if (length <= tail || strcmp(out + length - tail, programs[i]) != 0)
			continue;
		length -= tail;
		return (size_t)snprintf(out + length, PATH_MAX - length, "/helper/yett-helper") <
		               PATH_MAX - length &&
		       access(out, F_OK) == 0;
	}
	return false;
}

/*
 * Whether the helper runs as root when executed. The client trusts the helper only because
 * check_component() found that nobody but root can change the file: SO_PEERCRED on a socketpair
 * shows the process that made the pair, not the helper. A caller that is root gains nothing from
 * the set-user-id bit.
 */
static bool is_set_uid(const char *path)
{
	struct stat st;

	return geteuid() != 0 && stat(path, &st) == 0 && st.st_uid == 0 && (st.st_mode & S_ISUID);
}

/* Whether the helper is set-user-id and the caller is not in the group that may execute it. */
static bool is_closed(const char *path)
{
	return is_set_uid(path) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 &&
	       errno == EACCES;
}

/* Changes `path` from the helper to yett-rootless beside it. Returns false if there is no room. */
static bool name_rootless(char path[static PATH_MAX])
{
	char *name = strrchr(path, '/') + 1;

	if ((size_t)(name - path) + sizeof "yett-rootless" > PATH_MAX)
		return false;
	(void)strcpy(name, "yett-rootless");
	return true;
}

/*
 * Like start_helper_name(), for a given way to start. A helper with only the caller's privilege is
 * yett-rootless, beside yett-helper. yett-rootless also takes the place of a set-user-id helper
 * that the caller may not execute, unless `start` asks for that helper.
 */
static const char *name_helper(const char *helper_path, enum yett_start start,
                               char buffer[static PATH_MAX])
{
	if (!helper_path)
		helper_path = secure_getenv("YETT_HELPER");
	if (helper_path && (start != YETT_START_ANY || helper_path[0] != '/' ||
	                    strlen(helper_path) >= PATH_MAX || !is_closed(helper_path)))
		return helper_path;
	if (helper_path) {
		(void)strcpy(buffer, helper_path);
		return name_rootless(buffer) && access(buffer, F_OK) == 0 ? buffer : helper_path;
	}
	if (!find_in_build_tree(buffer))
		(void)strcpy(buffer, YETT_LIBEXEC_DIR "/yett-helper");
	if (geteuid() != 0 && start != YETT_START_SETUID &&
	    (start == YETT_START_PERSONAL || !is_set_uid(buffer) || is_closed(buffer)))
		(void)name_rootless(buffer);
	return buffer;
}

const char *start_helper_name(const char *helper_path, char buffer[static PATH_MAX])
{
	return name_helper(helper_path, YETT_START_ANY, buffer);
}

static int find_helper(const char *helper_path, enum yett_start start, char *path, size_t size,
                       struct yett_error *error)
{
	char resolved[PATH_MAX], buffer[PATH_MAX];
	int r;

	helper_path = name_helper(helper_path, start, buffer);
	if (helper_path[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the helper's path is not absolute: %s", helper_path);
	if (!realpath(helper_path, resolved))
		return failure_set(error, YETT_E_NOT_FOUND, NULL, "no helper at %s: %m",
		                   helper_path);
	r = check_component("/", false, error);
	for (char *at = resolved + 1; r == 0 && (at = strchr(at, '/')); at++) {
		*at = '\0';
		r = check_component(resolved, false, error);
		*at = '/';
	}
	if (r == 0)
		r = check_component(resolved, true, error);
	if (r == 0 && (size_t)snprintf(path, size, "%s", resolved) >= size)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		              "the helper's path is too long");
	return r;
}

int yett_helper_path(const char *helper_path, char *path, size_t size, struct yett_error *error)
{
	return find_helper(helper_path, YETT_START_ANY, path, size, error);
}

/*
 * Executes the helper with its end of the socketpair as descriptor 3. Descriptors 0 and 1 are
 * /dev/null, descriptor 2 is inherited, and all others are closed. The helper gets a new session,
 * because ^C at the terminal is for the command, which the helper must outlive. It gets nothing of
 * the caller's environment, except that a helper that is not set-user-id gets HOME.
 */
static int spawn_helper(const char *path, const char *const *more, enum yett_start start, int fd,
                        pid_t *ret_pid)
{
	char home[sizeof "HOME=" + HOME_PATH_SIZE] = "HOME=";
	bool has_home = start != YETT_START_SETUID &&
	                home_find(home + strlen(home), HOME_PATH_SIZE, NULL) == 0;
	char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", has_home ? home : NULL,
	                             NULL};
	char number[] = {'0' + HELPER_FD, '\0'};
	char *personal[5 + HELPER_ARGUMENTS_MAX + 1] = {strrchr(path, '/') + 1, "--personal",
	                                                "--quiet", "--fd", number};
	/* The only accepted form: helper/start/setuid.h. */
	char *const set_uid[] = {"yett-helper", "--serve=3", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	for (size_t i = 0; more && more[i]; i++) {
		if (i == HELPER_ARGUMENTS_MAX)
			return -E2BIG;
		personal[5 + i] = (char *)more[i];
	}
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                                    POSIX_SPAWN_SETSID);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	/* dup2 of a descriptor onto itself clears close-on-exec, too: posix_spawn(3) */
	r = posix_spawn_file_actions_adddup2(&actions, fd, HELPER_FD);
	r = r ? r
	      : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	r = r ? r
	      : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	r = r ? r : posix_spawn_file_actions_addclosefrom_np(&actions, HELPER_FD + 1);
	r = r ? r
	      : posix_spawn(ret_pid, path, &actions, &attributes,
	                    start == YETT_START_SETUID ? set_uid : personal, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

/*
 * Moves a descriptor above 2. In a program without stdio, the ends of a socketpair may be 0 to 2,
 * where spawn_helper() puts /dev/null.
 */
static int above_stdio(int *fd)
{
	int moved;

	if (*fd > STDERR_FILENO)
		return 0;
	moved = fcntl(*fd, F_DUPFD_CLOEXEC, HELPER_FD);
	if (moved < 0)
		return -errno;
	*fd = fd_close(*fd);
	*fd = moved;
	return 0;
}

/*
 * Resolves YETT_START_ANY by the mode of the file: set-user-id or personal. Returns a code if
 * set-user-id is asked for and the file is not a set-user-id program of root.
 */
static int choose_start(const char *path, enum yett_start *start, struct yett_error *error)
{
	bool set_uid = is_set_uid(path);

	if (*start == YETT_START_SETUID && !set_uid) {
		(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
		                "%s is no set-user-id program of root's", path);
		(void)error_cause(error, NULL, EPERM);
		return YETT_E_HELPER_UNAVAILABLE;
	}
	if (*start == YETT_START_ANY)
		*start = set_uid ? YETT_START_SETUID : YETT_START_PERSONAL;
	return 0;
}

static int cannot_execute(int r, const char *path, struct yett_error *error)
{
	bool is_denied = r == -EACCES && is_set_uid(path);

	int number = errno = -r;

	r = failure_set(error, is_denied ? YETT_E_PERMISSION_DENIED : YETT_E_HELPER_UNAVAILABLE,
	                NULL, "cannot execute %s: %m", path);
	(void)error_cause(error, NULL, number);
	if (is_denied)
		error_detail(
			error,
			"its group, which the administrator chooses, may execute it, and you are not in that group");
	return r;
}

static int start_own(const struct yett_connect_options *options, enum yett_start *start,
                     int *ret_fd, pid_t *ret_pid, struct yett_error *error)
{
	char path[PATH_MAX];
	int pair[2], r;
	_cleanup_fd_ int ours = -1, theirs = -1;

	if (access("/proc/self", F_OK) < 0) {
		(void)error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "no helper can be started here, because /proc is not mounted");
		error_detail(error, "as root: mount -t proc proc /proc");
		return YETT_E_UNSUPPORTED;
	}
	r = find_helper(options->helper_path, *start, path, sizeof path, error);
	if (r == 0)
		r = choose_start(path, start, error);
	if (r)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return failure_set(error, YETT_E_HELPER_UNAVAILABLE, NULL,
		                   "cannot make a socket to the helper: %m");
	ours = pair[0];
	theirs = pair[1];
	r = above_stdio(&theirs);
	if (r == 0)
		r = spawn_helper(path, options->helper_arguments, *start, theirs, ret_pid);
	if (r < 0)
		return cannot_execute(r, path, error);
	*ret_fd = steal_fd(&ours);
	return 0;
}

static int connect_own(const struct yett_connect_options *options, enum yett_start start,
                       struct yett_connection **ret_connection, struct yett_error *error)
{
	pid_t pid;
	int fd = -1, pidfd, r;

	r = start_own(options, &start, &fd, &pid, error);
	if (r)
		return r;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = connection_take(fd, options, start, ret_connection, error);
	if (r == 0) {
		(*ret_connection)->helper_pidfd = pidfd;
		return 0;
	}
	/*
	 * The socket is closed, so the helper ends by itself. The wait has a limit, because a
	 * program that sent no hello may be no helper.
	 */
	(void)poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, HELPER_END_TIMEOUT_MS);
	/* a set-user-id helper cannot be killed; it has its own deadlines */
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, WNOHANG);
	fd_close(pidfd);
	return r;
}

/*
 * Waits 50 to 305 ms, at random, so that clients that were refused together do not retry together.
 * Returns false if the deadline has passed or a signal came.
 */
static bool libclient_start_await_turn(deadline_ms deadline)
{
	unsigned char bytes[1] = {0};

	randombytes_buf(bytes, sizeof bytes);
	return channel_time_left(deadline) > 0 && poll(NULL, 0, 50 + bytes[0]) == 0;
}

/*
 * Loads the key before any connection is made, so that a missing key is reported instead of an
 * error of the connection.
 */
static int check_key(const struct yett_connect_options *options, struct yett_error *error)
{
	struct yett_signer *signer;
	int r = options->key_path && !options->signer
	                ? yett_signer_load(options->key_path, &signer, error)
	                : 0;

	if (r == 0 && options->key_path && !options->signer)
		yett_signer_free(signer);
	return r;
}

int yett_connect(const struct yett_connect_options *asked, struct yett_connection **ret_connection,
                 struct yett_error *error)
{
	struct yett_connect_options known;
	const struct yett_connect_options *options = &known;
	const char *socket_path, *helper_path;
	enum yett_start start;
	struct yett_error why = {0};
	deadline_ms deadline;
	int fd = -1, r = sized_take(&options_connect, asked, &known, error);

	if (r)
		return r;
	if (options->flags & ~(uint64_t)YETT_CONNECT_AGENT)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                 "the options of a connection have flags that are not known");
	if (options->workspace && options->workspace->size < sizeof *options->workspace)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"the libyett-workspace that is loaded is older than libyett needs");
	socket_path = options->socket_path ? options->socket_path : secure_getenv("YETT_SOCKET");
	helper_path = options->helper_path ? options->helper_path : secure_getenv("YETT_HELPER");
	start = options->start;
	r = check_key(options, error);
	if (r)
		return r;
	if (start == YETT_START_ANY && socket_path)
		start = YETT_START_SERVICE;
	if (start == YETT_START_PERSONAL || start == YETT_START_SETUID ||
	    (start == YETT_START_ANY && helper_path))
		return connect_own(options, start, ret_connection, error);
	deadline = channel_deadline(options->timeout_ms > 0 ? options->timeout_ms
	                                                    : CONNECTION_TIMEOUT_MS);
	do {
		r = connect_service(socket_path ? socket_path : YETT_SOCKET_PATH,
		                    channel_time_left(deadline), &fd, &why);
		if (r == 0)
			r = connection_take(fd, options, YETT_START_SERVICE, ret_connection, &why);
	} while (r != 0 && why.reason == YETT_R_LATER && libclient_start_await_turn(deadline));
	if (fd >= 0) {
		if (error && r != 0)
			*error = why;
		return r;
	}
	/*
	 * An agent starts its own helper only if there is no service (ENOENT). A service that only
	 * fails to answer now has grants that limit the agent, and a helper of the agent's own
	 * would not be bound by these grants.
	 */
	if (start == YETT_START_SERVICE ||
	    (options->flags & YETT_CONNECT_AGENT && why.os_error != ENOENT)) {
		if (error)
			*error = why;
		return r;
	}
	r = connect_own(options, start, ret_connection, error);
	if (r == YETT_E_NOT_FOUND) {
		/* There is no service and no helper. Report both errors, the service's first. */
		char own[sizeof why.message] = "";

		if (error) {
			(void)snprintf(own, sizeof own, "%s", error->message);
			*error = why;
		}
		error_detail(error, "and %s", own);
		return (int)why.code;
	}
	return r;
}
