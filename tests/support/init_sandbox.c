/* SPDX-License-Identifier: Apache-2.0 */
/* See init_sandbox.h. As root: makes namespaces and cgroups of its own, and removes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/waiting.h"

#include "programs/decide/policy/seccomp.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define HOST_IDS 1000000 /* inside 0 … 65535 are these outside */
#define INIT_ID  65000

struct init_config config;
uint64_t init_capabilities;
int counters[4] = {-1, -1, -1, -1};
bool with_cgroup;
struct message message;
int last_terminal = -1;
int terminals_due;
int outputs[2];
size_t outputs_count;

static int init_program = -1; /* sealed memfd */
static char cgroup_root[64];  /* of the v2 tree */
static struct sock_filter *filters[2];
static size_t filter_counts[2];
static struct frame frame;

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

void add_env(const char *entry)
{
	add_data(entry, strlen(entry) + 1);
	config.env_count++;
}

void add_path(enum init_path access, const char *path)
{
	char text[256];

	assert_in_range(snprintf(text, sizeof text, "%c%s", access, path), 2, sizeof text - 1);
	add_data(text, strlen(text) + 1);
	config.paths_count++;
}

/* The configuration of an ordinary profile. */
void prepare(void)
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
	static const char *const own[] = {"", "/cgroup.procs", "/cgroup.threads",
	                                  "/cgroup.subtree_control"};
	static unsigned serial;
	const char *place = getenv("YETT_TEST_PLACE"); /* no other run has it: places.py; process
	                                                  ids may be those of another namespace */
	char path[256];

	snprintf(sandbox->cgroup, sizeof sandbox->cgroup, "%s/yett-test-%s-init-%d-%u", cgroup_root,
	         place ? place : "alone", getpid(), serial++);
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
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(INIT_ID, INIT_ID, INIT_ID) < 0 || setresuid(INIT_ID, INIT_ID, INIT_ID) < 0)
		_exit(103);
	set_capabilities(set, set);
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (set & 1ULL << cap && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			_exit(102);
}

/* What init finds when it has built: ids, capabilities, descriptors, exec from the memfd. */
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
static void collect_fds(const struct sandbox *sandbox, int control, int channel,
                        int fds[INIT_FD_END + 1])
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
	struct clone_args arguments = {.flags = CLONE_NEWUSER | CLONE_NEWPID,
	                               .exit_signal = SIGCHLD};
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

/* Starts init with the prepared configuration, cut to `length` bytes if that is not 0; reads its
 * report. */
struct sandbox *start_cut(size_t length)
{
	struct sandbox *sandbox = calloc(1, sizeof *sandbox);
	int control[2], channel[2], fds[INIT_FD_END + 1];

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), errno);
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), errno);
	if (with_cgroup)
		make_cgroup(sandbox);
	/* Behind all variables. Nothing is mounted for these sandboxes: their root is the host's,
	 * and they may use it. */
	if (config.paths_count == 0)
		add_path(INIT_PATH_WRITE, "/");
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
	assert_int_equal(recv(sandbox->control, &sandbox->report, sizeof sandbox->report, 0),
	                 sizeof sandbox->report);
	return sandbox;
}

struct sandbox *start_prepared(void)
{
	struct sandbox *sandbox = start_cut(0);

	if (sandbox->report.error != 0)
		fail_msg("init: %s: %s", sandbox->report.step, strerror(sandbox->report.error));
	return sandbox;
}

struct sandbox *start(void)
{
	prepare();
	return start_prepared();
}

/* Whether init is gone within the deadline; it stays to be reaped by finish(). */
bool ended(const struct sandbox *sandbox)
{
	_cleanup_fd_ int pidfd = (int)syscall(SYS_pidfd_open, sandbox->pid, 0);
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return poll(&fd, 1, waiting_deadline_ms()) == 1;
}

/* As the supervisor does: with init, everything in the leaves ended; some leaves are kept for
 * further commands. */
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
	assert_in_range(leaves, 1,
	                6); /* its own, four that are kept, and that of the child that is ready */
	assert_return_code(rmdir(path), errno);
}

void finish(struct sandbox *sandbox)
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

int set_up_sandbox(void **state)
{
	*state = start();
	return 0;
}

int tear_down_sandbox(void **state)
{
	finish(*state);
	return 0;
}

/* --- a client --- */

int more_memory = -1;

uint64_t send_exec(struct sandbox *sandbox, char *const *argv, const int fds[3],
                   uint64_t timeout_ms)
{
	struct message_exec *exec = &message.body.exec;
	int sent[4];
	size_t n = 0;

	for (exec->argv_count = 0; argv[exec->argv_count]; exec->argv_count++)
		assert_int_equal(message_add_text(&message, argv[exec->argv_count],
		                                  &exec->argv[exec->argv_count]),
		                 0);
	for (int i = 0; i < 3; i++) {
		if (fds && fds[i] >= 0)
			exec->stdio[i] = STDIO_FD;
		if (exec->stdio[i] == STDIO_FD)
			sent[n++] = fds[i];
	}
	if (exec->more_bytes > 0)
		sent[n++] = more_memory;
	exec->timeout_ms = timeout_ms;
	terminals_due += exec->terminal;
	message.kind = MESSAGE_EXEC;
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, sent, n, 0), 0);
	return sandbox->sequence;
}

void clear_exec(void)
{
	memset(&message.body.exec, 0, sizeof message.body.exec);
	message.arena_used = 0;
	assert_int_equal(message_add_text(&message, "/", &message.body.exec.cwd), 0);
}

uint64_t exec_fds(struct sandbox *sandbox, char *const *argv, const int fds[3], uint64_t timeout_ms)
{
	clear_exec();
	return send_exec(sandbox, argv, fds, timeout_ms);
}

uint64_t exec_command(struct sandbox *sandbox, char *const *argv)
{
	return exec_fds(sandbox, argv, NULL, 0);
}

uint64_t exec_captured(struct sandbox *sandbox, char *const *argv, uint64_t bytes, bool in_one)
{
	clear_exec();
	message.body.exec.stdio[1] = STDIO_CAPTURE;
	message.body.exec.stdio[2] = in_one ? STDIO_AS_OUTPUT : STDIO_CAPTURE;
	message.body.exec.capture_bytes = bytes;
	return send_exec(sandbox, argv, NULL, 0);
}

struct sandbox *attach(const struct sandbox *sandbox)
{
	const char word = INIT_WORD_CHANNEL;
	struct sandbox *attached = calloc(1, sizeof *attached);
	int ends[2];

	assert_non_null(attached);
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), errno);
	assert_int_equal(frame_send(sandbox->control, &word, 1, &ends[1], 1, 0), 0);
	close(ends[1]);
	attached->control = -1;
	attached->channel = ends[0];
	return attached;
}

void detach(struct sandbox *attached)
{
	close(attached->channel);
	free(attached);
}

uint64_t query(struct sandbox *sandbox, enum query_action action, uint64_t command)
{
	message.kind = MESSAGE_QUERY;
	message.body.query = (struct message_query){.action = action, .command = command};
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

uint64_t exec_terminal(struct sandbox *sandbox, char *const *argv, uint64_t timeout_ms)
{
	clear_exec();
	message.body.exec.terminal = true;
	message.body.exec.rows = 24;
	message.body.exec.columns = 80;
	return send_exec(sandbox, argv, NULL, timeout_ms);
}

/* The next message, into `message`; its kind. */
uint32_t receive(struct sandbox *sandbox, uint64_t *ret_sequence)
{
	struct pollfd fd = {.fd = sandbox->channel, .events = POLLIN};
	struct yett_error error;
	struct envelope envelope;

	if (poll(&fd, 1, waiting_deadline_ms()) != 1)
		fail_msg("init says nothing");
	assert_int_equal(frame_receive(sandbox->channel, &frame, 0), 1);
	assert_int_equal(
		envelope_read(frame.bytes, frame.length, frame.fd_count, &envelope, &error), 0);
	assert_in_range(frame.fd_count, 0,
	                envelope.kind == MESSAGE_COMMANDS
	                        ? 2
	                        : envelope.kind == MESSAGE_STARTED && terminals_due > 0);
	if (envelope.kind == MESSAGE_COMMANDS) {
		for (outputs_count = 0; outputs_count < frame.fd_count; outputs_count++)
			outputs[outputs_count] = steal_fd(&frame.fds[outputs_count]);
	} else if (frame.fd_count > 0) {
		terminals_due--;
		fd_close(last_terminal);
		last_terminal = steal_fd(&frame.fds[0]);
	}
	assert_int_equal(message_decode(envelope.kind, frame.bytes + ENVELOPE_HEADER_SIZE,
	                                envelope.body_length, &message, &error),
	                 0);
	*ret_sequence = envelope.sequence;
	return envelope.kind;
}

void expect(struct sandbox *sandbox, uint32_t kind, uint64_t sequence)
{
	uint64_t got_sequence;
	uint32_t got = receive(sandbox, &got_sequence);

	if (got == MESSAGE_ERROR && kind != MESSAGE_ERROR)
		fail_msg("%s (%s)", message_text(&message, message.body.error.message),
		         message_text(&message, message.body.error.detail));
	assert_int_equal(got, kind);
	assert_int_equal(got_sequence, sequence);
}

const struct message_exited *expect_end(struct sandbox *sandbox, uint64_t sequence)
{
	expect(sandbox, MESSAGE_STARTED, sequence);
	expect(sandbox, MESSAGE_EXITED, sequence);
	return &message.body.exited;
}

void expect_status(struct sandbox *sandbox, uint64_t sequence, unsigned status)
{
	const struct message_exited *exited = expect_end(sandbox, sequence);

	assert_false(exited->signaled);
	assert_int_equal(exited->status, status);
}

void expect_error(struct sandbox *sandbox, uint64_t sequence, enum yett_code code,
                  enum yett_reason reason)
{
	expect(sandbox, MESSAGE_ERROR, sequence);
	assert_int_equal(message.body.error.code, code);
	assert_int_equal(message.body.error.reason, reason);
}

void expect_serving(struct sandbox *sandbox)
{
	expect_status(sandbox, exec_command(sandbox, SH("exit 7")), 7);
}

/*
 * From the second command on: of one that is seen to run for longer than MAIN_PREPARE_US, the next
 * one's child is forked in the turn that tells of the end, at the latest; and the question is
 * answered in a later one.
 */
static void rest(struct sandbox *sandbox)
{
	expect_serving(sandbox);
	expect_status(sandbox, exec_command(sandbox, SH("sleep 0.2")), 0);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
}

size_t fds_at_rest(struct sandbox *sandbox)
{
	rest(sandbox);
	return count_fds(sandbox->pid);
}

size_t count_children_at_rest(struct sandbox *sandbox)
{
	char path[64], text[4096];
	_cleanup_fd_ int fd = -1;
	size_t count = 0;
	ssize_t n;

	rest(sandbox);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", sandbox->pid, sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, errno);
	n = read(fd, text, sizeof text);
	assert_return_code(n, errno);
	for (ssize_t i = 0; i < n; i++)
		count += text[i] == ' '; /* proc_pid_task(5): one after each */
	return count;
}

/* All that a pipe holds until its last writer is gone. */
const char *read_all(int fd)
{
	static char text[65536];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	ssize_t n;

	do {
		if (poll(&wait, 1, waiting_deadline_ms()) != 1)
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
const char *output_of_prepared(struct sandbox *sandbox, char *const *argv)
{
	int p[2];
	uint64_t sequence;

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = send_exec(sandbox, argv, (int[]){-1, p[1], p[1]}, 0);
	close(p[1]);
	(void)expect_end(sandbox, sequence);
	return read_all(p[0]);
}

const char *output_of(struct sandbox *sandbox, char *const *argv)
{
	clear_exec();
	return output_of_prepared(sandbox, argv);
}

void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
}

size_t count_fds(pid_t pid)
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
	assert_return_code(fcntl(init_program, F_ADD_SEALS,
	                         F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
	                   errno);
}

static void find_cgroup_root(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			snprintf(cgroup_root, sizeof cgroup_root, "%s", places[i]);
}

static int set_up(void)
{
	struct yett_error error;

	for (int i = 0; i < 2; i++)
		if (seccomp_compile(&(struct seccomp_spec){0},
		                    i == 0 ? SECCOMP_INIT : SECCOMP_COMMAND, &filters[i],
		                    &filter_counts[i], &error) != 0)
			return -1;
	load_program(getenv("YETT_INIT"));
	find_cgroup_root();
	return 0;
}

int run_rounds(int (*run)(const char *name))
{
	int failed;

	if (geteuid() != 0 || !getenv("YETT_INIT")) {
		fprintf(stderr, "skipped: needs root, and YETT_INIT to name the program\n");
		return 77;
	}
	if (set_up() < 0)
		return 1;
	failed = run("init, without cgroups");
	with_cgroup = true;
	if (*cgroup_root)
		return failed + run("init, with cgroups");
	fprintf(stderr, "not run with cgroups: no cgroup v2 tree is mounted here\n");
	return failed;
}
