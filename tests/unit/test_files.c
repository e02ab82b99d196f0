/* SPDX-License-Identifier: Apache-2.0 */
/* yett-files by itself, outside of any sandbox: what it is asked, and what it keeps itself to. */
#include <string.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/spawn.h"
#include "programs/inside/files/files.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

static struct message message;
static struct frame frame;
static char folder[] = "/tmp/yett-test-files-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	memcpy(strrchr(folder, '-'), "-XXXXXX", 7);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(mkdir(in_folder("in"), 0700), 0);
	fd = open(in_folder("victim"), O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static pid_t start(int *ret_socket)
{
	char path[512];
	char *const argv[] = {"yett-files", "0", NULL};
	int pair[2];
	pid_t pid;

	(void)snprintf(path, sizeof path, "%s/yett-files", getenv("YETT_LIBEXEC"));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(spawn(path, argv, pair[1], NULL, 0, &pid), 0);
	close(pair[1]);
	*ret_socket = pair[0];
	return pid;
}

static void finish(pid_t pid, int socket)
{
	int status;

	close(socket);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
}

/* Sends `message` and expects an error with this reason. */
static void expect_refused(const int *fds, size_t count, enum yett_reason reason)
{
	int socket;
	pid_t pid = start(&socket);
	size_t head = envelope_size(MESSAGE_ERROR);

	assert_int_equal(frame_send_message(socket, &message, 1, fds, count, 0), 0);
	assert_int_equal(frame_receive(socket, &frame, 0), 1);
	assert_int_equal(message_decode(MESSAGE_ERROR, frame.bytes + head, frame.length - head,
	                                &message, NULL),
	                 0);
	assert_int_equal(message.body.error.code, YETT_E_PROTOCOL);
	assert_int_equal(message.body.error.reason, reason);
	finish(pid, socket);
}

static struct message_file *prepare(enum file_operation operation)
{
	message.kind = MESSAGE_FILE;
	message.arena_used = 0;
	message.body.file = (struct message_file){.operation = operation};
	assert_int_equal(message_add_text(&message, in_folder("made"), &message.body.file.path), 0);
	return &message.body.file;
}

TEST_WITH(what_is_no_request_is_refused, set_up, tear_down)
{
	const int three[] = {0, 0, 0};

	(void)prepare(FILE_MKDIR);
	expect_refused(three, 1, YETT_R_FD_COUNT);
	(void)prepare(FILE_PACK);
	expect_refused(NULL, 0, YETT_R_FD_COUNT);
	(void)prepare(FILE_UNPACK);
	expect_refused(three, 3, YETT_R_FD_COUNT);
	message.kind = MESSAGE_STARTED;
	message.body.started = (struct message_started){1, 1};
	expect_refused(NULL, 0, YETT_R_KIND);
	assert_int_not_equal(access(in_folder("made"), F_OK), 0);
}

/*
 * While it waits for the reader of its archive. Whoever reads a pipe hears when its last writer is
 * gone: /proc/PID/fd would tell root alone.
 */
TEST_WITH(what_its_parent_had_open_is_closed, set_up, tear_down)
{
	int ends[2], left[2], kept, socket, fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(left, O_CLOEXEC), 0);
	kept = fcntl(left[1], F_DUPFD, 50); /* without close-on-exec */
	assert_true(kept >= 50);
	close(left[1]);
	pid = start(&socket);
	close(kept);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fds[0] = ends[1];
	fds[1] = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)prepare(FILE_PACK);
	assert_int_equal(message_add_text(&message, "in", &message.body.file.path), 0);
	for (int i = 0; i < 2000; i++) {
		char name[160];

		(void)snprintf(name, sizeof name, "%s/%d", in_folder("in"), i);
		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	assert_int_equal(frame_send_message(socket, &message, 1, fds, 2, 0), 0);
	close(ends[1]);
	close(fds[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(read(left[0], &byte, 1), 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* and it lives */
	close(left[0]);
	close(ends[0]);
	finish(pid, socket);
}

/* Bits of what went otherwise than it should, in a process that confined itself. */
static int try_confined(bool writable)
{
	int directory = open(in_folder("in"), O_PATH | O_DIRECTORY), wrong = 0;

	if (openat(directory, "..", O_RDONLY) < 0 || open(in_folder("victim"), O_WRONLY) < 0)
		return 64; /* it would have worked before */
	if (confine(directory, writable) < 0)
		return 128;
	wrong |= (openat(directory, "made", O_WRONLY | O_CREAT, 0600) >= 0) != writable ? 1 : 0;
	wrong |= open(in_folder("victim"), O_WRONLY) >= 0 ? 2 : 0;
	wrong |= openat(directory, "../victim", O_RDONLY) >= 0 ? 4 : 0;
	wrong |= mkdir(in_folder("out"), 0700) == 0 ? 8 : 0;
	wrong |= unlink(in_folder("victim")) == 0 ? 16 : 0;
	wrong |= openat(directory, ".", O_RDONLY | O_DIRECTORY) < 0 ? 32 : 0;
	return wrong;
}

static bool is_refused(long r)
{
	return r == -1 && errno == EPERM;
}

/* The number of the first attempt that was not refused, of what works otherwise. */
static int try_calls(int socket, pid_t parent)
{
	char *argv[] = {(char *)"true", NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
	struct rlimit none = {0, 0};
	int directory = open(in_folder("in"), O_PATH | O_DIRECTORY), pair[2];

	if (kill(parent, 0) < 0 || fcntl(socket, F_SETOWN, parent) < 0)
		return 100; /* it would have worked before */
	if (confine(directory, true) < 0)
		return 101;
	const bool refused[] = {
		is_refused(syscall(SYS_kill, parent, 0)),
		is_refused(syscall(SYS_tgkill, parent, parent, 0)),
		is_refused(syscall(SYS_pidfd_open, parent, 0)),
		is_refused(syscall(SYS_ptrace, 16, parent, 0, 0)),
		is_refused(syscall(SYS_fcntl, socket, F_SETOWN, parent)),
		is_refused(syscall(SYS_fcntl, socket, 10 /* F_SETSIG */, 9)),
		is_refused(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)),
		is_refused(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair)),
		is_refused(syscall(SYS_connect, socket, &address, sizeof address)),
		is_refused(syscall(SYS_recvmsg, socket, NULL, 0)),
		is_refused(syscall(SYS_execve, "/bin/true", argv, NULL)),
		is_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)),
		is_refused(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
	                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
		is_refused(syscall(SYS_ioctl, socket, 0, 0)),
		is_refused(syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0)),
		is_refused(syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL)),
		is_refused(syscall(SYS_fchownat, directory, "", 0, 0, 0)),
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (!refused[i])
			return (int)i + 1;
	return fcntl(socket, F_GETFL) < 0 ? 102 : 0; /* what it needs is there */
}

TEST_WITH(outside_it_makes_no_connection_and_signals_nobody, set_up, tear_down)
{
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (pid == 0)
		(void)syscall(SYS_exit_group, try_calls(pair[0], getppid()));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pair[0]);
	close(pair[1]);
}

TEST_WITH(outside_it_reaches_one_directory_only, set_up, tear_down)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 2) {
		print_message("Landlock is needed, of version 2\n");
		skip();
	}
	for (int writable = 0; writable < 2; writable++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			(void)syscall(
				SYS_exit_group,
				try_confined(
					writable ==
					1)); /* before _exit(2) a sanitizer has calls of its own */
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

TEST_MAIN(NULL, NULL)
