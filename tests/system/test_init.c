/*
 * yett-init alone: the real program in a user and a pid namespace, started as its builder starts it, and this test as
 * both supervisor and client. Everything runs twice: with a cgroup v2 tree and without one. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "helper/init/config.h"
#include "helper/setup/seccomp.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#define HOST_IDS    1000000 /* inside 0 … 65535 are these outside */
#define COMMAND_ID  1000
#define INIT_ID     65000
#define DEADLINE_MS 20000

struct sandbox {
	pid_t pid;
	int control, channel;
	uint64_t sequence;
	char cgroup[128]; /* empty: without */
	struct init_report report;
};

static struct init_config config; /* of the next sandbox; reset by prepare() */
static bool with_cgroup;          /* which of the two rounds this is */
static int init_program = -1;     /* sealed memfd */
static char cgroup_root[64];      /* of the v2 tree */
static uint64_t init_capabilities;
static int counters[4] = {-1, -1, -1, -1};
static struct sock_filter *filters[2];
static size_t filter_counts[2];
static struct message message;
static struct frame frame;

/* --- a sandbox --- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
}

static void add_data(const void *data, size_t size)
{
	assert_true(config.data_used + size <= INIT_DATA_MAX);
	memcpy(config.data + config.data_used, data, size);
	config.data_used += (uint32_t)size;
}

static void add_env(const char *entry)
{
	add_data(entry, strlen(entry) + 1);
	config.env_count++;
}

/* The configuration of an ordinary profile. */
static void prepare(void)
{
	memset(&config, 0, sizeof config);
	config.uid = config.gid = COMMAND_ID;
	config.groups[0] = 2000;
	config.groups_count = 1;
	config.umask = 022;
	for (int i = 0; i < 2; i++)
		add_data(filters[i], filter_counts[i] * sizeof *filters[i]);
	config.init_filter_count = (uint32_t)filter_counts[0];
	config.command_filter_count = (uint32_t)filter_counts[1];
	add_env("PATH=/usr/local/bin:/usr/bin:/bin");
	add_env("LANG=C.UTF-8");
	init_capabilities = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		counters[i] = fd_close(counters[i]);
}

static void make_cgroup(struct sandbox *sandbox)
{
	static const char *const own[] = {"", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"};
	static unsigned serial;
	char path[256];

	snprintf(sandbox->cgroup, sizeof sandbox->cgroup, "%s/yett-test-init-%d-%u", cgroup_root, getpid(), serial++);
	assert_return_code(mkdir(sandbox->cgroup, 0755), errno);
	snprintf(path, sizeof path, "%s/init", sandbox->cgroup);
	assert_return_code(mkdir(path, 0755), errno);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		snprintf(path, sizeof path, "%s%s", sandbox->cgroup, own[i]);
		assert_return_code(chown(path, HOST_IDS + INIT_ID, HOST_IDS + INIT_ID), errno);
	}
}

static void set_capabilities(uint64_t own, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)own, (uint32_t)own, (uint32_t)inheritable},
		{(uint32_t)(own >> 32), (uint32_t)(own >> 32), (uint32_t)(inheritable >> 32)}};

	if (syscall(SYS_capset, &header, data) < 0)
		_exit(101);
}

/* The inheritable set first: without the bounding set nobody can add to it. */
static void keep_capabilities(uint64_t set)
{
	set_capabilities((1ULL << (CAP_LAST_CAP + 1)) - 1, set);
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 || setresgid(INIT_ID, INIT_ID, INIT_ID) < 0 ||
	    setresuid(INIT_ID, INIT_ID, INIT_ID) < 0)
		_exit(103);
	set_capabilities(set, set);
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (set & 1ULL << cap && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			_exit(102);
}

/* What the builder does last: ids, capabilities, descriptors, exec from the memfd. */
static _Noreturn void become_init(const int fds[INIT_FD_END], int go)
{
	static char *const argv[] = {"yett-init", NULL}, *const env[] = {NULL};
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(100);
	keep_capabilities(init_capabilities);
	for (int i = 0; i < INIT_FD_END; i++)
		if (fds[i] >= 0 && dup2(fds[i], i) < 0)
			_exit(104);
	for (int i = 0; i < INIT_FD_END; i++)
		if (fds[i] < 0)
			close(i);
	fcntl(fds[INIT_FD_END], F_SETFD, FD_CLOEXEC);
	syscall(SYS_close_range, INIT_FD_END, fds[INIT_FD_END] - 1, 0);
	syscall(SYS_execveat, fds[INIT_FD_END], "", argv, env, AT_EMPTY_PATH);
	_exit(105);
}

static int high(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);

	assert_return_code(copy, errno);
	return copy;
}

/* Descriptors far above the fixed numbers, so that moving one never overwrites another. */
static void collect_fds(const struct sandbox *sandbox, int control, int channel, int fds[INIT_FD_END + 1])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i <= INIT_FD_END; i++)
		fds[i] = -1;
	for (int i = 0; i < 3; i++)
		fds[i] = high(null);
	close(null);
	fds[INIT_FD_CONTROL] = high(control);
	fds[INIT_FD_CHANNEL] = high(channel);
	if (*sandbox->cgroup) {
		int fd = open(sandbox->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		fds[INIT_FD_CGROUP] = high(fd);
		close(fd);
	}
	for (int i = 0; i < 4; i++)
		if (counters[i] >= 0)
			fds[INIT_FD_MEMORY_EVENTS + i] = high(counters[i]);
	fds[INIT_FD_END] = fcntl(init_program, F_DUPFD_CLOEXEC, 200);
	assert_return_code(fds[INIT_FD_END], errno);
	for (int i = INIT_FD_CONTROL; i < INIT_FD_END; i++)
		if (fds[i] >= 0)
			config.fds_present |= 1U << (i - INIT_FD_CONTROL);
}

static void map_ids(pid_t pid)
{
	static const char *const files[] = {"uid_map", "gid_map"};
	char path[64], map[64];

	snprintf(map, sizeof map, "0 %d 65536\n", HOST_IDS);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
		write_file(path, map);
	}
}

static void spawn_init(struct sandbox *sandbox, const int fds[INIT_FD_END + 1])
{
	struct clone_args arguments = {.flags = CLONE_NEWUSER | CLONE_NEWPID, .exit_signal = SIGCHLD};
	char path[256];
	int go[2], leaf = -1;

	assert_return_code(pipe2(go, O_CLOEXEC), errno);
	if (*sandbox->cgroup) {
		snprintf(path, sizeof path, "%s/init", sandbox->cgroup);
		leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		arguments.flags |= CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)leaf;
	}
	sandbox->pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
	if (sandbox->pid == 0)
		become_init(fds, go[0]);
	assert_return_code(sandbox->pid, errno);
	map_ids(sandbox->pid);
	assert_int_equal(write(go[1], "", 1), 1);
	close(go[0]);
	close(go[1]);
	fd_close(leaf);
}

/* Starts init with the prepared configuration, cut to `length` bytes if that is not 0; reads its report. */
static struct sandbox *start_cut(size_t length)
{
	struct sandbox *sandbox = calloc(1, sizeof *sandbox);
	int control[2], channel[2], fds[INIT_FD_END + 1];

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), errno);
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), errno);
	if (with_cgroup)
		make_cgroup(sandbox);
	collect_fds(sandbox, control[1], channel[1], fds);
	spawn_init(sandbox, fds);
	for (int i = 0; i <= INIT_FD_END; i++)
		fd_close(fds[i]);
	close(control[1]);
	close(channel[1]);
	sandbox->control = control[0];
	sandbox->channel = channel[0];
	if (length == 0)
		length = offsetof(struct init_config, data) + config.data_used;
	assert_int_equal(send(sandbox->control, &config, length, 0), length);
	assert_int_equal(recv(sandbox->control, &sandbox->report, sizeof sandbox->report, 0), sizeof sandbox->report);
	return sandbox;
}

static struct sandbox *start_prepared(void)
{
	struct sandbox *sandbox = start_cut(0);

	if (sandbox->report.error != 0)
		fail_msg("init: %s: %s", sandbox->report.step, strerror(sandbox->report.error));
	return sandbox;
}

static struct sandbox *start(void)
{
	prepare();
	return start_prepared();
}

/* Whether init is gone within the deadline; it stays to be reaped by finish(). */
static bool ended(const struct sandbox *sandbox)
{
	_cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, sandbox->pid, 0);
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return poll(&fd, 1, DEADLINE_MS) == 1;
}

/* As the supervisor does: with init, everything in the leaves ended; some leaves are kept for further commands. */
static void remove_cgroup(const char *path)
{
	char leaf[512];
	struct dirent *entry;
	int leaves = 0;
	DIR *dir = opendir(path);

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(leaf, sizeof leaf, "%s/%s", path, entry->d_name);
		assert_return_code(rmdir(leaf), errno);
		leaves++;
	}
	closedir(dir);
	assert_in_range(leaves, 1, 5);
	assert_return_code(rmdir(path), errno);
}

static void finish(struct sandbox *sandbox)
{
	int status;

	sandbox->channel = fd_close(sandbox->channel);
	assert_true(ended(sandbox));
	assert_int_equal(waitpid(sandbox->pid, &status, 0), sandbox->pid);
	fd_close(sandbox->control);
	if (*sandbox->cgroup)
		remove_cgroup(sandbox->cgroup);
	free(sandbox);
}

/* --- a client --- */

static uint64_t send_exec(struct sandbox *sandbox, char *const *argv, const int fds[3], uint64_t timeout_ms)
{
	struct message_exec *exec = &message.body.exec;
	int sent[3];
	size_t n = 0;

	for (exec->argv_count = 0; argv[exec->argv_count]; exec->argv_count++)
		assert_int_equal(message_add_text(&message, argv[exec->argv_count], &exec->argv[exec->argv_count]), 0);
	for (int i = 0; i < 3; i++) {
		exec->stdio[i] = fds && fds[i] >= 0 ? STDIO_FD : STDIO_NULL;
		if (exec->stdio[i] == STDIO_FD)
			sent[n++] = fds[i];
	}
	exec->timeout_ms = timeout_ms;
	message.kind = MESSAGE_EXEC;
	assert_int_equal(frame_send_message(sandbox->channel, &message, ++sandbox->sequence, sent, n, 0), 0);
	return sandbox->sequence;
}

static void clear_exec(void)
{
	memset(&message.body.exec, 0, sizeof message.body.exec);
	message.arena_used = 0;
	assert_int_equal(message_add_text(&message, "/", &message.body.exec.cwd), 0);
}

#define ARGV(...) ((char *const[]){__VA_ARGS__, NULL})
#define SH(script) ARGV("/bin/sh", "-c", script)

static uint64_t exec_fds(struct sandbox *sandbox, char *const *argv, const int fds[3], uint64_t timeout_ms)
{
	clear_exec();
	return send_exec(sandbox, argv, fds, timeout_ms);
}

static uint64_t exec_command(struct sandbox *sandbox, char *const *argv)
{
	return exec_fds(sandbox, argv, NULL, 0);
}

/* The next message, into `message`; its kind. */
static uint32_t receive(struct sandbox *sandbox, uint64_t *ret_sequence)
{
	struct pollfd fd = {.fd = sandbox->channel, .events = POLLIN};
	struct yett_error error;
	struct envelope envelope;

	if (poll(&fd, 1, DEADLINE_MS) != 1)
		fail_msg("init says nothing");
	assert_int_equal(frame_receive(sandbox->channel, &frame, 0), 1);
	assert_int_equal(frame.fd_count, 0);
	assert_int_equal(envelope_read(frame.bytes, frame.length, 0, &envelope, &error), 0);
	assert_int_equal(message_decode(envelope.kind, frame.bytes + ENVELOPE_HEADER_SIZE, envelope.body_length, &message,
					&error),
			 0);
	*ret_sequence = envelope.sequence;
	return envelope.kind;
}

static void expect(struct sandbox *sandbox, uint32_t kind, uint64_t sequence)
{
	uint64_t got_sequence;
	uint32_t got = receive(sandbox, &got_sequence);

	if (got == MESSAGE_ERROR && kind != MESSAGE_ERROR)
		fail_msg("%s (%s)", message_text(&message, message.body.error.message),
			 message_text(&message, message.body.error.detail));
	assert_int_equal(got, kind);
	assert_int_equal(got_sequence, sequence);
}

static const struct message_exited *expect_end(struct sandbox *sandbox, uint64_t sequence)
{
	expect(sandbox, MESSAGE_STARTED, sequence);
	expect(sandbox, MESSAGE_EXITED, sequence);
	return &message.body.exited;
}

static void expect_status(struct sandbox *sandbox, uint64_t sequence, unsigned status)
{
	const struct message_exited *exited = expect_end(sandbox, sequence);

	assert_false(exited->signaled);
	assert_int_equal(exited->status, status);
}

static void expect_error(struct sandbox *sandbox, uint64_t sequence, enum yett_code code, enum yett_reason reason)
{
	expect(sandbox, MESSAGE_ERROR, sequence);
	assert_int_equal(message.body.error.code, code);
	assert_int_equal(message.body.error.reason, reason);
}

static void expect_serving(struct sandbox *sandbox)
{
	expect_status(sandbox, exec_command(sandbox, SH("exit 7")), 7);
}

/* All that a pipe holds until its last writer is gone. */
static const char *read_all(int fd)
{
	static char text[65536];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t n;

	do {
		if (poll(&wait, 1, DEADLINE_MS) != 1)
			fail_msg("a writer lives on");
		n = read(fd, text + used, sizeof text - 1 - used);
		assert_true(n >= 0);
		used += (size_t)n;
	} while (n > 0);
	text[used] = '\0';
	close(fd);
	return text;
}

/* Runs a command whose message body is prepared, and returns its output. */
static const char *output_of_prepared(struct sandbox *sandbox, char *const *argv)
{
	int p[2];
	uint64_t sequence;

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = send_exec(sandbox, argv, (int[]){-1, p[1], p[1]}, 0);
	close(p[1]);
	(void)expect_end(sandbox, sequence);
	return read_all(p[0]);
}

static const char *output_of(struct sandbox *sandbox, char *const *argv)
{
	clear_exec();
	return output_of_prepared(sandbox, argv);
}

static void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
}

/* --- commands --- */

static void output_and_input_pass_through_pipes(void **state)
{
	struct sandbox *sandbox = start();
	int in[2], out[2];
	uint64_t sequence;

	(void)state;
	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	assert_return_code(pipe2(out, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("cat; echo err >&2"), (int[]){in[0], out[1], out[1]}, 0);
	close(in[0]);
	close(out[1]);
	assert_int_equal(write(in[1], "hello\n", 6), 6);
	close(in[1]);
	expect_status(sandbox, sequence, 0);
	assert_string_equal(read_all(out[0]), "hello\nerr\n");
	finish(sandbox);
}

static void exit_status_and_signal_are_told_apart(void **state)
{
	struct sandbox *sandbox = start();
	const struct message_exited *exited;

	(void)state;
	expect_status(sandbox, exec_command(sandbox, SH("exit 143")), 143);
	exited = expect_end(sandbox, exec_command(sandbox, SH("kill -TERM $$")));
	assert_true(exited->signaled);
	assert_int_equal(exited->status, SIGTERM);
	assert_false(exited->timed_out);
	assert_true(exited->wall_us > 0 && exited->memory_peak_bytes > 0);
	finish(sandbox);
}

static void a_command_is_the_configured_user_without_any_privilege(void **state)
{
	struct sandbox *sandbox = start();
	const char *status = output_of(sandbox, ARGV("cat", "/proc/self/status"));

	(void)state;
	contains(status, "\nUid:\t1000\t1000\t1000\t1000\n");
	contains(status, "\nGid:\t1000\t1000\t1000\t1000\n");
	contains(status, "\nGroups:\t2000 \n");
	contains(status, "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
	contains(status, "\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	contains(status, "\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	finish(sandbox);
}

static void capabilities_of_the_profile_survive_and_no_others(void **state)
{
	struct sandbox *sandbox;

	(void)state;
	prepare();
	config.capabilities = 1 << CAP_CHOWN | 1 << CAP_FOWNER;
	init_capabilities |= config.capabilities;
	sandbox = start_prepared();
	contains(output_of(sandbox, ARGV("cat", "/proc/self/status")),
		 "CapInh:\t0000000000000009\nCapPrm:\t0000000000000009\nCapEff:\t0000000000000009\n"
		 "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000009\n");
	finish(sandbox);
}

static void init_keeps_three_capabilities_and_is_out_of_reach(void **state)
{
	struct sandbox *sandbox = start();
	char path[64], text[4096];
	ssize_t n;
	int fd;

	(void)state;
	snprintf(path, sizeof path, "/proc/%d/status", sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof text - 1);
	assert_true(n > 0);
	close(fd);
	text[n] = '\0';
	contains(text, "\nCapInh:\t0000000000000000\nCapPrm:\t00000000000000e0\nCapEff:\t00000000000000e0\n");
	contains(text, "\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	expect_status(sandbox, exec_command(sandbox, SH("kill -9 1; kill -STOP 1; renice 5 1; ! kill -0 1")), 0);
	snprintf(path, sizeof path, "/proc/%d/environ", sandbox->pid);
	expect_status(sandbox, exec_command(sandbox, ARGV("cat", path)), 1);
	expect_serving(sandbox);
	finish(sandbox);
}

static void only_stdio_is_open_in_a_command(void **state)
{
	struct sandbox *sandbox = start();

	(void)state;
	assert_string_equal(output_of(sandbox, ARGV("ls", "/proc/self/fd")), "0\n1\n2\n3\n"); /* 3 is ls' own */
	finish(sandbox);
}

static void the_environment_is_the_profiles_and_the_requests(void **state)
{
	struct sandbox *sandbox;
	struct message_exec *exec = &message.body.exec;

	(void)state;
	prepare();
	add_env("WHO=profile");
	sandbox = start_prepared();
	clear_exec();
	assert_int_equal(message_add_text(&message, "WHO=request", &exec->env[exec->env_count++]), 0);
	assert_int_equal(message_add_text(&message, "WHOLE=1", &exec->env[exec->env_count++]), 0);
	assert_string_equal(output_of_prepared(sandbox, ARGV("env")),
			    "WHO=request\nWHOLE=1\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\n");
	assert_string_equal(output_of(sandbox, ARGV("env")),
			    "PATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nWHO=profile\n");
	finish(sandbox);
}

static void limits_umask_and_nice_come_from_the_profile(void **state)
{
	struct sandbox *sandbox;

	(void)state;
	prepare();
	config.umask = 027;
	config.nice = 3;
	config.rlimits[config.rlimits_count++] = (struct init_rlimit){RLIMIT_NOFILE, 77, 99};
	config.rlimits[config.rlimits_count++] = (struct init_rlimit){RLIMIT_CORE, 0, 0};
	config.rlimits[config.rlimits_count++] = (struct init_rlimit){RLIMIT_STACK, UINT64_MAX, UINT64_MAX};
	sandbox = start_prepared();
	assert_string_equal(output_of(sandbox, SH("ulimit -n; ulimit -Hn; ulimit -c; umask; nice")), "77\n99\n0\n0027\n3\n");
	finish(sandbox);
}

static void expect_start_failure(struct sandbox *sandbox, const char *program, const char *detail)
{
	expect_error(sandbox, exec_command(sandbox, ARGV((char *)(uintptr_t)program)), YETT_E_COMMAND_FAILED, YETT_R_NONE);
	assert_memory_equal(message_text(&message, message.body.error.detail), detail, strlen(detail));
}

static void a_command_that_cannot_start_says_why(void **state)
{
	struct sandbox *sandbox = start();
	char script[] = "/tmp/yett-init-XXXXXX";
	int fd = mkstemp(script);

	(void)state;
	expect_start_failure(sandbox, "no-such-command", "errno=2 ");
	expect_start_failure(sandbox, "/no/such/command", "errno=2 ");
	expect_start_failure(sandbox, "/usr", "errno=21 ");
	expect_start_failure(sandbox, "/etc/passwd", "errno=13 ");
	expect_start_failure(sandbox, "/etc/passwd/x", "errno=20 ");
	expect_start_failure(sandbox, "", "errno=2 ");
	assert_int_equal(write(fd, "#!/no/interpreter\n", 18), 18);
	assert_return_code(fchmod(fd, 0755), errno);
	close(fd);
	expect_start_failure(sandbox, script, "errno=79 ");
	assert_return_code(truncate(script, 0), errno);
	expect_start_failure(sandbox, script, "errno=8 ");
	unlink(script);
	expect_serving(sandbox);
	finish(sandbox);
}

static void the_working_directory_is_entered_as_the_command(void **state)
{
	struct sandbox *sandbox = start();
	uint64_t sequence;

	(void)state;
	clear_exec();
	assert_int_equal(message_add_text(&message, "/usr/bin", &message.body.exec.cwd), 0);
	assert_string_equal(output_of_prepared(sandbox, ARGV("pwd")), "/usr/bin\n");
	clear_exec();
	assert_int_equal(message_add_text(&message, "/root", &message.body.exec.cwd), 0); /* closed to the command */
	sequence = send_exec(sandbox, ARGV("pwd"), NULL, 0);
	expect_error(sandbox, sequence, YETT_E_COMMAND_FAILED, YETT_R_NONE);
	assert_string_equal(message_text(&message, message.body.error.detail),
			    "step=working-directory errno=13 Permission denied");
	finish(sandbox);
}

static uint64_t send_signal(struct sandbox *sandbox, uint64_t command, unsigned number)
{
	message.kind = MESSAGE_SIGNAL;
	message.body.signal = (struct message_signal){command, number};
	assert_int_equal(frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

static void a_signal_reaches_the_whole_group(void **state)
{
	struct sandbox *sandbox = start();
	uint64_t sequence;
	int p[2];

	(void)state;
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("sleep 1000 & trap 'wait; exit 5' TERM; echo; wait; wait"), (int[]){-1, p[1], -1}, 0);
	close(p[1]);
	expect(sandbox, MESSAGE_STARTED, sequence);
	assert_int_equal(read(p[0], &(char){0}, 1), 1); /* the trap is set */
	(void)send_signal(sandbox, sequence, SIGTERM);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_equal(message.body.exited.status, 5);
	assert_string_equal(read_all(p[0]), "");
	expect_error(sandbox, send_signal(sandbox, sequence, SIGTERM), YETT_E_NOT_RUNNING, YETT_R_NONE);
	expect_error(sandbox, send_signal(sandbox, 4711, SIGTERM), YETT_E_NOT_RUNNING, YETT_R_NONE);
	finish(sandbox);
}

static void a_timeout_kills_the_command_and_its_children(void **state)
{
	struct sandbox *sandbox = start();
	const struct message_exited *exited;
	uint64_t sequence;
	int p[2];

	(void)state;
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	/* Without a cgroup a process that leaves the session is out of reach. */
	sequence = exec_fds(sandbox, with_cgroup ? SH("setsid sleep 1000 & sleep 1000 & wait") : SH("sleep 1000 & wait"),
			    (int[]){-1, p[1], -1}, 100);
	close(p[1]);
	exited = expect_end(sandbox, sequence);
	assert_true(exited->timed_out && exited->signaled);
	assert_int_equal(exited->status, SIGKILL);
	assert_true(exited->wall_us >= 100000);
	assert_string_equal(read_all(p[0]), "");
	expect_serving(sandbox);
	finish(sandbox);
}

static void what_a_command_leaves_behind_ends_with_it(void **state)
{
	struct sandbox *sandbox = start();
	uint64_t sequence;
	int p[2];

	(void)state;
	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, with_cgroup ? SH("(setsid sleep 1000 &); (sleep 1000 &); exit 3") : SH("(sleep 1000 &); exit 3"),
			    (int[]){-1, p[1], -1}, 0);
	close(p[1]);
	expect_status(sandbox, sequence, 3);
	if (with_cgroup) { /* by the time EXITED came: nothing holds the pipe any more */
		struct pollfd fd = {.fd = p[0]};

		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_true(fd.revents & POLLHUP);
	}
	assert_string_equal(read_all(p[0]), "");
	finish(sandbox);
}

static void orphans_are_reaped(void **state)
{
	struct sandbox *sandbox = start();
	char path[64], text[256] = "";
	int fd;

	(void)state;
	expect_status(sandbox, exec_command(sandbox, SH("for i in 1 2 3 4 5 6 7 8; do (true & true &); done")), 0);
	expect_serving(sandbox);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", sandbox->pid, sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		assert_true(read(fd, text, sizeof text - 1) >= 0);
	assert_string_equal(text, "");
	fd_close(fd);
	finish(sandbox);
}

static void two_hundred_commands_run_at_once(void **state)
{
	enum { COMMANDS = 200 };
	struct sandbox *sandbox = start();
	bool started[COMMANDS + 1] = {false}, exited[COMMANDS + 1] = {false};
	int go[2];

	(void)state;
	assert_return_code(pipe2(go, O_CLOEXEC), errno);
	for (int i = 0; i < COMMANDS; i++)
		(void)exec_fds(sandbox, SH("read x; exit 9"), (int[]){go[0], -1, -1}, 0);
	close(go[0]);
	for (int i = 0; i < 2 * COMMANDS; i++) {
		uint64_t sequence;
		uint32_t kind = receive(sandbox, &sequence);

		assert_in_range(sequence, 1, COMMANDS);
		if (kind == MESSAGE_STARTED) {
			started[sequence] = true;
			if (i == COMMANDS - 1)
				close(go[1]); /* all run now */
			continue;
		}
		assert_int_equal(kind, MESSAGE_EXITED);
		assert_true(started[sequence] && !exited[sequence] && i >= COMMANDS);
		assert_int_equal(message.body.exited.status, 9);
		exited[sequence] = true;
	}
	expect_serving(sandbox);
	finish(sandbox);
}

static size_t count_fds(pid_t pid)
{
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void a_thousand_commands_in_a_row_leave_nothing_in_init(void **state)
{
	struct sandbox *sandbox = start();
	size_t before;

	(void)state;
	expect_serving(sandbox);
	before = count_fds(sandbox->pid);
	for (int i = 0; i < 1000; i++)
		expect_status(sandbox, exec_command(sandbox, ARGV("/bin/true")), 0);
	assert_int_equal(count_fds(sandbox->pid), before);
	finish(sandbox);
}

static void a_command_without_end_does_not_hold_up_others(void **state)
{
	struct sandbox *sandbox = start();
	uint64_t sequence = exec_command(sandbox, SH("while :; do kill -STOP -1; done"));

	(void)state;
	expect(sandbox, MESSAGE_STARTED, sequence);
	/* It stops whatever it can reach: init, and children that are not its like yet, it cannot. */
	exec_fds(sandbox, SH("exit 0"), NULL, 500);
	for (int seen = 0; seen < 1;) {
		uint64_t got;

		seen += receive(sandbox, &got) == MESSAGE_EXITED && got == sequence + 1;
	}
	(void)send_signal(sandbox, sequence, SIGKILL);
	expect(sandbox, MESSAGE_EXITED, sequence);
	finish(sandbox);
}

/* --- counters --- */

static int counter_file(const char *text)
{
	int fd = memfd_create("counter", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void limits_that_were_met_are_named(void **state)
{
	static const char *const before[] = {"low 0\noom 3\noom_kill 1\n", "1000\n", "max 5\n", "nr_periods 1\nnr_throttled 0\n"};
	static const char *const after[] = {"low 0\noom 9\noom_kill 2\n", "99000000000\n", "max 6\n", "nr_periods 9\nnr_throttled 4\n"};
	struct sandbox *sandbox;
	uint64_t sequence;
	int in[2];

	(void)state;
	prepare();
	for (int i = 0; i < 4; i++)
		counters[i] = counter_file(before[i]);
	sandbox = start_prepared();
	expect_serving(sandbox);
	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("read x"), (int[]){in[0], -1, -1}, 0);
	expect(sandbox, MESSAGE_STARTED, sequence);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pwrite(counters[i], after[i], strlen(after[i]), 0), strlen(after[i]));
	close(in[0]);
	close(in[1]);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_true(message.body.exited.out_of_memory);
	assert_int_equal(message.body.exited.limits_hit, LIMIT_MEMORY | LIMIT_PIDS | LIMIT_CPU);
	assert_int_equal(message.body.exited.memory_peak_bytes, 99000000000);
	expect_status(sandbox, exec_command(sandbox, SH("exit 0")), 0);
	assert_int_equal(message.body.exited.limits_hit, 0);
	finish(sandbox);
}

static void the_limit_of_cpu_time_is_named(void **state)
{
	struct sandbox *sandbox;
	const struct message_exited *exited;

	(void)state;
	prepare();
	config.rlimits[config.rlimits_count++] = (struct init_rlimit){RLIMIT_CPU, 1, 2};
	sandbox = start_prepared();
	exited = expect_end(sandbox, exec_command(sandbox, SH("while :; do :; done")));
	assert_true(exited->signaled && exited->limits_hit == LIMIT_CPU_TIME);
	assert_true(exited->user_us + exited->system_us > 900000);
	finish(sandbox);
}

static void an_idle_sandbox_costs_little_memory(void **state)
{
	struct sandbox *sandbox = start();
	char path[64], text[4096] = "";
	unsigned long pss = 0;
	int fd;

	(void)state;
	/* Right after work, before it gives memory back: what it costs at most. */
	for (int i = 0; i < 20; i++)
		expect_serving(sandbox);
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	assert_non_null(strstr(text, "Pss:"));
	assert_int_equal(sscanf(strstr(text, "Pss:"), "Pss: %lu", &pss), 1);
	print_message("init after commands: %lu KiB\n", pss);
	assert_true(pss < 1024);
	finish(sandbox);
}

/* --- hostile clients --- */

static void send_raw(struct sandbox *sandbox, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	assert_int_equal(frame_send(sandbox->channel, bytes, length, fds, fd_count, 0), 0);
}

static void hostile_packets_are_answered_and_forgotten(void **state)
{
	struct sandbox *sandbox = start();
	struct envelope envelope = {.kind = MESSAGE_EXEC, .sequence = 1000, .body_length = 64};
	uint8_t packet[ENVELOPE_HEADER_SIZE + 64];
	uint8_t body[4096];
	size_t length;

	(void)state;
	memset(packet, 0xc1, sizeof packet);
	envelope_write(&envelope, packet);
	send_raw(sandbox, packet, 10, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	send_raw(sandbox, packet, sizeof packet - 1, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	packet[0] = 'X';
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_MAGIC);
	packet[0] = 'Y';
	packet[4] = 99;
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_VERSION);
	packet[4] = ENVELOPE_VERSION;
	send_raw(sandbox, packet, sizeof packet, (int[]){1}, 1);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 1000, YETT_E_PROTOCOL, YETT_R_MALFORMED);
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 1000, YETT_E_PROTOCOL, YETT_R_REPLAYED);
	sandbox->sequence = 1000;
	/* well-formed, but not for init */
	message.kind = MESSAGE_ENDED;
	message.body.ended.reason = 0;
	assert_int_equal(message_encode(&message, body, sizeof body, &length), 0);
	assert_int_equal(frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	expect_error(sandbox, sandbox->sequence, YETT_E_PROTOCOL, YETT_R_KIND);
	expect_serving(sandbox);
	finish(sandbox);
}

static void a_wrong_number_of_descriptors_is_refused(void **state)
{
	struct sandbox *sandbox = start();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[128];
	size_t before;

	(void)state;
	expect_serving(sandbox);
	before = count_fds(sandbox->pid);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = null;
	for (size_t n = 0; n <= 128; n += 64) { /* two are asked for */
		clear_exec();
		message.kind = MESSAGE_EXEC;
		message.body.exec.argv_count = 1;
		assert_int_equal(message_add_text(&message, "true", &message.body.exec.argv[0]), 0);
		message.body.exec.stdio[0] = message.body.exec.stdio[2] = STDIO_FD;
		assert_int_equal(frame_send_message(sandbox->channel, &message, ++sandbox->sequence, fds, n, 0), 0);
		expect_error(sandbox, sandbox->sequence, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	}
	close(null);
	expect_serving(sandbox);
	assert_int_equal(count_fds(sandbox->pid), before);
	finish(sandbox);
}

static void descriptors_that_are_doors_are_refused(void **state)
{
	struct sandbox *sandbox = start();
	char node[] = "/tmp/yett-init-node-XXXXXX";
	int bad[] = {open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		     open("/etc/passwd", O_PATH | O_CLOEXEC),
		     open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC),
		     open("/dev/zero", O_RDWR | O_CLOEXEC),
		     open("/proc/self/mem", O_RDWR | O_CLOEXEC),
		     open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
		     epoll_create1(EPOLL_CLOEXEC),
		     eventfd(0, EFD_CLOEXEC),
		     (int)syscall(SYS_pidfd_open, getpid(), 0),
		     -1};
	const size_t last = ARRAY_SIZE(bad) - 1;

	(void)state;
	/* A block device's node, opened as O_PATH's opposite only where the kernel has a driver for it. */
	close(mkstemp(node));
	unlink(node);
	if (mknod(node, S_IFBLK | 0600, makedev(7, 0)) == 0)
		bad[last] = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unlink(node);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t sequence;

		if (bad[i] < 0) {
			print_message("not to be had on this host: descriptor %zu of the list\n", i);
			continue;
		}
		sequence = exec_fds(sandbox, ARGV("true"), (int[]){-1, bad[i], -1}, 0);
		expect_error(sandbox, sequence, YETT_E_SECURITY_VIOLATION, YETT_R_NONE);
		contains(message_text(&message, message.body.error.message), "stdout is ");
		close(bad[i]);
	}
	expect_serving(sandbox);
	finish(sandbox);
}

static void a_client_that_stops_reading_loses_no_result(void **state)
{
	enum { COMMANDS = 600 };
	struct sandbox *sandbox = start();
	unsigned char seen[COMMANDS + 1] = {0};
	int sent = 0, got = 0;

	(void)state;
	while (sent < COMMANDS) { /* until init takes no more: its results fill the channel, then the requests do */
		struct message_exec *exec = &message.body.exec;

		clear_exec();
		exec->argv_count = 1;
		assert_int_equal(message_add_text(&message, sent % 2 ? "/bin/true" : "/no/such", &exec->argv[0]), 0);
		message.kind = MESSAGE_EXEC;
		if (frame_send_message(sandbox->channel, &message, sandbox->sequence + 1, NULL, 0, MSG_DONTWAIT) == -EAGAIN)
			break;
		sandbox->sequence++;
		sent++;
	}
	print_message("%d commands sent before the first answer was read\n", sent);
	for (int wanted = sent / 2 * 2 + (sent + 1) / 2; got < wanted; got++) { /* STARTED and EXITED, or ERROR */
		uint64_t sequence;
		uint32_t kind = receive(sandbox, &sequence);

		assert_in_range(sequence, 1, sent);
		if (sequence % 2)
			assert_int_equal(kind, MESSAGE_ERROR);
		else
			assert_int_equal(kind, seen[sequence] ? MESSAGE_EXITED : MESSAGE_STARTED);
		seen[sequence]++;
	}
	for (int i = 1; i <= sent; i++)
		assert_int_equal(seen[i], i % 2 ? 1 : 2);
	expect_serving(sandbox);
	finish(sandbox);
}

static void the_end_of_either_socket_ends_the_sandbox(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sandbox *sandbox = start();
		int p[2];

		assert_return_code(pipe2(p, O_CLOEXEC), errno);
		(void)exec_fds(sandbox, SH("(setsid sleep 1000 &); sleep 1000"), (int[]){-1, p[1], -1}, 0);
		close(p[1]);
		expect(sandbox, MESSAGE_STARTED, sandbox->sequence);
		if (i == 0)
			sandbox->control = fd_close(sandbox->control);
		else
			sandbox->channel = fd_close(sandbox->channel);
		assert_string_equal(read_all(p[0]), "");
		assert_true(ended(sandbox));
		finish(sandbox);
	}
}

static void a_killed_client_ends_the_sandbox(void **state)
{
	struct sandbox *sandbox = start();
	pid_t client = fork();

	(void)state;
	assert_true(client >= 0);
	if (client == 0) {
		pause();
		_exit(0);
	}
	expect_serving(sandbox);
	sandbox->channel = fd_close(sandbox->channel); /* the client has the only other end now */
	kill(client, SIGKILL);
	assert_int_equal(waitpid(client, NULL, 0), client);
	assert_true(ended(sandbox));
	finish(sandbox);
}

/* --- start --- */

static void a_start_that_fails_names_its_step(void **state)
{
	struct sandbox *sandbox;

	(void)state;
	prepare();
	sandbox = start_cut(offsetof(struct init_config, data) + config.data_used - 1);
	assert_int_equal(sandbox->report.error, EBADMSG);
	assert_string_equal(sandbox->report.step, "read-configuration");
	finish(sandbox);
	prepare();
	init_capabilities = 1ULL << CAP_KILL;
	sandbox = start_cut(0);
	assert_int_equal(sandbox->report.error, EPERM);
	assert_string_equal(sandbox->report.step, "capabilities");
	finish(sandbox);
	prepare();
	memset(config.data, 0xff, 64); /* no instruction of BPF */
	sandbox = start_cut(0);
	assert_int_equal(sandbox->report.error, EINVAL);
	assert_string_equal(sandbox->report.step, "system-call-filter");
	finish(sandbox);
}

/* --- the test program --- */

static void load_program(const char *path)
{
	char buffer[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	init_program = memfd_create("yett-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while ((n = read(fd, buffer, sizeof buffer)) > 0)
		assert_int_equal(write(init_program, buffer, (size_t)n), n);
	close(fd);
	assert_return_code(fcntl(init_program, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), errno);
}

static void find_cgroup_root(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			snprintf(cgroup_root, sizeof cgroup_root, "%s", places[i]);
}

static int set_up(void **state)
{
	struct yett_error error;

	(void)state;
	for (int i = 0; i < 2; i++)
		if (seccomp_compile(&(struct seccomp_spec){0}, i == 0 ? SECCOMP_INIT : SECCOMP_COMMAND, &filters[i], &filter_counts[i], &error) != 0)
			return -1;
	load_program(getenv("YETT_INIT"));
	find_cgroup_root();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_input_pass_through_pipes),
		cmocka_unit_test(exit_status_and_signal_are_told_apart),
		cmocka_unit_test(a_command_is_the_configured_user_without_any_privilege),
		cmocka_unit_test(capabilities_of_the_profile_survive_and_no_others),
		cmocka_unit_test(init_keeps_three_capabilities_and_is_out_of_reach),
		cmocka_unit_test(only_stdio_is_open_in_a_command),
		cmocka_unit_test(the_environment_is_the_profiles_and_the_requests),
		cmocka_unit_test(limits_umask_and_nice_come_from_the_profile),
		cmocka_unit_test(a_command_that_cannot_start_says_why),
		cmocka_unit_test(the_working_directory_is_entered_as_the_command),
		cmocka_unit_test(a_signal_reaches_the_whole_group),
		cmocka_unit_test(a_timeout_kills_the_command_and_its_children),
		cmocka_unit_test(what_a_command_leaves_behind_ends_with_it),
		cmocka_unit_test(orphans_are_reaped),
		cmocka_unit_test(two_hundred_commands_run_at_once),
		cmocka_unit_test(a_thousand_commands_in_a_row_leave_nothing_in_init),
		cmocka_unit_test(a_command_without_end_does_not_hold_up_others),
		cmocka_unit_test(limits_that_were_met_are_named),
		cmocka_unit_test(the_limit_of_cpu_time_is_named),
		cmocka_unit_test(an_idle_sandbox_costs_little_memory),
		cmocka_unit_test(hostile_packets_are_answered_and_forgotten),
		cmocka_unit_test(a_wrong_number_of_descriptors_is_refused),
		cmocka_unit_test(descriptors_that_are_doors_are_refused),
		cmocka_unit_test(a_client_that_stops_reading_loses_no_result),
		cmocka_unit_test(the_end_of_either_socket_ends_the_sandbox),
		cmocka_unit_test(a_killed_client_ends_the_sandbox),
		cmocka_unit_test(a_start_that_fails_names_its_step),
	};
	int failed = 0;

	if (geteuid() != 0 || !getenv("YETT_INIT")) {
		fprintf(stderr, "skipped: needs root, and YETT_INIT to name the program\n");
		return 77;
	}
	failed += cmocka_run_group_tests_name("init, without cgroups", tests, set_up, NULL);
	with_cgroup = true;
	if (*cgroup_root)
		failed += cmocka_run_group_tests_name("init, with cgroups", tests, NULL, NULL);
	else
		fprintf(stderr, "not run with cgroups: no cgroup v2 tree is mounted here\n");
	return failed;
}
