/* SPDX-License-Identifier: Apache-2.0 */
/* Which descriptors may be a command's stdio. */
#include <string.h>

#include "programs/inside/init/descriptor.h"
#include "tests/support/sockets.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void accepted(int fd)
{
	struct yett_error error = {0};

	assert_return_code(fd, errno);
	if (descriptor_check(fd, "stdin", &error) != 0)
		fail_msg("%s", error.message);
	close(fd);
}

static void refused(int fd, const char *message)
{
	struct yett_error error = {0};

	assert_return_code(fd, errno);
	assert_int_equal(descriptor_check(fd, "stdout", &error), YETT_E_SECURITY_VIOLATION);
	assert_string_equal(error.message, message);
	close(fd);
}

TEST(pipes_sockets_files_and_null_are_accepted)
{
	char path[] = "/tmp/yett-descriptor-XXXXXX";
	int p[2], s[2];

	assert_return_code(pipe(p), errno);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM, 0, s), errno);
	for (int i = 0; i < 2; i++) {
		accepted(p[i]);
		accepted(s[i]);
	}
	accepted(mkstemp(path));
	accepted(open(path, O_RDONLY | O_CLOEXEC));
	unlink(path);
	accepted(memfd_create("x", MFD_CLOEXEC));
	accepted(open("/dev/null", O_RDWR | O_CLOEXEC));
}

TEST(a_named_fifo_is_accepted)
{
	char folder[] = "/tmp/yett-descriptor-XXXXXX", path[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/fifo", folder);
	assert_return_code(mkfifo(path, 0600), errno);
	accepted(open(path, O_RDWR | O_CLOEXEC));
	assert_return_code(unlink(path), errno);
	assert_return_code(rmdir(folder), errno);
}

TEST(sockets_that_reach_others_are_refused)
{
	for (size_t i = 0; i < SOCKETS_REACHING; i++)
		refused(sockets_reaching_open(i),
		        "stdout is a socket that has no peer, or can reach others");
}

TEST(directories_and_path_handles_are_refused)
{
	refused(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "stdout is a directory");
	refused(open("/tmp", O_PATH | O_CLOEXEC), "stdout is an O_PATH handle");
	refused(open("/etc/passwd", O_PATH | O_CLOEXEC), "stdout is an O_PATH handle");
	refused(open("/proc/self/exe", O_PATH | O_NOFOLLOW | O_CLOEXEC),
	        "stdout is an O_PATH handle");
	refused(open("/dev/null", O_PATH | O_CLOEXEC), "stdout is an O_PATH handle");
}

TEST(devices_other_than_null_are_refused)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	refused(open("/dev/zero", O_RDONLY | O_CLOEXEC), "stdout is a terminal or another device");
	refused(open("/dev/urandom", O_RDONLY | O_CLOEXEC),
	        "stdout is a terminal or another device");
	if (terminal < 0)
		print_message("no terminal to be had: %s\n", strerror(errno));
	else
		refused(terminal, "stdout is a terminal or another device");
}

TEST(files_of_pseudo_file_systems_are_refused)
{
	refused(open("/proc/self/status", O_RDONLY | O_CLOEXEC),
	        "stdout is a file on a pseudo file system");
	refused(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
	        "stdout is a file on a pseudo file system");
	if (access("/sys/kernel/notes", R_OK) == 0)
		refused(open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC),
		        "stdout is a file on a pseudo file system");
}

TEST(kernel_objects_are_refused)
{
	struct yett_error error = {0};
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	sigset_t none;

	sigemptyset(&none);
	refused(epoll_create1(EPOLL_CLOEXEC), "stdout is a kernel object of its own");
	refused(eventfd(0, EFD_CLOEXEC), "stdout is a kernel object of its own");
	refused(signalfd(-1, &none, SFD_CLOEXEC), "stdout is a kernel object of its own");
	if (pidfd >= 0) /* a file on pidfs since Linux 6.9 */
		assert_int_equal(descriptor_check(pidfd, "stderr", &error),
		                 YETT_E_SECURITY_VIOLATION);
	close(pidfd);
}

TEST(a_number_that_is_no_descriptor_is_an_error)
{
	struct yett_error error = {0};

	assert_int_equal(descriptor_check(-1, "stdin", &error), -EBADF);
	assert_int_equal(descriptor_check(987, "stdin", &error), -EBADF);
}

TEST_MAIN(NULL, NULL)
