/* SPDX-License-Identifier: Apache-2.0 */
/* What a command may hold as its streams. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "libclient/yett.h"
#include "tests/support/sockets.h"
#include "tests/support/testing.h"

static void accepted(int fd)
{
	assert_true(fd >= 0);
	assert_int_equal(yett_stdio_check(fd, NULL), 0);
	fd_close(fd);
}

static void refused(int fd, const char *why)
{
	struct yett_error error = {0};

	assert_true(fd >= 0);
	assert_int_equal(yett_stdio_check(fd, &error), YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(error.message, why));
	fd_close(fd);
}

TEST(pipes_sockets_files_and_dev_null_are_accepted)
{
	char name[] = "/tmp/yett-stdio-XXXXXX";
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	accepted(ends[0]);
	accepted(ends[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	accepted(ends[0]);
	accepted(ends[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	accepted(ends[0]);
	(void)close(ends[1]); /* its peer is gone: it gets no other */
	accepted(mkstemp(name));
	(void)unlink(name);
	accepted(memfd_create("file", 0));
	accepted(open("/dev/null", O_RDWR));
}

TEST(sockets_that_reach_others_are_refused)
{
	for (size_t i = 0; i < SOCKETS_REACHING; i++)
		refused(sockets_reaching_open(i), "socket that has no peer, or can reach others");
}

TEST(directories_and_paths_are_refused)
{
	refused(open("/", O_RDONLY | O_DIRECTORY), "directory");
	refused(open("/", O_PATH | O_DIRECTORY), "path");
	refused(open("/etc/passwd", O_PATH), "path");
	refused(open("/dev/null", O_PATH), "path");
}

TEST(terminals_and_devices_are_refused)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	refused(open(ptsname(master), O_RDWR | O_NOCTTY), "terminal");
	refused(master, "terminal");
	refused(open("/dev/zero", O_RDONLY), "device");
	refused(open("/dev/full", O_RDONLY), "device");
}

TEST(files_of_the_kernel_are_refused)
{
	refused(open("/proc/self/mem", O_RDONLY), "pseudo");
	refused(open("/proc/self/environ", O_RDONLY), "pseudo");
	refused(open("/proc/self/ns/mnt", O_RDONLY), "pseudo");
	refused(open("/sys/kernel/uevent_seqnum", O_RDONLY), "pseudo");
}

TEST(kernel_objects_without_a_file_are_refused)
{
	sigset_t none;

	(void)sigemptyset(&none);
	refused(epoll_create1(0), "neither");
	refused(eventfd(0, 0), "neither");
	refused(timerfd_create(CLOCK_MONOTONIC, 0), "neither");
	refused(signalfd(-1, &none, 0), "neither");
}

TEST(a_closed_descriptor_is_refused_as_such)
{
	assert_int_equal(yett_stdio_check(-1, NULL), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_stdio_check(1000000, NULL), YETT_E_INVALID_REQUEST);
}

TEST_MAIN(NULL, NULL)
