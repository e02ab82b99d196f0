/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: sockets and other ways between processes, and terminals. */
#include "tests/hostile/attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <net/if.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static int open_socket(int family, int type, int protocol)
{
	_cleanup_fd_ int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	return result_of(fd);
}

static int connect_unix(const char *name, bool is_abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t length = offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name);

	strncpy(address.sun_path + is_abstract, name, sizeof address.sun_path - 2);
	return fd < 0 ? -errno
	              : result_of(
				connect(fd, (const struct sockaddr *)&address, (socklen_t)length));
}

static int abstract_socket(void)
{
	return connect_unix(given("ATTACK_ABSTRACT"), true);
}

static int named_socket(void)
{
	return connect_unix(outside("socket"), false);
}

static int loopback(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons((uint16_t)given_number("ATTACK_PORT")),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno
	              : result_of(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

static int raw_socket(void)
{
	return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int packet_socket(void)
{
	return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static int firewall_socket(void)
{
	return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
}

static int crypto_socket(void)
{
	struct sockaddr_alg address = {
		.salg_family = AF_ALG, .salg_type = "hash", .salg_name = "sha256"};
	_cleanup_fd_ int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno
	              : result_of(bind(fd, (const struct sockaddr *)&address, sizeof address));
}

/* To what it is already. */
static int interface_setting(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || ioctl(fd, SIOCGIFMTU, &lo) < 0 ? -errno
	                                                : result_of(ioctl(fd, SIOCSIFMTU, &lo));
}

static int shared_memory(void)
{
	int segment = shmget((key_t)given_number("ATTACK_SHM"), 0, 0);

	return segment < 0 ? -errno : shmat(segment, NULL, 0) == (void *)-1 ? -errno : 0;
}

static int message_queue(void)
{
	return result_of(mq_open(given("ATTACK_QUEUE"), O_RDONLY | O_CLOEXEC));
}

/* A terminal of the host's, by its name there. Not our controlling one: that takes CAP_SYS_ADMIN,
 * which root has. */
static int terminal_input(void)
{
	_cleanup_fd_ int fd = open(given("ATTACK_TERMINAL"), O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : result_of(ioctl(fd, TIOCSTI, "x"));
}

static int terminal_output(void)
{
	return try_write(given("ATTACK_TERMINAL"), O_NOCTTY, "x");
}

const struct attack attack_ipc[] = {
	{"abstract-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = abstract_socket},
	{"named-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = named_socket},
	{"loopback", ATTACK_COMMAND | ATTACK_LAYER, false, .run = loopback},
	{"raw-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = raw_socket},
	{"packet-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = packet_socket},
	{"firewall-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = firewall_socket},
	{"crypto-socket", ATTACK_COMMAND | ATTACK_LAYER, false, .run = crypto_socket},
	{"interface-setting", ATTACK_LAYER, true, .run = interface_setting},
	{"shared-memory", ATTACK_COMMAND | ATTACK_LAYER, false, .run = shared_memory},
	{"message-queue", ATTACK_COMMAND | ATTACK_LAYER, false, .run = message_queue},
	{"terminal-input", ATTACK_LAYER, false, .run = terminal_input},
	{"terminal-output", ATTACK_LAYER, false, .run = terminal_output},
	{0},
};
