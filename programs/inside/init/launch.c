/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See launch.h. Each step of the child is a function of one table, whose names appear in errors.
 * Between clone3() and execve() the child is a copy of init: it must end in execve() or _exit() and
 * never return into init's loop.
 */
#include "programs/inside/init/launch.h"
#include "helper/plan/plan.h"
#include "programs/inside/init/cores.h"
#include "programs/inside/init/layer.h"
#include "programs/inside/init/restrict.h"
#include "programs/inside/init/terminal.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/schema.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LAUNCH_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* The only descriptor that the child keeps from init, besides /dev/null as 0 to 2. */
#define LAUNCH_FD_SOCKET 3

/*
 * Memory of the child alone. init's own working memory is not copied to children (MADV_DONTFORK),
 * which saves copying pages in both processes.
 */
struct launch_memory {
	struct frame frame;
	struct message message;
	struct message_token tokens[MESSAGE_TOKENS_MAX];
	char *argv[MESSAGE_ARGV_MAX + 1];
	char *env[MESSAGE_ENV_MAX + SESSION_ENV_MAX + INIT_ENV_MAX + 1];
	char path[PATH_MAX];
	char pattern[CORES_PATTERN_SIZE];
};

struct launch {
	const struct init_config *config;
	struct session *session; /* the child's copy */
	int socket;              /* to init */
	struct launch_memory *memory;
	const struct message *message; /* kind EXEC */
	int files[LAUNCH_FILES];       /* -1: keep init's /dev/null; otherwise never below 3 */
	char **argv, **env;            /* as execve(2) takes them */
	/* The path or setting that a step could not use, if that is why it failed. */
	const char *refused;
};

/* A new session has no terminal, and one process group that can be signalled. */
static int launch_session(struct launch *launch)
{
	(void)launch;
	return setsid() < 0 ? -errno : 0;
}

/*
 * A waiting child must not keep descriptors open that init closes, since other processes wait for
 * end of file on them.
 */
static int launch_descriptors(struct launch *launch)
{
	if (dup3(launch->socket, LAUNCH_FD_SOCKET, O_CLOEXEC) < 0)
		return -errno;
	launch->socket = LAUNCH_FD_SOCKET;
	return syscall(SYS_close_range, LAUNCH_FD_SOCKET + 1u, ~0u, 0u) < 0 ? -errno : 0;
}

/* Touches the pages now, while no client waits for this child. */
static int launch_map(struct launch *launch)
{
	struct launch_memory *memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE,
	                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memory->frame.fd_count = 0;
	(void)message_begin(&memory->message, MESSAGE_EXEC);
	memory->tokens[0].kind = 0;
	memory->argv[0] = memory->env[0] = NULL;
	launch->memory = memory;
	launch->message = &memory->message;
	return 0;
}

static bool launch_sends(const struct message_exec *exec, size_t i)
{
	if (i == LAUNCH_MORE)
		return exec->more_bytes > 0;
	return exec->stdio[i] == STDIO_FD || exec->stdio[i] == STDIO_CAPTURE;
}

/* Decodes the received packet into the message. Returns its kind, or 0 if it is invalid. */
static uint32_t launch_decode(struct launch_memory *memory)
{
	const struct message_scratch tokens = {memory->tokens, ARRAY_SIZE(memory->tokens)};
	const uint8_t *packet = memory->frame.bytes;
	struct envelope envelope;
	struct yett_error error;

	if (envelope_read(packet, memory->frame.length,
	                  envelope_stated_fds(packet, memory->frame.length), &envelope,
	                  &error) != 0 ||
	    message_decode_with(&tokens, envelope.kind, packet + envelope_size(envelope.kind),
	                        envelope.body_length, &memory->message, &error) != 0)
		return 0;
	return envelope.kind;
}

/*
 * Applies each SESSION to the child's copy of the session until the EXEC arrives. init has already
 * checked all of these packets, so an error here is a bug. Captured streams come with descriptors
 * too.
 */
static int launch_receive(struct launch *launch)
{
	struct launch_memory *memory = launch->memory;
	const struct message_exec *exec = &memory->message.body.exec;
	struct frame *frame = &memory->frame;
	struct yett_error error;
	uint32_t kind = 0;
	size_t used = 0;
	int r;

	while ((r = frame_receive(launch->socket, frame, 0)) > 0 &&
	       (kind = launch_decode(memory)) == MESSAGE_SESSION)
		if (session_change(launch->session, &memory->message, &error) != 0)
			return -EBADMSG;
	/* init has closed the socket: there is no command for this child. */
	if (r == 0)
		_exit(0);
	if (r < 0)
		return r;
	if (kind != MESSAGE_EXEC)
		return -EBADMSG;
	for (size_t i = 0; i < LAUNCH_FILES; i++)
		launch->files[i] =
			launch_sends(exec, i) && used < frame->fd_count ? frame->fds[used++] : -1;
	if (exec->stdio[2] == STDIO_AS_OUTPUT)
		launch->files[2] = launch->files[1];
	return 0;
}

static bool launch_env_has(char *const *env, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (; *env; env++)
		if (strncmp(*env, entry, length) == 0 && (*env)[length] == '=')
			return true;
	return false;
}

/* Appends those of the `count` texts whose variable is not set yet. */
static size_t launch_add_env(char **env, size_t n, const char *entry, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, entry += strlen(entry) + 1)
		if (!launch_env_has(env, entry)) {
			env[n++] = (char *)entry;
			env[n] = NULL;
		}
	return n;
}

/*
 * Fills in the packet's arguments and variables, then the session's variables that the packet does
 * not set, then the profile's. The arrays have room for all of them.
 */
static void launch_fill(struct launch *launch, size_t argc, size_t envc)
{
	const struct init_config *config = launch->config;
	const struct message_exec *exec = &launch->message->body.exec;

	for (uint32_t i = 0; i < exec->argv_count; i++)
		launch->argv[i] = (char *)message_text(launch->message, exec->argv[i]);
	for (uint32_t i = 0; i < exec->env_count; i++)
		launch->env[i] = (char *)message_text(launch->message, exec->env[i]);
	launch->argv[argc] = launch->env[envc] = NULL;
	envc = launch_add_env(launch->env, envc, launch->session->env, launch->session->env_count);
	(void)launch_add_env(launch->env, envc, init_config_texts(config), config->env_count);
}

/*
 * Fills in the texts of the further memory, which has `bytes` bytes and ends with a NUL. Returns
 * false if it does not contain exactly the texts that the EXEC announces.
 */
static bool launch_fill_more(struct launch *launch, char *texts, size_t bytes)
{
	const struct message_exec *exec = &launch->message->body.exec;
	char **argv = launch->argv + exec->argv_count, **env = launch->env + exec->env_count,
	     *end = texts + bytes;

	for (uint32_t i = 0; i < exec->more_argv && texts < end; i++, texts += strlen(texts) + 1)
		*argv++ = texts;
	for (uint32_t i = 0; i < exec->more_env && texts < end; i++, texts += strlen(texts) + 1) {
		if (*texts == '=' || !strchr(texts, '='))
			return false;
		*env++ = texts;
	}
	return texts == end && argv == launch->argv + exec->argv_count + exec->more_argv &&
	       env == launch->env + exec->env_count + exec->more_env;
}

static int launch_read_more(int fd, char *texts, size_t bytes)
{
	for (size_t used = 0; used < bytes;) {
		ssize_t n = pread(fd, texts + used, bytes - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EINVAL;
		used += (size_t)n;
	}
	return texts[bytes - 1] == '\0' ? 0 : -EINVAL;
}

/*
 * Fills in argv and env. Arguments that have no room in the packet come in a memfd. init has
 * checked its seals and its size, but not its contents.
 */
static int launch_arguments(struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;
	size_t argc = (size_t)exec->argv_count + exec->more_argv,
	       envc = (size_t)exec->env_count + exec->more_env;
	size_t bytes = (size_t)exec->more_bytes,
	       count = argc + 1 + envc + SESSION_ENV_MAX + INIT_ENV_MAX + 1;
	int r;

	launch->argv = launch->memory->argv;
	launch->env = launch->memory->env;
	if (bytes > 0) {
		launch->argv = mmap(NULL, count * sizeof(char *) + bytes, PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (launch->argv == MAP_FAILED)
			return -errno;
		launch->env = launch->argv + argc + 1;
		r = launch_read_more(launch->files[LAUNCH_MORE], (char *)(launch->argv + count),
		                     bytes);
		if (r < 0)
			return r;
		if (!launch_fill_more(launch, (char *)(launch->argv + count), bytes))
			return -EINVAL;
	}
	launch_fill(launch, argc, envc);
	return 0;
}

/*
 * Received descriptors are above 2, because 0 to 2 were open when they arrived. So dup2()
 * overwrites none that is still needed.
 */
static int launch_stdio(struct launch *launch)
{
	for (int i = 0; i < 3; i++)
		if (launch->files[i] >= 0 && dup2(launch->files[i], i) < 0)
			return -errno;
	/* All are close-on-exec already. This call protects against a future mistake. */
	return syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/*
 * Where the sandbox has core files, every command has them. Fails if kernel.core_pattern was
 * changed since the sandbox was made, because a crash would then act on the host. File operations
 * continue: yett-files is undumpable, and a client that runs another program as a file operation
 * gains nothing that a crash outside the sandbox would not give it.
 */
static int launch_core_files(struct launch *launch)
{
	int r;

	if (launch->config->limits.core_bytes == 0 || launch->message->body.exec.file_operation)
		return 0;
	r = cores_read(launch->memory->pattern);
	if (r < 0 || cores_are_files(launch->memory->pattern))
		return r;
	launch->refused = launch->memory->pattern;
	return -EPERM;
}

static int launch_limits(struct launch *launch)
{
	const struct init_config *config = launch->config;

	for (uint32_t i = 0; i < config->rlimits_count; i++) {
		struct rlimit limit = {config->rlimits[i].soft, config->rlimits[i].hard};

		if (setrlimit(config->rlimits[i].resource, &limit) < 0)
			return -errno;
	}
	(void)umask(config->umask == PLAN_UMASK_CALLER ? launch->message->body.exec.umask
	                                               : config->umask);
	if (config->nice != 0 && setpriority(PRIO_PROCESS, 0, config->nice) < 0)
		return -errno;
	if (config->has_processors)
		processors_take(&config->processors);
	return 0;
}

/*
 * Whether the command runs as another user than the sandbox's. restrict_check() has made sure that
 * init may take that id.
 */
static bool launch_is_other(const struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;

	return exec->has_user && exec->user != launch->config->uid;
}

/* Only the sandbox's own user has capabilities. */
static uint64_t launch_keeps(const struct launch *launch)
{
	return launch_is_other(launch) ? 0 : launch->config->capabilities;
}

/*
 * The groups were set when init started; another user has none. The gid is set first, because
 * setresuid() may drop the capability for it.
 */
static int launch_identity(struct launch *launch)
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

/* Drops, in every set, all of init's capabilities that the command does not get. capabilities(7) */
static int launch_capabilities(struct launch *launch)
{
	uint64_t keep = launch_keeps(launch);
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)keep, (uint32_t)keep, (uint32_t)keep},
		{(uint32_t)(keep >> 32), (uint32_t)(keep >> 32), (uint32_t)(keep >> 32)}};

	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	for (unsigned cap = 0; keep != 0 && cap < 64; cap++)
		if (keep & 1ULL << cap &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	return 0;
}

static int launch_directory(struct launch *launch)
{
	const char *cwd = message_text(launch->message, launch->message->body.exec.cwd);

	if (!cwd || !*cwd)
		cwd = launch->session->cwd;
	return chdir(*cwd ? cwd : "/") < 0 ? -errno : 0;
}

/*
 * Opened under the command's own id, so that the command owns the terminal. Comes before the
 * filter, which may not allow these calls.
 */
static int launch_terminal(struct launch *launch)
{
	const struct message_exec *exec = &launch->message->body.exec;

	return exec->terminal ? terminal_open(exec, launch->socket) : 0;
}

static int launch_restrict_files(struct launch *launch)
{
	return restrict_files(launch->config, launch->message, &launch->refused);
}

static int launch_restrict_calls(struct launch *launch)
{
	return restrict_calls(launch->config, launch->message);
}

static struct sock_fprog launch_program(const struct launch *launch)
{
	const struct init_config *config = launch->config;
	const struct sock_filter *filters = (const struct sock_filter *)config->data;

	return (struct sock_fprog){
		.len = (unsigned short)config->command_filter_count,
		.filter = (struct sock_filter *)(filters + config->init_filter_count)};
}

/*
 * Whether the filter denies only the calls that init needs and commands do not (they fail with
 * ENOSYS or kill the process). The child makes none of those calls, so such a filter can be loaded
 * early. A profile may deny other calls too, or log them.
 */
static bool launch_filter_is_plain(const struct launch *launch)
{
	const struct sock_fprog program = launch_program(launch);

	for (size_t i = 0; i < program.len; i++) {
		uint32_t action = program.filter[i].k;

		if (BPF_CLASS(program.filter[i].code) == BPF_RET && action != SECCOMP_RET_ALLOW &&
		    action != SECCOMP_RET_KILL_PROCESS && action != (SECCOMP_RET_ERRNO | ENOSYS))
			return false;
	}
	return true;
}

/*
 * no_new_privs is set since init's start, so this needs no capability. The filter is added to
 * init's own.
 */
static int launch_load_filter(const struct launch *launch)
{
	const struct sock_fprog program = launch_program(launch);

	if (program.len == 0)
		return 0;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/*
 * Loading the filter takes a twentieth of the time of a short command, so it is done ahead of the
 * request where possible.
 */
static int launch_filter_early(struct launch *launch)
{
	return launch_filter_is_plain(launch) ? launch_load_filter(launch) : 0;
}

static int launch_filter_late(struct launch *launch)
{
	return launch_filter_is_plain(launch) ? 0 : launch_load_filter(launch);
}

static const char *launch_search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return LAUNCH_DEFAULT_PATH;
}

/*
 * execve(2) gives EACCES for a directory as for a file without the x bit. Returns -EISDIR for the
 * directory.
 */
static int launch_execute_file(const char *path, const struct launch *launch)
{
	struct stat st;
	int error;

	(void)execve(path, launch->argv, launch->env);
	error = errno;
	if (error == EACCES && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		error = EISDIR;
	/* The file exists, so its interpreter is missing. */
	else if (error == ENOENT && access(path, F_OK) == 0)
		error = ELIBACC;
	return -error;
}

/*
 * Like execvp(3), but with the command's PATH, and without running a shell for files of unknown
 * format.
 */
static int launch_execute_search(const char *name, const struct launch *launch)
{
	char *path = launch->memory->path;
	int r = -ENOENT;

	for (const char *next = launch_search_path(launch->env); next;) {
		size_t length = strcspn(next, ":");
		int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, next, length ? "/" : "./",
		                 name);
		int one = n < PATH_MAX ? launch_execute_file(path, launch) : -ENAMETOOLONG;

		if (one != -ENOENT && one != -ENOTDIR && one != -EACCES && one != -EISDIR &&
		    one != -ENAMETOOLONG)
			return one;
		/* sh reports this error if no later directory has the program. */
		if (one == -EACCES)
			r = one;
		next = next[length] ? next + length + 1 : NULL;
	}
	return r;
}

static int launch_execute(struct launch *launch)
{
	const char *name = launch->argv[0];
	sigset_t none;

	if (!name || !*name)
		return -ENOENT;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	return strchr(name, '/') ? launch_execute_file(name, launch)
	                         : launch_execute_search(name, launch);
}

static const struct {
	const char *name;
	int (*run)(struct launch *launch);
} launch_steps[] = {
	{"session", launch_session},
	{"system-call-filter", launch_filter_early},
	{"descriptors", launch_descriptors},
	{"memory", launch_map},
	/* The steps above can run before the request arrives. */
	{"request", launch_receive},
	{"arguments", launch_arguments},
	{"stdio", launch_stdio},
	{"core-files", launch_core_files},
	{"limits", launch_limits},
	{"identity", launch_identity},
	{"capabilities", launch_capabilities},
	{"working-directory", launch_directory},
	{"terminal", launch_terminal},
	{"restriction-of-files", launch_restrict_files},
	{"restriction-of-calls", launch_restrict_calls},
	/* Late, because the filter may forbid calls that the steps above need. */
	{"system-call-filter", launch_filter_late},
	{"execute", launch_execute}, /* last */
};

static _Noreturn void launch_run(struct launch *launch)
{
	struct launch_failure failure = {0};

	for (uint32_t i = 0; i < ARRAY_SIZE(launch_steps) && failure.error == 0; i++) {
		failure.step = i;
		if (layer_is_on(launch->config, launch_steps[i].name))
			failure.error = -launch_steps[i].run(launch);
	}
	if (launch->refused)
		(void)snprintf(failure.path, sizeof failure.path, "%s", launch->refused);
	_exit(write(launch->socket, &failure, sizeof failure) < 0 ? 126 : 127);
}

bool launch_may_wait(const struct init_config *config)
{
	return config->capabilities == 0 && config->uid != getuid();
}

int launch_fork(const struct init_config *config, struct session *session, int leaf,
                struct launch_child *ret_child)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD, .flags = CLONE_CLEAR_SIGHAND};
	_cleanup_fd_ int ours = -1, its = -1;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	its = ends[1];
	if (leaf >= 0) {
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)leaf;
	}
	pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		launch_run(&(struct launch){.config = config, .session = session, .socket = its});
	*ret_child = (struct launch_child){.pid = pid, .socket = steal_fd(&ours)};
	return 0;
}

int launch_report(const struct launch_child *child, const struct frame *packet,
                  const struct message_exec *exec, const int files[LAUNCH_FILES])
{
	size_t count = 0;
	int fds[LAUNCH_FILES];

	for (size_t i = 0; i < LAUNCH_FILES; i++)
		if (launch_sends(exec, i))
			fds[count++] = files[i];
	return frame_send(child->socket, packet->bytes, packet->length, fds, count, MSG_DONTWAIT);
}

int launch_report_session(const struct launch_child *child, const struct frame *packet)
{
	return frame_send(child->socket, packet->bytes, packet->length, NULL, 0, MSG_DONTWAIT);
}

void launch_dismiss(struct launch_child *child)
{
	if (child->pid != 0)
		(void)fd_close(child->socket);
	child->pid = 0;
}

struct launch_failure launch_without_terminal(void)
{
	uint32_t step = 0;

	while (launch_steps[step].run != launch_terminal)
		step++;
	return (struct launch_failure){.step = step, .error = ENOTTY};
}

int launch_read(int socket, struct launch_failure *failure, bool has_terminal, int *terminal)
{
	ssize_t n = terminal_read(socket, failure, sizeof *failure, terminal);

	/* fd_close() of a valid descriptor leaves errno unchanged. */
	if (!has_terminal)
		*terminal = fd_close(*terminal);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != sizeof *failure)
		*failure = (struct launch_failure){0};
	failure->path[sizeof failure->path - 1] = '\0';
	/*
	 * The text may be cut within a character, and a compromised child may have written
	 * anything.
	 */
	schema_clean_text(failure->path);
	/*
	 * The command must not run without the terminal that was requested: the child was killed
	 * before it opened one, or init had no free descriptor for the master.
	 */
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
	const char *reason = error_number_text(failure->error);

	if (failure->step < ARRAY_SIZE(launch_steps) - 1) {
		const char *name = launch_steps[failure->step].name;

		if (launch_steps[failure->step].run == launch_core_files &&
		    failure->error == EPERM) {
			(void)cores_refuse(failure->path, YETT_E_COMMAND_FAILED, error);
			(void)error_cause(error, name, failure->error);
			return;
		}
		if (*failure->path)
			(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE,
			                "the command cannot be restricted to %s: %s in the sandbox",
			                failure->path,
			                failure->error == ENOENT ? "there is no such path"
			                                         : reason);
		else
			(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE,
			                "the %s of the command could not be set", name);
		error_detail(error, "%s", reason);
		(void)error_cause(error, name, failure->error);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(launch_texts); i++)
		if (launch_texts[i].error == failure->error)
			text = launch_texts[i].text;
	(void)error_set(error, YETT_E_COMMAND_FAILED, YETT_R_NONE, "%s", text);
	error_detail(error, "%s", reason);
	(void)error_cause(error, NULL, failure->error);
}
