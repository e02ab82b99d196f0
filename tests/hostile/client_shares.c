/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that lies about what it shares, and about where. See test_client.c.
 */
#include <string.h>

#include "tests/hostile/client.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/* --- descriptors --- */

TEST(a_wrong_number_of_descriptors_is_refused)
{
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC),
	    home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	/* the packet says one number, and another comes */
	for (size_t stated = 0; stated < 4; stated++)
		for (size_t sent = 0; sent < 4; sent++) {
			if (stated == sent)
				continue;
			wire.sequence = 0;
			wire_prepare_good(&wire);
			wire_set_fds(null, stated);
			wire_seal(&wire);
			wire_set_fds(null, sent);
			wire_send(&wire);
			/* That there are other than stated, where there are some, finds who takes
			 * them. */
			if (stated == 0 || sent == 0)
				wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
			else
				wire_expect_error(&wire, 1, YETT_E_INVALID_REQUEST, YETT_R_NONE);
			wire_close(&wire);
			wire = wire_connect();
		}
	for (size_t sent = 1; sent < 4; sent += 2) {
		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_RO);
		wire_add_share("/more", 1, SHARE_RO);
		wire_encode(&wire);
		wire_set_fds(home, 2);
		wire_seal(&wire);
		wire_set_fds(home, sent);
		wire_send(&wire);
		wire_expect_error(&wire, wire.sequence, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
		wire_expect_serving_here(&wire);
	}
	/* the header was changed to fit: then it is not what was signed */
	wire_close(&wire);
	wire = wire_connect();
	wire_prepare_good(&wire);
	wire_set_fds(null, 1);
	wire_packet.envelope.fd_count = 1;
	envelope_write(&wire_packet.envelope, wire_packet.bytes);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	/* signed so, but the request has no share for it */
	wire_prepare_good(&wire);
	wire_set_fds(null, 1);
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 2, YETT_E_INVALID_REQUEST, YETT_R_NONE);
	wire_expect_serving_here(&wire);
	close(null);
	close(home);
	wire_close(&wire);
}

/* unix(7): SCM_MAX_FD is 253, so that nobody can send 300; what goes beyond our 128 is refused and
 * closed. */
TEST(too_many_descriptors_are_refused_and_do_not_pile_up)
{
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC),
	    home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	wire_prepare_good(&wire);
	wire_set_fds(null, 300);
	assert_int_equal(wire_try_send(&wire, 0), -EINVAL);
	for (int i = 0; i < 50; i++) { /* 12,650 descriptors: were they kept, the monitor could soon
		                          open nothing more */
		wire.sequence = 0;
		wire_prepare_good(&wire);
		wire_set_fds(null, 253);
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
	}
	/* On another connection: one that has no sandbox yet has a minute, and each refusal takes
	 * its time. */
	wire_close(&wire);
	wire = wire_connect();
	for (int i = 0; i < 50; i++) { /* as many as there may be, in requests that are refused */
		wire_prepare_good(&wire);
		wire_set_fds(null, 128);
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, wire.sequence, YETT_E_INVALID_REQUEST, YETT_R_NONE);
	}
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_encode(&wire);
	wire_set_fds(home, 1);
	wire_seal(&wire);
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	close(null);
	close(home);
	wire_close(&wire);
}

static int fifo_fd(void)
{
	int fd;

	assert_return_code(mkfifo("fifo", 0600), errno);
	fd = open("fifo", O_RDWR | O_CLOEXEC);
	assert_return_code(unlink("fifo"), errno);
	return fd;
}

static int pipe_fd(void)
{
	int ends[2];

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	(void)close(ends[1]);
	return ends[0];
}

static int symlink_fd(void)
{
	int fd;

	assert_return_code(symlink("/etc", "symlink"), errno);
	fd = open("symlink", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_return_code(unlink("symlink"), errno);
	return fd;
}

static int cgroup_fd(void)
{
	int fd = open("/sys/fs/cgroup/unified", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

TEST(what_is_no_file_of_the_callers_is_not_shared)
{
	static const char no_file[] = "is neither a directory nor a regular file";
	const struct {
		const char *name;
		int fd;
		enum yett_code code;
		const char *text;
	} cases[] = {
		{"fifo", fifo_fd(), YETT_E_INVALID_REQUEST, no_file},
		{"pipe", pipe_fd(), YETT_E_INVALID_REQUEST, no_file},
		{"socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), YETT_E_INVALID_REQUEST,
	         no_file},
		{"character device", open("/dev/null", O_PATH | O_CLOEXEC), YETT_E_INVALID_REQUEST,
	         no_file},
		{"terminal", open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC),
	         YETT_E_INVALID_REQUEST, no_file},
		{"symbolic link", symlink_fd(), YETT_E_INVALID_REQUEST, no_file},
		{"epoll", epoll_create1(EPOLL_CLOEXEC), YETT_E_INVALID_REQUEST, no_file},
		{"/proc", open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/self", open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/self/status", open("/proc/self/status", O_RDONLY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/sys", open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "proc"},
		{"a namespace", open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "nsfs"},
		{"/sys", open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION,
	         "sysfs"},
		{"/sys/class", open("/sys/class", O_PATH | O_DIRECTORY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "sysfs"},
		{"cgroups", cgroup_fd(), YETT_E_SECURITY_VIOLATION, "cgroup"},
		{"devpts", open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC),
	         YETT_E_SECURITY_VIOLATION, "devpts"},
		/* trees with sockets of a user's programs, or of the helper, somewhere below */
		{"/", open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION,
	         "runtime directory"},
		{"/dev", open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION,
	         "runtime directory"},
		/* a file of no directory */
		{"memfd", memfd_create("m", MFD_CLOEXEC), YETT_E_SECURITY_VIOLATION,
	         "another mount namespace"},
	};
	struct wire wire = wire_connect();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].fd < 0)
			fail_msg("%s cannot be opened here", cases[i].name);
		for (unsigned mode = SHARE_RO; mode <= SHARE_RW; mode++) {
			(void)wire_create("default");
			wire_add_share("/data", 0, mode);
			wire_expect_share_refused(&wire, &cases[i].fd, 1, cases[i].code,
			                          cases[i].text);
		}
		close(cases[i].fd);
	}
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* A client that is not libyett, which would not ask. */
TEST(layers_of_others_are_refused)
{
	static const struct {
		const char *source, *store, *text;
	} cases[] = {{"/usr/share", ".",
	              "the source for /data is no directory that belongs to the caller"},
	             {".", "/usr/share",
	              "the store for /data is no directory that belongs to the caller"}};
	struct wire wire = wire_connect();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const int fds[] = {wire_open_directory(cases[i].source),
		                   wire_open_directory(cases[i].store)};

		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_COW);
		wire_add_share("/data", 1, SHARE_STORE);
		wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, cases[i].text);
		close(fds[0]);
		close(fds[1]);
	}
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* --- paths that lie; the profile "narrow" may only have what lies below $YETT_TEST_ALLOWED --- */

/* One share of the narrow profile: code 0 is that it works. */
static void try_narrow(int fd, enum share_mode mode, enum yett_code code, const char *text)
{
	struct wire wire = wire_connect();

	(void)wire_create("narrow");
	wire_add_share("/data", 0, mode);
	if (code) {
		wire_expect_share_refused(&wire, &fd, 1, code, text);
	} else {
		wire_encode(&wire);
		wire_set_fds(fd, 1);
		wire_seal(&wire);
		wire_send(&wire);
		wire_finish(&wire, wire_expect_created(&wire));
	}
	wire_close(&wire);
}

TEST(only_what_lies_in_an_allowed_directory_is_shared)
{
	const char *allowed = getenv("YETT_TEST_ALLOWED");
	char path[4096];
	int fd = wire_open_directory(allowed);

	try_narrow(fd, SHARE_RO, 0, NULL);
	try_narrow(fd, SHARE_RW, YETT_E_PERMISSION_DENIED, "does not allow the writable share");
	close(fd);
	(void)snprintf(path, sizeof path, "%s/deep/er", allowed);
	fd = wire_open_directory(path);
	try_narrow(fd, SHARE_RO, 0, NULL);
	close(fd);
	(void)snprintf(path, sizeof path, "%s/..", allowed);
	fd = wire_open_directory(path);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED,
	           "the policy does not let this user share that directory");
	close(fd);
	fd = wire_open_directory(".");
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED,
	           "the policy does not let this user share that directory");
	close(fd);
	fd = open("file", O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED,
	           "the policy does not let this user share that file");
	close(fd);
}

/* The name that a descriptor shows is that of when it was opened; it is the place that counts. */
TEST(a_directory_that_was_moved_out_is_not_shared)
{
	char inside[4096], outside[4096];
	int fd;

	(void)snprintf(inside, sizeof inside, "%s/shared/mine",
	               getenv("YETT_TEST_ALLOWED")); /* ours to write */
	(void)snprintf(outside, sizeof outside, "%s/mine", getenv("YETT_TEST_ELSEWHERE"));
	assert_return_code(mkdir(inside, 0755), errno);
	fd = wire_open_directory(inside);
	try_narrow(fd, SHARE_RO, 0, NULL);
	assert_return_code(rename(inside, outside), errno);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED,
	           "the policy does not let this user share that directory");
	assert_return_code(rename(outside, inside), errno);
	try_narrow(fd, SHARE_RO, 0, NULL);
	close(fd);
	assert_return_code(rmdir(inside), errno);
}

static int bind_socket(const char *directory, const char *name, char path[static 4096])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(path, 4096, "%s/%s", directory, name);
	assert_true(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_return_code(bind(listening, (const struct sockaddr *)&address, sizeof address),
	                   errno);
	assert_return_code(listen(listening, 1), errno);
	return listening;
}

/* $YETT_TEST_SOCKETS is where the policy names one socket, and the user may make any: there it can
 * be moved to and from that name. */
TEST(a_socket_is_shared_by_its_name_and_as_nothing_else)
{
	const char *directory = getenv("YETT_TEST_SOCKETS");
	char named[4096], other[4096], link[4096];
	int pair[2], fd, moved, listening = bind_socket(directory, "listens", named),
				second = bind_socket(directory, "other", other);
	const struct {
		const char *name;
		int fd;
		enum yett_code code;
		const char *text;
	} cases[] = {
		{"a directory", wire_open_directory(directory), YETT_E_INVALID_REQUEST,
	         "is no socket"},
		{"a file", open("plain", O_RDONLY | O_CREAT | O_CLOEXEC, 0644),
	         YETT_E_INVALID_REQUEST, "is no socket"},
		{"a device", open("/dev/null", O_PATH | O_CLOEXEC), YETT_E_INVALID_REQUEST,
	         "is no socket"},
		{"memory", memfd_create("m", MFD_CLOEXEC), YETT_E_INVALID_REQUEST, "is no socket"},
		{"the socket itself, which no name leads to", listening, YETT_E_SECURITY_VIOLATION,
	         "sockfs"},
		{"another socket", open(other, O_PATH | O_CLOEXEC), YETT_E_PERMISSION_DENIED,
	         "does not let this user share that socket"},
	};

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), errno);
	fd = open(named, O_PATH | O_CLOEXEC);
	try_narrow(fd, SHARE_SOCKET, 0, NULL); /* what is refused below is refused for what it is */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("# %s\n", cases[i].name);
		assert_return_code(cases[i].fd, errno);
		try_narrow(cases[i].fd, SHARE_SOCKET, cases[i].code, cases[i].text);
	}
	try_narrow(pair[0], SHARE_SOCKET, YETT_E_SECURITY_VIOLATION, "sockfs");
	/* As a share of another kind it is what it always was, and read-only rules say nothing of
	 * it. */
	try_narrow(fd, SHARE_RO, YETT_E_INVALID_REQUEST, "neither a directory nor a regular file");
	/* A descriptor that was opened at the right name goes by the one that the socket has now.
	 */
	(void)snprintf(link, sizeof link, "%s/gone", directory);
	assert_return_code(rename(named, link), errno);
	try_narrow(fd, SHARE_SOCKET, YETT_E_PERMISSION_DENIED,
	           "does not let this user share that socket");
	/* A symbolic link at the right name leads to a socket that has another one. */
	assert_return_code(symlink(other, named), errno);
	moved = open(named, O_PATH | O_CLOEXEC);
	try_narrow(moved, SHARE_SOCKET, YETT_E_PERMISSION_DENIED,
	           "does not let this user share that socket");
	close(moved);
	moved = open(named, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	try_narrow(moved, SHARE_SOCKET, YETT_E_INVALID_REQUEST, "is no socket");
	close(moved);
	assert_return_code(unlink(named), errno);
	/* One that nobody can find any more has no name, whatever it is called. */
	assert_return_code(rename(link, named), errno);
	try_narrow(fd, SHARE_SOCKET, 0, NULL);
	assert_return_code(unlink(named), errno);
	try_narrow(fd, SHARE_SOCKET, YETT_E_PERMISSION_DENIED,
	           "does not let this user share that socket");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		close(cases[i].fd);
	close(second);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	assert_return_code(unlink(other), errno);
	wire_expect_serving();
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(10);
	close(fd);
}

static void send_fd(int socket, int fd)
{
	struct wire to = {.socket = socket};

	wire_packet.length = 1;
	wire_set_fds(fd, 1);
	if (wire_try_send(&to, 0) < 0)
		_exit(11);
}

/* Into a mount namespace of one's own, where one may mount. */
static void go_to_another_namespace(void)
{
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(77);
	write_text("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof map, "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof map, "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", map);
}

/*
 * Puts a directory of the user's over the allowed one, and hands over what is then found there. Its
 * name is right, and its ancestors are those that the policy names.
 */
static void __attribute__((noreturn))
lie_about_a_path(int socket, const char *over, const char *what)
{
	go_to_another_namespace();
	if (mount(what, over, NULL, MS_BIND, NULL) < 0)
		_exit(12);
	send_fd(socket, open(over, O_PATH | O_DIRECTORY | O_CLOEXEC));
	/* the same directory unmounted again is still one of this namespace */
	if (umount2(over, MNT_DETACH) < 0)
		_exit(13);
	send_fd(socket, open(over, O_PATH | O_DIRECTORY | O_CLOEXEC));
	(void)pause();
	_exit(0);
}

/* The socket itself, by the namespace's own mounts; then another one, that is mounted over it. */
static void __attribute__((noreturn))
lie_about_a_socket(int socket, const char *over, const char *what)
{
	go_to_another_namespace();
	send_fd(socket, open(over, O_PATH | O_CLOEXEC));
	if (mount(what, over, NULL, MS_BIND, NULL) < 0)
		_exit(12);
	send_fd(socket, open(over, O_PATH | O_CLOEXEC));
	(void)pause();
	_exit(0);
}

static int receive_fd(int socket)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof control};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		fail_msg("the child could not make its namespace");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return fd;
}

/*
 * The client itself is not confined; a child of it is in the other namespace and hands it
 * descriptors. That the lie works by name is shown first.
 */
TEST(a_share_from_another_mount_namespace_is_refused)
{
	const char *allowed = getenv("YETT_TEST_ALLOWED");
	char link[64], name[4096];
	struct stat lie, truth;
	int pair[2], fd;
	ssize_t n;
	pid_t child;

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), errno);
	assert_true(mkdir("secret", 0700) == 0 || errno == EEXIST);
	child = fork();
	assert_return_code(child, errno);
	if (child == 0)
		lie_about_a_path(pair[1], allowed, "secret");
	close(pair[1]);
	for (int i = 0; i < 2; i++) {
		fd = receive_fd(pair[0]);
		(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, name, sizeof name - 1);
		assert_in_range(n, 1, sizeof name - 1);
		name[n] = '\0';
		assert_return_code(fstat(fd, &lie), errno);
		assert_return_code(stat(i == 0 ? "secret" : allowed, &truth), errno);
		assert_int_equal(lie.st_ino, truth.st_ino); /* what it is; what it shows as: */
		print_message("# a descriptor of %s shows as %s\n", i == 0 ? "secret" : allowed,
		              name);
		/* the ancestors are right too, so that it is the namespace that gives it away, or
		 * the directory itself */
		try_narrow(fd, SHARE_RO,
		           i == 0 ? YETT_E_PERMISSION_DENIED : YETT_E_SECURITY_VIOLATION,
		           i == 0 ? "does not let this user share" : "another mount namespace");
		close(fd);
	}
	close(pair[0]);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	wire_expect_serving();
}

/* The name is all that the policy knows of a socket, so here the lie is right in all that the
 * policy compares. */
TEST(a_socket_from_another_mount_namespace_is_refused)
{
	const char *directory = getenv("YETT_TEST_SOCKETS");
	char named[4096], other[4096], link[64], name[4096];
	int pair[2], listening = bind_socket(directory, "listens", named),
		     second = bind_socket(directory, "other", other);
	pid_t child;

	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), errno);
	child = fork();
	assert_return_code(child, errno);
	if (child == 0)
		lie_about_a_socket(pair[1], named, other);
	close(pair[1]);
	for (int i = 0; i < 2; i++) {
		int fd = receive_fd(pair[0]);
		struct stat lie, truth;
		ssize_t n;

		(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, name, sizeof name - 1);
		assert_in_range(n, 1, sizeof name - 1);
		name[n] = '\0';
		assert_string_equal(name, named);
		assert_return_code(fstat(fd, &lie), errno);
		assert_return_code(stat(i == 0 ? named : other, &truth), errno);
		assert_int_equal(lie.st_ino, truth.st_ino);
		try_narrow(fd, SHARE_SOCKET, YETT_E_SECURITY_VIOLATION, "another mount namespace");
		close(fd);
	}
	close(pair[0]);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(listening);
	close(second);
	assert_return_code(unlink(named), errno);
	assert_return_code(unlink(other), errno);
	wire_expect_serving();
}

/* --- targets --- */

TEST(targets_that_lead_elsewhere_are_refused)
{
	static const char *const targets[] = {
		"",
		"/",
		"//",
		"/../x",
		"/x/..",
		"/x/../..",
		"/./x",
		"/x/.",
		"/x/",
		"//x",
		"/x//y",
		"x",
		"x/y",
		".",
		"..",
		"/proc",
		"/proc/x",
		"/proc/sys",
		"/sys",
		"/sys/x",
		"/dev",
		"/dev/x",
		"/dev/shm",
		"/etc",
		"/etc/passwd",
		"/etc/group",
		"/run",
		"/run/yett",
		"/run/yett/passwd",
		"/usr",
		"/bin",
		"/x\ny",
		"/x\x7f",
	};
	struct wire wire = wire_connect();
	int home = wire_open_directory(".");

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct message_create *create = wire_create("default");

		wire_add_share(targets[i], 0, SHARE_RO);
		wire_expect_share_refused(&wire, &home, 1, YETT_E_INVALID_REQUEST, "share 1");
		create = wire_create("default");
		assert_int_equal(message_add_text(&wire_message, targets[i],
		                                  &create->tmpfs[create->tmpfs_count++].target),
		                 0);
		wire_expect_share_refused(&wire, NULL, 0, YETT_E_INVALID_REQUEST, "tmpfs 1");
	}
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(shares_that_contradict_each_other_are_refused)
{
	struct message_create *create = &wire_message.body.create;
	struct wire wire = wire_connect();
	int home = wire_open_directory("."), fds[] = {home, home};

	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_add_share("/data", 1, SHARE_RW);
	wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "share 2");
	(void)wire_create("default");
	wire_add_share("/data", 1, SHARE_RO);
	wire_add_share("/more", 1, SHARE_RO);
	wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "share 2");
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_add_share("/more", 2, SHARE_RO);
	wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "share 2");
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "shares");
	/* a path kept read-only in a directory in memory whose entries a program may rename */
	(void)wire_create("default");
	create->tmpfs_count = 1;
	assert_int_equal(message_add_text(&wire_message, "/data", &create->tmpfs[0].target), 0);
	wire_add_share("/data/sub/secret", 0, SHARE_RO);
	wire_add_share("/more", 1, SHARE_RO);
	wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST,
	                          "rename a directory above it");
	(void)wire_create("strict");
	wire_add_share("/data", 0, SHARE_RO);
	wire_expect_share_refused(&wire, fds, 1, YETT_E_PERMISSION_DENIED, "allows no shares");
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* Root resolves these in a tree that the user made. */
TEST(a_target_through_a_symbolic_link_of_a_share_is_refused)
{
	static const struct {
		const char *target, *text;
	} cases[] = {
		{"/data/away", "goes through a symbolic link"},
		{"/data/away/x", "goes through a symbolic link"},
		{"/data/up", "goes through a symbolic link"},
		{"/data/up/x", "goes through a symbolic link"},
		{"/data/magic/x", "goes through a symbolic link"},
		{"/data/loop/x", "goes through a symbolic link"},
		{"/data/file/x", "goes through something that is no directory"},
		{"/data/file", "is a file, and what is shared there is not"},
		{"/data/missing", "does not exist in the tree that is mounted there"},
		{"/data/missing/x", "does not exist in the tree that is mounted there"},
	};
	struct wire wire = wire_connect();
	int tree, home = wire_open_directory(".");

	assert_return_code(mkdir("tree", 0755), errno);
	assert_return_code(symlink("/etc", "tree/away"), errno);
	assert_return_code(symlink("../../../../tmp", "tree/up"), errno);
	assert_return_code(symlink("/proc/1/root", "tree/magic"), errno);
	assert_return_code(symlink("loop", "tree/loop"), errno);
	close(open("tree/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	tree = wire_open_directory("tree");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fds[] = {tree, home};

		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_RO);
		wire_add_share(cases[i].target, 1, SHARE_RO);
		wire_expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, cases[i].text);
	}
	assert_int_equal(access("tree/missing", F_OK), -1); /* nothing was made in it */
	close(tree);
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(as_many_mounts_as_there_may_be_work)
{
	struct wire wire = wire_connect();
	struct message_create *create = wire_create("default");
	int home = wire_open_directory(".");
	char target[32];

	for (unsigned i = 0; i < MESSAGE_SHARES_MAX; i++) {
		(void)snprintf(target, sizeof target, "/many/%u", i);
		wire_add_share(target, i, i % 2);
	}
	for (unsigned i = 0; i < MESSAGE_TMPFS_MAX; i++) {
		(void)snprintf(target, sizeof target, "/tmp/%u", i);
		assert_int_equal(message_add_text(&wire_message, target,
		                                  &create->tmpfs[create->tmpfs_count++].target),
		                 0);
	}
	wire_encode(&wire);
	wire_set_fds(home, MESSAGE_SHARES_MAX);
	wire_seal(&wire);
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	close(home);
	wire_close(&wire);
}

const struct CMUnitTest *client_shares(size_t *ret_count)
{
	*ret_count = testing_count;
	return testing_tests;
}
