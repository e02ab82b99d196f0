/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one command is kept from by its own restrictions. init runs without mounts and without a
 * network namespace; the files are the command's own, so that without the restriction each attack
 * works, and with the layers of it left out too. As root.
 */
#include <string.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define PYTHON(script)                                                                               \
	"exec /usr/bin/python3 -c 'import ctypes, fcntl, os, socket; d = os.environ[\"D\"]; " script \
	"'"
#define BOTH     "restriction-of-files,restriction-of-calls"
#define FILES    "restriction-of-files"
#define CALLS    "restriction-of-calls"
#define OWN_ID   (1000000 + COMMAND_ID) /* of commands, outside */
#define GROUP_ID (1000000 + 2000)

/*
 * D is a directory of the command's own; D/p is what it may reach where paths are restricted. V is
 * the process id of another command, F are the flags of D/f and one more, for FS_IOC_SETFLAGS.
 */
static const struct {
	const char *name;
	uint32_t restriction;
	const char *layers; /* that stop it, each or together */
	char *script;       /* succeeds where the attack works */
} attacks[] = {
	{"write", RESTRICT_WRITE, FILES, "echo changed >$D/f"},
	{"append", RESTRICT_WRITE, FILES, "echo more >>$D/f"},
	{"make a file", RESTRICT_WRITE, FILES, ": >$D/new"},
	{"make a directory", RESTRICT_WRITE, FILES, "mkdir $D/new"},
	{"make a link", RESTRICT_WRITE, FILES, "ln -s / $D/new"},
	{"make a hard link", RESTRICT_WRITE, FILES, "ln $D/f $D/new"},
	{"make a FIFO", RESTRICT_WRITE, FILES, "mkfifo $D/new"},
	{"make a socket", RESTRICT_WRITE, FILES,
         PYTHON("socket.socket(socket.AF_UNIX).bind(d + \"/new\")")},
	{"make an unnamed file", RESTRICT_WRITE, FILES,
         PYTHON("os.open(d, os.O_TMPFILE | os.O_RDWR)")},
	{"remove a file", RESTRICT_WRITE, FILES, "unlink $D/f"},
	{"remove a directory", RESTRICT_WRITE, FILES, "rmdir $D/empty"},
	{"rename", RESTRICT_WRITE, FILES, "mv $D/f $D/p/new"},
	{"through proc", RESTRICT_WRITE, FILES, "exec 3<$D/f; echo x >/proc/self/fd/3"},
	{"shared memory", RESTRICT_WRITE, FILES,
         ": >/dev/shm/yett-test-$$ && rm /dev/shm/yett-test-$$"},
	{"truncate", RESTRICT_WRITE, BOTH, PYTHON("os.truncate(d + \"/f\", 1)")},
	{"truncate by opening for reading", RESTRICT_WRITE, BOTH,
         PYTHON("os.open(d + \"/f\", os.O_RDONLY | os.O_TRUNC); assert os.stat(d + \"/f\").st_size == 0")},
	{"truncate by opening for nothing", RESTRICT_WRITE, BOTH,
         PYTHON("os.open(d + \"/f\", 3 | os.O_TRUNC); assert os.stat(d + \"/f\").st_size == 0")},
	{"chmod", RESTRICT_WRITE, CALLS, "chmod 600 $D/f"},
	{"fchmod", RESTRICT_WRITE, CALLS, PYTHON("os.fchmod(os.open(d + \"/f\", 0), 0o600)")},
	{"fchmodat2", RESTRICT_WRITE, CALLS,
         PYTHON("assert ctypes.CDLL(None).syscall(268, -100, (d + \"/f\").encode(), 0o600) == 0")},
	{"chown", RESTRICT_WRITE, CALLS, PYTHON("os.chown(d + \"/f\", -1, 2000)")},
	{"fchown", RESTRICT_WRITE, CALLS, PYTHON("os.fchown(os.open(d + \"/f\", 0), -1, 2000)")},
	{"times", RESTRICT_WRITE, CALLS, PYTHON("os.utime(d + \"/f\", (1, 1))")},
	{"times by a descriptor", RESTRICT_WRITE, CALLS,
         PYTHON("os.utime(os.open(d + \"/f\", 0), (1, 1))")},
	{"attributes", RESTRICT_WRITE, CALLS,
         PYTHON("os.setxattr(d + \"/f\", \"user.a\", b\"1\")")},
	{"attributes by a descriptor", RESTRICT_WRITE, CALLS,
         PYTHON("os.setxattr(os.open(d + \"/f\", 0), \"user.a\", b\"1\")")},
	{"flags", RESTRICT_WRITE, CALLS,
         PYTHON("fcntl.ioctl(os.open(d + \"/f\", 0), 0x40086602, int(os.environ[\"F\"]).to_bytes(8, \"little\"))")},
	{"write as another command", RESTRICT_WRITE, FILES,
         PYTHON("assert ctypes.CDLL(None).ptrace(16, int(os.environ[\"V\"]), 0, 0) == 0")},

	{"internet", RESTRICT_NETWORK, CALLS, PYTHON("socket.socket(socket.AF_INET)")},
	{"datagrams", RESTRICT_NETWORK, CALLS,
         PYTHON("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", 9))")},
	{"internet 6", RESTRICT_NETWORK, CALLS, PYTHON("socket.socket(socket.AF_INET6)")},
	{"netlink", RESTRICT_NETWORK, CALLS,
         PYTHON("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)")},
	{"send as another command", RESTRICT_NETWORK, FILES,
         PYTHON("assert ctypes.CDLL(None).ptrace(16, int(os.environ[\"V\"]), 0, 0) == 0")},

	{"read", RESTRICT_PATHS, FILES, "cat $D/f"},
	{"list", RESTRICT_PATHS, FILES, "ls $D"},
	{"write elsewhere", RESTRICT_PATHS, FILES, "echo changed >$D/f"},
	{"make elsewhere", RESTRICT_PATHS, FILES, ": >/tmp/yett-test-$$ && rm /tmp/yett-test-$$"},
	{"execute", RESTRICT_PATHS, FILES, "$D/program"},
	{"read through a link", RESTRICT_PATHS, FILES, "ln -s $D/f $D/p/link && cat $D/p/link"},
	{"link in", RESTRICT_PATHS, FILES, "ln $D/f $D/p/new && cat $D/p/new"},
	{"rename in", RESTRICT_PATHS, FILES, "mv $D/f $D/p/new"},
	{"look into another command", RESTRICT_PATHS, FILES,
         PYTHON("assert ctypes.CDLL(None).ptrace(16, int(os.environ[\"V\"]), 0, 0) == 0")},
	{"truncate elsewhere", RESTRICT_PATHS, BOTH, PYTHON("os.truncate(d + \"/f\", 1)")},
	{"chmod elsewhere", RESTRICT_PATHS, CALLS, "chmod 600 $D/f"},
	{"chown elsewhere", RESTRICT_PATHS, CALLS, PYTHON("os.chown(d + \"/f\", -1, 2000)")},
	{"times elsewhere", RESTRICT_PATHS, CALLS, PYTHON("os.utime(d + \"/f\", (1, 1))")},
	{"attributes elsewhere", RESTRICT_PATHS, CALLS,
         PYTHON("os.setxattr(d + \"/f\", \"user.a\", b\"1\")")},
};

static char folder[64], variable[80], flags[32];

static void own(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	if (!text) {
		assert_return_code(mkdir(path, mode), errno);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		close(fd);
	}
	assert_return_code(chown(path, OWN_ID, OWN_ID), errno);
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

/* Of the file: ext4 would take flags without that of extents as asking for the file to be laid out
 * anew, which it may refuse. */
static void own_flags(const char *name)
{
	char path[128];
	long set = 0;
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)ioctl(fd, FS_IOC_GETFLAGS, &set);
	close(fd);
	(void)snprintf(flags, sizeof flags, "F=%ld", set | FS_NODUMP_FL);
}

/* As before the first attack. */
static int make_folder(void **state)
{
	(void)mkdir("/var/lib/yett-test", 0755);
	(void)snprintf(folder, sizeof folder, "/var/lib/yett-test/restrict-%d", getpid());
	(void)snprintf(variable, sizeof variable, "D=%s", folder);
	(void)remove_folder(state);
	(void)umask(0);
	own("", NULL, 0755);
	own("p", NULL, 0755);
	own("empty", NULL, 0755);
	own("f", "secret\n", 0644);
	own_flags("f");
	own("p/f", "mine\n", 0644);
	own("program", "#!/bin/sh\nexit 0\n", 0755);
	return 0;
}

/* With layers left out; NULL: none. */
static struct sandbox *start_sandbox(const char *layers_off)
{
	char off[128];

	prepare();
	add_env(variable);
	add_env(flags);
	if (layers_off) {
		(void)snprintf(off, sizeof off, "YETT_TEST_LAYERS_OFF=%s", layers_off);
		add_env(off);
	}
	return start_prepared();
}

static uint64_t exec_restricted(struct sandbox *sandbox, uint32_t restrictions, char *script)
{
	struct message_exec *exec = &message.body.exec;
	char path[128];

	(void)snprintf(path, sizeof path, "%s/p", folder);
	exec->restrictions = restrictions;
	if (restrictions & RESTRICT_PATHS)
		assert_int_equal(
			message_add_text(&message, path, &exec->paths[exec->paths_count++]), 0);
	return send_exec(sandbox, SH(script), NULL, 0);
}

/* Beside a command that it could attack. */
static bool works(char *script, uint32_t restrictions, const char *layers_off)
{
	struct sandbox *sandbox;
	uint64_t victim, sequence;
	char pid[32];
	bool does;

	(void)make_folder(NULL);
	sandbox = start_sandbox(layers_off);
	victim = exec_command(sandbox, ARGV("/bin/sleep", "600"));
	expect(sandbox, MESSAGE_STARTED, victim);
	(void)snprintf(pid, sizeof pid, "V=%u", message.body.started.pid);
	clear_exec();
	assert_int_equal(message_add_text(&message, pid,
	                                  &message.body.exec.env[message.body.exec.env_count++]),
	                 0);
	sequence = exec_restricted(sandbox, restrictions, script);
	(void)expect_end(sandbox, sequence);
	assert_false(message.body.exited.signaled);
	does = message.body.exited.status == 0;
	finish(sandbox);
	return does;
}

static bool has_landlock(void)
{
	struct sandbox *sandbox = start_sandbox(NULL);
	bool has = sandbox->report.layers.landlock_abi != 0;

	finish(sandbox);
	return has;
}

TEST_WITH(each_restriction_stops_what_works_without_it, NULL, remove_folder)
{
	if (!has_landlock()) {
		print_message("this kernel has no Landlock: restrictions are refused here\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		uint32_t restriction = attacks[i].restriction;

		if (!works(attacks[i].script, 0, NULL))
			fail_msg("%s: does not work without the restriction, so this shows nothing",
			         attacks[i].name);
		if (!works(attacks[i].script, restriction, attacks[i].layers))
			fail_msg("%s: is stopped without %s", attacks[i].name, attacks[i].layers);
		if (works(attacks[i].script, restriction, NULL))
			fail_msg("%s: works in spite of the restriction", attacks[i].name);
	}
}

TEST_WITH(what_is_not_restricted_works, NULL, remove_folder)
{
	static const struct {
		uint32_t restrictions;
		char *script;
	} good[] = {
		{RESTRICT_WRITE,
	         "cat $D/f >/dev/null && ls $D /usr /etc >/dev/null && echo x | cat >/dev/stdout"},
		{RESTRICT_WRITE, PYTHON("socket.socket(socket.AF_INET); os.memfd_create(\"m\")")},
		{RESTRICT_NETWORK,
	         "echo x >$D/new && chmod 600 $D/new && mv $D/new $D/p && cat $D/p/new"},
		{RESTRICT_NETWORK,
	         PYTHON("socket.socketpair(); socket.socket(socket.AF_UNIX).bind(d + \"/socket\")")},
		{RESTRICT_PATHS,
	         "cd $D/p && cat f && echo x >new && touch new && mkdir sub && mv new sub && rm -r sub && ls"},
		{RESTRICT_PATHS,
	         "cp /bin/true $D/p/true && $D/p/true && cat /etc/passwd /proc/self/status >/dev/null"},
		{RESTRICT_PATHS,
	         PYTHON("os.fchmod(os.open(d + \"/p/f\", 0), 0o600); socket.socket(socket.AF_INET)")},
		{RESTRICT_PATHS | RESTRICT_WRITE | RESTRICT_NETWORK,
	         "cat $D/p/f && ! echo x >$D/p/f && ! cat $D/f"},
	};
	struct sandbox *sandbox;

	if (!has_landlock())
		skip();
	(void)make_folder(NULL);
	sandbox = start_sandbox(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		clear_exec();
		(void)expect_end(sandbox,
		                 exec_restricted(sandbox, good[i].restrictions, good[i].script));
		if (message.body.exited.status != 0)
			fail_msg("%s: %u", good[i].script, message.body.exited.status);
	}
	finish(sandbox);
}

TEST_WITH(what_cannot_be_had_is_refused, NULL, remove_folder)
{
	struct sandbox *sandbox;

	(void)make_folder(NULL);
	sandbox = start_sandbox("landlock"); /* as with a kernel that has none */
	for (uint32_t bit = RESTRICT_WRITE; bit <= RESTRICT_PATHS; bit *= 2) {
		clear_exec();
		expect_error(sandbox, exec_restricted(sandbox, bit, "true"), YETT_E_UNSUPPORTED,
		             YETT_R_NONE);
	}
	clear_exec();
	message.body.exec.has_user = true;
	message.body.exec.user = 0;
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_UNSUPPORTED,
	             YETT_R_NONE);
	clear_exec();
	message.body.exec.has_user = true;
	message.body.exec.user = COMMAND_ID;
	expect_status(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), 0);
	finish(sandbox);
	sandbox = start_sandbox(NULL);
	if (sandbox->report.layers.landlock_abi != 0) {
		clear_exec();
		assert_int_equal(
			message_add_text(&message, "/nonexistent", &message.body.exec.paths[0]), 0);
		message.body.exec.paths_count = 1;
		expect_error(sandbox, exec_restricted(sandbox, RESTRICT_PATHS, "true"),
		             YETT_E_COMMAND_FAILED, YETT_R_NONE);
		assert_string_equal(message_text(&message, message.body.error.step),
		                    "restriction-of-files");
		assert_int_equal(message.body.error.error_number, ENOENT);
	}
	clear_exec();
	assert_int_equal(message_add_text(&message, "relative", &message.body.exec.paths[0]), 0);
	message.body.exec.paths_count = 1;
	expect_error(sandbox, exec_restricted(sandbox, RESTRICT_PATHS, "true"),
	             YETT_E_INVALID_REQUEST, YETT_R_NONE);
	clear_exec();
	message.body.exec.paths_count = 1;
	expect_error(sandbox, exec_restricted(sandbox, RESTRICT_WRITE, "true"),
	             YETT_E_INVALID_REQUEST, YETT_R_NONE);
	finish(sandbox);
}

/* Where ids are not those of shares, and init may take them. */
TEST(a_command_can_be_another_user_where_root_is_inside)
{
	struct sandbox *sandbox;

	prepare();
	config.uid = config.gid = 0;
	config.capabilities = 1 << 0; /* CAP_CHOWN */
	init_capabilities |= config.capabilities;
	sandbox = start_prepared();
	clear_exec();
	message.body.exec.has_user = true;
	message.body.exec.user = 4711;
	contains(output_of_prepared(sandbox, ARGV("cat", "/proc/self/status")),
	         "\nUid:\t4711\t4711\t4711\t4711\nGid:\t4711\t4711\t4711\t4711\n");
	clear_exec();
	message.body.exec.has_user = true;
	message.body.exec.user = 4711;
	contains(
		output_of_prepared(sandbox, ARGV("cat", "/proc/self/status")),
		"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
	contains(output_of(sandbox, ARGV("cat", "/proc/self/status")), "\nUid:\t0\t0\t0\t0\n");
	clear_exec();
	message.body.exec.has_user = true;
	message.body.exec.user = 70000; /* which the sandbox does not have */
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_COMMAND_FAILED,
	             YETT_R_NONE);
	assert_string_equal(message_text(&message, message.body.error.step), "identity");
	finish(sandbox);
}

/* The kernel of a v1 host has no controllers there; where they are, the limit holds. */
TEST(a_limit_of_one_command_holds_or_is_refused)
{
	struct sandbox *sandbox = start();
	uint64_t sequence, got;

	clear_exec();
	message.body.exec.pids = 1;
	sequence = send_exec(sandbox, SH("/bin/true; /bin/true"), NULL, 0);
	if (receive(sandbox, &got) == MESSAGE_ERROR) {
		assert_int_equal(message.body.error.code, YETT_E_UNSUPPORTED);
		finish(sandbox);
		return;
	}
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_not_equal(message.body.exited.status, 0);
	clear_exec();
	message.body.exec.memory_bytes = 32 << 20;
	(void)expect_end(
		sandbox,
		send_exec(sandbox, ARGV("/usr/bin/python3", "-c", "bytearray(1 << 28)"), NULL, 0));
	assert_true(message.body.exited.out_of_memory);
	finish(sandbox);
}

static int run(const char *name)
{
	/* with cgroups or without is nothing to the others */
	cmocka_set_test_filter(with_cgroup ? "a_limit_of_*" : NULL);
	return testing_run(name, NULL, NULL);
}

int main(void)
{
	return run_rounds(run);
}
