/*
 * See launch.h. In the child each step is a function of one table, which names it in errors. Between clone3 and execve
 * the child is a copy of init: it must end in execve or _exit and never return into init's loop.
 */
#include "helper/init/launch.h"
#include "helper/init/layer.h"
#include "helper/init/restrict.h"
#include "helper/init/terminal.h"
#include "protocol/schema.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LAUNCH_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* A session of its own: no terminal, and one process group to signal. */
static int launch_session(const struct launch *launch)
{
	(void)launch;
	return setsid() < 0 ? -errno : 0;
}

/* Received descriptors are above 2, since 0 to 2 were taken when they came: none is overwritten before its turn. */
static int launch_stdio(const struct launch *launch)
{
	for (int i = 0; i < 3; i++)
		if (launch->stdio[i] >= 0 && dup2(launch->stdio[i], i) < 0)
			return -errno;
	/* All are close-on-exec already; this holds even if one day one is not. */
	return syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

static int launch_limits(const struct launch *launch)
{
	const struct init_config *config = launch->config;

	for (uint32_t i = 0; i < config->rlimits_count; i++) {
		struct rlimit limit = {config->rlimits[i].soft, config->rlimits[i].hard};

		if (setrlimit(config->rlimits[i].resource, &limit) < 0)
			return -errno;
	}
	(void)umask(config->umask);
	if (config->nice != 0 && setpriority(PRIO_PROCESS, 0, config->nice) < 0)
		return -errno;
	return 0;
}

/* Another user than the sandbox's: only where init may take its id, which restrict_check() has seen to. */
static bool launch_is_other(const struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;

	return exec->has_user && exec->user != launch->config->uid;
}

/* Capabilities are those of the sandbox's own user. */
static uint64_t launch_keeps(const struct launch *launch)
{
	return launch_is_other(launch) ? 0 : launch->config->capabilities;
}

/* The groups are init's since its start; another user has none. The gid first: after setresuid the capability for it may be gone. */
static int launch_identity(const struct launch *launch)
{
	const struct init_config *config = launch->config;
	const struct message_exec *exec = &launch->message->body.exec;
	bool is_other = launch_is_other(launch);
	uid_t uid = is_other ? exec->user : config->uid;
	gid_t gid = is_other ? exec->user : config->gid;

	if (launch_keeps(launch) != 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	if (is_other && setgroups(0, NULL) < 0)
		return -errno;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

/* Whatever of init's capabilities is not the command's goes here, in every set. capabilities(7). */
static int launch_capabilities(const struct launch *launch)
{
	uint64_t keep = launch_keeps(launch);
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)keep, (uint32_t)keep, (uint32_t)keep},
		{(uint32_t)(keep >> 32), (uint32_t)(keep >> 32), (uint32_t)(keep >> 32)}};

	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	for (unsigned cap = 0; keep != 0 && cap < 64; cap++)
		if (keep & 1ULL << cap && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	return 0;
}

static int launch_directory(const struct launch *launch)
{
	const char *cwd = message_text(launch->message, launch->message->body.exec.cwd);

	if (!cwd || !*cwd)
		cwd = launch->session->cwd;
	return chdir(*cwd ? cwd : "/") < 0 ? -errno : 0;
}

/* As the command's own id, so that the terminal is the command's; before the filter, which need not allow for it. */
static int launch_terminal(const struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;

	return exec->terminal ? terminal_open(exec, launch->pipe) : 0;
}

static int launch_restrict_files(const struct launch *launch)
{
	return restrict_files(launch->config, launch->message, &launch->scratch->refused);
}

static int launch_restrict_calls(const struct launch *launch)
{
	return restrict_calls(launch->config, launch->message);
}

/* no_new_privs is on since init's start, so this needs no capability; the filter stacks on init's own. */
static int launch_filter(const struct launch *launch)
{
	const struct init_config *config = launch->config;
	const struct sock_filter *filters = (const struct sock_filter *)config->data;
	struct sock_fprog program = {.len = (unsigned short)config->command_filter_count,
				     .filter = (struct sock_filter *)(filters + config->init_filter_count)};

	if (program.len == 0)
		return 0;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static bool launch_env_has(char *const *env, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (; *env; env++)
		if (strncmp(*env, entry, length) == 0 && (*env)[length] == '=')
			return true;
	return false;
}

/* Adds `count` texts of those that have no place yet. */
static size_t launch_add_env(char **env, size_t n, const char *entry, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, entry += strlen(entry) + 1)
		if (!launch_env_has(env, entry)) {
			env[n++] = (char *)entry;
			env[n] = NULL;
		}
	return n;
}

/* The request's variables, then the session's that it does not set, then the profile's. */
static void launch_fill_env(const struct launch *launch)
{
	const struct init_config *config = launch->config;
	const struct message_exec *exec = &launch->message->body.exec;
	char **env = launch->scratch->env;
	size_t n = 0;

	for (uint32_t i = 0; i < exec->env_count; i++)
		env[n++] = (char *)message_text(launch->message, exec->env[i]);
	env[n] = NULL;
	n = launch_add_env(env, n, launch->session->env, launch->session->env_count);
	(void)launch_add_env(env, n, init_config_texts(config), config->env_count);
}

static const char *launch_search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return LAUNCH_DEFAULT_PATH;
}

/* A directory gives EACCES like a file without the x bit; say which. */
static int launch_execute_file(const char *path, const struct launch_scratch *scratch)
{
	struct stat st;
	int error;

	(void)execve(path, scratch->argv, scratch->env);
	error = errno;
	if (error == EACCES && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		error = EISDIR;
	else if (error == ENOENT && access(path, F_OK) == 0)
		error = ELIBACC; /* the file is there: its interpreter is not */
	return -error;
}

/* As execvp(3) does, but by the command's PATH, and without a shell for files of no known format. */
static int launch_execute_search(const char *name, const struct launch_scratch *scratch, char path[PATH_MAX])
{
	int r = -ENOENT;

	for (const char *next = launch_search_path(scratch->env); next;) {
		size_t length = strcspn(next, ":");
		int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, next, length ? "/" : "./", name);
		int one = n < PATH_MAX ? launch_execute_file(path, scratch) : -ENAMETOOLONG;

		if (one != -ENOENT && one != -ENOTDIR && one != -EACCES && one != -EISDIR && one != -ENAMETOOLONG)
			return one;
		if (one == -EACCES)
			r = one; /* what sh says if nothing better follows */
		next = next[length] ? next + length + 1 : NULL;
	}
	return r;
}

static int launch_execute(const struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;
	struct launch_scratch *scratch = launch->scratch;
	sigset_t none;

	for (uint32_t i = 0; i < exec->argv_count; i++)
		scratch->argv[i] = (char *)message_text(launch->message, exec->argv[i]);
	scratch->argv[exec->argv_count] = NULL;
	launch_fill_env(launch);
	if (!scratch->argv[0] || !*scratch->argv[0])
		return -ENOENT;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	if (strchr(scratch->argv[0], '/'))
		return launch_execute_file(scratch->argv[0], scratch);
	return launch_execute_search(scratch->argv[0], scratch, scratch->path);
}

static const struct {
	const char *name;
	int (*run)(const struct launch *launch);
} launch_steps[] = {
	{"session", launch_session},
	{"stdio", launch_stdio},
	{"limits", launch_limits},
	{"identity", launch_identity},
	{"capabilities", launch_capabilities},
	{"working-directory", launch_directory},
	{"terminal", launch_terminal},
	{"restriction-of-files", launch_restrict_files},
	{"restriction-of-calls", launch_restrict_calls},
	{"system-call-filter", launch_filter},
	{"execute", launch_execute}, /* last */
};

static _Noreturn void launch_child(const struct launch *launch)
{
	struct launch_failure failure = {0};

	for (uint32_t i = 0; i < ARRAY_SIZE(launch_steps) && failure.error == 0; i++) {
		failure.step = i;
		if (layer_is_on(launch->config, launch_steps[i].name))
			failure.error = -launch_steps[i].run(launch);
	}
	if (launch->scratch->refused)
		(void)snprintf(failure.path, sizeof failure.path, "%s", launch->scratch->refused);
	_exit(write(launch->pipe, &failure, sizeof failure) < 0 ? 126 : 127);
}

int launch_start(struct launch *launch, pid_t *ret_pid, int *ret_pipe)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD, .flags = CLONE_CLEAR_SIGHAND};
	int ends[2];
	pid_t pid;
	int r;

	if (launch->message->body.exec.terminal)
		r = terminal_socket(ends);
	else
		r = pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
	if (r < 0)
		return r;
	launch->pipe = ends[1];
	if (launch->leaf >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)launch->leaf;
	}
	pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
	if (pid == 0)
		launch_child(launch);
	r = pid < 0 ? -errno : 0;
	(void)fd_close(ends[1]);
	if (r < 0) {
		(void)fd_close(ends[0]);
		return r;
	}
	*ret_pid = pid;
	*ret_pipe = ends[0];
	return 0;
}

struct launch_failure launch_without_terminal(void)
{
	uint32_t step = 0;

	while (launch_steps[step].run != launch_terminal)
		step++;
	return (struct launch_failure){.step = step, .error = ENOTTY};
}

int launch_read(int pipe, struct launch_failure *failure, bool has_terminal, int *terminal)
{
	ssize_t n = has_terminal ? terminal_read(pipe, failure, sizeof *failure, terminal)
				 : read(pipe, failure, sizeof *failure);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != sizeof *failure)
		*failure = (struct launch_failure){0};
	failure->path[sizeof failure->path - 1] = '\0';
	schema_clean_text(failure->path); /* it may be cut within a character, and a child may have been made to write anything */
	/* It may not run without what was asked for: it was killed before it had one, or init had no room for the master. */
	if (has_terminal && *terminal < 0 && failure->error == 0)
		*failure = launch_without_terminal();
	return 0;
}

static const struct {
	int error;
	const char *text;
} launch_texts[] = {
	{ENOENT, "the command was not found"},
	{EACCES, "the command may not be executed: permission denied"},
	{EISDIR, "the command is a directory"},
	{ENOEXEC, "the command is not in an executable format"},
	{ELIBACC, "the interpreter of the command was not found"},
	{E2BIG, "the arguments and the environment of the command are too long"},
};

void launch_describe(const struct launch_failure *failure, struct yett_error *error)
{
	const char *text = "the command could not be executed";
	const char *reason = strerror(failure->error);

	if (failure->step < ARRAY_SIZE(launch_steps) - 1) {
		const char *name = launch_steps[failure->step].name;

		if (*failure->path)
			(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "the command cannot be restricted to %s: %s in the sandbox",
					failure->path, failure->error == ENOENT ? "there is no such path" : reason);
		else
			(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "the %s of the command could not be set", name);
		error_detail(error, "step=%s errno=%d %s", name, failure->error, reason);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(launch_texts); i++)
		if (launch_texts[i].error == failure->error)
			text = launch_texts[i].text;
	(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "%s", text);
	error_detail(error, "errno=%d %s", failure->error, reason);
}
