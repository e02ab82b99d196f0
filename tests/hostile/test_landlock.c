/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Landlock alone stops. init runs without mounts, without a network namespace and with files
 * that anybody may change, so that nothing else is in an attack's way: with the layer left out each
 * of them works. As root.
 */
#include <string.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PYTHON(script) "exec /usr/bin/python3 -c '" script "'"

/* D is a directory in which anybody may do anything, D/w the only part of it that the plan would
 * give. */
static const struct {
	const char *name;
	uint32_t abi; /* that stops it */
	char *script; /* succeeds where the attack works */
} attacks[] = {
	{"read", 2, "cat $D/secret"},
	{"write", 2, "echo changed >$D/secret"},
	{"append", 2, "echo more >>$D/secret"},
	{"make a file", 2, ": >$D/new"},
	{"make a directory", 2, "mkdir $D/new"},
	{"make a link", 2, "ln -s / $D/new"},
	{"make a FIFO", 2, "mkfifo $D/new"},
	{"make a socket", 2,
         PYTHON("import os, socket; socket.socket(socket.AF_UNIX).bind(os.environ[\"D\"] + \"/new\")")},
	{"remove a file", 2, "unlink $D/secret"},
	{"remove a directory", 2, "rmdir $D/empty"},
	{"execute", 2, "$D/program"},
	{"link out", 2, "ln $D/w/file $D/new"},
	{"link in", 2, "ln $D/secret $D/w/new"},
	{"rename out", 2,
         PYTHON("import os; d = os.environ[\"D\"]; os.rename(d + \"/w/file\", d + \"/new\")")},
	{"rename in", 2,
         PYTHON("import os; d = os.environ[\"D\"]; os.rename(d + \"/secret\", d + \"/w/new\")")},
	{"read through a link", 2, "cd $D/w && ln -s $D/secret s && cat s"},
	{"through proc", 2, "cd $D && cat /proc/self/cwd/secret"},
	{"truncate", 3, PYTHON("import os; os.truncate(os.environ[\"D\"] + \"/secret\", 1)")},
	{"ask a device in a share", 5,
         PYTHON("import fcntl, os; d = os.environ[\"D\"]; fcntl.ioctl(os.open(d + \"/w/device\", 0), 0x80045200, b\"1234\")")},
	{"connect to an abstract socket", 6,
         PYTHON("import os, socket; socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ[\"D\"])")},
	{"signal a process outside", 6, "kill -0 $VICTIM"},
};

static char folder[64], variable[80];

static void in_folder(const char *name, char path[128])
{
	(void)snprintf(path, 128, "%s/%s", folder, name);
}

static void make_file(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	in_folder(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_return_code(fchmod(fd, mode), errno);
	close(fd);
}

static void make_directory(const char *name)
{
	char path[128];

	in_folder(name, path);
	assert_return_code(mkdir(path, 0777), errno);
	assert_return_code(chmod(path, 0777), errno);
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static int remove_mount(void **state)
{
	char path[128];

	in_folder("w/sub", path);
	(void)umount2(path, MNT_DETACH);
	in_folder("w/socket", path);
	(void)umount2(path, MNT_DETACH);
	return remove_folder(state);
}

/* As before the first attack. Not in /tmp, which every sandbox may write to. */
static int make_folder(void **state)
{
	char path[128];

	(void)mkdir("/var/lib/yett-test", 0755);
	(void)snprintf(folder, sizeof folder, "/var/lib/yett-test/landlock-%d", getpid());
	(void)snprintf(variable, sizeof variable, "D=%s", folder);
	(void)remove_folder(state);
	(void)umask(0);
	make_directory("");
	make_directory("w");
	make_directory("w/sub");
	make_directory("empty");
	make_file("secret", "secret\n", 0666);
	make_file("w/file", "file\n", 0666);
	make_file("program", "#!/bin/sh\nexit 0\n", 0777);
	in_folder("w/device", path);
	assert_return_code(mknod(path, S_IFCHR | 0666, makedev(1, 9)), errno);
	return 0;
}

/* What the plan of an ordinary profile has: system directories to read, one writable share. */
static struct sandbox *start_sandbox(bool with_landlock)
{
	static const char *const readable[] = {"/usr", "/bin", "/lib", "/lib64", "/etc"};
	char path[128];

	prepare();
	add_env(variable);
	if (!with_landlock)
		add_env("YETT_TEST_LAYERS_OFF=read-only-mounts,landlock");
	else
		add_env("YETT_TEST_LAYERS_OFF=read-only-mounts"); /* there are no mounts */
	for (size_t i = 0; i < ARRAY_SIZE(readable); i++)
		add_path(INIT_PATH_READ, readable[i]);
	in_folder("w", path);
	add_path(INIT_PATH_WRITE, path);
	return start_prepared();
}

/*
 * A process in the sandbox's namespaces, of the commands' id, that is none of its commands: a child
 * of this one, to be killed and waited for before the sandbox ends. `text` gets its pid inside.
 */
static pid_t start_victim(const struct sandbox *sandbox, char text[32])
{
	int pidfd = (int)syscall(SYS_pidfd_open, sandbox->pid, 0), outer[2], inner[2];
	pid_t helper, pid = 0, inside = 0;

	assert_return_code(pipe2(outer, O_CLOEXEC), errno);
	assert_return_code(pipe2(inner, O_CLOEXEC), errno);
	helper = fork();
	if (helper == 0) {
		if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(1);
		pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
		if (pid != 0)
			_exit(write(outer[1], &pid, sizeof pid) < 0);
		inside = getpid();
		if (setresgid(COMMAND_ID, COMMAND_ID, COMMAND_ID) < 0 ||
		    setresuid(COMMAND_ID, COMMAND_ID, COMMAND_ID) < 0 ||
		    write(inner[1], &inside, sizeof inside) < 0)
			_exit(1);
		(void)pause();
	}
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	close(outer[1]);
	close(inner[1]);
	assert_int_equal(read(outer[0], &pid, sizeof pid), sizeof pid);
	assert_int_equal(read(inner[0], &inside, sizeof inside), sizeof inside);
	close(outer[0]);
	close(inner[0]);
	close(pidfd);
	(void)snprintf(text, 32, "VICTIM=%d", inside);
	return pid;
}

static int listen_on_abstract_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t length = strlen(folder);

	memcpy(address.sun_path + 1, folder, length);
	assert_return_code(bind(fd, (struct sockaddr *)&address,
	                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
	                   errno);
	assert_return_code(listen(fd, 4), errno);
	return fd;
}

/* A server outside, of which any process of the sandbox's may ask something, at D/w/socket. */
static int listen_on_named_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s/w/socket", folder);
	assert_return_code(bind(fd, (struct sockaddr *)&address, sizeof address), errno);
	assert_return_code(chmod(address.sun_path, 0777), errno);
	assert_return_code(listen(fd, 4), errno);
	return fd;
}

static bool works(char *script, bool with_landlock)
{
	struct sandbox *sandbox;
	int listener, named, status;
	pid_t victim_pid;
	char victim[32];

	(void)make_folder(NULL);
	listener = listen_on_abstract_socket();
	named = listen_on_named_socket();
	sandbox = start_sandbox(with_landlock);
	assert_int_equal(sandbox->report.layers.landlock_abi != 0, with_landlock);
	victim_pid = start_victim(sandbox, victim);
	clear_exec();
	assert_int_equal(message_add_text(&message, victim, &message.body.exec.env[0]), 0);
	message.body.exec.env_count = 1;
	(void)expect_end(sandbox, send_exec(sandbox, SH(script), NULL, 0));
	status = (int)message.body.exited.status;
	assert_false(message.body.exited.signaled);
	assert_return_code(kill(victim_pid, SIGKILL), errno);
	assert_int_equal(waitpid(victim_pid, NULL, 0), victim_pid);
	finish(sandbox);
	close(listener);
	close(named);
	return status == 0;
}

TEST_WITH(it_alone_stops_what_works_without_it, make_folder, remove_folder)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	bool is_whole = true;

	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		if (!works(attacks[i].script, false))
			fail_msg("%s: does not work without Landlock, so this shows nothing",
			         attacks[i].name);
		if (abi >= 2 && abi >= attacks[i].abi && works(attacks[i].script, true))
			fail_msg("%s: works in spite of Landlock", attacks[i].name);
		is_whole = is_whole && abi >= attacks[i].abi;
	}
	if (!is_whole) {
		print_message("this kernel has version %ld of Landlock: not all is stopped\n", abi);
		skip();
	}
}

TEST_WITH(a_named_socket_leads_to_nobody_outside_from_version_9_on, make_folder, remove_folder)
{
	static char script[] = PYTHON(
		"import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"D\"] + \"/w/socket\")");
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	assert_true(works(script, false));
	assert_int_equal(works(script, true), abi < 9);
	if (abi < 9) {
		print_message(
			"this kernel has version %ld of Landlock: sockets in shares are reached\n",
			abi);
		skip();
	}
}

/* All is writable, and D/w/sub to be read only: as a share in a private home. */
static struct sandbox *start_nested(const char *layers_off)
{
	char path[128];

	prepare();
	add_env(variable);
	if (layers_off)
		add_env(layers_off);
	add_path(INIT_PATH_WRITE, "/");
	in_folder("w/sub", path);
	add_path(INIT_PATH_READ, path);
	return start_cut(0);
}

TEST_WITH(what_is_read_only_in_something_writable_has_a_mount_that_says_so, make_folder,
          remove_mount)
{
	struct sandbox *sandbox;
	char path[128];

	/* Landlock alone does not keep it: its rights add up. */
	sandbox = start_nested("YETT_TEST_LAYERS_OFF=read-only-mounts");
	assert_int_equal(sandbox->report.error, 0);
	expect_status(sandbox, exec_command(sandbox, SH("echo x >$D/w/sub/file")), 0);
	finish(sandbox);
	sandbox = start_nested(NULL);
	assert_int_equal(sandbox->report.error, EPERM);
	assert_string_equal(sandbox->report.step, "read-only-mounts");
	finish(sandbox);
	in_folder("w/sub", path);
	assert_return_code(mount(path, path, NULL, MS_BIND, NULL), errno);
	sandbox = start_nested(NULL);
	assert_int_equal(sandbox->report.error, EPERM);
	finish(sandbox);
	assert_return_code(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), errno);
	sandbox = start_nested(NULL);
	assert_int_equal(sandbox->report.error, 0);
	expect_status(sandbox, exec_command(sandbox, SH("! echo x >$D/w/sub/other")), 0);
	finish(sandbox);
}

static struct sandbox *start_with_socket(const char *path)
{
	prepare();
	add_env(variable);
	add_path(INIT_PATH_WRITE, "/"); /* which allows all but this */
	add_path(INIT_PATH_SOCKET, path);
	return start_cut(0);
}

/* From version 9 on it takes a rule of its own, as the test above shows. Of no version is its file
 * anybody's to change. */
TEST_WITH(a_socket_that_was_shared_as_one_is_reached_and_its_mount_read_only, make_folder,
          remove_mount)
{
	int listening = listen_on_named_socket();
	struct sandbox *sandbox;
	char path[128];

	in_folder("w/socket", path);
	sandbox = start_with_socket(path);
	assert_int_equal(sandbox->report.error, EPERM);
	assert_string_equal(sandbox->report.step, "read-only-mounts");
	finish(sandbox);
	assert_return_code(mount(path, path, NULL, MS_BIND, NULL), errno);
	assert_return_code(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), errno);
	sandbox = start_with_socket(path);
	assert_int_equal(sandbox->report.error, 0);
	expect_status(
		sandbox,
		exec_command(
			sandbox,
			SH(PYTHON(
				"import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"D\"] + "
				"\"/w/socket\")"))),
		0);
	expect_status(sandbox, exec_command(sandbox, SH("! chmod 666 $D/w/socket")), 0);
	finish(sandbox);
	assert_return_code(umount2(path, MNT_DETACH), errno);
	close(listening);
}

TEST_WITH(what_the_plan_gives_works, make_folder, remove_folder)
{
	struct sandbox *sandbox;
	char *const *const good[] = {
		SH("cd $D/w && mkdir a && echo x >a/f && mv a/f sub/f && ln sub/f a/g && cat a/g && rm -r a sub"),
		SH("cd $D/w && : >f && truncate -s 3 f && chmod 755 f && mkfifo p && ln -s f l && cat l"),
		SH("cp /bin/true $D/w/true && $D/w/true && rm $D/w/true"),
		SH("echo x >/dev/null && ls / /dev /usr >/dev/null && cat /proc/self/status /etc/passwd >/dev/null"),
		SH("d=$(mktemp -d) && echo x >$d/f && rm -r $d"),
		SH(PYTHON(
			"import os, socket; s = [socket.socket(socket.AF_UNIX) for i in (1, 2)]; n = os.environ[\"D\"] + \"/w/own\"; "
			"s[0].bind(n); s[0].listen(); s[1].connect(n)")),
	};

	sandbox = start_sandbox(true);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		expect_status(sandbox, exec_command(sandbox, good[i]), 0);
	finish(sandbox);
}

TEST_WITH(commands_of_a_sandbox_can_signal_one_another, make_folder, remove_folder)
{
	struct sandbox *sandbox = start_sandbox(true);
	uint64_t first, second, sequence;
	char script[64];

	first = exec_command(sandbox, ARGV("/bin/sleep", "600"));
	expect(sandbox, MESSAGE_STARTED, first);
	(void)snprintf(script, sizeof script, "kill -TERM %u", message.body.started.pid);
	second = exec_command(sandbox, SH(script));
	for (int ended = 0;
	     ended <
	     2;) { /* of the first one that may be told before the start of the second one */
		uint32_t kind = receive(sandbox, &sequence);

		if (kind == MESSAGE_STARTED) {
			assert_int_equal(sequence, second);
			continue;
		}
		assert_int_equal(kind, MESSAGE_EXITED);
		ended++;
		assert_int_equal(message.body.exited.signaled, sequence == first);
		assert_int_equal(message.body.exited.status, sequence == first ? SIGTERM : 0);
	}
	finish(sandbox);
}

TEST_WITH(root_inside_may_write_to_its_own_root, make_folder, remove_folder)
{
	struct sandbox *sandbox;

	prepare();
	config.uid = config.gid = 0;
	add_env(variable);
	add_env("YETT_TEST_LAYERS_OFF=read-only-mounts");
	add_path(INIT_PATH_READ, "/usr");
	sandbox = start_prepared();
	expect_status(sandbox, exec_command(sandbox, SH("echo x >$D/secret")), 0);
	finish(sandbox);
}

static int run(const char *name)
{
	return testing_run(name, NULL, NULL);
}

int main(void)
{
	return run_rounds(run);
}
