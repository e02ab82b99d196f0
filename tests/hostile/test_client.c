/*
 * A client that lies: an ordinary user with an enrolled key, against a running service.
 *
 * Each lie must be refused with its own code and reason, and must harm nobody: the next good request is served, here
 * and elsewhere. Started by test_client.py, which makes the service; YETT_SOCKET, YETT_TEST_SEED, YETT_TEST_VECTORS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/hostile/vectors.h"
#include "tests/hostile/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct vector *vectors;

/* --- order, connection and key --- */

static void prepare_good(struct wire *wire)
{
	(void)wire_create("default");
	wire_encode(wire);
	wire_seal(wire);
}

static void a_replayed_request_is_refused(void **state)
{
	struct wire wire = wire_connect();
	int channel;

	(void)state;
	prepare_good(&wire);
	wire_send(&wire);
	channel = wire_expect_created(&wire);
	wire_send(&wire); /* the same bytes */
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_finish(&wire, channel);
	wire_send(&wire); /* nor when its sandbox is gone */
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void a_refused_request_is_not_accepted_later(void **state)
{
	struct wire wire = wire_connect();

	(void)state;
	(void)wire_create("no-such-profile");
	wire_encode(&wire);
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PERMISSION_DENIED, YETT_R_NONE);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_close(&wire);
}

static void a_reordered_request_is_refused(void **state)
{
	static const uint64_t numbers[] = {0, 2, 3, UINT64_MAX};
	struct wire wire = wire_connect();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		wire.sequence = numbers[i] - 1;
		prepare_good(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, numbers[i], YETT_E_BAD_SIGNATURE, numbers[i] ? YETT_R_OUT_OF_ORDER : YETT_R_REPLAYED);
	}
	wire.sequence = 0;
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void a_request_for_another_connection_is_refused(void **state)
{
	struct wire mine = wire_connect(), other = wire_connect();

	(void)state;
	prepare_good(&other);
	wire_send(&mine);
	wire_expect_error(&mine, 1, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	/* with this connection's tag but signed over the other one's challenge */
	prepare_good(&mine);
	wire_seal_with(other.challenge, wire_secret);
	wire_send(&mine);
	wire_expect_error(&mine, 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	wire_expect_serving_here(&mine);
	other.sequence = 0;
	wire_expect_serving_here(&other);
	wire_close(&mine);
	wire_close(&other);
}

static void a_key_that_is_not_enrolled_is_refused(void **state)
{
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	struct wire wire = wire_connect();

	(void)state;
	(void)crypto_sign_keypair(public_key, secret);
	prepare_good(&wire);
	memcpy(wire_packet.envelope.key, public_key, sizeof public_key);
	wire_seal_with(wire.challenge, secret);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	/* and one that is, with the signature of one that is not */
	prepare_good(&wire);
	wire_seal_with(wire.challenge, secret);
	wire_send(&wire);
	wire_expect_error(&wire, 2, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* Points of small order, with which a signature can be made that fits many messages. RFC 8032, 8.4; libsodium refuses them. */
static void a_weak_key_is_refused(void **state)
{
	static const uint8_t weak[][32] = {
		{0},
		{1},
		{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	};
	struct wire wire = wire_connect();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(weak); i++) {
		prepare_good(&wire);
		memcpy(wire_packet.envelope.key, weak[i], sizeof weak[i]);
		memset(wire_packet.envelope.signature, 0, sizeof wire_packet.envelope.signature);
		memcpy(wire_packet.envelope.signature, weak[i], sizeof weak[i]);
		envelope_write(&wire_packet.envelope, wire_packet.bytes);
		wire_send(&wire);
		wire_expect_error(&wire, i + 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	}
	wire_close(&wire);
}

/* Every byte behind the header, one after another: tag, key, signature, body. */
static void a_changed_byte_is_noticed(void **state)
{
	const size_t tag = ENVELOPE_HEADER_SIZE, key = tag + ENVELOPE_TAG_SIZE;
	struct wire wire = wire_connect();

	(void)state;
	wire.sequence = 0;
	prepare_good(&wire);
	for (size_t at = tag; at < wire_packet.length; at++) {
		uint64_t sequence = wire.sequence;
		enum yett_reason reason = at < key ? YETT_R_OTHER_CONNECTION : YETT_R_WRONG_SIGNATURE;

		wire_packet.bytes[at] ^= 0x10;
		wire_send(&wire);
		wire_expect_error(&wire, sequence, YETT_E_BAD_SIGNATURE, reason);
		if (at < key)
			wire.sequence--; /* it did not count as this connection's */
		prepare_good(&wire);
	}
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	wire_close(&wire);
}

/* --- packets --- */

static void a_request_cut_anywhere_is_refused(void **state)
{
	struct wire wire = wire_connect();
	size_t whole;

	(void)state;
	prepare_good(&wire);
	whole = wire_packet.length;
	for (wire_packet.length = 1; wire_packet.length < whole; wire_packet.length++) {
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	}
	wire_send(&wire); /* now whole: nothing of all that counted */
	wire_finish(&wire, wire_expect_created(&wire));
	wire_close(&wire);
}

static void a_request_with_something_behind_it_is_refused(void **state)
{
	struct wire wire = wire_connect();

	(void)state;
	prepare_good(&wire);
	wire_packet.bytes[wire_packet.length++] = 0;
	wire_send(&wire);
	wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRAILING);
	/* inside the signed body it is the decoder that refuses it */
	wire.sequence = 0;
	prepare_good(&wire);
	wire_packet.body[wire_packet.body_length++] = 0xc0;
	wire_packet.envelope.body_length++;
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PROTOCOL, YETT_R_TRAILING);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void kinds_that_are_not_for_the_helper_are_refused(void **state)
{
	static const uint16_t kinds[] = {MESSAGE_HELLO,	  MESSAGE_CREATED, MESSAGE_PLAN,   MESSAGE_ERROR, MESSAGE_ENDED,
					 MESSAGE_EXEC,	  MESSAGE_STARTED, MESSAGE_EXITED, MESSAGE_SIGNAL};
	struct wire wire = wire_connect();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		wire.sequence = 6;
		prepare_good(&wire);
		wire_packet.envelope.kind = kinds[i];
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, 7, YETT_E_PROTOCOL, YETT_R_KIND);
	}
	wire.sequence = 0;
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void a_create_without_a_signature_is_refused(void **state)
{
	static uint8_t body[512];
	struct wire wire = wire_connect();
	struct envelope *envelope = &wire_packet.envelope;

	(void)state;
	prepare_good(&wire);
	memmove(wire_packet.bytes + ENVELOPE_HEADER_SIZE, wire_packet.bytes + envelope_size(MESSAGE_CREATE),
		wire_packet.body_length);
	wire_packet.length -= ENVELOPE_SIGNED_SIZE;
	wire_send(&wire);
	wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	/* what stands where the signature should be is taken for one */
	wire.sequence = 0;
	wire_set_body(&wire, body, sizeof body);
	wire_seal(&wire);
	envelope->body_length -= ENVELOPE_SIGNED_SIZE;
	envelope_write(envelope, wire_packet.bytes);
	memset(wire_packet.bytes + ENVELOPE_HEADER_SIZE, 0, sizeof body);
	wire_packet.length -= ENVELOPE_SIGNED_SIZE;
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	wire_close(&wire);
}

static void a_packet_beyond_64_KiB_is_refused(void **state)
{
	struct wire wire = wire_connect();

	(void)state;
	for (size_t extra = 1; extra <= MESSAGE_PACKET_MAX; extra += MESSAGE_PACKET_MAX - 1) {
		prepare_good(&wire);
		wire_packet.length = MESSAGE_PACKET_MAX + extra;
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
	}
	/* the largest that there can be comes through to the decoder */
	wire.sequence = 0;
	memset(wire_packet.body, 0xa0, MESSAGE_PACKET_MAX);
	wire_set_body(&wire, wire_packet.body, MESSAGE_PACKET_MAX - envelope_size(MESSAGE_CREATE));
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PROTOCOL, YETT_R_TRAILING);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void an_empty_packet_ends_only_its_connection(void **state)
{
	struct wire wire = wire_connect();

	(void)state;
	assert_return_code(send(wire.socket, "", 0, MSG_NOSIGNAL), errno);
	wire_expect_end(&wire);
	wire_close(&wire);
	wire_expect_serving();
}

/* --- descriptors --- */

static void set_fds(int fd, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_packet.fds[i] = fd;
	wire_packet.fd_count = count;
}

static void a_wrong_number_of_descriptors_is_refused(void **state)
{
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	/* the packet says one number, and another comes */
	for (size_t stated = 0; stated < 4; stated++)
		for (size_t sent = 0; sent < 4; sent++) {
			if (stated == sent)
				continue;
			wire.sequence = 0;
			prepare_good(&wire);
			set_fds(null, stated);
			wire_seal(&wire);
			set_fds(null, sent);
			wire_send(&wire);
			wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
		}
	/* the header was changed to fit: then it is not what was signed */
	wire.sequence = 0;
	prepare_good(&wire);
	set_fds(null, 1);
	wire_packet.envelope.fd_count = 1;
	envelope_write(&wire_packet.envelope, wire_packet.bytes);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	/* signed so, but the request has no share for it */
	prepare_good(&wire);
	set_fds(null, 1);
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 2, YETT_E_INVALID_REQUEST, YETT_R_NONE);
	wire_expect_serving_here(&wire);
	close(null);
	wire_close(&wire);
}

/* unix(7): SCM_MAX_FD is 253, so that nobody can send 300; what goes beyond our 128 is refused and closed. */
static void too_many_descriptors_are_refused_and_do_not_pile_up(void **state)
{
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	prepare_good(&wire);
	set_fds(null, 300);
	assert_int_equal(wire_try_send(&wire, 0), -EINVAL);
	for (int i = 0; i < 100; i++) { /* 25,300 descriptors: were they kept, the monitor could soon open nothing more */
		wire.sequence = 0;
		prepare_good(&wire);
		set_fds(null, 253);
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
	}
	wire.sequence = 0;
	for (int i = 0; i < 100; i++) { /* as many as there may be, in requests that are refused */
		prepare_good(&wire);
		set_fds(null, 128);
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, wire.sequence, YETT_E_INVALID_REQUEST, YETT_R_NONE);
	}
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_encode(&wire);
	set_fds(home, 1);
	wire_seal(&wire);
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	close(null);
	close(home);
	wire_close(&wire);
}

/* Sends a create with the shares that were added and one descriptor for each; the error must be this one. */
static void expect_share_refused(struct wire *wire, const int *fds, size_t count, enum yett_code code, const char *text)
{
	wire_encode(wire);
	for (size_t i = 0; i < count; i++)
		wire_packet.fds[i] = fds[i];
	wire_packet.fd_count = count;
	wire_seal(wire);
	wire_send(wire);
	wire_expect_error(wire, wire->sequence, code, YETT_R_NONE);
	wire_expect_text(text);
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

static void what_is_no_file_of_the_callers_is_not_shared(void **state)
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
		{"socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), YETT_E_INVALID_REQUEST, no_file},
		{"character device", open("/dev/null", O_PATH | O_CLOEXEC), YETT_E_INVALID_REQUEST, no_file},
		{"terminal", open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), YETT_E_INVALID_REQUEST, no_file},
		{"symbolic link", symlink_fd(), YETT_E_INVALID_REQUEST, no_file},
		{"epoll", epoll_create1(EPOLL_CLOEXEC), YETT_E_INVALID_REQUEST, no_file},
		{"/proc", open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/self", open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/self/status", open("/proc/self/status", O_RDONLY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "proc"},
		{"/proc/sys", open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "proc"},
		{"a namespace", open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "nsfs"},
		{"/sys", open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "sysfs"},
		{"/sys/class", open("/sys/class", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "sysfs"},
		{"cgroups", cgroup_fd(), YETT_E_SECURITY_VIOLATION, "cgroup"},
		{"devpts", open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_SECURITY_VIOLATION, "devpts"},
		/* trees with one of these somewhere below */
		{"/", open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_UNSUPPORTED, "cannot be id-mapped"},
		{"/dev", open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC), YETT_E_UNSUPPORTED, "cannot be id-mapped"},
		/* a file of no directory */
		{"memfd", memfd_create("m", MFD_CLOEXEC), YETT_E_SECURITY_VIOLATION, "another mount namespace"},
	};
	struct wire wire = wire_connect();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].fd < 0)
			fail_msg("%s cannot be opened here", cases[i].name);
		for (unsigned mode = SHARE_RO; mode <= SHARE_RW; mode++) {
			(void)wire_create("default");
			wire_add_share("/data", 0, mode);
			expect_share_refused(&wire, &cases[i].fd, 1, cases[i].code, cases[i].text);
		}
		close(cases[i].fd);
	}
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* --- paths that lie; the profile "narrow" may only have what lies below $YETT_TEST_ALLOWED --- */

static int open_directory(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return fd;
}

/* One share of the narrow profile: code 0 is that it works. */
static void try_narrow(int fd, enum share_mode mode, enum yett_code code, const char *text)
{
	struct wire wire = wire_connect();

	(void)wire_create("narrow");
	wire_add_share("/data", 0, mode);
	if (code) {
		expect_share_refused(&wire, &fd, 1, code, text);
	} else {
		wire_encode(&wire);
		set_fds(fd, 1);
		wire_seal(&wire);
		wire_send(&wire);
		wire_finish(&wire, wire_expect_created(&wire));
	}
	wire_close(&wire);
}

static void only_what_lies_in_an_allowed_directory_is_shared(void **state)
{
	const char *allowed = getenv("YETT_TEST_ALLOWED");
	char path[4096];
	int fd = open_directory(allowed);

	(void)state;
	try_narrow(fd, SHARE_RO, 0, NULL);
	try_narrow(fd, SHARE_RW, YETT_E_PERMISSION_DENIED, "writable shares");
	close(fd);
	(void)snprintf(path, sizeof path, "%s/deep/er", allowed);
	fd = open_directory(path);
	try_narrow(fd, SHARE_RO, 0, NULL);
	close(fd);
	(void)snprintf(path, sizeof path, "%s/..", allowed);
	fd = open_directory(path);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED, "the policy does not let this user share that directory");
	close(fd);
	fd = open_directory(".");
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED, "the policy does not let this user share that directory");
	close(fd);
	fd = open("file", O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED, "the policy does not let this user share that file");
	close(fd);
}

/* The name that a descriptor shows is that of when it was opened; it is the place that counts. */
static void a_directory_that_was_moved_out_is_not_shared(void **state)
{
	char inside[4096], outside[4096];
	int fd;

	(void)state;
	(void)snprintf(inside, sizeof inside, "%s/shared/mine", getenv("YETT_TEST_ALLOWED")); /* ours to write */
	(void)snprintf(outside, sizeof outside, "%s/mine", getenv("YETT_TEST_ELSEWHERE"));
	assert_return_code(mkdir(inside, 0755), errno);
	fd = open_directory(inside);
	try_narrow(fd, SHARE_RO, 0, NULL);
	assert_return_code(rename(inside, outside), errno);
	try_narrow(fd, SHARE_RO, YETT_E_PERMISSION_DENIED, "the policy does not let this user share that directory");
	assert_return_code(rename(outside, inside), errno);
	try_narrow(fd, SHARE_RO, 0, NULL);
	close(fd);
	assert_return_code(rmdir(inside), errno);
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
	set_fds(fd, 1);
	if (wire_try_send(&to, 0) < 0)
		_exit(11);
}

/*
 * In a mount namespace of its own, where it may mount: puts a directory of the user's over the allowed one, and hands
 * over what is then found there. Its name is right, and its ancestors are those that the policy names.
 */
static void __attribute__((noreturn)) lie_about_a_path(int socket, const char *over, const char *what)
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

static int receive_fd(int socket)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		fail_msg("the child could not make its namespace");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return fd;
}

/*
 * The client itself is not confined; a child of it is in the other namespace and hands it descriptors. That the lie
 * works by name is shown first.
 */
static void a_share_from_another_mount_namespace_is_refused(void **state)
{
	const char *allowed = getenv("YETT_TEST_ALLOWED");
	char link[64], name[4096];
	struct stat lie, truth;
	int pair[2], fd;
	ssize_t n;
	pid_t child;

	(void)state;
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
		print_message("# a descriptor of %s shows as %s\n", i == 0 ? "secret" : allowed, name);
		/* the ancestors are right too, so that it is the namespace that gives it away, or the directory itself */
		try_narrow(fd, SHARE_RO, i == 0 ? YETT_E_PERMISSION_DENIED : YETT_E_SECURITY_VIOLATION,
			   i == 0 ? "does not let this user share" : "another mount namespace");
		close(fd);
	}
	close(pair[0]);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	wire_expect_serving();
}

/* --- targets --- */

static void targets_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const targets[] = {
		"",	    "/",	 "//",	      "/../x",	  "/x/..",	 "/x/../..", "/./x",	    "/x/.",
		"/x/",	    "//x",	 "/x//y",     "x",	  "x/y",	 ".",	     "..",	    "/proc",
		"/proc/x",  "/proc/sys", "/sys",      "/sys/x",	  "/dev",	 "/dev/x",   "/dev/shm",    "/etc",
		"/etc/passwd", "/etc/group", "/run",  "/run/yett", "/run/yett/passwd", "/usr", "/bin",	    "/x\ny",
		"/x\x7f",
	};
	struct wire wire = wire_connect();
	int home = open_directory(".");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		struct message_create *create = wire_create("default");

		wire_add_share(targets[i], 0, SHARE_RO);
		expect_share_refused(&wire, &home, 1, YETT_E_INVALID_REQUEST, "shares[0]");
		create = wire_create("default");
		assert_int_equal(message_add_text(&wire_message, targets[i], &create->tmpfs[create->tmpfs_count++].target), 0);
		expect_share_refused(&wire, NULL, 0, YETT_E_INVALID_REQUEST, "tmpfs[0]");
	}
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void shares_that_contradict_each_other_are_refused(void **state)
{
	struct wire wire = wire_connect();
	int home = open_directory("."), fds[] = {home, home};

	(void)state;
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_add_share("/data", 1, SHARE_RW);
	expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "shares[1]");
	(void)wire_create("default");
	wire_add_share("/data", 1, SHARE_RO);
	wire_add_share("/more", 1, SHARE_RO);
	expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "shares[1]");
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_add_share("/more", 2, SHARE_RO);
	expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "shares[1]");
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "shares");
	/* a path kept read-only in a tree whose directories a program may rename */
	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RW);
	wire_add_share("/data/sub/secret", 1, SHARE_RO);
	expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, "rename a directory above it");
	(void)wire_create("strict");
	wire_add_share("/data", 0, SHARE_RO);
	expect_share_refused(&wire, fds, 1, YETT_E_PERMISSION_DENIED, "allows no shares");
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* Root resolves these in a tree that the user made. */
static void a_target_through_a_symbolic_link_of_a_share_is_refused(void **state)
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
	int tree, home = open_directory(".");

	(void)state;
	assert_return_code(mkdir("tree", 0755), errno);
	assert_return_code(symlink("/etc", "tree/away"), errno);
	assert_return_code(symlink("../../../../tmp", "tree/up"), errno);
	assert_return_code(symlink("/proc/1/root", "tree/magic"), errno);
	assert_return_code(symlink("loop", "tree/loop"), errno);
	close(open("tree/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	tree = open_directory("tree");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fds[] = {tree, home};

		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_RO);
		wire_add_share(cases[i].target, 1, SHARE_RO);
		expect_share_refused(&wire, fds, 2, YETT_E_INVALID_REQUEST, cases[i].text);
	}
	assert_int_equal(access("tree/missing", F_OK), -1); /* nothing was made in it */
	close(tree);
	close(home);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

static void as_many_mounts_as_there_may_be_work(void **state)
{
	struct wire wire = wire_connect();
	struct message_create *create = wire_create("default");
	int home = open_directory(".");
	char target[32];

	(void)state;
	for (unsigned i = 0; i < MESSAGE_SHARES_MAX; i++) {
		(void)snprintf(target, sizeof target, "/many/%u", i);
		wire_add_share(target, i, i % 2);
	}
	for (unsigned i = 0; i < MESSAGE_TMPFS_MAX; i++) {
		(void)snprintf(target, sizeof target, "/tmp/%u", i);
		assert_int_equal(message_add_text(&wire_message, target, &create->tmpfs[create->tmpfs_count++].target), 0);
	}
	wire_encode(&wire);
	set_fds(home, MESSAGE_SHARES_MAX);
	wire_seal(&wire);
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	close(home);
	wire_close(&wire);
}

/* --- the protocol's vectors --- */

static void a_vector_is_refused(void **state)
{
	const struct vector *v = *state;
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (v->is_create) {
		wire_set_body(&wire, v->content, v->length);
		wire_seal(&wire);
		/* a body that is larger than a packet can be does not get as far as its own rule */
		if (wire_packet.length > MESSAGE_PACKET_MAX) {
			wire_send(&wire);
			wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
			wire.sequence = 0;
		} else {
			wire_send(&wire);
			wire_expect_error(&wire, 1, YETT_E_PROTOCOL, v->reason);
			if (v->field[0])
				wire_expect_text(v->field);
		}
		wire_expect_serving_here(&wire);
	} else if (v->length == 0) {
		print_message("# an empty packet is the end of a connection\n");
	} else {
		memcpy(wire_packet.bytes, v->content, v->length);
		wire_packet.length = v->length;
		set_fds(null, v->fd_count);
		if (v->fd_count > 253) { /* unix(7): the kernel sends no more */
			assert_int_equal(wire_try_send(&wire, 0), -EINVAL);
		} else {
			wire_send(&wire);
			wire_expect_error(&wire, 0, YETT_E_PROTOCOL, v->reason);
		}
		wire_expect_serving_here(&wire);
	}
	close(null);
	wire_close(&wire);
}

/* --- clients that misbehave as peers --- */

static void a_client_that_never_reads_is_given_up_on(void **state)
{
	struct wire deaf = wire_connect();
	int r = 0;

	(void)state;
	/* each is refused; when the answers fill the socket, the helper hangs up rather than wait */
	prepare_good(&deaf);
	wire_packet.length--;
	for (int i = 0; r == 0 && i < 1000000; i++)
		r = wire_try_send(&deaf, 0);
	assert_true(r == -EPIPE || r == -ECONNRESET);
	wire_expect_serving();
	wire_close(&deaf);
}

static void a_client_that_stops_half_way_holds_up_nobody(void **state)
{
	struct wire silent[16], half[16], holding[16];
	int channels[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = wire_connect();
		half[i] = wire_connect();
		prepare_good(&half[i]);
		wire_packet.length /= 2;
		wire_send(&half[i]);
		holding[i] = wire_connect();
		prepare_good(&holding[i]);
		wire_send(&holding[i]);
		channels[i] = wire_expect_created(&holding[i]);
	}
	wire_expect_serving();
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		wire_expect_error(&half[i], 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
		half[i].sequence = 0;
		wire_expect_serving_here(&half[i]);
		wire_expect_serving_here(&silent[i]);
		wire_finish(&holding[i], channels[i]);
		wire_close(&silent[i]);
		wire_close(&half[i]);
		wire_close(&holding[i]);
	}
}

static void allow_many_descriptors(void)
{
	struct rlimit limit;

	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	limit.rlim_cur = limit.rlim_max;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
	assert_true(limit.rlim_cur >= 1200);
}

static void a_thousand_connections_at_once_harm_nobody(void **state)
{
	static struct wire wires[1000];
	struct wire before = wire_connect();
	size_t served = 0, refused = 0;

	(void)state;
	allow_many_descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		int r = wire_try_connect(&wires[served]);

		if (r == 0) {
			served++;
			continue;
		}
		assert_int_equal(r, -ECONNREFUSED); /* an error came instead of the hello */
		assert_int_equal(wire_message.body.error.code, YETT_E_RESOURCE_LIMIT);
		wire_expect_text("this user has as many connections as one may have");
		refused++;
	}
	print_message("# %zu of 1000 connections served, %zu refused\n", served, refused);
	assert_in_range(served, 400, 999);
	wire_expect_serving_here(&before);
	wire_expect_serving_here(&wires[0]);
	wire_expect_serving_here(&wires[served - 1]);
	for (size_t i = 0; i < served; i++)
		wire_close(&wires[i]);
	wire_expect_serving_here(&before);
	wire_close(&before);
}

/* So many requests in flight on one connection, none of them waited for. */
static void a_client_that_does_not_wait_is_served_in_full(void **state)
{
	enum { REQUESTS = 20 };
	struct wire wire = wire_connect();
	int channels[REQUESTS];
	unsigned created = 0, ended = 0;

	(void)state;
	for (int i = 0; i < REQUESTS; i++) {
		prepare_good(&wire);
		wire_send(&wire);
	}
	while (created < REQUESTS) {
		uint64_t sequence;

		assert_int_equal(wire_receive(&wire, &sequence, &channels[created]), MESSAGE_CREATED);
		created++;
	}
	for (int i = 0; i < REQUESTS; i++)
		close(channels[i]);
	for (; ended < REQUESTS; ended++) {
		uint64_t sequence;

		assert_int_equal(wire_receive(&wire, &sequence, NULL), MESSAGE_ENDED);
	}
	wire_close(&wire);
}

enum dying { DIE_CONNECTED, DIE_GREETED, DIE_HALF, DIE_REFUSED, DIE_REQUESTED, DIE_CREATED, DIE_CHANNEL, DIE_AGAIN, DIE_POINTS };

static void __attribute__((noreturn)) die_at(enum dying point)
{
	struct wire wire = {.socket = -1};
	int home = open_directory(".");

	if (point >= DIE_GREETED) {
		wire = wire_connect();
	} else {
		struct sockaddr_storage unused;
		socklen_t size = sizeof unused;

		/* the hello is not waited for */
		wire = wire_connect();
		(void)getpeername(wire.socket, (struct sockaddr *)&unused, &size);
	}
	if (point >= DIE_HALF) {
		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_RW);
		wire_encode(&wire);
		set_fds(home, 1);
		wire_seal(&wire);
		wire_packet.length -= point < DIE_REQUESTED;
		wire_send(&wire);
	}
	if (point == DIE_REFUSED)
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	if (point >= DIE_CREATED) {
		int channel = wire_expect_created(&wire);

		if (point >= DIE_CHANNEL)
			(void)close(channel);
	}
	if (point == DIE_AGAIN) {
		prepare_good(&wire);
		wire_send(&wire);
	}
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

static void a_client_may_die_at_any_point(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++)
		for (enum dying point = 0; point < DIE_POINTS; point++) {
			pid_t child = fork();
			int status;

			assert_return_code(child, errno);
			if (child == 0)
				die_at(point);
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status));
		}
	wire_expect_serving();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_replayed_request_is_refused),
	cmocka_unit_test(a_refused_request_is_not_accepted_later),
	cmocka_unit_test(a_reordered_request_is_refused),
	cmocka_unit_test(a_request_for_another_connection_is_refused),
	cmocka_unit_test(a_key_that_is_not_enrolled_is_refused),
	cmocka_unit_test(a_weak_key_is_refused),
	cmocka_unit_test(a_changed_byte_is_noticed),
	cmocka_unit_test(a_request_cut_anywhere_is_refused),
	cmocka_unit_test(a_request_with_something_behind_it_is_refused),
	cmocka_unit_test(kinds_that_are_not_for_the_helper_are_refused),
	cmocka_unit_test(a_create_without_a_signature_is_refused),
	cmocka_unit_test(a_packet_beyond_64_KiB_is_refused),
	cmocka_unit_test(an_empty_packet_ends_only_its_connection),
	cmocka_unit_test(a_wrong_number_of_descriptors_is_refused),
	cmocka_unit_test(too_many_descriptors_are_refused_and_do_not_pile_up),
	cmocka_unit_test(what_is_no_file_of_the_callers_is_not_shared),
	cmocka_unit_test(only_what_lies_in_an_allowed_directory_is_shared),
	cmocka_unit_test(a_directory_that_was_moved_out_is_not_shared),
	cmocka_unit_test(a_share_from_another_mount_namespace_is_refused),
	cmocka_unit_test(targets_that_lead_elsewhere_are_refused),
	cmocka_unit_test(shares_that_contradict_each_other_are_refused),
	cmocka_unit_test(a_target_through_a_symbolic_link_of_a_share_is_refused),
	cmocka_unit_test(as_many_mounts_as_there_may_be_work),
	cmocka_unit_test(a_client_that_never_reads_is_given_up_on),
	cmocka_unit_test(a_client_that_stops_half_way_holds_up_nobody),
	cmocka_unit_test(a_client_that_does_not_wait_is_served_in_full),
	cmocka_unit_test(a_client_may_die_at_any_point),
	cmocka_unit_test(a_thousand_connections_at_once_harm_nobody),
};

static void print_key(void)
{
	char text[sodium_base64_ENCODED_LEN(sizeof wire_public, sodium_base64_VARIANT_ORIGINAL)];

	(void)sodium_bin2base64(text, sizeof text, wire_public, sizeof wire_public, sodium_base64_VARIANT_ORIGINAL);
	(void)printf("ed25519 %s hostile\n", text);
}

int main(int argc, char **argv)
{
	struct CMUnitTest *all;
	size_t count;

	wire_load_key();
	if (argc == 2 && strcmp(argv[1], "--key") == 0)
		return print_key(), 0;
	count = vectors_read(getenv("YETT_TEST_VECTORS"), &vectors);
	all = calloc(ARRAY_SIZE(tests) + count, sizeof *all);
	if (!all || count < 60)
		return 1;
	memcpy(all, tests, sizeof tests);
	for (size_t i = 0; i < count; i++)
		all[ARRAY_SIZE(tests) + i] = (struct CMUnitTest){vectors[i].name, a_vector_is_refused, NULL, NULL, &vectors[i]};
	return _cmocka_run_group_tests("hostile-client", all, ARRAY_SIZE(tests) + count, NULL, NULL);
}
